"""Output sizes that depend on the image (fit, scale, pad), and a fixed crop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from orbbec.plan.build import Build
from orbbec.plan.passes import ALIKE
from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.checks import MAX_SIDE, FillValue, Range, Size, checked_size, choice
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.cuts import _Resizing, drawn_size, padded, resize

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
        >>> ResizeToFit(10)(torch.zeros(3, 40, 60)).shape
        torch.Size([3, 7, 10])
    """

    size: Size
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks()

    def rules(self, build: Build) -> None:
        resize(build, "resize_fit", *checked_size(self.size), 1, how=self, size=ALIKE)


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
        >>> RandomScale((0.5, 0.5))(torch.zeros(3, 41, 60)).shape
        torch.Size([3, 20, 30])
    """

    scale_range: Range = (0.9, 1.1)
    interpolation: str = "linear"
    antialias: bool = True

    _checks = checks(scale_range=at_least(1e-6))

    def rules(self, build: Build) -> None:
        size = drawn_size(self.scale_range)
        resize(build, "resize_scaled", build.uniform(*self.scale_range), 0, 0, how=self, size=size)


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

    _checks = checks(position=partial(choice, known=(*_POSITIONS, "random")))

    def rules(self, build: Build) -> None:
        size, is_random = checked_size(self.size), self.position == "random"
        fractions = (0.0, 0.0) if is_random else _POSITIONS[self.position]
        how = padded(self) | {"size": ALIKE, "least": size, "draws": 2 * is_random}
        build.warp("pad_to", *size, *fractions, int(is_random), lossless=True, **how)


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

    _checks = checks(top=(0, MAX_SIDE), left=(0, MAX_SIDE), height=(1, MAX_SIDE), width=(1, MAX_SIDE))

    def rules(self, build: Build) -> None:
        size = self.height, self.width
        build.warp(
            "crop_fixed", self.top, self.left, *size, 0, lossless=True, region=True, size=size, least=size
        )
