"""Tensors in one buffer, so that one copy takes them to a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array

_ALIGNMENT = 64  # bytes, as in ImageBatch


def aligned(nbytes: int) -> int:
    """A number of bytes rounded up to the alignment of tensors in a buffer."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def packed_bytes(tensors: Sequence[Tensor]) -> int:
    """The size of a buffer for these tensors."""
    return sum(aligned(tensor.nbytes) for tensor in tensors)


def views(tensors: Sequence[Tensor], memory: Tensor) -> Iterator[Tensor]:
    """The views of the tensors in a buffer; they keep a channels_last layout."""
    begin = 0
    for tensor in tensors:
        flat = memory[begin : begin + tensor.nbytes].view(tensor.dtype)
        dense = tensor if tensor.is_contiguous() else torch.empty_like(tensor, device="meta")
        yield flat.as_strided(tensor.shape, dense.stride())
        begin += aligned(tensor.nbytes)


def write(tensors: Sequence[Tensor], memory: Tensor) -> None:
    """Copy the tensors that are on the memory's device to their views in a buffer."""
    for tensor, view in zip(tensors, views(tensors, memory), strict=True):
        if tensor.device == memory.device:
            view.copy_(tensor)


def on_device(tables: Mapping[str, Any], device: torch.device) -> Mapping[str, Array | Tensor]:
    """NumPy tables as tensors on a CUDA device, by one copy.

    Tables for the CPU, and those that are tensors already, are returned as they are.

    Example:
        >>> on_device({"sigma": np.ones(2)}, torch.device("cpu"))
        {'sigma': array([1., 1.])}
    """
    is_on_host = all(isinstance(table, np.ndarray) for table in tables.values())
    if device.type == "cpu" or not tables or not is_on_host or torch.compiler.is_compiling():
        return tables
    tensors = [torch.from_numpy(np.ascontiguousarray(table)) for table in tables.values()]
    host = torch.empty(packed_bytes(tensors), dtype=torch.uint8, device="cpu", pin_memory=True)
    write(tensors, host)
    return dict(zip(tables, views(tensors, host.to(device, non_blocking=True)), strict=True))
