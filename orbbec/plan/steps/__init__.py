"""Steps: what a transform does to a batch, as tables with a row per image that are added to a plan's passes.

Transforms use only what this module exports. What a step may do is known before parameters are drawn, so that
every batch gets the same passes.
"""

from orbbec.plan.state import (
    BatchState,
    identities,
    same_rows,
)
from orbbec.plan.steps.alone import Operator
from orbbec.plan.steps.base import Step
from orbbec.plan.steps.fused import Cast, Colors, Erase, Normalize, Warp

__all__ = [
    "BatchState",
    "Cast",
    "Colors",
    "Erase",
    "Normalize",
    "Operator",
    "Step",
    "Warp",
    "identities",
    "same_rows",
]
