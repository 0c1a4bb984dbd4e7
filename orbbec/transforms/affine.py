"""Rotation, affine transforms, and alignment to points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import listed
from orbbec.matrices import get_similarity_matrix, invert_perspective
from orbbec.plan.build import Build
from orbbec.plan.points import forward_of, numbers_of
from orbbec.plan.rules import IMAGE_HEIGHT, IMAGE_WIDTH
from orbbec.plan.steps import BatchState, Step, identities, same_rows
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import checks, or_none, several, text, warp_interpolation
from orbbec.transforms.base.checks import (
    FillValue,
    Range,
    Size,
    around,
    checked_numbers,
    checked_size,
    interval,
    number,
    numbers,
    pair,
    size_pair,
)
from orbbec.transforms.base.transform import Transform, _Chance
from orbbec.transforms.cuts import drawn_size
from orbbec.transforms.warps import Reading, reading_of, warp, warp_step


@dataclass(frozen=True)
class RandomRotation(Transform):
    """Rotate each image about its center.

    Args:
        degrees: a range of counter-clockwise angles; a number d means (-d, d).
        interpolation: "nearest", "linear" (also as "area"), "cubic" or "lanczos4".
        expand: enlarge the output to hold the whole image; cannot be combined with `center`.
        center: (x, y) in pixels from the top-left corner; None: the image center.
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.

    Source:
        `torchvision.transforms.v2.RandomRotation`.

    Example:
        >>> image = torch.tensor([[[1, 2], [3, 4]]], dtype=torch.uint8)
        >>> RandomRotation((90, 90))(image).tolist()  # counter-clockwise
        [[[2, 4], [1, 3]]]
    """

    degrees: float | Range
    interpolation: str = "nearest"
    expand: bool = False
    center: Sequence[float] | None = None
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    _checks = checks(degrees=around, center=or_none(pair), interpolation=warp_interpolation)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expand and self.center is not None:
            raise ValueError(f"{self.name}: expected no center together with expand")

    def rules(self, build: Build) -> None:
        low, high = checked_numbers(self.degrees)
        angle = build.negative(build.uniform(low, high))
        numbers = build.consecutive([angle, *map(build.constant, (0, 0, 1, 1, 0, 0))])
        expand = drawn_size((low, high)) if self.expand else None
        add_affine(build, numbers, reading_of(self), self.center, expand)


@dataclass(frozen=True)
class SafeRotate(_Chance):
    """Rotate each image about its center, and shrink the result to the size of the image.

    Width and height are scaled by a factor of their own, so that the whole image stays visible.

    Args:
        degrees: see `RandomRotation`.
        interpolation: see `RandomRotation`.
        fill: see `RandomRotation`.
        padding_mode: see `RandomRotation`.
        p: probability, from 0 to 1.

    Source:
        `SafeRotate` of Albumentations, without the shift of its images by half a pixel against its boxes.

    Example:
        >>> image = torch.tensor([[[1, 2], [3, 4]]], dtype=torch.uint8)
        >>> SafeRotate((90, 90), p=1.0)(image).tolist()
        [[[2, 4], [1, 3]]]
    """

    degrees: float | Range = 90.0
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.5

    _checks = checks(degrees=around, interpolation=warp_interpolation)

    def rules(self, build: Build) -> None:
        with build.only(build.chance(self.p)):
            angle = build.uniform_in(self.degrees)
            sine = build.compute("sine_cosine", angle)
            matrix = _shrunk(build, sine, sine + 1)
            others = [IMAGE_HEIGHT, IMAGE_WIDTH, *[build.constant(0.0)] * 7]
            first = build.copies([*matrix, *others])
            warp(build, "step_warp", first, 0, reading=reading_of(self))


def _shrunk(build: Build, sine: int, cosine: int) -> list[int]:
    """The elements of the matrix from output pixels to source pixels of a rotation that is shrunk to fit."""
    one, minus, half = (build.constant(value) for value in (1.0, -1.0, 0.5))
    times, plus = partial(build.compute, "times"), partial(build.compute, "sum")
    sizes = {"x": IMAGE_WIDTH, "y": IMAGE_HEIGHT}
    spans = [build.compute("larger", each, times(each, minus)) for each in (cosine, sine)]
    center, factor = {}, {}
    for axis, other in ("xy", "yx"):
        size = sizes[axis]
        whole = build.compute("floor", plus(times(size, spans[0]), times(sizes[other], spans[1])))
        factor[axis] = build.compute("quotient", build.compute("larger", whole, one), size)
        center[axis] = times(plus(size, minus), half)
    rows = []
    for axis, first, second in (("x", cosine, times(sine, minus)), ("y", sine, cosine)):
        parts = times(first, factor["x"]), times(second, factor["y"])
        corner = plus(times(parts[0], center["x"]), times(parts[1], center["y"]))
        rows += [*parts, plus(center[axis], times(corner, minus))]
    zero = build.constant(0.0)
    return [*rows, zero, zero, one]


def _shears(op: str, name: str, value: Any) -> tuple[float, ...]:
    ends = numbers(op, name, value, (1, 2, 4))
    if len(ends) < 4:
        return around(op, name, ends[0] if len(ends) == 1 else ends)
    return (*interval(op, name, ends[:2]), *interval(op, name, ends[2:]))


def _reach(op: str, name: str, value: Any) -> tuple[float, ...]:
    return tuple(number(op, name, fraction, 0.0, 1.0) for fraction in pair(op, name, value))


def _scales(op: str, name: str, value: Any) -> tuple[float, ...]:
    bounds = numbers(op, name, value, (2, 4))
    ranges = (interval(op, name, bounds[n : n + 2], 1e-9) for n in range(0, len(bounds), 2))
    return tuple(side for low_high in ranges for side in low_high)


@dataclass(frozen=True)
class RandomAffine(Transform):
    """Rotate, translate, scale and shear each image about its center.

    Args:
        degrees: a range of clockwise angles, as in torchvision; a number d means (-d, d).
        translate: largest shifts along x and y, as fractions of width and height, from 0 to 1.
        scale: a range of factors, or four numbers: a range for x and a range for y; None: 1.
        shear: in degrees: a number s means (-s, s) along x; two numbers are a range along x; four numbers
            are a range for x and a range for y.
        interpolation: "nearest", "linear" (also as "area"), "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        center: (x, y) in pixels from the top-left corner; None: the image center.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.
        expand: enlarge or shrink the output to hold the whole result; cannot be combined with `translate` or
            `center`.

    Source:
        `torchvision.transforms.v2.RandomAffine`; with `expand`, `fit_output` of Albumentations' `Affine`: the
        output lacks up to half a pixel of the image on the left and above, and has a few more on the other
        sides.

    Example:
        >>> image = torch.tensor([[[1, 2, 3, 4]]], dtype=torch.uint8)
        >>> shift = RandomAffine(degrees=0, translate=(0.5, 0.0), fill=9)
        >>> shift(image, epoch=1).tolist()
        [[[9, 1, 2, 3]]]
    """

    degrees: float | Range
    translate: Range | None = None
    scale: Sequence[float] | None = None
    shear: float | Sequence[float] | None = None
    interpolation: str = "nearest"
    fill: FillValue = 0.0
    center: Sequence[float] | None = None
    padding_mode: str = "constant"
    expand: bool = False

    _checks = checks(
        degrees=around,
        center=or_none(pair),
        interpolation=warp_interpolation,
        shear=or_none(_shears),
        translate=or_none(_reach),
        scale=or_none(_scales),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expand and (self.center is not None or self.translate is not None):
            raise ValueError(f"{self.name}: expected neither center nor translate together with expand")

    def rules(self, build: Build) -> None:
        angle = build.uniform_in(self.degrees)
        shifts = [build.uniform() for _ in range(2)]
        scales = self.scale if self.scale is not None else (1.0, 1.0)
        scale_x = build.uniform(*scales[:2])
        shears = (*checked_numbers(self.shear or (0.0, 0.0)), 0.0, 0.0)
        shear = [build.uniform(*shears[:2]), build.uniform(*shears[2:4])]
        scale_y = build.uniform(*scales[2:]) if len(scales) == 4 else scale_x
        reach = self.translate if self.translate is not None else (0.0, 0.0)
        x, y = (build.compute("shift", draw, axis, reach[axis]) for axis, draw in enumerate(shifts))
        numbers = build.copies([angle, x, y, scale_x, scale_y, *shear])
        if not self.expand:
            return add_affine(build, numbers, reading_of(self), self.center)
        ranges = (*checked_numbers(self.degrees), *scales, *shears)
        is_one = all(low == high for low, high in zip(ranges[::2], ranges[1::2], strict=True))
        warp(build, "affine", numbers, 0, 0.0, 0.0, 2, reading=reading_of(self), size=drawn_size(int(is_one)))


def add_affine(
    build: Build,
    numbers: int,
    reading: Reading,
    center: Sequence[float] | None,
    expand: tuple[int, int] | None = None,
) -> None:
    """Add an affine warp.

    Args:
        build: the program.
        numbers: the first of seven registers: clockwise degrees, shift along x and y in pixels, scale along
            x and y, shear along x and y in degrees.
        reading: interpolation, border and fill.
        center: (x, y) in pixels from the top-left corner; None: the image center.
        expand: None, or the output holds the whole image and has this size.
    """
    x, y = center or (0.0, 0.0)
    operands = numbers, int(center is not None), x, y, int(expand is not None)
    warp(build, "affine", *operands, reading=reading, size=expand)


# ArcFace's template for a 112 x 112 crop: (x, y) of the eyes, the nose and the corners of the mouth.
FACE_POINTS = (
    (38.2946, 51.6963),
    (73.5318, 51.5014),
    (56.0252, 71.7366),
    (41.5493, 92.3655),
    (70.7299, 92.2041),
)


@dataclass(frozen=True)
class AlignPoints(Transform):
    """Align points of each image to a template by rotation, scale and translation, and crop the result.

    The points are in the targets, under the name `key`. An image without points is resized whole.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        template: K points (x, y) in the output, in pixels, K at least 2.
        key: name of the points `[K, 2]` or `[K, 3]` in the targets of an image.
        interpolation: "nearest", "linear" (also as "area"), "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: how pixels outside the image are read: "constant" (`fill`) or a mode of `Pad`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, or the template has fewer than 2 points; or, when the plan is
            made, an image has no target, or another number of points.

    Source:
        Umeyama's least squares, as `get_similarity_matrix`.

    Example:
        >>> corners = [(0, 0), (3, 0), (3, 1)]
        >>> align = AlignPoints((2, 4), corners, key="keypoints")
        >>> image = torch.arange(32, dtype=torch.uint8).reshape(1, 4, 8)
        >>> aligned, _ = align(image, {"keypoints": torch.tensor([[2.0, 1.0], [5.0, 1.0], [5.0, 2.0]])})
        >>> aligned.tolist()
        [[[10, 11, 12, 13], [18, 19, 20, 21]]]
    """

    size: Size
    template: Sequence[Sequence[float]]
    key: str = "keypoints"
    interpolation: str = "linear"
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    needs_targets = True

    _checks = checks(template=several(pair), interpolation=warp_interpolation, key=text)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.template) < 2:
            raise ValueError(
                f"{self.name}: expected template of at least 2 points, but got {len(self.template)}"
            )

    def points_of(self, sizes: Array, targets: Sequence[Any], forward: Array) -> Array:
        """The points of each image at this step: float64 `[N, K, 2]`, NaN for an image without points.

        Args:
            sizes: int64 `[N, 2]`.
            targets: one dict per image.
            forward: float64 `[N, 3, 3]`: from pixels of the targets' images to pixels at this step.
        """
        count = len(self.template)
        points = np.full((len(sizes), count, 2), np.nan)
        every = [self._points_in(index, target) for index, target in enumerate(targets)]
        images = [index for index, table in enumerate(every) if table is not None]
        if images:
            homogeneous = np.ones((len(images), count, 3))
            homogeneous[..., :2] = [table for table in every if table is not None]
            mapped = homogeneous @ forward[images].transpose(0, 2, 1)
            points[images] = mapped[..., :2] / mapped[..., 2:]
        return points

    def _points_in(self, index: int, target: dict[str, Any]) -> Array | None:
        """The points in the target of image `index`: float64 `[K, 2]`; None: there are none."""
        if self.key not in target:
            return None
        table = numbers_of(target[self.key])
        table = table[0] if table.ndim == 3 and len(table) == 1 else table
        if table.size == 0:
            return None
        count = len(self.template)
        if table.ndim != 2 or len(table) != count or table.shape[1] not in (2, 3):
            raise ValueError(
                f"{self.name}: expected {self.key} of shape [{count}, 2], "
                f"but image {index} has {list(table.shape)}"
            )
        return table[:, :2]

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        points = self.points_of(state.sizes, targets, forward_of(matrix))
        height, width = checked_size(self.size)
        outputs = same_rows((height, width), len(state))
        whole = identities(len(state))
        whole[:, 0, 0], whole[:, 1, 1] = width / state.widths, height / state.heights
        template = np.broadcast_to(np.array(self.template), points.shape).copy()
        usable = np.asarray(np.isfinite(points).all((1, 2)))
        forward = identities(len(state))
        forward[:, :2] = get_similarity_matrix(np.where(usable[:, None, None], points, template), template)
        forward = np.where(usable[:, None, None], forward, whole)
        return warp_step(invert_perspective(forward), outputs, *reading_of(self), least=(height, width))


@dataclass(frozen=True)
class AlignFaces(AlignPoints):
    """Crop upright faces of one size by five landmarks: eyes, nose, corners of the mouth.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        template: see `AlignPoints`; the default is ArcFace's 112 x 112 template, scaled to `size`.
        key: see `AlignPoints`.
        interpolation: see `AlignPoints`.
        fill: see `AlignPoints`.
        padding_mode: see `AlignPoints`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image has no landmarks, or
            another number of them.

    Source:
        The template of ArcFace (InsightFace); Umeyama's least squares.

    Example:
        >>> image = torch.zeros(3, 480, 640, dtype=torch.uint8)
        >>> landmarks = torch.tensor([[300.0, 200], [340, 200], [320, 225], [304, 245], [336, 245]])
        >>> face, moved = AlignFaces(112)(image, {"landmarks": landmarks})
        >>> face.shape, moved["landmarks"][0].round().tolist()
        (torch.Size([3, 112, 112]), [38.0, 51.0])
    """

    size: Size = 112
    template: Sequence[Sequence[float]] = ()
    key: str = "landmarks"

    def __post_init__(self) -> None:
        if listed(self.template) == []:
            height, width = size_pair(self.name, "size", self.size)
            self._set(template=tuple((x * width / 112, y * height / 112) for x, y in FACE_POINTS))
        super().__post_init__()
