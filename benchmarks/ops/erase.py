"""`erase` compared with torchvision's, and with a copy and slices in torch and NumPy."""

from functools import partial
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.mix.erase import erase
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, share, torchvision


def prepare(dtype: torch.dtype, noise: str | None, device: str) -> Work:
    """A rectangle of 2 to 33 % of each image of 224 x 224."""
    count = 64 if device == "cpu" else 256
    images, draw = photographs(count, 3, 224, 224, dtype), np.random.default_rng(0)
    sides = (
        np.sqrt(draw.uniform(0.02, 0.33, count))[:, None] * 224 * np.exp(draw.uniform(-0.3, 0.3, (count, 1)))
    )
    sides = np.concatenate([sides, sides[::-1]], 1).astype(int).clip(1, 224)
    corners = (draw.random((count, 2)) * (224 - sides)).astype(int)
    boxes = torch.from_numpy(np.concatenate([corners, corners + sides], 1))
    rows, placed, on_device = boxes.tolist(), images.to(device), boxes.to(device)
    expected = as_array(erase(images, boxes, 114, noise=noise))

    def by_slices() -> Tensor:
        copy = kept.copy_(placed)
        for image, (left, top, right, bottom) in zip(copy, rows, strict=True):
            part = image[:, top:bottom, left:right]
            if noise is None:
                part.fill_(114)
            elif dtype == torch.uint8:
                part.random_(0, 256)
            else:
                part.normal_()
        return copy

    def by_torchvision() -> Tensor:
        value = torch.full((1, 1, 1), 114)
        return torch.stack(
            [
                functional.erase(image, top, left, bottom - top, right - left, value)
                for image, (left, top, right, bottom) in zip(placed, rows, strict=True)
            ]
        )

    def copy_and_erase(image: Array, row: list[int], out: Array) -> None:
        left, top, right, bottom = row
        np.copyto(out, image)
        out[top:bottom, left:right] = 114

    def by_numpy() -> Array:
        share(copy_and_erase, arrays, rows, copies)
        return copies

    kept = torch.empty_like(placed)
    contenders = [Contender("torch, copy and slices", by_slices, exact=noise is None)]
    if noise is None and torchvision is not None:
        functional = import_module("torchvision.transforms.v2.functional")
        contenders.append(Contender("torchvision v2, a loop", by_torchvision))
    if noise is None and device == "cpu":
        arrays = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
        copies = np.empty_like(arrays)
        contenders.append(Contender("NumPy, copy and slices, NHWC", by_numpy))
        contenders.append(Contender("orbbec, NHWC array", lambda: erase(arrays, boxes, 114)))
    contenders.append(Contender("orbbec, NCHW tensor", lambda: erase(placed, on_device, 114, noise=noise)))
    return Work(contenders, expected, count, 2 * images.numel() * images.element_size())


CASES = [
    Case("uint8 224x224, a value", partial(prepare, torch.uint8, None)),
    Case("float32 224x224, a value", partial(prepare, torch.float32, None)),
    Case("uint8 224x224, uniform noise", partial(prepare, torch.uint8, "uniform")),
    Case("float32 224x224, normal noise", partial(prepare, torch.float32, "normal")),
]
