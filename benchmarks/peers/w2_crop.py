"""W2: decoded photographs of variable size: a random crop to 224x224, a random flip, normalized planes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import (
    BY_HAND,
    FLIP,
    IMAGES,
    SIDE,
    classification,
    crop_of,
    crops_of,
    variable_size_photographs,
)
from benchmarks.peers.contest import BOTH, CUDA, Rival, Workload, batch_size
from benchmarks.peers.dali import dali_runner
from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from orbbec.transforms import Compose
from orbbec.transforms.output import Normalize, ToDtype
from tests.support.timing.benchmark import as_array, cv2, share
from tests.support.timing.by_hand import MEAN, STD, Finish, buffer, crops, in_place


@dataclass(frozen=True)
class Scene:
    """Photographs, with the crops and flips that orbbec's pipeline draws."""

    antialias: bool
    device: str

    @property
    def images(self) -> int:
        return batch_size(self.device, IMAGES)

    @cached_property
    def arrays(self) -> list[Array]:
        return list(islice(cycle(variable_size_photographs()), self.images))

    @cached_property
    def sizes(self) -> Array:
        return np.array([image.shape[:2] for image in self.arrays])

    @cached_property
    def crops(self) -> Array:
        """Left, top, right, bottom of each crop."""
        return crops_of(self.sizes)[0]

    @cached_property
    def flipped(self) -> Array:
        return crops_of(self.sizes)[1]

    @cached_property
    def parts(self) -> list[Array]:
        return [
            image[top:bottom, left:right]
            for image, (left, top, right, bottom) in zip(self.arrays, self.crops, strict=True)
        ]

    @cached_property
    def batch(self) -> ImageBatch:
        return ImageBatch.from_images(self.arrays).to(self.device)

    @cached_property
    def expected(self) -> Array:
        pipeline = classification("float32", self.antialias)
        return as_array(pipeline(ImageBatch.from_images(self.arrays), epoch=0))


def by_orbbec(scene: Scene, dtype: str = "float32", out: bool = False) -> Callable[[], Any]:
    pipeline = classification(dtype, scene.antialias)
    output = torch.empty(scene.images, 3, SIDE, SIDE, dtype=getattr(torch, dtype), device=scene.device)
    if not out:
        return lambda: pipeline(scene.batch, epoch=0)
    return lambda: pipeline(scene.batch, epoch=0, out=output)


def by_orbbec_channels_last(scene: Scene) -> Callable[[], Any]:
    cast = ToDtype(torch.float32, scale=True, channels_last=True)
    pipeline = Compose([crop_of(scene.antialias), FLIP, cast, Normalize(MEAN, STD)])
    return lambda: pipeline(scene.batch, epoch=0)


def by_cv2(
    scene: Scene, finish: Finish = in_place, interpolation: str = "INTER_LINEAR"
) -> Callable[[], Tensor]:
    kind = getattr(cv2, interpolation)
    return crops(scene.arrays, scene.crops, scene.flipped, SIDE, finish, interpolation=kind)


def by_pillow(scene: Scene) -> Callable[[], Tensor]:
    from PIL import Image

    pictures = [Image.fromarray(array) for array in scene.arrays]
    batch = np.empty((scene.images, 3, SIDE, SIDE), np.float32)

    def fill(out: Array, picture: Any, crop: tuple[int, ...], flips: bool) -> None:
        pixels = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=crop))
        in_place(cv2.flip(pixels, 1, dst=buffer("flipped", pixels.shape)) if flips else pixels, out)

    def run() -> Tensor:
        share(fill, batch, pictures, scene.crops.tolist(), scene.flipped)
        return torch.from_numpy(batch)

    return run


def by_torchvision_v1(scene: Scene) -> Callable[[], Tensor]:
    from PIL import Image

    pictures = [Image.fromarray(array) for array in scene.arrays]

    return lambda: torch.stack(share(torchvision_v1, pictures, scene.crops.tolist(), scene.flipped))


def torchvision_v1(picture: Any, crop: list[int], flips: bool) -> Tensor:
    """The classic torchvision code for PIL images."""
    from torchvision.transforms import functional

    left, top, right, bottom = crop
    result = functional.resized_crop(picture, top, left, bottom - top, right - left, [SIDE, SIDE])
    result = functional.hflip(result) if flips else result
    return torch.as_tensor(functional.normalize(functional.to_tensor(result), MEAN, STD))


