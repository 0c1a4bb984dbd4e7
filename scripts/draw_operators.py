"""Draws the output of each image operator next to its reference's.

    python scripts/draw_operators.py [--output docs/images/operators.jpg]

Prints the number of differing values of each operator. The exit status is 1 if bytes differ that are promised
to be identical.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
import torch
import typer
from contact_sheet import ACCENT, FAINT, INK, MARGIN, PAPER
from photographs import Image, load_photograph
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont, ImageOps

sys.path.insert(0, str(Path(__file__).parents[1]))
import orbbec
from tests.support.peers import jpegs

Kernel = npt.NDArray[np.float32]

SIDE, GAP, CAPTION, COLUMNS = 200, 6, 54, 3


class Example(NamedTuple):
    """A call of an operator, and its reference."""

    name: str
    by_orbbec: Callable[[Image], Image]
    author: str
    by_author: Callable[[Image], Image]
    is_promised: bool = True


def of_gray(call: Callable[[Image], Image]) -> Callable[[Image], Image]:
    """Apply a function of one channel to each channel."""
    return lambda image: np.stack([call(np.ascontiguousarray(image[..., c])) for c in range(3)], axis=-1)


def by_pillow(size: tuple[int, int], method: Picture.Resampling) -> Callable[[Image], Image]:
    return lambda image: np.asarray(Picture.fromarray(image).resize(size[::-1], method))


def filter_kernel() -> Kernel:
    """Emboss."""
    return np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)


def mixed(image: Image) -> Image:
    """Mixed with its upside-down copy."""
    pair = np.stack([image, image[::-1]])
    return np.asarray(orbbec.mixup(pair, SWAP, torch.tensor([0.6, 0.6], dtype=torch.float64))[0])


def displaced(image: Image) -> Image:
    return np.asarray(orbbec.elastic_transform(image, *BENDING))


def displaced_by_opencv(image: Image) -> Image:
    """Displaced by the same field."""
    ids = torch.tensor([0])
    dx, dy = orbbec.elastic_displacement(ids, image.shape[:2], *BENDING)[0].numpy()
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32)
    return np.asarray(cv2.remap(image, x + dx, y + dy, cv2.INTER_LINEAR))


def erased(image: Image) -> Image:
    """One gray rectangle and one of noise; the reference uses orbbec's noise field."""
    gray = orbbec.erase(image, torch.tensor([[20, 30, 90, 110]]), 128)
    return np.asarray(orbbec.erase(gray, torch.tensor([[110, 90, 190, 170]]), noise="uniform"))


def erased_by_numpy(image: Image) -> Image:
    result, noise = image.copy(), orbbec.erase(image, torch.tensor([[0, 0, SIDE, SIDE]]), noise="uniform")
    result[30:110, 20:90] = 128
    result[90:170, 110:190] = noise[90:170, 110:190]
    return result


