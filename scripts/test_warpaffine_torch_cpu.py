"""`affine_torch` on the CPU, with one matrix per image, compared with cv2. Exits with 1 if they differ."""

import sys

import cv2
import numpy as np
import torch
from comparison import is_same, photograph_and_matrices, save_side_by_side

from orbbec import affine_torch


def main() -> bool:
    photograph, maps = photograph_and_matrices()
    height, width = photograph.shape[:2]
    all_same = True
    for dtype in (np.uint8, np.float32):
        image = photograph.astype(dtype)
        images = torch.from_numpy(np.stack([image] * len(maps))).permute(0, 3, 1, 2)  # [N, 3, height, width]
        matrices = torch.from_numpy(maps)

        actual = affine_torch(images, matrices, height, width)

        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        expected = np.stack([cv2.warpAffine(image, one, (width, height), flags=flags) for one in maps])
        warped = actual.permute(0, 2, 3, 1).numpy()
        all_same &= is_same(f"the CPU and cv2 {cv2.__version__}, {dtype.__name__}", warped, expected)
    save_side_by_side(
        "test_warpaffine_torch_cpu", [photograph, warped[1].astype(np.uint8), expected[1].astype(np.uint8)]
    )
    return all_same


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
