"""Random warps by OpenCV and by orbbec, and the promised agreement. Needs `cv2`.

Cases have sizes from 1 x 1 to 700 x 700, mostly small; 1, 3 or 4 channels; matrices that rotate, shear, shift
by multiples of 1, 1/32 and 1/64 pixel, are close to the identity, are singular, scale by 10^-6 to 10^6, or
move everything far outside; float32 and float64 matrices of both directions; fills with fractions and out of
range.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.peers import opencv
from tests.support.peers.tally import Tally
from tests.support.warps import BORDERS, INTERPOLATIONS, WARPS, warp

Random = np.random.Generator

DTYPES = ("uint8", "uint16", "float16", "float32", "float64")

_INT_LIMIT = 2.0**31 - 1024  # with a margin for a side and a tap
_TAPS = {"nearest": 1, "linear": 4, "cubic": 16, "lanczos4": 64}
# OpenCV walks through a reflected border image by image: a distant position takes minutes.
_MIRROR_STEPS = 3_000_000


@dataclass(frozen=True)
class Cell:
    """A cell of the table, in which cases are drawn at random."""

    op: str
    dtype: str
    interpolation: str
    border: str


@dataclass(frozen=True)
class Case:
    """One call."""

    cell: Cell
    image: Array  # [H, W, C]
    map: Array  # matrix, or positions [2, height, width]
    size: tuple[int, int]
    fill: tuple[float, ...]
    inverse: bool
    before: Array  # initial contents of the output


def cells() -> list[Cell]:
    """All combinations of operator, dtype, interpolation and border."""
    return [
        Cell(op, dtype, interpolation, border)
        for op in WARPS
        for dtype in DTYPES
        for interpolation in INTERPOLATIONS
        for border in BORDERS
    ]


def is_promised(cell: Cell, arithmetic: str) -> bool:
    """Whether orbbec promises OpenCV's bits at finite positions."""
    if arithmetic == "cv2_4" or cell.interpolation == "lanczos4":
        return True
    return cell.dtype != "float64" and (cell.interpolation, cell.border) != ("cubic", "transparent")


def draw_size(rng: Random) -> tuple[int, int]:
    """A size: half are within 16 pixels, most within 64, few up to 700."""
    limit = (16, 64, 300, 700)[np.searchsorted((0.5, 0.98, 0.997), rng.random())]
    height, width = rng.integers(1, limit + 1, 2)
    return int(height), int(width)


def draw_values(rng: Random, shape: tuple[int, ...], dtype: str) -> Array:
    """Noise: the full range of integers, or floats of a random magnitude, without -0."""
    if np.dtype(dtype).kind == "u":
        return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    values = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.uniform(-2, 3), dtype)
    values[values == 0] = 0
    return values


def draw_fill(rng: Random, channels: int, dtype: str) -> tuple[float, ...]:
    top = float(np.iinfo(dtype).max) if np.dtype(dtype).kind == "u" else 1000.0
    kind = rng.integers(3)
    if kind == 0:
        return (float(rng.integers(0, 256)),) * channels
    values = rng.uniform(-0.1 * top, 1.2 * top, channels)
    return tuple((np.round(values * 2) / 2 + 0.0 if kind == 1 else values).tolist())  # no -0


def _similarity(rng: Random, source: Array, target: Array) -> Array:
    angle, scale = rng.uniform(-np.pi, np.pi), np.exp(rng.uniform(-2.5, 2.5) * (rng.random() < 0.8))
    linear = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shift = target / 2 - linear @ (source / 2) + rng.uniform(-8, 8, 2)
    return np.column_stack([linear, shift])


def _shear(rng: Random, *_: Array) -> Array:
    return np.column_stack([rng.standard_normal((2, 2)) * np.exp(rng.uniform(-3, 3)), rng.normal(0, 50, 2)])


def _shift(rng: Random, *_: Array) -> Array:
    fractions = (0, 0.5, 0.25, 1 / 32, 3 / 32, 1 / 64, 31 / 64)
    return np.column_stack([np.eye(2), rng.integers(-9, 10, 2) + rng.choice(fractions, 2)])


