"""The site builds without warnings, loads nothing from other hosts, and opens in a browser without errors.

The tests in a browser need Chromium (`apt-get install chromium`) and are skipped without it. They write
screenshots to build/screenshots.
"""

import importlib
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs", reason="MkDocs needs Python 3.11: requirements/docs.txt")

ROOT = Path(__file__).parents[2]
PACKAGES = ("orbbec", "orbbec.transforms", "orbbec.data", "orbbec.backends.torchvision")
CHINESE = re.compile("[\u4e00-\u9fff]")
NAMES = re.compile(r"orbbec|$")  # the site and its packages have no Chinese name
# Attributes that make the browser load something.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The resources, links, anchors and language of a page, and its link to the other language."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.language = self.switch = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.anchors.append(given["id"])
        if tag == "html":
            self.language = given["lang"] or ""
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
            if given.get("hreflang"):
                self.switch = given["href"]
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


def test_every_internal_link_leads_to_a_file_and_an_anchor(pages, site):
    broken, checked = [], 0
    for name, page in pages.items():
        if name == "404.html":  # its links are those of a server's root
            continue
        for link in set(page.links):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = normpath(join(dirname(name), path)) if path else name
            checked += 1
            there = (site / target).is_file()
            if not there or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{name}: {link}")
    assert checked > 1000
    assert broken == []


def test_chinese_pages_speak_chinese(site, pages):
    languages = {name: page.language for name, page in pages.items()}
    chinese = [name for name in pages if name.startswith("zh/")]
    assert len(chinese) >= 4
    assert {name for name, language in languages.items() if language == "zh"} == set(chinese)
    for name in chinese:
        text = (site / name).read_text()
        labels = re.findall(
            r'<(?:a|label)[^>]* class="md-(?:tabs|nav)__link[^>]*>(.*?)</(?:a|label)>', text, re.DOTALL
        )
        words = [re.sub(r"<[^>]*>|\s", "", label) for label in labels]
        titles = re.findall(r' title="([^"]*)"', text)
        assert len(words) > 50
        assert [word for word in {*words, *titles} if not (CHINESE.search(word) or NAMES.match(word))] == []


def test_a_page_leads_to_itself_in_the_other_language(pages):
    there = {
        name: normpath(join(dirname(name), page.switch)) for name, page in pages.items() if name != "404.html"
    }
    chinese = [name for name in there if name.startswith("zh/")]
    assert {there[there[name]] == name for name in chinese} == {True}
    assert there["start/quickstart.html"] == "zh/quickstart.html"
    assert there["tutorials/yolo.html"] == "zh/index.html"  # not translated


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = {"desktop": 1280, "phone": 390}
SHOWN = (
    *("index.html", "start/quickstart.html", "tutorials/classifier.html", "reference/transforms.html"),
    *("project/parity.html", "zh/index.html", "zh/quickstart.html"),
)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: requirements/docs.txt")
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser):
    """A tab, and what went wrong in it."""
    opened = browser.new_page(viewport={"width": WIDTHS["desktop"], "height": 900})
    opened.faults = []
    opened.on("console", lambda said: said.type == "error" and opened.faults.append(said.text))
    opened.on("pageerror", lambda error: opened.faults.append(str(error)))
    opened.on("requestfailed", lambda request: opened.faults.append(f"failed: {request.url}"))
    opened.on("response", lambda got: got.status >= 400 and opened.faults.append(f"{got.status}: {got.url}"))
    yield opened
    opened.close()


def test_pages_open_without_an_error(tab, address):
    for name in SHOWN:
        tab.goto(f"{address}/{name}", wait_until="networkidle")
        for screen, width in WIDTHS.items():
            tab.set_viewport_size({"width": width, "height": 900})
            tab.screenshot(path=ROOT / "build" / "screenshots" / f"{screen}-{name.replace('/', '-')}.png")
    assert tab.faults == []


def test_every_page_fits_a_phone(browser, address, pages, site):
    """Recorded benchmarks and most of the API are left out. The pages share the styles of the first."""
    alike = re.compile(r"benchmarks/|reference/orbbec\.(?!transforms\.html)")
    show = """html => {
        document.body.innerHTML = new DOMParser().parseFromString(html, "text/html").body.innerHTML
        return document.documentElement.scrollWidth
    }"""
    phone = browser.new_page(viewport={"width": WIDTHS["phone"], "height": 900}, java_script_enabled=False)
    phone.goto(f"{address}/index.html")
    widths = {
        name: phone.evaluate(show, (site / name).read_text()) for name in pages if not alike.match(name)
    }
    phone.close()
    assert len(widths) > 40
    assert {name: width for name, width in widths.items() if width > WIDTHS["phone"]} == {}


@pytest.mark.parametrize(
    ("page", "typed"), [("index.html", "letterbox"), ("zh/index.html", "\u6d41\u6c34\u7ebf")]
)
def test_the_search_finds(tab, address, page, typed):
    tab.goto(f"{address}/{page}", wait_until="networkidle")
    tab.click("input.md-search__input")
    tab.keyboard.type(typed)
    tab.keyboard.press("End")  # the search waits for a key
    tab.wait_for_selector(".md-search-result__item")
    found = tab.inner_text(".md-search-result__list").replace("\u200b", "")
    assert typed in found.lower()
    assert tab.faults == []


def test_a_reader_changes_the_language_and_sees_the_version(tab, address):
    tab.goto(f"{address}/tutorials/classifier.html", wait_until="networkidle")
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert version in tab.inner_text(".md-header")
    tab.click(".md-header [hreflang=zh]")
    tab.wait_for_url(f"{address}/zh/tutorials/classifier.html", wait_until="networkidle")
    assert "教程" in tab.inner_text(".md-tabs")
    tab.click(".md-header [hreflang=en]")
    tab.wait_for_url(f"{address}/tutorials/classifier.html", wait_until="networkidle")
    assert tab.faults == []
