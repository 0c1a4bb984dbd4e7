"""Reads the attributes of Albumentations steps, and refuses those without a counterpart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from orbbec.transforms.base.checks import interpolation_of, resizing_of
from orbbec.transforms.base.transform import Transform

Make: TypeAlias = Callable[[Any], list[Transform]]

# In AlbumentationsX; for ranges see `attribute`.
_RENAMED = {"format": "coord_format", "limit": "angle_range"}
# Keys: OpenCV's border constants.
PADDING_MODES = {0: "constant", 1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
ZERO = (0.0, 0.0)


def attribute(step: Any, name: str) -> Any:
    """An attribute, by its name in Albumentations or AlbumentationsX, where `x_limit` or `x` is `x_range`."""
    renamed = _RENAMED.get(name, f"{name.removesuffix('_limit')}_range")
    return getattr(step, renamed) if hasattr(step, renamed) else getattr(step, name)


def expect(step: Any, **expected: Any) -> None:
    """Refuse attributes whose value has no counterpart."""
    for name, value in expected.items():
        if attribute(step, name) != value:
            raise ValueError(f"expected {name}={value!r}, but got {attribute(step, name)!r}")


def expect_if(step: Any, **expected: Any) -> None:
    """The same for attributes that exist in one version only."""
    expect(step, **{name: value for name, value in expected.items() if hasattr(step, name)})


def one_of(step: Any, name: str, known: Collection[Any]) -> Any:
    """The value of an attribute, which must be one of `known`."""
    value = attribute(step, name)
    if value not in known:
        raise ValueError(f"expected {name} as one of {', '.join(map(str, known))}, but got {value!r}")
    return value


def single(step: Any, name: str) -> Any:
    """The value of a range whose ends are equal."""
    low, high = attribute(step, name)
    if low != high:
        raise ValueError(f"expected {name} of one value, but got {attribute(step, name)}")
    return low


def resizing(step: Any) -> dict[str, Any]:
    """The interpolation of a resize."""
    expect(step, area_for_downscale=None)
    expect_if(step, mask_interpolation=0)
    return {"interpolation": resizing_of(type(step).__name__, step.interpolation), "antialias": False}


def padding(step: Any) -> dict[str, Any]:
    """The fill and the border of what is padded."""
    expect(step, fill_mask=0.0)
    return {"fill": step.fill, "padding_mode": PADDING_MODES[one_of(step, "border_mode", PADDING_MODES)]}


def odd_sides(step: Any) -> tuple[int, int]:
    """The ends of a range of kernel sizes, odd and at least 3."""
    low, high = (max(3, side + 1 - side % 2) for side in attribute(step, "blur_limit"))
    return low, high


def warp_interpolation(step: Any) -> str:
    """The interpolation of a warp."""
    return interpolation_of(type(step).__name__, step.interpolation)


def row(
    kind: type[Transform],
    *arguments: str | tuple[str, ...] | Callable[[Any], Any],
    how: Callable[[Any], dict[str, Any]] | None = None,
    only: Mapping[str, Any] | None = None,
    only_if_there: Mapping[str, Any] | None = None,
) -> Make:
    """A row of a table: what converts a step to one transform, without the step's own probability.

    Args:
        kind: the transform.
        arguments: its first arguments: the names of attributes, or functions of the step.
        how: a function that gives further arguments.
        only: see `expect`.
        only_if_there: see `expect_if`.
    """
    certain = {"p": 1.0} if any(field.name == "p" for field in fields(kind)) else {}

    def make(step: Any) -> list[Transform]:
        expect(step, **only or {})
        expect_if(step, **only_if_there or {})
        values = (_argument(step, argument) for argument in arguments)
        return [kind(*values, **certain, **(how(step) if how else {}))]

    return make


def _argument(step: Any, argument: str | tuple[str, ...] | Callable[[Any], Any]) -> Any:
    if callable(argument):
        return argument(step)
    if isinstance(argument, tuple):
        return tuple(attribute(step, name) for name in argument)
    return attribute(step, argument)
