"""Calls of operators that have a gradient."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

# Not public, so a torch without it goes the longer way.
_below_autograd = getattr(torch._C, "_AutoDispatchBelowAutograd", nullcontext)


def call_operator(operator: Any, *arguments: Any) -> Any:
    """Call an operator with a registered gradient; past it where none is asked for.

    A gradient registered from Python costs every call more time than a small image, asked for or not.
    """
    given = [argument for argument in arguments if isinstance(argument, Tensor)]
    if torch.compiler.is_compiling() or any(t.requires_grad or type(t) is not Tensor for t in given):
        return operator(*arguments)
    with _below_autograd():
        return operator(*arguments)
