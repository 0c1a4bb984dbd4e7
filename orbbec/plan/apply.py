"""A plan applied to pixels: one call an augment pass, one an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.augment import augment
from orbbec.batch import ImageBatch
from orbbec.binding.arguments import Array
from orbbec.blur import gaussian_blur, median_blur, motion_blur
from orbbec.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    cvt_color,
    equalize,
    invert,
    posterize,
    solarize,
    to_float,
)
from orbbec.elastic import elastic_transform
from orbbec.erase import erase
from orbbec.jpeg import jpeg_compression
from orbbec.mix import cutmix, mixup, mosaic
from orbbec.noise import gaussian_noise
from orbbec.plan.batches import (
    Given,
    Work,
    as_list,
    blended,
    by_size,
    in_one_call,
    merged,
    read_images,
    repeated,
)
from orbbec.plan.passes import IDENTITIES, AugmentPass, MixPass, OperatorPass, Pass
from orbbec.plan.plan import Plan
from orbbec.resize import resized_crop

OPERATORS: dict[str, Callable[..., Any]] = {
    call.__name__: call
    for call in (
        *(adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_saturation, adjust_sharpness),
        *(autocontrast, cvt_color, equalize, invert, posterize, solarize, to_float),
        *(gaussian_blur, median_blur, motion_blur),
        *(elastic_transform, erase, gaussian_noise, jpeg_compression, resized_crop),
    )
}


def apply(plan: Plan, images: Any, *, out: Any = None) -> Any:
    """Do to images what a plan says.

    Args:
        plan: for images of these sizes, in this order.
        images: as `Compose` takes them.
        out: where the last pass writes, if that is an augment pass.

    Returns:
        The results, in the kind of `images`: of an `ImageBatch` or a list, a tensor `[N, C, H, W]` where all
        have one size, else an `ImageBatch` of bytes or a list of tensors `[C, H, W]`.

    Raises:
        TypeError: the images are of another dtype than those that the plan was made for.
        ValueError: they are of other sizes.
    """
    given = read_images(images)
    _check_fit(plan, given)
    work, sizes = given.work, given.sizes
    for number, step in enumerate(plan.passes):
        last = out if number == len(plan.passes) - 1 else None
        work = _run(step, work, sizes, plan, last)
        sizes = step.sizes
    return given.restore(work)


def _run(step: Pass, work: Work, sizes: Array, plan: Plan, out: Any = None) -> Work:
    if isinstance(step, AugmentPass):
        return _augment(step, work, sizes, out)
    if isinstance(step, OperatorPass):
        return _operate(step, work, sizes, plan)
    if isinstance(step, MixPass):
        return _mix(step, work)
    copies = repeated(work, step.copies)
    for inner in step.passes:
        copies = _run(inner, copies, inner.sizes, plan)
    return blended(work, copies, step.weights)


def _check_fit(plan: Plan, given: Given) -> None:
    if given.dtype != plan.dtype:
        raise TypeError(
            f"apply: expected images of {plan.dtype}, as the plan was made for, but got {given.dtype}"
        )
    if given.channels != plan.channels and len(plan):
        raise ValueError(f"apply: expected images of {plan.channels} channels, but got {given.channels}")
    if given.sizes.shape[0] != len(plan):
        raise ValueError(
            f"apply: expected {len(plan)} images, as the plan was made for, but got {len(given.sizes)}"
        )
    if plan.size is not None and given.size is not None and given.size == plan.size:
        return
    if (given.sizes != plan.sizes).any():
        index = int((given.sizes != plan.sizes).any(1).argmax())
        height, width = plan.sizes[index].tolist()
        raise ValueError(f"apply: expected image {index} of size {height}x{width}, as the plan was made for")


def _rows(table: Array, rows: Array | None) -> Tensor:
    return torch.from_numpy(table if rows is None else np.ascontiguousarray(table[rows]))


def _augment(step: AugmentPass, work: Work, sizes: Array, out: Any) -> Work:
    mixes, at_once = step.mixes, in_one_call(work, step)

    def run(images: Work, rows: Array | None, size: tuple[int, int]) -> Tensor:
        result: Tensor = augment(
            images,
            _rows(step.maps, rows),
            size,
            regions=None if step.regions is None else _rows(step.regions, rows),
            colors=_rows(step.colors, rows) if step.colors.shape[1] else None,
            erase=_rows(step.erase, rows) if step.erase.shape[1] else None,
            mean=step.mean,
            std=step.std,
            mix=None if mixes is None or not at_once else torch.from_numpy(mixes.rows()),
            dtype=getattr(torch, step.dtype),
            channels_last=step.channels_last,
            contrast=step.contrast,
            interpolation=step.interpolation,
            border=step.border,
            fill=list(step.fill) if len(step.fill) > 1 else step.fill[0],
            out=out,
        )
        return result

    result = by_size(work, step, sizes, run)
    return result if mixes is None or at_once else _mix(mixes, result)


def _operate(step: OperatorPass, work: Work, sizes: Array, plan: Plan) -> Work:
    if step.draws == "none" and not step.resizes:
        return work
    call, options = OPERATORS[step.name], dict(step.options)
    if "dtype" in options:
        options["dtype"] = getattr(torch, options["dtype"])
    if "place" in options:  # draws noise of the image's own
        options |= {"seed": plan.seed, "epoch": plan.epoch}
    table = dict(step.table)
    if "place" in options:
        table["sample_ids"] = plan.sample_ids

    def run(images: Work, rows: Array | None) -> Any:
        return call(images, **{name: _rows(values, rows) for name, values in table.items()}, **options)

    def resize(images: Work, rows: Array | None, size: tuple[int, int]) -> Tensor:
        result: Tensor = call(images, _rows(table["boxes"], rows), size, **options)
        return result

    if step.resizes:
        return by_size(work, step, sizes, resize)
    if isinstance(work, list):
        results = [run(image[None], np.array([n]))[0] for n, image in enumerate(work)]
    else:
        results = run(work, None)
    keeps = step.draws == "all" or step.name in IDENTITIES
    return results if keeps else _where(step.drawn, results, work)


def _mix(step: MixPass, work: Work) -> Work:
    if isinstance(work, list):
        raise ValueError(f"{step.name}: expected images of one size; put a resize or a crop before it")
    columns: dict[str, Any] = {
        name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in step.table.items()
    }
    if step.name == "mosaic":
        height, width = step.sizes[0].tolist()
        return mosaic(work, **columns, size=(height, width), **step.options) if len(step.sizes) else work
    if step.name == "cutmix":
        return cutmix(work, columns["partners"], columns["boxes"])
    return mixup(work, **columns)


def _where(drawn: Array, changed: Work, kept: Work) -> Work:
    """The images that were drawn, changed, and the others as they were, to the last bit."""
    if isinstance(changed, Tensor) and isinstance(kept, Tensor):
        mask = torch.from_numpy(drawn).to(changed.device, non_blocking=True)
        return torch.where(mask[:, None, None, None], changed, kept)
    if isinstance(changed, ImageBatch):
        for row in np.flatnonzero(~drawn).tolist():
            changed[row].copy_(kept[row])
        return changed
    pairs = zip(as_list(changed), as_list(kept), drawn.tolist(), strict=True)
    return merged([new if is_drawn else old for new, old, is_drawn in pairs])
