"""Plausible arguments of the operators on boxes, points and masks of targets; see `plausible.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from orbbec.plan.rules import WIDTH
from tests.fuzz.call import TensorSpec
from tests.fuzz.rules import compiled


def _samples(s: Any) -> tuple[int, ...]:
    """The first has all boxes and points."""
    rows = [(n, s.h + 8, s.w + 8, *([0, 0] if n else [s.k, s.k])) for n in range(s.n)]
    return tuple(number for row in rows for number in row)


TARGETS: dict[str, Callable[[Any], Any]] = {
    "edge_distances.image": lambda s: s.tensor([s.h, s.w], torch.uint8),
    "label_objects.mask": lambda s: s.tensor([s.h, s.w], torch.int32, -1, 2),
    "warp_masks.masks": lambda s: [s.tensor([s.c, s.h, s.w], torch.float32) for _ in range(s.k)],
    "warp_masks.rows": lambda s: list(range(s.k)),
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
    "move_boxes.boxes": lambda s: s.boxes([s.k, 7], torch.float64),
    "image_indices": lambda s: s.tensor([s.k], torch.int64, 0, max(s.n - 1, 0)),
    "matrices": lambda s: s.chance(0.8, lambda: s.tensor([s.n, 3, 3], torch.float64, -2, 2)),
    "inverse_matrices.matrices": lambda s: s.tensor([s.k, 3, 3], torch.float64, -2, 2),
    "move_points.matrices": lambda s: s.tensor([s.k, 3, 3], torch.float64, -2, 2),
    "move_points.points": lambda s: s.tensor([s.k, 3, 2], torch.float64, -9, 60),
    "move_boxes.sizes": lambda s: s.tensor([s.n, 2], torch.int64, 1, 60),
    "limits": lambda s: s.random.choice(([], [0.1, 1.0, 4.0])),
    **dict.fromkeys(("read_boxes.boxes", "write_boxes.boxes"), lambda s: s.boxes([s.k, 4], torch.float64)),
    **dict.fromkeys(("read_boxes.counts", "write_boxes.counts"), lambda s: [s.k]),
    **dict.fromkeys(
        ("read_boxes.sizes", "write_boxes.sizes"), lambda s: s.tensor([1, 2], torch.int64, 1, 60)
    ),
    "read_boxes.indices": lambda s: [s.n],
    "draw_targets.code": lambda s: s.table(compiled().code.tolist(), torch.float64, WIDTH),
    "draw_targets.samples": lambda s: TensorSpec((s.n, 5), torch.int64, _samples(s) or (0,)),
    "draw_targets.boxes": lambda s: s.boxes([s.k if s.n else 0, 4], torch.float64),
    "changes": lambda s: s.tensor([s.k if s.n else 0, 2], torch.float64),
    "readings": lambda s: s.tensor([len(compiled().warps), s.n, 15], torch.float64),
    "box_format": lambda s: s.random.choice(("xyxy", "xywh", "cxcywhn")),
    "draw_targets.points": lambda s: s.tensor([s.k if s.n else 0, 3], torch.float64, -9, 60),
}
