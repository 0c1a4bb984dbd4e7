"""What a plan is made of: passes over the pixels, each a frozen table with a row per image."""

from orbbec.plan.passes.augment import AugmentPass
from orbbec.plan.passes.base import Columns, Context, Masks, NoiseKey, Pass, common_size, size_text
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
    "size_text",
]
