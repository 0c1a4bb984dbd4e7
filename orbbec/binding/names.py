"""Names of interpolations and borders: ours, and those of OpenCV, Pillow and torchvision."""

from enum import Enum
from typing import Any, TypeAlias

Interpolation: TypeAlias = str | int | Enum
Border: TypeAlias = str | int

_INTERPOLATIONS = {
    "bilinear": "linear",
    "bicubic": "cubic",
    "lanczos": "lanczos4",
    "nearest-exact": "nearest_exact",
}
_BORDERS = {"edge": "replicate", "symmetric": "reflect", "reflect_101": "reflect101"}
# By the numbers of cv2.INTER_* and cv2.BORDER_*.
_INTERPOLATION_NUMBERS = ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact", "nearest_exact")
_BORDER_NUMBERS = ("constant", "replicate", "reflect", "wrap", "reflect101", "transparent")


def interpolation_name(op: str, value: Any) -> str:
    """The name by which operators know an interpolation.

    A name that nobody has is given back as it is: the operator says which ones it takes.

    Args:
        op: the operator's name, for messages.
        value: as that of `known_interpolation`.

    Raises:
        TypeError: of another type.
        ValueError: a number that OpenCV does not have.
    """
    name = known_interpolation(value)
    return _unknown(op, "interpolation", value, _INTERPOLATION_NUMBERS) if name is None else name


def border_name(op: str, value: Any) -> str:
    """The name by which operators know a border; as `interpolation_name`."""
    name = known_border(value)
    return _unknown(op, "border", value, _BORDER_NUMBERS) if name is None else name


def known_interpolation(value: Any) -> str | None:
    """The name of an interpolation, and of those with several the one that operators have.

    Args:
        value: a name; an `InterpolationMode`, ours or torchvision's; a `PIL.Image.Resampling`; or a number of
            `cv2.INTER_*`. Anything else gives None.

    Example:
        >>> [known_interpolation(value) for value in ("linear", "bicubic", 4, 99)]
        ['linear', 'cubic', 'lanczos4', None]
    """
    if type(value) is str:
        return _INTERPOLATIONS.get(value, value)
    if type(value).__name__ == "Resampling":  # whose numbers are not those of OpenCV
        return known_interpolation(value.name.lower())
    name = _numbered(getattr(value, "value", value), _INTERPOLATION_NUMBERS)
    return name if name is None else _INTERPOLATIONS.get(name, name)


def known_border(value: Any) -> str | None:
    """The name of a border, of which "reflect" is OpenCV's, which repeats the edge.

    Args:
        value: a name, or a number of `cv2.BORDER_*`. Anything else gives None.

    Example:
        >>> [known_border(value) for value in ("reflect", "edge", "symmetric", 4, 99)]
        ['reflect', 'replicate', 'reflect', 'reflect101', None]
    """
    name = value if type(value) is str else _numbered(value, _BORDER_NUMBERS)
    return None if name is None else _BORDERS.get(name, name)


def _numbered(value: Any, names: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return str(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return names[value] if is_number and 0 <= value < len(names) else None


def _unknown(op: str, argument: str, value: Any, names: tuple[str, ...]) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError(f"{op}: expected {argument} to be one of {', '.join(names)}, but got number {value}")
    raise TypeError(f"{op}: expected {argument} as a name, but got {value!r}")
