"""Runs a sample of calls of every kernel, for a checker of memory that looks on.

    compute-sanitizer python tools/sample_kernels.py     on CUDA
    python tools/sample_kernels.py --blocks              those whose threads share memory
    python tools/sample_kernels.py --device cpu          that this script works

Needs torch and NumPy alone.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import orbbec
from orbbec.augment import Output, Sampling, Values
from tests.support import photographs
from tests.support.boxes import random_boxes, random_rotated_boxes
from tests.support.samples import DTYPES
from tests.support.warps import ARITHMETICS, BORDERS, INTERPOLATIONS, WARPS, random_warps, warp

_CONTRAST = 6  # the step of a color program that needs the mean of the image
_MODES = ("nearest", "linear", "cubic", "area", "lanczos4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--blocks", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    given = photographs(2, 3, 33, 147).to(device)
    for images in (given, given / 255):
        resizes_and_blurs(images)
        colors(images)
    detections(device)
    if not options.blocks:
        warps(device)
        mixes_and_noise(photographs(4, 3, 33, 47).to(device))
        regions(device)
    if device.type == "cuda":
        torch.cuda.synchronize()
    print("every kernel ran")


def resizes_and_blurs(images: torch.Tensor) -> None:
    for mode in _MODES:
        orbbec.resize(images, (29, 131), interpolation=mode)
    orbbec.resize(images, (9, 31), antialias=True)
    for size in (3, 23, 101):  # of the last a tile is too large for shared memory
        orbbec.gaussian_blur(images, size, 2.0)
    orbbec.box_blur(images, 5)
    for size in (3, 5, 9):
        orbbec.median_blur(images, size)
    orbbec.sharpen(images, 0.5)
    orbbec.motion_blur(images, 9, 30.0)


def colors(images: torch.Tensor) -> None:
    for name in ("brightness", "contrast", "saturation", "gamma", "sharpness"):
        getattr(orbbec, f"adjust_{name}")(images, 0.7)
    orbbec.adjust_hue(images, 0.1)
    orbbec.cvt_color(images, "RGB", "HSV")
    orbbec.normalize(images, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    orbbec.channel_statistics(images)
    program = torch.zeros(1, 16)
    program[0, :2] = torch.tensor([_CONTRAST, 0.5])
    values, output = Values(colors=program.to(images.device), contrast=True), Output(torch.float32)
    orbbec.augment(images, torch.eye(3, device=images.device), (29, 131), values=values, output=output)
    if images.dtype == torch.uint8:
        for name in ("equalize", "equalize_hist", "autocontrast", "clahe"):
            getattr(orbbec, name)(images)
        for subsampling in ("444", "420"):
            orbbec.jpeg_compression(images, 50, subsampling=subsampling)


def mixes_and_noise(images: torch.Tensor) -> None:
    pair_indices = torch.tensor([1, 2, 3, 0])
    orbbec.mixup(images, pair_indices, 0.7)
    orbbec.cutmix(images, pair_indices, torch.tensor([3, 4, 21, 30]))
    orbbec.mosaic(images, pair_indices[None], torch.tensor([20, 10]), (31, 45))
    orbbec.erase(images, (3, 4, 21, 30), 7)
    orbbec.erase(images, (3, 4, 21, 30), noise="uniform")
    orbbec.gaussian_noise(images, 0.0, 0.1)
    orbbec.elastic_transform(images.float(), 20.0, 3.0)
    planes = orbbec.YCbCrBatch.of_sizes([(33, 47)] * 2, ["420", "444"])
    for plane in itertools.chain(planes.planes(0), planes.planes(1)):
        plane.fill_(100)
    there = planes.to(images.device)
    orbbec.ycbcr_to_rgb(there)
    for how in ("nearest", "linear", "cubic"):
        orbbec.augment(there, torch.eye(3), (29, 131), Sampling(how))


def warps(device: torch.device) -> None:
    for op, dtype, how, arithmetic in itertools.product(WARPS, DTYPES, INTERPOLATIONS, ARITHMETICS):
        images = photographs(2, 3, 33, 47, dtype).to(device)
        out = torch.zeros(2, 3, 29, 131, dtype=dtype, device=device)
        maps = random_warps(op, (33, 47), (29, 131), 2).to(device)
        for border in BORDERS:
            options = {"interpolation": how, "arithmetic": arithmetic, "border": border}
            warp(op, images, maps, (29, 131), **options, out=out)


def detections(device: torch.device) -> None:
    groups = torch.arange(1500, device=device) % 3
    for dtype in (torch.float32, torch.float64):
        boxes, scores = moved(random_boxes(1500, dtype=dtype), device)
        turned = random_rotated_boxes(1500, dtype=dtype)[0].to(device)
        orbbec.nms(boxes, scores, 0.5)
        orbbec.batched_nms(boxes, scores, groups, 0.5)
        orbbec.nms_rotated(turned, scores, 0.5)
        orbbec.soft_nms(boxes, scores)
        orbbec.matrix_nms(boxes, scores)
        orbbec.box_iou(boxes, boxes)
        orbbec.box_iou_rotated(turned, turned)


def regions(device: torch.device) -> None:
    index = torch.arange(40, device=device, dtype=torch.float32)[:, None] % 2
    upright, turned = (
        torch.cat((index, boxes[0].to(device) / 40), dim=1)
        for boxes in (random_boxes(40), random_rotated_boxes(40))
    )
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        maps = torch.rand(2, 20, 30, 31, dtype=dtype, device=device, requires_grad=True)
        for call, rois in (
            (orbbec.roi_align, upright),
            (orbbec.roi_pool, upright),
            (orbbec.roi_align_rotated, turned),
        ):
            call(maps, rois, 7).sum().backward()


def moved(tensors: Iterable[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    return [tensor.to(device) for tensor in tensors]


if __name__ == "__main__":
    main()
