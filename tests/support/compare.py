"""Bitwise comparison."""

from typing import Any

import numpy as np
import torch

from orbbec.bridge.arguments import Array, Matrix

_INTEGERS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _as_array(values: Matrix) -> Array:
    if not isinstance(values, torch.Tensor):
        return np.ascontiguousarray(values)
    values = values.detach().cpu().contiguous()
    return (values.view(torch.uint16) if values.dtype == torch.bfloat16 else values).numpy()


def _is_nan(values: Matrix) -> Array:
    if isinstance(values, torch.Tensor):
        is_nan = values.isnan() if values.is_floating_point() else torch.zeros(values.shape, dtype=torch.bool)
        return _as_array(is_nan)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def same_bytes(actual: Matrix, expected: Matrix) -> Array:
    """The elements that have the same bits; a NaN equals every NaN, 0 does not equal -0.

    Args:
        actual: tensor or array, on any device.
        expected: tensor or array of the shape and dtype of `actual`.

    Returns:
        A bool array of their shape.

    Raises:
        AssertionError: the shapes or the dtypes differ.

    Example:
        >>> same_bytes(np.array([0.0, 1.0, np.nan]), np.array([-0.0, 1.0, np.nan])).tolist()
        [False, True, True]
        >>> nans = torch.tensor([0x7FC0, 0xFFC0], dtype=torch.uint16).view(torch.bfloat16)
        >>> same_bytes(nans, nans.flip(0)).tolist()
        [True, True]
    """
    if isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor):
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype} instead of {expected.dtype}"
    a, b = _as_array(actual), _as_array(expected)
    assert a.shape == b.shape, f"shape {list(a.shape)} instead of {list(b.shape)}"
    assert a.dtype == b.dtype, f"dtype {a.dtype} instead of {b.dtype}"
    integer = _INTEGERS[a.dtype.itemsize]
    same: Array = a.view(integer) == b.view(integer)
    return same | (_is_nan(actual) & _is_nan(expected))


def assert_same_bytes(actual: Matrix, expected: Matrix) -> None:
    """Fail, naming the first difference, unless both have the same shape, dtype and bits.

    Raises:
        AssertionError: something differs.

    Example:
        >>> assert_same_bytes(np.array([1, 2]), np.array([1, 3]))
        Traceback (most recent call last):
        AssertionError: 1 of 2 values differ; the first at [1]: 2 instead of 3
    """
    different = ~same_bytes(actual, expected)
    if not different.any():
        return
    first = tuple(int(i) for i in np.argwhere(different)[0])
    raise AssertionError(
        f"{different.sum()} of {different.size} values differ; "
        f"the first at {list(first)}: {actual[first]} instead of {expected[first]}"
    )
