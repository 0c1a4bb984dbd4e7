"""Conversion between users' arrays and float64 tensors for the matrix functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

Array = torch.Tensor | npt.NDArray[Any]
ArrayT = TypeVar("ArrayT", torch.Tensor, npt.NDArray[Any])


def like(result: torch.Tensor, example: ArrayT) -> ArrayT:
    """Return ``result`` as a tensor or an array, like ``example``."""
    if isinstance(example, torch.Tensor):
        return result
    return result.numpy()


def read_matrix(function: str, matrix: Array, *shapes: tuple[int, int]) -> torch.Tensor:
    """Read a float64 matrix ``[..., rows, columns]`` with at most one leading dimension."""
    values = _read_array(function, "matrix", matrix)
    if values.ndim not in (2, 3) or tuple(values.shape[-2:]) not in shapes:
        text = " or ".join(f"[N, {rows}, {columns}] or [{rows}, {columns}]" for rows, columns in shapes)
        raise _shape_error(function, "matrix", text, values)
    return values


def read_point_pair(
    function: str, src_points: Array, dst_points: Array, count: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Read two float64 sets of ``count`` points (None: at least 2), of one shape ``[..., K, 2]``."""
    src = _read_points(function, "src_points", src_points, count)
    dst = _read_points(function, "dst_points", dst_points, count)
    if isinstance(src_points, torch.Tensor) != isinstance(dst_points, torch.Tensor):
        kind = "torch.Tensor" if isinstance(src_points, torch.Tensor) else "numpy.ndarray"
        got = type(dst_points).__name__
        raise TypeError(f"{function}: expected dst_points to be a {kind} as src_points is, but got {got}")
    if src.device != dst.device:
        raise ValueError(f"{function}: expected dst_points on {src.device}, but got {dst.device}")
    same_batch = src.ndim == 2 or dst.ndim == 2 or len(src) == len(dst)
    if src.shape[-2] != dst.shape[-2] or not same_batch:
        raise _shape_error(function, "dst_points", str(list(src.shape)), dst)
    shape = src.shape if src.ndim >= dst.ndim else dst.shape
    return src.expand(shape), dst.expand(shape)


def read_batched(
    function: str, trailing: dict[str, list[int]], **values: Array | Sequence[float] | float
) -> tuple[torch.device, list[torch.Tensor]]:
    """Read float64 values of the given trailing shapes, each with or without a leading N.

    Returns the common device of the tensors (or the CPU) and the values on their devices.
    """
    tensors = [value for value in values.values() if isinstance(value, torch.Tensor)]
    device = tensors[0].device if tensors else torch.device("cpu")
    read: list[torch.Tensor] = []
    batch: int | None = None
    for name, value in values.items():
        tensor, shape = _read_values(function, name, value), trailing[name]
        if isinstance(value, torch.Tensor) and value.device != device:
            raise ValueError(f"{function}: expected {name} on {device}, but got {value.device}")
        if list(tensor.shape) != shape:
            if list(tensor.shape[1:]) != shape or tensor.ndim == 0:
                text = f"[{', '.join(map(str, ['N', *shape]))}] or {shape}"
                raise _shape_error(function, name, text, tensor)
            if batch is not None and len(tensor) != batch:
                raise _shape_error(function, name, str([batch, *shape]), tensor)
            batch = len(tensor)
        read.append(tensor)
    return device, read


def stack_matrix(rows: int, *values: torch.Tensor) -> torch.Tensor:
    """Stack ``rows * 3`` values ``[...]``, row by row, into matrices ``[..., rows, 3]``."""
    return torch.stack(values, dim=-1).reshape(*values[0].shape, rows, 3)


def _read_points(function: str, name: str, points: Array, count: int | None) -> torch.Tensor:
    values = _read_array(function, name, points)
    enough = values.ndim in (2, 3) and (values.shape[-2] >= 2 if count is None else values.shape[-2] == count)
    if not enough or values.shape[-1] != 2:
        number = "K" if count is None else str(count)
        more = " with K >= 2" if count is None else ""
        raise _shape_error(function, name, f"[N, {number}, 2] or [{number}, 2]{more}", values)
    return values


def _read_array(function: str, name: str, value: Array) -> torch.Tensor:
    if not isinstance(value, (torch.Tensor, np.ndarray)):
        got = type(value).__name__
        raise TypeError(f"{function}: expected {name} to be a torch.Tensor or numpy.ndarray, but got {got}")
    return _read_values(function, name, value)


def _read_values(function: str, name: str, value: Array | Sequence[float] | float) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bool or value.is_complex():
            raise TypeError(f"{function}: expected {name} of real numbers, but got {value.dtype}")
        return value.to(torch.float64)
    if torch.compiler.is_compiling() and not isinstance(value, np.ndarray):
        # It does not trace the dtype of an array.
        return torch.tensor(value, dtype=torch.float64, device="cpu")
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{function}: expected {name} of real numbers, but got {array.dtype}")
    return torch.from_numpy(array.astype(np.float64))


def _shape_error(function: str, name: str, shape: str, got: torch.Tensor) -> ValueError:
    return ValueError(f"{function}: expected {name} of shape {shape}, but got {list(got.shape)}")
