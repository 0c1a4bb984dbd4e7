"""Plans: the steps of transforms for a batch, fused into passes with a table row per image.

Begin with plan.py, the result, and fuse.py, which makes it of `steps`. `passes` has the kinds of passes and
apply.py runs them. stream.py draws random numbers. template.py and drawn.py are shortcuts for pipelines that
only move pixels; tables.py separates the numbers of a plan from its structure, for CUDA graphs.
"""

from orbbec.plan.apply import apply, apply_fixed, run_passes
from orbbec.plan.batches import read_images
from orbbec.plan.fuse import Fusion
from orbbec.plan.passes import AugmentPass, MixPass, OperatorPass
from orbbec.plan.plan import Plan
from orbbec.plan.stream import Stream
from orbbec.plan.tables import fixed, structure_of, tables_of

__all__ = [
    "AugmentPass",
    "Fusion",
    "MixPass",
    "OperatorPass",
    "Plan",
    "Stream",
    "apply",
    "apply_fixed",
    "fixed",
    "read_images",
    "run_passes",
    "structure_of",
    "tables_of",
]
