"""Blurs by zooming and by frosted glass."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import composite
from orbbec.filters import gaussian_blur
from orbbec.noise import philox_noise
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range
from orbbec.transforms.operators import Row, _RowTransform
from orbbec.warpaffine import warp_affine

_WHY = "averages zooms of the whole image"


def zoom_count(max_factor: float, step_factor: float) -> int:
    """The number of zooms from 1 to below a factor, at least 1."""
    return max(1, ceil((max_factor - 1) / step_factor))


def _zoomed_axis(side: int, factor: float) -> tuple[float, float]:
    """The step and the first position that a zoom reads along an axis.

    The zoom is that of a region of whole pixels in the middle, from whose result the middle is taken.
    """
    part = ceil(side / factor)
    whole = max(side, int(part * factor))
    step = part / whole
    return step, (side - part) // 2 + ((whole - side) // 2 + 0.5) * step - 0.5


def zoom_matrices(factors: list[float], size: tuple[int, int]) -> Tensor:
    """Output pixels to source pixels of zooms: float64 `[N, 2, 3]`."""
    height, width = size
    rows = []
    for factor in factors:
        (step_x, x), (step_y, y) = _zoomed_axis(width, factor), _zoomed_axis(height, factor)
        rows.append([[step_x, 0.0, x], [0.0, step_y, y]])
    return torch.tensor(rows, dtype=torch.float64, device="cpu")


@composite("zoom_blur", host_columns=("max_factor", "step_factor"))
def _zoomed(images: Tensor, max_factor: Tensor, step_factor: Tensor) -> Tensor:
    """The mean of images and of their zooms by 1, 1 + step, 1 + 2 step and so on."""
    pairs = zip(max_factor.tolist(), step_factor.tolist(), strict=True)
    counts = torch.tensor([zoom_count(*pair) for pair in pairs], dtype=torch.int64, device="cpu")
    size, values = (images.shape[-2], images.shape[-1]), images.float()
    total = values + values
    for index in range(1, max(counts.tolist(), default=1)):
        rows = (counts > index).nonzero()[:, 0]
        matrices = zoom_matrices((1 + index * step_factor.double()[rows]).tolist(), size)
        chosen = copied_to(images.device, rows)
        some = values if len(rows) == len(images) else values.index_select(0, chosen)
        on_device = copied_to(images.device, matrices)
        zoomed = warp_affine(some, on_device, size, border="replicate", inverse=True)
        total = total.add_(zoomed) if some is values else total.index_add_(0, chosen, zoomed)
    mean = total / copied_to(images.device, counts + 1).float().view(-1, 1, 1, 1)
    return mean.round().clamp(0, 255).byte() if images.dtype == torch.uint8 else mean.to(images.dtype)


@composite("glass_blur")
def _behind_glass(
    images: Tensor,
    sample_ids: Tensor,
    sigma: float,
    max_delta: int,
    iterations: int,
    **key: Any,
) -> Tensor:
    """Blur images, let each pixel read one nearby several times, and blur again."""
    (height, width), reach = images.shape[-2:], 3 if images.dtype == torch.uint8 else 4
    side, device = round(2 * reach * sigma + 1) | 1, images.device
    draws = philox_noise(sample_ids, 2 * iterations, (height, width), **key)
    shifts = (draws * (2 * max_delta + 1)).floor().long() - max_delta
    x, y = torch.arange(width, device=device), torch.arange(height, device=device)[:, None]
    values: Tensor = gaussian_blur(images, side, sigma)
    for index in range(iterations):
        columns = (x + shifts[:, 2 * index]).clamp(0, width - 1)
        rows = (y + shifts[:, 2 * index + 1]).clamp(0, height - 1)
        source = (rows * width + columns).flatten(1)[:, None].expand(-1, images.shape[1], -1)
        values = values.flatten(2).gather(2, source).view(images.shape)
    result: Tensor = gaussian_blur(values, side, sigma)
    return result


@dataclass(frozen=True)
class ZoomBlur(_RowTransform):
    """Average each image with its zooms, as a lens that zooms during the exposure does.

    The zooms are by 1, 1 + step, 1 + 2 step and so on, below a factor; the image itself counts once more.
    Each enlarges a region of whole pixels in the middle of the image.

    Args:
        max_factor: end of the zooms, from 1 to 100: one number, or a range.
        step_factor: difference between two zooms, from 0.001: one number, or a range.
        p: probability, from 0 to 1.

    Source:
        `ZoomBlur` of Albumentations, by slices and `cv2.resize` of floats, which does not read beyond a
        region: the outermost pixels may differ.

    Example:
        >>> ZoomBlur(1.5, 0.1, p=1.0)(torch.full((1, 20, 20), 9, dtype=torch.uint8)).unique().tolist()
        [9]
    """

    max_factor: float | Range = (1.0, 1.31)
    step_factor: float | Range = (0.01, 0.03)
    p: float = 0.5

    _checks = checks(max_factor=(1.0, 100.0), step_factor=(0.001, 100.0))

    _row = Row("zoom_blur", ("p", "max_factor", "step_factor"), why="averages zooms of the whole image")


@dataclass(frozen=True)
class GlassBlur(_RowTransform):
    """Let pixels read others nearby at random, between two Gaussian blurs, as frosted glass does.

    Args:
        sigma: of the blurs in pixels, at least 0.
        max_delta: how far away a pixel is read along x and y, in whole pixels, at least 1.
        iterations: how often, from 1 to 100.
        p: probability, from 0 to 1.
        per_frame: draw other positions for each frame of a clip; False: all frames get those of the first.

    Source:
        The glass blur of ImageNet-C (Hendrycks, Dietterich, 2019) and Albumentations, which exchange pixels
        instead, and not near the border; by `cv2.GaussianBlur`.

    Example:
        >>> image = torch.full((1, 12, 9), 7, dtype=torch.uint8)
        >>> GlassBlur(p=1.0)(image).unique().tolist()
        [7]
    """

    sigma: float = 0.7
    max_delta: int = 4
    iterations: int = 2
    p: float = 0.5
    per_frame: bool = field(default=True, kw_only=True)

    _checks = checks(sigma=(0.0, 100.0), max_delta=(1, 1000), iterations=(1, 100))

    _row = Row("glass_blur", ("p",), ("sigma", "max_delta", "iterations"), "draws positions per image")
