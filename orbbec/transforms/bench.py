"""Chains, planned and applied, beside OpenCV and NumPy by hand and torchvision with the same draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.augment.bench import by_cv2
from orbbec.batch import ImageBatch
from orbbec.binding.arguments import Array
from orbbec.plan import Stream
from orbbec.testing import photograph
from orbbec.testing.benchmark import Case, Contender, Work, as_array, cv2, torchvision
from orbbec.transforms.color import (
    BRIGHTNESS_OF,
    CONTRAST_OF,
    SATURATION_OF,
    ColorJitter,
    RandomGrayscale,
)
from orbbec.transforms.compose import Compose
from orbbec.transforms.containers import RandomApply
from orbbec.transforms.geometry import RandomHorizontalFlip, RandomResizedCrop
from orbbec.transforms.neighborhood import GaussianBlur
from orbbec.transforms.output import Normalize, ToDtype
from orbbec.transforms.scales import RandomShortestSize

IMAGES, SIDE = 64, 224
FLIP, JITTER, GRAY, BLUR = (
    RandomHorizontalFlip(),
    ColorJitter(0.4, 0.4, 0.4, 0.1),
    RandomGrayscale(0.2),
    GaussianBlur(23),
)
JITTERED, BLURRED = 0.8, 0.5  # how likely
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
Draw = dict[str, Any]


def crop_of(antialias: bool) -> RandomResizedCrop:
    return RandomResizedCrop(SIDE, antialias=antialias)


def classification(dtype: str, antialias: bool) -> Compose:
    """What a classifier is trained with."""
    return Compose(
        [crop_of(antialias), FLIP, ToDtype(getattr(torch, dtype), scale=True), Normalize(MEAN, STD)]
    )


def unlike_photographs() -> list[Array]:
    draw = np.random.default_rng(1)
    sizes = draw.integers((330, 450), (400, 520), (IMAGES, 2)).tolist()
    return [photograph(height, width, seed=n) for n, (height, width) in enumerate(sizes)]


def crops_of(sizes: Array) -> tuple[Array, Array]:
    """What that chain draws: int64 `[N, 4]` left, top, right, bottom; and bool `[N]`, flipped."""
    streams = Stream(np.arange(len(sizes))).at_places(2)
    return crop_of(False).sample(sizes, streams[0]).regions(), FLIP.sample(sizes, streams[1]).chosen


def crops_by_torchvision(
    images: list[Array], crops: Array, flipped: Array, antialias: bool
) -> Callable[[], Tensor]:
    functional = torchvision.transforms.v2.functional
    tensors = [torch.from_numpy(image).permute(2, 0, 1).contiguous() for image in images]

    def run() -> Tensor:
        results = []
        for image, (left, top, right, bottom), turns in zip(tensors, crops.tolist(), flipped, strict=True):
            box = top, left, bottom - top, right - left
            result = functional.resized_crop(image, *box, [SIDE, SIDE], antialias=antialias)
            result = functional.horizontal_flip(result) if turns else result
            result = functional.to_dtype(result, torch.float32, scale=True)
            results.append(functional.normalize(result, MEAN, STD))
        return torch.stack(results)

    return run


def prepare_classification(device: str, antialias: bool) -> Work:
    images = unlike_photographs()
    sizes = np.array([image.shape[:2] for image in images])
    chain, half = (classification(dtype, antialias) for dtype in ("float32", "float16"))
    (crops, flipped), host = crops_of(sizes), ImageBatch.from_images(images)
    expected, batch = as_array(chain(host)), host.to(device)
    room, half_room = (
        torch.empty(IMAGES, 3, SIDE, SIDE, dtype=d, device=device) for d in (torch.float32, torch.half)
    )

    def into(own: Compose, out: Tensor) -> Callable[[], Any]:
        return lambda: own.apply(own.plan(sizes), batch, out=out)

    contenders = []
    if device == "cpu" and cv2 is not None and not antialias:
        by_hand = by_cv2(images, crops, flipped)
        contenders.append(Contender("cv2 and NumPy by hand", by_hand, False, least_psnr=45))
    if device == "cpu" and torchvision is not None:
        name = "torchvision v2, antialiased" if antialias else "torchvision v2, not antialiased"
        one_by_one = crops_by_torchvision(images, crops, flipped, antialias)
        contenders.append(Contender(name, one_by_one, False, least_psnr=45))
    contenders += [
        Contender("orbbec", lambda: chain(batch)),
        Contender("orbbec, out=", into(chain, room)),
        Contender("orbbec, float16", lambda: half(batch), False, least_psnr=60),
        Contender("orbbec, float16, out=", into(half, half_room), False, least_psnr=60),
    ]
    pixels = int((crops[:, 2:] - crops[:, :2]).prod(1).sum())
    return Work(contenders, expected, IMAGES, 3 * (pixels + IMAGES * SIDE * SIDE * 4))


def simclr() -> Compose:
    """The colours and the blur of SimCLR."""
    return Compose([RandomApply([JITTER], JITTERED), GRAY, RandomApply([BLUR], BLURRED)])


def simclr_draws(count: int) -> list[Draw]:
    """What that chain draws: the factors in order, whether it is gray, the sigma of the blur or none."""
    sizes, streams = np.full((count, 2), SIDE), Stream(np.arange(count)).at_places(5)
    jittered, factors = streams[0].chance(JITTERED), JITTER.sample(sizes, streams[1])
    grays, blurred = GRAY.sample(sizes, streams[2]).chosen, streams[3].chance(BLURRED)
    sigma = BLUR.sample(sizes, streams[4]).values
    return [
        {
            "steps": [(int(k), float(factors.factors[n, k])) for k in factors.order[n]]
            if jittered[n]
            else [],
            "gray": bool(grays[n]),
            "sigma": float(sigma[n]) if blurred[n] else None,
        }
        for n in range(count)
    ]


def recolored_by_cv2(image: Array, which: int, factor: float) -> Array:
    """Brightness, contrast, saturation or hue of bytes as one writes it with OpenCV."""
    if which == BRIGHTNESS_OF:
        return np.asarray(cv2.convertScaleAbs(image, alpha=factor))
    if which == CONTRAST_OF:
        mean = float(cv2.mean(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))[0])
        levels = np.clip(np.rint(np.arange(256) * factor + mean * (1 - factor)), 0, 255)
        return np.asarray(cv2.LUT(image, levels.astype(np.uint8)))
    if which == SATURATION_OF:
        gray = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
        return np.asarray(cv2.addWeighted(image, factor, gray, 1 - factor, 0))
    hue, saturation, value = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    turned = ((np.arange(256) + 180 * factor) % 180).astype(np.uint8)
    return np.asarray(cv2.cvtColor(cv2.merge((cv2.LUT(hue, turned), saturation, value)), cv2.COLOR_HSV2RGB))


def simclr_by_cv2(images: list[Array], draws: list[Draw]) -> Callable[[], Array]:
    def run() -> Array:
        batch = np.empty((len(images), SIDE, SIDE, 3), np.uint8)
        for n, (image, draw) in enumerate(zip(images, draws, strict=True)):
            for which, factor in draw["steps"]:
                image = recolored_by_cv2(image, which, factor)
            if draw["gray"]:
                image = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
            batch[n] = image if draw["sigma"] is None else cv2.GaussianBlur(image, (23, 23), draw["sigma"])
        return batch

    return run


def simclr_by_torchvision(images: Tensor, draws: list[Draw]) -> Callable[[], Tensor]:
    functional = torchvision.transforms.v2.functional
    adjustments = (
        functional.adjust_brightness,
        functional.adjust_contrast,
        functional.adjust_saturation,
        functional.adjust_hue,
    )

    def run() -> Tensor:
        results = []
        for image, draw in zip(images, draws, strict=True):
            for which, factor in draw["steps"]:
                image = adjustments[which](image, factor)
            image = functional.rgb_to_grayscale(image, 3) if draw["gray"] else image
            blurs = draw["sigma"] is not None
            results.append(functional.gaussian_blur(image, [23, 23], [draw["sigma"]] * 2) if blurs else image)
        return torch.stack(results)

    return run


def prepare_simclr(device: str) -> Work:
    arrays, chain = [photograph(SIDE, SIDE, seed=n) for n in range(IMAGES)], simclr()
    host, draws = ImageBatch.from_images(arrays), simclr_draws(IMAGES)
    expected = as_array(chain(host))
    batch, planes = host.to(device), torch.from_numpy(np.stack(arrays).transpose(0, 3, 1, 2).copy())
    contenders = []
    # Bytes are rounded after each of their steps, and cv2's hue has 180 levels.
    if device == "cpu" and cv2 is not None:
        contenders.append(Contender("cv2 by hand", simclr_by_cv2(arrays, draws), False, least_psnr=35))
    if device == "cpu" and torchvision is not None:
        contenders.append(
            Contender("torchvision v2", simclr_by_torchvision(planes, draws), False, least_psnr=35)
        )
    moved = planes.to(device)
    contenders += [
        Contender("orbbec, ImageBatch", lambda: chain(batch)),
        Contender("orbbec, planes", lambda: chain(moved)),
    ]
    return Work(contenders, expected, IMAGES, 2 * 3 * IMAGES * SIDE * SIDE)


def prepare_detection(device: str) -> Work:
    """Images that stay unlike: the shorter side of 640 to 800 pixels, and a flip."""
    images = unlike_photographs()[: IMAGES // 4]
    sides = list(range(640, 801, 32))
    chain, plain = (
        Compose([RandomShortestSize(sides, 1333, antialias=antialias), FLIP]) for antialias in (True, False)
    )
    host = ImageBatch.from_images(images)
    plan, expected, batch = chain.plan(host.sizes), as_array(chain(host)), host.to(device)
    sizes, flipped = plan.output_sizes.tolist(), plan.matrix[:, 0, 0] < 0
    tensors = [torch.from_numpy(image).permute(2, 0, 1).contiguous() for image in images]

    def by_cv2(image: Array, size: list[int], turns: bool) -> Array:
        result = np.asarray(cv2.resize(image, size[::-1]))
        return np.asarray(cv2.flip(result, 1)) if turns else result

    def by_torchvision(image: Tensor, size: list[int], turns: bool) -> Any:
        functional = torchvision.transforms.v2.functional
        result = functional.resize(image, size, antialias=True)
        return (functional.horizontal_flip(result) if turns else result).permute(1, 2, 0)

    contenders = []
    if device == "cpu" and cv2 is not None:
        contenders.append(
            Contender("cv2 by hand", lambda: list(map(by_cv2, images, sizes, flipped)), False, least_psnr=45)
        )
    if device == "cpu" and torchvision is not None:
        contenders.append(
            Contender(
                "torchvision v2",
                lambda: list(map(by_torchvision, tensors, sizes, flipped)),
                False,
                least_psnr=45,
            )
        )
    contenders += [
        Contender("orbbec", lambda: chain(batch)),
        Contender("orbbec, antialias=False", lambda: plain(batch), False, least_psnr=45),
    ]
    return Work(
        contenders, expected, len(images), 3 * int((plan.sizes.prod(1) + plan.output_sizes.prod(1)).sum())
    )


CASES = [
    Case("500x375 to 224, flip, normalise", partial(prepare_classification, antialias=False)),
    Case("500x375 to 224 antialiased, flip, normalise", partial(prepare_classification, antialias=True)),
    Case("SimCLR's colours and blur of 224", prepare_simclr),
    Case("unlike images to a shorter side of 640 to 800, flip", prepare_detection),
]
