"""Pipelines, planned and applied, compared with handwritten code and torchvision for the same draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from orbbec.plan import AugmentPass
from orbbec.transforms.adjustments import BRIGHTNESS_OF, CONTRAST_OF, SATURATION_OF
from orbbec.transforms.color import ColorJitter, RandomGrayscale
from orbbec.transforms.compose import Compose
from orbbec.transforms.containers import RandomApply
from orbbec.transforms.geometry import RandomHorizontalFlip, RandomResizedCrop
from orbbec.transforms.neighborhood import GaussianBlur
from orbbec.transforms.output import Normalize, ToDtype
from orbbec.transforms.scales import RandomShortestSize
from tests.support import photograph
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision
from tests.support.timing.by_hand import (
    MEAN,
    STD,
    as_usual,
    brightened,
    buffer,
    by_table,
    by_torch,
    by_weights,
    contrasted,
    crops,
    gray,
    hue_shifted,
    in_place,
    saturated,
)

IMAGES, SIDE = 64, 224
FLIP, JITTER, GRAY, BLUR = (
    RandomHorizontalFlip(),
    ColorJitter(0.4, 0.4, 0.4, 0.1),
    RandomGrayscale(0.2),
    GaussianBlur(23),
)
ADJUSTMENTS = {
    f"adjust_{name}": (which, f"{name}_factor")
    for which, name in enumerate(("brightness", "contrast", "saturation", "hue"))
}
JITTERED, BLURRED = 0.8, 0.5  # probabilities
BY_HAND = {
    "cv2 and NumPy in place": in_place,
    "cv2 and its table": by_table,
    "cv2 and its weights": by_weights,
    "cv2 and torch in place": by_torch,
    "cv2 and NumPy, as usual": as_usual,
}
Draw = dict[str, Any]


def crop_of(antialias: bool) -> RandomResizedCrop:
    return RandomResizedCrop(SIDE, antialias=antialias)


def classification(dtype: str, antialias: bool) -> Compose:
    """The pipeline of a classifier."""
    return Compose(
        [crop_of(antialias), FLIP, ToDtype(getattr(torch, dtype), scale=True), Normalize(MEAN, STD)]
    )


def variable_size_photographs() -> list[Array]:
    draw = np.random.default_rng(1)
    sizes = draw.integers((330, 450), (400, 520), (IMAGES, 2)).tolist()
    return [photograph(height, width, seed=n) for n, (height, width) in enumerate(sizes)]


def crops_of(sizes: Array) -> tuple[Array, Array]:
    """The draws of that pipeline: left, top, right, bottom, int64 `[N, 4]`; and flips, bool `[N]`."""
    (step,) = Compose([crop_of(False), FLIP]).plan(sizes, epoch=0).passes
    assert isinstance(step, AugmentPass)
    assert step.regions is not None
    return step.regions, step.matrix[:, 0, 0] < 0


def crops_by_torchvision(
    images: list[Array], boxes: Array, flipped: Array, antialias: bool
) -> Callable[[], Tensor]:
    functional = torchvision.transforms.v2.functional
    tensors = [torch.from_numpy(image).permute(2, 0, 1) for image in images]  # its faster layout

    def run() -> Tensor:
        results = []
        for image, (left, top, right, bottom), turns in zip(tensors, boxes.tolist(), flipped, strict=True):
            box = top, left, bottom - top, right - left
            result = functional.resized_crop(image, *box, [SIDE, SIDE], antialias=antialias)
            result = functional.horizontal_flip(result) if turns else result
            result = functional.to_dtype(result, torch.float32, scale=True)
            results.append(functional.normalize(result, MEAN, STD))
        return torch.stack(results)

    return run


def prepare_classification(device: str, antialias: bool) -> Work:
    images = variable_size_photographs()
    sizes = np.array([image.shape[:2] for image in images])
    pipeline, half = (classification(dtype, antialias) for dtype in ("float32", "float16"))
    (boxes, flipped), host = crops_of(sizes), ImageBatch.from_images(images)
    expected, batch = as_array(pipeline(host, epoch=0)), host.to(device)
    output, half_output = (
        torch.empty(IMAGES, 3, SIDE, SIDE, dtype=d, device=device) for d in (torch.float32, torch.half)
    )

    def into(pipeline: Compose, out: Tensor) -> Callable[[], Any]:
        return lambda: pipeline(batch, epoch=0, out=out)

    contenders = []
    if device == "cpu" and cv2 is not None and not antialias:
        for way, finish in BY_HAND.items():
            by_hand = crops(images, boxes, flipped, SIDE, finish)
            contenders.append(Contender(way, by_hand, False, least_psnr=45))
    if device == "cpu" and torchvision is not None:
        name = "torchvision v2, antialiased" if antialias else "torchvision v2, not antialiased"
        one_by_one = crops_by_torchvision(images, boxes, flipped, antialias)
        contenders.append(Contender(name, one_by_one, False, least_psnr=45))
    contenders += [
        Contender("orbbec", lambda: pipeline(batch, epoch=0)),
        Contender("orbbec, out=", into(pipeline, output)),
        Contender("orbbec, float16", lambda: half(batch, epoch=0), False, least_psnr=60),
        Contender("orbbec, float16, out=", into(half, half_output), False, least_psnr=60),
    ]
    pixels = int((boxes[:, 2:] - boxes[:, :2]).prod(1).sum())
    return Work(contenders, expected, IMAGES, 3 * (pixels + IMAGES * SIDE * SIDE * 4))


def simclr() -> Compose:
    """SimCLR's colors and blur."""
    return Compose([RandomApply([JITTER], JITTERED), GRAY, RandomApply([BLUR], BLURRED)])


