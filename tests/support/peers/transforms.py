"""Transforms compared with reference functions for equal parameters; a form is one entry of their parity.

orbbec's result is that of `Compose([transform], exact=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from orbbec import transforms as T
from orbbec.bridge.arguments import Array
from tests.support.peers import transform_calls as by
from tests.support.peers import value_calls as values
from tests.support.peers.peers import Line, Random, draw_image
from tests.support.peers.transform_calls import Call, Theirs

Draw = Callable[[Random, int, int], T.Transform]


@dataclass(frozen=True)
class Form:
    """A form of a transform: how it is drawn for an image size, and its reference."""

    name: str
    form: str
    author: str
    promised: bool
    draw: Draw
    theirs: Theirs
    count: int = 1
    dtype: str = "uint8"
    target: dict[str, Any] | None = None

    def case(self, rng: Random, most: int = 60) -> tuple[T.Transform, Array]:
        """A transform and the images for it, `[N, H, W, 3]`."""
        image = draw_image(rng, (3,), self.dtype, most)
        others = [rng.permutation(image.reshape(-1)).reshape(image.shape) for _ in range(self.count - 1)]
        return self.draw(rng, *image.shape[:2]), np.stack([image, *others])

    def answers(self, rng: Random, most: int = 60) -> tuple[Callable[[], Array], Callable[[], Array]]:
        """A random case: functions that compute orbbec's result and the reference's."""
        transform, images = self.case(rng, most)
        call = Call(transform, 0, int(rng.integers(1 << 30)), images, self.target)
        return lambda: ours([transform], images, call.seed, self.target), lambda: self.theirs(call)

    def line(self) -> Line:
        def both(rng: Random) -> tuple[Array, Array]:
            mine, theirs = self.answers(rng)
            return mine(), theirs()

        return Line(self.name, self.form or "uint8", self.author, self.promised, both)


def ours(pipeline: Sequence[Any], images: Array, seed: int, target: dict[str, Any] | None = None) -> Array:
    """The pipeline's results for images `[N, H, W, C]`, rounded after every transform."""
    compose = T.Compose(list(pipeline), seed=seed, exact=True)
    if target is None:
        return np.asarray(compose(images, epoch=0))
    return np.asarray(compose(images, [target] * len(images), epoch=0)[0])


def _fill(rng: Random) -> tuple[float, ...]:
    return tuple(float(value) for value in rng.integers(0, 256, 3))


def _name(rng: Random) -> str:
    return str(rng.choice(("nearest", "linear")))


def _p(rng: Random) -> float:
    return float(rng.choice((0.5, 1.0)))


def _size(rng: Random) -> tuple[int, int]:
    height, width = rng.integers(1, 70, 2).tolist()
    return height, width


def _part(rng: Random, height: int, width: int) -> tuple[int, int]:
    return int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))


def _resize(antialias: bool) -> Draw:
    return lambda rng, height, width: T.Resize(_size(rng), "linear", antialias=antialias)


def _crop(antialias: bool, interpolation: str = "linear") -> Draw:
    return lambda rng, height, width: T.RandomResizedCrop(
        _size(rng), interpolation=interpolation, antialias=antialias
    )


def _affine(rng: Random, height: int, width: int) -> T.Transform:
    center = tuple(rng.uniform(0, 30, 2).tolist()) if rng.random() < 0.3 else None
    shear = (-20.0, 20.0, -20.0, 20.0)
    return T.RandomAffine(180, (0.3, 0.3), (0.5, 2.0), shear, _name(rng), _fill(rng), center)


def _rotation(rng: Random, height: int, width: int) -> T.Transform:
    return T.RandomRotation(180, _name(rng), expand=bool(rng.random() < 0.5), fill=_fill(rng))


def _linear_rotation(rng: Random, height: int, width: int) -> T.Transform:
    return T.RandomRotation(180, "linear", fill=_fill(rng))


def _linear_affine(rng: Random, height: int, width: int) -> T.Transform:
    return T.RandomAffine(180, (0.3, 0.3), (0.5, 2.0), 20.0, "linear", _fill(rng))


def _perspective(rng: Random, height: int, width: int) -> T.Transform:
    return T.RandomPerspective(0.6, _p(rng), _name(rng), _fill(rng))


def _pad(rng: Random, height: int, width: int) -> T.Transform:
    mode = str(rng.choice(("constant", "edge", "reflect", "symmetric")))
    least = min(height, width) - (mode == "reflect")
    sides = tuple(int(side) for side in rng.integers(0, max(least, 0) + 1, 4))
    return T.Pad(sides, _fill(rng), mode)


