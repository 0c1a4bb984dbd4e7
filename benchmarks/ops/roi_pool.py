"""`roi_pool` compared with torchvision, if it can be imported."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import orbbec
from tests.support.timing.benchmark import Case, Contender, Work, torchvision
from tests.support.timing.roi_work import RoiShape, work


def forward(shape: RoiShape, device: str) -> Work:
    def run(where: str) -> Callable[[], Any]:
        return partial(
            orbbec.roi_pool, shape.features(where), shape.rois(where), shape.bins, shape.spatial_scale
        )

    if torchvision is None:
        return work(shape, device, [], run)
    theirs = partial(
        torchvision.ops.roi_pool,
        shape.features(device),
        shape.rois(device),
        shape.bins,
        shape.spatial_scale,
    )
    return work(shape, device, [Contender("torchvision", theirs)], run)


def backward(shape: RoiShape, device: str) -> Work:
    def run(where: str) -> Callable[[], Any]:
        rois = shape.rois(where)
        _, argmax = torch.ops.orbbec.roi_pool(
            shape.features(where), rois, [shape.bins] * 2, shape.spatial_scale
        )
        arguments = shape.gradient(where), argmax, rois, shape.input_size(), False, shape.spatial_scale
        return partial(torch.ops.orbbec.roi_pool_backward, *arguments)

    if torchvision is None:
        return work(shape, device, [], run)
    rois, size = shape.rois(device), (shape.bins, shape.bins)
    _, argmax = torch.ops.torchvision.roi_pool(shape.features(device), rois, shape.spatial_scale, *size)
    theirs = partial(
        torch.ops.torchvision._roi_pool_backward,
        shape.gradient(device),
        rois,
        argmax,
        shape.spatial_scale,
        *size,
        *shape.input_size(),
    )
    return work(shape, device, [Contender("torchvision", theirs, exact=device == "cpu")], run)


CASES = [
    Case("512 regions of [2, 256, 50, 68], 7x7", partial(forward, RoiShape())),
    Case("512 regions of [2, 256, 50, 68], 7x7, backward", partial(backward, RoiShape())),
]
