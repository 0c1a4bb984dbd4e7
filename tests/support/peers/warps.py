"""The warps compared with OpenCV's. Needs `cv2`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from tests.support import warps
from tests.support.compare import assert_same_bytes
from tests.support.device import Device
from tests.support.peers import opencv, parity
from tests.support.samples import photograph

Sizes = tuple[tuple[int, int], tuple[int, int]]  # of an image and of its output

ARITHMETIC = opencv.arithmetic()
SIZES: list[Sizes] = [((2, 3), (7, 13)), ((33, 40), (31, 17)), ((64, 48), (20, 150))]
FILL = (7.5, 300.0, -3.25, 114.0)


def promised_cells(op: str) -> list[parity.Cell]:
    """The combinations in which `op` promises OpenCV's bytes."""
    return [cell for cell in parity.cells() if cell.op == op and parity.is_promised(cell, ARITHMETIC)]


def random_map(op: str, source: tuple[int, int], target: tuple[int, int], seed: int = 0) -> Array:
    """A matrix or positions in OpenCV's form; see `warps.random_warps`."""
    map = warps.random_warps(op, source, target, seed=seed)
    return (map.float() if op == "remap" else map).numpy()


def warp(
    device: Device, op: str, image: Array, map: Array, size: tuple[int, int], out: Array, **options: Any
) -> Array:
    """One image `[H, W, C]` through the operator on the device."""

    def put(array: Array) -> Tensor:
        return device.put(torch.from_numpy(array).permute(2, 0, 1)[None])

    result = warps.warp(op, put(image), map, size, out=put(out), arithmetic=ARITHMETIC, **options)
    pixels: Array = result[0].permute(1, 2, 0).cpu().numpy()
    return pixels


def assert_as_opencv(
    device: Device, op: str, image: Array, map: Array, size: tuple[int, int], **options: Any
) -> Array:
    """The output for one image, checked to have OpenCV's bytes."""
    expected = opencv.warp(op, image, map, size, **options)
    before = np.zeros((*size, image.shape[2]), image.dtype)
    actual = warp(device, op, image, map, size, before, **options)
    assert_same_bytes(actual, expected)
    return actual


def assert_cell_as_opencv(device: Device, cell: parity.Cell, sizes: Sequence[Sizes] = SIZES) -> None:
    """Images of several sizes and numbers of channels have OpenCV's bytes."""
    for seed, (source, target) in enumerate(sizes):
        for channels in (1, 3, 4):
            image = photograph(*source, channels, cell.dtype, seed)
            map = random_map(cell.op, source, target, seed)
            before = photograph(*target, channels, cell.dtype, seed + 9)
            options: dict[str, Any] = {
                "interpolation": cell.interpolation,
                "border": cell.border,
                "fill": FILL[:channels],
            }
            expected = opencv.warp(cell.op, image, map, target, out=before, **options)
            assert_same_bytes(warp(device, cell.op, image, map, target, before.copy(), **options), expected)


def assert_planes_as_opencv(device: Device, op: str, channels: int, interpolation: str) -> None:
    """Each plane of an image of any number of channels has OpenCV's bytes."""
    image, before = photograph(40, 50, channels), np.zeros((30, 70, channels), np.uint8)
    map = random_map(op, (40, 50), (30, 70))
    options: dict[str, Any] = {"interpolation": interpolation, "fill": [10.0 * c for c in range(channels)]}
    expected = opencv.warp_planes(op, image, map, (30, 70), **options)
    assert_same_bytes(warp(device, op, image, map, (30, 70), before, **options), expected)


def assert_photograph_as_opencv(device: Device, op: str) -> None:
    """A photograph of full size has OpenCV's bytes."""
    map = random_map(op, (480, 641), (333, 517), 3)
    assert_as_opencv(device, op, photograph(480, 641), map, (333, 517), fill=114)
