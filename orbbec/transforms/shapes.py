"""Crops, shifts and resizes whose sides are computed per image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.passes import ALIKE, VARIES
from orbbec.plan.registers import log_range
from orbbec.plan.rules import IMAGE_HEIGHT, IMAGE_WIDTH
from orbbec.transforms.base.arguments import Check, at_least, checks, or_none
from orbbec.transforms.base.checks import (
    MAX_SIDE,
    FillValue,
    Range,
    Size,
    checked_numbers,
    checked_size,
    choice,
    interval,
    whole,
    whole_range,
)
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.cuts import _Resizing, padded, resize
from orbbec.transforms.erasing import fill_rectangle

_SIDES = (IMAGE_HEIGHT, IMAGE_WIDTH)
_OPPOSITE = (("crop_left", "crop_right"), ("crop_top", "crop_bottom"))


def _shift(op: str, name: str, value: Any) -> tuple[int, ...]:
    several = listed(value)
    sides = [value] * 2 if several is None else several
    if len(sides) != 2:
        raise ValueError(f"{op}: expected {name} as a number or (x, y), but got {value}")
    return tuple(whole(op, name, side, 0, MAX_SIDE) for side in sides)


@dataclass(frozen=True)
class RandomShift(Transform):
    """Move each image by whole pixels, and pad what becomes visible.

    Args:
        max_shift: largest shift in pixels: a number, or (x, y).
        fill: in pixel units: a number or one per channel.
        padding_mode: see `Pad`.

    Source:
        The random shift of DrQ, a crop of an image padded by its edge.

    Example:
        >>> image = torch.tensor([[[1, 2, 3]]], dtype=torch.uint8)
        >>> sorted({tuple(RandomShift((1, 0))(image).flatten().tolist()) for _ in range(99)})
        [(1, 1, 2), (1, 2, 3), (2, 3, 3)]
    """

    max_shift: int | Sequence[int] = 4
    fill: FillValue = 0.0
    padding_mode: str = "edge"

    _checks = checks(max_shift=_shift)

    def rules(self, build: Build) -> None:
        corner = [build.whole(-most, 2 * most + 1) for most in map(int, checked_numbers(self.max_shift))]
        box = build.copies([*corner, IMAGE_WIDTH, IMAGE_HEIGHT])
        build.warp("crop_to", box, lossless=True, **padded(self))


def _one_or_four(op: str, name: str, value: Any, check: Check) -> Any:
    """A checked range, or four."""
    several = listed(value) or []
    return tuple(check(op, name, ends) for ends in several) if len(several) == 4 else check(op, name, value)


@dataclass(frozen=True)
class CropAndPad(_Resizing):
    """Crop or pad each side of an image by a drawn amount.

    Amounts below 0 crop, those above 0 pad. An image keeps at least one row and column.

    Args:
        percent_range: range of the amounts as fractions of the height or width, rounded towards 0; or one
            range each for left, top, right and bottom.
        px_range: range of the amounts in whole pixels, or four of them, in place of `percent_range`.
        keep_size: whether to resize the result to the size of the image.
        sample_independently: whether each side has an amount of its own, which it has with four ranges.
        interpolation: see `Resize`.
        antialias: see `Resize`.
        fill: in pixel units: a number or one per channel.
        padding_mode: see `Pad`.
        p: probability, from 0 to 1.

    Source:
        `CropAndPad` of Albumentations.

    Example:
        >>> image = torch.tensor([[[1, 2, 3]]], dtype=torch.uint8)
        >>> CropAndPad(px_range=(1, 1), keep_size=False, fill=9, p=1.0)(image).tolist()
        [[[9, 9, 9, 9, 9], [9, 1, 2, 3, 9], [9, 9, 9, 9, 9]]]
    """

    percent_range: Range | Sequence[Range] = (-0.1, 0.1)
    px_range: int | Sequence[int] | Sequence[Sequence[int]] | None = None
    keep_size: bool = True
    sample_independently: bool = True
    interpolation: str = "linear"
    antialias: bool = False
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    _checks = checks(
        percent_range=partial(_one_or_four, check=partial(interval, low=-1.0)),
        px_range=or_none(partial(_one_or_four, check=partial(whole_range, low=-MAX_SIDE, high=MAX_SIDE))),
    )

    def rules(self, build: Build) -> None:
        chosen, size = build.chance(self.p), build.size
        height, width = (build.compute("copy", side) for side in _SIDES)
        ranges = self._ranges
        is_one = len(ranges) == 1 and not self.sample_independently
        draws = [self._draw(build, *ends) for ends in (ranges if is_one else ranges * 4)[:4]] * 4
        left, top, right, bottom = (
            build.compute("times", chosen, self._amount(build, draws[side], (width, height)[side % 2]))
            for side in range(4)
        )
        one = build.constant(1.0)
        box = [
            *(build.negative(side) for side in (left, top)),
            build.compute("larger", build.sum(left, width, right), one),
            build.compute("larger", build.sum(top, height, bottom), one),
        ]
        build.warp("crop_to", build.copies(box), lossless=True, size=VARIES, **padded(self))
        if self.keep_size:
            resize(build, "resize_to", height, width, how=self, size=size)

    @property
    def _ranges(self) -> list[Range]:
        """The range of all amounts, or one for each side."""
        ends: Any = self.percent_range if self.px_range is None else self.px_range
        return list(ends) if len(ends) == 4 else [ends]

    def _draw(self, build: Build, low: float, high: float) -> int:
        if self.px_range is None:
            return build.uniform(low, high)
        return build.whole(low, int(high - low) + 1)

    def _amount(self, build: Build, draw: int, side: int) -> int:
        return draw if self.px_range is not None else _truncated(build, build.compute("times", draw, side))


@dataclass(frozen=True)
class RandomCropFromBorders(Transform):
    """Crop a random number of rows and columns at each edge.

    An image keeps at least one row and column.

    Args:
        crop_left: the largest part of the width that is cropped on the left, from 0 to 1.
        crop_right: the same on the right; both together are at most 1.
        crop_top: the largest part of the height that is cropped above, from 0 to 1.
        crop_bottom: the same below; both together are at most 1.
        p: probability, from 0 to 1.

    Source:
        `RandomCropFromBorders` of Albumentations.

    Example:
        >>> RandomCropFromBorders(0.0, 0.0, 0.3, 0.3, p=1.0)(torch.zeros(3, 20, 8)).shape[-1]
        8
    """

    crop_left: float = 0.1
    crop_right: float = 0.1
    crop_top: float = 0.1
    crop_bottom: float = 0.1
    p: float = 1.0

    _checks = checks(**dict.fromkeys(sum(_OPPOSITE, ()), (0.0, 1.0)))

    def __post_init__(self) -> None:
        super().__post_init__()
        for first, last in _OPPOSITE:
            both = getattr(self, first) + getattr(self, last)
            if both > 1:
                raise ValueError(
                    f"{self.name}: expected {first} and {last} of at most 1 together, but got {both:g}"
                )

    def rules(self, build: Build) -> None:
        one = build.constant(1.0)
        with build.only(build.chance(self.p)):
            (left, width), (top, height) = (
                self._span(build, side, *names, one)
                for side, names in zip((IMAGE_WIDTH, IMAGE_HEIGHT), _OPPOSITE, strict=True)
            )
            box = build.copies([left, top, width, height])
            build.warp("crop_to", box, lossless=True, region=True, size=VARIES)

    def _span(self, build: Build, side: int, first: str, last: str, one: int) -> tuple[int, int]:
        """The first row or column that is left, and how many are."""
        ends = [getattr(self, first), 1 - getattr(self, last)]
        most, least = (
            build.compute("floor", build.compute("times", side, build.constant(end))) for end in ends
        )
        most = build.compute("smaller", most, build.sum(side, build.negative(one)))
        start = build.below(build.sum(most, one))
        least = build.compute("larger", least, build.sum(start, one))
        spare = build.below(build.sum(side, build.negative(least), one))
        return start, build.sum(least, spare, build.negative(start))


@dataclass(frozen=True)
class RandomSizedCrop(_Resizing):
    """Crop a region of random height and fixed aspect ratio, and resize it.

    The height is at most that of the image, and so is the width.

    Args:
        min_max_height: range of the region's height in pixels.
        size: (height, width) of the output in pixels, or one side of a square.
        w2h_ratio: width of the region divided by its height, above 0; the width is rounded down.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `RandomSizedCrop` of Albumentations, which refuses regions larger than the image.

    Example:
        >>> RandomSizedCrop((8, 16), (10, 12))(torch.zeros(3, 20, 30)).shape
        torch.Size([3, 10, 12])
    """

    min_max_height: Sequence[int]
    size: Size
    w2h_ratio: float = 1.0
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(min_max_height=(1, MAX_SIDE), w2h_ratio=at_least(1e-6))

    def rules(self, build: Build) -> None:
        drawn = build.whole_in(self.min_max_height)
        ratio, one = build.constant(self.w2h_ratio), build.constant(1)
        height = build.compute("smaller", drawn, IMAGE_HEIGHT)
        ideal = build.compute("floor", build.compute("times", drawn, ratio))
        width = build.compute("larger", build.compute("smaller", ideal, IMAGE_WIDTH), one)
        top, left = (
            build.below(build.sum(side, build.negative(length), one))
            for side, length in ((IMAGE_HEIGHT, height), (IMAGE_WIDTH, width))
        )
        box = build.copies([left, top, width, height])
        build.warp("crop_to", box, lossless=True, region=True, size=VARIES)
        size = checked_size(self.size)
        resize(build, "resize", *size, how=self, size=size, least=size)


@dataclass(frozen=True)
class ResizeKeepRatio(_Resizing):
    """Resize each image so that it covers a size, fits into it, or anything in between.

    Sides are rounded half to even. The output size depends on the image.

    Args:
        size: (height, width) in pixels, or one side of a square.
        longest: 0: the image covers `size`; 1: it fits into it; between: the weight of the latter.
        scale_range: range of a factor of both sides, above 0.
        scale_p: probability of that factor, from 0 to 1.
        aspect_range: range of a factor of the aspect ratio, above 0; drawn uniformly in the logarithm.
        aspect_p: probability of that factor, from 0 to 1.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        timm's `ResizeKeepRatio`, with `random_scale_area=False`.

    Example:
        >>> ResizeKeepRatio(10)(torch.zeros(3, 40, 60)).shape
        torch.Size([3, 10, 15])
    """

    size: Size
    longest: float = 0.0
    scale_range: Range = (0.85, 1.05)
    scale_p: float = 0.0
    aspect_range: Range = (0.9, 1.11)
    aspect_p: float = 0.0
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(
        longest=(0.0, 1.0),
        scale_range=at_least(1e-6),
        aspect_range=at_least(1e-6),
        scale_p=(0.0, 1.0),
        aspect_p=(0.0, 1.0),
    )

    def rules(self, build: Build) -> None:
        target = checked_size(self.size)
        ratios = [build.compute("over", side, length) for side, length in zip(_SIDES, target, strict=True)]
        ends = build.compute("larger", *ratios), build.compute("smaller", *ratios)
        weights = build.constant(self.longest), build.constant(1 - self.longest)
        parts = (build.compute("times", *pair) for pair in zip(ends, weights, strict=True))
        ratio = build.compute("sum", *parts)
        scaled, stretched = build.chance(self.scale_p), build.chance(self.aspect_p)
        scale = build.select(scaled, build.uniform(*self.scale_range), 1.0)
        low, high = log_range(*self.aspect_range)
        stretch = build.select(stretched, build.compute("exp", build.uniform(low / 2, high / 2)), 1.0)
        factors = build.compute("quotient", scale, stretch), build.compute("times", scale, stretch)
        sides = [
            build.compute("round", build.compute("quotient", build.compute("times", side, factor), ratio))
            for side, factor in zip(_SIDES, factors, strict=True)
        ]
        resize(build, "resize_to", *sides, how=self, size=VARIES if self.scale_p or self.aspect_p else ALIKE)


@dataclass(frozen=True)
class ResizeToHeight(_Resizing):
    """Resize each image to a height, and to the width that keeps its aspect ratio, rounded up.

    Args:
        height: of the results in pixels.
        max_width: the largest width; wider images are squeezed to it. None: no limit.
        interpolation: see `Resize`.
        antialias: see `Resize`.
        fill: value on the right of images that are narrower than `max_width`, all of whose results have that
            width, in pixel units: a number or one per channel. Masks repeat their last column there. None, or
            without `max_width`: widths vary.

    Source:
        Lines of text in PaddleOCR.

    Example:
        >>> [list(ResizeToHeight(48, 320)(torch.zeros(3, 20, width)).shape) for width in (41, 200)]
        [[3, 48, 99], [3, 48, 320]]
    """

    height: int
    max_width: int | None = None
    interpolation: str = "linear"
    antialias: bool = True
    fill: FillValue | None = None

    _checks = checks(height=(1, MAX_SIDE), max_width=(1, MAX_SIDE))

    def rules(self, build: Build) -> None:
        height, width = _SIDES
        target = build.constant(float(self.height))
        ratio = build.compute("quotient", width, height)
        sign = build.constant(-1.0)
        up = build.compute("floor", build.compute("times", build.compute("times", target, ratio), sign))
        length = build.compute("times", up, sign)
        if self.max_width is not None:
            length = build.compute("smaller", length, build.constant(float(self.max_width)))
        resize(build, "resize_to", target, length, how=self, size=ALIKE)
        if self.fill is not None and self.max_width is not None:
            # Not by a constant border, which would be mixed with the outermost pixels.
            size = self.height, self.max_width
            build.warp("pad_to", *size, 0.0, 0.0, 0, border="replicate", lossless=True, size=size, least=size)
            fill_rectangle(build, (length, 0.0, float(self.max_width), float(self.height)), self.fill)


@dataclass(frozen=True)
class ResizeToMultiple(_Resizing):
    """Resize each image to cover a size, or to fit into it, with sides that are multiples of a number.

    Sides are rounded to the nearest multiple, but not beyond `size`. The output size depends on the image.

    Args:
        size: (height, width) in pixels, or one side of a square.
        multiple: of what the sides are multiples, at least 1.
        mode: "lower_bound": sides are at least `size`; "upper_bound": at most.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        The `Resize` of Depth Anything and MiDaS, with `keep_aspect_ratio`.

    Example:
        >>> ResizeToMultiple(28, 14)(torch.zeros(3, 40, 60)).shape
        torch.Size([3, 28, 42])
    """

    size: Size
    multiple: int = 14
    mode: str = "lower_bound"
    interpolation: str = "cubic"
    antialias: bool = False

    _checks = checks(multiple=(1, 1 << 20), mode=partial(choice, known=("lower_bound", "upper_bound")))

    def rules(self, build: Build) -> None:
        target = [float(side) for side in checked_size(self.size)]
        covers = self.mode == "lower_bound"
        bounds = [build.constant(side) for side in target]
        scales = (build.compute("quotient", *pair) for pair in zip(bounds, _SIDES, strict=True))
        scale = build.compute("larger" if covers else "smaller", *scales)
        multiple, one = build.constant(self.multiple), build.constant(1.0)
        sides = []
        for side, bound in zip(_SIDES, bounds, strict=True):
            ideal = build.compute("over", build.compute("times", scale, side), self.multiple)
            count = build.compute("round", ideal)
            ends = bound, build.compute("times", count, multiple)
            is_beyond = build.equal(build.compute("at_most", *(ends if covers else ends[::-1])), 0.0)
            step = is_beyond if covers else build.negative(is_beyond)
            count = build.compute("larger", build.compute("sum", count, step), one)
            sides.append(build.compute("times", count, multiple))
        resize(build, "resize_to", *sides, how=self, size=ALIKE)


def _truncated(build: Build, register: int) -> int:
    """Rounded towards 0."""
    zero = build.constant(0.0)
    ends = register, build.negative(register)
    over, under = (build.compute("floor", build.compute("larger", end, zero)) for end in ends)
    return build.compute("sum", over, build.negative(under))
