"""What MkDocs does for the site besides building its pages: the version, and the Chinese pages."""

import shutil
from pathlib import Path
from typing import Any

import tomllib
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]


def on_config(config: MkDocsConfig) -> None:
    """Show the version next to the name, on each page."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    config.site_name = f"{config.site_name} {version}"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Tell sessions of the interpreter from programs, so that prompts and output have their own colors."""
    return markdown.replace("```python\n>>> ", "```pycon\n>>> ")


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, **_: Any) -> None:
    """Write what the theme adds to a Chinese page in Chinese. Pages are rendered one after the other."""
    config.theme["language"] = "zh" if page.file.src_uri.startswith("zh/") else "en"


def on_post_build(config: MkDocsConfig) -> None:
    """Give the Chinese pages the sitemap that the theme's selector of languages reads."""
    site = Path(config.site_dir)
    shutil.copy(site / "sitemap.xml", site / "zh" / "sitemap.xml")
