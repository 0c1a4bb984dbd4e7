"""Transforms for detection: scale jitter and zoom-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.passes import VARIES
from orbbec.transforms.base.arguments import at_least, checks, several
from orbbec.transforms.base.checks import MAX_SIDE, FillValue, Range, checked_numbers, size_pair, whole
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.cuts import _Resizing, drawn_size, resize


@dataclass(frozen=True)
class RandomZoomOut(Transform):
    """Place images at a random position on a larger canvas.

    Args:
        fill: value of the canvas, in pixel units: a number or one per channel.
        side_range: range of the ratio of canvas side to image side, at least 1.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomZoomOut`.

    Example:
        >>> image = torch.ones(1, 10, 10)
        >>> canvas = RandomZoomOut(fill=0, side_range=(2.0, 2.0), p=1.0)(image)
        >>> canvas.shape, int(canvas.sum())
        (torch.Size([1, 20, 20]), 100)
    """

    fill: FillValue = 0.0
    side_range: Range = (1.0, 4.0)
    p: float = 0.5

    _checks = checks(side_range=at_least(1.0))

    def rules(self, build: Build) -> None:
        fill = checked_numbers(self.fill)
        chosen, factor = build.chance(self.p), build.uniform(*self.side_range)
        x, y = build.uniform(), build.uniform()  # torchvision draws x before y
        with build.only(chosen):
            build.warp("zoom_out", factor, x, y, border="constant", fill=fill, lossless=True, size=VARIES)


@dataclass(frozen=True)
class ScaleJitter(_Resizing):
    """Resize images to fit into a size multiplied by a random factor.

    Args:
        target_size: (height, width) in pixels.
        scale_range: range of the factor, above 0.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `torchvision.transforms.v2.ScaleJitter`.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> ScaleJitter((80, 80), scale_range=(0.5, 0.5))(image).shape
        torch.Size([3, 26, 40])
    """

    target_size: Sequence[int]
    scale_range: Range = (0.1, 2.0)
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(target_size=size_pair, scale_range=at_least(1e-6))

    def rules(self, build: Build) -> None:
        factor = build.uniform(*self.scale_range)
        size = drawn_size(self.scale_range)
        resize(build, "resize_scaled", factor, *self.target_size, how=self, size=size)


def _sides(op: str, name: str, value: Any) -> Any:
    return several(partial(whole, low=1, high=MAX_SIDE))(
        op, name, [value] if listed(value) is None else value
    )


@dataclass(frozen=True)
class RandomShortestSize(_Resizing):
    """Resize images so that the shorter side has one of several lengths.

    Args:
        min_size: lengths of the shorter side in pixels, one or several.
        max_size: upper bound of the longer side.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `torchvision.transforms.v2.RandomShortestSize`.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> RandomShortestSize([20], max_size=25)(image).shape
        torch.Size([3, 16, 25])
    """

    min_size: int | Sequence[int]
    max_size: int | None = None
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(min_size=_sides, max_size=(1, MAX_SIDE))

    def rules(self, build: Build) -> None:
        sides = checked_numbers(self.min_size)
        side, size = build.lookup(build.whole(0, len(sides)), sides), drawn_size(len(sides))
        resize(build, "resize_shortest", side, self.max_size or 0, how=self, size=size)


@dataclass(frozen=True)
class RandomResize(_Resizing):
    """Resize images so that the shorter side is a random whole number of pixels.

    Args:
        min_size: lower bound, inclusive.
        max_size: upper bound, exclusive.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `torchvision.transforms.v2.RandomResize`.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> RandomResize(20, 21)(image).shape
        torch.Size([3, 20, 30])
    """

    min_size: int
    max_size: int
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(min_size=(1, MAX_SIDE))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(max_size=whole(self.name, "max_size", self.max_size, self.min_size + 1, MAX_SIDE))

    def rules(self, build: Build) -> None:
        side = build.whole(self.min_size, self.max_size - self.min_size)
        size = drawn_size(self.max_size - self.min_size)
        resize(build, "resize_shorter", side, 0, how=self, size=size)
