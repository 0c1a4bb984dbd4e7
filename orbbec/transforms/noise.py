"""Noise, drawn per image."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.bridge.arguments import Array
from orbbec.plan.steps import BatchState, Operator, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import Range, flag, span
from orbbec.transforms.base.transform import Transform


@dataclass(frozen=True, eq=False)
class Noises:
    """Noise parameters: float64 `[N]`, fractions of the maximum value, and the position of the stream."""

    mean: Array
    sigma: Array
    transform_index: int


@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Add Gaussian noise, in a separate pass.

    Args:
        mean: as a fraction of the maximum value (255 or 1): one number, or a range to draw from.
        sigma: as a fraction of the maximum value, at least 0: one number, or a range to draw from.
        clip: clip floats to 0..1. uint8 values are always rounded and clipped.

    Source:
        `torchvision.transforms.v2.GaussianNoise`, which truncates the noise of uint8 images.

    Example:
        >>> noises = GaussianNoise(sigma=(0.1, 0.2)).sample(np.array([[4, 6]] * 3), Stream(np.arange(3)))
        >>> bool((noises.sigma >= 0.1).all() and (noises.sigma < 0.2).all())
        True
    """

    mean: float | Range = 0.0
    sigma: float | Range = 0.1
    clip: bool = True

    def __post_init__(self) -> None:
        self._set(clip=flag(self.name, "clip", self.clip))
        self._set(
            mean=span(self.name, "mean", self.mean),
            sigma=span(self.name, "sigma", self.sigma, 0.0),
        )

    def sample(self, sizes: Array, stream: Stream) -> Noises:
        mean = stream.between(*span(self.name, "mean", self.mean))
        return Noises(mean, stream.between(*span(self.name, "sigma", self.sigma)), stream.transform_index)

    def steps(self, params: Noises, state: BatchState) -> list[Step]:
        table = {"mean": params.mean, "sigma": params.sigma}
        options = {"clip": self.clip, "transform_index": params.transform_index}
        return [Operator("gaussian_noise", table, options, why="draws noise per image")]
