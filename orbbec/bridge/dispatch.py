"""Calls of operators with a gradient, and refusal of gradients."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from orbbec._library import operators

# Not public; a torch without it takes the slower path.
_below_autograd = getattr(torch._C, "_AutoDispatchBelowAutograd", nullcontext)
# Whether a tensor is in a function transform such as vmap or grad.
is_wrapped: Callable[[Tensor], bool] = getattr(
    torch._C._functorch, "is_functorch_wrapped_tensor", lambda tensor: False
)
_OPTION_TYPES = {bool, float, int, list, str, type(None)}  # found sooner than `isinstance` answers


def call_operator(operator: Any, *arguments: Any) -> Any:
    """Call an operator with a registered gradient, bypassing autograd if no gradient is needed.

    A gradient registered from Python costs every call more time than a small image takes, needed or not.

    Raises:
        NotImplementedError: a forward-mode gradient is requested, which torch would treat as 0.
    """
    if torch.compiler.is_compiling():
        return operator(*arguments)
    forward_mode, needs_autograd = _in_forward_mode(), False
    for argument in arguments:
        if type(argument) not in _OPTION_TYPES and isinstance(argument, Tensor):
            if forward_mode and _has_tangent(argument):
                raise NotImplementedError(f"{operator.name()}: no forward-mode gradient; use backward")
            if argument.requires_grad or type(argument) is not Tensor:
                needs_autograd = True
    if needs_autograd:
        return operator(*arguments)
    with _below_autograd():
        return operator(*arguments)


def call_into(op: str, buffer: Tensor | None, *arguments: Any) -> Any:
    """Call `torch.ops.orbbec.<op>`; its out variant if there is a buffer for the result."""
    if buffer is None:
        return call_operator(getattr(operators, op), *arguments)
    getattr(operators, f"{op}_out")(*arguments, buffer)
    return buffer


def call_for(op: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of which the operator `op` consists; its errors name `op`."""
    if torch.compiler.is_compiling():  # which reports errors of its own
        return function(*arguments, **named)
    try:
        return function(*arguments, **named)
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r"^\w+: ", f"{op}: ", str(error))) from error


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor has no gradient, is no subclass, and is not in a function transform."""
    return type(tensor) is Tensor and not (tensor.requires_grad or is_wrapped(tensor) or _has_tangent(tensor))


def refuse_gradient(op: str, name: str) -> None:
    """Make `backward` raise an error that names `name`, where torch would treat the gradient as 0.

    The operator `op` must be called by `call_operator`.
    """

    def backward(ctx: Any, *gradients: Tensor) -> None:
        raise NotImplementedError(f"{name}: there is no gradient; detach the images")

    torch.library.register_autograd(f"orbbec::{op}", backward)


def _in_forward_mode() -> bool:
    # The level is not public; without it every tensor is checked, which takes a microsecond.
    return getattr(forward_ad, "_current_level", 0) >= 0


def _has_tangent(tensor: Tensor) -> bool:
    if not _in_forward_mode() or not tensor.is_floating_point():
        return False
    return forward_ad.unpack_dual(tensor).tangent is not None  # type: ignore[no-untyped-call]
