"""torchvision's pipelines for ImageNet, timed with and without the switch."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from orbbec.backends.torchvision import convert, image_backend
from tests.support.peers.switches import LARGE, as_kind, seconds
from tests.support.samples import photograph

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Times:
    """CPU microseconds per image, and whether the switch changed the result.

    Args:
        name: name of the pipeline.
        torchvision: time without the switch.
        exact: time with the switch.
        close: time with `exact=False`.
        fused: time of the result of `convert`.
        identical: whether the results with and without the switch have the same bits.
    """

    name: str
    torchvision: float
    exact: float
    close: float
    fused: float
    identical: bool


def pipelines() -> dict[str, tuple[Any, Any]]:
    """Pipelines and their input images."""
    v1 = importlib.import_module("torchvision.transforms")
    v2 = importlib.import_module("torchvision.transforms.v2")
    pixels = photograph(*LARGE)
    pillow, tensor = as_kind(pixels, "PIL"), as_kind(pixels, "uint8")
    to_floats = [v1.ToTensor(), v1.Normalize(_MEAN, _STD)]
    normalized = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(_MEAN, _STD)]
    jitter = (0.4, 0.4, 0.4, 0.1)
    return {
        "v1, PIL, train": (
            v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), *to_floats]),
            pillow,
        ),
        "v1, PIL, eval": (v1.Compose([v1.Resize(256), v1.CenterCrop(224), *to_floats]), pillow),
        "v2, tensors, train": (
            v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *normalized]),
            tensor,
        ),
        "v2, tensors, eval": (v2.Compose([v2.Resize(256), v2.CenterCrop(224), *normalized]), tensor),
        "v2, tensors, train with ColorJitter": (
            v2.Compose(
                [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ColorJitter(*jitter), *normalized]
            ),
            tensor,
        ),
    }


def timed() -> list[Times]:
    """All pipelines, on one thread."""
    return [_timed(name, pipeline, image) for name, (pipeline, image) in pipelines().items()]


def _timed(name: str, pipeline: Callable[[Any], Any], image: Any) -> Times:
    fused = convert(pipeline)
    settings = [("pil", True), ("orbbec", True), ("orbbec", False)]

    def run() -> list[Any]:
        torch.manual_seed(0)
        return [pipeline(image) for _ in range(_IMAGES)]

    def run_fused() -> list[Any]:
        return [fused(image, [n]) for n in range(_IMAGES)]

    def with_backend(backend: str, exact: bool, work: Callable[[], Any]) -> Any:
        with image_backend(backend, exact=exact):
            return work()

    before, after = (with_backend(*setting, run) for setting in settings[:2])
    times = [
        [*(with_backend(*setting, lambda: seconds(run)) for setting in settings), seconds(run_fused)]
        for _ in range(_ROUNDS)
    ]
    medians = [statistics.median(of_run) for of_run in zip(*times, strict=True)]
    theirs, exact, close, ours = (round(1e6 * each / _IMAGES, 1) for each in medians)
    return Times(name, theirs, exact, close, ours, all(map(torch.equal, before, after)))


_IMAGES = 8  # the same draws for all
_ROUNDS = 61
