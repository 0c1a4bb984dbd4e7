"""Warp images by 3x3 matrices, with OpenCV's numbers."""

from typing import Any

from torch import Tensor

from orbbec.binding.arguments import Fill, Images, Matrix, as_tensor, size_values
from orbbec.binding.fakes import register_fake
from orbbec.binding.names import Border, Interpolation
from orbbec.binding.spec import EVERY_DTYPE, OpSpec, register
from orbbec.binding.warp import call_warp, register_fakes
from orbbec.binding.warp_gradients import fake_gradients, register_matrix_gradient


def warp_perspective(
    images: Images,
    matrix: Matrix,
    size: tuple[int, int],
    *,
    interpolation: Interpolation = "linear",
    border: Border = "constant",
    fill: Fill = 0,
    inverse: bool = False,
    arithmetic: str | None = None,
    out: Images | None = None,
) -> Any:
    """Warp each image by its own 3x3 matrix.

    Output pixel `(x, y)` reads source position `(u / w, v / w)`, where `(u, v, w) = inverse(matrix) @ (x, y,
    1)`. A position that is not finite, such as one on the horizon, reads what lies outside of the border.

    Args:
        images: as in `warp_affine`.
        matrix: float32 or float64 `[N, 3, 3]`, or `[3, 3]` for all images: source pixels to output pixels. On
            the CPU or on the device of `images`. A singular one counts as zeros: every position is then not
            finite ("cv2_5", nearest and linear) or source pixel (0, 0) ("cv2_4").
        size: output `(height, width)` in pixels, each at least 1.
        interpolation: as in `warp_affine`.
        border: as in `warp_affine`.
        fill: as in `warp_affine`.
        inverse: whether `matrix` maps output pixels to source pixels already.
        arithmetic: as in `warp_affine`.
        out: as in `warp_affine`.

    Returns:
        Images of `size`, the kind and dtype of `images`, as `warp_affine` gives them.

    Raises:
        TypeError: an argument is of a type or dtype that is not one of those above.
        ValueError: a shape, size or name does not fit.

    Source:
        `cv::warpPerspective`. Identical to OpenCV 5.0.0 and 4.12.0 in the cases that docs/parity.md lists.

    Example:
        >>> import torch
        >>> image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4)
        >>> right_by_one = torch.eye(3)
        >>> right_by_one[0, 2] = 1
        >>> warp_perspective(image, right_by_one, size=(1, 4)).flatten().tolist()
        [0, 0, 1, 2]
    """
    return call_warp(
        "warp_perspective",
        images,
        as_tensor("warp_perspective", "matrix", matrix),
        size_values("warp_perspective", size),
        interpolation,
        border,
        fill,
        (inverse,),
        arithmetic,
        out,
    )


register_fakes("warp_perspective")


@register_fake("warp_perspective_backward", gradient=4)
def _(
    gradient: Tensor,
    images: Tensor,
    matrix: Tensor,
    per_unit: Tensor,
    *options: object,
    regions: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    return fake_gradients(gradient, images, (images.size(0), 3, 3))


register_matrix_gradient("warp_perspective")
register(OpSpec(call=warp_perspective, dtypes=EVERY_DTYPE))
