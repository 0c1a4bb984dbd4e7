"""Crops of images, and their resizing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.points import shifts
from orbbec.plan.steps import BatchState, Operator, Step, Warp, same_rows, side_by_side
from orbbec.transforms.base.checks import resizing_of
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.matrices import box_matrices, nearest_offsets

# Antialias filters by interpolation.
FILTERS = {"linear": "linear", "cubic": "cubic", "lanczos4": "lanczos", "box": "box", "hamming": "hamming"}
READS = {
    "antialias": "with antialiasing reads a varying number of pixels per output pixel",
    "area": "reads a varying number of pixels per output pixel",
    "cubic": "reads 16 pixels",
    "lanczos4": "reads 64 pixels",
    **dict.fromkeys(("linear", "linear_exact", "nearest"), "rounds its own result"),
}


@dataclass(frozen=True, eq=False)
class Boxes:
    """The crop of each image, and its output size.

    Args:
        left: float64 `[N]`, in pixels, like the other three edges; may lie outside the image.
        sizes: int64 `[N, 2]`: output sizes.
        least: smallest possible output height and width, for any images.
        which: int64 `[N]`: index into several interpolations, per image; None: one interpolation for all.
    """

    left: Array
    top: Array
    width: Array
    height: Array
    sizes: Array
    least: tuple[int, int] = (1, 1)
    which: Array | None = None

    @classmethod
    def of_size(cls, left: Array, top: Array, outputs: Array, least: tuple[int, int] = (1, 1)) -> Boxes:
        """Boxes of the size of the output."""
        height, width = outputs.T.astype(np.float64)
        return cls(left, top, width, height, outputs, least)

    def cut(self, border: str | None = None, fill: tuple[float, ...] = (0.0,)) -> Warp:
        """Crop the boxes without resizing."""
        matrix = shifts(self.left, self.top, len(self.sizes))
        region = None if border is not None else self.regions()
        return Warp(
            matrix, self.sizes, border=border, fill=fill, lossless=True, region=region, least=self.least
        )

    def padded(self, state: BatchState) -> Warp:
        """Crop the boxes without resizing; pixels outside the image are zero."""
        inside = np.clip(self.corners(), 0, np.tile(state.sizes[:, ::-1], 2)).astype(np.int64)
        return replace(self.cut("constant"), region=inside)

    def regions(self) -> Array:
        """The boxes in whole pixels as left, top, right, bottom: int64 `[N, 4]`."""
        return self.corners().astype(np.int64)

    def corners(self) -> Array:
        """Left, top, right, bottom: `[N, 4]`."""
        return side_by_side(self.left, self.top, self.left + self.width, self.top + self.height)

    def resized(
        self, interpolation: str | Sequence[str], antialias: bool, cuts: bool, exact: bool = False
    ) -> Step:
        """Crop and resize the boxes.

        Args:
            interpolation: a result of `resizings_of`.
            antialias: use Pillow's filter of that name, if there is one.
            cuts: whether a box may be smaller than its image.
            exact: use an operator, which gives OpenCV's bytes, for linear and nearest without antialias too.
        """
        matrix = box_matrices(self.left, self.top, self.width, self.height, self.sizes)
        if not isinstance(interpolation, str):
            names = tuple(FILTERS[name] if antialias else name for name in interpolation)
            why = f"draws {' or '.join(interpolation)} per image, with one call for each"
            return self._operator(names, antialias, matrix, why)
        smooth = antialias and interpolation in FILTERS
        fuses = interpolation in ("linear", "nearest") and not (smooth or exact)
        if interpolation == "nearest_exact" or fuses:
            return self._warp(matrix, interpolation, self.regions() if cuts else None)
        name = FILTERS[interpolation] if smooth else interpolation
        return self._operator(name, smooth, matrix, READS["antialias" if smooth else interpolation])

    def _operator(
        self, interpolation: str | tuple[str, ...], antialias: bool, matrix: Array, why: str
    ) -> Operator:
        boxes = self.corners().astype(np.float64)
        return Operator(
            "resized_crop",
            {"boxes": boxes} if self.which is None else {"boxes": boxes, "which": self.which},
            {"interpolation": interpolation, "antialias": antialias},
            matrix=matrix,
            sizes=self.sizes,
            why=why,
            least=self.least,
        )

    def _warp(self, matrix: Array, interpolation: str, region: Array | None) -> Warp:
        if interpolation == "linear":
            return Warp(matrix, self.sizes, region=region, least=self.least)
        sources = side_by_side(self.height, self.width)
        offset = nearest_offsets(sources, self.sizes, interpolation)
        return Warp(matrix, self.sizes, "nearest", region=region, offset=offset, least=self.least)


class _Resizing(Transform):
    """A transform that resizes whole images; its subclasses have these fields."""

    interpolation: str
    antialias: bool

    def __post_init__(self) -> None:
        self._set(interpolation=resizing_of(self.name, self.interpolation, self.antialias))
        self._check("antialias")

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        return [params.resized(self.interpolation, self.antialias, cuts=False, exact=state.exact)]


def resized_sizes(sizes: Array, size: tuple[int | Array, ...], max_size: int | None) -> Array:
    """The sizes of `Resize`: one size for all images, or a shorter side for all or per image.

    Example:
        >>> resized_sizes(np.array([[100, 50], [30, 60]]), (10,), None).tolist()
        [[20, 10], [10, 20]]
    """
    if len(size) == 2:
        return same_rows(size, len(sizes))
    short, long = sizes.min(1), sizes.max(1)
    new_short, new_long = np.full(len(sizes), size[0]), (size[0] * long / short).astype(np.int64)
    if max_size is not None:
        too_long = new_long > max_size
        new_short = np.where(too_long, (max_size * new_short / new_long).astype(np.int64), new_short)
        new_long = np.where(too_long, max_size, new_long)
    upright = (sizes[:, 1] <= sizes[:, 0])[:, None]
    result: Array = np.where(upright, np.stack([new_long, new_short], 1), np.stack([new_short, new_long], 1))
    return np.maximum(result, 1)


def longer_sizes(sizes: Array, longer: int) -> Array:
    """The sizes whose longer side is `longer`, with the shorter side rounded down, as in torchvision.

    Example:
        >>> longer_sizes(np.array([[100, 50], [30, 59]]), 20).tolist()
        [[20, 10], [10, 20]]
    """
    scaled: Array = (longer * sizes / sizes.max(1, keepdims=True)).astype(np.int64)
    return np.maximum(scaled, 1)


def fitted_sizes(sizes: Array, size: tuple[int, int], enlarge: bool = True) -> Array:
    """The largest sizes within `size` that keep the aspect ratio, rounded half to even: float64 `[N, 2]`.

    Example:
        >>> fitted_sizes(np.array([[100, 50], [30, 60]]), (10, 10)).tolist()
        [[10.0, 5.0], [5.0, 10.0]]
    """
    scale = (np.array(size) / sizes).min(1)
    scale = scale if enlarge else np.minimum(scale, 1.0)
    result: Array = np.maximum(np.rint(sizes * scale[:, None]), 1)
    return result


def whole_images(sizes: Array, outputs: Array, least: tuple[int, int] = (1, 1)) -> Boxes:
    """Boxes that cover whole images."""
    zero = np.zeros(len(sizes))
    return Boxes(zero, zero, sizes[:, 1].astype(float), sizes[:, 0].astype(float), outputs, least)
