"""Moves masks of any dtype as bytes, which keeps their values: all masks of a batch in one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.plan.batches import Rows
from orbbec.plan.passes.base import Masks
from orbbec.warpaffine.perspective import warp_perspective


def in_one_launch(masks: Masks, move: Callable[[Rows, Array], Tensor]) -> list[Tensor]:
    """Call `move` with all masks in one buffer and the image of each; return one tensor per image."""
    counts = [len(table) for table in masks.tables]
    return list(torch.split(move(_ragged(masks.tables), np.repeat(masks.images, counts)), counts))


def warped(masks: Masks, matrix: Array, border: str) -> list[Tensor]:
    """Masks warped by the matrices of their images, float64 `[N, 3, 3]`, with nearest interpolation."""
    how: dict[str, Any] = {"interpolation": "nearest", "border": border, "fill": masks.fill, "inverse": True}

    def move(batch: Rows, rows: Array) -> Tensor:
        result: Tensor = warp_perspective(batch, torch.from_numpy(matrix[rows]), masks.size, **how)
        return result

    return in_one_launch(masks, move)


def _ragged(tables: Sequence[Tensor]) -> Rows:
    """Images of variable sizes in one buffer."""
    rows, offset = [], 0
    for table in tables:
        count, height, width, channels = table.shape
        rows += [(offset + n * height * width * channels, height, width) for n in range(count)]
        offset += table.numel()
    buffer, layout = torch.cat([table.reshape(-1) for table in tables]), torch.tensor(rows, device="cpu")
    on_device = layout.to(buffer.device, non_blocking=True)
    return Rows(buffer, on_device, tables[0].shape[3], layout[:, 1:])