def by_torchvision(scene: Scene, channels_last: bool) -> Callable[[], Tensor]:
    from torchvision.transforms.v2 import functional

    images = [torch.from_numpy(array).to(scene.device).permute(2, 0, 1) for array in scene.arrays]
    images = images if channels_last else [image.contiguous() for image in images]

    def prepare(image: Tensor, crop: list[int], flips: bool) -> Tensor:
        left, top, right, bottom = crop
        box = (top, left, bottom - top, right - left)
        result = functional.resized_crop(image, *box, [SIDE, SIDE], antialias=scene.antialias)
        result = functional.horizontal_flip(result) if flips else result
        result = functional.to_dtype(result, torch.float32, scale=True)
        return torch.as_tensor(functional.normalize(result, MEAN, STD))

    return lambda: torch.stack(list(map(prepare, images, scene.crops.tolist(), scene.flipped)))


def by_grid_sample(scene: Scene, compiled: bool = False) -> Callable[[], Tensor]:
    """All images in one padded batch, and the positions of each crop, clamped to it."""
    height, width = scene.sizes.max(0).tolist()
    padded = torch.zeros(scene.images, 3, height, width, dtype=torch.uint8)
    for image, array in zip(padded, scene.arrays, strict=True):
        image[:, : array.shape[0], : array.shape[1]] = torch.from_numpy(array).permute(2, 0, 1)
    images = padded.to(scene.device)
    crops = torch.from_numpy(scene.crops).float().to(scene.device)
    flipped = torch.from_numpy(scene.flipped).to(scene.device)
    mean, std = (torch.tensor(values, device=scene.device)[:, None, None] for values in (MEAN, STD))
    steps = (torch.arange(SIDE, device=scene.device) + 0.5) / SIDE

    def positions(begin: Tensor, end: Tensor, fractions: Tensor, size: int) -> Tensor:
        pixels = (begin + fractions * (end - begin)).clamp(begin + 0.5, end - 0.5)
        return 2 * pixels / size - 1

    def prepare(images: Tensor, crops: Tensor, flipped: Tensor) -> Tensor:
        left, top, right, bottom = crops[..., None].unbind(1)
        columns = torch.where(flipped[:, None], steps.flip(0), steps)
        x = positions(left, right, columns, width)[:, None, :].expand(-1, SIDE, -1)
        y = positions(top, bottom, steps.expand(len(crops), -1), height)[:, :, None].expand(-1, -1, SIDE)
        grid = torch.stack((x, y), -1)
        sampled = torch.nn.functional.grid_sample(images.float(), grid, align_corners=False)
        return (sampled / 255 - mean) / std

    chosen: Callable[..., Tensor] = torch.compile(prepare) if compiled else prepare
    return lambda: chosen(images, crops, flipped)


def by_kornia(scene: Scene) -> Callable[[], Tensor]:
    """One image per call, since batches have one size."""
    from kornia.enhance import normalize
    from kornia.geometry.transform import hflip, resize

    images = [torch.from_numpy(part).permute(2, 0, 1)[None].to(scene.device) for part in scene.parts]
    mean, std = (torch.tensor(values, device=scene.device) for values in (MEAN, STD))

    def prepare(image: Tensor, flips: bool) -> Tensor:
        resized = resize(image.float() / 255, (SIDE, SIDE), align_corners=False)
        return normalize(hflip(resized) if flips else resized, mean, std)

    return lambda: torch.cat(list(map(prepare, images, scene.flipped)))


def by_kornia_rs(scene: Scene) -> Callable[[], Tensor]:
    from kornia_rs.pipeline import resize_normalize_to_tensor_batch

    def run() -> Tensor:
        turned = [
            np.ascontiguousarray(part[:, ::-1] if flips else part)
            for part, flips in zip(scene.parts, scene.flipped, strict=True)
        ]
        return torch.from_numpy(np.stack(resize_normalize_to_tensor_batch(turned, (SIDE, SIDE), MEAN, STD)))

    return run


