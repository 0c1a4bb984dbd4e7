"""Kernels of torchvision v2's functions for `ImageBatch`."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from orbbec import color
from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.functions import blur
from orbbec.batch import ImageBatch
from orbbec.jpeg import jpeg_compression
from orbbec.resize import resize

_NAMES = {"bilinear": "linear", "bicubic": "cubic"}


def resize_batch(
    images: ImageBatch,
    size: Any,
    interpolation: Any = "bilinear",
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Resize all images to one size (height, width)."""
    if not isinstance(size, Sequence) or len(size) != 2:
        raise ValueError(f"resize: expected size as (height, width) for an ImageBatch, but got {size}")
    if max_size is not None:
        raise ValueError(f"resize: expected max_size as None for an ImageBatch, but got {max_size}")
    name = getattr(interpolation, "value", interpolation)
    return resize(images, tuple(size), interpolation=_NAMES.get(name, name), antialias=bool(antialias))


KERNELS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(color, name)
        for name in (
            "adjust_brightness",
            "adjust_contrast",
            "adjust_saturation",
            "adjust_hue",
            "adjust_gamma",
            "adjust_sharpness",
            "invert",
            "posterize",
            "solarize",
            "autocontrast",
            "equalize",
        )
    },
    "gaussian_blur": blur,
    "jpeg": jpeg_compression,
    "resize": resize_batch,
}


def kernel_of_batches(op: str, report: Report) -> Callable[..., Any]:
    """The kernel of v2's function of this name for an `ImageBatch`; it raises if there is none."""

    def run(images: ImageBatch, *args: Any, **kwargs: Any) -> Any:
        result = KERNELS[op](images, *args, **kwargs)
        report.ours[f"v2 {op} of ImageBatch"] += 1
        return result

    def refuse(images: ImageBatch, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"{op}: expected tensors or Pillow images, but got an ImageBatch; see `convert`")

    return run if op in KERNELS else refuse
