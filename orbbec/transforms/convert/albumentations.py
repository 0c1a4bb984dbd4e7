"""Conversion of Albumentations pipelines by the names of classes and attributes.

The names are those of Albumentations 2.0 and AlbumentationsX 2.5, which renamed most ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from orbbec.transforms.base.transform import Transform
from orbbec.transforms.color import RandomPhotometricDistort
from orbbec.transforms.containers import RandomApply, RandomChoice, SomeOf
from orbbec.transforms.convert import ConversionError, Inner, Maker, as_one, convert, flat
from orbbec.transforms.convert.albumentations_attributes import attribute, expect, expect_if, one_of
from orbbec.transforms.convert.albumentations_steps import MAKERS, NEAREST
from orbbec.transforms.distortions import RandomGridShuffle
from orbbec.transforms.effects.artifacts import Morphological
from orbbec.transforms.erasing import CoarseDropout, GridDropout, XYMasking
from orbbec.transforms.objects import ConstrainedCoarseDropout
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions
from orbbec.transforms.targets.per_box import PER_BOX_KEYS

_OP = "from_albumentations"
_BOX_FORMATS = {
    "pascal_voc": "xyxy",
    "coco": "xywh",
    "albumentations": "xyxyn",
    "yolo": "cxcywhn",
    "cxcywh": "cxcywh",  # AlbumentationsX only
}


def from_albumentations(compose: Any) -> tuple[list[Transform], TargetOptions]:
    """The transforms of an Albumentations pipeline; see `Compose.from_albumentations`."""
    if _is_one_step(compose):
        compose = [compose]
    steps = getattr(compose, "transforms", compose)
    transforms = flat(convert(_OP, steps, _maker, nearest=NEAREST))
    try:
        _check_compose(compose)
        processors = getattr(compose, "processors", {})
        if processors:
            _check_boxes(transforms, processors)
        options = _options(processors)
    except ValueError as error:
        raise ConversionError(f"{_OP}: {error}") from error
    return _at_chance(transforms, getattr(compose, "p", 1.0)), options


def _is_one_step(step: Any) -> bool:
    is_pipeline = any(kind.__name__ == "Compose" for kind in type(step).__mro__)
    return type(step).__module__.startswith("albumentations.") and not is_pipeline


def _maker(step: Any) -> Maker | None:
    kind = type(step)
    if kind.__module__.split(".")[0] != "albumentations":
        return None
    if kind.__name__ in CONTAINERS:
        return CONTAINERS[kind.__name__]
    make = MAKERS.get(kind.__name__)
    return None if make is None else lambda step, inner: _at_chance(make(step), step.p)


def _at_chance(transforms: Sequence[Transform], p: float) -> list[Transform]:
    """Apply unconditional transforms with probability `p`."""
    if p == 1.0 or not transforms:
        return list(transforms)
    first = transforms[0]
    is_chance = getattr(first, "p", None) == 1.0 and not isinstance(first, RandomPhotometricDistort)
    if len(transforms) == 1 and is_chance:
        return [replace(first, **{"p": p})]
    return [RandomApply(transforms, p)]


def _check_compose(compose: Any) -> None:
    """Refuse settings for targets that orbbec does not have."""
    if hasattr(compose, "mask_interpolation"):
        one_of(compose, "mask_interpolation", (None, 0))
    expect_if(compose, additional_targets={}, semantic_mask_label_mappings=None)


def _check_boxes(transforms: Iterable[Transform], has: Collection[str]) -> None:
    """Refuse transforms of colors that change boxes or points in Albumentations."""
    for transform in transforms:
        if isinstance(transform, (CoarseDropout, GridDropout, XYMasking)):
            raise ValueError(f"{transform.name} drops boxes and keypoints in holes, but orbbec keeps them")
        is_by_mask = isinstance(transform, ConstrainedCoarseDropout) and transform.mask_indices is not None
        if is_by_mask or (isinstance(transform, ConstrainedCoarseDropout) and "keypoints" in has):
            raise ValueError(f"{transform.name} drops boxes and keypoints in holes, but orbbec keeps them")
        if isinstance(transform, RandomGridShuffle) and "bboxes" in has:
            raise ValueError("RandomGridShuffle makes boxes of all parts of a box, but orbbec of the largest")
        if isinstance(transform, Morphological):
            raise ValueError("Morphological changes boxes, but orbbec keeps them")
        _check_boxes(getattr(transform, "transforms", ()), has)


def _options(processors: Any) -> TargetOptions:
    """The options that correspond to `bbox_params` and `keypoint_params`."""
    options = DEFAULT_OPTIONS
    try:
        if "bboxes" in processors:
            options = _box_options(processors["bboxes"].params)
    except ValueError as error:
        raise ValueError(f"bbox_params: {error}") from error
    try:
        if "keypoints" in processors:
            options = replace(options, drop_keypoints=_drops_keypoints(processors["keypoints"].params))
    except ValueError as error:
        raise ValueError(f"keypoint_params: {error}") from error
    return options


def _box_options(boxes: Any) -> TargetOptions:
    one_of(boxes, "format", tuple(_BOX_FORMATS))
    expect(boxes, min_height=boxes.min_width, max_accept_ratio=None)
    expect_if(
        boxes,
        **{"bbox_type": "hbb", "clip_after_transform": True},
        **{"check_each_transform": True, "filter_invalid_bboxes": False},
    )
    if boxes.min_visibility > 0:  # orbbec measures visibility relative to the whole box
        expect_if(boxes, clip=False, clip_bboxes_on_input=False)
    return TargetOptions(
        _BOX_FORMATS[attribute(boxes, "format")],
        boxes.min_width,
        boxes.min_visibility,
        min_area=boxes.min_area,
        per_box=[name for name in getattr(boxes, "label_fields", None) or () if name not in PER_BOX_KEYS],
    )


def _drops_keypoints(points: Any) -> bool:
    """Whether keypoints outside the image are dropped."""
    expect(points, format="xy")
    expect_if(points, label_mapping={}, check_each_transform=True)
    if points.remove_invisible and getattr(points, "label_fields", None):
        raise ValueError(
            "expected remove_invisible=False with label_fields, since orbbec keeps the labels of dropped "
            "keypoints"
        )
    return bool(points.remove_invisible)


def _sequential(step: Any, inner: Inner) -> list[Transform]:
    _check_compose(step)
    return _at_chance(flat(inner(step.transforms)), step.p)


def _parts(steps: Iterable[Any], inner: Inner) -> list[Transform]:
    return [as_one(part) for part in inner(steps)]


def _certain(step: Any) -> Any:
    """A step without its own probability, as when it was chosen."""
    kind = type(step).__name__
    if kind == "OneOrOther" or (kind in ("SomeOf", "RandomOrder") and hasattr(step, "_get_idx")):
        return step  # p is the weight of the first; containers of 2.0 keep their probability
    certain = copy(step)
    certain.p = 1.0
    return certain


def _one_of(step: Any, inner: Inner) -> list[Transform]:
    parts = _parts(map(_certain, step.transforms), inner)
    return _at_chance([RandomChoice(parts, tuple(map(float, step.transforms_ps)))], step.p)


def _one_or_other(step: Any, inner: Inner) -> list[Transform]:
    parts = _parts((_certain(step.transforms[index]) for index in (0, -1)), inner)
    return [RandomChoice(parts, (step.p, 1 - step.p))]


def _some_of(step: Any, inner: Inner) -> list[Transform]:
    shuffle = type(step).__name__ == "RandomOrder"
    some = SomeOf(_parts(step.transforms, inner), step.n, bool(step.replace), shuffle)
    return _at_chance([some], step.p)


CONTAINERS: dict[str, Maker] = {
    **dict.fromkeys(("Compose", "ReplayCompose", "Sequential"), _sequential),
    "OneOf": _one_of,
    "OneOrOther": _one_or_other,
    **dict.fromkeys(("SomeOf", "RandomOrder"), _some_of),
}
