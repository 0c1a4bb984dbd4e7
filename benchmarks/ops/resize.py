"""`resize` compared with `cv2.resize`, Pillow's and torch's `interpolate`."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

import orbbec
from orbbec.bridge.arguments import Array
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Image, Work, as_array, cv2, share

IMAGES = 16
CV2 = {"nearest": 0, "linear": 1, "cubic": 2, "area": 3, "lanczos4": 4, "linear_exact": 5, "nearest_exact": 6}
PILLOW = {"linear": 2, "bicubic": 3, "lanczos": 1}
TORCH = {"linear": "bilinear", "bicubic": "bicubic"}


def pixels(source: tuple[int, int]) -> Tensor:
    """uint8 images whose channels are last in memory, as decoders give them."""
    return photographs(IMAGES, 3, *source).contiguous(memory_format=torch.channels_last)


def prepare(
    device: str,
    source: tuple[int, int],
    target: tuple[int, int],
    interpolation: str,
    antialias: bool,
    dtype: torch.dtype,
) -> Work:
    images = pixels(source).to(dtype)
    options: dict[str, Any] = {"interpolation": interpolation, "antialias": antialias}
    expected = as_array(orbbec.resize(images, target, **options))
    arrays = [np.ascontiguousarray(array) for array in images.permute(0, 2, 3, 1).numpy()]
    moved = images.to(device)
    own = Contender("orbbec", lambda: orbbec.resize(moved, target, **options))
    if antialias:
        contenders = antialiased(moved, arrays, target, interpolation, own)
    else:
        planes = images.to(device).contiguous()
        of_planes = Contender("orbbec, planes", lambda: orbbec.resize(planes, target, **options))
        contenders = [*by_opencv(arrays, target, interpolation, dtype), own, of_planes]
    moved_values = images.numel() + IMAGES * 3 * target[0] * target[1]
    return Work(contenders, expected, images=IMAGES, moved_bytes=moved_values * images.element_size())


def antialiased(
    images: Tensor, arrays: list[Array], target: tuple[int, int], interpolation: str, own: Contender
) -> list[Contender]:
    """Contenders of torch and orbbec, with channels last and as planes, and of Pillow."""
    planes, contenders = images.contiguous(), [own]
    if interpolation in TORCH:
        to_torch = partial(interpolate, size=target, mode=TORCH[interpolation], antialias=True)
        contenders.insert(0, Contender("torch interpolate", partial(to_torch, images), exact=False))
        contenders.append(Contender("torch interpolate, planes", partial(to_torch, planes), exact=False))
    ours = partial(orbbec.resize, planes, target, interpolation=interpolation, antialias=True)
    contenders.append(Contender("orbbec, planes", ours))
    if Image is not None and images.device.type == "cpu":
        opened = [Image.fromarray(array) for array in arrays]
        out = np.empty((len(arrays), *target, 3), np.uint8)
        loop = partial(by_pillow, opened, out, target, interpolation)
        is_simd = "post" in getattr(Image, "__version__", "")  # so pillow-simd's; its sums have fewer bits
        name = "pillow-simd" if is_simd else "Pillow"
        contenders.append(Contender(name, loop, exact=not is_simd))
    return contenders


def by_opencv(
    arrays: list[Array], target: tuple[int, int], interpolation: str, dtype: torch.dtype
) -> list[Contender]:
    """cv2 as installed, and without IPP if that gives other bytes."""
    has_ipp = interpolation == "cubic" or (dtype.is_floating_point and interpolation.startswith("linear"))
    out = np.empty((len(arrays), *target, *arrays[0].shape[2:]), arrays[0].dtype)
    loop = partial(by_cv2, arrays, out, target, interpolation)
    contenders = [Contender("cv2", loop, exact=not has_ipp)]
    if has_ipp:
        contenders.append(Contender("cv2 without IPP", partial(loop, ipp=False)))
    return contenders


def by_cv2(
    arrays: list[Array], out: Array, target: tuple[int, int], interpolation: str, ipp: bool = True
) -> Array:
    flag = CV2[interpolation]

    def resize(array: Array, own: Array) -> None:
        cv2.ipp.setUseIPP(ipp)  # the setting is per thread
        cv2.resize(array, target[::-1], dst=own, interpolation=flag)

    share(resize, arrays, out)
    return out


def by_pillow(images: list[Any], out: Array, target: tuple[int, int], interpolation: str) -> Array:
    flag = PILLOW[interpolation]
    share(lambda image, own: np.copyto(own, image.resize(target[::-1], flag)), images, out)
    return out


def case(
    source: tuple[int, int], interpolation: str, antialias: bool = False, dtype: torch.dtype = torch.uint8
) -> Case:
    kind = f"antialiased {interpolation}" if antialias else interpolation
    name = f"{str(dtype).removeprefix('torch.')} {source[0]}x{source[1]} to 224x224, {kind}"
    options: dict[str, Any] = {"interpolation": interpolation, "antialias": antialias, "dtype": dtype}
    return Case(name, partial(prepare, source=source, target=(224, 224), **options))


CASES = [
    case((512, 512), "linear"),
    case((512, 512), "area"),
    case((1080, 1920), "linear"),
    case((1080, 1920), "area"),
    case((448, 448), "area"),
    *(case((375, 500), name) for name in ("nearest", "nearest_exact", "linear_exact", "cubic", "lanczos4")),
    *(case((375, 500), name, dtype=torch.float32) for name in ("nearest", "linear", "cubic", "area")),
    *(case((375, 500), name, antialias=True) for name in PILLOW),
]
