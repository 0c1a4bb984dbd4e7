"""Pipelines by name, to look at without writing one."""

from __future__ import annotations

from collections.abc import Callable

import torch

from orbbec.transforms import (
    ColorJitter,
    Compose,
    GaussianBlur,
    Letterbox,
    Mosaic,
    Normalize,
    RandomAffine,
    RandomApply,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomIoUCrop,
    RandomPhotometricDistort,
    RandomResizedCrop,
    RandomZoomOut,
    ResizeToFit,
    TargetOptions,
    ToDtype,
    Transform,
)

GRAY = 114.0  # the padding of YOLO


def preset(name: str) -> Compose:
    """A pipeline by name.

    | name | pipeline |
    | --- | --- |
    | imagenet | classification: crop to 224 and flip |
    | simclr | self-supervised views: also color jitter, grayscale and blur |
    | yolo | detection: mosaic of 640, scale and shift, flip, hue, saturation and brightness |
    | coco | detection: photometric distortion, zoom out, IoU crop, flip, letterbox to 640 |

    Raises:
        ValueError: there is no such preset.

    Example:
        >>> [type(step).__name__ for step in preset("imagenet").transforms][:2]
        ['RandomResizedCrop', 'RandomHorizontalFlip']
    """
    if name not in PRESETS:
        raise ValueError(f"preview: expected --preset as one of {', '.join(PRESETS)}, but got {name}")
    last = [ToDtype(torch.float32, scale=True), Normalize()]
    options = TargetOptions(min_size=2.0, min_visibility=0.1)
    return Compose([*PRESETS[name](), *last], target_options=options)


def _imagenet() -> list[Transform]:
    return [RandomResizedCrop(224), RandomHorizontalFlip()]


def _simclr() -> list[Transform]:
    return [
        RandomResizedCrop(224, scale=(0.2, 1.0)),
        RandomHorizontalFlip(),
        RandomApply([ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        RandomGrayscale(0.2),
        RandomApply([GaussianBlur(23, (0.1, 2.0))], p=0.5),
    ]


def _yolo() -> list[Transform]:
    return [
        ResizeToFit(640),
        Mosaic((640, 640), fill=GRAY),
        RandomAffine(0.0, (0.1, 0.1), (0.5, 1.5), interpolation="linear", fill=GRAY),
        RandomHorizontalFlip(),
        ColorJitter(brightness=0.4, saturation=0.7, hue=0.015),
    ]


def _coco() -> list[Transform]:
    return [
        RandomPhotometricDistort(),
        RandomZoomOut(fill=GRAY, side_range=(1.0, 2.0)),
        RandomIoUCrop(),
        RandomHorizontalFlip(),
        Letterbox(640, fill=GRAY),
    ]


PRESETS: dict[str, Callable[[], list[Transform]]] = {
    "imagenet": _imagenet,
    "simclr": _simclr,
    "yolo": _yolo,
    "coco": _coco,
}
