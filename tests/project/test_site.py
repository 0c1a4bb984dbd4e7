"""The site builds without warnings, loads nothing from other hosts, and shows each public name once."""

import importlib
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="MkDocs needs Python 3.11: requirements/docs.txt")

ROOT = Path(__file__).parents[2]
PACKAGES = ("orbbec", "orbbec.transforms", "orbbec.data", "orbbec.backends.torchvision")
# Attributes that make the browser load something.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The resources, links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.anchors: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.anchors.append(given["id"])
        if tag in LOADS and given.get("rel") != "canonical" and given.get(LOADS[tag]):
            self.loads.append(given[LOADS[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {str(path.relative_to(site)): Page(path) for path in sorted(site.rglob("*.html"))}


def public_names() -> set[str]:
    """Public names without packages. The package torchvision is parsed, since it cannot be imported here."""
    objects: dict[int, str] = {}
    for package in PACKAGES[:3]:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, type(importlib)):
                objects.setdefault(id(value), f"{package}.{name}")
    backend = Path(find_spec("orbbec.backends").submodule_search_locations[0]) / "torchvision" / "__init__.py"
    exported = re.search(r"__all__ = \[(.*?)\]", backend.read_text(), re.DOTALL)[1]
    return {*objects.values(), *(f"{PACKAGES[3]}.{name}" for name in re.findall(r'"(\w+)"', exported))}


def test_the_site_shows_each_public_name_once(pages):
    shown = Counter(anchor for page in pages.values() for anchor in page.anchors)
    names = public_names()
    assert len(names) > 150
    assert {name: shown[name] for name in names if shown[name] != 1} == {}


def test_the_site_loads_nothing_from_elsewhere(pages):
    loads = [load for page in pages.values() for load in page.loads]
    assert len(loads) > len(pages)
    assert [load for load in loads if re.match(r"(\w+:)?//", load)] == []


def test_styles_load_nothing_from_elsewhere(site):
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert styles
    assert [
        found for text in styles for found in re.findall(r"(?:url\(|@import)\W*(?:https?:)?//", text)
    ] == []


def test_the_reference_shows_examples_as_code(site):
    page = (site / "reference" / "orbbec.resize.html").read_text()
    assert "&gt;&gt;&gt; " in re.sub(r"</?span[^>]*>", "", page)
    assert "<blockquote>" not in page
