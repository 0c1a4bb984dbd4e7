"""CLAHE with OpenCV's results."""

from typing import Any

from orbbec.bridge.arguments import BYTES, Images, size_values
from orbbec.bridge.per_image import Factor, per_image
from orbbec.bridge.pointwise import call_like, images_input, register_fake_like

OP = "clahe"


def clahe(images: Images, clip_limit: Factor = 40.0, tiles: tuple[int, int] = (8, 8)) -> Any:
    """Contrast limited adaptive histogram equalization of each channel.

    Args:
        images: see `lut`.
        clip_limit: largest count of a level in a tile, relative to the mean count; 0 for no limit. One
            number, or `[N]`, one per image.
        tiles: number of tiles as (rows, columns), each from 1 to 1024.

    Returns:
        See `lut`, which also lists the errors.

    Source:
        `cv::CLAHE` of each channel; its `tileGridSize` is (columns, rows). Identical to OpenCV 5.0.0 and
        4.12.0.

    Example:
        >>> image = torch.arange(64, dtype=torch.uint8).reshape(1, 8, 8)
        >>> clahe(image, 2.0, (2, 2)).shape
        torch.Size([1, 8, 8])
    """
    inputs = images_input(OP, images, dtypes=BYTES)
    limits, limit = per_image(OP, "clip_limit", clip_limit, inputs, lambda v: v >= 0, "of at least 0")
    rows, columns = size_values(OP, tiles, "tiles as (rows, columns)")
    return inputs.restore(call_like(OP, inputs, limit, limits, rows, columns))


register_fake_like("clahe")
