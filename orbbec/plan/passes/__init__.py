"""The passes of programs and plans: each runs over the pixels once, with a row of parameters per image."""

from orbbec.plan.passes.augment import AugmentPass, CropPass
from orbbec.plan.passes.base import ALIKE, VARIES, Columns, Context, NoiseKey, Pass, Size
from orbbec.plan.passes.mix import BlendPass, MixPass
from orbbec.plan.passes.operator import OperatorPass

__all__ = [
    "ALIKE",
    "VARIES",
    "AugmentPass",
    "BlendPass",
    "Columns",
    "Context",
    "CropPass",
    "MixPass",
    "NoiseKey",
    "OperatorPass",
    "Pass",
    "Size",
]
