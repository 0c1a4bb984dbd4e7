"""Color operators compared with handwritten cv2, and with torchvision's uint8 path if it is installed."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec.bridge.arguments import Array
from tests.support import photograph
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision
from tests.support.timing.by_hand import (
    Finish,
    buffer,
    by_table,
    gray,
    gray_mean,
    hue_shifted,
    in_place,
    planes_of,
)

SIZE = (512, 512)
IMAGES = 8


ByHand = Callable[[Array, Array], Any]  # for an image [H, W, C], into its output


def prepare(
    ours: Callable[[Any], Any], by_hand: ByHand | None, by_torchvision: Any, channels: int, device: str
) -> Work:
    """A batch of uint8 photographs; handwritten code takes one image per call."""
    arrays = [photograph(*SIZE, channels, seed=n) for n in range(IMAGES)]
    stacked = torch.from_numpy(np.stack(arrays))
    batch = stacked.permute(0, 3, 1, 2).to(device)
    planar = batch.contiguous()
    expected = as_array(ours(batch))
    contenders = []
    if cv2 is not None and by_hand is not None and device == "cpu":
        out = np.empty(expected.shape, expected.dtype)

        def run() -> Array:
            share(by_hand, arrays, out)
            return out

        contenders.append(Contender("cv2 by hand", run, exact=False))
    if torchvision is not None and by_torchvision is not None:
        contenders.append(Contender("torchvision, NCHW tensor", lambda: by_torchvision(planar), False))
    contenders += [
        Contender("orbbec, channels_last tensor", lambda: ours(batch)),
        Contender("orbbec, NCHW tensor", lambda: ours(planar)),
    ]
    return Work(contenders, expected, IMAGES, stacked.numel() + expected.nbytes)


def torchvision_call(name: str, *arguments: float) -> Any:
    if torchvision is None:
        return None
    return lambda images: getattr(torchvision.transforms.v2.functional, name)(images, *arguments)


def case(
    name: str, ours: Any, by_hand: ByHand | None = None, by_torchvision: Any = None, channels: int = 3
) -> Case:
    return Case(name, partial(prepare, ours, by_hand, by_torchvision, channels))


def converted(source: str, target: str) -> Case:
    def by_hand(image: Array, out: Array) -> None:
        cv2.cvtColor(image, getattr(cv2, f"COLOR_{source}2{target}"), dst=out)

    ours = partial(orbbec.cvt_color, source=source, target=target)
    return case(f"cvt_color {source} to {target}, uint8 512x512", ours, by_hand)


def table_of(levels: Array) -> Array:
    return np.clip(levels, 0, 255).astype(np.uint8)


def looked_up(levels: Array) -> ByHand:
    table = table_of(levels)
    return lambda image, out: cv2.LUT(image, table, dst=out)


def contrasted(factor: float, image: Array, out: Array) -> None:
    cv2.LUT(image, table_of(LEVELS * factor + gray_mean(image) * (1 - factor)), dst=out)


def saturated(factor: float, image: Array, out: Array) -> None:
    cv2.addWeighted(image, factor, gray(image), 1 - factor, 0, dst=out)


def sharpened(factor: float, image: Array, out: Array) -> None:
    """The outermost pixels are unchanged."""
    smooth = cv2.filter2D(image, -1, SMOOTH, dst=buffer("smooth", image.shape))
    cv2.addWeighted(image, factor, smooth, 1 - factor, 0, dst=out)
    for rows in (0, -1):
        out[rows], out[:, rows] = image[rows], image[:, rows]


def stretched(image: Array, out: Array) -> None:
    tables = []
    for plane in planes_of(image):
        low, high, *_ = cv2.minMaxLoc(plane)
        tables.append(table_of((LEVELS - low) * (255 / (high - low) if high > low else 1)))
    cv2.LUT(image, np.stack(tables, 1)[None], dst=out)


def equalized(image: Array, out: Array) -> None:
    cv2.merge([cv2.equalizeHist(plane) for plane in planes_of(image)], dst=out)


def by_clahe(image: Array, out: Array) -> None:
    """One object per thread, because it has internal buffers."""
    if not hasattr(OBJECTS, "clahe"):
        OBJECTS.clahe = cv2.createCLAHE(2.0, (8, 8))
    OBJECTS.clahe.apply(image, dst=out)


def prepare_normalize(device: str) -> Work:
    work = prepare(orbbec.normalize, None, None, 3, device)
    if cv2 is None or device != "cpu":
        return work
    arrays = [photograph(*SIZE, seed=n) for n in range(IMAGES)]
    out = np.empty((IMAGES, 3, *SIZE), np.float32)

    def by_hand(finish: Finish) -> Callable[[], Tensor]:
        def run() -> Tensor:
            share(finish, arrays, out)
            return torch.from_numpy(out)

        return run

    ways = {"cv2 and NumPy in place": in_place, "cv2 and its table": by_table}
    rivals = [Contender(name, by_hand(finish), False, least_psnr=100) for name, finish in ways.items()]
    return replace(work, contenders=[*rivals, *work.contenders])


def adjusted(name: str, by_hand: ByHand, *arguments: float) -> Case:
    ours = lambda images: getattr(orbbec, name)(images, *arguments)  # noqa: E731
    return case(f"{name}, uint8 512x512", ours, by_hand, torchvision_call(name, *arguments))


LEVELS = np.arange(256)
SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13
OBJECTS = threading.local()
CASES = [
    *(converted("RGB", space) for space in ("HSV", "GRAY", "HLS", "YCrCb", "LAB")),
    *(converted(space, "RGB") for space in ("HSV", "HLS", "YCrCb", "LAB")),
    case(
        "equalize_hist, uint8 512x512x1",
        orbbec.equalize_hist,
        lambda image, out: cv2.equalizeHist(image, dst=out),
        channels=1,
    ),
    case(
        "clahe, uint8 512x512x1",
        lambda images: orbbec.clahe(images, 2.0),
        by_clahe,
        channels=1,
    ),
    adjusted("adjust_hue", lambda image, out: np.copyto(out, hue_shifted(image, 0.1)), 0.1),
    adjusted("adjust_saturation", partial(saturated, 1.3), 1.3),
    adjusted("adjust_brightness", looked_up(LEVELS * 1.3), 1.3),
    adjusted("adjust_contrast", partial(contrasted, 1.3), 1.3),
    adjusted("adjust_gamma", looked_up(255 * (LEVELS / 255) ** 1.3), 1.3),
    adjusted("adjust_sharpness", partial(sharpened, 1.7), 1.7),
    adjusted("equalize", equalized),
    adjusted("autocontrast", stretched),
    adjusted("invert", lambda image, out: cv2.bitwise_not(image, dst=out)),
    Case("normalize, uint8 512x512x3 to float32 NCHW", prepare_normalize),
]
