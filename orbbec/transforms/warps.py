"""Warps: in the fused pass if it supports them, otherwise by an operator."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.plan.passes import Size
from orbbec.plan.rules import Operand
from orbbec.plan.steps import Operator, Step, Warp
from orbbec.transforms.base.checks import border_of, checked_numbers
from orbbec.transforms.cuts import READS

Reading: TypeAlias = tuple[str, str, tuple[float, ...]]  # interpolation, border and fill
Kind: TypeAlias = Literal["warp_affine", "warp_perspective"]


def warp_step(
    matrix: Array,
    sizes: Array,
    interpolation: str,
    border: str,
    fill: tuple[float, ...],
    least: Size,
    operator: Kind = "warp_affine",
) -> Step:
    """The step that warps each image by its matrix.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to source pixels.
        sizes: int64 `[N, 2]`: output sizes.
        interpolation: a result of `interpolation_of`. Only Lanczos needs an operator.
        border: a result of `border_of`.
        fill: value of a constant border, in pixel units: one number or one per channel.
        least: lower bounds of height and width of the output.
        operator: the operator; "warp_affine" if all matrices are affine.
    """
    if interpolation != "lanczos4":
        return Warp(matrix, sizes, interpolation, border, fill, least=least)
    return Operator(
        operator,
        {"matrix": matrix[:, :2] if operator == "warp_affine" else matrix},
        _options(interpolation, border, fill),
        matrix=matrix,
        sizes=sizes,
        why=READS[interpolation],
        least=least,
    )


def warp(
    build: Build,
    rule: str,
    *operands: Operand,
    reading: Reading,
    size: Size | None = None,
    operator: Kind = "warp_affine",
) -> None:
    """Add a geometry rule: a warp of the fused pass, or an operator for Lanczos.

    Args:
        build: the program.
        rule: see `Build.warp`.
        operands: see `Build.warp`.
        reading: see `reading_of`.
        size: see `Build.warp`.
        operator: the operator.
    """
    interpolation, border, fill = reading
    if interpolation != "lanczos4":
        build.warp(rule, *operands, interpolation=interpolation, border=border, fill=fill, size=size)
        return
    options = _options(*reading)
    matrix = Column("matrix", shape=(2 if operator == "warp_affine" else 3,))
    step = OperatorStep(operator, {"matrix": matrix}, options, why=READS["lanczos4"])
    build.operator(step, rule, *operands, size=size, resizes=True)


def _options(interpolation: str, border: str, fill: tuple[float, ...]) -> dict[str, Any]:
    value = fill if len(fill) > 1 else fill[0]
    return {"interpolation": interpolation, "border": border, "fill": value, "inverse": True}


def displacement_options(transform: Any) -> dict[str, Any]:
    """Interpolation, border and fill of a transform, as options of an operator that displaces pixels."""
    interpolation, border, fill = reading_of(transform)
    return {
        "interpolation": interpolation,
        "border": border,
        "fill": list(fill) if len(fill) > 1 else fill[0],
    }


def reading_of(transform: Any) -> tuple[str, str, tuple[float, ...]]:
    """Interpolation, border and fill of a transform, as arguments of `warp_step`."""
    fill = checked_numbers(transform.fill)
    return transform.interpolation, border_of(transform.name, transform.padding_mode), fill
