"""More cases: colors, filters, mixing, noise, boxes and regions. Importing this module registers them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec import YCbCrBatch
from orbbec.batch.image_batch import rounded_up
from orbbec.data.decode.native import pack_scan, scan_size
from orbbec.jpeg.planes import jpeg_planes
from orbbec.noise.philox import philox_noise
from tests.gpu.model.cases import BATCH, Setting, Work, add, bytes_of, case, on_images, ragged
from tests.support.boxes import random_boxes

_FACTORS = [0.7, 1.3, 0.9, 1.1]
# So many images that the launch divides its work as it does for those of the modelled batch.
MANY: dict[str, Any] = {"executed": 40}


def adjusted(images: Any) -> Any:
    def prepare(setting: Setting) -> Work:
        batch, factors = images(setting), setting.each(_FACTORS)
        given = bytes_of(batch) if isinstance(batch, Tensor) else bytes_of(*batch.images())
        return Work(lambda: orbbec.adjust_brightness(batch, factors), given)

    return prepare


add(
    "adjust_u8",
    "adjust_brightness, uint8 HWC, 224",
    adjusted(lambda setting: setting.photos(224, 224, last=True)),
    **MANY,
)
add("adjust_u8_ragged", "adjust_brightness, ImageBatch of 240x320 to 427x640", adjusted(ragged), executed=16)
add(
    "convert_u8",
    "cvt_color RGB to HSV, uint8 HWC, 224",
    on_images(lambda x: orbbec.cvt_color(x, "RGB", "HSV"), last=True),
    **MANY,
)
add(
    "lut_u8",
    "lut, uint8 HWC, 224",
    on_images(lambda x: orbbec.lut(x, torch.arange(255, -1, -1).to(torch.uint8)), last=True),
    **MANY,
)
add(
    "normalize_u8_f32",
    "normalize, uint8 HWC to float32 NCHW, 224",
    on_images(orbbec.normalize, last=True),
    **MANY,
)
add("equalize_u8", "equalize, uint8 HWC, 224", on_images(orbbec.equalize, last=True))
add("clahe_u8", "clahe, uint8 HWC, 224", on_images(lambda x: orbbec.clahe(x, 2.0), last=True))


@case("channel_statistics, float32 NCHW, 224")
def statistics_f32(setting: Setting) -> Work:
    images = setting.photos(224, 224, torch.float32)
    pixels = images.shape[0] * images.shape[2] * images.shape[3]
    return Work(lambda: tuple(orbbec.channel_statistics(images)), bytes_of(images), outputs=lambda _: pixels)


F32 = {"dtype": torch.float32}
# All images are executed: how many planes a block takes depends on their number.
WHOLE: dict[str, Any] = {"executed": BATCH}
add(
    "gaussian5_u8",
    "gaussian_blur 5, uint8 NCHW, 224",
    on_images(lambda x: orbbec.gaussian_blur(x, 5, 1.5)),
    **WHOLE,
)
add(
    "gaussian5_f32",
    "gaussian_blur 5, float32 NCHW, 224",
    on_images(lambda x: orbbec.gaussian_blur(x, 5, 1.5), **F32),
)
add(
    "gaussian23_u8",
    "gaussian_blur 23, uint8 NCHW, 224",
    on_images(lambda x: orbbec.gaussian_blur(x, 23, 3.0)),
    **WHOLE,
)
add("box_u8", "box_blur 5, uint8 NCHW, 224", on_images(lambda x: orbbec.box_blur(x, 5)), **WHOLE)
for _size in (3, 5, 9):
    add(
        f"median{_size}_u8",
        f"median_blur {_size}, uint8 NCHW, 224",
        on_images(lambda x, size=_size: orbbec.median_blur(x, size)),
        executed=1,
    )
add(
    "jpeg_u8",
    "jpeg_compression quality 50, 4:2:0, uint8 HWC, 224",
    on_images(lambda x: orbbec.jpeg_compression(x, 50), last=True),
)


@case("mixup, uint8 NCHW, 224", **MANY)
def mixup_u8(setting: Setting) -> Work:
    images = setting.photos(224, 224)
    other, weights = setting.put(torch.arange(setting.count).roll(1)), setting.each([0.3, 0.6]).double()
    return Work(lambda: orbbec.mixup(images, other, weights), bytes_of(images))


@case("erase, a rectangle of 12 %, uint8 NCHW, 224")
def erase_u8(setting: Setting) -> Work:
    images, side = setting.photos(224, 224), setting.side(224)
    box = torch.tensor([side // 5, side // 4, side // 5 + side // 3, side // 4 + side // 3])
    boxes = setting.put(box.expand(setting.count, 4).contiguous())
    return Work(lambda: orbbec.erase(images, boxes, 114), bytes_of(images))


@case("gaussian_noise, uint8 NCHW, 224")
def noise_u8(setting: Setting) -> Work:
    images, ids = setting.photos(224, 224), setting.put(torch.arange(setting.count))
    return Work(lambda: orbbec.gaussian_noise(images, sample_ids=ids), bytes_of(images))


@case("philox_noise, uniform float32, 3 channels, 224")
def philox(setting: Setting) -> Work:
    ids, size = setting.put(torch.arange(setting.count)), setting.size(224, 224)
    return Work(lambda: philox_noise(ids, 3, size), bytes_of(ids))


def nms(count: int) -> Any:
    def prepare(setting: Setting) -> Work:
        number = setting.some(count)
        boxes, scores = (setting.put(tensor) for tensor in random_boxes(number))
        return Work(lambda: orbbec.nms(boxes, scores, 0.5), bytes_of(boxes, scores), "box", lambda _: number)

    return prepare


for _count in (1, 5, 20):
    add(f"nms_{_count}k", f"nms, {_count},000 boxes", nms(1000 * _count), executed=1, modelled=1)


@case("batched_nms with soft_nms, 80 classes of 250 boxes", executed=1, modelled=1)
def soft_nms_80x250(setting: Setting) -> Work:
    classes, each = setting.some(80), setting.some(250)
    boxes, scores = (setting.put(tensor) for tensor in random_boxes(classes * each))
    groups = setting.put(torch.arange(classes * each) % classes)
    options = {"type": "soft_nms", "iou_threshold": 0.3}
    call = lambda: orbbec.batched_nms(boxes, scores, groups, options)  # noqa: E731
    return Work(call, bytes_of(boxes, scores, groups), "box", lambda _: len(boxes))


# Regions: 512 per image on maps of 100 x 136; groups of 64 channels, of which two images have 8. Kernels take
# up to 64 channels at a time.
CHANNELS, IMAGES = 64, 8


def regions(setting: Setting) -> tuple[Tensor, Tensor]:
    """Maps `[1, C, H, W]` with 64 channels per group, and regions `[K, 5]`."""
    generator = torch.Generator().manual_seed(3)
    channels = 4 if setting.small else CHANNELS
    maps = torch.rand(1, channels * setting.count, *setting.size(100, 136), generator=generator)
    corner = torch.rand(setting.some(512), 2, generator=generator) * setting.side(600)
    sides = setting.side(40) + torch.rand(len(corner), 2, generator=generator) * setting.side(300)
    boxes = torch.cat([torch.zeros(len(corner), 1), corner, corner + sides], 1)
    return setting.put(maps), setting.put(boxes)


def pooled(backward: bool, call: Any) -> Any:
    def prepare(setting: Setting) -> Work:
        maps, boxes = regions(setting)
        maps.requires_grad_(backward)
        if not backward:
            return Work(
                lambda: call(maps, boxes), bytes_of(maps, boxes), "value", lambda result: result.numel()
            )
        result = call(maps, boxes)
        gradient = torch.rand(result.shape, generator=torch.Generator().manual_seed(4)).to(result.device)
        grad = lambda: torch.autograd.grad(result, maps, gradient, retain_graph=True)[0]  # noqa: E731
        return Work(grad, bytes_of(gradient, boxes), "value", lambda _: result.numel())

    return prepare


def align(maps: Tensor, boxes: Tensor) -> Tensor:
    return orbbec.roi_align(maps, boxes, 7, 0.125, 2)


GROUPS: dict[str, Any] = {"executed": 1, "modelled": IMAGES}
WHAT = "512 regions, 256 channels, two images, 7x7"
add("roi_align", f"roi_align, {WHAT}", pooled(False, align), **GROUPS)
add("roi_align_backward", f"gradient of roi_align, {WHAT}", pooled(True, align), **GROUPS)
add(
    "roi_pool_backward",
    f"gradient of roi_pool, {WHAT}",
    pooled(True, lambda m, b: orbbec.roi_pool(m, b, 7, 0.125)),
    **GROUPS,
)


def decoded(setting: Setting) -> tuple[Work, int]:
    """`jpeg_planes` of a JPEG, repeated; the bytes of its scans. Coefficients are no necessary bytes."""
    name = "tutorials/your_own_operator" if setting.small else "faces"
    data = (Path(__file__).parents[3] / "docs" / "images" / f"{name}.jpg").read_bytes()
    size = scan_size(data)
    memory = np.zeros(rounded_up(size.most_bytes), np.uint8)
    count = pack_scan(data, memory.ctypes.data)
    scans = torch.from_numpy(memory).repeat(setting.count)
    batch = YCbCrBatch.of_sizes([(size.height, size.width)] * setting.count, ["420"] * setting.count)
    box = 0, 0, size.width, size.height
    files = [(len(memory) * i, count, size.blocks * i, *box) for i in range(setting.count)]
    tensors = scans, torch.tensor(files), batch.buffer, batch.layout, batch.forms
    scans, table, planes, layout, forms = map(setting.put, tensors)
    planes.zero_()

    def call() -> Tensor:
        assert not jpeg_planes(scans, table, planes, layout, forms, size.blocks * setting.count).any()
        return planes

    pixels = size.height * size.width * setting.count
    work = Work(call, 0, outputs=lambda _: pixels)
    return work, count * setting.count


WHAT_JPEG = "of a JPEG of 354x1050 and 107 KB, 4:2:0"


@case(f"the kernel of jpeg_planes that decodes the codes {WHAT_JPEG}", kernel="units_kernel")
def jpeg_units(setting: Setting) -> Work:
    work, scans = decoded(setting)
    return replace(work, read_bytes=scans, written_bytes=0)


@case(f"the kernel of jpeg_planes that transforms the blocks {WHAT_JPEG}", kernel="blocks_kernel")
def jpeg_idct(setting: Setting) -> Work:
    return decoded(setting)[0]
