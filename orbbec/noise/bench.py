"""`gaussian_noise` beside torchvision's, whose noise is one for all devices and batches, and NumPy's."""

from functools import partial
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from orbbec.binding.arguments import Array
from orbbec.noise import gaussian_noise
from orbbec.testing import photographs
from orbbec.testing.benchmark import Case, Contender, Work, as_array, torchvision


def prepare(dtype: torch.dtype, device: str) -> Work:
    """Noise of sigma 0.1 on images of 224 x 224."""
    count = 16 if device == "cpu" else 256
    images = photographs(count, 3, 224, 224, dtype)
    images = images if dtype == torch.uint8 else images / 200 + 0.5
    placed, white = images.to(device), 255 if dtype == torch.uint8 else 1
    expected = as_array(gaussian_noise(images))

    def by_numpy() -> Array:
        noise = np.random.default_rng(0).standard_normal(images.shape, np.float32) * (0.1 * white)
        noisy: Array = np.clip(images.numpy() + noise, 0, white).astype(images.numpy().dtype)
        return noisy

    contenders = []
    if torchvision is not None:
        functional = import_module("torchvision.transforms.v2.functional")
        contenders.append(Contender("torchvision v2", lambda: functional.gaussian_noise(placed), exact=False))
    if device == "cpu":
        contenders.append(Contender("NumPy", by_numpy, exact=False))

    def by_torch() -> Tensor:
        noise = torch.randn(placed.shape, device=device) * (0.1 * white)
        return (placed + noise).clamp_(0, white).to(dtype)

    contenders.append(Contender("torch, randn", by_torch, exact=False))
    contenders.append(Contender("orbbec", lambda: gaussian_noise(placed)))
    return Work(contenders, expected, count, 2 * images.numel() * images.element_size())


CASES = [
    Case("uint8 224x224", partial(prepare, torch.uint8)),
    Case("float32 224x224", partial(prepare, torch.float32)),
]
