"""Checks of transform arguments; messages name the transform and the argument."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

from orbbec.bridge.names import known_border, known_interpolation
from orbbec.bridge.plain import is_integer, is_number, is_real, is_sequence, listed, plain, shown

Range: TypeAlias = tuple[float, float]
Size: TypeAlias = int | Sequence[int]
FillValue: TypeAlias = float | Sequence[float]


class InterpolationMode(Enum):
    """torchvision's interpolation names."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_WARPS = ("nearest", "linear", "cubic", "lanczos4")
_RESIZINGS = (
    "nearest",
    "linear",
    "nearest_exact",
    "linear_exact",
    "cubic",
    "lanczos4",
    "area",
    "box",
    "hamming",
)
# Warps support one kind of nearest, one kind of linear, and no area.
_AS_WARPS = {"nearest_exact": "nearest", "linear_exact": "linear", "area": "linear"}
_PILLOW = ("linear", "cubic", "lanczos4", "box", "hamming")  # antialias filters
_BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap")
MAX_SIDE = 1 << 30  # pixels, of what is asked for; rules take no more
MAX_WINDOW = 32767  # pixels, of filters


def number(op: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from `low` to `high`."""
    single = plain(value)
    if not is_number(single) or not low <= single <= high:
        raise _error(op, name, f"a number{_bounds(low, high)}", value)
    return float(single)


def whole(op: str, name: str, value: Any, low: int, high: float = math.inf) -> int:
    """A whole number from `low` to `high`."""
    single = plain(value)
    if not is_integer(single) or not low <= single <= high:
        raise _error(op, name, f"a whole number{_bounds(low, high)}", value)
    return int(single)


def interval(op: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> Range:
    """Two numbers (from, to) within `low` to `high`, in order."""
    ends = listed(value) or []
    if len(ends) != 2 or not all(map(is_number, ends)) or not low <= ends[0] <= ends[1] <= high:
        raise _error(op, name, f"(low, high){_bounds(low, high)}, in order", value)
    return float(ends[0]), float(ends[1])


def span(op: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> Range:
    """A range (low, high), or one number for both ends."""
    single = plain(value)
    return interval(op, name, (single, single) if is_number(single) else value, low, high)


def around(op: str, name: str, value: Any, center: float = 0.0) -> Range:
    """A range, or one number v for (center - v, center + v)."""
    single = plain(value)
    if not is_number(single):
        return interval(op, name, value)
    if single < 0:
        raise _error(op, name, "a number of at least 0, or (low, high)", value)
    return center - float(single), center + float(single)


def numbers(op: str, name: str, value: Any, counts: Sequence[int] = ()) -> tuple[float, ...]:
    """One number, or a sequence of an allowed length; a fill of None is 0, as in torchvision."""
    if value is None and name == "fill":
        return (0.0,)
    single = plain(value)
    if is_number(single):
        return (float(single),)
    several = listed(value) or []
    if not several or not all(map(is_number, several)) or (counts and len(several) not in counts):
        lengths = " or ".join(map(str, counts)) if counts else "several"
        raise _error(op, name, f"a number or {lengths} of them", value)
    return tuple(map(float, several))


def pair(op: str, name: str, value: Any) -> tuple[float, float]:
    """Two numbers."""
    if is_number(plain(value)):
        raise _error(op, name, "2 numbers", value)
    first, second = numbers(op, name, value, (2,))
    return first, second


def region(op: str, name: str, value: Any) -> tuple[float, ...]:
    """Left, top, right and bottom of a part of an image, as fractions of its sides."""
    edges = [number(op, name, edge, 0.0, 1.0) for edge in entries(op, name, value)]
    if len(edges) != 4 or edges[0] > edges[2] or edges[1] > edges[3]:
        raise ValueError(f"{op}: expected {name} as left, top, right, bottom, but got {value}")
    return tuple(edges)


def entries(op: str, name: str, value: Any) -> tuple[Any, ...]:
    """The entries of a sequence of at least one."""
    several = listed(value)
    if not several:
        raise _error(op, name, "a list of at least 1 entry", value)
    return tuple(several)


def names(op: str, name: str, value: Any) -> tuple[str, ...]:
    """Names in a sequence."""
    several = listed(value)
    if several is None or not all(isinstance(entry, str) for entry in several):
        raise _error(op, name, "a list of names", value)
    return tuple(map(str, several))


def whole_range(op: str, name: str, value: Any, low: int, high: float = math.inf) -> tuple[int, int]:
    """(low, high) in whole numbers, or one number for both ends."""
    several = listed(value)
    ends = [value, value] if several is None else several
    interval(op, name, ends, low, high)
    first, last = (whole(op, name, side, low, high) for side in ends)
    return first, last


def epoch_range(op: str, name: str, value: Any) -> tuple[int, int]:
    """The first epoch, and the one after the last."""
    first, end = whole_range(op, name, value, 0, 2**30)
    if first == end:
        raise _error(op, name, "(first, end) with at least 1 epoch", value)
    return first, end


def flag(op: str, name: str, value: Any) -> bool:
    """True or False."""
    single = plain(value)
    if not isinstance(single, bool):
        raise _error(op, name, "True or False", value)
    return single


def size_pair(op: str, name: str, value: Any) -> tuple[int, int]:
    """(height, width), or one number for both."""
    sides = listed(value) or [plain(value)]
    if len(sides) not in (1, 2) or not all(is_integer(side) and 1 <= side <= MAX_SIDE for side in sides):
        raise _error(op, name, f"a side or (height, width) in pixels, each from 1 to {MAX_SIDE}", value)
    return int(sides[0]), int(sides[-1])


def checked_size(size: Any) -> tuple[int, int]:
    """The result of `size_pair`, which an argument of a transform is after construction."""
    height, width = size
    return height, width


def checked_sides(padding: Any) -> tuple[int, int, int, int]:
    """The result of `padding_of`, which an argument of a transform is after construction."""
    left, top, right, bottom = padding
    return left, top, right, bottom


def checked_numbers(values: Any) -> tuple[float, ...]:
    """The result of `numbers`, which an argument of a transform is after construction."""
    return tuple(values)


def padding_of(op: str, name: str, value: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) from one number, (left and right, top and bottom), or four."""
    sides = listed(value) or [plain(value)]
    if len(sides) not in (1, 2, 4) or not all(is_integer(side) and 0 <= side <= MAX_SIDE for side in sides):
        raise _error(op, name, f"1, 2 or 4 whole numbers from 0 to {MAX_SIDE}", value)
    left, top, right, bottom = list(map(int, sides)) * (4 // len(sides))
    return left, top, right, bottom


def interpolation_of(op: str, value: Any) -> str:
    """The interpolation of a warp: a name or a number that `known_interpolation` accepts."""
    name = known_interpolation(value)
    name = _AS_WARPS.get(name or "", name)
    if name is None or name not in _WARPS:
        raise _error(op, "interpolation", f"one of {', '.join(_WARPS)}", value)
    return name


def resizing_of(op: str, value: Any, antialias: bool = False, argument: str = "interpolation") -> str:
    """The interpolation of a resize: a name or a number that `known_interpolation` accepts."""
    name = known_interpolation(value)
    if name is None or name not in _RESIZINGS:
        raise _error(op, argument, f"one of {', '.join(_RESIZINGS)}", value)
    if name in ("box", "hamming") and not antialias:
        raise ValueError(f"{op}: expected antialias=True with {argument} {name}, which is a Pillow filter")
    return name


def resizings_of(op: str, value: Any, antialias: bool) -> str | tuple[str, ...]:
    """Like `resizing_of`, or several to draw from per image. "random" means linear or cubic, as in timm."""
    is_random = isinstance(value, str) and value == "random"
    several = ["linear", "cubic"] if is_random else listed(value)
    if several is None:
        return resizing_of(op, value, antialias)
    known = tuple(resizing_of(op, one, antialias) for one in entries(op, "interpolation", several))
    if len(known) == 1:
        return known[0]
    if antialias and not set(known) <= set(_PILLOW):
        raise _error(op, "interpolation", f"several of {', '.join(_PILLOW)}", value)
    return known


def border_of(op: str, value: Any) -> str:
    """The border for torchvision's `padding_mode`, whose "reflect" does not repeat the edge."""
    is_reflect = isinstance(value, str) and value == "reflect"
    name = "reflect101" if is_reflect else known_border(value)
    if name is None or name not in _BORDERS:
        raise _error(
            op,
            "padding_mode",
            "one of constant, edge, reflect, symmetric, replicate, reflect101, wrap",
            value,
        )
    return name


def choice(op: str, name: str, value: Any, known: Sequence[str]) -> str:
    """One of several names."""
    if not isinstance(value, str) or value not in known:
        raise _error(op, name, f"one of {', '.join(known)}", value)
    return str(value)


def _bounds(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    first, last = (str(bound) if isinstance(bound, int) else f"{bound:.12g}" for bound in (low, high))
    return f" of at least {first}" if math.isinf(high) else f" from {first} to {last}"


def _error(op: str, name: str, expected: str, value: Any) -> ValueError | TypeError:
    text = f"{op}: expected {name} as {expected}, but got {shown(value)}"
    single = plain(value)
    is_known = type(single) in (int, str) or is_real(single) or is_sequence(single)
    return ValueError(text) if is_known else TypeError(text)