def _near_identity(rng: Random, *_: Array) -> Array:
    return np.eye(2, 3) + rng.standard_normal((2, 3)) * (1e-3, 1e-3, 0.7)


def _singular(rng: Random, *_: Array) -> Array:
    row = rng.standard_normal(3)
    return np.stack([row, row * rng.choice((0, 1, 2))])


def _any_scale(rng: Random, *_: Array) -> Array:
    linear = rng.standard_normal((2, 2)) * 10.0 ** rng.uniform(-6, 6)
    return np.column_stack([linear, rng.standard_normal(2) * 10.0 ** rng.uniform(-3, 7)])


def _far_outside(rng: Random, source: Array, target: Array) -> Array:
    matrix = _similarity(rng, source, target)
    matrix[:, 2] += rng.choice((-1, 1), 2) * 10.0 ** rng.uniform(2, 7, 2)
    return matrix


_AFFINE: tuple[Callable[..., Array], ...] = (
    _similarity,
    _similarity,
    _similarity,
    _shear,
    _shift,
    _near_identity,
    _singular,
    _any_scale,
    _far_outside,
)


def draw_affine(rng: Random, source: tuple[int, int], target: tuple[int, int]) -> Array:
    kind = _AFFINE[rng.integers(len(_AFFINE))]
    return kind(rng, np.array(source[::-1]), np.array(target[::-1]))


def draw_perspective(rng: Random, source: tuple[int, int], target: tuple[int, int]) -> Array:
    """A matrix with slight, strong or no perspective, or of nine random numbers."""
    kind = rng.integers(5)
    if kind == 4:
        return rng.standard_normal((3, 3)) * 10.0 ** rng.uniform(-2, 2, (3, 3))
    last = np.array([*rng.standard_normal(2) * (0, 1e-4, 1e-3, 1e-2)[kind], 1.0])
    return np.vstack([draw_affine(rng, source, target), last]) * (1 if rng.random() < 0.7 else rng.normal())


def draw_positions(rng: Random, source: tuple[int, int], target: tuple[int, int]) -> Array:
    """Source x and y `[2, height, width]`: warped grids, noise, 32nds of pixels, far outside, not finite."""
    grid_y, grid_x = np.mgrid[: target[0], : target[1]].astype(np.float64)
    matrix = draw_affine(rng, target, source)
    xy = np.stack([m[0] * grid_x + m[1] * grid_y + m[2] for m in matrix])
    kind = rng.integers(6)
    if kind == 0:
        xy += rng.normal(0, 2, xy.shape)
    elif kind == 1:
        xy = rng.uniform(-1, 2, xy.shape) * np.array(source[::-1]).reshape(2, 1, 1)
    elif kind == 2:
        xy = np.round(xy * 32) / 32
    elif kind == 3:
        broken = rng.random(xy.shape) < 0.02
        xy[broken] = rng.choice((np.nan, np.inf, -np.inf), broken.sum())
    return xy.astype(np.float32)


def _draw_map(rng: Random, op: str, source: tuple[int, int], target: tuple[int, int]) -> Array:
    if op == "remap":
        return draw_positions(rng, source, target)
    draw = draw_affine if op == "warp_affine" else draw_perspective
    return draw(rng, source, target).astype("float32" if rng.random() < 0.3 else "float64")


def draw_case(rng: Random, cell: Cell) -> Case:
    """A case of this cell that takes OpenCV less than a second."""
    while True:
        source, target, inverse = draw_size(rng), draw_size(rng), bool(rng.integers(2))
        map = _draw_map(rng, cell.op, source, target)
        if not is_too_much_for_opencv(cell, source, map, target, inverse):
            break
    channels = int(rng.choice((1, 3, 4)))
    image, before = (draw_values(rng, (*size, channels), cell.dtype) for size in (source, target))
    return Case(cell, image, map, target, draw_fill(rng, channels, cell.dtype), inverse, before)


