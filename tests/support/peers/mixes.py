"""Random pairs mixed by OpenCV, rectangles erased by torchvision, and displacements applied by OpenCV."""

import importlib

import numpy as np
import torch

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.peers.peers import TORCHVISION, Line, Random, draw_image

SWAP = torch.tensor([1, 0])
Answers = tuple[Array, Array]


def mixup_by_opencv(images: Array, weights: tuple[float, float]) -> Array:
    """The images of a pair `[2, H, W, C]`, each mixed with the other by `cv2.addWeighted`."""
    import cv2

    pairs = zip(images, images[::-1], weights, strict=True)
    mixed = [cv2.addWeighted(own, w, other, 1 - w, 0).reshape(own.shape) for own, other, w in pairs]
    return np.stack(mixed)


def _mixup(dtype: str) -> Line:
    def answers(rng: Random) -> Answers:
        first = draw_image(rng, dtype=dtype)
        images = np.stack([first, rng.permutation(first.reshape(-1)).reshape(first.shape)])
        weights = (float(rng.random()), float(rng.random()))
        actual = orbbec.mixup(images, SWAP, torch.tensor(weights, dtype=torch.float64))
        return actual, mixup_by_opencv(images, weights)

    return Line("mixup", dtype, "OpenCV", True, answers)


def _erase(rng: Random) -> Answers:
    functional = importlib.import_module(TORCHVISION)
    image = torch.from_numpy(draw_image(rng, (1, 3))).permute(2, 0, 1).contiguous()
    left, top = (int(rng.integers(0, side)) for side in (image.shape[2], image.shape[1]))
    width, height = (int(n) for n in rng.integers(1, 60, 2))
    fill = torch.from_numpy(rng.integers(0, 256, image.shape[0])).to(torch.uint8)
    expected = functional.erase(image, top, left, height, width, fill[:, None, None])
    box = torch.tensor([[left, top, left + width, top + height]])
    return orbbec.erase(image, box, fill.tolist()).numpy(), expected.numpy()


def _elastic(rng: Random) -> Answers:
    import cv2

    from tests.support.peers import opencv

    image = draw_image(rng, (1, 3))
    sample, alpha, sigma = int(rng.integers(1 << 40)), float(rng.uniform(0, 60)), float(rng.uniform(1, 6))
    ids = torch.tensor([sample])
    dx, dy = orbbec.elastic_displacement(ids, image.shape[:2], alpha, sigma)[0].numpy()
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32)
    expected = cv2.remap(image, x + dx, y + dy, cv2.INTER_LINEAR).reshape(image.shape)
    before = orbbec.default_arithmetic()
    orbbec.set_default_arithmetic(opencv.arithmetic())
    try:
        return orbbec.elastic_transform(image, alpha, sigma, sample_ids=ids), np.asarray(expected)
    finally:
        orbbec.set_default_arithmetic(before)


LINES = [
    _mixup("uint8"),
    _mixup("uint16"),
    Line("erase", "uint8", "torchvision", True, _erase),
    Line("elastic_transform", "uint8, remap of its field", "OpenCV", True, _elastic),
]