SMALL = (50, 50)
SWAP = torch.tensor([1, 0])
BENDING = (60.0, 5.0)  # alpha and sigma in pixels
EXAMPLES = [
    Example(
        "resize, area",
        lambda x: orbbec.resize(x, SMALL, interpolation="area"),
        "OpenCV",
        lambda x: cv2.resize(x, SMALL, interpolation=cv2.INTER_AREA),
    ),
    Example(
        "resize, linear",
        lambda x: orbbec.resize(x[60:110, 60:110], (200, 200)),
        "OpenCV",
        lambda x: cv2.resize(x[60:110, 60:110], (200, 200)),
    ),
    Example(
        "resize, cubic, antialias",
        lambda x: orbbec.resize(x, SMALL, interpolation="cubic", antialias=True),
        "Pillow",
        by_pillow(SMALL, Picture.Resampling.BICUBIC),
    ),
    Example(
        "resize, lanczos, antialias",
        lambda x: orbbec.resize(x, (90, 90), interpolation="lanczos", antialias=True),
        "Pillow",
        by_pillow((90, 90), Picture.Resampling.LANCZOS),
    ),
    Example(
        "cvt_color, RGB to HSV",
        lambda x: orbbec.cvt_color(x, "RGB", "HSV"),
        "OpenCV",
        lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2HSV),
    ),
    Example(
        "cvt_color, RGB to LAB",
        lambda x: orbbec.cvt_color(x, "RGB", "LAB"),
        "OpenCV",
        lambda x: cv2.cvtColor(x, cv2.COLOR_RGB2LAB),
    ),
    Example(
        "equalize", orbbec.equalize, "Pillow", lambda x: np.asarray(ImageOps.equalize(Picture.fromarray(x)))
    ),
    Example(
        "solarize",
        lambda x: orbbec.solarize(x, 128),
        "Pillow",
        lambda x: np.asarray(ImageOps.solarize(Picture.fromarray(x), 128)),
    ),
    Example("equalize_hist", orbbec.equalize_hist, "OpenCV", of_gray(cv2.equalizeHist)),
    Example(
        "clahe",
        lambda x: orbbec.clahe(x, 3.0),
        "OpenCV",
        of_gray(lambda x: cv2.createCLAHE(3.0, (8, 8)).apply(x)),
    ),
    Example(
        "gaussian_blur",
        lambda x: orbbec.gaussian_blur(x, 23, 4.0),
        "OpenCV",
        lambda x: cv2.GaussianBlur(x, (23, 23), 4.0),
    ),
    Example("box_blur", lambda x: orbbec.box_blur(x, 15), "OpenCV", lambda x: cv2.blur(x, (15, 15))),
    Example("median_blur", lambda x: orbbec.median_blur(x, 9), "OpenCV", lambda x: cv2.medianBlur(x, 9)),
    Example(
        "filter2d",
        lambda x: orbbec.filter2d(x, filter_kernel()),
        "OpenCV",
        lambda x: cv2.filter2D(x, -1, filter_kernel()),
        is_promised=False,
    ),
    Example(
        "jpeg_compression, quality 10",
        lambda x: np.asarray(orbbec.jpeg_compression(x, 10)),
        "Pillow",
        lambda x: jpegs.by_pillow(x, 10, "420"),
    ),
    Example("erase", erased, "NumPy", erased_by_numpy),
    Example("elastic_transform", displaced, "OpenCV", displaced_by_opencv),
    Example("mixup", mixed, "OpenCV", lambda x: cv2.addWeighted(x, 0.6, x[::-1].copy(), 0.4, 0)),
]


def tile(image: Image) -> Picture.Image:
    """The image, enlarged by a whole factor if it is small."""
    return Picture.fromarray(image).resize((SIDE, SIDE), Picture.Resampling.NEAREST)


def draw(sheet: Picture.Image, corner: tuple[int, int], example: Example, image: Image) -> int:
    """Draw the pair of pictures of an example; return the number of differing values."""
    actual, expected = np.asarray(example.by_orbbec(image)), np.asarray(example.by_author(image))
    apart = np.abs(actual.astype(int) - expected)
    count = int((apart > 0).sum())
    found = f"{count:,} of {apart.size:,} values differ" + (f", by {apart.max()} at most" if count else "")
    pen, (left, top) = ImageDraw.Draw(sheet), corner
    texts = ((example.name, 20, INK), (f"{example.author}: {found}", 44, ACCENT if count else FAINT))
    for text, below, color in texts:
        pen.text((left, top + below), text, color, font=ImageFont.load_default(18), anchor="ls")
    for column, picture in enumerate((actual, expected)):
        sheet.paste(tile(picture), (left + column * (SIDE + GAP), top + CAPTION))
    print(f"{'same' if count == 0 else 'DIFFERENT'} {example.name}, {example.author}: {found}")
    return count


def main(
    output: Annotated[Path, typer.Option(help="The picture to write.")] = Path("outputs/operators.jpg"),
) -> None:
    """Draw each operator's output next to its reference's."""
    image = cv2.resize(load_photograph("astronaut"), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    rows = -(-len(EXAMPLES) // COLUMNS)
    width, height = 2 * SIDE + GAP, CAPTION + SIDE + GAP
    sheet = Picture.new("RGB", (COLUMNS * (width + MARGIN) + MARGIN, rows * height + 2 * MARGIN), PAPER)
    title = "orbbec (left) and the reference (right)"
    ImageDraw.Draw(sheet).text((MARGIN, 16), title, INK, font=ImageFont.load_default(24))
    broken = 0
    for index, example in enumerate(EXAMPLES):
        column, row = divmod(index, rows)
        corner = (MARGIN + column * (width + MARGIN), MARGIN + GAP + row * height)
        count = draw(sheet, corner, example, image)
        broken += count if example.is_promised else 0
    output.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(output, quality=85, optimize=True)
    print(f"wrote {output}")
    if broken:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
