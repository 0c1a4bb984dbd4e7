"""The filters compared with OpenCV's, and gaussian_blur with torchvision's."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.filters import box_blur, filter2d, gaussian_blur, median_blur
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision

KERNEL = np.random.default_rng(0).normal(0, 0.3, (5, 5)).astype(np.float32)


def work(
    device: str, images: Tensor, ours: Callable[[Any], Any], by_cv2: Callable[[Array, int, Array], Any]
) -> Work:
    """`ours` on NCHW tensors, and on the CPU on NHWC arrays; `by_cv2(image, n, out)` on HWC arrays."""
    expected = as_array(ours(images))
    arrays = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
    contenders = []
    if device == "cpu" and cv2 is not None:
        exact = images.dtype == torch.uint8
        out = np.empty_like(arrays)

        def run() -> Array:
            share(by_cv2, arrays, range(len(arrays)), out)
            return out

        contenders.append(Contender("cv2, HWC arrays", run, exact))
    if device == "cpu":
        contenders.append(Contender("orbbec, NHWC array", lambda: ours(arrays)))
    placed = images.to(device)
    contenders.append(Contender("orbbec, NCHW tensor", lambda: ours(placed)))
    moved = 2 * images.numel() * images.element_size()
    return Work(contenders, expected, len(images), moved)


def gaussian(size: int, side: int, dtype: torch.dtype, device: str) -> Work:
    """Another sigma for each image."""
    images = photographs(8 if device == "cpu" else 64, 3, side, side, dtype)
    sigmas = torch.linspace(1, 8, len(images))
    placed_sigmas = sigmas.to(device)

    def ours(batch: Any) -> Any:
        here = isinstance(batch, Tensor) and batch.device.type == device
        return gaussian_blur(batch, size, placed_sigmas if here else sigmas)

    def by_cv2(image: Array, n: int, out: Array) -> None:
        cv2.GaussianBlur(image, (size, size), float(sigmas[n]), dst=out)

    found = work(device, images, ours, by_cv2)
    if torchvision is None:
        return found
    blur, batch = torchvision.transforms.v2.functional.gaussian_blur, images.to(device)

    def rival() -> Tensor:
        pairs = zip(batch, widths, strict=True)
        return torch.stack([blur(image, [size] * 2, [sigma] * 2) for image, sigma in pairs])

    widths = sigmas.tolist()
    contenders = [*found.contenders, Contender("torchvision v2, NCHW tensor", rival, exact=False)]
    return replace(found, contenders=contenders)


def plain(
    ours: Callable[[Any], Any], by_cv2: Callable[[Array, Array], Any], dtype: torch.dtype, device: str
) -> Work:
    images = photographs(8 if device == "cpu" else 64, 3, 512, 512, dtype)
    return work(device, images, ours, lambda image, _, out: by_cv2(image, out))


CASES = [
    Case("gaussian_blur uint8 512x512, size 23", partial(gaussian, 23, 512, torch.uint8)),
    Case("gaussian_blur uint8 224x224, size 23", partial(gaussian, 23, 224, torch.uint8)),
    Case("gaussian_blur uint8 512x512, size 5", partial(gaussian, 5, 512, torch.uint8)),
    Case("gaussian_blur float32 512x512, size 23", partial(gaussian, 23, 512, torch.float32)),
    Case(
        "box_blur uint8 512x512, size 5",
        partial(plain, lambda x: box_blur(x, 5), lambda x, out: cv2.blur(x, (5, 5), dst=out), torch.uint8),
    ),
    Case(
        "filter2d uint8 512x512, 5x5",
        partial(
            plain,
            lambda x: filter2d(x, KERNEL),
            lambda x, out: cv2.filter2D(x, -1, KERNEL, dst=out),
            torch.uint8,
        ),
    ),
    Case(
        "median_blur uint8 512x512, size 3",
        partial(
            plain, lambda x: median_blur(x, 3), lambda x, out: cv2.medianBlur(x, 3, dst=out), torch.uint8
        ),
    ),
    Case(
        "median_blur uint8 512x512, size 5",
        partial(
            plain, lambda x: median_blur(x, 5), lambda x, out: cv2.medianBlur(x, 5, dst=out), torch.uint8
        ),
    ),
]