def _random_crop(rng: Random, height: int, width: int) -> T.Transform:
    if rng.random() < 0.5:
        return T.RandomCrop(_part(rng, height, width))
    return T.RandomCrop(_size(rng), int(rng.integers(0, 5)), True, _fill(rng))


def _crop_with_a_box(rng: Random, height: int, width: int) -> T.Transform:
    return T.AtLeastOneBBoxRandomCrop(_part(rng, height, width), float(rng.random()))


def _crop_with_mask(rng: Random, height: int, width: int) -> T.Transform:
    return T.CropNonEmptyMaskIfExists(_part(rng, height, width))


def _morphological(rng: Random, height: int, width: int) -> T.Transform:
    return T.Morphological(
        tuple(rng.integers(1, 8, 2).tolist()), ("dilation", "erosion")[rng.integers(2)], 0.8
    )


def _align(rng: Random, height: int, width: int) -> T.Transform:
    template = rng.uniform(0, 20, (3, 2)).tolist()
    return T.AlignPoints(_size(rng), template, fill=_fill(rng))


def _always(transform: T.Transform) -> Draw:
    return lambda rng, height, width: transform


def _letterbox(rng: Random, height: int, width: int) -> T.Transform:
    return T.Letterbox(_size(rng), _fill(rng), _name(rng), bool(rng.random() < 0.5))


def _elastic(rng: Random, height: int, width: int) -> T.Transform:
    return T.ElasticTransform(20.0, 3.0, _name(rng), _fill(rng))


