"""Noise of an image's own."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.binding.arguments import Array
from orbbec.plan.steps import Frame, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.checks import Range, flag, span
from orbbec.transforms.transform import Transform


@dataclass(frozen=True, eq=False)
class Noises:
    """The noise of each image: float64 `[N]` as shares of white, and the place that it is drawn at."""

    mean: Array
    sigma: Array
    place: int


@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Add normal noise to images: a pass of its own.

    Args:
        mean: as a share of white: one number, or a range to draw from.
        sigma: as a share of white, at least 0: one number, or a range to draw from.
        clip: floats to 0 and 1. Bytes are rounded and saturated in any case.

    Source:
        `torchvision.transforms.v2.GaussianNoise`, which cuts the fraction of the noise of bytes off.

    Example:
        >>> import numpy as np
        >>> noises = GaussianNoise(sigma=(0.1, 0.2)).sample(np.array([[4, 6]] * 3), Stream(np.arange(3)))
        >>> bool((noises.sigma >= 0.1).all() and (noises.sigma < 0.2).all())
        True
    """

    mean: float | Range = 0.0
    sigma: float | Range = 0.1
    clip: bool = True

    def __post_init__(self) -> None:
        flag(self.name, "clip", self.clip)
        self._set(
            mean=span(self.name, "mean", self.mean),
            sigma=span(self.name, "sigma", self.sigma, 0.0),
        )

    def sample(self, sizes: Array, stream: Stream) -> Noises:
        mean = stream.between(*span(self.name, "mean", self.mean))
        return Noises(mean, stream.between(*span(self.name, "sigma", self.sigma)), stream.place)

    def steps(self, params: Noises, frame: Frame) -> list[Step]:
        table = {"mean": params.mean, "sigma": params.sigma}
        options = {"clip": self.clip, "place": params.place}
        return [Operator("gaussian_noise", table, options, why="draws noise of the image's own")]
