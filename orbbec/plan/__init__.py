"""Programs and plans: pipelines as data, and what they draw for a batch.

build.py compiles transforms to a program: rules, which draw.h runs for each image, and a few passes.
binding_run.cpp draws and runs all passes in one call. A plan has the passes with the parameters of a batch,
a row per image, for apply.py to run one by one. `steps` and external.py serve transforms that draw in Python.
"""

from orbbec.plan.apply import apply, apply_fixed, run_passes
from orbbec.plan.batches import read_images
from orbbec.plan.passes import AugmentPass, MixPass, OperatorPass
from orbbec.plan.plan import Plan, fixed, structure_of, tables_of
from orbbec.plan.stream import Stream

__all__ = [
    "AugmentPass",
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
