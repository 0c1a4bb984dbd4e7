"""The passes of programs and plans: each runs over the pixels once, with a row of parameters per image."""

from orbbec.plan.passes.augment import AugmentPass
from orbbec.plan.passes.base import ALIKE, VARIES, Columns, Context, NoiseKey, Pass, Size
from orbbec.plan.passes.blend import BlendPass
from orbbec.plan.passes.crop import CropPass
from orbbec.plan.passes.mix import MixPass
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
