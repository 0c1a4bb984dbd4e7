"""The last transforms of recipes: from bytes to what a model takes."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from orbbec.transforms import Normalize, ToDtype, Transform

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # mean and standard deviation
OPENAI_CLIP = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
KINETICS = (0.45, 0.45, 0.45), (0.225, 0.225, 0.225)
SYMMETRIC = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)


def normalized(statistics: tuple[Sequence[float], Sequence[float]] = IMAGENET) -> list[Transform]:
    """Floats from 0 to 1, less a mean, over a standard deviation."""
    return [*scaled(), Normalize(*statistics)]


def scaled() -> list[Transform]:
    """Floats from 0 to 1."""
    return [ToDtype(torch.float32, scale=True)]
