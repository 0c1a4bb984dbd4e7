"""Runs tutorials and keeps the pictures that they draw.

    python scripts/draw_tutorials.py [docs/tutorials/imagenet.md ...]

A tutorial saves its pictures in the current folder; docs/images/tutorials shows them.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import torch
import typer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.project.test_docs import ROOT, run_python

PICTURES = ROOT / "docs" / "images" / "tutorials"


def main(pages: Annotated[list[Path] | None, typer.Argument()] = None) -> None:
    """Run the pages and copy what they draw."""
    torch.set_num_threads(1)
    PICTURES.mkdir(exist_ok=True)
    chosen = pages or sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    for page in [path.resolve() for path in chosen]:
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            run_python(page)
            for picture in sorted(path for path in Path(folder).iterdir() if path.suffix in (".jpg", ".png")):
                shutil.copy(picture, PICTURES)
                print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} KB")
            os.chdir(ROOT)


if __name__ == "__main__":
    typer.run(main)
