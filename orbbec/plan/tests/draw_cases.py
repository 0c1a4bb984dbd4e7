"""The pipelines of the record of draws, and the batches that they are planned for."""

import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from orbbec import transforms as T
from orbbec.augment.codes import COLOR_WIDTH, STEPS
from orbbec.plan.steps import Colors, Operator, Warp, identities, same_rows
from orbbec.plan.tests.draw_arguments import ARGUMENTS, FACE, FILL, PICKED, TEMPLATE, transform_of

SEEDS, EPOCHS = (0, 2**63 - 25), (0, 2**40)
IDS = [0, 1, 2, -1, -2, 7, 1000, 2**31, -(2**31), 2**40 + 3, 2**62, -(2**62)]
# Sizes of any kind; sizes for transforms that refuse small images; and one size.
ANY = [
    *((1, 1), (1, 900), (900, 1), (2, 3), (37, 53), (64, 64)),
    *((64, 64), (375, 500), (500, 375), (33, 900), (900, 900), (255, 257)),
]
LARGE = [
    *((48, 64), (64, 48), (900, 61), (61, 900), (101, 103), (64, 64)),
    *((64, 64), (375, 500), (500, 375), (224, 224), (900, 900), (255, 257)),
]
EQUAL = [(48, 64)] * len(IDS)
BATCHES = {"any": ANY, "large": LARGE, "equal": EQUAL}
RANDOM = 310


def matrix_row(matrix, offset, count):
    """The step `matrix @ rgb + offset * maximum`: float32 `[count, 1, 16]`."""
    row = np.zeros((count, 1, COLOR_WIDTH), np.float32)
    row[:, 0, :13] = [STEPS["matrix"], *matrix.flatten(), *[offset] * 3]
    return row


class Case(NamedTuple):
    """A pipeline and the images that it is planned for."""

    name: str
    transforms: tuple[T.Transform, ...]
    channels: int = 3
    dtype: str = "uint8"
    exact: bool = False
    has_targets: bool = False
    few: bool = False  # one plan per seed
    count: int = len(IDS)  # the last images of a batch


