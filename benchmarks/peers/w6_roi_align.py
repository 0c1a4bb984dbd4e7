"""W6: roi_align of 512 regions of [2, 256, 50, 68] to 7x7 bins with 2 samples, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

import orbbec
from benchmarks.peers.contest import BOTH, Rival, Workload
from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import as_array
from tests.support.timing.roi_work import RoiShape, by_grid_sample


@dataclass(frozen=True)
class Scene:
    """Features, regions, and the gradient of the output."""

    backward: bool
    device: str
    shape: RoiShape = field(default_factory=RoiShape)

    @property
    def images(self) -> int:
        return self.shape.regions

    @cached_property
    def expected(self) -> Array:
        return np.asarray(as_array(by_orbbec(replace(self, device="cpu"))()))

    def arguments(self, **kind: Any) -> tuple[Any, ...]:
        """The forward or the backward pass, which both libraries call in the same way."""
        shape, where = replace(self.shape, **kind), self.device
        sampling = (shape.spatial_scale, shape.sampling_ratio, True)
        return shape.gradient(where) if self.backward else shape.features(where), shape.rois(where), sampling


def by_orbbec(scene: Scene, **kind: Any) -> Callable[[], Any]:
    features, rois, (scale, ratio, aligned) = scene.arguments(**kind)
    shape = scene.shape
    if scene.backward:
        run = torch.ops.orbbec.roi_align_backward
        last = bool(kind.get("channels_last"))
        return partial(run, features, rois, shape.input_size(), last, scale, ratio, aligned)
    return partial(orbbec.roi_align, features, rois, shape.bins, scale, ratio, aligned)


def by_torchvision(scene: Scene) -> Callable[[], Any]:
    from torchvision import ops

    features, rois, (scale, ratio, aligned) = scene.arguments()
    shape = scene.shape
    if scene.backward:
        run = torch.ops.torchvision._roi_align_backward
        return partial(
            run, features, rois, scale, shape.bins, shape.bins, *shape.input_size(), ratio, aligned
        )
    return partial(ops.roi_align, features, rois, shape.bins, scale, ratio, aligned)


OURS = [
    Rival("orbbec", "orbbec", by_orbbec, devices=BOTH),
    Rival("orbbec, channels_last", "orbbec", partial(by_orbbec, channels_last=True), devices=BOTH),
    Rival("orbbec, float16", "orbbec", partial(by_orbbec, dtype=torch.float16), 50, BOTH),
]
TORCHVISION = Rival("torchvision", "torchvision", by_torchvision, 100, BOTH)
GRID = Rival(
    "torch grid_sample", "torch", lambda scene: by_grid_sample(scene.shape, scene.device).run, 20, BOTH
)
WORKLOADS = [
    Workload("W6 roi_align, forward", partial(Scene, False), [*OURS, TORCHVISION, GRID], unit="per region"),
    Workload("W6 roi_align, backward", partial(Scene, True), [*OURS, TORCHVISION], unit="per region"),
]
