"""The documentation is correct: its Python runs, and its links and commands exist."""

import doctest
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from orbbec.data.decode import decode, native

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```python title="([\w.]+)"\n(.*?)^```$\n', re.MULTILINE | re.DOTALL)  # a file to save

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Where pages save their files and pictures."""
    monkeypatch.chdir(tmp_path)


def blocks(page: Path, *languages: str) -> list[str]:
    text = FILE.sub("", page.read_text())
    return [text for language, text in BLOCK.findall(text) if language in languages]


@pytest.fixture(autouse=True)
def one_thread():
    """A small network trains faster on one thread: in 8 s under load, instead of 16 to 19."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def photos(tmp_path, monkeypatch):
    """The folder that the READMEs read: two classes of JPEGs."""
    for number in range(4):
        path = tmp_path / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((80, 100, 3), 60 * number, np.uint8))
    monkeypatch.chdir(tmp_path)


def run_python(page: Path, *languages: str) -> dict[str, Any]:
    """Run all blocks of a page in order, in one namespace, and return it. Files are saved before."""
    for name, content in FILE.findall(page.read_text()):
        Path(name).write_text(content)
    text = "\n".join(blocks(page, *(languages or ("python",))))
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    code_lines = [line for line in text.splitlines() if line.strip()]
    assert bool(examples.examples) == bool(code_lines), "a block without >>> is not run"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(examples, out=report.append, clear_globs=False)
    assert runner.failures == 0, "".join(report)
    return examples.globs


@each_page
def test_the_python_of_a_page_runs(page):
    run_python(page)
    shown = re.findall(r"images/tutorials/([\w.]+)\)", page.read_text())
    assert [name for name in shown if not Path(name).exists()] == []  # a tutorial draws its pictures


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "pycon")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_what_a_page_shows_of_another_library_runs(page):
    """Blocks of `pycon` need a library that .venv lacks; `make test-peers` runs them."""
    text = "\n".join(blocks(page, "pycon"))
    for library in ("albumentations", "lightning", "ray", "torchcodec", "torchvision"):
        if library in text and find_spec(library) is None:
            pytest.skip(f"needs {library}")
    run_python(page, "python", "pycon")


@each_page
def test_every_example_of_a_page_is_run(page):
    text = FILE.sub("", page.read_text())
    languages = {language for language, text in BLOCK.findall(text) if ">>> " in text}
    assert languages <= {"python", "pycon"}


@pytest.mark.one_a_day
@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>> from orbbec.data" in page.read_text()], ids=lambda page: page.name
)
def test_the_python_of_a_page_runs_without_libjpeg_turbo(page, monkeypatch):
    monkeypatch.setattr(native, "_library", lambda: None)
    monkeypatch.setattr(decode, "_jpeg_decoders", lambda: (decode._by_cv2,))
    run_python(page)


def test_libjpeg_turbo_is_built_in_where_it_was_fetched():
    """Ensures that `make test` skips none of its tests, with or without nasm."""
    assert native.has_native() or not (ROOT / "3rdparty" / "libjpeg_turbo").exists()


@each_page
def test_the_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    local = [link for link in links if not link.startswith("http")]
    missing = [link for link in local if not (page.parent / link).exists()]
    assert missing == []


@each_page
def test_the_commands_of_a_page_exist(page):
    text = "\n".join(blocks(page, "bash")) + " ".join(re.findall(r"`([^`\n]+)`", page.read_text()))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= targets
    scripts = re.findall(r"\b(?:tools|scripts|tests/emulation)/\w+\.(?:py|sh)\b", text)
    assert [name for name in scripts if not (ROOT / name).exists()] == []


@pytest.fixture
def without_ipp():
    used = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)
    yield
    cv2.ipp.setUseIPP(used)


def test_what_stands_beside_a_call_of_opencv_gives_the_same(without_ipp):
    page = ROOT / "docs" / "how-to" / "moving" / "opencv.md"
    names = run_python(page)
    rows = re.findall(r"^\| `(cv2\..*)` \| `(orbbec\..*)` \|$", page.read_text(), re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| `cv2", page.read_text(), re.MULTILINE)) > 10
    calls = [ours for theirs, ours in rows if not np.array_equal(eval(theirs, names), eval(ours, names))]
    assert calls == []


@pytest.mark.parametrize("name", ["parity", "gpu_model"])
def test_the_summary_of_evidence_fits_on_a_screen(name):
    page = ROOT / "docs" / "project" / f"{name}.md"
    assert len(page.read_text().splitlines()) <= 40


def test_the_tutorial_shows_the_formula_of_the_template():
    shown, _changed = blocks(ROOT / "docs" / "tutorials" / "your_own_operator.md", "cpp")
    template = (ROOT / "tools" / "op_template" / "scaleoffset.h").read_text()
    assert " ".join(shown.split()) in " ".join(template.split())


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "zh" / "tutorials").glob("*.md")), ids=lambda page: page.name
)
def test_a_translated_tutorial_shows_the_same_code(page):
    original = ROOT / "docs" / "tutorials" / page.name
    assert blocks(page, "python", "pycon", "bash") == blocks(original, "python", "pycon", "bash")


# The parts that a translation has in common with its original.
COMMON = {
    "headings": re.compile(r"^(#+) ", re.MULTILINE),
    "links": re.compile(r"\]\((?!README)([^)]+)\)"),
    "names": re.compile(r"`([^`\n]+)`"),
    "numbers": re.compile(r"\d+(?:\.\d+)*"),
}


# Translated pages, and their originals.
TRANSLATED = {
    "docs/zh/quickstart.md": "docs/start/quickstart.md",
    **{
        f"docs/zh/tutorials/{page.name}": f"docs/tutorials/{page.name}"
        for page in (ROOT / "docs" / "zh" / "tutorials").glob("*.md")
    },
}


@pytest.mark.parametrize("what", COMMON)
def test_both_readmes_say_the_same(what):
    english, chinese = (BLOCK.sub("", (ROOT / name).read_text()) for name in ("README.md", "README.zh-CN.md"))
    for translation, original in TRANSLATED.items():
        assert f"({original})" not in chinese  # it links the translation
        chinese = chinese.replace(translation, original)
    assert sorted(COMMON[what].findall(english)) == sorted(COMMON[what].findall(chinese))


def test_both_readmes_show_the_same():
    english, chinese = (blocks(ROOT / name, "python", "bash") for name in ("README.md", "README.zh-CN.md"))
    assert english == chinese


def test_the_chinese_quickstart_shows_the_same():
    english, chinese = (
        [re.sub(r" *#.*", "", text) for text in blocks(ROOT / "docs" / folder / "quickstart.md", "python")]
        for folder in ("start", "zh")
    )
    assert len(english) > 5
    assert english == chinese
