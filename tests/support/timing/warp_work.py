"""Shared by the benchmarks of warp_affine, warp_perspective and remap: contenders of orbbec and cv2."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from tests.support.samples import photographs
from tests.support.timing.benchmark import Contender, Work, cv2, share, touched_pixels

DISTINCT_IMAGES = 64  # larger batches repeat these
CV2_FLAGS = {"nearest": "INTER_NEAREST", "linear": "INTER_LINEAR", "cubic": "INTER_CUBIC"}
CV2_BORDERS = {
    "constant": "BORDER_CONSTANT",
    "replicate": "BORDER_REPLICATE",
    "reflect101": "BORDER_REFLECT_101",
}


@dataclass(frozen=True)
class WarpShape:
    """The images to warp, `[N, 3, height, width]`."""

    images: int = 64
    images_on_cuda: int = 256
    source: tuple[int, int] = (512, 512)
    target: tuple[int, int] = (224, 224)
    dtype: torch.dtype = torch.uint8
    interpolation: str = "linear"
    border: str = "constant"

    def count(self, device: str) -> int:
        return self.images if device == "cpu" else self.images_on_cuda

    def planar_images(self, device: str) -> Tensor:
        """The images, contiguous on the CPU."""
        count = self.count(device)
        images = photographs(min(count, DISTINCT_IMAGES), 3, *self.source, dtype=self.dtype)
        return images.repeat(-(-count // DISTINCT_IMAGES), 1, 1, 1)[:count].contiguous()

    def options(self) -> dict[str, Any]:
        return {"interpolation": self.interpolation, "border": self.border}

    def cv2_options(self) -> tuple[int, int]:
        """`flags` (or `interpolation`) and `borderMode`."""
        return getattr(cv2, CV2_FLAGS[self.interpolation]), getattr(cv2, CV2_BORDERS[self.border])


@dataclass(frozen=True)
class Warp:
    """A warp by orbbec and by cv2.

    Args:
        shape: the images to warp.
        maps: one array `[N, ...]` per argument: the matrices, or map_x and map_y.
        by_orbbec: the call `(images, *maps, out=None)`.
        by_cv2: the call `(image, *maps of the image, dst=None)`.
        positions: source positions `(x, y)` of the pixels of each output.
    """

    shape: WarpShape
    maps: list[Array]
    by_orbbec: Callable[..., Any]
    by_cv2: Callable[..., Array]
    positions: Iterator[tuple[Array, Array]]

    def work(self, device: str, *rivals: Contender) -> Work:
        images = self.shape.planar_images(device)
        interleaved = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
        by_cv2 = self.cv2_contenders(images) if device == "cpu" and cv2 is not None else []
        contenders = [*by_cv2, *self.orbbec_contenders(images, device), *rivals]
        expected = self.by_orbbec(interleaved, *self.maps)
        return Work(contenders, expected, len(images), self.moved_bytes(images))

    def moved_bytes(self, images: Tensor) -> int:
        shape = self.shape
        read = [touched_pixels(x, y, shape.source, shape.interpolation) for x, y in self.positions]
        pixels = float(np.mean(read)) + shape.target[0] * shape.target[1]
        return int(pixels * images.shape[0] * images.shape[1] * images.element_size())

    def cv2_contenders(self, images: Tensor) -> Iterator[Contender]:
        maps = list(zip(*self.maps, strict=True))
        interleaved = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())

        warped = np.empty((len(images), *self.shape.target, images.shape[1]), interleaved.dtype)
        planes = np.empty((*images.shape[:2], *self.shape.target), interleaved.dtype)

        def warp(image: Array, own: Any, out: Array) -> None:
            self.by_cv2(image, *own, dst=out)

        def warp_planes(image: Array, own: Any, out: Array) -> None:
            for plane, target in zip(image, out, strict=True):
                self.by_cv2(plane, *own, dst=target)

        def of_pixels() -> Array:
            share(warp, interleaved, maps, warped)
            return warped

        def of_planes() -> Tensor:
            share(warp_planes, images.numpy(), maps, planes)
            return torch.from_numpy(planes)

        yield Contender("cv2, HWC arrays", of_pixels)
        if images.dtype == torch.float32:
            yield Contender("cv2, planes", of_planes)

    def orbbec_contenders(self, images: Tensor, device: str) -> Iterator[Contender]:
        planar = images.to(device)
        last = planar.contiguous(memory_format=torch.channels_last)
        maps = [torch.from_numpy(one).to(device) for one in self.maps]

        def by_orbbec(given: Any, out: Tensor | None = None) -> Callable[[], Any]:
            own = self.maps if isinstance(given, np.ndarray) else maps
            return lambda: self.by_orbbec(given, *own, out=out)

        if device == "cpu":
            yield Contender("orbbec, NHWC array", by_orbbec(last.permute(0, 2, 3, 1).numpy()))
        yield Contender("orbbec, channels_last tensor", by_orbbec(last))
        yield Contender("orbbec, channels_last tensor, out=", by_orbbec(last, out=by_orbbec(last)()))
        yield Contender("orbbec, NCHW tensor", by_orbbec(planar))
        if images.dtype == torch.uint8:
            yield Contender("orbbec, ImageBatch", by_orbbec(ImageBatch.from_tensor(planar)))
