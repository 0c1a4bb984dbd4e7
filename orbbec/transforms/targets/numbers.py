"""Numbers of targets: boxes, points, areas."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, tensor_of
from orbbec.plan.points import numbers_of

_FLOATS = {torch.float32: np.float32, torch.float64: np.float64}
_NO_NUMBERS = frozenset((torch.bool, torch.complex32, torch.complex64, torch.complex128))


def target_numbers(values: Any, what: str, index: int) -> Array:
    """The numbers of an image as a float64 array.

    Args:
        values: a tensor, an array or a list.
        what: their name, for messages.
        index: of the image.

    Raises:
        TypeError: they are no numbers: texts, truth values, complex numbers, None.
        ValueError: the rows of a list have different lengths.

    Example:
        >>> target_numbers([["1", "2"]], "keypoints", 3)
        Traceback (most recent call last):
        TypeError: transform_targets: expected keypoints as numbers, but image 3 has <U1
    """
    if isinstance(values, Tensor):
        if values.dtype not in _NO_NUMBERS:
            return numbers_of(values)
    else:
        try:
            values = np.asarray(values)
        except ValueError:
            found = f"image {index} has {values!r:.60}"
            raise ValueError(
                f"transform_targets: expected {what} as rows of one length, but {found}"
            ) from None
        if values.dtype.kind in "iuf" or values.size == 0:
            return np.asarray(values, np.float64)
    kind = str(values.dtype).removeprefix("torch.")
    raise TypeError(f"transform_targets: expected {what} as numbers, but image {index} has {kind}")


def is_floating(values: Any) -> bool:
    """Whether numbers are floats."""
    if isinstance(values, Tensor):
        return values.is_floating_point()
    return bool(np.asarray(values).dtype.kind == "f")


def numbers_like(values: Any, example: Any, what: str) -> Any:
    """Values with the type, dtype and device of `example`, rounded if those are integers."""
    if isinstance(example, Tensor):
        if isinstance(values, Tensor) and (values.dtype, values.device) == (example.dtype, example.device):
            return values
        if isinstance(values, np.ndarray) and example.is_cpu and example.dtype in _FLOATS:
            return torch.from_numpy(values.astype(_FLOATS[example.dtype]))  # takes half as long as torch's
        tensor = torch.from_numpy(values) if isinstance(values, np.ndarray) else tensor_of(values)
        if tensor.is_floating_point() and not example.is_floating_point():
            tensor = torch.from_numpy(_rounded(tensor.cpu().numpy(), torch.iinfo(example.dtype), what))
        return tensor.to(example.device, example.dtype)
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    if isinstance(example, np.ndarray):
        if example.dtype.kind in "iu" and array.dtype.kind == "f":
            array = _rounded(array, np.iinfo(example.dtype), what)
        return array.astype(example.dtype, copy=values is example)
    return array


def _rounded(values: Array, limits: Any, what: str) -> Array:
    """Values rounded half to even, with 0 for non-finite ones; an error if the dtype cannot hold them."""
    rounded = np.rint(np.where(np.isfinite(values), values, 0.0))
    if ((rounded < limits.min) | (rounded > limits.max)).any():
        raise ValueError(f"transform_targets: {what} do not fit {limits.dtype}; give them as floats")
    return rounded
