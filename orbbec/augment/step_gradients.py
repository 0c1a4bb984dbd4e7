"""The gradients of color steps, by the names of steps.h."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.gradients.color import GRAY, gamma_slope, hue_gradient, raise_to, sum_channels, sum_pixels

_LARGEST_GAIN = 65535.0  # the largest maximum value of images

# The gradient of the input from that of the output, the input and the rows of the step; values from 0 to 1.
Formula = Callable[[Tensor, Tensor, Tensor], Tensor]


def where_inside(gradient: Tensor, values: Tensor) -> Tensor:
    """Zero gradient for clipped values."""
    return gradient.masked_fill(~((values >= 0) & (values <= 1)), 0.0)


def number(row: Tensor, i: int) -> Tensor:
    """Number i of the rows."""
    return row[:, 1 + i].view(-1, 1, 1, 1)


def _of_matrix(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    matrix, offset = row[:, 1:10].view(-1, 3, 3), row[:, 10:13].view(-1, 3, 1, 1)
    inside = where_inside(gradient, _times(matrix, x) + offset)
    return _times(matrix.mT, inside)


def _times(matrix: Tensor, x: Tensor) -> Tensor:
    """The product of `[N, 3, 3]` and the channels of `[N, 3, H, W]`, summed in the order of the columns."""
    rows = matrix[..., None, None].unbind(1)  # [N, 3, 1, 1]
    return torch.cat([sum_channels(row * x) for row in rows], dim=1)


def _of_gamma(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    gamma, gain = number(row, 0), number(row, 1)
    slope = gamma_slope(x, gamma).to(x.dtype)
    return where_inside(gradient * gain * slope, gain * raise_to(x, gamma))


def _of_contrast(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    factor = number(row, 0)
    weights = torch.tensor(GRAY, dtype=x.dtype, device=x.device).view(3, 1, 1)
    gray = sum_channels(x * weights)
    # A tensor, because CUDA divides by a Python number through its reciprocal.
    pixels = x.new_full((), x.shape[2] * x.shape[3], dtype=torch.float64)
    mean = (sum_pixels(gray.clamp(0, 1)) / pixels).to(x.dtype).view(-1, 1, 1, 1)
    inside = where_inside(gradient, mean * (1 - factor) + x * factor)
    of_mean = (sum_pixels(inside * (1 - factor)) / pixels).view(-1, 1, 1, 1)
    return inside * factor + weights * where_inside(of_mean.to(x.dtype).expand_as(gray), gray)


def _of_curve(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    low, high = (row[:, first : first + 3].view(-1, 3, 1, 1) for first in (1, 4))
    slope = 3 * ((1 - x) * (1 - 3 * x) * low + x * (2 - 3 * x) * high + x * x)
    return gradient * slope


def _of_solarize(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    is_above, adds = x >= number(row, 0), number(row, 1) != 0
    below = gradient.masked_fill(x + number(row, 2) > 1, 0.0)
    return torch.where(is_above, torch.where(adds, gradient, -gradient), below)


def _positions(x: Tensor) -> tuple[Tensor, Tensor]:
    """The positions (x, y) of pixels: `[W]` and `[H, 1]`."""
    height, width = (torch.arange(side, dtype=x.dtype, device=x.device) for side in x.shape[2:])
    return width, height[:, None]


def _of_gain(gradient: Tensor, x: Tensor, gain: Tensor) -> Tensor:
    return where_inside(gradient * gain, x * gain)


def _of_ramp(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    column, line = _positions(x)
    return _of_gain(gradient, x, number(row, 0) + number(row, 1) * column + number(row, 2) * line)


def _of_radial(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    """The kernel computes the factors, by its own exponential."""
    ones = torch.ones(len(row), 1, *x.shape[2:], dtype=torch.float32, device=x.device)
    matrix, rows = torch.eye(3, dtype=torch.float32, device=x.device), row[:, None].float().contiguous()
    sampling: tuple[Any, ...] = (list(x.shape[2:]), "nearest", "constant", [0.0], None)
    values: tuple[Any, ...] = (rows, None, None, [], [], 1.0, _LARGEST_GAIN, False, None, None)
    gain: Tensor = operators.augment(ones, None, 0, matrix, *sampling, *values, torch.float32, False)
    return _of_gain(gradient, x, gain.to(x.dtype))


def _of_shadow(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    column, line = _positions(x)
    inside = torch.zeros(len(row), 1, *x.shape[2:], dtype=torch.bool, device=x.device)
    corners = [(number(row, 1 + 2 * i), number(row, 2 + 2 * i)) for i in range(7)]
    for (from_x, from_y), (to_x, to_y) in zip(corners, [*corners[1:], corners[0]], strict=True):
        along, across = (column - from_x) * (to_y - from_y), (to_x - from_x) * (line - from_y)
        inside ^= (from_y <= line) & (line < to_y) & (along < across)
        inside ^= (to_y <= line) & (line < from_y) & (along > across)
    return torch.where(inside, gradient * number(row, 0).clamp(0, 1), gradient)


FORMULAS: dict[str, Formula] = {
    "matrix": _of_matrix,
    "hue": lambda gradient, x, row: hue_gradient(gradient, x, number(row, 0)),
    "gamma": _of_gamma,
    "posterize": lambda gradient, x, row: torch.zeros_like(gradient),
    "solarize": _of_solarize,
    "contrast": _of_contrast,
    "hsv": lambda gradient, x, row: torch.zeros_like(gradient),
    "curve": _of_curve,
    "ramp": _of_ramp,
    "radial": _of_radial,
    "shadow": _of_shadow,
}
