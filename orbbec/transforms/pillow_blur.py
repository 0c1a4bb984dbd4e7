"""Pillow's Gaussian blur, three box blurs along each axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import copied_to
from orbbec.bridge.spec import OpSpec, register
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.checks import Range, interval
from orbbec.transforms.base.transform import Transform

_PASSES, _UNIT = 3, 1 << 24


def box_radius(sigma: float) -> np.float32:
    """The radius of the boxes whose repeated blur has a standard deviation of `sigma`, in float32 as Pillow.

    Gwosdek et al., Theoretical foundations of Gaussian convolution by extended box filtering (2011), formulas
    7, 11 and 14.
    """
    one, variance = np.float32(1), np.float32(sigma) * np.float32(sigma) / np.float32(_PASSES)
    length = np.float32(np.sqrt(12.0 * float(variance) + 1.0))
    whole = np.float32(np.floor((float(length) - 1.0) / 2.0))
    numerator = (2 * whole + one) * (whole * (whole + one) - 3 * variance)
    return np.float32(whole + numerator / (6 * (variance - (whole + one) * (whole + one))))


def _box_blurred(values: Tensor, reach: int, whole: Tensor, part: Tensor) -> Tensor:
    """Average along the last axis, in units of 2^-24; the outermost pixels of a window count in part."""
    size = values.shape[-1]
    at = torch.arange(-reach - 1, size + reach + 1, device=values.device).clamp(0, size - 1)
    padded = values[..., at]
    sums = torch.nn.functional.pad(padded.cumsum(-1), (1, 0))
    inner = sums[..., 2 * reach + 2 : -1] - sums[..., 1 : -2 * reach - 2]
    outer = padded[..., :size] + padded[..., 2 * reach + 2 :]
    return (inner * whole + outer * part + _UNIT // 2) >> 24


def _blurred(images: Tensor, radius: Tensor) -> Tensor:
    """Blur each image by its radius; those whose boxes have as many whole pixels at once."""
    boxes = np.array([box_radius(sigma) for sigma in radius.tolist()], np.float32)
    reach, blurred = boxes.astype(np.int64), images.clone()
    whole = (np.float32(_UNIT) / (boxes * np.float32(2) + np.float32(1))).astype(np.int64)
    weights = np.stack([whole, (_UNIT - (2 * reach + 1) * whole) // 2])
    for pixels in np.unique(reach).tolist():
        rows = np.flatnonzero(reach == pixels)
        there = copied_to(images.device, torch.from_numpy(rows))
        factors = copied_to(images.device, torch.from_numpy(weights[:, rows, None, None, None]))
        values = images[there].long()
        for _ in range(2):  # along the rows, then along the columns
            for _ in range(_PASSES):
                values = _box_blurred(values, pixels, *factors)
            values = values.transpose(-1, -2)
        blurred[there] = values.to(images.dtype)
    return blurred


register(
    OpSpec(
        call=_blurred,
        name="pillow_blur",
        dtypes=("uint8",),
        host_columns=("radius",),
        takes_ragged=False,
        capturable=False,
    )
)


@dataclass(frozen=True)
class PillowBlur(Transform):
    """Blur each image as Pillow's `GaussianBlur` does; uint8 only.

    Args:
        radius_range: a range of standard deviations in pixels, from 0 to 1000.
        p: probability, from 0 to 1.

    Source:
        `PIL.ImageFilter.GaussianBlur`, as DeiT III's 3-Augment blurs.

    Example:
        >>> image = torch.tensor([[[0, 0, 255, 0, 0]]], dtype=torch.uint8)
        >>> PillowBlur((1.0, 1.0), p=1.0)(image).tolist()
        [[[15, 60, 103, 60, 15]]]
    """

    radius_range: Range = (0.1, 2.0)
    p: float = 0.1

    def __post_init__(self) -> None:
        self._set(radius_range=interval(self.name, "radius_range", self.radius_range, 0.0, 1000.0))
        self._check("p")

    def rules(self, build: Build) -> None:
        columns = {"radius": Column("registers", build.uniform(*self.radius_range))}
        build.operator(OperatorStep("pillow_blur", columns, drawn=build.chance(self.p)))
