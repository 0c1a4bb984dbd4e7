"""Colours beside cv2 on images `[H, W, C]`, and beside torchvision's uint8 path where it is installed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import orbbec
from orbbec.testing import photograph
from orbbec.testing.benchmark import Case, Contender, Work, as_array, cv2, torchvision

SIZE = (512, 512)
IMAGES = 8


def prepare(ours: Callable[[Any], Any], by_cv2: Any, by_torchvision: Any, channels: int, device: str) -> Work:
    """A batch of uint8 photographs, an image a call for cv2."""
    arrays = [photograph(*SIZE, channels, seed=n) for n in range(IMAGES)]
    stacked = torch.from_numpy(np.stack(arrays))
    batch = stacked.permute(0, 3, 1, 2).to(device)
    planar = batch.contiguous()
    expected = as_array(ours(batch))
    contenders = []
    if cv2 is not None and by_cv2 is not None:
        contenders.append(
            Contender("cv2, an image a call", lambda: [by_cv2(array) for array in arrays], False)
        )
    if torchvision is not None and by_torchvision is not None:
        contenders.append(Contender("torchvision, NCHW tensor", lambda: by_torchvision(planar), False))
    contenders += [
        Contender("orbbec, channels_last tensor", lambda: ours(batch)),
        Contender("orbbec, NCHW tensor", lambda: ours(planar)),
    ]
    return Work(contenders, expected, IMAGES, stacked.numel() + expected.nbytes)


def cv2_color(code: str) -> Any:
    return None if cv2 is None else lambda image: cv2.cvtColor(image, getattr(cv2, f"COLOR_{code}"))


def torchvision_call(name: str, *arguments: float) -> Any:
    if torchvision is None:
        return None
    return lambda images: getattr(torchvision.transforms.v2.functional, name)(images, *arguments)


def case(name: str, ours: Any, by_cv2: Any = None, by_torchvision: Any = None, channels: int = 3) -> Case:
    return Case(name, partial(prepare, ours, by_cv2, by_torchvision, channels))


def converted(source: str, target: str) -> Case:
    return case(
        f"cvt_color {source} to {target}, uint8 512x512",
        lambda images: orbbec.cvt_color(images, source, target),
        cv2_color(f"{source}2{target}"),
    )


def adjusted(name: str, *arguments: float) -> Case:
    return case(
        f"{name}, uint8 512x512",
        lambda images: getattr(orbbec, name)(images, *arguments),
        None,
        torchvision_call(name, *arguments),
    )


CASES = [
    *(converted("RGB", space) for space in ("HSV", "GRAY", "HLS", "YCrCb", "LAB")),
    *(converted(space, "RGB") for space in ("HSV", "HLS", "YCrCb", "LAB")),
    case(
        "equalize_hist, uint8 512x512x1",
        orbbec.equalize_hist,
        None if cv2 is None else lambda image: cv2.equalizeHist(image)[..., None],
        channels=1,
    ),
    case(
        "clahe, uint8 512x512x1",
        lambda images: orbbec.clahe(images, 2.0),
        None if cv2 is None else lambda image: cv2.createCLAHE(2.0, (8, 8)).apply(image)[..., None],
        channels=1,
    ),
    *(adjusted(f"adjust_{name}", factor) for name, factor in (("hue", 0.1), ("saturation", 1.3))),
    *(adjusted(f"adjust_{name}", factor) for name, factor in (("brightness", 1.3), ("contrast", 1.3))),
    *(adjusted(f"adjust_{name}", factor) for name, factor in (("gamma", 1.3), ("sharpness", 1.7))),
    *(adjusted(name) for name in ("equalize", "autocontrast", "invert")),
    case("normalize, uint8 512x512x3 to float32 NCHW", orbbec.normalize),
]
