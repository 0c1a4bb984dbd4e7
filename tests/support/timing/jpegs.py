"""Makes JPEGs to time loaders with: about 500x375 and 110 KB. Needs NumPy and Pillow alone.

python -m tests.support.timing.jpegs FOLDER [COUNT]
"""

import os
import sys
from pathlib import Path

from PIL import Image

from tests.support.samples import photograph

DISTINCT = 32  # photographs; more files are links to these
SIZES = [(375, 500), (500, 375), (333, 500), (400, 500)]
QUALITY = 75


def write_jpegs(folder: Path, count: int) -> None:
    """Write `0.jpg`, `1.jpg`, ... to a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(min(count, DISTINCT)):
        pixels = photograph(*SIZES[index % len(SIZES)], seed=index)
        Image.fromarray(pixels).save(folder / f"{index}.jpg", quality=QUALITY)
    for index in range(DISTINCT, count):
        os.link(folder / f"{index % DISTINCT}.jpg", folder / f"{index}.jpg")


if __name__ == "__main__":
    write_jpegs(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1024)
