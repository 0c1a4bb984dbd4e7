"""What happens to a batch: steps of transforms fused to passes, in tables that can be printed and kept."""

from orbbec.plan.apply import apply
from orbbec.plan.batches import read_images
from orbbec.plan.fuse import Fusion
from orbbec.plan.passes import AugmentPass, MixPass, OperatorPass
from orbbec.plan.plan import Plan
from orbbec.plan.stream import Stream

__all__ = ["AugmentPass", "Fusion", "MixPass", "OperatorPass", "Plan", "Stream", "apply", "read_images"]
