"""Conversion of torchvision pipelines by the names of classes and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from orbbec.bridge.plain import is_number
from orbbec.transforms.base.checks import choice
from orbbec.transforms.base.registry import known_transforms
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.bounding_boxes import (
    ClampBoundingBoxes,
    ConvertBoundingBoxFormat,
    SanitizeBoundingBoxes,
)
from orbbec.transforms.containers import RandomApply, RandomChoice, RandomOrder
from orbbec.transforms.convert import ConversionError, Inner, Maker, as_one, convert, flat
from orbbec.transforms.output import ToDtype
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions

_OP = "from_torchvision"
_OF_BOXES = ("ClampBoundingBoxes", "SanitizeBoundingBoxes")
# Steps that state the kind of an image, which orbbec detects, or clip boxes, which it always does.
_NOTHING = ("ToPILImage", "Identity", "ClampBoundingBoxes")
_TO_TENSOR = ("ToTensor", "PILToTensor", "ToImage")
_IMAGE_TYPES = {"object", "Tensor", "Image"}  # of torchvision's Lambda: those that images have
# Pillow's constants, which torchvision accepts too.
_BY_NUMBER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
_NEAREST = {
    "ClampKeyPoints": "functional.clamp_keypoints",
    "FiveCrop": "MultiView.from_torchvision",
    "SanitizeKeyPoints": "TargetOptions(drop_keypoints=True)",
    "TenCrop": "MultiView.from_torchvision",
    "UniformTemporalSubsample": "functional.uniform_temporal_subsample",
}
_FILLING = (
    *("ElasticTransform", "Pad", "RandomAffine", "RandomCrop"),
    *("RandomPerspective", "RandomRotation", "RandomZoomOut"),
)
_RENAMED = {"sampler_options": "options"}  # orbbec's argument: torchvision's attribute


def from_torchvision(compose: Any, functions: bool = True) -> tuple[list[Transform], TargetOptions]:
    """The transforms of a torchvision pipeline, v1 or v2; see `Compose.from_torchvision`.

    Args:
        compose: as that of `Compose.from_torchvision`.
        functions: convert `Lambda`; its function must keep shape and dtype.
    """
    steps = steps_of(compose)
    transforms = flat(convert(_OP, steps, partial(_maker, functions), nearest=_NEAREST))
    options = DEFAULT_OPTIONS
    every = list(_with_nested(steps))
    _check_pillow(every)
    for step in every:
        if type(step).__name__ == "SanitizeBoundingBoxes":
            options = SanitizeBoundingBoxes(step.min_size, step.min_area).target_options(options)
    if not transforms and any(type(step).__name__ in _OF_BOXES for step in every):
        transforms = [ClampBoundingBoxes()]
    return transforms, replace(options, mask_fill=_mask_fill(every))


def split_at_crops(compose: Any) -> tuple[Any, list[Transform], list[Transform], TargetOptions]:
    """The step `FiveCrop` or `TenCrop`, the transforms before and after it, and the options."""
    steps = steps_of(compose)
    positions = [n for n, step in enumerate(steps) if type(step).__name__ in ("FiveCrop", "TenCrop")]
    if len(positions) != 1:
        raise ValueError(
            f"MultiView: expected a pipeline with one FiveCrop or TenCrop, but got {len(positions)}"
        )
    before, after = steps[: positions[0]], steps[positions[0] + 1 :]
    options = from_torchvision([*before, *after])[1]
    return steps[positions[0]], from_torchvision(before)[0], from_torchvision(after, False)[0], options


def is_pillow_passing(step: Any, later: Iterable[Any]) -> bool:
    """Whether a step makes images of Pillow, and a later one tensors of them, as pipelines of v1 begin."""
    names = {type(each).__name__ for each in later}
    return type(step).__name__ == "ToPILImage" and not names.isdisjoint(_TO_TENSOR)


def _check_pillow(steps: list[Any]) -> None:
    for index, step in enumerate(steps):
        if type(step).__name__ == "ToPILImage" and not is_pillow_passing(step, steps[index + 1 :]):
            raise ConversionError(
                f"{_OP}: ToPILImage has no counterpart, unless one of {', '.join(_TO_TENSOR)} follows: "
                "a pipeline returns the kind of its images"
            )


def steps_of(compose: Any) -> list[Any]:
    """The steps of a `Compose`, `Sequential` or list; of a single transform, itself."""
    if any(kind.__name__ == "Compose" for kind in type(compose).__mro__):
        return list(compose.transforms)
    is_transform = type(compose).__module__.startswith("torchvision.")
    return [compose] if is_transform or not isinstance(compose, Iterable) else list(compose)


def _with_nested(steps: Iterable[Any]) -> Iterator[Any]:
    """Steps, and the steps of containers among them."""
    for step in steps:
        yield step
        nested = step if type(step).__name__ == "Sequential" else getattr(step, "transforms", ())
        yield from _with_nested(nested)


def _maker(functions: bool, step: Any) -> Maker | None:
    name, library = type(step).__name__, type(step).__module__.split(".")[0]
    is_step = library == "torchvision" or (library == "torch" and name in ("Sequential", "Identity"))
    if not is_step or (name == "Lambda" and not functions):
        return None
    return _MAKERS.get(name) or (_same if name in known_transforms() else None)


def _same(step: Any, inner: Inner) -> list[Transform]:
    """The transform of the same name, with the step's attributes as arguments."""
    if not isinstance(getattr(step, "labels_getter", "default"), str):
        raise ValueError('expected labels_getter="default", since labels are known by name')
    kind = known_transforms()[type(step).__name__]
    names = {field.name: _RENAMED.get(field.name, field.name) for field in fields(kind)}
    arguments = {ours: getattr(step, theirs) for ours, theirs in names.items() if hasattr(step, theirs)}
    return [kind(**{name: _value(name, value) for name, value in arguments.items()})]


