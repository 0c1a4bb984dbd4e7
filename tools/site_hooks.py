"""What MkDocs does for the site besides building its pages: the version, and the Chinese pages."""

from pathlib import Path
from typing import Any

import tomllib
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure import StructureItem
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Link, Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
CHINESE_START = {"url": "zh/index.html", "code": "zh", "name": "中文"}
SWITCHES = {"en": ("Dark", "Light"), "zh": ("深色", "浅色")}


def on_config(config: MkDocsConfig) -> None:
    """Show the version next to the name, on each page."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    config.site_name = f"{config.site_name} {version}"
    config.extra["other_language"] = CHINESE_START  # of pages without a source, such as 404.html


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Take the Chinese pages out of the navigation, and put them into one of their own."""
    (section,) = (item for item in nav.items if item.title == "中文")
    nav.items.remove(section)
    chinese = {page.file.src_uri: page for page in section.children}
    config.extra["chinese_nav"] = Navigation(
        [_translate(item, chinese, config.extra["chinese"]) for item in nav.items], section.children
    )
    nav.pages[:] = [page for page in nav.pages if page.file.src_uri not in chinese]
    nav.pages[-1].next_page = section.children[0].previous_page = None


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Tell sessions of the interpreter from programs, so that prompts and output have their own colors."""
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Translate what Markdown adds to the headings of Chinese pages."""
    return (
        html.replace('title="Permanent link"', 'title="永久链接"') if _is_chinese(page.file.src_uri) else html
    )


def on_page_context(
    context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation
) -> dict[str, Any]:
    """Give a page the words of its language. Pages are rendered one after the other."""
    chinese = _is_chinese(page.file.src_uri)
    language = "zh" if chinese else "en"
    config.theme["language"] = language
    config.extra["homepage"] = "zh/index.html" if chinese else "index.html"
    for scheme, name in zip(config.theme["palette"], SWITCHES[language], strict=True):
        scheme["toggle"]["name"] = name
    pages = {item.file.src_uri: item.url for item in (*nav.pages, *config.extra["chinese_nav"].pages)}
    if chinese:
        context["nav"] = config.extra["chinese_nav"]
        url = next(url for source, url in pages.items() if _chinese_uri(source) == page.file.src_uri)
        config.extra["other_language"] = {"url": url, "code": "en", "name": "English"}
    else:
        url = pages.get(_chinese_uri(page.file.src_uri), CHINESE_START["url"])
        config.extra["other_language"] = {**CHINESE_START, "url": url}
    return context


def _is_chinese(uri: str) -> bool:
    return uri.startswith("zh/")


def _chinese_uri(uri: str) -> str:
    """Where the Chinese version of an English page is, or would be."""
    return f"zh/{uri.removeprefix('start/')}"


def _translate(item: StructureItem, chinese: dict[str, Page], names: dict[str, str]) -> StructureItem:
    """The item with a Chinese name. It leads to the Chinese version of a page, where there is one."""
    if isinstance(item, Section):
        section = Section(
            _name(item.title, names), [_translate(child, chinese, names) for child in item.children]
        )
        for child in section.children:
            child.parent = section
        return section
    source = item.file.src_uri
    if (version := chinese.get(_chinese_uri(source))) is not None:
        return version
    api = source.startswith("reference/orbbec")
    return Link(source[len("reference/") : -len(".md")] if api else _name(source, names), item.url)


def _name(key: str, names: dict[str, str]) -> str:
    if key not in names:
        raise PluginError(f"mkdocs.yml: extra.chinese has no name for {key}")
    return names[key]
