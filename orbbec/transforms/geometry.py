"""Resize, crop, flip and pad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import listed
from orbbec.plan.draws import draw_areas
from orbbec.plan.steps import BatchState, Step, Warp, identities, same_rows, side_by_side
from orbbec.plan.stream import Stream
from orbbec.plan.template import Coordinate, Row
from orbbec.transforms.base.checks import (
    FillValue,
    Range,
    Size,
    border_of,
    flag,
    interval,
    numbers,
    padding_of,
    resizing_of,
    resizings_of,
    size_pair,
    whole,
)
from orbbec.transforms.base.transform import Chosen, Drawn, Transform, _EvenChance
from orbbec.transforms.cuts import (
    Boxes,
    _Resizing,
    fitted_sizes,
    longer_sizes,
    resized_sizes,
    whole_images,
)
from orbbec.transforms.matrices import box_matrices, nearest_offsets


@dataclass(frozen=True)
class Resize(_Resizing):
    """Resize each image.

    Args:
        size: (height, width), or one number for the shorter side; use (side, side) for squares. None: the
            longer side becomes `max_size`.
        interpolation: "linear", "cubic", "lanczos4" or "area"; "linear_exact" (OpenCV's, without antialias);
            "box" or "hamming" (with antialias only); "nearest", which reads pixel
            `floor(x * width / output width)`, like cv2's INTER_NEAREST and torchvision's NEAREST; or
            "nearest_exact", which reads `floor((x + 0.5) * width / output width)`, like torchvision's
            NEAREST_EXACT. Also "bilinear", "bicubic", "lanczos", torchvision's `InterpolationMode`, Pillow's
            `Resampling` and cv2's INTER_* values. Masks read the same pixels as an image with nearest.
        max_size: upper bound of the longer side, only if `size` is one number; or the longer side.
        antialias: use Pillow's filter, torchvision's default, in a pass of its own. False: linear and nearest
            fuse with neighboring warps; cubic, area and lanczos4 are OpenCV's and take a pass of their own.

    Source:
        `torchvision.transforms.v2.Resize`.

    Example:
        >>> from orbbec.plan.steps import BatchState
        >>> resize = Resize(2, antialias=False)
        >>> params = resize.sample(np.array([[4, 6]]), Stream(np.array([0])))
        >>> params.sizes.tolist()
        [[2, 3]]
    """

    size: Size | None
    interpolation: str = "linear"
    max_size: int | None = None
    antialias: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is None:
            self._set(max_size=whole(self.name, "max_size", self.max_size, 1))
            return
        sides = size_pair(self.name, "size", self.size)
        size = sides if len(listed(self.size) or ()) == 2 else sides[:1]
        self._set(size=size)
        if self.max_size is not None:
            self._set(max_size=whole(self.name, "max_size", self.max_size, size[0] + 1))
            if len(size) == 2:
                raise ValueError(f"{self.name}: expected max_size only with one number for size")

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        if self.size is None:
            assert self.max_size is not None
            return whole_images(sizes, longer_sizes(sizes, self.max_size), (1, 1))
        assert not isinstance(self.size, int)
        least = (1, 1) if self.max_size is not None else (self.size[0], self.size[-1])
        return whole_images(sizes, resized_sizes(sizes, tuple(self.size), self.max_size), least)

    def coordinates(self) -> Row | None:
        if self.size is None:
            return None
        assert not isinstance(self.size, int)
        if len(self.size) == 1:
            return Coordinate.RESIZE_SHORTER, self.size[0], self.max_size or 0
        return Coordinate.RESIZE, *self.size


@dataclass(frozen=True)
class RandomResizedCrop(Transform):
    """Crop a random region of each image and resize it to one size.

    Draws area and aspect ratio up to ten times until the region fits; otherwise crops the center.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        scale: range of the region's area, as a fraction of the image's.
        ratio: range of the region's width to its height; drawn uniformly in the logarithm.
        interpolation: see `Resize`; or several, one of which is drawn per image. "random": linear or cubic.
        antialias: see `Resize`.

    Source:
        `torchvision.transforms.v2.RandomResizedCrop`; timm's `RandomResizedCropAndInterpolation`.

    Example:
        >>> crop = RandomResizedCrop((8, 8)).sample(np.array([[40, 60]]), Stream(np.array([0])))
        >>> bool((crop.left + crop.width <= 60).all())
        True
    """

    size: Size
    scale: Range = (0.08, 1.0)
    ratio: Range = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: str | Sequence[str] = "linear"
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(
            scale=interval(self.name, "scale", self.scale, 0.0),
            ratio=interval(self.name, "ratio", self.ratio, 1e-6),
            interpolation=resizings_of(self.name, self.interpolation, self.antialias),
        )
        self._check("size", "antialias")

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        found, sides, begin = draw_areas(sizes, self.scale, self.ratio, stream, transposed=False)
        if not found.all():
            middle = self._middles(sizes)
            sides = np.where(found[:, None], sides, middle)
            begin = np.where(found[:, None], begin, (sizes - middle) // 2)
        size = size_pair(self.name, "size", self.size)
        outputs = same_rows(size, len(sizes))
        several = not isinstance(self.interpolation, str)
        which = stream.below(len(self.interpolation)) if several else None
        return Boxes(begin[:, 1], begin[:, 0], sides[:, 1], sides[:, 0], outputs, size, which)

    def coordinates(self) -> Row | None:
        if not isinstance(self.interpolation, str):
            return None
        return Coordinate.RESIZE_AREA, *size_pair(self.name, "size", self.size), *self.scale, *self.ratio

    def _middles(self, sizes: Array) -> Array:
        """Heights and widths of the largest regions whose aspect ratio is in range: `[N, 2]`."""
        rows, columns = sizes.T
        low, high = self.ratio
        in_ratio = columns / rows
        width = np.where(in_ratio > high, np.rint(rows * high), columns)
        return side_by_side(np.where(in_ratio < low, np.rint(columns / low), rows), width)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        return [params.resized(self.interpolation, self.antialias, cuts=True, exact=state.exact)]


def check_fit(op: str, sizes: Array, size: tuple[int, int]) -> None:
    """Refuse images that are smaller than `size`."""
    small = (sizes < np.array(size)).any(1)
    if small.any():
        index = int(small.argmax())
        height, width = sizes[index].tolist()
        raise ValueError(
            f"{op}: expected images of at least {size[0]}x{size[1]}, but image {index} is {height}x{width}"
        )


def where_cut(state: BatchState, size: tuple[int, int]) -> BatchState:
    """The batch state, in which images that are not cropped count as at least `size`."""
    if state.chosen is None:
        return state
    return state.of_sizes(np.where(state.chosen[:, None], state.sizes, np.maximum(state.sizes, size)))


@dataclass(frozen=True)
class CenterCrop(Transform):
    """Crop the center of each image.

    Images smaller than `size` are padded with zeros; an odd row or column of padding goes below or to the
    right. When an odd number of pixels is removed, the offset from the left or top is rounded to even.

    Args:
        size: (height, width) in pixels, or one side of a square.

    Source:
        `torchvision.transforms.v2.CenterCrop`.

    Example:
        >>> image = torch.arange(20, dtype=torch.uint8).reshape(1, 4, 5)
        >>> CenterCrop((2, 3))(image).tolist()
        [[[6, 7, 8], [11, 12, 13]]]
    """

    size: Size

    def __post_init__(self) -> None:
        self._check("size")

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        size = size_pair(self.name, "size", self.size)
        over = sizes - np.array(size)
        top, left = np.where(over < 0, -(-over // 2), np.rint(over / 2.0)).T
        return Boxes.of_size(left, top, same_rows(size, len(sizes)), size)

    def coordinates(self) -> Row:
        return Coordinate.CENTER_CROP, *size_pair(self.name, "size", self.size)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        # Depends on the pipeline and not on this batch, so that a sample has the same bytes in every batch.
        may_pad = (np.array(state.least) < np.array(self.size)).any()
        return [params.padded(state) if may_pad else params.cut()]


@dataclass(frozen=True)
class RandomCrop(Transform):
    """Crop a region of one size at a random position of each image.

    Args:
        size: (height, width) in pixels, or one side of a square.
        padding: padding added first, in pixels: one number, (left and right, top and bottom), or (left, top,
            right, bottom).
        pad_if_needed: pad smaller images to `size`.
        fill: value of the padding, in pixel units: a number or one per channel.
        padding_mode: see `Pad`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, an image is too small.

    Source:
        `torchvision.transforms.v2.RandomCrop`.

    Example:
        >>> image = torch.zeros(3, 20, 30, dtype=torch.uint8)
        >>> RandomCrop(16, padding=4)(image).shape
        torch.Size([3, 16, 16])
    """

    size: Size
    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        self._check("size", "fill")
        if self.padding is not None:
            self._set(padding=padding_of(self.name, self.padding))
        self._set(pad_if_needed=flag(self.name, "pad_if_needed", self.pad_if_needed))
        border_of(self.name, self.padding_mode)

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        return super().draw(where_cut(state, size_pair(self.name, "size", self.size)), streams)

    @property
    def _pads(self) -> bool:
        return self.pad_if_needed or self.padding is not None

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        size = size_pair(self.name, "size", self.size)
        left, top, right, bottom = (
            (0, 0, 0, 0) if self.padding is None else padding_of(self.name, self.padding)
        )
        rows, columns = sizes[:, 0] + top + bottom, sizes[:, 1] + left + right
        lacks = (
            np.maximum(np.array(size) - np.stack([rows, columns], 1), 0) if self.pad_if_needed else 0 * sizes
        )
        rows, columns = rows + 2 * lacks[:, 0], columns + 2 * lacks[:, 1]
        check_fit(self.name, np.stack([rows, columns], 1), size)
        at_y, at_x = stream.below(rows - size[0] + 1), stream.below(columns - size[1] + 1)
        outputs = same_rows(size, len(sizes))
        corner_x, corner_y = at_x - left - lacks[:, 1], at_y - top - lacks[:, 0]
        return Boxes.of_size(corner_x.astype(np.float64), corner_y.astype(np.float64), outputs, size)

    def coordinates(self) -> Row:
        padding = (0, 0, 0, 0) if self.padding is None else padding_of(self.name, self.padding)
        return Coordinate.CROP, *size_pair(self.name, "size", self.size), *padding, self.pad_if_needed

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        fill = numbers(self.name, "fill", self.fill)
        return [params.cut(border_of(self.name, self.padding_mode), fill) if self._pads else params.cut()]


@dataclass(frozen=True)
class Pad(Transform):
    """Pad each image on all sides.

    Args:
        padding: one number, (left and right, top and bottom), or (left, top, right, bottom), in pixels.
        fill: in pixel units: a number or one per channel.
        padding_mode: "constant", "edge", "reflect" (which does not repeat the edge), "symmetric" or "wrap";
            also "replicate", "reflect101" and the values of `cv2.BORDER_*`.

    Source:
        `torchvision.transforms.v2.Pad`.

    Example:
        >>> image = torch.tensor([[[1, 2]]], dtype=torch.uint8)
        >>> Pad((1, 0), fill=9)(image).tolist()
        [[[9, 1, 2, 9]]]
    """

    padding: int | Sequence[int]
    fill: FillValue = 0.0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        self._set(padding=padding_of(self.name, self.padding))
        self._check("fill")
        border_of(self.name, self.padding_mode)

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        left, top, right, bottom = padding_of(self.name, self.padding)
        outputs = sizes + np.array([top + bottom, left + right])
        return Boxes.of_size(np.full(len(sizes), -float(left)), np.full(len(sizes), -float(top)), outputs)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        return [params.cut(border_of(self.name, self.padding_mode), numbers(self.name, "fill", self.fill))]


class _Flip(_EvenChance):
    _axis: ClassVar[int]  # 0: x
    _coordinate: ClassVar[Coordinate]

    def steps(self, params: Chosen, state: BatchState) -> list[Step]:
        axis, matrix = self._axis, identities(len(state))
        matrix[params.chosen, axis, axis] = -1.0
        matrix[:, axis, 2] = params.chosen * (state.sizes[:, 1 - axis] - 1.0)
        flips = params.chosen if axis == 0 else None
        return [Warp(matrix, state.sizes, lossless=True, onto=True, flips=flips)]

    def coordinates(self) -> Row:
        return self._coordinate, self.p


class RandomHorizontalFlip(_Flip):
    """Flip images left to right with probability `p`.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomHorizontalFlip`.

    Example:
        >>> image = torch.tensor([[[1, 2, 3]]], dtype=torch.uint8)
        >>> RandomHorizontalFlip(p=1.0)(image).tolist()
        [[[3, 2, 1]]]
    """

    _axis, _coordinate = 0, Coordinate.FLIP_COLUMNS


class RandomVerticalFlip(_Flip):
    """Flip images upside down with probability `p`.

    Args:
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomVerticalFlip`.

    Example:
        >>> image = torch.tensor([[[1], [2], [3]]], dtype=torch.uint8)
        >>> RandomVerticalFlip(p=1.0)(image).flatten().tolist()
        [3, 2, 1]
    """

    _axis, _coordinate = 1, Coordinate.FLIP_ROWS


@dataclass(frozen=True)
class Letterbox(Transform):
    """Resize each image to fit into `size`, keep its aspect ratio and pad both sides evenly.

    Linear and nearest run as one warp: the border of an enlarged image blends into the fill over half a
    source pixel. The other interpolations resize in a pass of their own.

    Args:
        size: (height, width) of the output in pixels, or one side of a square.
        fill: in pixel units: a number or one per channel.
        interpolation: see `Resize`, without antialias.
        enlarge: whether to enlarge small images.

    Example:
        >>> image = torch.tensor([[[10, 20]]], dtype=torch.uint8)
        >>> Letterbox((3, 2), fill=114)(image).tolist()
        [[[114, 114], [10, 20], [114, 114]]]
    """

    size: Size
    fill: FillValue = 114.0
    interpolation: str = "linear"
    enlarge: bool = True

    def __post_init__(self) -> None:
        self._check("size", "fill")
        self._set(interpolation=resizing_of(self.name, self.interpolation))
        self._set(enlarge=flag(self.name, "enlarge", self.enlarge))

    def _inner(self, sizes: Array) -> tuple[Array, Array]:
        """The sizes of the images within the output, and the padding above and to the left."""
        size = size_pair(self.name, "size", self.size)
        inner = fitted_sizes(sizes, size, self.enlarge)
        return inner, (np.array(size) - inner) // 2

    def sample(self, sizes: Array, stream: Stream) -> Boxes:
        size = size_pair(self.name, "size", self.size)
        inner, before = self._inner(sizes)
        per_pixel = sizes / inner  # source pixels per output pixel
        top, left = (-before * per_pixel).T
        height, width = (np.array(size) * per_pixel).T
        return Boxes(left, top, width, height, same_rows(size, len(sizes)), size)

    def steps(self, params: Boxes, state: BatchState) -> list[Step]:
        fill = numbers(self.name, "fill", self.fill)
        if state.exact or self.interpolation not in ("linear", "nearest", "nearest_exact"):
            inner, before = self._inner(state.sizes)
            resized = whole_images(state.sizes, inner.astype(np.int64))
            laid = Boxes.of_size(-before[:, 1], -before[:, 0], params.sizes, params.least)
            return [
                resized.resized(self.interpolation, False, cuts=False, exact=True),
                laid.cut("constant", fill),
            ]
        matrix = box_matrices(params.left, params.top, params.width, params.height, params.sizes)
        if self.interpolation == "linear":
            return [Warp(matrix, params.sizes, border="constant", fill=fill, least=params.least)]
        offset = nearest_offsets(state.sizes, self._inner(state.sizes)[0], self.interpolation)
        return [Warp(matrix, params.sizes, "nearest", "constant", fill, offset=offset, least=params.least)]
