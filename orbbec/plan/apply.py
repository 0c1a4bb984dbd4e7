"""Applies a plan to pixels, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

from orbbec.bridge.arguments import (
    RaggedImages,
    StoredPlanes,
    constant_buffer,
    dtype_name,
    holds_planes,
)
from orbbec.color.ycbcr import ycbcr_to_rgb
from orbbec.plan.batches import Input, Work, read_images
from orbbec.plan.microbatches import Results, microbatch_of, microbatches_of
from orbbec.plan.passes import Context
from orbbec.plan.plan import Plan, tables_of

After: TypeAlias = Callable[[int, Work], None]


def apply(plan: Plan, images: Any, *, out: Any = None) -> Any:
    """Apply a plan to images.

    Args:
        plan: for images of these sizes, in this order.
        images: see `Compose`; PIL images and tv_tensors are not supported.
        out: output buffer for results of one size: a tensor or an array of their shape and dtype that shares
            no memory with `images`.

    Returns:
        `out` if there is one, otherwise results of the type of `images`. An `ImageBatch`, a `YCbCrBatch` or a
        list gives a tensor `[N, C, H, W]` if all results have one size, otherwise an `ImageBatch` for uint8
        and a list of tensors `[C, H, W]` for other dtypes.

    Raises:
        TypeError: the plan was made for another dtype.
        ValueError: the plan was made for other sizes.
    """
    inputs = images if isinstance(images, Input) else read_images(images)
    _check_fit(plan, inputs)
    return run_passes(plan, inputs, out)


def run_passes(plan: Plan, inputs: Input, out: Any = None, after: After | None = None) -> Any:
    """Apply a plan to images whose dtype and sizes were checked.

    Args:
        plan: for these images.
        inputs: the images.
        out: see `apply`.
        after: called after each pass with its index and result, to time passes. A pass runs once per
            microbatch.
    """
    work = inputs.work
    if holds_planes(work) and not reads_planes(plan, work):
        # Without what the first pass does not read, see `Pass.region`.
        boxes = plan.passes[0].region(plan.sizes, can_shrink=False) if plan.passes else None
        work = ycbcr_to_rgb(work, boxes=boxes)
    microbatches = microbatches_of(plan, work)
    if len(microbatches) == 1 and out is None:
        return inputs.restore(_run_microbatch(plan, work, None, after))
    buffer = None if out is None else _buffer(plan, out)
    if buffer is not None and torch.compiler.is_compiling():  # it cannot trace Results
        result = _run_microbatch(plan, work, buffer, after)
        if result is not buffer:
            buffer.copy_(result)
        return out
    results = Results(plan, work, buffer)
    for where in microbatches:
        part, images = (plan, work) if len(microbatches) == 1 else (microbatch_of(plan, where), work[where])
        results.add(where, _run_microbatch(part, images, results.slot(where), after))
    return inputs.restore(results.together()) if out is None else out


def _buffer(plan: Plan, out: Any) -> Tensor:
    """`out` as an operator's output; refuses another dtype than that of the results."""
    buffer = constant_buffer("apply", out)
    if dtype_name(buffer.dtype) != plan.output_dtype:
        raise ValueError(f"apply: expected out of {plan.output_dtype}, but got {dtype_name(buffer.dtype)}")
    return buffer


def _run_microbatch(plan: Plan, work: Work, out: Any, after: After | None) -> Work:
    return _run_all(plan, Context(plan.key, iter(tables_of(plan))), work, out, after)


def reads_planes(plan: Plan, planes: StoredPlanes) -> bool:
    """Whether the first pass converts planes to RGB as it reads them, to save memory bandwidth."""
    return bool(plan.passes) and plan.passes[0].reads_planes(planes)


def apply_fixed(plan: Plan, images: RaggedImages, tables: Iterable[Mapping[str, Tensor]]) -> Tensor:
    """Apply a plan of `fixed` with tables on the device of the images.

    The numbers in the plan itself are neither read nor copied to the device, so these calls can be captured
    in a CUDA graph and replayed with other numbers in the tables.

    Args:
        plan: only its `structure_of` matters.
        images: images of any sizes.
        tables: see `tables_of`.
    """
    result: Tensor = _run_all(plan, Context(plan.key, iter(tables), is_fixed=True), images)
    return result


def _run_all(plan: Plan, context: Context, work: Work, out: Any = None, after: After | None = None) -> Work:
    images, sizes, last = work, plan.sizes, len(plan.passes) - 1
    for number, step in enumerate(plan.passes):
        if work is not images and not (context.is_temporary or torch.compiler.is_compiling()):
            context = context._replace(is_temporary=True)
        context = context._replace(following=plan.passes[number + 1] if number < last else None)
        work = step.run(work, sizes, context, out if number == last else None)
        sizes = step.sizes
        if after is not None:
            after(number, work)
    return work


def _check_fit(plan: Plan, inputs: Input) -> None:
    if inputs.dtype != plan.dtype:
        raise TypeError(
            f"apply: expected images of {plan.dtype}, as the plan was made for, but got {inputs.dtype}"
        )
    if inputs.channels != plan.channels and len(plan):
        raise ValueError(f"apply: expected images of {plan.channels} channels, but got {inputs.channels}")
    if inputs.sizes.shape[0] != len(plan):
        raise ValueError(
            f"apply: expected {len(plan)} images, as the plan was made for, but got {len(inputs.sizes)}"
        )
    if plan.size is not None and inputs.size is not None and inputs.size == plan.size:
        return
    if (inputs.sizes != plan.sizes).any():
        index = int((inputs.sizes != plan.sizes).any(1).argmax())
        height, width = plan.sizes[index].tolist()
        raise ValueError(f"apply: expected image {index} of size {height}x{width}, as the plan was made for")
