"""Names of interpolations and borders, and their OpenCV, Pillow and torchvision aliases."""

from enum import Enum
from typing import Any, TypeAlias

from orbbec.bridge.plain import is_integer, plain, shown

Interpolation: TypeAlias = str | int | Enum
Border: TypeAlias = str | int

_INTERPOLATIONS = {
    "bilinear": "linear",
    "bicubic": "cubic",
    "lanczos": "lanczos4",
    "nearest-exact": "nearest_exact",
}
_BORDERS = {"edge": "replicate", "symmetric": "reflect", "reflect_101": "reflect101"}
# Indexed by the values of cv2.INTER_* and cv2.BORDER_*.
_INTERPOLATION_NUMBERS = ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact", "nearest_exact")
_BORDER_NUMBERS = ("constant", "replicate", "reflect", "wrap", "reflect101", "transparent")


def interpolation_name(op: str, value: Any) -> str:
    """The operators' name of an interpolation, of what `known_interpolation` takes.

    An unknown name is returned unchanged: the operator's error lists its names.

    Raises:
        TypeError: the type is not supported.
        ValueError: the number is not one of OpenCV's.
    """
    name = known_interpolation(value)
    return _unknown(op, "interpolation", value, _INTERPOLATION_NUMBERS) if name is None else name


def border_name(op: str, value: Any) -> str:
    """The operators' name of a border; see `interpolation_name`."""
    name = known_border(value)
    return _unknown(op, "border", value, _BORDER_NUMBERS) if name is None else name


def known_interpolation(value: Any) -> str | None:
    """The canonical name of an interpolation.

    Args:
        value: a name; orbbec's or torchvision's `InterpolationMode`; a `PIL.Image.Resampling`; or a value of
            `cv2.INTER_*`. Anything else gives None.

    Example:
        >>> [known_interpolation(value) for value in ("linear", "bicubic", 4, 99)]
        ['linear', 'cubic', 'lanczos4', None]
    """
    if type(value) is str:
        return _INTERPOLATIONS.get(value, value)
    if type(value).__name__ == "Resampling":  # its values differ from OpenCV's
        return known_interpolation(value.name.lower())
    name = _numbered(getattr(value, "value", value), _INTERPOLATION_NUMBERS)
    return name if name is None else _INTERPOLATIONS.get(name, name)


def known_border(value: Any) -> str | None:
    """The canonical name of a border. "reflect" is OpenCV's, which repeats the edge.

    Args:
        value: a name, or a value of `cv2.BORDER_*`. Anything else gives None.

    Example:
        >>> [known_border(value) for value in ("reflect", "edge", "symmetric", 4, 99)]
        ['reflect', 'replicate', 'reflect', 'reflect101', None]
    """
    name = value if type(value) is str else _numbered(value, _BORDER_NUMBERS)
    return None if name is None else _BORDERS.get(name, name)


def _numbered(value: Any, names: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return str(value)
    number = plain(value)
    return names[number] if is_integer(number) and 0 <= number < len(names) else None


def _unknown(op: str, argument: str, value: Any, names: tuple[str, ...]) -> str:
    if is_integer(plain(value)):
        raise ValueError(f"{op}: expected {argument} to be one of {', '.join(names)}, but got number {value}")
    raise TypeError(f"{op}: expected {argument} as a name, but got {shown(value)}")
