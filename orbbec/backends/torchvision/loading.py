"""The loader of `torchvision.datasets.ImageFolder`, for JPEGs."""

import importlib
from pathlib import Path
from typing import Any

from orbbec.backends.torchvision.functions import Function, to_pillow
from orbbec.data.decode.jpeg_header import jpeg_header
from orbbec.data.decode.native import decode_rectangle


def load(path: str | Path) -> Any:
    """Decode a JPEG like `pil_loader`: RGB, without applying EXIF orientation.

    Raises:
        ValueError: the file is left to Pillow.
    """
    return decode(Path(path).read_bytes())


def decode(data: bytes) -> Any:
    """Like `load`, from the bytes of a file."""
    header = jpeg_header(data)
    if header is None or header.channels not in (1, 3) or header.bits != 8:
        raise ValueError("not a JPEG of 1 or 3 channels")
    if header.orientation != 1:
        raise ValueError("an EXIF orientation, which a later step may read")
    most = importlib.import_module("PIL.Image").MAX_IMAGE_PIXELS
    if most is not None and header.height * header.width > most:
        raise ValueError("more pixels than Pillow accepts without a warning")
    return to_pillow(decode_rectangle(data, 0, 0, header.width, header.height))


LOADER = Function("datasets", "path", "pil_loader", load)
