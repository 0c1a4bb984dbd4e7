"""Mixing of a batch compared with cv2, torchvision if it is installed, and torch's operations."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

import orbbec
from orbbec.bridge.arguments import Array
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2, share, torchvision
from tests.support.timing.by_hand import buffer

IMAGES = 16
SIZE = (512, 512)
WEIGHT = 0.3
BOX = (100, 50, 400, 350)
CENTER = (500, 530)
CANVAS = (1024, 1024)

Rival = tuple[str, Callable[..., Any]]
KEPT: dict[tuple[str, torch.device], Tensor] = {}


def prepare(
    ours: Callable[..., Any], rivals: Sequence[Rival], dtype: torch.dtype, moved: float, device: str
) -> Work:
    """A batch in which each image is mixed with the previous one; `moved` values per output value."""
    images = photographs(IMAGES, 3, *SIZE, dtype).to(device)
    last = images.contiguous(memory_format=torch.channels_last)
    pair_indices = torch.arange(IMAGES, device=device).roll(1)
    expected = as_array(ours(images, pair_indices))
    contenders = [Contender(name, partial(run, images, pair_indices)) for name, run in rivals]
    contenders += [
        Contender("orbbec, NCHW tensor", lambda: ours(images, pair_indices)),
        Contender("orbbec, channels_last tensor", lambda: ours(last, pair_indices)),
    ]
    return Work(contenders, expected, IMAGES, int(moved * expected.nbytes))


def by_add_weighted(images: Tensor, pair_indices: Tensor) -> Tensor:
    """Whole images as rows of bytes."""
    arrays = images.numpy().reshape(IMAGES, -1, SIZE[1])
    mixed = buffer("mixed", arrays.shape)

    def mix(own: Array, other: int, out: Array) -> None:
        cv2.addWeighted(own, WEIGHT, arrays[other], 1 - WEIGHT, 0, dst=out)

    share(mix, arrays, pair_indices.tolist(), mixed)
    return torch.from_numpy(mixed.reshape(images.shape))


def kept(name: str, like: Tensor, shape: Sequence[int]) -> Tensor:
    """The result is overwritten by the next run."""
    if (name, like.device) not in KEPT:
        KEPT[name, like.device] = like.new_empty(shape)
    return KEPT[name, like.device]


def by_torch_mixup(images: Tensor, pair_indices: Tensor) -> Tensor:
    return images.roll(1, 0).mul_(1.0 - WEIGHT).add_(images.mul(WEIGHT))


def by_torch_in_place(images: Tensor, pair_indices: Tensor) -> Tensor:
    """One image at a time, which stays in the cache."""
    mixed, scaled = kept("mixup", images, images.shape), kept("scaled", images, images.shape[1:])
    for own, other, out in zip(images, pair_indices.tolist(), mixed, strict=True):
        torch.mul(images[other], 1.0 - WEIGHT, out=out)
        out.add_(torch.mul(own, WEIGHT, out=scaled))
    return mixed


def by_torch_cutmix(images: Tensor, pair_indices: Tensor) -> Tensor:
    left, top, right, bottom = BOX
    output = kept("cutmix", images, images.shape).copy_(images)
    for other, out in zip(pair_indices.tolist(), output, strict=True):
        out[:, top:bottom, left:right] = images[other, :, top:bottom, left:right]
    return output


def torchvision_call(name: str, parameters: dict[str, Any]) -> list[Rival]:
    if torchvision is None:
        return []
    transform = getattr(torchvision.transforms.v2, name)(num_classes=2)

    def run(images: Tensor, pair_indices: Tensor) -> Any:
        return transform.transform(images, {"labels": None, "batch_size": len(images), **parameters})

    return [(f"torchvision {name}", run)]


def circle(device: torch.device) -> Tensor:
    y, x = torch.meshgrid(*(torch.arange(side, device=device) for side in SIZE), indexing="ij")
    return ((x - 256) ** 2 + (y - 256) ** 2 < 150**2).expand(IMAGES, *SIZE)


def by_torch_where(images: Tensor, pair_indices: Tensor) -> Tensor:
    pasted = kept("pasted", images, images.shape)
    for own, other, mask, out in zip(
        images, pair_indices.tolist(), circle(images.device), pasted, strict=True
    ):
        torch.where(mask, images[other], own, out=out)
    return pasted


def quarters(pair_indices: Tensor) -> Tensor:
    return torch.stack([pair_indices, pair_indices.roll(1), pair_indices.roll(2), pair_indices.roll(3)], 1)


def by_slices(images: Tensor, pair_indices: Tensor) -> Tensor:
    """As in YOLO: a canvas and four slices per image."""
    canvases = kept("mosaic", images, (IMAGES, 3, *CANVAS)).fill_(114)
    x, y = CENTER
    for canvas, own in zip(canvases, quarters(pair_indices).tolist(), strict=True):
        canvas[:, y - 512 : y, : min(512, x)] = images[own[0]][:, :, 512 - x :]
        canvas[:, y - 512 : y, x : x + 512] = images[own[1]]
        canvas[:, y:, :x] = images[own[2]][:, : 1024 - y, 512 - x :]
        canvas[:, y:, x : x + 512] = images[own[3]][:, : 1024 - y]
    return canvases


def our_mosaic(images: Tensor, pair_indices: Tensor) -> Any:
    center = torch.tensor(CENTER, device=images.device)
    return orbbec.mosaic(images, quarters(pair_indices), center, CANVAS)


def case(name: str, ours: Any, rivals: list[Rival], dtype: torch.dtype, moved: float) -> Case:
    return Case(name, partial(prepare, ours, rivals, dtype, moved))


BY_CV2: list[Rival] = [] if cv2 is None else [("cv2.addWeighted", by_add_weighted)]
CASES = [
    case("mixup, uint8 512x512", lambda x, p: orbbec.mixup(x, p, WEIGHT), BY_CV2, torch.uint8, 3),
    case(
        "mixup, float32 512x512",
        lambda x, p: orbbec.mixup(x, p, WEIGHT),
        [
            ("torch in place", by_torch_in_place),
            ("torch, as v2.MixUp", by_torch_mixup),
            *torchvision_call("MixUp", {"lam": WEIGHT}),
        ],
        torch.float32,
        3,
    ),
    case(
        "cutmix, uint8 512x512",
        lambda x, p: orbbec.cutmix(x, p, torch.tensor(BOX, device=x.device)),
        [("torch, copy and slices", by_torch_cutmix), *torchvision_call("CutMix", {"box": BOX})],
        torch.uint8,
        2,
    ),
    case(
        "copy_paste, uint8 512x512, a circle",
        lambda x, p: orbbec.copy_paste(x, p, circle(x.device)),
        [("torch.where", by_torch_where)],
        torch.uint8,
        2 + 1 / 3,
    ),
    case("mosaic, uint8 512x512 to 1024x1024", our_mosaic, [("torch, slices", by_slices)], torch.uint8, 2),
]
