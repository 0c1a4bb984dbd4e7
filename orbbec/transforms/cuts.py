"""How transforms resize, crop and pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orbbec.plan.build import Build
from orbbec.plan.parameters import BOXES, Column, OperatorStep
from orbbec.plan.passes import ALIKE, VARIES, Size
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import border_of, checked_numbers, resizing_of
from orbbec.transforms.base.transform import Transform

# Antialias filters by interpolation.
FILTERS = {"linear": "linear", "cubic": "cubic", "lanczos4": "lanczos", "box": "box", "hamming": "hamming"}
READS = {
    "antialias": "with antialiasing reads a varying number of pixels per output pixel",
    "area": "reads a varying number of pixels per output pixel",
    "cubic": "reads 16 pixels",
    "lanczos4": "reads 64 pixels",
    **dict.fromkeys(("linear", "linear_exact", "nearest"), "rounds its own result"),
}
NEAREST = {"nearest": 1, "nearest_exact": 2}  # NearestOffset of rules.h; others 0


@dataclass(frozen=True)
class Resizing:
    """How images are resized.

    Args:
        interpolation: a result of `resizings_of`.
        antialias: use Pillow's filter of that name, if there is one.
    """

    interpolation: str | Sequence[str]
    antialias: bool


def resize(
    build: Build,
    rule: str,
    *operands: float,
    how: Any,
    size: Size,
    least: Size = (1, 1),
    cuts: bool = False,
    draws: int = 0,
    which: int | None = None,
) -> None:
    """Add a resize: a warp where it fuses, otherwise an operator.

    Args:
        build: the program.
        rule: the geometry rule; whether it shifts nearest positions is its last operand.
        operands: its other operands.
        how: a `Resizing`, or a transform with these fields.
        size: see `Build.warp`.
        least: see `Build.warp`.
        cuts: whether its rectangle may be smaller than the image.
        draws: see `Build.warp`.
        which: the register of an index into several interpolations.
    """
    interpolation = how.interpolation
    options: dict[str, Any] = {"size": size, "least": least, "draws": draws}
    if not isinstance(interpolation, str):
        names = tuple(FILTERS[name] if how.antialias else name for name in interpolation)
        why = f"draws {' or '.join(interpolation)} per image, with one call for each"
        columns = {"boxes": BOXES, "which": Column("registers", which or 0, dtype="int64")}
        step = OperatorStep("resized_crop", columns, _crop(names, how.antialias), why=why)
        build.operator(step, rule, *operands, 0, resizes=True, **options)
        return
    smooth = how.antialias and interpolation in FILTERS
    fuses = interpolation in ("linear", "nearest") and not (smooth or build.exact)
    if interpolation == "nearest_exact" or fuses:
        nearest = NEAREST.get(interpolation, 0)
        reading = "nearest" if nearest else "linear"
        build.warp(
            rule, *operands, nearest, interpolation=reading, region=cuts, offset=nearest > 0, **options
        )
        return
    name = FILTERS[interpolation] if smooth else interpolation
    why = READS["antialias" if smooth else interpolation]
    step = OperatorStep("resized_crop", {"boxes": BOXES}, _crop(name, smooth), why=why)
    build.operator(step, rule, *operands, 0, resizes=True, **options)


def drawn_size(choices: int | tuple[float, float]) -> Size:
    """The size of outputs that a number of choices, or a range, determines."""
    is_one = choices == 1 if isinstance(choices, int) else choices[0] == choices[1]
    return ALIKE if is_one else VARIES


def _crop(interpolation: str | tuple[str, ...], antialias: bool) -> dict[str, Any]:
    return {"interpolation": interpolation, "antialias": antialias}


def padded(transform: Any) -> dict[str, Any]:
    """The border and fill of a transform with `padding_mode` and `fill`, for `Build.warp`."""
    border = border_of(transform.name, transform.padding_mode)
    return {"border": border, "fill": checked_numbers(transform.fill)}


class _Resizing(Transform):
    """A transform that resizes whole images; its subclasses have these fields."""

    interpolation: str
    antialias: bool

    _checks = checks()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(interpolation=resizing_of(self.name, self.interpolation, self.antialias))