def _value(name: str, value: Any) -> Any:
    """An attribute converted for orbbec's argument `name`."""
    if name == "fill":
        value = _of_images(value) if isinstance(value, Mapping) else value
        return 0.0 if value is None else value
    if name == "interpolation":
        text = getattr(value, "value", value)
        return _BY_NUMBER.get(text, text)
    if name == "value" and value is None:
        return "random"
    return value


def _of_images(table: Mapping[Any, Any]) -> Any:
    """The entry for images of a dict keyed by tv_tensor class."""
    by_name = _by_names(table)
    default = getattr(table, "default_factory", None)
    known = (by_name[name] for name in ("Image", "Tensor", "others") if name in by_name)
    return next(known, default() if default is not None else None)


def _by_names(table: Mapping[Any, Any]) -> dict[str, Any]:
    return {getattr(kind, "__name__", kind): value for kind, value in table.items()}


def _to_dtype(dtype: Any, scale: bool) -> list[Transform]:
    dtype = _of_images(dtype) if isinstance(dtype, Mapping) else dtype
    return [] if dtype is None else [ToDtype(dtype, scale)]


def _mask_fill(steps: Iterable[Any]) -> float:
    """The fill of masks: that in dicts keyed by tv_tensor class, or the number by which every step fills."""
    tables = [step.fill for step in steps if isinstance(getattr(step, "fill", None), Mapping)]
    fills = {value for table in tables if (value := _by_names(table).get("Mask")) is not None}
    if len(fills) > 1:
        raise ConversionError(f"{_OP}: expected one fill for masks, but got {sorted(fills)}")
    numbers = fills or {step.fill or 0 for step in steps if _fills_masks(step)}
    is_one = len(numbers) == 1 and all(map(is_number, numbers))
    return float(numbers.pop()) if is_one else TargetOptions.mask_fill


def _fills_masks(step: Any) -> bool:
    """Whether a step of v2 fills masks with the number by which it fills images."""
    if type(step).__name__ not in _FILLING or ".v2" not in type(step).__module__:
        return False
    if type(step).__name__ == "RandomCrop" and step.padding is None and not step.pad_if_needed:
        return False
    is_constant = getattr(step, "padding_mode", "constant") == "constant"
    return is_constant and (step.fill is None or is_number(step.fill))


def _sanitize(step: Any, inner: Inner) -> list[Transform]:
    getter = getattr(step, "labels_getter", "default")
    SanitizeBoundingBoxes(step.min_size, step.min_area, getter)  # checks the values; they become options
    return []


def _formatted(step: Any, inner: Inner) -> list[Transform]:
    ConvertBoundingBoxFormat(step.format)  # checks the format
    return []


def _clamping(step: Any, inner: Inner) -> list[Transform]:
    choice(_OP, "clamping_mode", step.clamping_mode, ("auto", "soft", "hard"))  # alike for upright boxes
    return []


def _sequence(step: Any, inner: Inner) -> list[Transform]:
    return flat(inner(getattr(step, "transforms", step)))


def _elastic(step: Any, inner: Inner) -> list[Transform]:
    """Half of alpha, which counts half pixels of a square image in torchvision."""
    transform: Any = _same(step, inner)[0]
    return [replace(transform, alpha=tuple(strength / 2 for strength in transform.alpha))]


def _function(step: Any, inner: Inner) -> list[Transform]:
    types = [kind.__name__ for kind in getattr(step, "types", (object,))]
    if _IMAGE_TYPES.isdisjoint(types):
        raise ValueError(f"expected a function of images, but got one of {', '.join(types)}")
    return _same(step, inner)


def _apply(step: Any, inner: Inner) -> list[Transform]:
    transforms = flat(inner(step.transforms))
    return [RandomApply(transforms, step.p)] if transforms else []


def _choice(step: Any, inner: Inner) -> list[Transform]:
    return [RandomChoice([as_one(part) for part in inner(step.transforms)], step.p)]


def _order(step: Any, inner: Inner) -> list[Transform]:
    return [RandomOrder([as_one(part) for part in inner(step.transforms)])]


_MAKERS: dict[str, Maker] = {
    **dict.fromkeys(_NOTHING, lambda step, inner: []),
    **dict.fromkeys(("Compose", "Sequential"), _sequence),
    "ElasticTransform": _elastic,
    "Lambda": _function,
    "RandomApply": _apply,
    "RandomChoice": _choice,
    "RandomOrder": _order,
    "SanitizeBoundingBoxes": _sanitize,
    "ConvertBoundingBoxFormat": _formatted,
    "SetClampingMode": _clamping,
    "ConvertImageDtype": lambda step, inner: _to_dtype(step.dtype, True),
    "ToDtype": lambda step, inner: _to_dtype(step.dtype, step.scale),
}
