"""A stand-in for CUDA graphs without CUDA: records torch's calls and repeats them on the same memory."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from orbbec.bridge.buffer_pool import BUFFER_POOL

Result = TypeVar("Result")


class Recorder:
    """Replaces `orbbec.data.device.capture.CudaCapture` on the CPU.

    Like a graph, it keeps all numbers and addresses passed to calls and does not run Python again, so values
    computed on the host do not change. It refuses to give Python a number from a tensor.

    Args:
        device: where the work runs.

    Example:
        >>> given, recorder = torch.tensor([1.0, 2.0]), Recorder(torch.device("cpu"))
        >>> doubled = recorder.record(lambda: given * 2)
        >>> given.copy_(torch.tensor([5.0, 7.0]))
        tensor([5., 7.])
        >>> recorder.replay()
        >>> doubled
        tensor([10., 14.])
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], list[Tensor]]] = []

    def warm_up(self, work: Callable[[], Result]) -> Result:
        """Run work that will be recorded later."""
        return work()

    def record(self, work: Callable[[], Tensor]) -> Tensor:
        """Run the work and record its torch calls; results are in new memory, as on CUDA."""
        limit, BUFFER_POOL.limit = BUFFER_POOL.limit, 0
        try:
            with _Recording(self._calls):
                return work()
        finally:
            BUFFER_POOL.limit = limit

    def replay(self) -> None:
        """Repeat the calls; results go to the same memory."""
        with torch.no_grad():
            for call, arguments, options, results in self._calls:
                for given, value in zip(results, _tensors(call(*arguments, **options)), strict=True):
                    if given.data_ptr() != value.data_ptr():
                        given.copy_(value)


class _Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, calls: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("Recorder: a number is asked for, which a captured graph does not know")
        result = func(*args, **(kwargs or {}))
        self._calls.append((func, args, kwargs or {}, _tensors(result)))
        return result


def _tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]
