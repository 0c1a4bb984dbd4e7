"""`roi_align` compared with torchvision, or with `grid_sample` if torchvision cannot be imported."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import orbbec
from tests.support.timing.benchmark import Case, Contender, Work, torchvision
from tests.support.timing.roi_work import RoiShape, by_grid_sample, work


def forward(shape: RoiShape, device: str) -> Work:
    options: dict[str, Any] = {
        "output_size": shape.bins,
        "spatial_scale": shape.spatial_scale,
        "sampling_ratio": shape.sampling_ratio,
        "aligned": True,
    }

    def run(where: str) -> Callable[[], Any]:
        return partial(orbbec.roi_align, shape.features(where), shape.rois(where), **options)

    if torchvision is not None:
        theirs = partial(torchvision.ops.roi_align, shape.features(device), shape.rois(device), **options)
        return work(shape, device, [Contender("torchvision", theirs, exact=device == "cpu")], run)
    return work(shape, device, [by_grid_sample(shape, device)] if shape.sampling_ratio == 2 else [], run)


def backward(shape: RoiShape, device: str) -> Work:
    options = shape.spatial_scale, shape.sampling_ratio, True

    def run(where: str) -> Callable[[], Any]:
        arguments = shape.gradient(where), shape.rois(where), shape.input_size(), shape.channels_last
        return partial(torch.ops.orbbec.roi_align_backward, *arguments, *options)

    if torchvision is None:
        return work(shape, device, [], run)
    theirs = partial(
        torch.ops.torchvision._roi_align_backward,
        shape.gradient(device),
        shape.rois(device),
        shape.spatial_scale,
        shape.bins,
        shape.bins,
        *shape.input_size(),
        *options[1:],
    )
    return work(shape, device, [Contender("torchvision", theirs, exact=device == "cpu")], run)


def case(name: str, prepare: Callable[[RoiShape, str], Work], **shape: Any) -> Case:
    return Case(name, partial(prepare, RoiShape(**shape)))


FINE = {"count": 1, "height": 200, "width": 304, "spatial_scale": 1 / 4}
COARSE = "512 regions of [2, 256, 50, 68], 7x7"
CASES = [
    case(f"{COARSE}, 2 samples", forward),
    case(f"{COARSE}, 2 samples, backward", backward),
    case(f"{COARSE}, 2 samples, channels last", forward, channels_last=True),
    case(f"{COARSE}, 2 samples, channels last, backward", backward, channels_last=True),
    case(f"{COARSE}, adaptive", forward, sampling_ratio=0),
    case(f"{COARSE}, adaptive, backward", backward, sampling_ratio=0),
    case("20 regions of [1, 256, 200, 304], 7x7, 2 samples", forward, regions=20, **FINE),
    case("20 regions of [1, 256, 200, 304], 7x7, 2 samples, backward", backward, regions=20, **FINE),
    case("500 regions of [1, 256, 200, 304], 14x14, 2 samples", forward, regions=500, bins=14, **FINE),
]