def simclr_draws(count: int) -> list[Draw]:
    """The draws of that pipeline: factors in order, whether it is gray, the sigma of the blur or None."""
    exact = Compose(simclr().transforms, exact=True)
    draws: list[Draw] = [{"steps": [], "gray": False, "sigma": None} for _ in range(count)]
    for step in exact.plan(np.full((count, 2), SIDE), epoch=0).passes:
        columns = step.columns()
        for n in np.flatnonzero(columns.get("drawn", ())).tolist():
            if step.holds == (GRAY.name,):
                draws[n]["gray"] = True
            elif step.holds == (BLUR.name,):
                draws[n]["sigma"] = float(columns["sigma"][n])
            else:
                which, factor = ADJUSTMENTS[step.name]
                draws[n]["steps"].append((which, float(columns[factor][n])))
    return draws


def recolored_by_cv2(image: Array, which: int, factor: float) -> Array:
    """Adjust brightness, contrast, saturation or hue of bytes."""
    changes = {BRIGHTNESS_OF: brightened, CONTRAST_OF: contrasted, SATURATION_OF: saturated}
    return changes.get(which, hue_shifted)(image, factor)


def simclr_by_cv2(images: list[Array], draws: list[Draw], by_sigma: bool = False) -> Callable[[], Array]:
    """With `by_sigma`, cv2 chooses the number of taps from sigma; otherwise it is 23."""
    size = (0, 0) if by_sigma else (23, 23)
    batch = np.empty((len(images), SIDE, SIDE, 3), np.uint8)

    def change(image: Array, draw: Draw, out: Array) -> None:
        for which, factor in draw["steps"]:
            image = recolored_by_cv2(image, which, factor)
        image = gray(image) if draw["gray"] else image
        if draw["sigma"] is None:
            out[:] = image
        else:
            cv2.GaussianBlur(image, size, draw["sigma"], dst=out)

    def run() -> Array:
        share(change, images, draws, batch)
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
    arrays, pipeline = [photograph(SIDE, SIDE, seed=n) for n in range(IMAGES)], simclr()
    host, draws = ImageBatch.from_images(arrays), simclr_draws(IMAGES)
    expected = as_array(pipeline(host, epoch=0))
    batch, planes = host.to(device), torch.from_numpy(np.stack(arrays).transpose(0, 3, 1, 2).copy())
    contenders = []
    # Bytes are rounded after each step, and cv2's hue has 180 levels.
    if device == "cpu" and cv2 is not None:
        contenders.append(Contender("cv2 by hand", simclr_by_cv2(arrays, draws), False, least_psnr=35))
        by_sigma = simclr_by_cv2(arrays, draws, by_sigma=True)
        contenders.append(Contender("cv2 by hand, taps by sigma", by_sigma, False, least_psnr=35))
    if device == "cpu" and torchvision is not None:
        contenders.append(
            Contender("torchvision v2", simclr_by_torchvision(planes, draws), False, least_psnr=35)
        )
    moved = planes.to(device)
    contenders += [
        Contender("orbbec, ImageBatch", lambda: pipeline(batch, epoch=0)),
        Contender("orbbec, planes", lambda: pipeline(moved, epoch=0)),
    ]
    return Work(contenders, expected, IMAGES, 2 * 3 * IMAGES * SIDE * SIDE)


def prepare_detection(device: str) -> Work:
    """Results of variable size: a shorter side of 640 to 800 pixels, and a flip."""
    images = variable_size_photographs()[: IMAGES // 4]
    sides = list(range(640, 801, 32))
    pipeline, plain = (
        Compose([RandomShortestSize(sides, 1333, antialias=antialias), FLIP]) for antialias in (True, False)
    )
    host = ImageBatch.from_images(images)
    plan, expected, batch = (
        pipeline.plan(host.sizes, epoch=0),
        as_array(pipeline(host, epoch=0)),
        host.to(device),
    )
    sizes, flipped = plan.output_sizes.tolist(), plan.matrix[:, 0, 0] < 0
    tensors = [torch.from_numpy(image).permute(2, 0, 1).contiguous() for image in images]

    outputs = [np.empty((*size, 3), np.uint8) for size in sizes]

    def by_cv2(image: Array, size: list[int], flips: bool, out: Array) -> Array:
        """Flip the source, which is smaller."""
        image = cv2.flip(image, 1, dst=buffer("source", image.shape)) if flips else image
        return np.asarray(cv2.resize(image, size[::-1], dst=out))

    def by_torchvision(image: Tensor, size: list[int], turns: bool) -> Any:
        functional = torchvision.transforms.v2.functional
        result = functional.resize(image, size, antialias=True)
        return (functional.horizontal_flip(result) if turns else result).permute(1, 2, 0)

    contenders = []
    if device == "cpu" and cv2 is not None:
        contenders.append(
            Contender(
                "cv2 by hand", lambda: share(by_cv2, images, sizes, flipped, outputs), False, least_psnr=45
            )
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
        Contender("orbbec", lambda: pipeline(batch, epoch=0)),
        Contender("orbbec, antialias=False", lambda: plain(batch, epoch=0), False, least_psnr=45),
    ]
    return Work(
        contenders, expected, len(images), 3 * int((plan.sizes.prod(1) + plan.output_sizes.prod(1)).sum())
    )


CASES = [
    Case("500x375 to 224, flip, normalize", partial(prepare_classification, antialias=False)),
    Case("500x375 to 224 antialiased, flip, normalize", partial(prepare_classification, antialias=True)),
    Case("SimCLR's colors and blur of 224", prepare_simclr),
    Case("variable-size images to a shorter side of 640 to 800, flip", prepare_detection),
]
