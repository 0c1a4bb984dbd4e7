"""A plan applied to pixels: one call an augment pass, one an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.augment import augment, augment_moved
from orbbec.batch import ImageBatch
from orbbec.binding.arguments import (
    Array,
    RaggedImages,
    StoredPlanes,
    holds_planes,
    is_channels_last,
    operator_output,
)
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
    rows_of,
    signed,
    unsigned,
)
from orbbec.plan.parts import Results, part_of, parts_of
from orbbec.plan.passes import IDENTITIES, AugmentPass, MixPass, OperatorPass, Pass
from orbbec.plan.plan import Plan
from orbbec.plan.tables import tables_of
from orbbec.resize import resized_crop
from orbbec.warpaffine import warp_affine
from orbbec.warpperspective import warp_perspective
from orbbec.ycbcr import ycbcr_to_rgb

After: TypeAlias = Callable[[int, Work], None]


def _call_each(images: Work, function: Callable[[Tensor], Tensor]) -> Work:
    """What a function of the user's makes of each image."""
    results = []
    for index, image in enumerate(as_list(images)):
        result = function(image)
        if not isinstance(result, Tensor) or (result.shape, result.dtype) != (image.shape, image.dtype):
            expected = f"{str(image.dtype).removeprefix('torch.')} {list(image.shape)}"
            given = f"{result.dtype} {list(result.shape)}" if isinstance(result, Tensor) else repr(result)
            raise ValueError(
                f"Lambda: expected {expected} of the function for image {index}, but got {given}"
            )
        results.append(result)
    return merged(results) if results else images


