"""The eight EXIF orientations of a stored image, as views and rectangles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_UPSIDE_DOWN = (3, 4, 6, 7)  # stored rows are reversed
_MIRRORED = (2, 3, 7, 8)  # stored columns are reversed
_TRANSPOSED = 5  # from this value on, rows and columns are swapped


class Rectangle(NamedTuple):
    """A rectangle in pixels; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    def of(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """This rectangle of an image `[H, W, C]`, as a view."""
        return image[self.top : self.bottom, self.left : self.right]


def upright_size(height: int, width: int, orientation: int) -> tuple[int, int]:
    """The size of an image after applying its orientation.

    Example:
        >>> upright_size(2, 3, orientation=6)
        (3, 2)
    """
    return (width, height) if swaps_axes(orientation) else (height, width)


def swaps_axes(orientation: Any) -> Any:
    """Whether stored rows are columns of the upright image; of a number, or of an array of them."""
    return orientation >= _TRANSPOSED


def reversed_axes(orientation: int) -> tuple[int, ...]:
    """The axes of a stored image that are reversed, before rows and columns are swapped.

    Example:
        >>> reversed_axes(3), reversed_axes(6)
        ((0, 1), (0,))
    """
    return (0,) * (orientation in _UPSIDE_DOWN) + (1,) * (orientation in _MIRRORED)


def upright(stored: npt.NDArray[np.uint8], orientation: int) -> npt.NDArray[np.uint8]:
    """A view of a stored image `[H, W, C]` in upright orientation, by its EXIF orientation from 1 to 8.

    Example:
        >>> upright(np.arange(6, dtype=np.uint8).reshape(2, 3, 1), orientation=6)[..., 0].tolist()
        [[3, 0], [4, 1], [5, 2]]
    """
    if orientation == 1:
        return stored
    view = np.flip(stored, reversed_axes(orientation))
    return view.transpose(1, 0, 2) if swaps_axes(orientation) else view


def as_stored(upright_image: npt.NDArray[np.uint8], orientation: int) -> npt.NDArray[np.uint8]:
    """A view of an upright image in stored orientation: the inverse of `upright`.

    Example:
        >>> stored = np.arange(6, dtype=np.uint8).reshape(2, 3, 1)
        >>> all((as_stored(upright(stored, way), way) == stored).all() for way in range(1, 9))
        True
    """
    return upright(upright_image, {6: 8, 8: 6}.get(orientation, orientation))


def stored_rectangle(part: Rectangle, height: int, width: int, orientation: int) -> Rectangle:
    """The position of an upright image's rectangle in the stored image of `height` and `width`.

    Example:
        >>> stored_rectangle(Rectangle(0, 0, 1, 3), 2, 3, orientation=6)
        Rectangle(left=0, top=1, right=3, bottom=2)
    """
    left, top, right, bottom = part
    if swaps_axes(orientation):
        left, top, right, bottom = top, left, bottom, right
    if orientation in _UPSIDE_DOWN:
        top, bottom = height - bottom, height - top
    if orientation in _MIRRORED:
        left, right = width - right, width - left
    return Rectangle(left, top, right, bottom)
