"""`gaussian_noise`, which is the same on every device and in every batch, compared with noise that is not."""

from functools import partial
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.noise import gaussian_noise
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision
from tests.support.timing.by_hand import buffer


def prepare(dtype: torch.dtype, device: str) -> Work:
    """Noise of sigma 0.1 on images of 224 x 224."""
    count = 16 if device == "cpu" else 256
    images = photographs(count, 3, 224, 224, dtype)
    images = images if dtype == torch.uint8 else images / 200 + 0.5
    placed, max_value = images.to(device), 255 if dtype == torch.uint8 else 1
    expected = as_array(gaussian_noise(images))

    contenders = []
    if torchvision is not None:
        functional = import_module("torchvision.transforms.v2.functional")
        contenders.append(Contender("torchvision v2", lambda: functional.gaussian_noise(placed), exact=False))
    if device == "cpu":
        contenders += by_hand(images.numpy(), 0.1 * max_value, max_value)

    def by_torch() -> Tensor:
        noise = torch.empty(placed.shape, device=device).normal_(0, 0.1 * max_value)
        return noise.add_(placed).clamp_(0, max_value).to(dtype)

    contenders.append(Contender("torch, normal_ in place", by_torch, exact=False))
    contenders.append(Contender("orbbec", lambda: gaussian_noise(placed)))
    return Work(contenders, expected, count, 2 * images.numel() * images.element_size())


def by_hand(images: Array, sigma: float, max_value: int) -> list[Contender]:
    """One image per call, in place; each image has a generator, because threads cannot share one."""
    out = np.empty_like(images)
    draws = [np.random.Generator(np.random.SFC64(n)) for n in range(len(images))]

    def noisy(image: Array, draw: np.random.Generator, target: Array) -> None:
        noise = buffer("noise", image.shape, np.float32)
        draw.standard_normal(out=noise, dtype=np.float32)
        noise *= np.float32(sigma)
        noise += image
        np.clip(noise, 0, max_value, out=noise)
        np.copyto(target, noise, casting="unsafe")

    def noisy_by_cv2(image: Array, target: Array) -> None:
        """Bytes saturate in cv2, and their noise may be rounded first."""
        of_bytes = image.dtype == np.uint8
        noise = buffer("noise", image.shape, np.int16 if of_bytes else np.float32)
        rows = noise.reshape(-1, image.shape[-1])
        cv2.randn(rows, np.zeros(1), np.array([sigma]))
        cv2.add(
            image.reshape(rows.shape),
            rows,
            dst=target.reshape(rows.shape),
            dtype=cv2.CV_8U if of_bytes else cv2.CV_32F,
        )
        if not of_bytes:
            np.clip(target, 0, max_value, out=target)

    def run() -> Array:
        share(noisy, images, draws, out)
        return out.transpose(0, 2, 3, 1)

    def run_by_cv2() -> Array:
        share(noisy_by_cv2, images, out)
        return out.transpose(0, 2, 3, 1)

    found = [Contender("NumPy, standard_normal in place", run, exact=False, least_psnr=15)]
    if cv2 is not None:
        found.append(Contender("cv2, randn in place", run_by_cv2, exact=False, least_psnr=15))
    return found


CASES = [
    Case("uint8 224x224", partial(prepare, torch.uint8)),
    Case("float32 224x224", partial(prepare, torch.float32)),
]