def albumentations_pipeline(crop: list[int], flips: bool) -> Any:
    """A Compose with the parameters drawn for an image."""
    import albumentations as A

    return A.Compose(
        [
            A.Crop(*crop),
            A.Resize(SIDE, SIDE),
            A.HorizontalFlip(p=float(flips)),
            A.Normalize(MEAN, STD),
            A.ToTensorV2(),
        ]
    )


def by_albumentations(scene: Scene) -> Callable[[], Tensor]:
    drawn = zip(scene.crops.tolist(), scene.flipped, strict=True)
    pipelines = [albumentations_pipeline(*own) for own in drawn]
    return lambda: torch.stack(share(lambda run, image: run(image=image)["image"], pipelines, scene.arrays))


def dali_tail(pixels: Any, mirror: Any, antialias: bool) -> Any:
    """The steps after the crop: resize, flip, normalize."""
    from nvidia.dali import fn, types

    resized = fn.resize(pixels, size=(SIDE, SIDE), interp_type=types.INTERP_LINEAR, antialias=antialias)
    mean, std = ([255 * value for value in values] for values in (MEAN, STD))
    return fn.crop_mirror_normalize(resized, mirror=mirror, mean=mean, std=std, output_layout="CHW")


def by_dali(scene: Scene) -> Callable[[], Any]:
    from nvidia.dali import fn

    def graph(images: Any, start: Any, shape: Any, mirror: Any, device: str) -> Any:
        images = fn.reshape(images.gpu() if device == "gpu" else images, layout="HWC")
        return dali_tail(fn.slice(images, start, shape, axes=(1, 0)), mirror, scene.antialias)

    start, shape = scene.crops[:, :2], scene.crops[:, 2:] - scene.crops[:, :2]
    drawn = [start.astype(np.int32), shape.astype(np.int32), scene.flipped.astype(np.int32)]
    return dali_runner(graph, [scene.arrays, *map(list, drawn)], scene.device)


# Rounding to bytes before normalization gives about 54 dB, cropping before antialiasing about 48.
OURS = [
    Rival("orbbec", "orbbec", by_orbbec, devices=BOTH),
    Rival("orbbec, out=", "orbbec", partial(by_orbbec, out=True), devices=BOTH),
    Rival("orbbec, channels_last", "orbbec", by_orbbec_channels_last, devices=BOTH),
    Rival("orbbec, float16", "orbbec", partial(by_orbbec, dtype="float16"), 60, BOTH),
    Rival("orbbec, float16, out=", "orbbec", partial(by_orbbec, dtype="float16", out=True), 60, BOTH),
]
TORCHVISION = [
    Rival("torchvision v2", "torchvision", partial(by_torchvision, channels_last=False), 40, BOTH),
    Rival(
        "torchvision v2, channels_last",
        "torchvision",
        partial(by_torchvision, channels_last=True),
        40,
        BOTH,
    ),
]
DALI = Rival("DALI", "nvidia.dali", by_dali, 40, BOTH)
LINEAR = [
    *OURS,
    *(Rival(name, "cv2", partial(by_cv2, finish=finish), 45) for name, finish in BY_HAND.items()),
    Rival("AlbumentationsX, a pool of threads", "albumentations", by_albumentations, 45),
    *TORCHVISION,
    Rival("Kornia", "kornia", by_kornia, 60, BOTH),
    Rival("kornia_rs", "kornia_rs", by_kornia_rs, 60),
    Rival("torch grid_sample", "torch", by_grid_sample, 60, CUDA),
    Rival("torch grid_sample, compiled", "torch", partial(by_grid_sample, compiled=True), 60, CUDA),
    DALI,
]
ANTIALIASED = [
    *OURS,
    Rival("Pillow and NumPy in place", "PIL", by_pillow, 60),
    Rival("torchvision v1, PIL, a pool of threads", "torchvision", by_torchvision_v1, 40),
    *TORCHVISION,
    Rival("cv2 INTER_AREA and NumPy in place", "cv2", partial(by_cv2, interpolation="INTER_AREA"), 25),
    DALI,
]
WORKLOADS = [
    Workload("W2 crop, flip, normalize", partial(Scene, False), LINEAR),
    Workload("W2 crop, flip, normalize, antialiased", partial(Scene, True), ANTIALIASED),
]
