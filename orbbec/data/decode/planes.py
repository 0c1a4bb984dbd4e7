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


def decode_planes(
    files: Sequence[bytes],
    *,
    max_pixels: int = MAX_PIXELS,
    on_damage: str = "raise",
    apply_exif_orientation: bool = True,
) -> YCbCrBatch:
    """Decode images to planes, which `orbbec.ycbcr_to_rgb` converts to RGB on any device.

    Gray JPEGs and YCbCr JPEGs with full or halved chroma become planes if libjpeg-turbo was built in; all
    other files, such as PNG and CMYK, become RGB.

    Args:
        files: encoded files, see `decode_image`.
        max_pixels: larger images are refused before decoding.
        on_damage: see `decode_image`.
        apply_exif_orientation: see `decode_image`.

    Returns:
        A batch on the CPU.

    Raises:
        ValueError: a file is damaged, of unknown format, or too large.

    Example:
        >>> batch = decode_planes([b"P5 2 1 255 " + bytes([7, 9])])
        >>> batch
        YCbCrBatch(1 images, rgb, device=cpu)
        >>> batch.planes(0)[0].tolist()
        [[[7, 7, 7], [9, 9, 9]]]
    """
    decode = partial(
        decode_image,
        max_pixels=max_pixels,
        on_damage=on_damage,
        apply_exif_orientation=apply_exif_orientation,
    )
    headers = [planes_header(data, "RGB", max_pixels, on_damage, apply_exif_orientation) for data in files]
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
    """An uninitialized batch for planes of JPEGs and decoded pixels.

    Args:
        images: JPEGs, or arrays `[H, W, 3]`.
        empty: see `YCbCrBatch.of_sizes`.
    """
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
            decode_region(image.data, image.header, whole, out=buffer.reshape(height, width, 3))
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
