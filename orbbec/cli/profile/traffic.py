"""The bytes that the passes of a plan must move, computed from its tables.

A pass reads the visible parts of its images once and writes its output once. Temporary memory of operators is
not counted.
"""

from __future__ import annotations

from torch import Tensor

from orbbec.bridge.arguments import Array, is_ragged
from orbbec.plan import AugmentPass, MixPass, OperatorPass, Plan
from orbbec.plan.batches import Work
from orbbec.plan.passes import BlendPass, CropPass, Pass
from orbbec.plan.points import pixels, seen_pixels


def pixel_bytes(work: Work) -> int:
    """Bytes of all channels of one pixel.

    Example:
        >>> pixel_bytes(torch.zeros(2, 3, 4, 5))
        12
    """
    if is_ragged(work):
        return work.channels
    image = work if isinstance(work, Tensor) else work[0]
    return int(image.shape[-3]) * image.element_size()


def floor_bytes(plan: Plan, before: int, after: int) -> int:
    """The minimum of bytes for a plan: visible parts are read once, and the result is written once.

    `before` and `after` are the bytes per pixel of the images and of the results.
    """
    outputs = plan.output_sizes
    seen = pixels(plan.sizes) if plan.mixes else seen_pixels(plan.matrix, outputs, plan.sizes)
    return before * seen + after * pixels(outputs)


def bytes_moved(step: Pass, sizes: Array, before: int, after: int) -> tuple[int, int]:
    """The bytes that a pass reads of images of these sizes, and those that it writes; see `floor_bytes`."""
    written = after * pixels(step.sizes)
    if isinstance(step, MixPass):
        return written * step.spec.reads, written
    if isinstance(step, BlendPass):
        inner = [bytes_moved(each, each.sizes, before, after) for each in step.passes]
        of_copies, written_copies = (sum(column) for column in zip((0, 0), *inner, strict=True))
        return of_copies + (1 + step.copies) * before * pixels(sizes), written_copies + written
    if isinstance(step, OperatorPass) and step.is_idle:
        return 0, 0
    seen = before * seen_pixels(step.matrix, step.sizes, sizes)
    if isinstance(step, AugmentPass) and not isinstance(step, CropPass):
        # The mean for contrast is computed first, so everything is read twice.
        seen *= (1 + step.contrast) * (1 if step.mix is None else step.mix.spec.reads)
    return seen, written
