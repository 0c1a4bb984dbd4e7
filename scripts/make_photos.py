"""Makes JPEGs for benchmarks, about 500x375 and 110 KB, 4:2:0, from the photographs of the demo.

    python scripts/make_photos.py FOLDER [COUNT]

Each is a random crop of a photograph, resized to a common size of photo collections, randomly flipped, with
camera noise. There is one folder per photograph.
"""

from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from photographs import Image, load_photographs
from rich.progress import track

SIZES = (
    ((375, 500),) * 10 + ((500, 375),) * 4 + ((333, 500),) * 3 + ((480, 640),) * 2 + ((400, 400), (281, 500))
)
LEAST_AREA = 0.35  # size of a crop, as a fraction of the largest that fits
QUALITY = 90


def picture_of(photograph: Image, chance: np.random.Generator) -> Image:
    """A random crop of a photograph, RGB `[H, W, 3]`."""
    height, width = SIZES[chance.integers(len(SIZES))]
    fit = min(photograph.shape[0] / height, photograph.shape[1] / width)
    scale = fit * chance.uniform(LEAST_AREA, 1.0) ** 0.5
    cut_height, cut_width = int(height * scale), int(width * scale)
    top = chance.integers(photograph.shape[0] - cut_height + 1)
    left = chance.integers(photograph.shape[1] - cut_width + 1)
    part = photograph[top : top + cut_height, left : left + cut_width]
    large = cv2.resize(part, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    if chance.random() < 0.5:
        large = large[:, ::-1]
    grain = cv2.GaussianBlur(chance.standard_normal((height, width), np.float32), (0, 0), 0.7)
    large += (grain * chance.uniform(22, 77))[..., None]
    large += chance.standard_normal(large.shape, np.float32) * chance.uniform(0, 6)
    return np.clip(large, 0, 255).astype(np.uint8)


def write_photos(folder: Path, count: int) -> int:
    """Write JPEGs, in one folder per photograph; return their total number of bytes."""
    chance, photographs = np.random.default_rng(0), list(load_photographs().items())
    options = [
        cv2.IMWRITE_JPEG_QUALITY,
        QUALITY,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420,
    ]
    total = 0
    for i in track(range(count), "writing JPEGs"):
        name, photograph = photographs[i % len(photographs)]
        path = folder / name / f"{i:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        _, data = cv2.imencode(".jpg", picture_of(photograph, chance)[:, :, ::-1], options)
        path.write_bytes(data.tobytes())
        total += len(data)
    return total


def main(
    folder: Annotated[Path, typer.Argument()], count: Annotated[int, typer.Argument(min=1)] = 2000
) -> None:
    """Write COUNT JPEGs to FOLDER."""
    total = write_photos(folder, count)
    print(f"{count} JPEGs in {folder}, {total / count / 1000:.0f} KB each")


if __name__ == "__main__":
    typer.run(main)
