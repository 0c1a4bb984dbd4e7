"""Arguments as Python's values: numbers and sequences of NumPy, torch and configuration libraries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import SymInt, Tensor

# The usual types come first: an abstract base class takes twenty times as long to answer.
_BUILTIN = {bool, int, float, str, tuple, list, dict, type(None)}
_SEQUENCES = {tuple, list}
_END = 2**1024  # of the range of a float


def plain(value: Any) -> Any:
    """Arrays, tensors and NumPy's scalars as numbers and lists of Python; anything else is unchanged.

    Example:
        >>> plain(np.float32(0.5)), plain(np.array([1, 2])), plain("linear")
        (0.5, [1, 2], 'linear')
    """
    if type(value) in _BUILTIN:
        return value
    return value.tolist() if isinstance(value, (np.generic, np.ndarray, Tensor)) else value


def is_real(value: Any) -> bool:
    """Whether a value is a real number, of Python or NumPy, that a float can hold, and not a bool."""
    if type(value) is int:
        return -_END < value < _END
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number."""
    return is_real(value) and abs(value) <= sys.float_info.max


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number of an integer type, and not a bool; a traced one, too."""
    kind = type(value)
    return kind is int or (kind is not bool and isinstance(value, (Integral, SymInt)))


def is_sequence(value: Any) -> bool:
    """Whether a value is a sequence, such as a list, a tuple, a range or OmegaConf's ListConfig; no text."""
    if type(value) in _SEQUENCES:
        return True
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def listed(value: Any) -> list[Any] | None:
    """The entries of a sequence or an array, as Python's numbers where they are numbers; None for others.

    Example:
        >>> listed(range(2)), listed(np.float32([0.5, 1])), listed(3)
        ([0, 1], [0.5, 1.0], None)
    """
    several = plain(value)
    return list(map(plain, several)) if is_sequence(several) else None


def shown(value: Any) -> str:
    """A value in a message, with its type unless it is one of Python's.

    Example:
        >>> shown("x"), shown(np.float32(2))
        ("'x'", 'np.float32(2.0), a float32')
    """
    return repr(value) if type(value) in _BUILTIN else f"{value!r}, a {type(value).__name__}"
