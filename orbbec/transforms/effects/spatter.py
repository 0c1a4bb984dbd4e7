"""Drops of rain or mud on a lens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import copied_to
from orbbec.bridge.fakes import register_fake
from orbbec.bridge.spec import composite
from orbbec.color.tables import equalize_hist
from orbbec.filters import filter2d, gaussian_blur
from orbbec.noise import philox_noise
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import checks, or_none
from orbbec.transforms.base.checks import FillValue, Range, choice
from orbbec.transforms.base.transform import _Chance
from orbbec.transforms.effects.weather import checked_color

_COLORS = {"rain": (238.0, 238.0, 175.0), "mud": (20.0, 42.0, 63.0)}
_RANGES = ("mean_range", "std_range", "gauss_sigma_range", "cutout_threshold_range", "intensity_range")
_LOW, _HIGH, _FARTHEST = 50, 150, 20.0  # gradients of edges, pixels
_RELIEF = ((-2.0, -1.0, 0.0), (-1.0, 1.0, 1.0), (0.0, 1.0, 2.0))


def _smooth(values: Tensor, side: int, sigma: float) -> Tensor:
    blurred: Tensor = gaussian_blur(values[None, None], side, sigma, border="replicate")
    return blurred[0, 0]


def liquid(noise: Tensor, mean: float, std: float, sigma: float, threshold: float) -> Tensor:
    """A layer of liquid where blurred noise reaches a threshold, else 0: float32 `[H, W]`.

    Args:
        noise: normal numbers, float32 `[H, W]`.
        mean: of the layer.
        std: of the layer, before it is blurred.
        sigma: of the blur, in pixels.
        threshold: the least value of the layer.
    """
    layer = noise * std + mean
    layer = _smooth(layer, 2 * round(3 * sigma) + 1, sigma) if sigma > 0 else layer
    return torch.where(layer < threshold, 0.0, layer)


def rain_cover(layer: Tensor) -> Tensor:
    """How bright drops of rain are, from 0 to 1: float32 `[H, W]`; brightest away from their edges."""
    levels = (layer * 255).clamp(0, 255).byte()
    distance = _smooth(_edge_distances(levels, _LOW, _HIGH, _FARTHEST), 3, 1.0).byte()[None, None]
    relief = torch.tensor(_RELIEF, dtype=torch.float32, device="cpu")
    lit = filter2d(equalize_hist(distance), relief)[0, 0]
    cover = levels.float() * _smooth(lit, 5, 1.5).float()
    return cover / cover.max().clamp(min=1)


def mud_cover(layer: Tensor, threshold: float, sigma: float) -> Tensor:
    """How thick mud is, from 0 to 1: float32 `[H, W]`."""
    cover = (layer > threshold).float()
    cover = _smooth(cover, round(8 * sigma + 1) | 1, sigma) if sigma > 0 else cover
    return cover / cover.max().clamp(min=1e-30)


@composite("spatter", channels=(3,), host_columns=("numbers",))
def _spattered(
    images: Tensor, numbers: Tensor, sample_ids: Tensor, mode: str, color: Sequence[float], **key: Any
) -> Tensor:
    """Add drops of rain, or blend with mud; the layers are made on the CPU."""
    (height, width), is_byte = images.shape[-2:], images.dtype == torch.uint8
    shade = torch.tensor(color, dtype=torch.float32, device="cpu")[:, None, None]
    shade = copied_to(images.device, shade if is_byte else shade / 255)
    ids, results = sample_ids.cpu(), []
    for n, (mean, std, sigma, threshold, intensity) in enumerate(numbers.tolist()):
        noise = philox_noise(ids[n : n + 1], 1, (height, width), kind="normal", **key)[0, 0]
        layer = liquid(noise, mean, std, sigma, threshold)
        cover = rain_cover(layer) * 0.9 if mode == "rain" else mud_cover(layer, threshold, sigma)
        there = copied_to(images.device, cover * intensity)
        base = images[n].float() if mode == "rain" else images[n].float() * (1 - there)
        total = base + there * shade
        results.append(total.round_().clamp_(0, 255).byte() if is_byte else total.clamp_(0, 1))
    return torch.stack(results).to(images.dtype) if results else images


@dataclass(frozen=True)
class Spatter(_Chance):
    """Add drops of rain, or blend with mud, as on a lens.

    A layer of liquid is where blurred noise reaches a threshold. Rain is brightest at a side of its drops,
    mud in the middle.

    Args:
        mean_range: range of the mean of the noise, from 0 to 1.
        std_range: range of its standard deviation before the blur, from 0 to 1.
        gauss_sigma_range: range of the sigma of the blur, in pixels, from 0 to 100.
        cutout_threshold_range: range of the threshold, from 0 to 1: less gives more drops.
        intensity_range: range of the weight of the color, from 0 to 1; of rain, nine tenths of it.
        mode: "rain" or "mud".
        color: three numbers from 0 to 255, or one for all channels; None: (238, 238, 175) for rain and
            (20, 42, 63) for mud.
        p: probability, from 0 to 1.
        per_frame: draw other drops for each frame of a clip; False: all frames get those of the first.

    Source:
        Benchmarking Neural Network Robustness to Common Corruptions and Perturbations (Hendrycks and
        Dietterich, 2019); `Spatter` of Albumentations, by `cv2.GaussianBlur`, `cv2.Canny`,
        `cv2.distanceTransform` and `cv2.equalizeHist`. It covers a tenth of the pixels with mud where no
        noise reaches the threshold.

    Example:
        >>> mud = Spatter(mode="mud", color=(9, 9, 9), p=1.0)
        >>> mud(torch.full((3, 20, 30), 9, dtype=torch.uint8)).unique().tolist()
        [9]
    """

    mean_range: Range = (0.65, 0.65)
    std_range: Range = (0.3, 0.3)
    gauss_sigma_range: Range = (2.0, 2.0)
    cutout_threshold_range: Range = (0.68, 0.68)
    intensity_range: Range = (0.6, 0.6)
    mode: str = "rain"
    color: FillValue | None = None
    p: float = 0.5
    per_frame: bool = field(default=False, kw_only=True)

    _checks = checks(
        mode=partial(choice, known=tuple(_COLORS)),
        color=or_none(checked_color),
        **{**dict.fromkeys(_RANGES, (0.0, 1.0)), "gauss_sigma_range": (0.0, 100.0)},
    )

    def rules(self, build: Build) -> None:
        chosen = build.chance(self.p)
        numbers = build.consecutive([build.uniform(*getattr(self, name)) for name in _RANGES])
        columns = {"numbers": Column("registers", numbers, (len(_RANGES),))}
        color = _COLORS[self.mode] if self.color is None else self.color
        options = {"mode": self.mode, "color": color, "transform_index": build.stream}
        build.operator(OperatorStep("spatter", columns, options, chosen, "draws drops", self.per_frame))


_edge_distances: Callable[..., Tensor] = operators.edge_distances


@register_fake("edge_distances", image=2)
def _(image: Tensor, *_: object) -> Tensor:
    return torch.empty_like(image, dtype=torch.float32)
