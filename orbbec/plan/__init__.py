"""What happens to a batch: steps of transforms fused to passes, in tables that can be printed and kept."""

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
