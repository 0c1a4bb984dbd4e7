"""Affine warps with OpenCV's results."""

from typing import Any

from orbbec.bridge.arguments import Fill, Images, Matrix, flag_value, float_tensor, size_values
from orbbec.bridge.dispatch import call_for
from orbbec.bridge.gradients.warp import register_matrix_gradient
from orbbec.bridge.names import Border, Interpolation
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.bridge.warp import WarpOptions, call_warp, register_fakes


def warp_affine(
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
    """Warp each image by its own 2x3 matrix.

    Output pixel `(x, y)` reads source position `inverse(matrix) @ (x, y, 1)`. Pixel centers are whole
    numbers, as in OpenCV. Non-finite positions read the border.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU or a
            CUDA device.
        matrix: float32 or float64 `[N, 2, 3]`, or `[2, 3]` for all images: source pixels to output pixels. On
            the CPU or on the device of `images`. A singular matrix is treated as zeros: every pixel reads
            source pixel (0, 0).
        size: output `(height, width)` in pixels, each at least 1.
        interpolation: "nearest", "linear", "cubic", "area" (the same as linear) or "lanczos4"; also
            torchvision's and Pillow's names ("bilinear", "bicubic", "lanczos"), their enumerations, and the
            values of `cv2.INTER_*`.
        border: values outside an image: "constant" (`fill`), "replicate" (aaa|abc|ccc), "reflect"
            (cba|abc|cba), "reflect101" (cb|abc|ba), "wrap" (abc|abc|abc), or "transparent" (the previous
            values of `out`); also "edge" for "replicate", "symmetric" for "reflect", and the values of
            `cv2.BORDER_*`.
        fill: value of the constant border, in pixel units: one number, or one per channel. Rounded half to
            even and saturated for integer images.
        inverse: whether `matrix` already maps output pixels to source pixels.
        arithmetic: "cv2_5" (float) or "cv2_4" (fixed point, sides below 32767). None: the package's default,
            see `set_default_arithmetic`.
        out: output buffer with the shape, dtype and device of the result, sharing no memory with `images`.

    Returns:
        Images of `size`, with the type, dtype and memory format of `images`, on their device. An `ImageBatch`
        gives a `[N, C, height, width]` tensor. `out` if given.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, size or name is invalid.

    Source:
        `cv::warpAffine`. Identical to OpenCV 5.0.0 and 4.12.0 in the cases of docs/project/parity.md.

    Example:
        >>> image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4)
        >>> right_by_one = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> warp_affine(image, right_by_one, size=(1, 4)).flatten().tolist()
        [0, 0, 1, 2]
    """
    flag = flag_value("warp_affine", "inverse", inverse)
    return call_warp(
        "warp_affine",
        images,
        (float_tensor("warp_affine", "matrix", matrix),),
        size_values("warp_affine", size),
        WarpOptions(interpolation, border, fill, arithmetic, (flag,)),
        out,
    )


def affine_torch(input: Images, affine_matrix: Matrix, out_h: int, out_w: int) -> Any:
    """Warp each image by its own output-to-source matrix; linear, zero outside.

    Args:
        input: see `images` of `warp_affine`.
        affine_matrix: float `[N, 2, 3]` or `[2, 3]`: output pixels to source pixels.
        out_h: output height in pixels.
        out_w: output width in pixels.

    Returns:
        Images of size `(out_h, out_w)`, with the type and dtype of `input`.

    Raises:
        TypeError: see `warp_affine`.
        ValueError: see `warp_affine`.

    Source:
        `warp_affine(..., inverse=True)`.

    Example:
        >>> image = torch.arange(4.0).reshape(1, 1, 1, 4)
        >>> affine_torch(image, torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]), 1, 4).flatten().tolist()
        [1.0, 2.0, 3.0, 0.0]
    """
    return call_for("affine_torch", warp_affine, input, affine_matrix, (out_h, out_w), inverse=True)


register_fakes("warp_affine")
register_matrix_gradient("warp_affine", rows=2)
register(OpSpec(call=warp_affine, dtypes=EVERY_DTYPE))
