"""Transforms for detection: scale jitter, zoom-out, crops that keep boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.passes import VARIES
from orbbec.plan.points import (
    areas,
    carried_edges,
    clipped,
    corners_of,
    forward_of,
    hulls,
    numbers_of,
    shifts,
)
from orbbec.plan.steps import BatchState, Step, Warp
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import (
    FillValue,
    Range,
    checked_numbers,
    entries,
    epoch_range,
    interval,
    number,
    position,
    size_pair,
    whole,
)
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

    def __post_init__(self) -> None:
        self._set(side_range=interval(self.name, "side_range", self.side_range, 1.0))
        self._check("fill", "p")

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

    def __post_init__(self) -> None:
        self._set(
            target_size=size_pair(self.name, "target_size", self.target_size),
            scale_range=interval(self.name, "scale_range", self.scale_range, 1e-6),
        )
        super().__post_init__()

    def rules(self, build: Build) -> None:
        factor = build.uniform(*self.scale_range)
        size = drawn_size(self.scale_range)
        resize(build, "resize_scaled", factor, *self.target_size, how=self, size=size)


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

    def __post_init__(self) -> None:
        is_one = listed(self.min_size) is None
        sides = (self.min_size,) if is_one else entries(self.name, "min_size", self.min_size)
        self._set(min_size=tuple(whole(self.name, "min_size", side, 1) for side in sides))
        super().__post_init__()
        if self.max_size is not None:
            self._set(max_size=whole(self.name, "max_size", self.max_size, 1))

    def rules(self, build: Build) -> None:
        assert not isinstance(self.min_size, int)
        side = build.lookup(build.whole(0, len(self.min_size)), self.min_size)
        size = drawn_size(len(self.min_size))
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

    def __post_init__(self) -> None:
        self._set(min_size=whole(self.name, "min_size", self.min_size, 1))
        self._set(max_size=whole(self.name, "max_size", self.max_size, self.min_size + 1))
        super().__post_init__()

    def rules(self, build: Build) -> None:
        side = build.whole(self.min_size, self.max_size - self.min_size)
        size = drawn_size(self.max_size - self.min_size)
        resize(build, "resize_shorter", side, 0, how=self, size=size)


@dataclass(frozen=True)
class RandomIoUCrop(Transform):
    """Crop a random region with a randomly chosen minimum overlap with a box, as for single-shot detectors.

    Boxes whose center is outside the region should be dropped: see `min_visibility` of `TargetOptions`. The
    boxes are those that earlier steps left; an image without boxes is not cropped.

    Args:
        min_scale: smallest ratio of the region's sides to the image's, from 0 to 1.
        max_scale: largest such ratio, from 0 to 1.
        min_aspect_ratio: smallest ratio of width to height.
        max_aspect_ratio: largest ratio of width to height.
        sampler_options: minimum overlaps (intersection over union) to choose from; 1 and above leave the
            image unchanged.
        trials: attempts per choice; then a new choice is made, up to `rounds` times.
        rounds: number of choices before the image is left unchanged. (torchvision has no limit.)
        epochs: (first, end): only from the first epoch to before `end`; None: in all.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, there are no targets.

    Source:
        `torchvision.transforms.v2.RandomIoUCrop`.

    Example:
        >>> image = torch.zeros(3, 40, 60, dtype=torch.uint8)
        >>> target = {"boxes": torch.tensor([[10.0, 10, 50, 30]])}
        >>> crop, moved = RandomIoUCrop()(image, target)
        >>> crop.shape[1] <= 40, crop.shape[2] <= 60
        (True, True)
    """

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
    trials: int = 40
    rounds: int = 16
    epochs: tuple[int, int] | None = field(default=None, kw_only=True)

    needs_targets = True

    def __post_init__(self) -> None:
        scales, ratios = (self.min_scale, self.max_scale), (self.min_aspect_ratio, self.max_aspect_ratio)
        low, high = interval(self.name, "min_scale, max_scale", scales, 1e-6, 1.0)
        self._set(min_scale=low, max_scale=high)
        low, high = interval(self.name, "min_aspect_ratio, max_aspect_ratio", ratios, 1e-6)
        self._set(min_aspect_ratio=low, max_aspect_ratio=high)
        options = entries(self.name, "sampler_options", self.sampler_options)
        self._set(trials=whole(self.name, "trials", self.trials, 1))
        self._set(rounds=whole(self.name, "rounds", self.rounds, 1))
        options = tuple(number(self.name, "sampler_options", option, 0.0) for option in options)
        self._set(sampler_options=options, epochs=epoch_range(self.name, self.epochs))

    def draw_for(
        self, state: BatchState, stream: Stream, targets: Sequence[Any] | None, matrix: Array | None
    ) -> list[Step]:
        crops = state.regions.copy()
        per_round = 1 + 4 * self.trials
        draws, forward = stream.uniforms(per_round), forward_of(position(self.name, matrix))
        first, end = self.epochs or (0, math.inf)
        for n, target in enumerate(targets or () if first <= stream.epoch < end else ()):
            boxes = numbers_of(target.get("boxes", ()))
            if boxes.size == 0:
                continue
            if boxes.ndim != 2 or boxes.shape[1] != 4:
                raise ValueError(
                    f"{self.name}: expected boxes xyxy [K, 4], but image {n} has {list(boxes.shape)}"
                )
            height, width = state.sizes[n].tolist()
            boxes = clipped(hulls(carried_edges(forward[n], corners_of(boxes))), (height, width))
            boxes = boxes[areas(boxes) > 0]
            if len(boxes) == 0:
                continue
            crops[n] = self._crop(
                state.sizes[n], boxes, draws[n], Stream(stream.sample_ids[n : n + 1], *stream.key)
            )
        outputs = np.stack([crops[:, 3] - crops[:, 1], crops[:, 2] - crops[:, 0]], 1)
        corner = shifts(crops[:, 0].astype(np.float64), crops[:, 1].astype(np.float64), len(crops))
        return [Warp(corner, outputs, lossless=True, region=crops)]

    def _crop(self, size: Array, boxes: Array, first: Array, stream: Stream) -> Array:
        """The region of one image: left, top, right, bottom."""
        draws = first
        for attempt in range(self.rounds):
            if attempt:
                draws = stream.uniforms((attempt + 1) * len(first))[0, attempt * len(first) :]
                stream = stream.again()
            overlap = self.sampler_options[int(draws[0] * len(self.sampler_options))]
            if overlap >= 1:
                break
            crops = self._tried(size, draws[1:].reshape(self.trials, 4))
            good = _overlap(boxes, crops, overlap)
            if good.any():
                return np.asarray(crops[good.argmax()])
        return np.array([0, 0, size[1], size[0]])

    def _tried(self, size: Array, draws: Array) -> Array:
        """The candidate regions: int64 `[K, 4]`."""
        height, width = size.tolist()
        scale = self.min_scale + (self.max_scale - self.min_scale) * draws[:, :2]
        w, h = (width * scale[:, 0]).astype(int), (height * scale[:, 1]).astype(int)
        aspect = w / np.maximum(h, 1)
        good = (aspect >= self.min_aspect_ratio) & (aspect <= self.max_aspect_ratio) & (h > 0)
        left = ((width - w) * draws[:, 2]).astype(int)
        top = ((height - h) * draws[:, 3]).astype(int)
        return np.asarray(np.stack([left, top, left + w, top + h], 1)[good])


def _overlap(boxes: Array, crops: Array, least: float) -> Array:
    """Which regions `[M, 4]` overlap enough with a box centered inside: bool `[M]`."""
    ends = boxes[:, None], crops[None].astype(np.float64)
    middle = (boxes[:, None, :2] + boxes[:, None, 2:]) / 2
    near = ((middle > ends[1][..., :2]) & (middle < ends[1][..., 2:])).all(-1)
    sides = np.minimum(*(end[..., 2:] for end in ends)) - np.maximum(*(end[..., :2] for end in ends))
    both = np.maximum(sides, 0).prod(-1)
    union = areas(boxes)[:, None] + areas(ends[1][0])[None] - both
    return np.asarray((near & (both / np.where(near, union, 1.0) >= least)).any(0))
