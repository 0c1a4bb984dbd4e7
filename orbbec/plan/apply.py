"""A plan applied to pixels: its passes, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

from orbbec.bridge.arguments import RaggedImages, StoredPlanes, holds_planes, operator_output
from orbbec.color.ycbcr import ycbcr_to_rgb
from orbbec.plan.batches import Given, Work, read_images
from orbbec.plan.microbatches import Results, microbatch_of, microbatches_of
from orbbec.plan.passes import Context
from orbbec.plan.plan import Plan
from orbbec.plan.tables import tables_of

After: TypeAlias = Callable[[int, Work], None]


def apply(plan: Plan, images: Any, *, out: Any = None) -> Any:
    """Do to images what a plan says.

    Args:
        plan: for images of these sizes, in this order.
        images: as `Compose` takes them, but for PIL images and tv_tensors.
        out: where to write results of one size: a tensor or an array of their shape and dtype, sharing no
            memory with `images`.

    Returns:
        `out` if it was given, else the results, in the kind of `images`: of an `ImageBatch`, a `YCbCrBatch`
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
    if out is None and after is None and (moved := _moved_at_once(plan, work)) is not None:
        return given.restore(moved)
    if holds_planes(work) and not reads_planes(plan, work):
        work = ycbcr_to_rgb(work)
    microbatches = microbatches_of(plan, work)
    if len(microbatches) == 1 and out is None:
        return given.restore(_run_microbatch(plan, work, None, after))
    buffer = None if out is None else operator_output("apply", out).images
    if buffer is not None and torch.compiler.is_compiling():  # which cannot follow what Results asks
        result = _run_microbatch(plan, work, buffer, after)
        if result is not buffer:
            buffer.copy_(result)
        return out
    results = Results(plan, work, buffer)
    for where in microbatches:
        own, images = (plan, work) if len(microbatches) == 1 else (microbatch_of(plan, where), work[where])
        results.add(where, _run_microbatch(own, images, results.slot(where), after))
    return given.restore(results.together()) if out is None else out


def _moved_at_once(plan: Plan, work: Work) -> Tensor | None:
    """The results of a tensor on the CPU, where the plan has one pass and only moves pixels; else None."""
    if len(plan.passes) != 1 or type(work) is not Tensor or not work.is_cpu or torch.compiler.is_compiling():
        return None
    return plan.passes[0].move_at_once(work)


def _run_microbatch(plan: Plan, work: Work, out: Any, after: After | None) -> Work:
    return _run_all(plan, Context(plan.key, iter(tables_of(plan))), work, out, after)


def reads_planes(plan: Plan, planes: StoredPlanes) -> bool:
    """Whether the first pass makes RGB of planes as it reads them: where bytes to move are what counts."""
    return bool(plan.passes) and plan.passes[0].reads_planes(planes)


def apply_fixed(plan: Plan, images: RaggedImages, tables: Iterable[Mapping[str, Tensor]]) -> Tensor:
    """Do to images what a plan of `fixed` says, by tables that lie on their device.

    Nothing is asked of the numbers of the plan itself, nor copied from the host, so that what is called here
    can be captured in a CUDA graph and replayed with other numbers in the tables.

    Args:
        plan: of which only what `structure_of` tells is read.
        images: of any sizes.
        tables: as `tables_of` gives them.
    """
    result: Tensor = _run_all(plan, Context(plan.key, iter(tables), is_fixed=True), images)
    return result


def _run_all(plan: Plan, context: Context, work: Work, out: Any = None, after: After | None = None) -> Work:
    given, sizes, last = work, plan.sizes, len(plan.passes) - 1
    for number, step in enumerate(plan.passes):
        own = context._replace(is_own=work is not given and not torch.compiler.is_compiling())
        work = step.run(work, sizes, own, out if number == last else None)
        sizes = step.sizes
        if after is not None:
            after(number, work)
    return work


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
