"""Launches every kernel on small images and compares the results with the CPU's, bit for bit.

    python tools/sample_kernels.py                       on CUDA
    compute-sanitizer python tools/sample_kernels.py --unchecked     under a memory checker
    python tools/sample_kernels.py --unchecked --blocks  only kernels with shared memory
    python tools/sample_kernels.py --seconds 100         a part of each family, as much as fits
    python tools/sample_kernels.py --device cpu          to check the script itself

A family that fails does not stop the others; the exit status is then 1. Needs only torch and NumPy.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import orbbec
from orbbec import transforms as T
from orbbec.augment import Output, Sampling, Values
from orbbec.augment.crop import augment_crop
from orbbec.bridge.gradients.pairs import add_to_pairs
from orbbec.data.decode import native
from orbbec.jpeg.planes import jpeg_planes
from orbbec.noise import philox_noise
from tests.support import Device, assert_same_bytes, photographs
from tests.support.boxes import random_boxes, random_rotated_boxes
from tests.support.samples import DTYPES
from tests.support.warps import ARITHMETICS, BORDERS, INTERPOLATIONS, WARPS, random_warps, warp

_SIZE = (19, 41)  # no multiple of a tile, a warp or a vector
_CONTRAST = 6  # the step of a color program that needs the mean of the image
_MODES = ("nearest", "nearest_exact", "linear", "linear_exact", "cubic", "area", "lanczos4")
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SPACES = ("HSV", "HLS", "YCrCb", "YUV", "LAB", "GRAY", "BGR")

_JPEG = (  # 24x40, gray
    b"|JeWA07C#E78o2D6d)WL93&zjCNNMmFf1%EVn#|jP;_Q`cyeZNZh(-uoPda~if(YA+M=$$#Lm#pe466&;K=Z}%Ff3BzyJ#f0"
    b"2lx$0Ra&J|HJ?n009930RR91000000000000agD1^>hV8xQ~k00RL50000000000000020|5jP5+VQE00;pA002J#<4r|PMNLI"
    b"bMNLWBsHv!_sHv!_sXH|lH5D}#H8riLtFHI2d?r5g9m)UM"
)

Results = Iterator[tuple[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--unchecked", action="store_true", help="compare nothing with the CPU")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    options = parser.parse_args()
    device, families = Device(options.device), SHARING if options.blocks else FAMILIES
    end, failed = time.monotonic() + options.seconds, 0
    for number, family in enumerate(families):
        now = time.monotonic()
        share = max(0.0, end - now) / (len(families) - number)
        try:
            calls = f"{check(family, device, options.unchecked, now + share)} calls"
        except Exception as error:  # the other families are to run
            failed += 1
            calls = f"FAILED: {type(error).__name__}: {error}"
        print(f"{family.__name__}: {calls}", flush=True)
    if failed:
        sys.exit(1)


def check(
    family: Callable[[Device], Results], device: Device, unchecked: bool = False, end: float = math.inf
) -> int:
    """Makes the calls of a family on a device until `time.monotonic()` reaches `end`; returns their number.

    Raises:
        AssertionError: results are not the CPU's; names each of them.
    """
    with device.active():
        actual = list(until(end, family(device)))
    expected = actual if unchecked else itertools.islice(family(Device("cpu")), len(actual))
    wrong = [
        f"{name}: {difference}"
        for (name, result), (_, wanted) in zip(actual, expected, strict=True)
        if (difference := difference_of(result, wanted))
    ]
    if wrong:
        raise AssertionError("\n".join(wrong))
    return len(actual)


def until(end: float, results: Results) -> Results:
    """The results that begin before `end`, at least one."""
    for result in results:
        yield result
        if time.monotonic() >= end:
            return


def difference_of(result: Any, wanted: Any) -> str:
    """What differs; empty for the same bytes."""
    try:
        for a, b in zip(tensors_of(result), tensors_of(wanted), strict=True):
            assert_same_bytes(a.cpu(), b.cpu())
    except (AssertionError, ValueError) as error:
        return str(error)
    return ""


def tensors_of(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, orbbec.ImageBatch):
        return result.images()
    return [] if result is None else [tensor for part in result for tensor in tensors_of(part)]


def made(device: Device, dtypes: Iterable[torch.dtype] = DTYPES, count: int = 2) -> Iterator[tuple[str, Any]]:
    """Images of each dtype on the device, then a batch of variable-size images."""
    for dtype in dtypes:
        images = photographs(count, 3, *_SIZE, dtype)
        yield str(dtype), device.put(images / 200 if dtype.is_floating_point else images)
    if torch.uint8 in dtypes:
        rows = [photographs(1, 3, _SIZE[0] + n, _SIZE[1], seed=n)[0].permute(1, 2, 0) for n in range(count)]
        batch = orbbec.ImageBatch.from_images([*rows, rows[0].flip(0)])
        yield "variable-size", batch.to("cuda") if device.name == "cuda" else batch


def with_gradients(call: Any, images: Any, *others: Any) -> list[torch.Tensor]:
    """What the call gives, and the gradients of what requires one."""
    inputs = [given.detach().requires_grad_() for given in (images, *others)]
    output = call(*inputs)
    weights = torch.arange(output.numel(), device=output.device) % 7
    output.backward(weights.reshape(output.shape).to(output.dtype))
    return [output.detach(), *(given.grad for given in inputs)]


def resizes(device: Device) -> Results:
    sizes = {"upscaled": (29, 131), "downscaled": (9, 31)}
    for (kind, images), (scale, size) in itertools.product(made(device), sizes.items()):
        for mode in _MODES:
            yield f"resize {kind} {scale} {mode}", orbbec.resize(images, size, interpolation=mode)
        for mode in ("box", "linear", "hamming", "cubic", "lanczos"):
            yield (
                f"resize {kind} {scale} {mode}, antialias",
                orbbec.resize(images, size, interpolation=mode, antialias=True),
            )
    for dtype in DTYPES:  # no output pixel has more than two taps along y
        low = device.put(photographs(2, 3, 2, 41, dtype))
        yield f"resize {dtype} of two rows", orbbec.resize(low, (3, 31), antialias=True)
    packed = device.put(photographs(2, 3, 40, 90).contiguous(memory_format=torch.channels_last))
    yield "resize of packed pixels, area", orbbec.resize(packed, (17, 41), interpolation="area")
    yield "resize of packed pixels, antialias", orbbec.resize(packed, (17, 41), antialias=True)
    for (kind, images), (scale, size) in itertools.product(made(device, _FLOATS[2:]), sizes.items()):
        for antialias in (False, True):
            yield (
                f"gradient of resize {kind} {scale} {antialias}",
                with_gradients(
                    lambda x, size=size, antialias=antialias: orbbec.resize(x, size, antialias=antialias),
                    images,
                ),
            )


def filters(device: Device) -> Results:
    for kind, images in made(device):
        for size in (3, 23):
            yield f"gaussian_blur {kind} {size}", orbbec.gaussian_blur(images, size, 2.0)
        yield f"box_blur {kind}", orbbec.box_blur(images, 5)
        for size in (3, 5, 9):
            yield f"median_blur {kind} {size}", orbbec.median_blur(images, size)
        yield f"sharpen {kind}", orbbec.sharpen(images, 0.5)
        yield f"motion_blur {kind}", orbbec.motion_blur(images, 9, 30.0)
    for kind, images in made(device, (torch.uint8,)):
        yield f"pillow_blur {kind}", [orbbec.pillow_blur(images, radius) for radius in (0.5, 9.0)]
    small = device.put(photographs(1, 1, 5, 9))
    yield "gaussian_blur 101", orbbec.gaussian_blur(small, 101, 2.0)  # a tile needs too much shared memory
    yield "box_blur 301", orbbec.box_blur(small, 301)  # sums of more bytes than 16 bits hold


def colors(device: Device) -> Results:
    for kind, images in made(device, (torch.uint8, *_FLOATS)):
        for name in ("brightness", "contrast", "saturation", "gamma", "sharpness"):
            yield f"adjust_{name} {kind}", getattr(orbbec, f"adjust_{name}")(images, 0.7)
        yield f"adjust_hue {kind}", orbbec.adjust_hue(images, 0.1)
        yield f"invert {kind}", orbbec.invert(images)
        yield f"posterize {kind}", orbbec.posterize(images, 3)
        yield f"solarize {kind}", orbbec.solarize(images, 0.5)
        yield f"channel_statistics {kind}", orbbec.channel_statistics(images)
    sparse = device.put(photographs(2, 3, *_SIZE))[..., ::2]
    yield "adjust_sharpness of every second column", orbbec.adjust_sharpness(sparse, 0.7)
    for kind, images in made(device, (torch.uint8, *_FLOATS[:3])):
        for space in _SPACES:
            if space == "LAB" and kind not in ("torch.uint8", "variable-size"):
                continue
            there = orbbec.cvt_color(images, "RGB", space)
            yield f"cvt_color {kind} to {space}", there
            if space != "GRAY" or kind != "variable-size":  # these cannot gain channels
                yield f"cvt_color {kind} from {space}", orbbec.cvt_color(there, space, "RGB")
    for (kind, images), dtype in itertools.product(made(device), _FLOATS):
        if kind != "variable-size":
            yield f"normalize {kind} to {dtype}", orbbec.normalize(images, dtype=dtype)


def tables(device: Device) -> Results:
    for kind, images in made(device, (torch.uint8,)):
        for name in ("equalize", "equalize_hist", "autocontrast", "clahe"):
            yield f"{name} {kind}", getattr(orbbec, name)(images)
        yield f"lut {kind}", orbbec.lut(images, device.put(torch.arange(255, -1, -1, dtype=torch.uint8)))
        for subsampling in ("444", "420"):
            yield f"jpeg {kind} {subsampling}", orbbec.jpeg_compression(images, 50, subsampling=subsampling)
    gray = device.put(photographs(2, 1, *_SIZE))
    yield "jpeg of gray", orbbec.jpeg_compression(gray, 50)
    for channels in (2, 4):
        packed = photographs(2, channels, *_SIZE).contiguous(memory_format=torch.channels_last)
        yield f"clahe of {channels} channels", orbbec.clahe(device.put(packed))


def mixes(device: Device) -> Results:
    pairs, box = torch.tensor([1, 2, 3, 0]), torch.tensor([3, 4, 38, 15])
    for kind, images in made(device, count=4):
        if kind == "variable-size":  # the first and the last have one size
            pairs = torch.tensor([4, 1, 2, 3, 0])
        yield f"mixup {kind}", orbbec.mixup(images, pairs, 0.7)
        yield f"cutmix {kind}", orbbec.cutmix(images, pairs, box)
        yield f"mosaic {kind}", orbbec.mosaic(images, pairs[None, :4], torch.tensor([20, 10]), (31, 45))
        nine = pairs[torch.arange(9) % 4][None]
        yield f"mosaic of nine {kind}", orbbec.mosaic(images, nine, torch.tensor([20, 10]), (31, 45))
        for fraction, mask in (("hard", torch.uint8), ("soft", torch.float32)):
            masks = device.put((photographs(4, 1, *_SIZE)[:, 0] > 90).to(mask))
            if kind != "variable-size":
                yield f"copy_paste {kind} {fraction}", orbbec.copy_paste(images, pairs, masks)
        if kind == "variable-size":
            of_batch = orbbec.cvt_color(images, "RGB", "GRAY")
            yield f"copy_paste {kind}", orbbec.copy_paste(images, pairs, of_batch)
        else:
            yield f"add_to_pairs {kind}", add_to_pairs(images, images, pairs.to(images.device))


def noises(device: Device) -> Results:
    for kind, images in made(device):
        yield f"erase {kind}", orbbec.erase(images, (3, 4, 38, 15), 7)
        if kind != "variable-size":
            every_other = images.repeat_interleave(2, -1)[..., ::2]
            yield f"erase {kind}, strided", orbbec.erase(every_other, (3, 4, 38, 15), 7, out=every_other)
        for noise in ("uniform", "normal"):
            yield f"erase {kind} {noise}", orbbec.erase(images, (3, 4, 38, 15), noise=noise)
    for kind, images in made(device, (torch.uint8, *_FLOATS)):
        yield f"gaussian_noise {kind}", orbbec.gaussian_noise(images, 0.0, 0.1)
        yield f"salt_and_pepper {kind}", orbbec.salt_and_pepper(images, 0.4, 0.3)
        yield f"shot_noise {kind}", [orbbec.shot_noise(images, scale) for scale in (0.2, 0.01)]
    for noise in ("uniform", "normal"):
        yield f"philox_noise {noise}", philox_noise(device.put(torch.arange(2)), 3, _SIZE, kind=noise)
    for dtype in _FLOATS[2:]:
        images = device.put(photographs(2, 3, *_SIZE, dtype))
        yield f"elastic_transform {dtype}", orbbec.elastic_transform(images, 20.0, 3.0)


def augments(device: Device) -> Results:
    """With a matrix of both precisions; contrast needs a pass of its own."""
    program = torch.zeros(1, 16)
    program[0, :2] = torch.tensor([_CONTRAST, 0.5])
    values = Values(colors=device.put(program), contrast=True)
    matrix = torch.eye(3)
    for kind, images in made(device, (torch.uint8, *_FLOATS[:3])):
        for how, value in itertools.product(("nearest", "linear", "cubic"), (Values(), values)):
            yield (
                f"augment {kind} {how} {value.contrast}",
                orbbec.augment(
                    images, device.put(matrix), (29, 45), Sampling(how), value, Output(torch.float32)
                ),
            )


def crops(device: Device) -> Results:
    """Packed pixels are resized and augmented in one kernel, or in two for contrast."""
    program = torch.zeros(1, 16)
    program[0, :2] = torch.tensor([_CONTRAST, 0.5])
    values = Values(colors=device.put(program), contrast=True)
    packed = device.put(photographs(2, 3, 40, 90).contiguous(memory_format=torch.channels_last))
    boxes = device.put(torch.tensor([[3.0, 2.0, 85.0, 38.0]] * 2))
    for value in (Values(), values):
        yield f"augment_crop {value.contrast}", augment_crop(packed, boxes, (17, 23), values=value)


def scans(device: Device) -> Results:
    data = base64.b85decode(_JPEG)
    size = native.scan_size(data)
    memory = torch.zeros(size.most_bytes, dtype=torch.uint8)
    count = native.pack_scan(data, memory.data_ptr())
    batch = device.put(orbbec.YCbCrBatch.of_sizes([(24, 40)], ["gray"]))
    rows = device.put(torch.tensor([[0, count, 0, 0, 0, 40, 24]]))
    tables = rows, batch.buffer, batch.layout, batch.forms
    flags = jpeg_planes(device.put(memory), *tables, size.blocks, unit_bits=128)
    yield "jpeg_planes", (flags, batch.planes(0)[0])


def planes(device: Device) -> Results:
    stored = orbbec.YCbCrBatch.of_sizes([(33, 47)] * 2, ["420", "444"])
    for index, plane in enumerate(itertools.chain(stored.planes(0), stored.planes(1))):
        plane.copy_(photographs(1, 1, *plane.shape, seed=index)[0, 0])
    there = stored.to("cuda") if device.name == "cuda" else stored
    yield "ycbcr_to_rgb", orbbec.ycbcr_to_rgb(there)
    for how, contrast in itertools.product(("nearest", "linear", "cubic"), (False, True)):
        program = torch.zeros(1, 16)
        program[0, :2] = torch.tensor([_CONTRAST if contrast else 0, 0.5])
        values = Values(colors=device.put(program), contrast=contrast)
        yield f"augment of planes {how}", orbbec.augment(there, torch.eye(3), (29, 45), Sampling(how), values)
    normalized = Values(mean=0.5, std=0.5), Output(torch.float32)
    for how in ("nearest", "linear"):
        result = orbbec.augment(there, torch.eye(3), (29, 45), Sampling(how), *normalized)
        yield f"augment of planes {how}, normalized", result


def warps(device: Device) -> Results:
    for op, dtype, how, arithmetic in itertools.product(WARPS, DTYPES, INTERPOLATIONS, ARITHMETICS):
        images = device.put(photographs(2, 3, 23, 35, dtype))
        maps = device.put(random_warps(op, (23, 35), (11, 37), 2))
        for border in BORDERS:
            options = {"interpolation": how, "arithmetic": arithmetic, "border": border}
            out = device.put(torch.zeros(2, 3, 11, 37, dtype=dtype))
            yield f"{op} {dtype} {options}", warp(op, images, maps, (11, 37), **options, out=out)
    for op, dtype, how, arithmetic in itertools.product(WARPS, _FLOATS, INTERPOLATIONS[:2], ARITHMETICS):
        images = device.put(photographs(2, 3, 23, 35, dtype))
        for precision in (torch.float32, torch.float64):
            maps = device.put(random_warps(op, (23, 35), (11, 37), 2).to(precision))
            options = {"interpolation": how, "arithmetic": arithmetic}
            yield (
                f"gradient of {op} {dtype} {options} {precision}",
                with_gradients(
                    lambda x, m, op=op, options=options: warp(op, x, m, (11, 37), **options), images, maps
                ),
            )


def detections(device: Device) -> Results:
    count = 1100  # more than a tile of nms
    groups = device.put(torch.arange(count) % 3)
    for dtype in (torch.float32, torch.float64):
        boxes, scores = (device.put(tensor) for tensor in random_boxes(count, dtype=dtype))
        rotated = device.put(random_rotated_boxes(count, dtype=dtype)[0])
        yield f"nms {dtype}", orbbec.nms(boxes, scores, 0.5)
        yield f"batched_nms {dtype}", orbbec.batched_nms(boxes, scores, groups, 0.5)
        yield f"nms_rotated {dtype}", orbbec.nms_rotated(rotated, scores, 0.5)
        yield f"soft_nms {dtype}", orbbec.soft_nms(boxes[:300], scores[:300])
        yield f"matrix_nms {dtype}", orbbec.matrix_nms(boxes, scores)
        for name in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
            yield f"{name} {dtype}", getattr(orbbec, name)(boxes[:90], boxes[:90])
        yield f"box_iou_rotated {dtype}", orbbec.box_iou_rotated(rotated[:90], rotated[:90])
        corners = orbbec.box_convert(rotated, "cxcywha", "xyxyxyxy")
        yield f"box_convert {dtype}", (corners, orbbec.box_convert(corners, "xyxyxyxy", "cxcywha"))
    if device.name != "cpu":
        assert torch.ops.orbbec.cuda_self_test(0) == ""


def regions(device: Device) -> Results:
    index = torch.arange(40, dtype=torch.float32)[:, None] % 2
    upright, rotated = (
        device.put(torch.cat((index, boxes[0] / 40), dim=1))
        for boxes in (random_boxes(40), random_rotated_boxes(40))
    )
    for dtype in _FLOATS:
        maps = device.put(photographs(2, 5, 30, 31, dtype))
        for call, rois in (
            (orbbec.roi_align, upright),
            (orbbec.roi_pool, upright),
            (orbbec.roi_align_rotated, rotated),
        ):
            yield f"{call.__name__} {dtype}", with_gradients(lambda x, f=call, r=rois: f(x, r, 7), maps)
        for call, rois, samples in (
            (orbbec.roi_align, upright, 2),
            (orbbec.roi_align, upright, 4),
            (orbbec.roi_align_rotated, rotated, 2),
        ):
            yield (
                f"{call.__name__} {dtype}, {samples} samples per bin",
                with_gradients(lambda x, f=call, r=rois, s=samples: f(x, r, 7, 1.0, s), maps),
            )
        many = maps.repeat(1, 70, 1, 1)
        for samples in (0, 2):
            few = orbbec.roi_align(many, upright[:20], 7, 1.0, samples)
            yield f"roi_align {dtype} of many channels, {samples} samples per bin", few


def draws(device: Device) -> Results:
    crop, small = T.RandomResizedCrop((20, 23), antialias=False), T.CenterCrop((20, 23))
    pipelines = {
        "crop": [crop, T.RandomHorizontalFlip(), T.RandomErasing(1.0)],
        "antialiased crop": [T.RandomResizedCrop((20, 23)), T.RandomHorizontalFlip()],
        "warps": [T.RandomScale((0.9, 1.4), antialias=False), T.RandomAffine(20, (0.1, 0.1)), small],
        "colors": [crop, T.RandomPhotometricDistort(), T.RandomApply([T.Gamma()], 0.5)],
        "lights": [crop, T.Vignetting(), T.Illumination(), T.Illumination("gaussian"), T.RandomShadow(p=1.0)],
        "chosen": [crop, T.RandomOrder([T.RandomInvert(), T.RandomSolarize(99), T.RandomGrayscale()])],
    }
    images = device.put(photographs(3, 3, *_SIZE, torch.uint8))
    for name, transforms in pipelines.items():
        yield f"draw {name}", T.Compose(transforms, seed=2)(images, epoch=1)


SHARING = (resizes, filters, colors, tables, detections)  # their threads share memory
FAMILIES = (*SHARING, warps, mixes, noises, augments, crops, planes, scans, draws, regions)

if __name__ == "__main__":
    main()
