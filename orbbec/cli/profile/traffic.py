"""Bytes that the passes of a plan have to move, from its tables.

A pass reads what it sees of its images once, and writes its output once. What an operator keeps for itself in
between is not counted.
"""

from __future__ import annotations

from torch import Tensor

from orbbec.bridge.arguments import is_ragged
from orbbec.plan import Plan
from orbbec.plan.batches import Work
from orbbec.plan.points import pixels, seen_pixels


def pixel_bytes(work: Work) -> int:
    """Bytes of all channels of one pixel.

    Example:
        >>> pixel_bytes(Tensor(2, 3, 4, 5))
        12
    """
    if is_ragged(work):
        return work.channels
    image = work if isinstance(work, Tensor) else work[0]
    return int(image.shape[-3]) * image.element_size()


def floor_bytes(plan: Plan, before: int, after: int) -> int:
    """What any program moves that does what a plan says: what is seen read once, the result written once.

    Args:
        plan: the passes.
        before: bytes of a pixel of the images.
        after: bytes of a pixel of the results.
    """
    outputs = plan.output_sizes
    seen = pixels(plan.sizes) if plan.mixes else seen_pixels(plan.matrix, outputs, plan.sizes)
    return before * seen + after * pixels(outputs)