def _small_blur(rng: Random, height: int, width: int) -> T.Transform:
    return T.GaussianBlur(min((min(height, width) + 1) // 2, 3) * 2 - 1, (0.1, 3.0))


def _cast(rng: Random, height: int, width: int) -> T.Transform:
    return T.ToDtype(torch.float32, scale=bool(rng.random() < 0.5))


def _filled(kind: Any, *arguments: Any, **options: Any) -> Draw:
    return lambda rng, height, width: kind(*arguments, fill=_fill(rng), **options)


def _chosen(function: str, *arguments: Any) -> Theirs:
    return by.by_functional(by.if_chosen(*arguments), function)


_TARGETS: dict[str, dict[str, Any]] = {
    "AlignPoints": {"keypoints": np.array([[3.0, 4.0], [12.0, 5.0], [8.0, 17.0]])},
    "AlignFaces": {"landmarks": np.array([[3.0, 4], [12, 5], [8, 9], [4, 13], [11, 14]])},
    "CropNonEmptyMaskIfExists": {"boxes": np.zeros((0, 4))},  # no mask: anywhere
    **{
        name: {"boxes": np.array([[1.0, 1.0, 9.0, 8.0]])}
        for name in ("RandomIoUCrop", "BBoxSafeRandomCrop", "AtLeastOneBBoxRandomCrop")
    },
}
_COUNTS = {"MixUp": 2, "CutMix": 3, "Mosaic": 4}
_HSV = T.HueSaturationValue((-180, 180), (-255, 255), (-255, 255), 0.8)
_LATER = (
    *("RandomHSV", "HueSaturationValue", "RandomShift", "CLAHE", "Downscale"),
    *("ChannelDropout", "CoarseDropout", "GridDropout", "PillowBlur", "Emboss", "Morphological"),
    *("PatchBrightness", "BoxBlur", "Sharpen", "SafeRotate", "Perspective", "XYMasking"),
    *("RandomGridShuffle", "RandomCropFromBorders"),
)  # not in the recorded pipelines
_PATCHES = T.PatchBrightness((1, 4), factor_range=(0.2, 1.9), p=0.8)
_JITTER = _always(T.ColorJitter(0.8, 0.8, 0.8, 0.5))

# By author and "transform, form" (uint8 unless it says otherwise): how it is drawn, and the reference.
_EXACT: dict[str, dict[str, tuple[Draw, Theirs]]] = {
    "OpenCV": {
        "Resize, linear": (_resize(False), by.resized_by_opencv),
        "RandomResizedCrop, linear": (_crop(False), by.resized_by_opencv),
        "RandomResizedCrop, nearest": (_crop(False, "nearest"), by.resized_by_opencv),
        "Letterbox": (_letterbox, by.letterboxed),
        "CenterCrop": (lambda rng, h, w: T.CenterCrop(_part(rng, h, w)), by.cut),
        "RandomCrop": (_random_crop, by.cut),
        "RandomIoUCrop": (_always(T.RandomIoUCrop()), by.cut),
        "BBoxSafeRandomCrop": (_always(T.BBoxSafeRandomCrop()), by.cut),
        "AtLeastOneBBoxRandomCrop": (_crop_with_a_box, by.cut),
        "CropNonEmptyMaskIfExists": (_crop_with_mask, by.cut),
        "RandomCropFromBorders": (_always(T.RandomCropFromBorders(0.5, 0.3, 0.2, 0.6)), by.cut),
        "Pad": (_pad, by.cut),
        "RandomZoomOut": (_filled(T.RandomZoomOut), by.cut),
        "RandomHorizontalFlip": (_always(T.RandomHorizontalFlip()), by.flipped(1)),
        "RandomVerticalFlip": (_always(T.RandomVerticalFlip()), by.flipped(0)),
        "RandomRotation": (_rotation, by.warped),
        "RandomAffine": (_affine, by.warped),
        "RandomPerspective": (_perspective, by.warped),
        "SafeRotate": (_filled(T.SafeRotate, 180, p=0.8), by.warped),
        "Perspective": (_filled(T.Perspective, (0.0, 0.2), p=0.8), by.warped),
        "AlignPoints": (_align, by.warped),
        "AlignFaces": (_filled(T.AlignFaces, size=32), by.warped),
        "ElasticTransform": (_elastic, by.displaced),
        "Grayscale, 1 channel": (_always(T.Grayscale(1)), by.gray),
        "GaussianBlur": (_always(T.GaussianBlur((5, 7), (0.1, 3.0))), by.blurred),
        "MedianBlur": (_always(T.MedianBlur((3, 7))), by.median),
        "MixUp": (_always(T.MixUp(0.4)), by.mixed),
        "RandomHSV": (_always(T.RandomHSV(0.4, 0.7, 0.6, 0.8)), values.hsv_changed),
        "HueSaturationValue": (_always(_HSV), values.hsv_changed),
        "RandomShift": (_filled(T.RandomShift, 9, padding_mode="constant"), by.cut),
        "CLAHE": (_always(T.CLAHE((1.0, 5.0), (3, 2), 0.8)), values.equalized_by_tiles),
        "BoxBlur": (_always(T.BoxBlur((3, 9), 0.8)), values.box_blurred),
        "Sharpen": (_always(T.Sharpen((0.0, 1.0), (0.0, 2.0), 0.8)), values.sharpened),
        "Emboss": (_always(T.Emboss((0.0, 1.0), (0.0, 2.0), 0.8)), values.embossed),
        "Morphological": (_morphological, values.morphed),
        "Downscale": (_always(T.Downscale((0.1, 0.9), p=0.8)), values.downscaled),
    },
    "Pillow": {
        "Resize": (_resize(True), by.resized_by_pillow),
        "RandomResizedCrop": (_crop(True), by.resized_by_pillow),
        "ScaleJitter": (_always(T.ScaleJitter((40, 50))), by.resized_by_pillow),
        "RandomShortestSize": (_always(T.RandomShortestSize((20, 30), 50)), by.resized_by_pillow),
        "JPEG": (_always(T.JPEG((1, 100))), by.compressed),
        "PillowBlur": (_always(T.PillowBlur((0.1, 4.0), 0.8)), values.blurred_by_pillow),
    },
    "torchvision": {
        "ColorJitter": (_JITTER, by.jittered),
        "RandomPhotometricDistort": (_always(T.RandomPhotometricDistort()), by.jittered),
        "RandomGrayscale": (_always(T.RandomGrayscale(0.8)), _chosen("rgb_to_grayscale", 3)),
        "Grayscale, 3 channels": (_always(T.Grayscale(3)), by.by_functional(by.grays, "rgb_to_grayscale")),
        "RandomInvert": (_always(T.RandomInvert()), _chosen("invert")),
        "RandomPosterize": (
            lambda rng, h, w: T.RandomPosterize(int(rng.integers(0, 9))),
            _chosen("posterize", "bits"),
        ),
        "RandomSolarize": (
            lambda rng, h, w: T.RandomSolarize(float(rng.integers(0, 256))),
            _chosen("solarize", "threshold"),
        ),
        "Gamma": (_always(T.Gamma((0.4, 2.5), 0.9)), by.by_functional(by.gammas, "adjust_gamma")),
        "RandomChannelPermutation": (
            _always(T.RandomChannelPermutation()),
            by.by_functional(by.permutations, "permute_channels"),
        ),
        "RandomAdjustSharpness": (
            lambda rng, h, w: T.RandomAdjustSharpness(float(rng.uniform(0, 3))),
            _chosen("adjust_sharpness", "sharpness_factor"),
        ),
        "RandomAutocontrast": (_always(T.RandomAutocontrast()), _chosen("autocontrast")),
        "RandomEqualize": (_always(T.RandomEqualize()), _chosen("equalize")),
        "RandomErasing": (lambda rng, h, w: T.RandomErasing(1.0, value=_fill(rng)), by.erased),
        "Normalize, float32": (_always(T.Normalize()), by.by_functional(by.norms, "normalize")),
        "ToDtype, uint8 to float32": (_cast, by.cast),
    },
    "NumPy": {
        "CutMix": (_always(T.CutMix(1.0)), by.pasted),
        "ChannelDropout": (_always(T.ChannelDropout((1, 2), 77.0, 0.8)), values.channels_dropped),
        "CoarseDropout": (_filled(T.CoarseDropout, (1, 5), p=0.8), values.holes_filled),
        "GridDropout": (_filled(T.GridDropout, 0.6, (3, 4), p=0.8), values.holes_filled),
        "XYMasking": (_filled(T.XYMasking, (0, 2), (1, 3), p=0.8), values.holes_filled),
        "RandomGridShuffle": (_always(T.RandomGridShuffle((2, 3), 0.8)), values.cells_exchanged),
        "PatchBrightness": (
            _always(T.PatchBrightness((1, 4), factor_range=(0.2, 1.9), p=0.8)),
            values.brightened,
        ),
        "GaussianNoise": (_always(T.GaussianNoise((-0.1, 0.1), (0.0, 0.3))), by.noisy),
        "Mosaic": (lambda rng, h, w: T.Mosaic(_size(rng), fill=_fill(rng)), by.laid),
    },
}
_INEXACT: dict[str, dict[str, tuple[Draw, Theirs]]] = {
    "OpenCV": {"MotionBlur": (_always(T.MotionBlur((1, 9))), by.smeared)},
    "torchvision": {
        "Resize": (_resize(True), by.resized_by_torchvision),
        "Resize, linear": (_resize(False), by.resized_by_torchvision),
        "RandomResizedCrop": (_crop(True), by.resized_by_torchvision),
        "RandomResizedCrop, nearest": (_crop(False, "nearest"), by.resized_by_torchvision),
        "RandomRotation, linear": (_linear_rotation, by.by_torchvision_affine),
        "RandomAffine, linear": (_linear_affine, by.by_torchvision_affine),
        "RandomPerspective": (_perspective, by.by_torchvision_perspective),
        "Grayscale, 1 channel": (_always(T.Grayscale(1)), by.by_functional(by.grays, "rgb_to_grayscale")),
        "GaussianBlur": (_small_blur, by.by_functional(by.sigmas, "gaussian_blur")),
        "ToDtype, float32 to uint8": (_always(T.ToDtype(torch.uint8, scale=True)), by.cast),
        "TrivialAugmentWide": (_filled(T.TrivialAugmentWide), by.operated),
        "RandAugment": (_filled(T.RandAugment), by.operated),
        "AutoAugment": (_filled(T.AutoAugment), by.operated),
        "AugMix": (_filled(T.AugMix), by.blended),
    },
}


def _forms() -> Iterator[Form]:
    for promised, table in ((True, _EXACT), (False, _INEXACT)):
        for author, rows in table.items():
            for key, (draw, theirs) in rows.items():
                name, _, form = key.partition(", ")
                dtype = "float32" if form.startswith("float32") else "uint8"
                how = (_COUNTS.get(name, 1), dtype, _TARGETS.get(name))
                yield Form(name, form, author, promised, draw, theirs, *how)


FORMS = list(_forms())
LINES = [form.line() for form in FORMS]


@dataclass(frozen=True)
class Pipeline:
    """A sequence of forms, and the image that they were drawn for."""

    forms: tuple[Form, ...]
    transforms: tuple[T.Transform, ...]
    images: Array
    seed: int

    @classmethod
    def drawn(cls, seed: int) -> Pipeline:
        """Two or three forms that are promised to be identical to their references."""
        rng = np.random.default_rng([seed, 5])
        known = [f for f in FORMS if f.promised and f.count == 1 and not f.target and " " not in f.form]
        known = [f for f in known if f.name not in _LATER]
        forms = tuple(
            f for f in rng.choice(np.array(known, object), rng.integers(2, 4)) if f.dtype == "uint8"
        )
        images = draw_image(rng, (3,), most=30)[None]
        transforms: list[T.Transform] = []
        for form in forms:
            plan = T.Compose([T.Pad(0), *transforms], exact=True, seed=seed).plan(
                [images.shape[1:3]], epoch=0
            )
            transforms.append(form.draw(rng, *plan.output_sizes[0].tolist()))
        return cls(forms, tuple(transforms), images, seed)

    def ours(self) -> Array:
        return ours(self.transforms, self.images, self.seed)

    def theirs(self) -> Array:
        """The reference functions in sequence."""
        result = self.images
        for index, (form, transform) in enumerate(zip(self.forms, self.transforms, strict=True)):
            result = form.theirs(Call(transform, index, self.seed, result))
        return result
