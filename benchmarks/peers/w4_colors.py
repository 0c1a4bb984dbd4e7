"""W4: SimCLR's colors and blur on uint8 images of 224x224, with draws per image.

The order is brightness, contrast, saturation, hue for every image, since some libraries use one order per
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import (
    BLUR,
    BLURRED,
    GRAY,
    JITTERED,
    SIDE,
    Draw,
    simclr_by_cv2,
    simclr_by_torchvision,
    simclr_draws,
)
from benchmarks.peers.contest import BOTH, Rival, Workload, batch_size
from benchmarks.peers.dali import dali_runner
from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.transforms import ColorJitter, Compose, RandomApply
from orbbec.transforms.adjustments import jitter
from tests.support import photograph
from tests.support.timing.benchmark import as_array, share

IMAGES, KERNEL = 16, 23


@dataclass(frozen=True)
class InOrder(ColorJitter):
    """A ColorJitter with a fixed order: brightness, contrast, saturation, hue."""

    def rules(self, build: Build) -> None:
        build.permutation(4)  # the factors are those of a ColorJitter
        ranges = [ends or (1.0, 1.0) for ends in self._ranges]
        factors = build.consecutive([build.uniform(*ends) for ends in ranges])
        jitter(build, build.constants(range(4)), factors, build.constants([1.0] * 4), range(4))


PIPELINE = Compose([RandomApply([InOrder(0.4, 0.4, 0.4, 0.1)], JITTERED), GRAY, RandomApply([BLUR], BLURRED)])


@dataclass(frozen=True)
class Scene:
    """Images and their draws."""

    device: str

    @property
    def images(self) -> int:
        return batch_size(self.device, IMAGES)

    @cached_property
    def arrays(self) -> list[Array]:
        distinct = [photograph(SIDE, SIDE, seed=n) for n in range(IMAGES)]
        return [distinct[n % IMAGES] for n in range(self.images)]

    @cached_property
    def draws(self) -> list[Draw]:
        return [{**draw, "steps": sorted(draw["steps"])} for draw in simclr_draws(self.images)]

    @cached_property
    def planar(self) -> Tensor:
        return torch.from_numpy(np.stack(self.arrays).transpose(0, 3, 1, 2).copy()).to(self.device)

    @cached_property
    def batch(self) -> ImageBatch:
        return ImageBatch.from_images(self.arrays).to(self.device)

    @cached_property
    def expected(self) -> Array:
        return as_array(PIPELINE(ImageBatch.from_images(self.arrays), epoch=0))

    def factors(self, neutral: tuple[float, ...] = (1, 1, 1, 0)) -> Array:
        """The factors of the four steps, float32 `[N, 4]`; neutral where a step is not drawn."""
        rows = [[factor for _, factor in draw["steps"]] or neutral for draw in self.draws]
        return np.array(rows, np.float32)

    @cached_property
    def gray(self) -> Array:
        return np.array([draw["gray"] for draw in self.draws])

    @cached_property
    def sigmas(self) -> Array:
        """The sigmas; 0 for images without blur."""
        return np.array([draw["sigma"] or 0 for draw in self.draws], np.float32)


def by_orbbec(images: Any) -> Callable[[], Any]:
    return lambda: PIPELINE(images, epoch=0)


def by_cv2(scene: Scene, by_sigma: bool) -> Callable[[], Any]:
    return simclr_by_cv2(scene.arrays, scene.draws, by_sigma)


def by_pil(scene: Scene, blur: Callable[[Any, float], Any]) -> Callable[[], Any]:
    """Pillow's enhancements, and its conversion to HSV for the hue."""
    from PIL import Image, ImageEnhance

    enhancers = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)
    pictures = [Image.fromarray(array) for array in scene.arrays]

    def prepare(picture: Any, draw: Draw) -> Array:
        for which, factor in draw["steps"]:
            if which < len(enhancers):
                picture = enhancers[which](picture).enhance(factor)
            else:
                hue, saturation, value = picture.convert("HSV").split()
                turned = [(level + round(255 * factor)) % 256 for level in range(256)]
                picture = Image.merge("HSV", (hue.point(turned), saturation, value)).convert("RGB")
        picture = picture.convert("L").convert("RGB") if draw["gray"] else picture
        return np.asarray(picture if draw["sigma"] is None else blur(picture, draw["sigma"]))

    return lambda: share(prepare, pictures, scene.draws)


def by_pillow(scene: Scene) -> Callable[[], Any]:
    from PIL import ImageFilter

    return by_pil(scene, lambda picture, sigma: picture.filter(ImageFilter.GaussianBlur(sigma)))


def by_torchvision_v1(scene: Scene) -> Callable[[], Any]:
    """For PIL images, torchvision uses Pillow's colors; its blur goes through a tensor."""
    from torchvision.transforms import functional

    return by_pil(
        scene, lambda picture, sigma: functional.gaussian_blur(picture, [KERNEL, KERNEL], [sigma, sigma])
    )


