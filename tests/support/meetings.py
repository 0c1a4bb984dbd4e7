"""Detection of copies from the host without a device."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Meetings(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the calls that mix tensors of host and device; 0-dimensional tensors are allowed.

    "meta" can serve as the device.

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
