"""2D filters: arbitrary kernels, sharpening, motion blur."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import (
    Images,
    Matrix,
    array_of,
    constant_numbers,
    copied_to,
    dtype_name,
    float_tensor,
    whole_value,
)
from orbbec.bridge.dispatch import call_for
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.names import Border, border_name
from orbbec.bridge.pointwise import register_fake_like, whole_numbers
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.filters.arguments import count_of, device_of, filter_images, numbers_of
from orbbec.filters.gradients import Pass, register_gradient

_MAX_LENGTH = 32766


def filter2d(images: Images, kernel: Matrix, *, border: Border = "reflect101") -> Any:
    """Correlate each image with a kernel.

    The kernel is not flipped. Its anchor is `(height // 2, width // 2)`. Sums are accumulated in float32
    (float64 for float64 images), row by row, with fused multiply-add; integers are rounded half to even and
    saturated.

    Args:
        images: see `gaussian_blur`.
        kernel: float32 or float64 `[h, w]`, or `[N, h, w]`, one per image; on the CPU or on the device of
            `images`. May be larger than the image.
        border: "constant" (zeros), "replicate", "reflect", "reflect101" or "wrap".

    Returns:
        See `gaussian_blur`, which also lists the errors.

    Source:
        `cv::filter2D`. For uint8 and kernels of fewer than 130 taps, identical to OpenCV 4.12.0, and to 5.0.0
        except for exact halves in the last one to three values of a row, where 5.0.0 does not fuse. For
        larger kernels OpenCV uses Fourier transforms, whose rounding differs between versions.

    Example:
        >>> image = torch.tensor([[[0, 1, 2, 3]]], dtype=torch.uint8)
        >>> filter2d(image, torch.tensor([[-1.0, 0.0, 3.0]]), border="replicate").flatten().tolist()
        [3, 6, 8, 7]
    """
    taps = constant_numbers("filter2d", "kernel", float_tensor("filter2d", "kernel", kernel))
    return _filter("filter2d", images, taps[None] if taps.dim() == 2 else taps, border)


def sharpen(images: Images, amount: float | Matrix = 1.0, *, border: Border = "reflect101") -> Any:
    """Add `amount` times the difference between each pixel and the mean of its eight neighbors.

    This is `filter2d` with the 3 x 3 kernel of `-amount / 8` around `1 + amount`.

    Args:
        images: see `gaussian_blur`.
        amount: a number, or `[N]`, one per image, on the CPU or on the device of `images`. 0 changes nothing.
        border: "constant" (zeros), "replicate", "reflect", "reflect101" or "wrap".

    Returns:
        See `gaussian_blur`, which also lists the errors.

    Source:
        `cv::filter2D` with that kernel.

    Example:
        >>> image = torch.tensor([[[0, 0, 0], [0, 80, 0], [0, 0, 0]]], dtype=torch.uint8)
        >>> sharpen(image, 0.5)[0, 1].tolist()
        [0, 120, 0]
    """
    amounts = numbers_of("sharpen", "amount", amount, count_of(images), device_of(images))
    kernels = (-amounts / 8)[:, None, None].repeat(1, 3, 3)
    kernels[:, 1, 1] = 1 + amounts
    return _filter("sharpen", images, kernels, border)


def motion_blur(
    images: Images, length: int | Matrix, angle_degrees: float | Matrix, *, border: Border = "reflect101"
) -> Any:
    """Blur each image along a line.

    Args:
        images: see `gaussian_blur`.
        length: length of the line in pixels, at least 1: a whole number, or `[N]` on the CPU.
        angle_degrees: counter-clockwise from the horizontal: a number, or `[N]` on the CPU.
        border: "constant" (zeros), "replicate", "reflect", "reflect101" or "wrap".

    Returns:
        See `gaussian_blur`, which also lists the errors.

    Source:
        `cv::filter2D` with the kernels of `motion_kernels`.

    Example:
        >>> image = torch.tensor([[[0, 0, 90, 0, 0]]], dtype=torch.uint8)
        >>> motion_blur(image, 3, 0.0).flatten().tolist()
        [0, 30, 30, 30, 0]
    """
    op, count, host = "motion_blur", count_of(images), torch.device("cpu")
    if isinstance(several := array_of(length), (Tensor, np.ndarray)):
        lengths = whole_numbers(op, "length", several, [count], 1, _MAX_LENGTH)
    else:
        lengths = torch.full((1,), whole_value(op, "length", length), dtype=torch.int64, device=host)
    angles = numbers_of(op, "angle_degrees", angle_degrees, count, host)
    for name, numbers in (("length", lengths), ("angle_degrees", angles)):
        if numbers.device != host:
            raise ValueError(f"{op}: expected {name} on the CPU, but got {numbers.device}")
    return _filter(op, images, operators.motion_kernels(lengths, angles), border)


def motion_kernels(lengths: list[int], angles_degrees: list[float]) -> Tensor:
    """The kernels of `motion_blur`, of the odd side that the longest line needs; each sums to 1.

    `length` points, one pixel apart along the centered line, distribute their weights to the four nearest
    taps bilinearly.

    Args:
        lengths: in pixels.
        angles_degrees: one per length.

    Returns:
        float64 `[N, side, side]` on the CPU.

    Raises:
        ValueError: a length is below 1 or above 32766, or an angle is not finite.

    Example:
        >>> motion_kernels([3], [90.0])[0].tolist()
        [[0.0, 0.3333333333333333, 0.0], [0.0, 0.3333333333333333, 0.0], [0.0, 0.3333333333333333, 0.0]]
    """
    if any(not 1 <= length <= _MAX_LENGTH for length in lengths):
        raise ValueError(f"motion_blur: expected length from 1 to {_MAX_LENGTH}, but got {lengths}")
    if any(not math.isfinite(angle) for angle in angles_degrees):
        raise ValueError(f"motion_blur: expected finite angle_degrees, but got {angles_degrees}")
    side = 2 * (max(lengths, default=1) // 2) + 1
    kernels, points = np.zeros((len(lengths), side, side)), np.arange(max(lengths, default=1))
    count = np.array(lengths).reshape(-1, 1)
    along = points - (count - 1) / 2
    cosine, sine = np.array(list(map(_direction, angles_degrees))).reshape(-1, 2, 1).swapaxes(0, 1)
    _add_points(kernels, side // 2 + along * cosine, side // 2 - along * sine, points < count)
    return torch.from_numpy(kernels / count[..., None])


def _direction(degrees: float) -> tuple[float, float]:
    """The cosine and the sine of an angle, exact for right angles."""
    quarter_turns, rest = divmod(degrees, 90.0)
    cosine, sine = math.cos(math.radians(rest)), math.sin(math.radians(rest))
    for _ in range(int(quarter_turns) % 4):
        cosine, sine = -sine, cosine
    return cosine, sine


def _add_points(kernels: Any, x: Any, y: Any, weights: Any) -> None:
    """Distribute weighted points `[N, P]` to the four nearest taps of `kernels` `[N, side, side]`."""
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, below = x - left, y - top
    images, last = np.arange(len(kernels))[:, None], kernels.shape[1] - 1
    for row, column, part in [
        (top, left, (1 - below) * (1 - right)),
        (top, left + 1, (1 - below) * right),
        (top + 1, left, below * (1 - right)),
        (top + 1, left + 1, below * right),
    ]:
        np.add.at(kernels, (images, np.clip(row, 0, last), np.clip(column, 0, last)), part * weights)


def _filter(op: str, images: Any, kernels: Tensor, border: Border) -> Any:
    name = border_name(op, border)
    kernels = copied_to(device_of(images), kernels) if kernels.device.type == "cpu" else kernels
    return call_for(op, filter_images, op, images, "filter2d", kernels, name)


def _passes(kernel: Tensor, border: str) -> list[Pass]:
    def flipped(images: Tensor) -> Tensor:
        result: Tensor = operators.filter2d(images, None, 0, kernel.flip((1, 2)), "constant")
        return result

    return [Pass((kernel.shape[1], kernel.shape[2]), flipped)]


register_fake_like("filter2d")
register_gradient("filter2d", _passes)

torch.library.define("orbbec::motion_kernels", "(Tensor lengths, Tensor angles_degrees) -> Tensor")


def _line_count(lengths: Tensor, angles_degrees: Tensor) -> int:
    """The number of lines; their lengths or their angles may be one for all."""
    numbers = {"lengths": (lengths, torch.int64), "angles_degrees": (angles_degrees, torch.float64)}
    for name, (values, dtype) in numbers.items():
        if values.dim() != 1 or values.dtype != dtype:
            got = f"{dtype_name(values.dtype)} {list(values.shape)}"
            raise ValueError(f"motion_kernels: expected {name} of {dtype_name(dtype)} [N], but got {got}")
    first, second = len(lengths), len(angles_degrees)
    if 1 not in (first, second) and first != second:
        raise ValueError(f"motion_kernels: expected angles_degrees of shape [{first}], but got [{second}]")
    return second if first == 1 else first


@torch.library.impl("orbbec::motion_kernels", "cpu")
def _(lengths: Tensor, angles_degrees: Tensor) -> Tensor:
    count = _line_count(lengths, angles_degrees)
    return motion_kernels(lengths.expand(count).tolist(), angles_degrees.expand(count).tolist())


@register_fake("motion_kernels")
def _(lengths: Tensor, angles_degrees: Tensor) -> Tensor:
    count, side = _line_count(lengths, angles_degrees), torch.library.get_ctx().new_dynamic_size()
    return angles_degrees.new_empty((count, side, side))


# Its kernels are made on the host in every call.
register(OpSpec(call=motion_blur, dtypes=EVERY_DTYPE, identity=("length", 1), capturable=False))
