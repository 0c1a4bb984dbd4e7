"""W1: 64 (float32: 32) images of 512x512x3 to 224x224, a random similarity each, linear, black outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from benchmarks.ops.warpaffine import by_grid_sample, random_similarities
from benchmarks.peers.contest import BOTH, CUDA, Rival, Workload
from benchmarks.peers.dali import dali_runner
from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from tests.support.timing.benchmark import cv2, share
from tests.support.timing.warp_work import WarpShape


@dataclass(frozen=True)
class Scene:
    """Images, and a source-to-output matrix for each."""

    shape: WarpShape
    device: str

    @property
    def images(self) -> int:
        return self.shape.count(self.device)

    @property
    def size(self) -> tuple[int, int]:
        return self.shape.target

    @cached_property
    def planar(self) -> Tensor:
        """The images as `[N, 3, H, W]` on the device."""
        return self.shape.planar_images(self.device).to(self.device)

    @cached_property
    def arrays(self) -> Array:
        """The images as `[N, H, W, 3]`."""
        return np.ascontiguousarray(self.planar.permute(0, 2, 3, 1).cpu().numpy())

    @cached_property
    def matrices(self) -> Array:
        return random_similarities(self.images, self.shape.source, self.shape.target)

    @cached_property
    def expected(self) -> Array:
        return np.asarray(orbbec.warp_affine(self.arrays, self.matrices, self.size))

    def cast(self, warped: Tensor) -> Tensor:
        """Convert floats to the dtype of the images."""
        return warped.round().to(torch.uint8) if self.planar.dtype == torch.uint8 else warped


def by_orbbec(scene: Scene, images: Any, out: bool = False) -> Callable[[], Any]:
    on_host = isinstance(images, np.ndarray)
    matrices = scene.matrices if on_host else torch.from_numpy(scene.matrices).to(scene.device)
    run = partial(orbbec.warp_affine, images, matrices, scene.size)
    return partial(run, out=run()) if out else run


def by_cv2(scene: Scene, threaded: bool) -> Callable[[], Any]:
    """Writes to a reused batch, with a pool of threads or with OpenCV's threads in each call."""
    batch = np.empty((scene.images, *scene.size, 3), scene.arrays.dtype)

    def warp(image: Array, matrix: Array, out: Array) -> None:
        cv2.warpAffine(image, matrix, scene.size[::-1], dst=out)

    def run() -> Array:
        if threaded:
            share(warp, scene.arrays, scene.matrices, batch)
        else:
            for work in zip(scene.arrays, scene.matrices, batch, strict=True):
                warp(*work)
        return batch

    return run


def by_pillow(scene: Scene) -> Callable[[], Any]:
    from PIL import Image

    kind, linear = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    images = [Image.fromarray(array) for array in scene.arrays]
    matrices = [corner_matrix(m).ravel().tolist() for m in orbbec.invert_affine(scene.matrices)]
    return lambda: share(
        lambda image, own: np.asarray(image.transform(scene.size[::-1], kind, own, linear)), images, matrices
    )


def corner_matrix(matrix: Array) -> Array:
    """The same `[2, 3]` matrix for pixel centers at half-integers.

    Example:
        >>> corner_matrix(np.array([[0.5, 0.0, 1.0], [0.0, 0.5, 1.0]]))[:, 2].tolist()
        [1.25, 1.25]
    """
    shifted = matrix.copy()
    shifted[:, 2] += 0.5 - 0.5 * matrix[:, :2].sum(axis=1)
    return shifted


def by_torchvision(scene: Scene) -> Callable[[], Tensor]:
    """`affine` about the center, which keeps the size, then a crop."""
    from torchvision.transforms.v2 import InterpolationMode, functional

    height, width = scene.shape.source
    middle = np.array([width, height]) / 2
    options = []
    for matrix in map(corner_matrix, scene.matrices):
        scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
        angle = float(np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])))
        shift = (matrix[:, :2] @ middle + matrix[:, 2] - middle).tolist()
        options.append((angle, shift, scale, [0.0, 0.0]))

    def warp(image: Tensor, own: tuple[Any, ...]) -> Tensor:
        moved = functional.affine(image, *own, interpolation=InterpolationMode.BILINEAR)
        return functional.crop(moved, 0, 0, *scene.size)

    return lambda: torch.stack([warp(image, own) for image, own in zip(scene.planar, options, strict=True)])


def by_kornia(scene: Scene, compiled: bool = False) -> Callable[[], Tensor]:
    from kornia.geometry.transform import warp_affine

    matrices = torch.from_numpy(scene.matrices).float().to(scene.device)

    def warp(images: Tensor, matrices: Tensor) -> Tensor:
        return scene.cast(warp_affine(images.float(), matrices, scene.size, align_corners=True))

    chosen: Callable[..., Tensor] = torch.compile(warp) if compiled else warp
    return lambda: chosen(scene.planar, matrices)