def by_kornia(scene: Scene, compiled: bool = False) -> Callable[[], Tensor]:
    """Runs each step on the whole batch, with neutral factors where a step is not drawn."""
    from kornia import enhance
    from kornia.color import rgb_to_grayscale
    from kornia.filters import gaussian_blur2d

    bright, contrast, saturation, turn = torch.from_numpy(scene.factors()).to(scene.device).T
    gray = torch.from_numpy(scene.gray).to(scene.device)[:, None, None, None]
    blurred = torch.from_numpy(scene.sigmas.nonzero()[0]).to(scene.device)
    sigma = torch.from_numpy(scene.sigmas[scene.sigmas > 0]).to(scene.device)[:, None].expand(-1, 2)

    def run(images: Tensor) -> Tensor:
        pixels = enhance.adjust_brightness_accumulative(images.float() / 255, bright)
        pixels = enhance.adjust_contrast_with_mean_subtraction(pixels, contrast)
        pixels = enhance.adjust_saturation_with_gray_subtraction(pixels, saturation)
        pixels = enhance.adjust_hue(pixels, turn * 2 * torch.pi)
        pixels = torch.where(gray, rgb_to_grayscale(pixels), pixels)
        smooth = gaussian_blur2d(pixels[blurred], (KERNEL, KERNEL), sigma)
        return (pixels.index_copy(0, blurred, smooth) * 255).round().to(torch.uint8)

    chosen: Callable[..., Tensor] = torch.compile(run) if compiled else run
    return lambda: chosen(scene.planar)


def by_albumentations(scene: Scene) -> Callable[[], Any]:
    """One Compose per image, with the parameters drawn for it."""
    import albumentations as A

    def pipeline(draw: Draw) -> Any:
        ranges = [(factor, factor) for _, factor in draw["steps"]]
        steps = [SteadyJitter(*ranges, p=1)] if ranges else []
        steps += [A.ToGray(p=1)] if draw["gray"] else []
        if draw["sigma"] is not None:
            blur = A.GaussianBlur(blur_range=(KERNEL, KERNEL), sigma_range=(draw["sigma"],) * 2, p=1)
            steps.append(blur)
        return A.Compose(steps)

    class SteadyJitter(A.ColorJitter):  # type: ignore[misc]
        """The steps in our order; the first two use one table."""

        def apply(self, img: Array, **params: Any) -> Any:
            return super().apply(img, **{**params, "order": ["brightness_contrast", "saturation", "hue"]})

    pipelines = list(map(pipeline, scene.draws))
    return lambda: share(lambda pipeline, image: pipeline(image=image)["image"], pipelines, scene.arrays)


def by_dali(scene: Scene) -> Callable[[], Any]:
    """Hue in YIQ and contrast about middle gray, in one matrix product; the taps depend on sigma."""
    from nvidia.dali import fn

    def graph(images: Any, factors: Any, gray: Any, sigma: Any, device: str) -> Any:
        images = fn.reshape(images.gpu() if device == "gpu" else images, layout="HWC")
        names = ("brightness", "contrast", "saturation", "hue")
        named = {name: fn.slice(factors, k, 1, axes=0) for k, name in enumerate(names)}
        scalars = {name: fn.reshape(value, shape=[]) for name, value in named.items()}
        colored = fn.saturation(fn.color_twist(images, **scalars), saturation=gray)
        return fn.gaussian_blur(colored, sigma=sigma)

    factors = scene.factors() * np.array([1, 1, 1, 360], np.float32)
    sigma = np.maximum(scene.sigmas, 0.1)  # a single tap
    inputs = [list(factors), list(1 - scene.gray.astype(np.float32)), list(sigma)]
    run = dali_runner(graph, [scene.arrays, *inputs], scene.device)
    return lambda: run().permute(0, 3, 1, 2)


# Rounding after each step gives 44 to 49 dB; DALI's different formulas give 29.
CONTENDERS = [
    Rival("orbbec, ImageBatch", "orbbec", lambda scene: by_orbbec(scene.batch), devices=BOTH),
    Rival("orbbec, planes", "orbbec", lambda scene: by_orbbec(scene.planar), devices=BOTH),
    Rival(
        "orbbec, channels_last",
        "orbbec",
        lambda scene: by_orbbec(scene.planar.contiguous(memory_format=torch.channels_last)),
        devices=BOTH,
    ),
    Rival("cv2, a pool of threads", "cv2", partial(by_cv2, by_sigma=False), 35),
    Rival("cv2, a pool of threads, taps by sigma", "cv2", partial(by_cv2, by_sigma=True), 35),
    Rival("AlbumentationsX, a pool of threads", "albumentations", by_albumentations, 35),
    Rival("Pillow, a pool of threads", "PIL", by_pillow, 35),
    Rival("torchvision v1, PIL, a pool of threads", "torchvision", by_torchvision_v1, 35),
    Rival(
        "torchvision v2",
        "torchvision",
        lambda scene: simclr_by_torchvision(scene.planar, scene.draws),
        35,
        BOTH,
    ),
    Rival("Kornia", "kornia", by_kornia, 50, BOTH),
    Rival("Kornia, compiled", "kornia", partial(by_kornia, compiled=True), 50, BOTH),
    Rival("DALI", "nvidia.dali", by_dali, 20, BOTH),
]
WORKLOADS = [Workload("W4 colors and blur", Scene, CONTENDERS)]
