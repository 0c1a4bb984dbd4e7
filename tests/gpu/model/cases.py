"""The cases of the model: operator calls at realistic sizes, by name. Needs torch and NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec.augment import Output, Sampling, Values
from tests.support import photographs

BATCH = 256  # images of the modelled call
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Setting:
    """How much of a case to prepare."""

    count: int  # images, or what else the case repeats
    small: bool = False
    device: str = "cpu"

    def side(self, pixels: int) -> int:
        """A length in pixels; a quarter of it in a small case."""
        return max(8, pixels // 4) if self.small else pixels

    def size(self, height: int, width: int) -> tuple[int, int]:
        return self.side(height), self.side(width)

    def some(self, number: int) -> int:
        """A number of boxes; a tenth of it in a small case."""
        return max(1, number // 10) if self.small else number

    def put(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.device)

    def photos(
        self, height: int, width: int, dtype: torch.dtype = torch.uint8, *, last: bool = False
    ) -> Tensor:
        """A batch of photographs with three channels, floats from 0 to 1; a few of them, repeated."""
        own = photographs(min(self.count, 4), 3, *self.size(height, width), torch.uint8)
        batch = own.repeat(-(-self.count // len(own)), 1, 1, 1)[: self.count]
        batch = batch if dtype == torch.uint8 else batch.to(dtype) / 255
        return self.put(batch.contiguous(memory_format=torch.channels_last) if last else batch)

    def each(self, values: list[float]) -> Tensor:
        """One of these values per image, in turn."""
        return self.put(torch.tensor([values[n % len(values)] for n in range(self.count)]))


@dataclass(frozen=True)
class Work:
    """A prepared call."""

    call: Callable[[], Any]
    read_bytes: int  # of its inputs, each once
    unit: str = "pixel"  # of its output
    outputs: Callable[[Any], int] = lambda result: pixels_of(result)
    written_bytes: int | None = None  # of its outputs, each once; None: those of the result


@dataclass(frozen=True)
class Case:
    """A call that can be prepared at any batch size."""

    name: str
    what: str
    prepare: Callable[[Setting], Work]
    executed: int = 2  # its batch on the executor
    modelled: int = BATCH
    kernel: str = ""  # of several, the one whose launches are counted


def pixels_of(result: Any) -> int:
    """Pixels of a batch of images."""
    if isinstance(result, Tensor):
        return math.prod(result.shape[-2:]) * math.prod(result.shape[:-3])
    return sum(image.shape[0] * image.shape[1] for image in result.images())


def bytes_of(*tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


CASES: dict[str, Case] = {}


def case(what: str, **options: Any) -> Callable[[Callable[[Setting], Work]], Callable[[Setting], Work]]:
    """Registers a function that prepares a case under its own name."""

    def register(prepare: Callable[[Setting], Work]) -> Callable[[Setting], Work]:
        name = prepare.__name__
        CASES[name] = Case(name, what, prepare, **options)
        return prepare

    return register


def add(name: str, what: str, prepare: Callable[[Setting], Work], **options: Any) -> None:
    CASES[name] = Case(name, what, prepare, **options)


def on_images(call: Callable[[Any], Any], height: int = 224, width: int = 224, **photos: Any) -> Any:
    """A call of a batch of images and nothing else."""

    def prepare(setting: Setting) -> Work:
        images = setting.photos(height, width, **photos)
        return Work(lambda: call(images), bytes_of(images))

    return prepare


# Warps: 512 x 512 to 224 x 224, rotated by 10 and -20 degrees. So many images are executed that the launch
# has as many rows per block as one of BATCH images: see kFullBlocks of warp_cuda.h.
WARPS = 112


def rotations(setting: Setting, source: int, target: int) -> Tensor:
    """Float64 `[N, 2, 3]`: from output to source pixels."""
    scale, centre = source / target, setting.side(source) / 2
    half = scale * setting.side(target) / 2
    matrices = []
    for n in range(setting.count):
        cos, sin = np.cos(angle := np.deg2rad((10, -20)[n % 2])), np.sin(angle)
        a, b = scale * cos, scale * sin
        matrices.append([[a, -b, centre - half * (cos - sin)], [b, a, centre - half * (cos + sin)]])
    return setting.put(torch.tensor(np.array(matrices)))


def warp(how: str = "linear", dtype: torch.dtype = torch.uint8, last: bool = False) -> Any:
    def prepare(setting: Setting) -> Work:
        images, matrices = setting.photos(512, 512, dtype, last=last), rotations(setting, 512, 224)
        size = setting.size(224, 224)
        call = lambda: orbbec.warp_affine(images, matrices, size, inverse=True, interpolation=how)  # noqa: E731
        return Work(call, bytes_of(images, matrices))

    return prepare


add("warp_affine_u8_hwc", "warp_affine linear, uint8 HWC, 512 to 224", warp(last=True), executed=WARPS)
add("warp_affine_u8_nchw", "warp_affine linear, uint8 NCHW, 512 to 224", warp(), executed=WARPS)
add(
    "warp_affine_f32_nchw",
    "warp_affine linear, float32 NCHW, 512 to 224",
    warp(dtype=torch.float32),
    executed=WARPS,
)
add(
    "warp_affine_u8_cubic",
    "warp_affine cubic, uint8 HWC, 512 to 224",
    warp("cubic", last=True),
    executed=WARPS,
)
add(
    "warp_affine_u8_lanczos4",
    "warp_affine lanczos4, uint8 HWC, 512 to 224",
    warp("lanczos4", last=True),
    executed=WARPS,
)


@case("warp_perspective linear, uint8 HWC, 512 to 224", executed=WARPS)
def warp_perspective_u8_hwc(setting: Setting) -> Work:
    images, affine = setting.photos(512, 512, last=True), rotations(setting, 512, 224)
    last_row = setting.put(torch.tensor([[2e-4, 1e-4, 1.0]], dtype=torch.float64))
    matrices = torch.cat([affine, last_row.expand(setting.count, 1, 3)], 1)
    size = setting.size(224, 224)
    call = lambda: orbbec.warp_perspective(images, matrices, size, inverse=True)  # noqa: E731
    return Work(call, bytes_of(images, matrices))


@case("remap linear, uint8 HWC, 224, one map per image", executed=WARPS)
def remap_u8(setting: Setting) -> Work:
    images, (height, width) = setting.photos(224, 224, last=True), setting.size(224, 224)
    y, x = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
    wave = 3 * torch.sin(x / 9) * torch.cos(y / 11)
    map_x = setting.put((x + wave).expand(setting.count, -1, -1).contiguous())
    map_y = setting.put((y - wave).expand(setting.count, -1, -1).contiguous())
    return Work(lambda: orbbec.remap(images, map_x, map_y), bytes_of(images, map_x, map_y))


@case("gradients of warp_affine for float32 images and matrices, 512 to 224")
def warp_affine_backward(setting: Setting) -> Work:
    images = setting.photos(512, 512, torch.float32).requires_grad_()
    matrices = rotations(setting, 512, 224).float().requires_grad_()
    result = orbbec.warp_affine(images, matrices, setting.size(224, 224), inverse=True)
    gradient = torch.rand(result.shape, generator=torch.Generator().manual_seed(1)).to(images.device)
    call = lambda: torch.autograd.grad(result, (images, matrices), gradient, retain_graph=True)  # noqa: E731
    return Work(call, bytes_of(images, gradient), outputs=lambda _: pixels_of(result))


def resize(size: tuple[int, int], how: str, *, antialias: bool = False) -> Any:
    def prepare(setting: Setting) -> Work:
        images, target = setting.photos(*size, last=True), setting.size(224, 224)
        call = lambda: orbbec.resize(images, target, interpolation=how, antialias=antialias)  # noqa: E731
        return Work(call, bytes_of(images))

    return prepare


add("resize_u8_linear", "resize linear, uint8 HWC, 375x500 to 224", resize((375, 500), "linear"))
add("resize_u8_area", "resize area, uint8 HWC, 512 to 224", resize((512, 512), "area"))
add(
    "resize_u8_antialias",
    "resize antialiased, uint8 HWC, 375x500 to 224",
    resize((375, 500), "linear", antialias=True),
)
add("resize_u8_cubic", "resize cubic, uint8 HWC, 375x500 to 224", resize((375, 500), "cubic"))

# augment: variable-size images, a random crop of each resized to 224, half of them flipped, normalized.
SIZES = ((375, 500), (500, 333), (427, 640), (240, 320))
_MATRIX, _HUE, _CONTRAST = 1, 2, 6  # codes of a color row, see `orbbec.augment.Values`


def image_sizes(setting: Setting) -> list[tuple[int, int]]:
    return [setting.size(*SIZES[n % len(SIZES)]) for n in range(setting.count)]


def ragged(setting: Setting) -> Any:
    images = [
        photographs(1, 3, *size)[0].permute(1, 2, 0).contiguous()
        for size in dict.fromkeys(image_sizes(setting))
    ]
    batch = orbbec.ImageBatch.from_images([images[n % len(images)] for n in range(setting.count)])
    return batch.to(setting.device) if setting.device != "cpu" else batch


def crops(setting: Setting, target: int) -> tuple[Tensor, Tensor, int]:
    """Regions `[N, 4]`, matrices from output to region `[N, 2, 3]`, and the pixels of all regions."""
    regions, matrices = [], []
    for n, (height, width) in enumerate(image_sizes(setting)):
        rng = np.random.default_rng(n % len(SIZES))
        h, w = (int(side * rng.uniform(0.5, 1)) for side in (height, width))
        top, left = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
        regions.append([left, top, left + w, top + h])
        x, y = w / target, h / target
        flipped = n % 2 == 1
        first = [-x if flipped else x, 0, x / 2 - 0.5 + (target - 1) * x * flipped]
        matrices.append([first, [0, y, y / 2 - 0.5]])
    table = torch.tensor(regions)
    area = int(((table[:, 2] - table[:, 0]) * (table[:, 3] - table[:, 1])).sum())
    return setting.put(table), setting.put(torch.tensor(matrices)), area


def color_program(setting: Setting) -> Tensor:
    """ColorJitter: brightness, contrast, saturation, hue, per image; float32 `[N, 4, 16]`."""
    gray = np.array([0.299, 0.587, 0.114])
    rows = np.zeros((setting.count, 4, 16), np.float32)
    for n, program in enumerate(rows):
        factor = 0.8 + 0.1 * (n % 5)
        program[0, :10] = [_MATRIX, *(factor * np.eye(3)).ravel()]
        program[1, :2] = [_CONTRAST, factor]
        program[2, :10] = [_MATRIX, *(factor * np.eye(3) + (1 - factor) * gray).ravel()]
        program[3, :2] = [_HUE, 0.02 * (n % 5) - 0.04]
    return setting.put(torch.from_numpy(rows))


def augmented(dtype: torch.dtype = torch.float32, *, colored: bool = False, planes: bool = False) -> Any:
    def prepare(setting: Setting) -> Work:
        target = setting.side(224)
        images = ycbcr(setting) if planes else ragged(setting)
        regions, matrices, area = crops(setting, target)
        colors = color_program(setting) if colored else None
        sampling = Sampling(border="replicate", regions=regions)
        values = Values(colors=colors, mean=MEAN, std=STD, contrast=colored)
        if dtype == torch.uint8:
            values = Values()
        output = Output(dtype, channels_last=dtype == torch.uint8)
        call = lambda: orbbec.augment(images, matrices, (target, target), sampling, values, output)  # noqa: E731
        return Work(call, int(area * (1.5 if planes else 3)))

    return prepare


def ycbcr(setting: Setting) -> Any:
    """Planes of 4:2:0, with noise of a fixed seed."""
    sizes = image_sizes(setting)
    batch = orbbec.YCbCrBatch.of_sizes(sizes, ["420"] * len(sizes))
    generator = torch.Generator().manual_seed(5)
    for n in range(len(sizes)):
        for plane in batch.planes(n):
            plane.copy_(torch.randint(0, 256, plane.shape, generator=generator, dtype=torch.uint8))
    return batch.to(setting.device) if setting.device != "cpu" else batch


add("augment_f32", "augment: crop to 224, flip, normalize; ImageBatch to float32", augmented(), executed=40)
add("augment_f32_color4", "the same with four color steps", augmented(colored=True), executed=40)
add("augment_u8", "augment: crop to 224, flip; ImageBatch to uint8 HWC", augmented(torch.uint8), executed=40)
add(
    "augment_planes",
    "augment of YCbCr 4:2:0 planes: crop to 224, flip, normalize",
    augmented(planes=True),
    executed=40,
)


def converted(*, boxed: bool) -> Any:
    """`ycbcr_to_rgb` before a plan that reads a crop."""

    def prepare(setting: Setting) -> Work:
        planes, (regions, _, area) = ycbcr(setting), crops(setting, 1)
        boxes = regions.cpu().numpy()

        def call() -> list[Tensor]:
            images = orbbec.ycbcr_to_rgb(planes, boxes=boxes if boxed else None).images()
            pairs = zip(images, boxes.tolist(), strict=True)
            return [image[top:bottom, left:right] for image, (left, top, right, bottom) in pairs]

        return Work(call, int(area * 1.5), outputs=lambda _: area)

    return prepare


add(
    "planes_rgb",
    "ycbcr_to_rgb of 4:2:0 planes, whole, for crops as above",
    converted(boxed=False),
    executed=40,
)
add("planes_rgb_boxes", "the same, of the crops alone", converted(boxed=True), executed=40)
