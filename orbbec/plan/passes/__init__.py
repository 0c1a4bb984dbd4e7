"""The passes of a plan: each runs over the pixels once, with a frozen table of one row per image."""

from orbbec.plan.passes.augment import AugmentPass
from orbbec.plan.passes.base import Columns, Context, Masks, NoiseKey, Pass, common_size
from orbbec.plan.passes.blend import BlendPass
from orbbec.plan.passes.mix import MixPass
from orbbec.plan.passes.operator import OperatorPass

__all__ = [
    "AugmentPass",
    "BlendPass",
    "Columns",
    "Context",
    "Masks",
    "MixPass",
    "NoiseKey",
    "OperatorPass",
    "Pass",
    "common_size",
]
