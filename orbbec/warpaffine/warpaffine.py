"""Warp images by 2x3 matrices, with OpenCV's numbers."""

from typing import Any

from torch import Tensor

from orbbec.binding.arguments import Fill, Images, Matrix, as_tensor, size_values
from orbbec.binding.fakes import register_fake
from orbbec.binding.names import Border, Interpolation
from orbbec.binding.spec import EVERY_DTYPE, OpSpec, register
from orbbec.binding.warp import call_warp, register_fakes
from orbbec.binding.warp_gradients import fake_gradients, register_matrix_gradient


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

    Output pixel `(x, y)` reads source position `inverse(matrix) @ (x, y, 1)`. Pixel centres are whole
    numbers, as in OpenCV. A position that is not finite reads what lies outside of the border.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`. uint8, uint16, float16, bfloat16, float32 or float64; on the CPU or a
            CUDA device.
        matrix: float32 or float64 `[N, 2, 3]`, or `[2, 3]` for all images: source pixels to output pixels. On
            the CPU or on the device of `images`. A singular one counts as zeros: every pixel reads source
            pixel (0, 0).
        size: output `(height, width)` in pixels, each at least 1.
        interpolation: "nearest", "linear", "cubic", "area" (the same as linear) or "lanczos4"; also by the
            names of torchvision and Pillow ("bilinear", "bicubic", "lanczos"), their enumerations, and the
            numbers of `cv2.INTER_*`.
        border: what is read outside of an image: "constant" (`fill`), "replicate" (aaa|abc|ccc), "reflect"
            (cba|abc|cba), "reflect101" (cb|abc|ba), "wrap" (abc|abc|abc), or "transparent" (what `out` held
            before); also "edge" for "replicate", "symmetric" for "reflect", and the numbers of
            `cv2.BORDER_*`.
        fill: the value outside of a constant border, in the units of the pixels: one number, or one a
            channel. Rounded half to even and saturated for integer images.
        inverse: whether `matrix` maps output pixels to source pixels already.
        arithmetic: whose numbers: "cv2_5" (float) or "cv2_4" (fixed point, sides below 32767). None: the
            package's default, see `set_default_arithmetic`.
        out: where to write: the shape, dtype and device of the result, sharing no memory with `images`.

    Returns:
        Images of `size`, the kind and dtype of `images`, on their device; channels last if `images` are. An
        `ImageBatch` gives a `[N, C, height, width]` tensor. `out` if it was given.

    Raises:
        TypeError: an argument is of a type or dtype that is not one of those above.
        ValueError: a shape, size or name does not fit.

    Source:
        `cv::warpAffine`. Identical to OpenCV 5.0.0 and 4.12.0 in the cases that docs/parity.md lists.

    Example:
        >>> import torch
        >>> image = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4)
        >>> right_by_one = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> warp_affine(image, right_by_one, size=(1, 4)).flatten().tolist()
        [0, 0, 1, 2]
    """
    return call_warp(
        "warp_affine",
        images,
        as_tensor("warp_affine", "matrix", matrix),
        size_values("warp_affine", size),
        interpolation,
        border,
        fill,
        (inverse,),
        arithmetic,
        out,
    )


def affine_torch(input: Images, affine_matrix: Matrix, out_h: int, out_w: int) -> Any:
    """Warp each image by its own map from output pixels to source pixels; linear, zero outside.

    Args:
        input: as the `images` of `warp_affine`.
        affine_matrix: float `[N, 2, 3]` or `[2, 3]`: output pixels to source pixels.
        out_h: output height in pixels.
        out_w: output width in pixels.

    Returns:
        Images of size `(out_h, out_w)`, the kind and dtype of `input`.

    Raises:
        TypeError: as `warp_affine`.
        ValueError: as `warp_affine`.

    Source:
        `warp_affine(..., inverse=True)`.

    Example:
        >>> import torch
        >>> image = torch.arange(4.0).reshape(1, 1, 1, 4)
        >>> affine_torch(image, torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]), 1, 4).flatten().tolist()
        [1.0, 2.0, 3.0, 0.0]
    """
    return warp_affine(input, affine_matrix, (out_h, out_w), inverse=True)


register_fakes("warp_affine")


@register_fake("warp_affine_backward", gradient=4)
def _(
    gradient: Tensor, images: Tensor, matrix: Tensor, per_unit: Tensor, *options: object
) -> tuple[Tensor, Tensor]:
    return fake_gradients(gradient, images, (images.size(0), 2, 3))


register_matrix_gradient("warp_affine")
register(OpSpec(call=warp_affine, dtypes=EVERY_DTYPE))
