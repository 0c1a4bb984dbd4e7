"""Gradients of the adjustments for float images, and of the mean for contrast."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.gradients.color import GRAY, gamma_slope, hue_gradient, raise_to, sum_channels, sum_pixels


def _gray_weights(images: Tensor) -> Tensor:
    weights = GRAY if images.shape[1] == 3 else (1.0,)
    return torch.tensor(weights, dtype=images.dtype, device=images.device).view(-1, 1, 1)


def _is_inside(values: Tensor) -> Tensor:
    return (values >= 0) & (values <= 1)


def _of_contrast(gradient: Tensor, x: Tensor, factor: Tensor, ctx: Any) -> Tensor:
    mean = ctx.mean.to(x.dtype).view(-1, 1, 1, 1)
    inside = gradient * _is_inside(x * factor + mean * (1 - factor))
    ctx.of_mean = sum_pixels(inside * (1 - factor))
    return inside * factor


def _of_saturation(gradient: Tensor, x: Tensor, factor: Tensor, ctx: Any) -> Tensor:
    weights = _gray_weights(x)
    gray = sum_channels(x * weights)
    inside = gradient * _is_inside(x * factor + gray * (1 - factor))
    return inside * factor + weights * sum_channels((1 - factor) * inside)


def _of_gamma(gradient: Tensor, x: Tensor, factor: Tensor, ctx: Any) -> Tensor:
    inside = _is_inside(ctx.gain * raise_to(x, factor)) if ctx.gain != 1 else torch.ones_like(x)
    slope = gamma_slope(x, factor).to(x.dtype)
    result: Tensor = gradient * ctx.gain * slope * inside
    return result


def _of_sharpness(gradient: Tensor, x: Tensor, factor: Tensor, ctx: Any) -> Tensor:
    if min(x.shape[2:]) <= 2:
        return gradient
    rest = 1 - factor
    kernel = torch.full((3, 3), 1 / 13, dtype=x.dtype, device=x.device)
    kernel[1, 1] = 5 / 13
    blurred = sum(kernel[dy, dx] * _shifted(x, dy, dx) for dy in range(3) for dx in range(3))
    middle = x[..., 1:-1, 1:-1]
    inner = gradient[..., 1:-1, 1:-1] * _is_inside(middle + rest * (blurred - middle))
    result = gradient * _is_inside(x)
    result[..., 1:-1, 1:-1] = inner * (1 - rest)
    for dy in range(3):
        for dx in range(3):
            part = _shifted(result, dy, dx)
            part += kernel[dy, dx] * rest * inner
    return result


def _shifted(x: Tensor, dy: int, dx: int) -> Tensor:
    return x[..., dy : x.shape[-2] - 2 + dy, dx : x.shape[-1] - 2 + dx]


_BACKWARD: dict[str, Callable[[Tensor, Tensor, Tensor, Any], Tensor]] = {
    "adjust_brightness": lambda gradient, x, factor, ctx: gradient * factor * _is_inside(x * factor),
    "adjust_contrast": _of_contrast,
    "adjust_saturation": _of_saturation,
    "adjust_hue": lambda gradient, x, factor, ctx: hue_gradient(gradient, x, factor),
    "adjust_gamma": _of_gamma,
    "adjust_sharpness": _of_sharpness,
    "invert": lambda gradient, x, factor, ctx: -gradient,
    "posterize": lambda gradient, x, factor, ctx: torch.zeros_like(gradient),
    "solarize": lambda gradient, x, factor, ctx: torch.where(x >= factor, -gradient, gradient),
}


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    images, _, _, name, factor, factors, gain, mean = inputs
    ctx.save_for_backward(images, factors, mean)
    ctx.name, ctx.factor, ctx.gain = name, factor, gain


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    images, factors, mean = ctx.saved_tensors
    ctx.mean, ctx.of_mean = mean, None
    working = torch.float64 if images.dtype == torch.float64 else torch.float32
    x = images.to(working)
    one = torch.full((1,), ctx.factor, dtype=torch.float64, device=x.device)
    factor = (one if factors is None else factors).to(working).view(-1, 1, 1, 1)
    of_images = _BACKWARD[ctx.name](gradient.to(working), x, factor, ctx).to(images.dtype)
    return of_images, None, None, None, None, None, None, ctx.of_mean


def _setup_sums(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])


def _sums_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    (images,) = ctx.saved_tensors
    working = torch.float64 if images.dtype == torch.float64 else torch.float32
    weights = _gray_weights(images.to(working))
    of_images = (gradient.to(working).view(-1, 1, 1, 1) * weights).expand(images.shape)
    return of_images.to(images.dtype), None, None


torch.library.register_autograd("orbbec::adjust_color", _backward, setup_context=_setup)
torch.library.register_autograd("orbbec::gray_sums", _sums_backward, setup_context=_setup_sums)
