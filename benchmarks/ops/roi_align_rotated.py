"""`roi_align_rotated` compared with `roi_align` of the same upright regions: the cost of rotation."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import orbbec
from tests.support.timing.benchmark import Case, Contender, Work
from tests.support.timing.roi_work import RoiShape, work


def rotated(rois: torch.Tensor) -> torch.Tensor:
    """Convert regions given by corners to centers, sides and degrees."""
    index, x1, y1, x2, y2 = rois.unbind(1)
    degrees = torch.arange(len(rois), device=rois.device, dtype=rois.dtype) * 37 % 360
    return torch.stack([index, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, degrees], dim=1)


def forward(shape: RoiShape, device: str) -> Work:
    options = shape.bins, shape.spatial_scale, shape.sampling_ratio, True

    def run(where: str) -> Callable[[], Any]:
        return partial(orbbec.roi_align_rotated, shape.features(where), rotated(shape.rois(where)), *options)

    upright = partial(orbbec.roi_align, shape.features(device), shape.rois(device), *options)
    return work(shape, device, [Contender("orbbec roi_align", upright, exact=False)], run)


def backward(shape: RoiShape, device: str) -> Work:
    rest = shape.input_size(), False, shape.spatial_scale, shape.sampling_ratio, True

    def run(where: str) -> Callable[[], Any]:
        arguments = shape.gradient(where), rotated(shape.rois(where)), *rest
        return partial(torch.ops.orbbec.roi_align_rotated_backward, *arguments)

    upright = partial(torch.ops.orbbec.roi_align_backward, shape.gradient(device), shape.rois(device), *rest)
    return work(shape, device, [Contender("orbbec roi_align", upright, exact=False)], run)


CASES = [
    Case("512 regions of [2, 256, 50, 68], 7x7, 2 samples", partial(forward, RoiShape())),
    Case("512 regions of [2, 256, 50, 68], 7x7, 2 samples, backward", partial(backward, RoiShape())),
]
