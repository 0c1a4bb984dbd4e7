"""Sampling at given positions, with OpenCV's results."""

from typing import Any

from orbbec.bridge.arguments import Fill, Images, Matrix, as_tensor, check_dtype, float_tensor
from orbbec.bridge.gradients.warp import register_map_gradient
from orbbec.bridge.names import Border, Interpolation
from orbbec.bridge.warp import WarpOptions, call_warp, register_fakes


def remap(
    images: Images,
    map_x: Matrix,
    map_y: Matrix,
    *,
    interpolation: Interpolation = "linear",
    border: Border = "constant",
    fill: Fill = 0,
    arithmetic: str | None = None,
    out: Images | None = None,
) -> Any:
    """Sample each image at its own positions.

    Output pixel `(x, y)` reads source position `(map_x[y, x], map_y[y, x])`. Non-finite positions read the
    border.

    Args:
        images: see `warp_affine`.
        map_x: float32 or float64 `[N, height, width]`, or `[height, width]` for all images: source x in
            pixels. On the CPU or on the device of `images`. Converted to float32, or float64 for float64
            images.
        map_y: source y in pixels; the shape, dtype and device of `map_x`.
        interpolation: see `warp_affine`.
        border: see `warp_affine`.
        fill: see `warp_affine`.
        arithmetic: see `warp_affine`.
        out: see `warp_affine`.

    Returns:
        Images of size `(height, width)`, with the type and dtype of `images`, see `warp_affine`.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape or name is invalid.

    Source:
        `cv::remap`. Identical to OpenCV 5.0.0 and 4.12.0 in the cases of docs/project/parity.md.

    Example:
        >>> image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4)
        >>> remap(image, torch.tensor([[3.0, 0.5]]), torch.zeros(1, 2)).flatten().tolist()
        [3, 0]
    """
    x = float_tensor("remap", "map_x", map_x)
    y = as_tensor("remap", "map_y", map_y)
    check_dtype("remap", "map_y", y, (x.dtype,))
    if x.shape != y.shape or x.dim() not in (2, 3):
        raise ValueError(
            f"remap: expected map_x and map_y of one shape [N, height, width] or [height, width], but got "
            f"{list(x.shape)} and {list(y.shape)}"
        )
    if x.device != y.device:
        raise ValueError("remap: expected map_x and map_y on one device")
    options = WarpOptions(interpolation, border, fill, arithmetic)
    return call_warp("remap", images, (x, y), list(x.shape[-2:]), options, out)


register_fakes("remap", tensors=2)
register_map_gradient("remap")
