"""Plausible arguments of the operators on the masks of targets; see `plausible.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.fuzz.call import TensorSpec

MASKS: dict[str, Callable[[Any], Any]] = {
    "edge_distances.image": lambda s: s.tensor([s.h, s.w], torch.uint8),
    "label_objects.mask": lambda s: s.tensor([s.h, s.w], torch.int32, -1, 2),
    "warp_masks.masks": lambda s: [s.tensor([s.c, s.h, s.w], torch.float32) for _ in range(s.k)],
    "warp_masks.matrix": lambda s: s.tensor([s.k, 3, 3], torch.float64, -2, 2),
    "warp_masks.sizes": lambda s: TensorSpec((s.k, 2), torch.int64, (s.w, s.h)),
    "warp_masks.regions": lambda s: s.chance(0.5, lambda: s.tensor([s.k, 4], torch.int64, -3, 40)),
    "warp_masks.fill": lambda s: s.random.choice(([0.0], [7.0, 0.0, 255.0, 1.0])),
    "warp_masks.out": lambda s: s.tensor([s.k * s.c * s.h * s.w], torch.float32),
    "cover_masks.masks": lambda s: s.tensor([s.k, s.h, s.w], torch.uint8),
    "cover": lambda s: s.tensor([s.h, s.w], torch.bool),
    "cover_masks.boxes": lambda s: s.boxes([s.k, 7], torch.float64),
    "join_masks.masks": lambda s: s.tensor([s.k, s.h, s.w], torch.uint8),
    "join_masks.rows": lambda s: list(range(0, s.k, 2)),
}
