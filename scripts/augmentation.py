"""The augmentation of the demo, by orbbec and by cv2: random similarities, half of them flipped."""

import cv2
import numpy as np
import numpy.typing as npt
import torch
from photographs import Image

import orbbec

SIZE = (128, 128)  # height, width of the network's input
LARGEST_ANGLE = 40  # degrees
ZOOM = (0.9, 1.4)  # 1: the tile just covers the output
LARGEST_SHIFT = 12  # pixels of the output
ARITHMETIC = "cv2_4" if cv2.__version__.startswith("4.") else "cv2_5"

Matrices = npt.NDArray[np.float64]


def random_matrices(sizes: torch.Tensor, sample_ids: list[int], epoch: int) -> Matrices:
    """Draw matrices `[N, 2, 3]` from tiles of `sizes` to `SIZE`, determined by sample id and epoch."""
    draws = np.stack([np.random.default_rng((epoch, sample_id)).random(5) for sample_id in sample_ids])
    angle, zoom, shift, mirror = draws[:, 0], draws[:, 1], draws[:, 2:4], draws[:, 4] < 0.5
    last = sizes.numpy()[:, ::-1] - 1.0  # x and y of the last pixel
    last_out = np.array(SIZE[::-1]) - 1.0
    scale = (last_out / last).max(axis=1) * between(*ZOOM, zoom)
    matrices = orbbec.get_rotation_matrix(last / 2, between(-LARGEST_ANGLE, LARGEST_ANGLE, angle), scale)
    matrices[:, :, 2] += (last_out - last) / 2 + between(-LARGEST_SHIFT, LARGEST_SHIFT, shift)
    mirrored = np.array([0, 0, last_out[0]]) - matrices[:, 0]
    matrices[:, 0] = np.where(mirror[:, None], mirrored, matrices[:, 0])
    return matrices


def between(low: float, high: float, draw: Matrices) -> Matrices:
    return low + (high - low) * draw


def warp_by_orbbec(batch: orbbec.ImageBatch, matrices: Matrices, device: str) -> torch.Tensor:
    """Warp all images in one call, to uint8 `[N, 3, height, width]` on the device."""
    batch = batch.to(device, non_blocking=True)
    return orbbec.warp_affine(
        batch, torch.from_numpy(matrices), SIZE, border="reflect101", arithmetic=ARITHMETIC
    )


def warp_by_cv2(images: list[Image], matrices: Matrices) -> npt.NDArray[np.uint8]:
    """Warp image by image, to uint8 `[N, height, width, 3]`."""
    warped = np.empty((len(images), *SIZE, 3), np.uint8)
    for image, matrix, target in zip(images, matrices, warped, strict=True):
        cv2.warpAffine(image, matrix, SIZE[::-1], dst=target, borderMode=cv2.BORDER_REFLECT_101)
    return warped
