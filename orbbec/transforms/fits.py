"""Output sizes that depend on the image (fit, scale, pad), and a fixed crop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import BatchState, Step, same_rows
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import (
    FillValue,
    Range,
    Size,
    border_of,
    choice,
    interval,
    numbers,
    size_pair,
    whole,
)
from orbbec.transforms.base.transform import Drawn, Transform
from orbbec.transforms.cuts import Boxes, _Resizing, fitted_sizes, whole_images
from orbbec.transforms.geometry import check_fit, where_cut

# The fraction of the padding that goes above the image and to its left.
_POSITIONS = {
    "center": (0.5, 0.5),
    "top_left": (0.0, 0.0),
    "top_right": (0.0, 1.0),
    "bottom_left": (1.0, 0.0),
    "bottom_right": (1.0, 1.0),
}


@dataclass(frozen=True)
class ResizeToFit(_Resizing):
    """Resize each image to the largest size that fits into `size` and keeps the aspect ratio.

    Sides are rounded half to even. The output size depends on the image; `Letterbox` fills the rest.

    Args:
        size: (height, width) in pixels, or one number for the longer side.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `LongestMaxSize` of Albumentations.

    Example:
        >>> ResizeToFit(10).sample(np.array([[40, 60]]), Stream(np.array([0]))).sizes.tolist()
        [[7, 10]]
    """

    size: Size
    interpolation: str = "linear"
    antialias: bool = True

    def __post_init__(self) -> None:
        self._check("size")
        super().__post_init__()

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        size = size_pair(self.name, "size", self.size)
        return whole_images(sizes, fitted_sizes(sizes, size).astype(np.int64))


@dataclass(frozen=True)
class RandomScale(_Resizing):
    """Resize each image by a random factor, equal for both sides.

    Sides are rounded down. The output size depends on the image.

    Args:
        scale_range: range of the factor, above 0.
        interpolation: see `Resize`.
        antialias: see `Resize`.

    Source:
        `RandomScale` of Albumentations.

    Example:
        >>> RandomScale((0.5, 0.5)).sample(np.array([[41, 60]]), Stream(np.array([0]))).sizes.tolist()
        [[20, 30]]
    """

    scale_range: Range = (0.9, 1.1)
    interpolation: str = "linear"
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(scale_range=interval(self.name, "scale_range", self.scale_range, 1e-6))
        super().__post_init__()

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        factor = stream.between(*self.scale_range)
        return whole_images(sizes, np.maximum((sizes * factor[:, None]).astype(np.int64), 1))


@dataclass(frozen=True)
class PadIfNeeded(Transform):
    """Pad each image to at least `size`.

    Args:
        size: (height, width) in pixels, or one side of a square.
        fill: in pixel units: a number or one per channel.
        padding_mode: "constant", "edge", "reflect" or "symmetric".
        position: of the image in the output: "center" (an odd pixel of padding goes right or below),
            "top_left", "top_right", "bottom_left", "bottom_right" or "random".

    Source:
        `PadIfNeeded` of Albumentations.

    Example:
        >>> PadIfNeeded((1, 4), fill=9)(torch.zeros(1, 2, 1, dtype=torch.uint8)).tolist()
        [[[9, 0, 9, 9], [9, 0, 9, 9]]]
    """

    size: Size
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    position: str = "center"

    def __post_init__(self) -> None:
        self._check("size", "fill")
        border_of(self.name, self.padding_mode)
        self._set(position=choice(self.name, "position", self.position, (*_POSITIONS, "random")))

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        size = size_pair(self.name, "size", self.size)
        outputs = np.maximum(sizes, np.array(size))
        lacks = outputs - sizes
        if self.position == "random":
            before = np.floor(stream.uniforms(2) * (lacks + 1))
        else:
            before = np.floor(lacks * _POSITIONS[self.position])
        return Boxes.of_size(-before[:, 1], -before[:, 0], outputs, size)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        return [params.cut(border_of(self.name, self.padding_mode), numbers(self.name, "fill", self.fill))]


@dataclass(frozen=True)
class Crop(Transform):
    """Crop the same region of each image.

    Args:
        top: top of the region in pixels.
        left: left edge of the region in pixels.
        height: height of the region in pixels.
        width: width of the region in pixels.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image does not contain the
            region.

    Source:
        `torchvision.transforms.v2.functional.crop`, which pads instead.

    Example:
        >>> image = torch.arange(12, dtype=torch.uint8).reshape(1, 3, 4)
        >>> Crop(top=1, left=2, height=2, width=2)(image).tolist()
        [[[6, 7], [10, 11]]]
    """

    top: int
    left: int
    height: int
    width: int

    def __post_init__(self) -> None:
        for name, low in (("top", 0), ("left", 0), ("height", 1), ("width", 1)):
            self._set(**{name: whole(self.name, name, getattr(self, name), low)})

    @property
    def _end(self) -> tuple[int, int]:
        return self.top + self.height, self.left + self.width

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        return super().draw(where_cut(state, self._end), streams)

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        check_fit(self.name, sizes, self._end)
        size, zero = (self.height, self.width), np.zeros(len(sizes))
        return Boxes.of_size(zero + self.left, zero + self.top, same_rows(size, len(sizes)), size)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        return [params.cut()]