def source_positions(op: str, map: Array, size: tuple[int, int], inverse: bool) -> Array:
    """The source positions `[2, height, width]`: those of OpenCV 5 except for the last bit."""
    if op == "remap":
        return map
    matrix = map.astype(np.float64)
    if not inverse:
        matrix = np.asarray(
            (orbbec.invert_affine if op == "warp_affine" else orbbec.invert_perspective)(matrix)
        )
    m = matrix.astype(np.float32).astype(np.float64)
    y, x = np.arange(size[0], dtype=np.float64)[:, None], np.arange(size[1], dtype=np.float64)
    rows = [(x * r[0] + (y * r[1] + r[2]).astype(np.float32)).astype(np.float32) for r in m]
    return np.stack(rows if len(rows) == 2 else [rows[0] / rows[2], rows[1] / rows[2]])


def is_defined(case: Case, arithmetic: str) -> Array:
    """The pixels `[height, width]` for which OpenCV's result is defined: those with finite positions."""
    cell = case.cell
    if arithmetic == "cv2_4" or cell.interpolation == "lanczos4" or cell.dtype == "float64":
        return np.ones(case.size, bool)
    with np.errstate(all="ignore"):
        positions = source_positions(cell.op, case.map, case.size, case.inverse)
    return np.asarray(np.isfinite(positions).all(0))


def is_too_much_for_opencv(
    cell: Cell, source: tuple[int, int], map: Array, size: tuple[int, int], inverse: bool
) -> bool:
    """Whether OpenCV takes long or may crash.

    It walks through a reflected border image by image. Version 5.0.0 never returns for cubic and an image of
    one pixel, and crashes for wrap at positions beyond the range of int.
    """
    if cell.border not in ("reflect", "reflect101", "wrap"):
        return False
    side = min(source)
    if (cell.border, cell.interpolation, side) == ("reflect101", "cubic", 1):
        return True
    with np.errstate(all="ignore"):
        positions = np.abs(source_positions(cell.op, map, size, inverse)).max(0)
        reach = np.minimum(np.nan_to_num(positions, nan=_INT_LIMIT), _INT_LIMIT)
    if cell.border == "wrap":
        return bool(reach.max() >= _INT_LIMIT)
    return bool(reach.sum() / side * _TAPS[cell.interpolation] > _MIRROR_STEPS)


def opencv_answer(case: Case) -> Array:
    cell = case.cell
    return opencv.warp(
        cell.op,
        case.image,
        case.map,
        case.size,
        interpolation=cell.interpolation,
        border=cell.border,
        fill=case.fill,
        inverse=case.inverse,
        out=case.before,
    )


def orbbec_answer(case: Case, arithmetic: str) -> Array:
    cell = case.cell
    answer: Array = warp(
        cell.op,
        case.image,
        case.map,
        case.size,
        interpolation=cell.interpolation,
        border=cell.border,
        fill=case.fill,
        arithmetic=arithmetic,
        out=case.before.copy(),
        **({} if cell.op == "remap" else {"inverse": case.inverse}),
    )
    return answer


def _unit_of(case: Case) -> float:
    if case.image.dtype.kind == "u":
        return 1.0
    outside = np.abs(case.before).max() if case.cell.border == "transparent" else np.abs(case.fill).max()
    return float(max(np.abs(case.image).max(), outside))


def compare(
    cell: Cell, arithmetic: str, cases: int, seed: int, orbbec_arithmetic: str | None = None
) -> Tally:
    """Draw cases of a cell and compare the two results bit by bit.

    Args:
        cell: the cell.
        arithmetic: the arithmetic of the installed OpenCV.
        cases: number of cases.
        seed: seed of the cases.
        orbbec_arithmetic: the arithmetic of orbbec; None: `arithmetic`.

    Returns:
        The counts.
    """
    rng = np.random.default_rng([seed, cells().index(cell)])
    tally = Tally()
    for _ in range(cases):
        case = draw_case(rng, cell)
        actual = orbbec_answer(case, orbbec_arithmetic or arithmetic)
        defined = is_defined(case, arithmetic)[..., None]
        tally.add(actual, opencv_answer(case), defined, _unit_of(case))
    return tally
