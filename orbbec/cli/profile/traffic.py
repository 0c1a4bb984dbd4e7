"""Bytes that a pass has to move, from the tables of its plan.

A pass reads what it sees of its images once, and writes its output once. Contrast takes the mean of the
output before, so that it reads twice; a mixup reads two images. What an operator keeps for itself in between
is not counted.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from orbbec.binding.arguments import Array, is_ragged
from orbbec.plan import AugmentPass, MixPass, OperatorPass, Plan
from orbbec.plan.batches import Work
from orbbec.plan.passes import Pass
from orbbec.plan.points import areas, carried_edges, clipped, corners_of, hulls

_HAIR = 1e-6  # pixels: a rounding does not reach the next one


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


def pixels(sizes: Array) -> int:
    """Of images of sizes `[N, 2]`.

    Example:
        >>> pixels(np.array([[2, 3], [4, 5]]))
        26
    """
    return int(sizes.prod(1).sum())


def seen_pixels(matrix: Array, outputs: Array, sizes: Array) -> int:
    """The pixels of upright boxes about what a map sees of each image.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to those of the image.
        outputs: int64 `[N, 2]`: sizes of the outputs.
        sizes: int64 `[N, 2]`: of the images.

    Example:
        >>> half = np.diag([2.0, 2.0, 1.0])[None]
        >>> seen_pixels(half, np.array([[2, 2]]), np.array([[9, 9]]))
        16
    """
    return sum(_seen(*row) for row in zip(matrix, outputs.tolist(), sizes.tolist(), strict=True))


def _seen(matrix: Array, output: list[int], size: list[int]) -> int:
    corners = corners_of(np.array([[0.0, 0.0, output[1], output[0]]]))
    box = hulls(carried_edges(matrix, corners))
    if not np.isfinite(box).all():  # a perspective that looks past its horizon
        return size[0] * size[1]
    whole = np.concatenate([np.floor(box[:, :2] + _HAIR), np.ceil(box[:, 2:] - _HAIR)], 1)
    return int(areas(clipped(whole, (size[0], size[1])))[0])


def traffic(step: Pass, sizes: Array, before: int, after: int) -> tuple[int, int]:
    """Bytes that a pass reads, and that it writes.

    Args:
        step: the pass.
        sizes: int64 `[N, 2]`: of the images that it reads.
        before: bytes of a pixel that it reads.
        after: bytes of a pixel that it writes.
    """
    written = after * pixels(step.sizes)
    if isinstance(step, OperatorPass) and step.draws == "none" and not step.resizes:
        return 0, 0
    if isinstance(step, MixPass):
        return written * (2 if step.name == "mixup" else 1), written
    if isinstance(step, (AugmentPass, OperatorPass)):
        return before * seen_pixels(step.matrix, step.sizes, sizes) * _times(step), written
    copies = [traffic(inner, inner.sizes, before, after) for inner in step.passes]
    read, inner_written = (sum(column) for column in zip((0, 0), *copies, strict=True))
    return read + (1 + step.copies) * before * pixels(sizes), inner_written + written


def _times(step: AugmentPass | OperatorPass) -> int:
    """How often a pass reads what it sees."""
    if isinstance(step, OperatorPass):
        return 1
    mixes = step.mixes is not None and step.mixes.name == "mixup"
    return (1 + step.contrast) * (1 + mixes)


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
