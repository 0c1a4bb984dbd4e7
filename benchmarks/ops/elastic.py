"""`elastic_transform` compared with handwritten `cv2` and with torchvision's ElasticTransform."""

from functools import partial
from importlib import import_module

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.warpaffine.elastic import elastic_displacement, elastic_transform
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision
from tests.support.timing.by_hand import buffer

ALPHA, SIGMA = 25.0, 5.0  # torchvision's defaults; its alpha is in half pixels
MOST_FOR_TORCHVISION = 224  # beyond, a run of its loop takes seconds


def prepare(side: int, dtype: torch.dtype, device: str) -> Work:
    """The same noise for orbbec and cv2.remap; others draw their noise in the timed run."""
    count = 8 if device == "cpu" else 64
    images = photographs(count, 3, side, side, dtype)
    expected = as_array(elastic_transform(images, ALPHA, SIGMA))
    placed = images.to(device)
    contenders = []
    if device == "cpu" and cv2 is not None:
        arrays = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
        fields = elastic_displacement(list(range(count)), (side, side), ALPHA, SIGMA).numpy()
        y, x = np.mgrid[:side, :side].astype(np.float32)
        maps = [(x + dx, y + dy) for dx, dy in fields]
        out = np.empty_like(arrays)

        def remapped(image: Array, maps: tuple[Array, Array], target: Array) -> None:
            cv2.remap(image, *maps, cv2.INTER_LINEAR, dst=target)

        def elastic(image: Array, target: Array) -> None:
            noise, smooth = (buffer(name, (2, side, side), np.float32) for name in ("noise", "smooth"))
            cv2.randu(noise.reshape(-1, side), np.array([-ALPHA]), np.array([ALPHA]))
            for field, field_out, start in zip(noise, smooth, (x, y), strict=True):
                cv2.GaussianBlur(field, (41, 41), SIGMA, dst=field_out)
                field_out += start
            remapped(image, (smooth[0], smooth[1]), target)

        def by_cv2() -> Array:
            share(remapped, arrays, maps, out)
            return out

        def by_cv2_with_noise() -> Array:
            share(elastic, arrays, out)
            return out

        contenders.append(Contender("cv2, noise and all", by_cv2_with_noise, exact=False))
        contenders.append(Contender("cv2.remap alone, coordinates ready", by_cv2))
        contenders.append(Contender("orbbec, NHWC array", lambda: elastic_transform(arrays, ALPHA, SIGMA)))
    if torchvision is not None and side <= MOST_FOR_TORCHVISION:
        transform = import_module("torchvision.transforms.v2").ElasticTransform(2 * ALPHA, SIGMA)

        def by_torchvision() -> Tensor:
            return torch.stack([transform(image) for image in placed])

        contenders.append(Contender("torchvision v2, a loop", by_torchvision, exact=False))
    contenders.append(Contender("orbbec, NCHW tensor", lambda: elastic_transform(placed, ALPHA, SIGMA)))
    return Work(contenders, expected, count, 2 * images.numel() * images.element_size())


CASES = [
    Case("uint8 224x224", partial(prepare, 224, torch.uint8)),
    Case("uint8 512x512", partial(prepare, 512, torch.uint8)),
    Case("float32 512x512", partial(prepare, 512, torch.float32)),
]
