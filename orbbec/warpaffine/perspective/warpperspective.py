"""Perspective warps with OpenCV's results."""

from typing import Any

from orbbec.bridge.arguments import Fill, Images, Matrix, flag_value, float_tensor, size_values
from orbbec.bridge.gradients.warp import register_matrix_gradient
from orbbec.bridge.names import Border, Interpolation
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.bridge.warp import WarpOptions, call_warp, register_fakes


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
    1)`. Non-finite positions, such as those on the horizon, read the border.

    Args:
        images: see `warp_affine`.
        matrix: float32 or float64 `[N, 3, 3]`, or `[3, 3]` for all images: source pixels to output pixels. On
            the CPU or on the device of `images`. A singular matrix is treated as zeros: every position is
            then non-finite ("cv2_5", nearest and linear) or source pixel (0, 0) ("cv2_4").
        size: see `warp_affine`.
        interpolation: see `warp_affine`.
        border: see `warp_affine`.
        fill: see `warp_affine`.
        inverse: see `warp_affine`.
        arithmetic: see `warp_affine`.
        out: see `warp_affine`.

    Returns:
        See `warp_affine`, which also lists the errors.

    Source:
        `cv::warpPerspective`. Identical to OpenCV 5.0.0 and 4.12.0 in the cases of docs/project/parity.md.

    Example:
        >>> image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4)
        >>> right_by_one = torch.eye(3)
        >>> right_by_one[0, 2] = 1
        >>> warp_perspective(image, right_by_one, size=(1, 4)).flatten().tolist()
        [0, 0, 1, 2]
    """
    flag = flag_value("warp_perspective", "inverse", inverse)
    return call_warp(
        "warp_perspective",
        images,
        (float_tensor("warp_perspective", "matrix", matrix),),
        size_values("warp_perspective", size),
        WarpOptions(interpolation, border, fill, arithmetic, (flag,)),
        out,
    )


register_fakes("warp_perspective")
register_matrix_gradient("warp_perspective", rows=3)
register(OpSpec(call=warp_perspective, dtypes=EVERY_DTYPE))
