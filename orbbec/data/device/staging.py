"""Staging of batches on a device: one copy and the augmentation, on a side stream."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch, YCbCrBatch
from orbbec.batch.collate import sequence_like
from orbbec.bridge import arguments

_PLAIN = frozenset((int, float, str, bool, type(None)))  # most targets: no array is in them
_NO_DTYPE_OF_TORCH = "gG"  # long double, real and complex


class Staging:
    """Runs work on a side stream on CUDA, and immediately elsewhere.

    `ready` makes the current stream wait for the result of `stage`::

        stage:  side stream  | copy, augment, event |
        ready:  current stream                      | waits for the event, then the model's step

    Raises:
        ValueError: torch sees no GPU.
    """

    def __init__(self, device: torch.device) -> None:
        if device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                f"torch sees no GPU, so the device cannot be {device}: see `python -m orbbec doctor`"
            )
        self.device = device
        self.depth = 2 if device.type == "cuda" else 1  # one batch in the model, one being prepared
        on_cuda = device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if on_cuda else None  # type: ignore[no-untyped-call]

    def stage(self, work: Any, *arguments: Any) -> tuple[Any, Any]:
        """Call `work(*arguments)` on the side stream; returns its result and the event for `ready`."""
        with self.on_side_stream():
            result = work(*arguments)
            return result, None if self._stream is None else self._stream.record_event()

    def take(self, value: Any) -> Any:
        """The value. The side stream waits for its CUDA tensors, whose memory is not reused meanwhile."""
        return value if self._stream is None else map_tensors(value, self._taken)

    def _taken(self, tensor: Any) -> Any:
        if tensor.device.type == "cuda":
            self._stream.wait_stream(torch.cuda.current_stream(tensor.device))  # type: ignore[union-attr]
        _record(tensor, self._stream)
        return tensor

    def on_side_stream(self) -> AbstractContextManager[Any]:
        """A context in which the side stream is the current stream of this thread."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def ready(self, result: Any, event: Any) -> Any:
        """The result, for use on the current stream, which also protects its memory from reuse."""
        if event is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_event(event)
            map_tensors(result, lambda tensor: _record(tensor, current))
        return result

    def mark(self) -> Callable[[], bool]:
        """Mark the work of the current stream; the returned function says whether it is not yet done."""
        if self._stream is None:
            return lambda: False
        event = torch.cuda.current_stream(self.device).record_event()
        return lambda: not event.query()

    def time(self) -> float:
        """Seconds on a monotonic clock, after synchronizing the device."""
        if self._stream is not None:
            torch.cuda.synchronize(self.device)
        return perf_counter()


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to tensors and batches of images, also in dicts, lists and tuples.

    Example:
        >>> map_tensors({"a": torch.tensor(1), "b": "kept"}, lambda tensor: tensor + 1)
        {'a': tensor(2), 'b': 'kept'}
    """
    if isinstance(value, (Tensor, ImageBatch, YCbCrBatch)):
        return change(value)
    return _mapped(value, lambda entry: map_tensors(entry, change))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to the entries of a dict, list or tuple; anything else is unchanged."""
    if isinstance(value, dict):
        return {key: change(entry) for key, entry in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    return sequence_like([entry.copy() if _is_plain(entry) else change(entry) for entry in value], value)


def _is_plain(value: Any) -> bool:
    """Whether a value is a dict without anything to change; that is fast to see."""
    return type(value) is dict and _PLAIN.issuperset(map(type, value.values()))


def arrays_as_tensors(value: Any) -> Any:
    """Convert numeric arrays, also in dicts, lists and tuples, to tensors; writable memory is shared.

    Example:
        >>> arrays_as_tensors({"boxes": np.zeros((0, 4)), "name": "kept"})
        {'boxes': tensor([], size=(0, 4), dtype=torch.float64), 'name': 'kept'}
    """
    if isinstance(value, np.ndarray):
        is_numeric = value.dtype.kind in "biufc" and value.dtype.char not in _NO_DTYPE_OF_TORCH
        native = value.dtype.newbyteorder("=")
        return torch.from_numpy(np.require(value, native, ["C", "W"])) if is_numeric else value
    return _mapped(value, arrays_as_tensors)


def to_device(value: Any, device: torch.device) -> Any:
    """Copy all tensors to a device; the host does not wait for pinned tensors."""
    return map_tensors(value, lambda tensor: tensor.to(device, non_blocking=True))


def pinned(value: Any) -> Any:
    """Copy all tensors to page-locked memory."""
    return map_tensors(value, lambda tensor: _pinned(tensor) if tensor.device.type == "cpu" else tensor)


def _pinned(tensor: Any) -> Any:
    return arguments.pinned(tensor) if isinstance(tensor, Tensor) else tensor.pin_memory()


def _record(tensor: Any, stream: Any) -> None:
    if tensor.device.type == "cuda":
        tensor.record_stream(stream)
