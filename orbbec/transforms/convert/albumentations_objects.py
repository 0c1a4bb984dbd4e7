"""Converters of single Albumentations steps that read objects or other images, or draw kernels and layers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from orbbec.transforms.adaptation import FDA, HistogramMatching
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.convert.albumentations_attributes import attribute, expect
from orbbec.transforms.effects import (
    AdvancedBlur,
    LineBlur,
    PlasmaBrightnessContrast,
    PlasmaShadow,
    Spatter,
)
from orbbec.transforms.objects import ConstrainedCoarseDropout, MaskDropout

_LAYER = ("mean", "std", "gauss_sigma", "cutout_threshold", "intensity")
_SHAPE = ("sigma_x", "sigma_y", "rotate", "beta", "noise")


def odd_sides(step: Any) -> tuple[int, int]:
    """The ends of a range of kernel sizes, odd and at least 3."""
    low, high = (max(3, side + 1 - side % 2) for side in attribute(step, "blur_limit"))
    return low, high


def _fill(step: Any) -> Any:
    if isinstance(step.fill, str):
        raise ValueError(f"expected fill as numbers, but got {step.fill!r}")
    return step.fill


def _objects_dropped(step: Any) -> list[Transform]:
    expect(step, fill_mask=0)
    return [MaskDropout(attribute(step, "max_objects"), _fill(step), 1.0)]


def _dropped_at_objects(step: Any) -> list[Transform]:
    expect(step, fill_mask=None)
    if step.mask_indices is None and step.bbox_labels is None:
        raise ValueError("expected mask_indices or bbox_labels, since nothing is dropped without")
    ranges = step.num_holes_range, step.hole_height_range, step.hole_width_range
    labels = step.bbox_labels if step.mask_indices is None else None
    return [ConstrainedCoarseDropout(*ranges, _fill(step), step.mask_indices, labels, 1.0)]


def _spattered(step: Any) -> list[Transform]:
    ranges = {f"{name}_range": attribute(step, name) for name in _LAYER}
    return [Spatter(**ranges, mode=step.mode, color=tuple(step.color), p=1.0)]


def _references(step: Any) -> list[Any]:
    """The images of the other domain, or their paths."""
    images = getattr(step, "reference_images", None)
    if images is None:
        raise ValueError(
            f"expected reference_images, since orbbec's {type(step).__name__} has its images in the argument "
            "references, not under metadata_key in each call"
        )
    is_default = getattr(step.read_fn, "__module__", "").split(".")[0] == "albumentations"
    if is_default and all(isinstance(each, (str, os.PathLike)) for each in images):
        return list(images)
    return [step.read_fn(each) for each in images]


def _blurred_by_a_line(step: Any) -> list[Transform]:
    return [LineBlur(odd_sides(step), step.angle_range, step.direction_range, step.allow_shifted, 1.0)]


def _blurred_by_a_shape(step: Any) -> list[Transform]:
    ranges = {f"{name}_range": attribute(step, f"{name}_limit") for name in _SHAPE}
    return [AdvancedBlur(odd_sides(step), **ranges, p=1.0)]


def _unevenly_lit(step: Any) -> list[Transform]:
    return [PlasmaBrightnessContrast(step.brightness_range, step.contrast_range, step.roughness, 1.0)]


OBJECT_MAKERS: dict[str, Callable[[Any], list[Transform]]] = {
    "MaskDropout": _objects_dropped,
    "ConstrainedCoarseDropout": _dropped_at_objects,
    "Spatter": _spattered,
    "FDA": lambda step: [FDA(_references(step), attribute(step, "beta_limit"), 1.0)],
    "HistogramMatching": lambda step: [HistogramMatching(_references(step), step.blend_ratio, 1.0)],
    "MotionBlur": _blurred_by_a_line,
    "AdvancedBlur": _blurred_by_a_shape,
    "PlasmaBrightnessContrast": _unevenly_lit,
    "PlasmaShadow": lambda step: [PlasmaShadow(step.shadow_intensity_range, step.roughness, 1.0)],
}
