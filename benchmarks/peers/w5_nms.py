"""W5: non-maximum suppression of random boxes at an overlap of 0.5; the last case has 80 classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from benchmarks.ops.nms import CLASSES, THRESHOLD
from benchmarks.ops.nms import by_cv2 as cv2_runner
from benchmarks.peers.contest import BOTH, Rival, Workload
from orbbec.bridge.arguments import Array
from tests.support.boxes import random_boxes


@dataclass(frozen=True)
class Scene:
    """Boxes, scores and, if there are classes, the class of each box."""

    count: int
    classes: int
    device: str
    images: int = 1

    @cached_property
    def boxes(self) -> tuple[Tensor, ...]:
        """Boxes and scores, and the classes if there are any, on the device."""
        generator = torch.Generator().manual_seed(1)
        groups = torch.randint(0, self.classes or 1, (self.count,), generator=generator)
        inputs = [*random_boxes(self.count), *([groups] if self.classes else [])]
        return tuple(values.to(self.device) for values in inputs)

    @cached_property
    def expected(self) -> Array:
        boxes = [values.cpu() for values in self.boxes]
        return np.asarray((orbbec.batched_nms if self.classes else orbbec.nms)(*boxes, THRESHOLD))


def by_orbbec(scene: Scene) -> Callable[[], Any]:
    return partial(orbbec.batched_nms if scene.classes else orbbec.nms, *scene.boxes, THRESHOLD)


def by_orbbec_padded(scene: Scene) -> Callable[[], Any]:
    kept = len(scene.expected)
    return lambda: orbbec.nms(*scene.boxes, THRESHOLD, max_output=scene.count)[0][:kept]


def by_torchvision(scene: Scene) -> Callable[[], Any]:
    from torchvision import ops

    return partial(ops.batched_nms if scene.classes else ops.nms, *scene.boxes, THRESHOLD)


def by_cv2(scene: Scene) -> Callable[[], Any]:
    """It needs 32-bit indices."""
    run = cv2_runner(*scene.boxes)
    return lambda: run().astype(np.int64)


def by_numpy(scene: Scene) -> Callable[[], Any]:
    """The loop that detection code has copied since Fast R-CNN."""
    boxes, scores = (values.numpy() for values in scene.boxes)

    def run() -> Array:
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        order, kept = np.argsort(-scores, kind="stable"), []
        while len(order):
            best, order = order[0], order[1:]
            kept.append(best)
            first = np.maximum(boxes[best, :2], boxes[order, :2])
            sides = np.maximum(np.minimum(boxes[best, 2:], boxes[order, 2:]) - first, 0)
            shared = sides[:, 0] * sides[:, 1]
            order = order[shared <= np.float32(THRESHOLD) * (area[best] + area[order] - shared)]
        return np.array(kept)

    return run


PLAIN = [
    Rival("orbbec", "orbbec", by_orbbec, devices=BOTH),
    Rival("orbbec, max_output", "orbbec", by_orbbec_padded, devices=BOTH),
    Rival("torchvision", "torchvision", by_torchvision, devices=BOTH),
    Rival("cv2.dnn", "cv2", by_cv2),
]
NUMPY = Rival("NumPy", "numpy", by_numpy)
# Boxes of equal score come in another order: 42 dB between indices.
GROUPED = [PLAIN[0], replace(PLAIN[2], least_psnr=35)]


def workload(count: int, contenders: list[Rival], classes: int = 0) -> Workload:
    title = f"W5 nms, {count:,} boxes" + (f", {classes} classes" if classes else "")
    return Workload(title, partial(Scene, count, classes), contenders, unit="per call")


WORKLOADS = [
    workload(1000, [*PLAIN, NUMPY]),
    workload(5000, PLAIN),
    workload(20000, PLAIN),
    workload(20000, GROUPED, CLASSES),
]
