"""Brightness, contrast, saturation and hue: their ranges, color steps and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orbbec.bridge.gradients.color import GRAY
from orbbec.bridge.plain import listed
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.checks import Range, around, interval

BRIGHTNESS_OF, CONTRAST_OF, SATURATION_OF, HUE_OF = range(4)  # as numbered by torchvision
_NAMES = ("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue")
BY_ITSELF = "rounds its own result"
_FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


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


def check_unit(build: Build, name: str, value: float) -> None:
    """Refuse a value in pixel units that exceeds the maximum value of the images."""
    if value > build.maximum:
        raise ValueError(f"{build.name}: expected {name} of at most {build.maximum:g}, but got {value}")


def jitter(build: Build, order: int, factors: int, chosen: int, known: Sequence[int]) -> None:
    """Add brightness, contrast, saturation and hue in the order of each image.

    Args:
        build: the program.
        order: the first of four registers: 0 brightness, 1 contrast, 2 saturation, 3 hue.
        factors: the first of four registers.
        chosen: the first of four registers that say which are applied.
        known: the adjustments that any image may get.
    """
    operators = []
    if build.exact:
        mask = sum(1 << which for which in known)
        ranked = build.compute("filter", len(known), order, mask, outputs=len(known)) if known else order
        for position in range(len(known)):
            for which in known:
                is_here = build.equal(ranked + position, which)
                drawn = build.both(chosen + which, is_here)
                operators.append(adjustment(which, Column("registers", factors + which), drawn))
    mask = sum(1 << which for which in known)
    contrast = CONTRAST_OF in known
    build.colors(
        "color_jitter", order, factors, chosen, mask, rows=len(known), contrast=contrast, operators=operators
    )


def to_gray(build: Build, chosen: int) -> None:
    """Convert the images to gray where a register is not 0."""
    operator = adjustment(SATURATION_OF, Column("constant", value=0.0), chosen)
    build.colors("color_matrix", (*GRAY * 3, 0.0, 0.0, 0.0), operators=[operator], drawn=chosen)


def adjustment(which: int, factor: Column, drawn: int) -> OperatorStep:
    """The operator for brightness, contrast, saturation or hue."""
    return OperatorStep(_NAMES[which], {_FACTORS[which]: factor}, drawn=drawn, why=BY_ITSELF)
