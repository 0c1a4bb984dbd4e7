"""torch's operations whose bits depend on the device, found where there is no device."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Each device has its own library for these, or its own order of sums. MKL, which computes square roots on
# the CPU, does not round them correctly, CUDA does.
NAMES = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p "
    "sigmoid erf erfc erfinv lgamma sqrt rsqrt hypot logsumexp _softmax _log_softmax linalg_vector_norm norm "
    "mm bmm addmm addmv addbmm baddbmm mv dot convolution grid_sampler_2d upsample_bilinear2d cumsum cumprod "
    "ldexp var std addcmul addcdiv lerp linspace logspace"
)
LIBRARY = set(NAMES.split())
SUMS = {"sum", "mean", "prod"}


class Inexact(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The calls whose floats may differ between the CPU and CUDA; in the backward pass, too.

    Example:
        >>> import torch
        >>> with Inexact() as watch:
        ...     values = torch.ones(3).sin() / 3
        >>> watch.found
        ['aten.sin.default', 'aten.div.Tensor by 3']
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if func.namespace == "aten" and any(tensor.is_floating_point() for tensor in tensors):
            self.found += [f"{func}{reason}" for reason in reasons(func, args, kwargs or {}, result)]
        return result


def reasons(func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> list[str]:
    """Why the bits depend on the device; empty if they do not."""
    name = func.overloadpacket.__name__.rstrip("_")
    if name in LIBRARY and not is_largest_magnitude(name, args):
        return [""]
    if name == "pow" and not is_exact_power(args):
        return [""]
    if name in SUMS and args[0].is_floating_point() and args[0].numel() > 2 * result.numel():
        return [f" of {args[0].numel() // max(result.numel(), 1)}"]
    if name == "div" and not is_power_of_two(args[1]):  # CUDA multiplies by the reciprocal of a number
        return [f" by {args[1]}"]
    if name in ("add", "sub") and abs(kwargs.get("alpha", 1)) != 1:  # CUDA fuses the product and the sum
        return [f" with alpha {kwargs['alpha']}"]
    return []


def is_largest_magnitude(name: str, args: Any) -> bool:
    """The norm of infinite order, which rounds nothing."""
    return name == "linalg_vector_norm" and len(args) > 1 and args[1] == math.inf


def is_exact_power(args: Any) -> bool:
    """`x^1` and `x^2`, which torch computes as `x` and `x * x`."""
    return not isinstance(args[1], Tensor) and args[1] in (1, 2)


def is_power_of_two(divisor: Any) -> bool:
    """Or a tensor, by which CUDA divides."""
    if isinstance(divisor, Tensor):
        return True
    return math.frexp(abs(divisor))[0] == 0.5
