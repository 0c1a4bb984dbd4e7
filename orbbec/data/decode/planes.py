"""JPEGs as YCbCr planes: half the bytes to copy; the device converts them to RGB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor

from orbbec.batch import YCbCrBatch
from orbbec.data.decode.decode import MAX_PIXELS, decode_image, decode_region, planes_header
from orbbec.data.decode.jpeg_header import JpegHeader
from orbbec.data.decode.modes import Pixels
from orbbec.data.decode.native import decode_planes_into, sampling_of
from orbbec.data.decode.orientation import Rectangle, upright_size


class Encoded(NamedTuple):
    """A JPEG whose planes will be decoded."""

    data: bytes
    header: JpegHeader


class FileRules(NamedTuple):
    """Which files are refused, and whether images are stored upright: arguments of `decode_image`."""

    max_pixels: int = MAX_PIXELS
    on_damage: str = "raise"
    apply_exif_orientation: bool = True


def planes_on_host(files: Sequence[bytes], rules: FileRules) -> YCbCrBatch:
    """`decode_planes` on the CPU."""
    decode = partial(
        decode_image,
        max_pixels=rules.max_pixels,
        on_damage=rules.on_damage,
        apply_exif_orientation=rules.apply_exif_orientation,
    )
    headers = [planes_header(data, "RGB", *rules) for data in files]
    images: list[Encoded | Pixels] = [
        decode(data) if header is None else Encoded(data, header)
        for data, header in zip(files, headers, strict=True)
    ]
    while True:
        batch = empty_planes(images)
        buffers = [buffer.numpy() for buffer in batch.image_buffers()]
        is_whole = list(map(write_planes, images, batch.samplings, buffers))
        if all(is_whole):
            return batch
        images = [
            image if good else decode(data) for image, good, data in zip(images, is_whole, files, strict=True)
        ]


def empty_planes(
    images: Sequence[Encoded | Pixels], empty: Callable[[int], Tensor] | None = None
) -> YCbCrBatch:
    """An uninitialized `YCbCrBatch` for planes of JPEGs and decoded pixels `[H, W, 3]`."""
    stored = [_stored(image) for image in images]
    sizes = [(height, width) for height, width, _, _ in stored]
    return YCbCrBatch.of_sizes(
        sizes, [entry[2] for entry in stored], [entry[3] for entry in stored], empty=empty
    )


def write_planes(image: Encoded | Pixels, sampling: str, buffer: Pixels) -> bool:
    """Write an image with this `sampling` to its buffer in a batch; returns whether it could be decoded."""
    if not isinstance(image, Encoded):
        buffer[:] = image.reshape(-1)
        return True
    height, width, *_, orientation = image.header
    try:
        if sampling == "rgb":
            height, width = upright_size(height, width, orientation)
            whole = Rectangle(0, 0, width, height)
            decode_region(image.data, image.header, whole, out=buffer.reshape(height, width, -1))
        else:
            decode_planes_into(image.data, height, width, sampling, buffer)
    except ValueError:
        return False
    return True


def _stored(image: Encoded | Pixels) -> tuple[int, int, str, int]:
    """Height, width, sampling and orientation in a batch; RGB is already upright."""
    if not isinstance(image, Encoded):
        return image.shape[0], image.shape[1], "rgb", 1
    height, width, _, _, orientation = image.header
    sampling = sampling_of(image.data)
    if sampling == "rgb":
        return (*upright_size(height, width, orientation), sampling, 1)
    return height, width, sampling, orientation
