"""What MkDocs does for the site besides building its pages: the version, and the Chinese pages."""

import shutil
import tomllib
from pathlib import Path
from typing import Any

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


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Declare the language of Chinese pages, which decides fonts and hyphenation."""
    is_chinese = page.file.src_uri.startswith("zh/")
    return output.replace('<html lang="en"', '<html lang="zh-CN"', 1) if is_chinese else output


def on_post_build(config: MkDocsConfig) -> None:
    """Give the Chinese pages the sitemap that the theme's selector of languages reads."""
    site = Path(config.site_dir)
    shutil.copy(site / "sitemap.xml", site / "zh" / "sitemap.xml")
