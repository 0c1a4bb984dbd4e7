"""What a transform is for a batch: tables with a row per image, added to the passes of a plan.

Transforms are written with what this module exports. What a step may do is known before anything is drawn, so
that batches are split alike whatever is drawn.
"""

from orbbec.augment.codes import (
    COLOR_WIDTH,
    CONTRAST,
    ERASE_WIDTH,
    GAMMA,
    HUE,
    MATRIX,
    NONE,
    POSTERIZE,
    SOLARIZE,
)
from orbbec.plan.fuse import Step
from orbbec.plan.state import (
    BatchState,
    color_row,
    identities,
    matrix_row,
    same_rows,
    side_by_side,
)
from orbbec.plan.steps.alone import Blend, Mix, Operator
from orbbec.plan.steps.fused import Cast, Colors, Erase, Normalize, Warp

__all__ = [
    "COLOR_WIDTH",
    "CONTRAST",
    "ERASE_WIDTH",
    "GAMMA",
    "HUE",
    "MATRIX",
    "NONE",
    "POSTERIZE",
    "SOLARIZE",
    "BatchState",
    "Blend",
    "Cast",
    "Colors",
    "Erase",
    "Mix",
    "Normalize",
    "Operator",
    "Step",
    "Warp",
    "color_row",
    "identities",
    "matrix_row",
    "same_rows",
    "side_by_side",
]
