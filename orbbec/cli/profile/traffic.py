"""The bytes that the passes of a plan must move, computed from its tables.

A pass reads the visible parts of its images once and writes its output once. Temporary memory of operators is
not counted.
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
        >>> pixel_bytes(torch.zeros(2, 3, 4, 5))
        12
    """
    if is_ragged(work):
        return work.channels
    image = work if isinstance(work, Tensor) else work[0]
    return int(image.shape[-3]) * image.element_size()


def floor_bytes(plan: Plan, before: int, after: int) -> int:
    """The minimum of bytes for a plan: visible parts are read once, and the result is written once.

    Args:
        plan: the plan.
        before: bytes per pixel of the images.
        after: bytes per pixel of the results.
    """
    outputs = plan.output_sizes
    seen = pixels(plan.sizes) if plan.mixes else seen_pixels(plan.matrix, outputs, plan.sizes)
    return before * seen + after * pixels(outputs)
