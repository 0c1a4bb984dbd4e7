"""Random feature maps and regions of interest, identical on every machine and with every version of NumPy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.device import Device


def uniform(count: int, seed: int) -> Array:
    """Numbers from 0 to below 1: 24 bits of a counter hashed by 64-bit multiplications.

    Example:
        >>> uniform(3, seed=0).round(3).tolist()
        [0.0, 0.789, 0.423]
    """
    value = np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):
        value = value * np.uint64(factor)
        value ^= value >> np.uint64(29)
    return np.asarray((value >> np.uint64(40)).astype(np.float64) / 2.0**24)


@dataclass(frozen=True)
class RoiCase:
    """A call of `roi_align` or `roi_pool`, and a gradient for its result."""

    input: Tensor
    rois: Tensor
    size: tuple[int, int]
    spatial_scale: float
    sampling_ratio: int
    aligned: bool
    gradient: Tensor

    def on(self, device: Device) -> "RoiCase":
        """The same on `device`."""
        put = device.put
        return replace(self, input=put(self.input), rois=put(self.rois), gradient=put(self.gradient))

    def channels_last(self) -> "RoiCase":
        last = torch.channels_last
        return replace(
            self,
            input=self.input.contiguous(memory_format=last),
            gradient=self.gradient.contiguous(memory_format=last),
        )

    def to(self, dtype: torch.dtype) -> "RoiCase":
        return replace(
            self, input=self.input.to(dtype), rois=self.rois.to(dtype), gradient=self.gradient.to(dtype)
        )

    def align_options(self) -> dict[str, Any]:
        return {
            "output_size": self.size,
            "spatial_scale": self.spatial_scale,
            "sampling_ratio": self.sampling_ratio,
            "aligned": self.aligned,
        }

    def pool_options(self) -> dict[str, Any]:
        return {"output_size": self.size, "spatial_scale": self.spatial_scale}


def roi_case(seed: int, dtype: torch.dtype = torch.float32, channels: int | None = None) -> RoiCase:
    """A call with odd sizes; regions are inside, across and outside the feature map, and some are reversed.

    Args:
        seed: seed of the call.
        dtype: dtype of all tensors.
        channels: number of channels; None: 1 to 5, or up to 140 for every fourth seed.

    Example:
        >>> roi_case(3).input.shape
        torch.Size([1, 114, 6, 4])
    """
    draw = uniform(12, 1000 + seed)

    def whole(index: int, low: int, high: int) -> int:
        return low + int(draw[index] * (high - low + 1))

    wide = seed % 4 == 3
    count, height, width = whole(0, 1, 3), whole(1, 1, 12), whole(2, 1, 14)
    channels = channels or whole(3, 60 if wide else 1, 140 if wide else 5)
    regions, size = whole(4, 1, 6), (whole(5, 1, 4), whole(6, 1, 5))
    scale = (1.0, 0.5, 1 / 16, 0.37)[whole(7, 0, 3)]
    sampling_ratio = seed % 4 if seed % 8 < 4 else (2, 0, 3, 1)[seed % 4]
    side = np.array([width, height, width, height])
    boxes = uniform(4 * regions, 2000 + seed).reshape(regions, 4) * 1.4 * side - 0.2 * side
    if seed % 5 or sampling_ratio == 0:
        boxes = np.concatenate(
            [np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1
        )
    images = np.floor(uniform(regions, 3000 + seed) * count)
    values = 8 * uniform(count * channels * height * width, 4000 + seed) - 4
    gradient = 2 * uniform(regions * channels * size[0] * size[1], 5000 + seed) - 1
    return RoiCase(
        torch.from_numpy(values).to(dtype).reshape(count, channels, height, width),
        torch.from_numpy(np.concatenate([images[:, None], boxes / scale], 1)).to(dtype),
        size,
        scale,
        sampling_ratio,
        bool(whole(8, 0, 1)),
        torch.from_numpy(gradient).to(dtype).reshape(regions, channels, *size),
    )


def rotated_case(seed: int, dtype: torch.dtype = torch.float32, channels: int | None = None) -> RoiCase:
    """Like `roi_case`, with regions given by center, sides and degrees.

    Example:
        >>> rotated_case(3).rois.shape[1]
        6
    """
    case = roi_case(seed, torch.float64, channels)
    image, x1, y1, x2, y2 = case.rois.unbind(1)
    degrees = torch.from_numpy(uniform(len(image), 6000 + seed)) * 800 - 400
    if seed % 3 == 0:
        degrees = (degrees / 90).round() * 90
    rois = torch.stack([image, (x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1).abs(), (y2 - y1).abs(), degrees], 1)
    return replace(case, rois=rois).to(dtype)


def run_case(op: str, case: RoiCase) -> tuple[Tensor, Tensor]:
    """The result of an operator for a case, and the gradient of the input."""
    features = case.input.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    options = case.pool_options() if op == "roi_pool" else case.align_options()
    output = getattr(orbbec, op)(features, case.rois, **options)
    (gradient,) = torch.autograd.grad(output, features, case.gradient)
    return output.detach(), gradient


CASES = {"roi_align": roi_case, "roi_align_rotated": rotated_case, "roi_pool": roi_case}
