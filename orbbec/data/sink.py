"""Many training steps in one call; on CUDA each a replay of one captured graph, fed with batches.

The idea is the loop sink of MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from orbbec.data.staging import map_tensors

_WARM_UP = 3  # steps outside of the graph, in which libraries choose and allocate


def sink(step: Callable[..., Tensor], batches: Iterable[Any], sink_size: int) -> Iterator[Tensor]:
    """Train `sink_size` batches at a time; the host waits for the device only where losses are looked at.

    On the CPU `step` is called for each batch. On CUDA its first three calls run as they are; then it is
    captured in a CUDA graph, and each further batch is copied into the graph's inputs and the graph replayed.

    What is captured must not change from step to step: batches of one shape (`drop_last=True`, and no
    `on_error="skip"`), an optimizer with `capturable=True`, learning rates in tensors, no `.item()`. What is
    new in a step comes with its batch, so augmentation belongs to the loader.

    Args:
        step: takes the tensors of a batch, in their order, and trains on them; gives the loss, one number.
        batches: whatever holds tensors on one device, such as the batches of a `Loader`; those of its targets
            and the sample ids are tensors too.
        sink_size: from 1; the last sink of an epoch may be shorter.

    Yields:
        The losses of a sink: `[sink_size]`, on the device of the batches.

    Raises:
        ValueError: a batch has no tensors, or on CUDA other shapes or dtypes than the one captured.

    Example:
        >>> batches = [(torch.tensor([float(i)]),) for i in range(5)]
        >>> [losses.tolist() for losses in sink(lambda x: x.sum() * 2, batches, sink_size=2)]
        [[0.0, 2.0], [4.0, 6.0], [8.0]]
    """
    if sink_size < 1:
        raise ValueError(f"sink: expected sink_size from 1, but got {sink_size}")
    run, losses = _Graphed(step), list[Tensor]()
    for batch in batches:
        losses.append(run(_tensors_of(batch)))
        if len(losses) == sink_size:
            yield torch.stack(losses)
            losses = []
    if losses:
        yield torch.stack(losses)


class _Graphed:
    """A step, captured on CUDA once it is warm."""

    def __init__(self, step: Callable[..., Tensor]) -> None:
        self._step, self._calls = step, 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: list[Tensor] = []
        self._loss = torch.empty(())

    def __call__(self, tensors: list[Tensor]) -> Tensor:
        self._calls += 1
        if tensors[0].device.type != "cuda" or self._calls <= _WARM_UP:
            return self._on_side_stream(tensors) if tensors[0].is_cuda else self._step(*tensors).detach()
        if self._graph is None:
            self._capture(tensors)
        self._check(tensors)
        for mine, given in zip(self._inputs, tensors, strict=True):
            mine.copy_(given, non_blocking=True)
        assert self._graph is not None
        self._graph.replay()
        return self._loss.detach().clone()

    def _on_side_stream(self, tensors: list[Tensor]) -> Tensor:
        """As PyTorch asks it of what is captured later."""
        current = torch.cuda.current_stream()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(current)
        with torch.cuda.stream(side):
            loss = self._step(*tensors).detach()
        current.wait_stream(side)
        return loss

    def _capture(self, tensors: list[Tensor]) -> None:
        self._inputs = [tensor.clone() for tensor in tensors]
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = self._step(*self._inputs)

    def _check(self, tensors: list[Tensor]) -> None:
        expected, found = ([(list(t.shape), t.dtype) for t in some] for some in (self._inputs, tensors))
        if expected != found:
            raise ValueError(f"sink: expected batches of {expected}, as captured, but got {found}")


def _tensors_of(batch: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def keep(tensor: Any) -> Any:
        if not isinstance(tensor, Tensor):
            raise ValueError("sink: expected tensors, but got an ImageBatch; resize images to one size")
        found.append(tensor)
        return tensor

    map_tensors(batch, keep)
    if not found:
        raise ValueError(f"sink: expected a batch with tensors, but got {type(batch).__name__}")
    return found
