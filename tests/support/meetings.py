"""Copies from the host, found where there is no device."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meetings(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The calls in which tensors of the host and of the device meet; numbers without dimensions may.

    A device that is "meta" will do.

    Example:
        >>> import torch
        >>> with Meetings() as watch:
        ...     values = torch.ones(2).to("meta") + torch.tensor(1.0)
        >>> watch.found
        ['aten._to_copy.default']
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, Tensor)]
        if len({tensor.device for tensor in tensors if tensor.dim()}) > 1:
            self.found.append(str(func))
        return result