def targets_of(sizes):
    """Classes, boxes and points for each image; the first one has no boxes and points."""
    targets = []
    for n, (height, width) in enumerate(sizes):
        steps = np.arange(1 + n % 3)[:, None] * 0.1
        corners = np.concatenate([0.05 + steps, 0.1 + steps, 0.4 + steps, 0.6 + steps], 1)
        face = np.array(FACE) / 90 * [width, height] + n
        boxes = corners * [width, height, width, height]
        classes = np.add.outer(np.arange(height) * 3 // height, np.arange(width) * 2 // width)
        rows = {"boxes": boxes, "keypoints": face[::-1].copy(), "landmarks": face} if n else {}
        targets.append({"mask": classes, **rows})
    return targets


def argument_cases():
    """Each transform alone, and between a resize and a flip."""
    for name, several in ARGUMENTS.items():
        for number in range(len(several)):
            one = transform_of(name, number)
            label, reads = f"{name} {number}", one.needs_targets
            dtype = "float32" if name == "Normalize" else "uint8"
            yield Case(label, (one,), 3, dtype, has_targets=reads)
            between = (T.Resize((32, 40), antialias=False), one, T.RandomHorizontalFlip())
            yield Case(f"Resize, {label}, RandomHorizontalFlip", between, 3, dtype, has_targets=reads)


GEOMETRY = [
    T.RandomRotation((10, 50), "linear", fill=FILL),
    T.RandomHorizontalFlip(),
    T.RandomAffine((-20, 5), (0.1, 0.2), interpolation="linear", fill=FILL),
]
COLORS = [T.ColorJitter(0.4, 0.3, 0.2, 0.1), T.RandomSolarize(99.0), T.RandomGrayscale(0.3)]
OPERATORS = [T.GaussianBlur((3, 5)), T.MotionBlur(), T.JPEG((5, 90))]
RESIZING = [T.Pad((1, 2, 3, 4)), T.RandomResizedCrop((20, 30), antialias=False), T.RandomScale((0.5, 2.0))]
GROUPS = {
    "geometry": GEOMETRY,
    "colors": COLORS,
    "operators": OPERATORS,
    "sizes": RESIZING,
    "mixture": [GEOMETRY[0], COLORS[0], OPERATORS[0], RESIZING[1], T.RandomErasing(0.7)],
}


def containers(transforms):
    """Every container around the same transforms."""
    count = len(transforms)
    yield T.RandomApply(transforms, 0.6)
    yield T.RandomChoice(transforms)
    yield T.RandomChoice(transforms, tuple(range(1, count + 1)))
    yield T.SomeOf(transforms, 2)
    yield T.SomeOf(transforms, 2, shuffle=True)
    yield T.SomeOf(transforms, count + 1, replace=True)
    yield T.SomeOf(transforms, 2, True, True)
    yield T.RandomOrder(transforms)


def container_cases():
    """Containers around transforms, and around containers, alone and with a resize and a flip."""
    for group, transforms in GROUPS.items():
        for number, one in enumerate(containers(transforms)):
            nested = list(containers([one, T.RandomVerticalFlip(), T.RandomOrder(transforms[:2])]))
            for label, each in (("", one), ("nested ", nested[number])):
                name = f"{label}{type(each).__name__} {number} of {group}"
                yield Case(name, (each,), few=True)
            between = (T.Resize((32, 40), antialias=False), nested[number - 3], T.RandomHorizontalFlip())
            name = f"Resize, {type(between[1]).__name__} {number} of {group}, RandomHorizontalFlip"
            yield Case(name, between, few=True)


class Picker:
    """Choices by `random.Random.random`, which gives the same numbers in every version of Python."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def of(self, several):
        return several[int(self.random() * len(several))]

    def chance(self, p):
        return self.random() < p


def random_transform(picker, depth=0):
    """A transform with one of its argument sets, or a container of some."""
    name = picker.of(list(PICKED))
    if issubclass(getattr(T, name), T.RandomApply.__mro__[1]) and depth < 2:
        several = [random_transform(picker, depth + 1) for _ in range(picker.of((2, 3)))]
        return picker.of(list(containers(several)))
    one = transform_of(name, picker.of(range(PICKED[name])))
    return random_transform(picker, depth) if one.needs_targets else one


def random_cases():
    """Random pipelines of 2 to 7 transforms."""
    picker = Picker(0)
    for number in range(RANDOM):
        transforms = tuple(random_transform(picker) for _ in range(picker.of(range(2, 8))))
        dtype = picker.of((*["uint8"] * 9, *["float32"] * 3, "uint16"))
        channels, exact = (1 if picker.chance(0.15) else 3), picker.chance(0.15)
        names = ", ".join(one.name for one in transforms)
        how = f"{dtype}, {channels} channels{', exact' if exact else ''}"
        yield Case(f"random {number} ({how}): {names}", transforms, channels, dtype, exact, few=True)


@dataclass(frozen=True)
class _Shift(T.Transform):
    """Moves by whole pixels and inverts some images."""

    most: int = 9

    def sample(self, sizes, stream):
        return stream.below(self.most), stream.normals(2), stream.chance(0.5), stream.permutation(3)

    def steps(self, params, state):
        offset, normal, chosen, _ = params
        matrix = identities(len(state))
        matrix[:, :2, 2] = np.stack([offset, np.rint(normal[:, 0])], 1)
        rows = matrix_row(-np.eye(3), 1.0, len(state))
        return [
            Warp(matrix, state.sizes, "nearest", "constant", lossless=True),
            Colors(rows).only(chosen),
        ]


@dataclass(frozen=True)
class _Noise(T.Transform):
    """Blurs by what it draws from other distributions."""

    def sample(self, sizes, stream):
        return stream.gammas(0.5, 2), stream.betas(2.0), stream.dirichlets(1.0, 3), stream.uniforms(40)

    def steps(self, params, state):
        gammas, betas, weights, uniforms = params
        sigma = 0.1 + gammas.sum(1) * betas + weights[:, 0] + uniforms[:, -1]
        return [Operator("gaussian_blur", {"kernel_size": same_rows((3, 5), len(state)), "sigma": sigma})]


def custom_cases():
    """Transforms of users between those of the package."""
    crop, flip, jitter = (
        T.RandomResizedCrop(32, antialias=False),
        T.RandomHorizontalFlip(),
        T.ColorJitter(0.3),
    )
    for number, custom in enumerate(([_Shift()], [_Noise()], [_Shift(30), _Noise()])):
        yield Case(f"custom {number}", tuple(custom))
        yield Case(f"custom {number} in the middle", (crop, *custom, flip, jitter))
        yield Case(
            f"custom {number} in a container", (T.SomeOf([*custom, flip, jitter], 2, shuffle=True), crop)
        )
        yield Case(f"custom {number}, exact", (flip, *custom, jitter), exact=True)


def target_cases():
    """Transforms that read targets, behind others."""
    crop, align = T.RandomIoUCrop(), T.AlignPoints((26, 20), TEMPLATE, interpolation="linear")
    before = {
        "a flip": (T.RandomHorizontalFlip(),),
        "an expansion": (T.RandomZoomOut(p=1.0), T.RandomHorizontalFlip()),
        "a rotation": (T.RandomRotation(30, "linear", expand=True),),
        "a resize": (T.RandomShortestSize((50, 70), 90),),
        "a crop and colors": (T.RandomCrop(40, pad_if_needed=True), T.ColorJitter(0.2, 0.3)),
        "a mix": (T.Resize((32, 40)), T.MixUp()),
    }
    for name, transforms in before.items():
        for reader in (crop, align):
            pipeline = (*transforms, reader, T.ToDtype(torch.float32, scale=True))
            yield Case(f"{reader.name} after {name}", pipeline, has_targets=True)


def common_cases():
    """Pipelines of training scripts, in several dtypes."""
    crop, flip, sharp = T.RandomResizedCrop(224, antialias=False), T.RandomHorizontalFlip(), T.RandomErasing()
    floats, normalize = T.ToDtype(torch.float32, scale=True), T.Normalize()
    pipelines = {
        "crop and flip": (crop, flip),
        "antialias": (T.RandomResizedCrop(224), flip),
        "two flips": (T.RandomResizedCrop((64, 48)), flip, T.RandomVerticalFlip()),
        "padded crop": (T.RandomCrop(32, 4, pad_if_needed=True), flip),
        "evaluation": (T.Resize(256), T.CenterCrop(224)),
        "evaluation by a warp": (T.Resize(256, "cubic", antialias=False), T.CenterCrop(224)),
        "colors": (crop, flip, T.ColorJitter(0.4, 0.4, 0.4, 0.1)),
        "policy": (crop, flip, T.RandAugment()),
        "rotation": (T.RandomRotation(30, "linear"), crop, flip),
        "detection": (T.RandomPhotometricDistort(), T.RandomZoomOut(), T.ScaleJitter((64, 64)), flip),
    }
    for name, transforms in pipelines.items():
        for dtype in ("uint8", "float32"):
            yield Case(f"{name} of {dtype}", transforms, dtype=dtype)
        yield Case(f"{name} as floats", (*transforms, floats, normalize))
        yield Case(f"{name} as floats, erased", (*transforms, floats, normalize, sharp))
        yield Case(f"{name} as floats, exact", (*transforms, floats, normalize), exact=True)


def small_cases():
    """No images, and one image."""
    for name in ARGUMENTS:
        one = transform_of(name, 0)
        dtype = "float32" if name == "Normalize" else "uint8"
        for count in (0, 1):
            transforms = (one, T.RandomHorizontalFlip())
            yield Case(
                f"{name} of {count} images", transforms, 3, dtype, False, one.needs_targets, True, count
            )


def all_cases():
    """The cases by kind."""
    kinds = (
        argument_cases,
        container_cases,
        random_cases,
        custom_cases,
        target_cases,
        common_cases,
        small_cases,
    )
    return {kind.__name__.removesuffix("_cases"): list(kind()) for kind in kinds}