def by_kornia_rs(scene: Scene) -> Callable[[], Any]:
    from kornia_rs.imgproc import warp_affine

    matrices = [tuple(matrix.ravel().tolist()) for matrix in scene.matrices]
    images = list(scene.arrays)
    return lambda: share(lambda image, own: warp_affine(image, own, scene.size, "bilinear"), images, matrices)


def by_dali(scene: Scene) -> Callable[[], Any]:
    from nvidia.dali import fn

    def graph(images: Any, matrices: Any, device: str) -> Any:
        images = images.gpu() if device == "gpu" else images
        return fn.warp_affine(images, matrix=matrices, size=scene.size, fill_value=0, inverse_map=False)

    matrices = [corner_matrix(matrix).astype(np.float32) for matrix in scene.matrices]
    run = dali_runner(graph, [scene.arrays, matrices], scene.device)
    return lambda: run().permute(0, 3, 1, 2)


def by_cvcuda(scene: Scene) -> Callable[[], Any]:
    """One image per call, since a call takes one matrix."""
    import cvcuda

    images = [cvcuda.as_tensor(image.permute(1, 2, 0).contiguous()[None], "NHWC") for image in scene.planar]
    inverses = orbbec.invert_affine(scene.matrices).astype(np.float32)

    def run() -> Tensor:
        options = cvcuda.Interp.LINEAR | cvcuda.Interp.WARP_INVERSE_MAP
        warped = [
            cvcuda.warp_affine(image, own, options, border_mode=cvcuda.Border.CONSTANT)
            for image, own in zip(images, inverses, strict=True)
        ]
        whole = torch.cat([torch.as_tensor(image.cuda(), device="cuda") for image in warped])
        return whole[:, : scene.size[0], : scene.size[1]].permute(0, 3, 1, 2)

    return run


def last(scene: Scene) -> Tensor:
    return scene.planar.contiguous(memory_format=torch.channels_last)


# Limits are 5 to 18 dB below the measurements: Pillow 40, kornia_rs 35, DALI 64, others at least 76.
OURS = [
    Rival("orbbec, NHWC array", "orbbec", lambda scene: by_orbbec(scene, scene.arrays)),
    Rival("orbbec, channels_last", "orbbec", lambda scene: by_orbbec(scene, last(scene)), devices=BOTH),
    Rival(
        "orbbec, channels_last, out=",
        "orbbec",
        lambda scene: by_orbbec(scene, last(scene), out=True),
        devices=BOTH,
    ),
    Rival("orbbec, planes", "orbbec", lambda scene: by_orbbec(scene, scene.planar), devices=BOTH),
]
RAGGED = Rival(
    "orbbec, ImageBatch",
    "orbbec",
    lambda scene: by_orbbec(scene, ImageBatch.from_tensor(scene.planar)),
    devices=BOTH,
)
HALF = Rival(
    "orbbec, planes, float16",
    "orbbec",
    lambda scene: by_orbbec(scene, scene.planar.half()),
    60,
    BOTH,
)
CV2 = [
    Rival("cv2, OpenCV's threads", "cv2", partial(by_cv2, threaded=False)),
    Rival("cv2, a pool of threads", "cv2", partial(by_cv2, threaded=True)),
]
KORNIA = [
    Rival("Kornia", "kornia", by_kornia, 60, BOTH),
    Rival("Kornia, compiled", "kornia", partial(by_kornia, compiled=True), 60, BOTH),
]
TORCHVISION = Rival("torchvision v2, affine and crop", "torchvision", by_torchvision, 60, BOTH)
DALI = Rival("DALI", "nvidia.dali", by_dali, 55, BOTH)
GRID = Rival(
    "torch grid_sample",
    "torch",
    lambda scene: by_grid_sample(scene.shape, orbbec.invert_affine(scene.matrices), scene.device).run,
    60,
    BOTH,
)
BYTES = [
    *OURS,
    RAGGED,
    *CV2,
    Rival("Pillow, a pool of threads", "PIL", by_pillow, 35),
    TORCHVISION,
    *KORNIA,
    Rival("kornia_rs, a pool of threads", "kornia_rs", by_kornia_rs, 30),
    DALI,
    GRID,
    Rival("CV-CUDA", "cvcuda", by_cvcuda, 40, CUDA),
]
WORKLOADS = [
    Workload("W1 warp, uint8", lambda device: Scene(WarpShape(), device), BYTES),
    Workload(
        "W1 warp, float32",
        lambda device: Scene(WarpShape(images=32, dtype=torch.float32), device),
        [*OURS, HALF, *CV2, TORCHVISION, *KORNIA, DALI, GRID],
    ),
]
