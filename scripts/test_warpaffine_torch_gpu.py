"""`affine_torch` on the GPU, with one matrix per image, compared with cv2. Exits with 1 if they differ.

Without a GPU, it prints that nothing was compared, and exits with 0.
"""

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

        actual = affine_torch(images.cuda(), matrices.cuda(), height, width)

        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        expected = np.stack([cv2.warpAffine(image, one, (width, height), flags=flags) for one in maps])
        warped = actual.permute(0, 2, 3, 1).cpu().numpy()
        all_same &= is_same(f"the GPU and cv2 {cv2.__version__}, {dtype.__name__}", warped, expected)
        on_cpu = affine_torch(images, matrices, height, width)
        all_same &= is_same(f"the GPU and the CPU, {dtype.__name__}", actual.cpu().numpy(), on_cpu.numpy())
    save_side_by_side(
        "test_warpaffine_torch_gpu", [photograph, warped[1].astype(np.uint8), expected[1].astype(np.uint8)]
    )
    return all_same


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("NOT TESTED: torch finds no GPU here, so nothing was compared; see `python -m orbbec doctor`")
        sys.exit(0)
    sys.exit(0 if main() else 1)
