"""OpenCV's warps under orbbec's names, the reference of the tests. Needs `cv2`."""

import importlib.metadata
from typing import Any

import cv2
import numpy as np

from orbbec.bridge.arguments import Array

INTERPOLATIONS = {
    "nearest": cv2.INTER_NEAREST,
    "linear": cv2.INTER_LINEAR,
    "cubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
    "lanczos4": cv2.INTER_LANCZOS4,
}
BORDERS = {
    "constant": cv2.BORDER_CONSTANT,
    "replicate": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT,
    "reflect101": cv2.BORDER_REFLECT_101,
    "wrap": cv2.BORDER_WRAP,
    "transparent": cv2.BORDER_TRANSPARENT,
}


def opencv_version() -> str:
    """The version of the installed package, such as "5.0.0.93", or of the library if there is no package."""
    for package in ("opencv-python-headless", "opencv-python", "opencv-contrib-python-headless"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return str(cv2.__version__)


def arithmetic() -> str:
    """The name of the installed OpenCV's arithmetic."""
    return "cv2_5" if int(cv2.__version__.split(".")[0]) >= 5 else "cv2_4"


def warp(
    op: str,
    image: Array,
    map: Any,
    size: tuple[int, int],
    *,
    interpolation: str = "linear",
    border: str = "constant",
    fill: Any = 0,
    inverse: bool = False,
    out: Array | None = None,
) -> Array:
    """OpenCV's result for one image; float16, which OpenCV lacks, is computed in float32 and rounded.

    Args:
        op: "warp_affine", "warp_perspective" or "remap".
        image: array `[H, W, C]` or `[H, W]`, 1, 3 or 4 channels.
        map: the matrix, or the pair of `map_x` and `map_y`.
        size: output `(height, width)` in pixels.
        interpolation: a key of `INTERPOLATIONS`.
        border: a key of `BORDERS`.
        fill: a number or one per channel.
        inverse: whether the matrix maps output to source.
        out: initial contents of the output; not written to.

    Returns:
        Array of `size`, with the rank and dtype of `image`.
    """
    if image.dtype == np.float16:
        options: dict[str, Any] = {"interpolation": interpolation, "border": border, "inverse": inverse}
        before = None if out is None else out.astype(np.float32)
        fill = (
            np.asarray(fill, np.float32).astype(np.float16).astype(np.float32)
        )  # like torch's conversion of doubles
        result = warp(op, image.astype(np.float32), map, size, fill=fill, out=before, **options)
        with np.errstate(over="ignore"):
            return result.astype(np.float16)
    flags = INTERPOLATIONS[interpolation] | (cv2.WARP_INVERSE_MAP if inverse else 0)
    border_value = [float(fill)] * 4 if np.ndim(fill) == 0 else [float(value) for value in fill]
    held = None if out is None else np.array(out, order="C")
    edge: dict[str, Any] = {"borderMode": BORDERS[border], "borderValue": border_value, "dst": held}
    if op == "remap":
        result = cv2.remap(image, map[0], map[1], INTERPOLATIONS[interpolation], **edge)
    else:
        function = cv2.warpAffine if op == "warp_affine" else cv2.warpPerspective
        result = function(image, map, (size[1], size[0]), flags=flags, **edge)
    return np.asarray(result).reshape(*size, *image.shape[2:])


def warp_planes(op: str, image: Array, *arguments: Any, fill: Any = 0, **options: Any) -> Array:
    """Like `warp`, plane by plane: any number of channels, each with its own fill."""
    channels = image.shape[2]
    fills = np.broadcast_to(fill, channels)
    planes = [np.ascontiguousarray(image[..., c]) for c in range(channels)]
    warped = [warp(op, plane, *arguments, fill=fills[c], **options) for c, plane in enumerate(planes)]
    return np.stack(warped, -1)
