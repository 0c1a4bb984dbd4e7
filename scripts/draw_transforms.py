"""Draws every transform of a photograph with a box, a mask and landmarks.

python scripts/draw_transforms.py [--output docs/images/transforms.jpg]
"""

from itertools import chain
from pathlib import Path
from typing import Annotated

import cv2
import typer
from photographs import Image, load_photograph
from transform_examples import example, names, pipeline_of, portrait, targets_for

from orbbec.cli.preview import Shown, draw_rows, draw_sheet

DRAWS, COLUMNS, SIDE = 3, 4, 84  # pictures, transforms in a row, pixels


def small(name: str, size: tuple[int, int]) -> Image:
    """A photograph of the size (height, width) of the portrait, for transforms that mix images."""
    return cv2.resize(load_photograph(name), size[::-1], interpolation=cv2.INTER_AREA)


def drawn(name: str) -> list[Shown]:
    """The transformed portrait in some epochs, below the name and the last size."""
    image, targets = portrait()
    others = {other: small(other, image.shape[:2]) for other in ("cat", "coffee", "rocket")}
    rest = targets if name == "CopyPaste" else {}
    all_targets = [targets_for(example(name), targets), *[rest] * 3]
    rows, _ = draw_rows(pipeline_of(name), {name: image, **others}, all_targets, DRAWS)
    pictures = rows[0][1:]
    height, width = pictures[-1].image.shape[:2]
    captions = (name, *("" for _ in pictures[2:]), f"{width} x {height}")
    return [Shown(text, shown.image, shown.targets) for text, shown in zip(captions, pictures, strict=True)]


def main(
    output: Annotated[Path, typer.Option(help="The picture to write.")] = Path("outputs/transforms.jpg"),
    only: Annotated[list[str] | None, typer.Option(help="These transforms alone.")] = None,
    side: Annotated[int, typer.Option(help="Of each picture, in pixels.")] = SIDE,
) -> None:
    """Draw what every transform does, three draws of each."""
    original = Shown("a photograph", *portrait())
    cells = [[original], *(drawn(name) for name in only or names())]
    cells[0] += [Shown("", original.image)] * (DRAWS - 1)
    lines = -(-len(cells) // COLUMNS)
    rows = [list(chain.from_iterable(cells[line::lines])) for line in range(lines)]
    output.parent.mkdir(parents=True, exist_ok=True)
    sheet = draw_sheet(rows, f"orbbec.transforms, {DRAWS} draws of each", side)
    sheet.save(output, quality=72, optimize=True)
    print(f"wrote {output}: {len(cells) - 1} transforms")


if __name__ == "__main__":
    typer.run(main)
