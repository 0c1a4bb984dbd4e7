"""Calls of transforms and operators, shared by the functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.collate import is_pil
from orbbec.bridge.arguments import holds_planes
from orbbec.plan.batches import Input
from orbbec.transforms.base.checks import FillValue, numbers
from orbbec.transforms.base.clips import clips_of
from orbbec.transforms.base.inputs import read
from orbbec.transforms.base.module import outside_graphs
from orbbec.transforms.base.pipeline import Pipeline
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.base.tv_tensors import is_target, name_of
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.targets import transform_targets


@lru_cache(maxsize=128)
def _pipeline(transforms: tuple[Transform, ...]) -> Pipeline:
    """The pipeline of transforms, whose programs serve later calls with equal arguments."""
    return Pipeline(transforms, exact=True)


@contextmanager
def _named(op: str) -> Iterator[None]:
    """Errors of a pipeline name the function."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith("Compose: "):
            raise
        raise type(error)(str(error).replace("Compose", op, 1)) from None


@outside_graphs
def apply_to_images(op: str, inpt: Any, *transforms: Transform) -> Any:
    """Apply transforms without random parameters to images."""
    check_images(op, inpt)
    with _named(op):
        return _pipeline(transforms)(inpt, epoch=0)


@outside_graphs
def apply(op: str, inpt: Any, transforms: Sequence[Transform], fill: tuple[float, ...] = (0.0,)) -> Any:
    """Apply transforms without random parameters to images, boxes, masks or points."""
    if not is_target(inpt):
        return apply_to_images(op, inpt, *transforms)
    plan = _pipeline(tuple(transforms)).plan([canvas_of(inpt)], epoch=0)
    options = TargetOptions(drop_boxes=False, mask_fill=fill[0])
    return transform_targets(plan, [{name_of(inpt): inpt}], options)[0][name_of(inpt)]


def changed(op: str, inpt: Any, operator: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Apply an operator to images."""
    images = readable(op, inpt)
    return images.restore(operator(images.work, *arguments, **options))


def readable(op: str, inpt: Any) -> Input:
    """Images or the frames of clips, and how to restore results to the kind of the input."""
    check_images(op, inpt)
    with _named(op):
        clips = clips_of(inpt)
        if clips is None:
            return read(inpt)
        frames = read(clips.images)
        return frames._replace(restore=lambda work: clips.restored(frames.restore(work)))


def check_images(op: str, inpt: Any) -> None:
    """Refuse values that contain no images.

    Raises:
        TypeError: names the type.
    """
    kinds = (Tensor, np.ndarray, ImageBatch, list, tuple, dict)
    if is_target(inpt) or not (isinstance(inpt, kinds) or is_pil(inpt) or holds_planes(inpt)):
        raise TypeError(f"{op}: expected images, but got {type(inpt)}")


def canvas_of(target: Any) -> tuple[int, int]:
    """Height and width of the image that boxes, masks or points belong to."""
    height, width = getattr(target, "canvas_size", target.shape[-2:])
    return int(height), int(width)


def fill_of(op: str, fill: FillValue | None) -> tuple[float, ...]:
    """The numbers of a fill; None is 0."""
    return (0.0,) if fill is None else numbers(op, "fill", fill)