def _to_uint8(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Floats without their fractions, cut off at 0 and 255."""
    return images.clamp(0, 255).to(dtype)


def _resized_crop(
    images: Work,
    *,
    interpolation: Any,
    which: Tensor | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Any:
    """`resized_crop` by one interpolation, or by `which` of several: one call for each that there is."""
    if which is None:
        return resized_crop(images, interpolation=interpolation, out=out, **options)
    if not which.is_cpu or torch.compiler.is_compiling() or len(which) == 0:  # the host cannot read it
        result = resized_crop(images, interpolation=interpolation[0], **options)
        for k, name in enumerate(interpolation[1:], 1):
            result = _where(which == k, resized_crop(images, interpolation=name, **options), result)
        return result if out is None else out.copy_(result)
    for k in sorted(set(which.tolist())):
        rows = (which == k).nonzero()[:, 0]
        chosen = {name: v[rows.to(v.device)] for name, v in options.items() if isinstance(v, Tensor)}
        how = {**options, **chosen, "interpolation": interpolation[k]}
        part = resized_crop(rows_of(images, rows.numpy()), **how)
        if out is None:
            is_last = is_channels_last(part, None)
            layout = torch.channels_last if is_last else torch.contiguous_format
            shape = len(which), *part.shape[1:]
            out = torch.empty(shape, dtype=part.dtype, device=part.device, memory_format=layout)
        signed(out)[rows.to(part.device)] = signed(part)
    return out


OPERATORS: dict[str, Callable[..., Any]] = {
    call.__name__: call
    for call in (
        *(adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_saturation, adjust_sharpness),
        *(autocontrast, cvt_color, equalize, invert, posterize, solarize, to_float),
        *(gaussian_blur, median_blur, motion_blur),
        *(elastic_transform, erase, gaussian_noise, jpeg_compression),
        *(warp_affine, warp_perspective),
    )
}
OPERATORS |= {"lambda": _call_each, "resized_crop": _resized_crop, "to_uint8": _to_uint8}


def apply(plan: Plan, images: Any, *, out: Any = None) -> Any:
    """Do to images what a plan says.

    Args:
        plan: for images of these sizes, in this order.
        images: as `Compose` takes them, but for PIL images and tv_tensors.
        out: where to write results of one size: a tensor or an array of their shape and dtype, sharing no
            memory with `images`.

    Returns:
        `out` if it was given, else the results, in the kind of `images`: of an `ImageBatch`, a `PlaneBatch`
        or a list, a tensor `[N, C, H, W]` where all have one size, else an `ImageBatch` of bytes or a list
        of tensors `[C, H, W]`.

    Raises:
        TypeError: the images are of another dtype than those that the plan was made for.
        ValueError: they are of other sizes.
    """
    given = images if isinstance(images, Given) else read_images(images)
    _check_fit(plan, given)
    return run_passes(plan, given, out)


def run_passes(plan: Plan, given: Given, out: Any = None, after: After | None = None) -> Any:
    """What `apply` does to images that were read and fit the plan.

    Args:
        plan: for these images.
        given: the images.
        out: as that of `apply`.
        after: called after each pass, with its number and result; for a stopwatch. A pass may be run for a
            few images, and again for others.
    """
    work = given.work
    if out is None and after is None and (step := _that_only_moves(plan, work)) is not None:
        return given.restore(_moved(step, work))
    if holds_planes(work) and not reads_planes(plan, work):
        work = ycbcr_to_rgb(work)
    parts = parts_of(plan, work)
    if len(parts) == 1 and out is None:
        return given.restore(_run_part(plan, work, None, after))
    room = None if out is None else operator_output("apply", out).images
    if room is not None and torch.compiler.is_compiling():  # which cannot follow what Results asks
        result = _run_part(plan, work, room, after)
        if result is not room:
            room.copy_(result)
        return out
    results = Results(plan, work, room)
    for where in parts:
        part, images = (plan, work) if len(parts) == 1 else (part_of(plan, where), work[where])
        results.add(where, _run_part(part, images, results.room(where), after))
    return given.restore(results.together()) if out is None else out


def _that_only_moves(plan: Plan, work: Work) -> AugmentPass | None:
    """The one pass of a plan that neither colours, erases nor mixes, where images are a tensor on the CPU."""
    if len(plan.passes) != 1 or type(work) is not Tensor or not work.is_cpu or torch.compiler.is_compiling():
        return None
    step = plan.passes[0]
    if not isinstance(step, AugmentPass) or step.size is None or step.mixes or step.dtype == "uint16":
        return None
    return None if step.colors.shape[1] or step.erase.shape[1] else step


def _moved(step: AugmentPass, work: Tensor) -> Tensor:
    assert step.size is not None
    return augment_moved(
        work,
        torch.from_numpy(step.reads),
        None if step.regions is None else torch.from_numpy(step.regions),
        size=step.size,
        mean=step.mean or (),
        std=step.std or (),
        dtype=getattr(torch, step.dtype),
        channels_last=step.channels_last,
        interpolation=step.interpolation,
        border=step.border,
        fill=step.fill,
    )


def _run_part(plan: Plan, work: Work, room: Any, after: After | None) -> Work:
    return _run_all(_Run(plan, iter(tables_of(plan))), work, room, after)


def reads_planes(plan: Plan, planes: StoredPlanes) -> bool:
    """Whether the first pass makes RGB of planes as it reads them: where bytes to move are what counts."""
    first = plan.passes[0] if plan.passes else None
    return planes.buffer.is_cuda and isinstance(first, AugmentPass) and in_one_call(planes, first)


def apply_fixed(plan: Plan, images: RaggedImages, tables: Iterable[Mapping[str, Tensor]]) -> Tensor:
    """Do to images what a plan of `fixed` says, by tables that lie on their device.

    Nothing is asked of the numbers of the plan itself, nor copied from the host, so that what is called here
    can be captured in a CUDA graph and replayed with other numbers in the tables.

    Args:
        plan: of which only what `structure_of` tells is read.
        images: of any sizes.
        tables: as `tables_of` gives them.
    """
    result: Tensor = _run_all(_Run(plan, iter(tables), is_fixed=True), images)
    return result


class _Run(NamedTuple):
    plan: Plan
    tables: Iterator[Mapping[str, Any]]  # of the passes, each taken as its pass runs
    is_fixed: bool = False
    is_own: bool = False  # what the pass reads was made by one before it


def _run_all(run: _Run, work: Work, room: Any = None, after: After | None = None) -> Work:
    given, sizes, last = work, run.plan.sizes, len(run.plan.passes) - 1
    for number, step in enumerate(run.plan.passes):
        own = run._replace(is_own=work is not given and not torch.compiler.is_compiling())
        work = _run_one(step, work, sizes, own, room if number == last else None)
        sizes = step.sizes
        if after is not None:
            after(number, work)
    return work


def _run_one(step: Pass, work: Work, sizes: Array, run: _Run, room: Any = None) -> Work:
    tables = next(run.tables)
    if isinstance(step, AugmentPass):
        run_augment = _augment_uint16 if step.dtype == "uint16" else _augment
        return run_augment(step, work, sizes, tables, room)
    if isinstance(step, OperatorPass):
        return _operate(step, work, sizes, tables, run, room)
    if isinstance(step, MixPass):
        return _mix(step, work, tables)
    copies = repeated(work, step.copies)
    for inner in step.passes:
        copies = _run_one(inner, copies, inner.sizes, run)
    return blended(work, copies, _rows(tables["weights"]))


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


def _rows(table: Array | Tensor, rows: Array | None = None) -> Tensor:
    if isinstance(table, Tensor):
        return table
    return torch.from_numpy(np.ascontiguousarray(table if rows is None else table[rows]))


def _augment(step: AugmentPass, work: Work, sizes: Array, tables: Mapping[str, Any], room: Any) -> Work:
    mixes_later = step.mixes is not None and not in_one_call(work, step)
    taken = {name: table for name, table in tables.items() if not (name == "mix" and mixes_later)}

    def run(images: Work, rows: Array | None, size: tuple[int, int], target: Tensor | None) -> Tensor:
        result: Tensor = augment(
            images,
            size=size,
            **{name: _rows(table, rows) for name, table in taken.items()},
            mean=step.mean,
            std=step.std,
            dtype=torch.float32 if step.dtype == "uint16" else getattr(torch, step.dtype),
            channels_last=step.channels_last,
            contrast=step.contrast,
            interpolation=step.interpolation,
            border=step.border,
            fill=list(step.fill) if len(step.fill) > 1 else step.fill[0],
            out=target,
        )
        return result

    result = by_size(work, step, sizes, run, None if mixes_later else room)
    return _mix(step.mixes, result, step.mixes.table) if step.mixes is not None and mixes_later else result


def _augment_uint16(
    step: AugmentPass, work: Work, sizes: Array, tables: Mapping[str, Any], room: Any
) -> Work:
    """A pass that moves pixels, in float32, which holds each of 16 bits; rounded half to even at its end."""
    wide = [image.float() for image in work] if isinstance(work, list) else work.float()
    moved = _augment(step, wide, sizes, tables, None)
    if isinstance(moved, list):
        return [_as_uint16(image) for image in moved]
    return _as_uint16(moved) if room is None else room.copy_(_as_uint16(moved))


def _as_uint16(images: Tensor) -> Tensor:
    return images.round().clamp(0, 65535).to(torch.uint16)


def _operate(
    step: OperatorPass, work: Work, sizes: Array, tables: Mapping[str, Any], run: _Run, room: Any
) -> Work:
    if step.draws == "none" and not step.resizes and not run.is_fixed:
        return work
    call, options = OPERATORS[step.name], dict(step.options)
    if "dtype" in options:
        options["dtype"] = getattr(torch, options["dtype"])
    if "place" in options:  # draws noise of the image's own
        options |= {"seed": run.plan.seed, "epoch": run.plan.epoch}
    columns = {name: table for name, table in tables.items() if name != "drawn"}

    def operate(images: Work, rows: Array | None) -> Any:
        return call(images, **{name: _rows(values, rows) for name, values in columns.items()}, **options)

    def resize(images: Work, rows: Array | None, size: tuple[int, int], target: Tensor | None) -> Tensor:
        own = {name: _rows(values, rows) for name, values in columns.items()}
        result: Tensor = call(images, size=size, **own, **options, out=target)
        return result

    if step.resizes:
        return by_size(work, step, sizes, resize, room)
    changes_all = step.draws == "all" or step.name in IDENTITIES
    if not run.is_fixed and not changes_all:
        return _changed(work, np.flatnonzero(step.drawn), operate, run.is_own)
    if isinstance(work, list):
        return [operate(image[None], np.array([n]))[0] for n, image in enumerate(work)]
    results = operate(work, None)
    return _where(tables["drawn"], results, work) if run.is_fixed and step.conditional else results


def _changed(work: Work, drawn: Array, operate: Callable[[Work, Array], Any], is_own: bool) -> Work:
    """The images at `drawn` as the operator makes them, the others as they were, to the last bit.

    What is the passes' own is changed where it lies.
    """
    if isinstance(work, Tensor):
        places = torch.from_numpy(drawn).to(work.device, non_blocking=True)
        changed = operate(unsigned(signed(work).index_select(0, places), work.dtype), drawn)
        in_place = is_own and not work.requires_grad
        if work.dtype == torch.uint16:
            return signed(work).index_copy(0, places, signed(changed)).view(torch.uint16)
        return work.index_copy_(0, places, changed) if in_place else work.index_copy(0, places, changed)
    if isinstance(work, list):
        one = {row: operate(work[row][None], np.array([row]))[0] for row in drawn.tolist()}
        return [one.get(row, image) for row, image in enumerate(work)]
    if not isinstance(work, ImageBatch):
        mask = np.isin(np.arange(len(work.layout)), drawn)
        return _where(mask, operate(work, np.arange(len(mask))), work)
    result = work if is_own else replace(work, storage=work.storage.clone())
    for changed, row in zip(operate(_copied(work, drawn), drawn), drawn.tolist(), strict=True):
        result[row].copy_(changed)
    return result


def _copied(batch: ImageBatch, rows: Array) -> ImageBatch:
    """Some of the images, in a batch of their own where that one is."""
    empty = partial(torch.empty, dtype=torch.uint8, device=batch.device)
    sizes = batch.host_layout[torch.from_numpy(rows)][:, 1:].tolist()
    copies = ImageBatch.of_sizes(sizes, batch.channels, empty=empty)
    for copy, row in zip(copies, rows.tolist(), strict=True):
        copy.copy_(batch[row])
    return copies


def _mix(step: MixPass, work: Work, tables: Mapping[str, Any]) -> Work:
    if isinstance(work, list):
        raise ValueError(f"{step.name}: expected images of one size; put a resize or a crop before it")
    columns: dict[str, Any] = {name: _rows(values) for name, values in tables.items()}
    if step.name == "mosaic":
        return work if step.size is None else mosaic(work, **columns, size=step.size, **step.options)
    if step.name == "cutmix":
        return cutmix(work, columns["partners"], columns["boxes"])
    return mixup(work, **columns)


def _where(drawn: Any, changed: Work, kept: Work) -> Work:
    """The images that were drawn, changed, and the others as they were, to the last bit."""
    if isinstance(changed, Tensor) and isinstance(kept, Tensor):
        mask = _rows(drawn).to(changed.device, non_blocking=True)
        return torch.where(mask[:, None, None, None], changed, kept)
    if isinstance(changed, ImageBatch):
        for row in np.flatnonzero(~drawn).tolist():
            changed[row].copy_(kept[row])
        return changed
    pairs = zip(as_list(changed), as_list(kept), drawn.tolist(), strict=True)
    return merged([new if is_drawn else old for new, old, is_drawn in pairs])
