"""Shared gradients of color steps: gray weights, the slope of gamma, the gradient of hue."""

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.matrices.linear import sum_last

GRAY = (0.2989, 0.587, 0.114)  # of red, green, blue, as in torchvision


def raise_to(x: Tensor, exponent: Tensor) -> Tensor:
    """`x^exponent` for images `[N, C, H, W]` and one exponent per image, as `adjust_gamma` computes it."""
    exponents = exponent.double().flatten().expand(x.shape[0]).contiguous()
    power: Tensor = operators.adjust_color(x, None, 0, "adjust_gamma", 1.0, exponents, 1.0, None)
    return power


def gamma_slope(x: Tensor, gamma: Tensor) -> Tensor:
    """The slope of `x^gamma`; 0 at x = 0 for exponents below 1, where it is infinite.

    Args:
        x: `[N, C, H, W]`, float32 or float64.
        gamma: `[N, 1, 1, 1]`.

    Example:
        >>> x = torch.tensor([0.0, 0.25]).view(1, 1, 1, 2)
        >>> gamma_slope(x, torch.full((1, 1, 1, 1), 0.5)).flatten().tolist()
        [0.0, 1.0]
    """
    x = x.double()  # so that x^gamma / x loses nothing where x^gamma is tiny
    slope = torch.where(x == 0, (gamma == 1).double(), gamma * raise_to(x, gamma) / x)
    return slope.masked_fill(slope.isinf() | (gamma == 0), 0.0)


def sum_channels(x: Tensor) -> Tensor:
    """The sum over the channels of `[N, C, H, W]`, in their order: `[N, 1, H, W]`."""
    total = x[:, :1]
    for channel in range(1, x.shape[1]):
        total = total + x[:, channel : channel + 1]
    return total


def sum_pixels(x: Tensor) -> Tensor:
    """The sum of each image, `[N]` in float64, in an order independent of the device."""
    pixels = x.double().flatten(1)
    return sum_last(pixels) if pixels.shape[1] else pixels.new_zeros(x.shape[0])


def hue_gradient(gradient: Tensor, x: Tensor, shift: Tensor) -> Tensor:
    """The gradient for images from 0 to 1, `[N, 3, H, W]`, of a hue shift by fractions of the color circle.

    Each channel of the result is the largest, the smallest, or a weighted sum of the three channels.
    """
    high, low = x.amax(1, keepdim=True), x.amin(1, keepdim=True)
    r, g, b = x.unbind(1)
    red = x[:, 0] == high[:, 0]
    green = (x[:, 1] == high[:, 0]) & ~red
    span = torch.where(high == low, torch.ones_like(high), high - low)[:, 0]
    # The two others as (ahead, behind) on the circle; one of them is the smallest.
    ahead = torch.where(red, g, torch.where(green, b, r))
    behind = torch.where(red, b, torch.where(green, r, g))
    start = torch.where(red, 0.0, torch.where(green, 2.0, 4.0)).to(x.dtype)
    sixths = torch.remainder((ahead - behind) / span + start + shift[:, 0] * 6, 6)
    sector = sixths.floor()
    part = sixths - sector
    # The moving channel: high - span * (part or 1 - part); span * part = +-(middle - low) + k * span.
    middle_is_ahead = ahead >= behind
    slope = torch.where(middle_is_ahead, 1.0, -1.0).to(x.dtype)
    middle = torch.where(middle_is_ahead, ahead, behind)
    rising = sector.remainder(2) == 0
    sign = torch.where(rising, 1.0, -1.0).to(x.dtype)
    constant = part - slope * (middle - low[:, 0]) / span
    base_high = torch.where(rising, 0.0, 1.0).to(x.dtype)
    of_middle = sign * slope
    of_high = base_high + sign * constant
    of_low = 1 - of_middle - of_high
    out_high, out_low, out_middle = _by_rank(sector, gradient)
    into_high = out_high + of_high * out_middle
    into_low = out_low + of_low * out_middle
    into_middle = of_middle * out_middle
    index_high = torch.where(red, 0, torch.where(green, 1, 2))
    index_ahead, index_behind = (index_high + 1) % 3, (index_high + 2) % 3
    index_middle = torch.where(middle_is_ahead, index_ahead, index_behind)
    index_low = torch.where(middle_is_ahead, index_behind, index_ahead)
    result = torch.zeros_like(x)
    for index, value in ((index_high, into_high), (index_low, into_low), (index_middle, into_middle)):
        result = result.scatter(1, index.unsqueeze(1), value.unsqueeze(1))
    return result


def _by_rank(sector: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the largest, the smallest and the moving channel of the result."""
    highest = torch.tensor([0, 1, 1, 2, 2, 0], device=sector.device)
    lowest = torch.tensor([2, 2, 0, 0, 1, 1], device=sector.device)
    number = sector.long().clamp(0, 5)
    high, low = highest[number].unsqueeze(1), lowest[number].unsqueeze(1)
    of_high, of_low = gradient.gather(1, high), gradient.gather(1, low)
    of_middle = gradient.gather(1, 3 - high - low)
    return of_high[:, 0], of_low[:, 0], of_middle[:, 0]
