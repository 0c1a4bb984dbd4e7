"""Brightness, contrast, saturation and hue: their ranges, color steps and order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.gradients.color import GRAY
from orbbec.bridge.plain import listed
from orbbec.plan.steps import CONTRAST, HUE, Colors, Operator, color_row, matrix_row
from orbbec.transforms.base.checks import Range, around, interval

TO_GRAY, IDENTITY = np.tile(GRAY, (3, 1)), np.eye(3)
BRIGHTNESS_OF, CONTRAST_OF, SATURATION_OF, HUE_OF = range(4)  # as numbered by torchvision
_NAMES = ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue")
BY_ITSELF = "rounds its own result"
_FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


def adjustment_row(which: int, factor: Array) -> Array:
    """The color step of brightness, contrast, saturation or hue: float32 `[N, 1, 16]`."""
    count = len(factor)
    if which == BRIGHTNESS_OF:
        return matrix_row(factor[:, None, None] * IDENTITY, 0.0, count)
    if which == SATURATION_OF:
        weight = factor[:, None, None]
        return matrix_row(weight * IDENTITY + (1 - weight) * TO_GRAY, 0.0, count)
    return color_row(CONTRAST if which == CONTRAST_OF else HUE, factor, count=count)


def adjustment(which: int, factor: Array, drawn: Array | None = None) -> Operator:
    """The operator for the same step."""
    return Operator(_NAMES[which], {_FACTORS[which]: factor}, drawn=drawn, why=BY_ITSELF)


def factor_range(op: str, name: str, value: Any) -> Range | None:
    """A range of factors; one number v means (max(0, 1 - v), 1 + v); None and 0 mean no change."""
    if value is None:
        return None
    if listed(value) is None:
        low, high = around(op, name, value, center=1.0)
        value = (max(0.0, low), high)
    low, high = interval(op, name, value, 0.0)
    return None if low == high == 1.0 else (low, high)


def hue_range(op: str, value: Any) -> Range | None:
    """A range of hue shifts within -0.5 to 0.5; one number h means (-h, h); None and 0 mean no change."""
    if value is None:
        return None
    low, high = interval(op, "hue", around(op, "hue", value), -0.5, 0.5)
    return None if low == high == 0.0 else (low, high)


@dataclass(frozen=True, eq=False)
class Jitter:
    """The factors of each image and their order.

    Args:
        order: int64 `[N, 4]`: 0 brightness, 1 contrast, 2 saturation, 3 hue.
        factors: float64 `[N, 4]`.
        chosen: bool `[N, 4]`: which are applied.
        permutation: int64 `[N, 3]`: channel order applied at the end, or None.
        known: indices of the adjustments that any image may get.
    """

    order: Array
    factors: Array
    chosen: Array
    permutation: Array | None = None
    known: tuple[int, ...] = (0, 1, 2, 3)

    def colors(self, exact: bool) -> Colors:
        """One step per known adjustment, in the order of each image; with operators if `exact`."""
        count = len(self.order)
        rows = np.concatenate([adjustment_row(k, self.factors[:, k]) for k in range(4)], 1)
        rows *= self.chosen[:, :, None]
        order = self.order
        if len(self.known) < order.shape[1]:
            order = order[np.isin(order, self.known)].reshape(count, len(self.known))
        ordered = rows[np.arange(count)[:, None], order]
        operators = []
        for position in range(len(self.known) if exact else 0):
            for k in self.known:
                drawn = self.chosen[:, k] & (order[:, position] == k)
                operators.append(adjustment(k, self.factors[:, k], drawn))
        return Colors(ordered, contrast=True, operators=tuple(operators))
