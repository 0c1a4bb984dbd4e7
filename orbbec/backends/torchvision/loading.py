"""The loader of `torchvision.datasets.ImageFolder`, and `torchvision.io.decode_jpeg` on a GPU, for JPEGs."""

import importlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orbbec.backends.torchvision.functions import Function, to_pillow
from orbbec.data.decode.jpeg_header import JpegHeader, jpeg_header
from orbbec.data.decode.native import decode_rectangle
from orbbec.data.decode.on_device import decode_jpeg


def load(path: str | Path) -> Any:
    """Decode a JPEG like `pil_loader`: RGB, without applying EXIF orientation.

    Raises:
        ValueError: the file is left to Pillow.
    """
    return decode(Path(path).read_bytes())


def decode(data: bytes) -> Any:
    """Like `load`, from the bytes of a file."""
    header = _header_of(data)
    if header.orientation != 1:
        raise ValueError("an EXIF orientation, which a later step may read")
    most = importlib.import_module("PIL.Image").MAX_IMAGE_PIXELS
    if most is not None and header.height * header.width > most:
        raise ValueError("more pixels than Pillow accepts without a warning")
    return to_pillow(decode_rectangle(data, 0, 0, header.width, header.height))


def decode_on_device(
    input: Tensor | list[Tensor],
    mode: Any = "UNCHANGED",
    device: torch.device | str = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    """`torchvision.io.decode_jpeg` on a GPU, with Pillow's bytes; its EXIF orientation is not applied there.

    Raises:
        ValueError: the call is left to torchvision.
    """
    if torch.device(device).type != "cuda":
        raise ValueError("not on a GPU")
    name = getattr(mode, "name", str(mode).upper())
    files = [data.numpy().tobytes() for data in (input if isinstance(input, list) else [input])]
    if name not in ("UNCHANGED", "RGB"):
        raise ValueError(f"mode {name}")
    channels = [_header_of(data).channels for data in files]
    batch = decode_jpeg(files, device=device, apply_exif_orientation=False)
    images = [
        image[..., : 3 if name == "RGB" else count].permute(2, 0, 1).contiguous()
        for image, count in zip(batch.images(), channels, strict=True)
    ]
    return images if isinstance(input, list) else images[0]


def _header_of(data: bytes) -> JpegHeader:
    header = jpeg_header(data)
    if header is None or header.channels not in (1, 3) or header.bits != 8:
        raise ValueError("not a JPEG of 1 or 3 channels")
    return header


LOADER = Function("datasets", "path", "pil_loader", load)
DECODER = Function("io", "path", "decode_jpeg", decode_on_device)
