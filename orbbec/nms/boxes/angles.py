"""Sine, cosine, arctangent and square root with the same bits on every device; torch's depend on it."""

import math
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake

DOUBLE = torch.float64


def arctangent(y: Tensor, x: Tensor) -> Tensor:
    """The direction of the points `(x, y)` in radians, from -pi to pi, as `torch.atan2` has it.

    Computed in float64 with an error of at most 1.6 ulp, and rounded to the dtype.

    Args:
        y: `[...]` of any float dtype.
        x: of the shape, dtype and device of `y`.

    Example:
        >>> arctangent(torch.tensor([1.0, 0.0]), torch.tensor([0.0, -2.0])).tolist()
        [1.5707963705062866, 3.1415927410125732]
    """
    angles: Tensor = operators.arctangent(_computed(y), _computed(x))
    return angles.to(y.dtype)


def sine_cosine(degrees: Tensor) -> tuple[Tensor, Tensor]:
    """The sine and the cosine of angles in degrees; exact at multiples of 90.

    Args:
        degrees: `[...]` of any float dtype.

    Example:
        >>> sine, cosine = sine_cosine(torch.tensor([0.0, 60.0]))
        >>> sine.tolist(), cosine.tolist()
        ([0.0, 0.8660253882408142], [1.0, 0.5])
    """
    both: Tensor = operators.sine_cosine(_computed(degrees))
    sine, cosine = both.to(degrees.dtype).unbind()
    return sine, cosine


def square_root(squares: Tensor) -> Tensor:
    """The square root, rounded correctly. torch's is not on the CPU, where MKL computes it.

    Args:
        squares: `[...]` of any float dtype.

    Example:
        >>> square_root(torch.tensor([4.0, 2.0])).tolist()
        [2.0, 1.4142135381698608]
    """
    roots: Tensor = operators.square_root(_computed(squares))
    return roots.to(squares.dtype)


def _computed(numbers: Tensor) -> Tensor:
    return numbers if numbers.dtype == DOUBLE else numbers.float()


@register_fake("arctangent")
def _(y: Tensor, x: Tensor) -> Tensor:
    return y.new_empty(y.shape)


@register_fake("sine_cosine")
def _(degrees: Tensor) -> Tensor:
    return degrees.new_empty((2, *degrees.shape))


@register_fake("square_root")
def _(squares: Tensor) -> Tensor:
    return squares.new_empty(squares.shape)


def _save_point(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradient_of_arctangent(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """0 at the origin, as torch has it."""
    y, x = ctx.saved_tensors
    square = y * y + x * x
    scaled = (gradient / square).masked_fill(square == 0, 0.0)
    return scaled * x, -scaled * y


def _save_result(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _gradient_of_sine_cosine(ctx: Any, gradient: Tensor) -> Tensor:
    (output,) = ctx.saved_tensors
    (sine, cosine), (of_sine, of_cosine) = output.unbind(), gradient.unbind()
    slope: Tensor = of_sine * cosine - of_cosine * sine
    return slope * (math.pi / 180)


def _gradient_of_square_root(ctx: Any, gradient: Tensor) -> Tensor:
    (root,) = ctx.saved_tensors
    scaled: Tensor = gradient / (root + root)
    return scaled


torch.library.register_autograd("orbbec::arctangent", _gradient_of_arctangent, setup_context=_save_point)
torch.library.register_autograd("orbbec::sine_cosine", _gradient_of_sine_cosine, setup_context=_save_result)
torch.library.register_autograd("orbbec::square_root", _gradient_of_square_root, setup_context=_save_result)
