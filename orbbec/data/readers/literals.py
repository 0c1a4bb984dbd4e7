"""Numbers as text: one grammar for every reader.

Python's `int` and `float` read more than that: `1_11` and `11_1` are both 111, `007` and ` 7` are 7, `nan` is
a number, and so are the digits of other scripts. Here those are names.
"""

from __future__ import annotations

import math
import re

_INTEGER = re.compile("-?(0|[1-9][0-9]*)")
# Programs write exponents with a sign: 1e-05. Without one, as in 1e5, the text may be a name.
_FLOAT = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-][0-9]+)?")
_FLOATS = re.compile(rf"\s*(({_FLOAT.pattern})(\s+|$))*")
_MAX_DIGITS = 20  # of 64 bits, with a sign


def is_integer(text: str) -> bool:
    """Whether a text is an integer, of any size."""
    return _INTEGER.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether a text is an integer or a decimal fraction, of any size."""
    return _FLOAT.fullmatch(text) is not None


def to_integer(text: str) -> int:
    """The integer of 64 bits that a text is; ValueError for another text.

    Example:
        >>> to_integer("-12")
        -12
        >>> to_integer("1_2")
        Traceback (most recent call last):
        ValueError: expected an integer, but got '1_2'
    """
    if not is_integer(text):
        raise ValueError(f"expected an integer, but got {text!r:.80}")
    if len(text) > _MAX_DIGITS or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(f"expected an integer of 64 bits, but got {text!r:.80}")
    return int(text)


def to_number(text: str) -> float:
    """The number that a text is, as a float; ValueError for another text, or beyond the range of a float.

    Example:
        >>> to_number("-1.5e-02"), to_number("2")
        (-0.015, 2.0)
    """
    value = float(text) if is_number(text) else None
    if value is None or value in (float("inf"), -float("inf")):
        raise ValueError(f"expected a finite number, but got {text!r:.80}")
    return value


def to_numbers(text: str) -> list[float]:
    """The numbers between the spaces of a text, as floats; see `to_number`.

    Example:
        >>> to_numbers("3 0.5 1e-05")
        [3.0, 0.5, 1e-05]
    """
    words = text.split()
    numbers = list(map(float, words)) if _FLOATS.fullmatch(text) else []
    if len(numbers) < len(words) or not all(map(math.isfinite, numbers)):
        return list(map(to_number, words))
    return numbers
