"""Noise, drawn per image."""

from __future__ import annotations

from dataclasses import dataclass, field

from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.adjustments import check_unit
from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.checks import Range, span
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.operators import Row, _RowTransform


@dataclass(frozen=True)
class GaussianNoise(_RowTransform):
    """Add Gaussian noise, in a separate pass.

    Args:
        mean: as a fraction of the maximum value (255 or 1): one number, or a range to draw from.
        sigma: as a fraction of the maximum value, at least 0: one number, or a range to draw from.
        clip: clip floats to 0..1. uint8 values are always rounded and clipped.
        per_frame: draw other noise for each frame of a clip; False: all frames get the noise of the first.

    Source:
        `torchvision.transforms.v2.GaussianNoise`, which truncates the noise of uint8 images.

    Example:
        >>> GaussianNoise(sigma=(0.1, 0.2))(torch.zeros(3, 4, 6)).shape
        torch.Size([3, 4, 6])
    """

    mean: float | Range = 0.0
    sigma: float | Range = 0.1
    clip: bool = True
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(mean=span, sigma=at_least(0.0))

    _row = Row("gaussian_noise", ("mean", "sigma"), ("clip",), "draws noise per image")


@dataclass(frozen=True)
class SaltAndPepper(Transform):
    """Set random pixels to white and black, in a separate pass.

    Each pixel is drawn alone, so the number of those that change varies about the amount.

    Args:
        amount: a range of fractions of the pixels to set, from 0 to 1.
        salt_vs_pepper: a range of fractions of them that become white, from 0 to 1.
        p: probability, from 0 to 1.
        per_frame: set other pixels of each frame of a clip; False: all frames get those of the first.

    Source:
        `SaltAndPepper` of Albumentations, which sets a fixed number of pixels.

    Example:
        >>> gray = torch.full((1, 100, 100), 0.5)
        >>> salted = SaltAndPepper((1.0, 1.0), (1.0, 1.0), p=1.0)(gray)
        >>> salted.unique().tolist()
        [1.0]
    """

    amount: Range = (0.01, 0.06)
    salt_vs_pepper: Range = (0.4, 0.6)
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(amount=(0.0, 1.0), salt_vs_pepper=(0.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        amount, ratio = build.uniform(*self.amount), build.uniform(*self.salt_vs_pepper)
        columns = {"amount": Column("registers", amount), "salt_ratio": Column("registers", ratio)}
        options, why = {"transform_index": build.stream}, "draws noise per image"
        step = OperatorStep("salt_and_pepper", columns, options, chosen, why, self.per_frame)
        build.operator(step)


@dataclass(frozen=True)
class PixelDropout(Transform):
    """Set random pixels to a value, in a separate pass.

    Each pixel is drawn alone.

    Args:
        dropout_prob: probability of a pixel, from 0 to 1.
        drop_value: in pixel units, for all channels.
        p: probability, from 0 to 1.
        per_frame: set other pixels of each frame of a clip; False: all frames get those of the first.

    Source:
        `PixelDropout` of Albumentations.

    Example:
        >>> PixelDropout(1.0, 7.0, p=1.0)(torch.zeros(1, 1, 3, dtype=torch.uint8)).tolist()
        [[[7, 7, 7]]]
    """

    dropout_prob: float = 0.01
    drop_value: float = 0.0
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(dropout_prob=(0.0, 1.0), drop_value=(0.0, 255.0))

    def rules(self, build: Build) -> None:
        check_unit(build, "drop_value", self.drop_value)
        columns = {"amount": Column("constant", value=self.dropout_prob)}
        options = {"salt_ratio": 0.0, "pepper": self.drop_value, "transform_index": build.stream}
        chosen, why = build.chance(self.p), "draws noise per image"
        build.operator(OperatorStep("salt_and_pepper", columns, options, chosen, why, self.per_frame))


@dataclass(frozen=True)
class ShotNoise(_RowTransform):
    """Replace the light of each value by that of a random number of photons, in a separate pass.

    Args:
        scale_range: a range of the light of a photon, as a fraction of that of the maximum value, above 0;
            the more, the noisier.
        p: probability, from 0 to 1.
        per_frame: draw other photons for each frame of a clip; False: all frames get those of the first.

    Source:
        `ShotNoise` of Albumentations.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> ShotNoise(p=1.0)(image).max().item()
        0
    """

    scale_range: Range = (0.1, 0.3)
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(scale_range=at_least(1e-6))

    _row = Row("shot_noise", ("p", "scale_range"), why="draws noise per image")
