"""`ycbcr_to_rgb` compared with handwritten cv2 and torch; on CUDA also the copies that it saves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from orbbec.batch import YCbCrBatch
from orbbec.bridge.arguments import Array
from orbbec.color.ycbcr import ycbcr_to_rgb
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share
from tests.support.timing.by_hand import buffer

IMAGES, SIZE = 16, (384, 512)  # RGB fills whole cache lines, so that a batch is also one array
HALVED = {"420": (2, 2), "422": (1, 2), "440": (2, 1), "444": (1, 1)}
TO_RGB = torch.tensor([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]])  # T.871


def planes_of(sampling: str) -> tuple[YCbCrBatch, list[Tensor]]:
    """A batch, and its planes, each `[N, 1, H, W]`."""
    y_factor, x_factor = HALVED[sampling]
    luma = photographs(IMAGES, 1, *SIZE)
    small = (SIZE[0] // y_factor, SIZE[1] // x_factor)
    planes = [luma, *(photographs(IMAGES, 1, *small, seed=seed) for seed in (1, 2))]
    batch = YCbCrBatch.of_sizes([SIZE] * IMAGES, [sampling] * IMAGES)
    for n in range(IMAGES):
        for target, plane in zip(batch.planes(n), planes, strict=True):
            target.copy_(plane[n, 0])
    return batch, planes


def by_torch(planes: list[Tensor], to_rgb: Tensor) -> Tensor:
    luma, *chroma = [plane.float() for plane in planes]
    cb, cr = (interpolate(plane, luma.shape[-2:], mode="bilinear") - 128 for plane in chroma)
    colors = torch.einsum("rc,nchw->nrhw", to_rgb, torch.cat([luma, cb, cr], 1))
    return colors.round_().clamp_(0, 255).to(torch.uint8)


def by_cv2(planes: list[Tensor]) -> Callable[[], Array]:
    """Bytes throughout; cv2's order is Cr, Cb."""
    out = np.empty((IMAGES, *SIZE, 3), np.uint8)
    luma, cb, cr = (plane.numpy()[:, 0] for plane in planes)

    def convert(y: Array, cb: Array, cr: Array, rgb: Array) -> None:
        large = [
            cv2.resize(chroma, SIZE[::-1], dst=buffer(name, SIZE))
            for name, chroma in (("cr", cr), ("cb", cb))
        ]
        merged = cv2.merge((y, *large), dst=buffer("merged", (*SIZE, 3)))
        cv2.cvtColor(merged, cv2.COLOR_YCrCb2RGB, dst=rgb)

    def run() -> Array:
        share(convert, luma, cb, cr, out)
        return out

    return run


def prepare(sampling: str, device: str) -> Work:
    host, planes = planes_of(sampling)

    def whole(images: Any) -> Tensor:
        shown: Tensor = images.buffer.view(IMAGES, *SIZE, 3).permute(0, 3, 1, 2)
        return shown

    rgb = ycbcr_to_rgb(host)
    batch, moved, to_rgb = host.to(device), [plane.to(device) for plane in planes], TO_RGB.to(device)
    contenders = [
        Contender("torch", lambda: by_torch(moved, to_rgb), exact=False, least_psnr=40),
        Contender("orbbec", lambda: whole(ycbcr_to_rgb(batch))),
    ]
    if device == "cpu" and cv2 is not None:
        contenders.insert(0, Contender("cv2 by hand", by_cv2(planes), exact=False, least_psnr=40))
    if device == "cuda":
        pinned, pinned_rgb = host.pin_memory(), rgb.pin_memory()
        contenders += [
            Contender("RGB, copied", lambda: whole(pinned_rgb.to(device, non_blocking=True))),
            Contender(
                "planes, copied; orbbec", lambda: whole(ycbcr_to_rgb(pinned.to(device, non_blocking=True)))
            ),
        ]
    return Work(contenders, as_array(whole(rgb)), IMAGES, host.plane_bytes + rgb.pixel_bytes)


CASES = [
    Case(f"planes of 4:{sampling[1]}:{sampling[2]}, 384x512", partial(prepare, sampling))
    for sampling in HALVED
]
