"""The operators that draw random parameters for a whole batch at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.fakes import register_fake
from orbbec.plan.stream import Stream

_AREA_NUMBERS = 40  # ten tries of area, ratio, and a position (y, x)
_PASS_NUMBERS = 16  # of an image in a pass: 9 of a matrix, 4 of a box, 2 of a size, whether it is flipped


def draw_areas(
    sizes: Array,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    stream: Stream,
    *,
    transposed: bool,
) -> tuple[Array, Array, Array]:
    """The first of ten random areas and aspect ratios that fits into each image.

    Args:
        sizes: int64 `[N, 2]`.
        scale: range of the area, as a fraction of the area of the image.
        ratio: range of the aspect ratio.
        stream: the random numbers; 40 are used.
        transposed: as in RandomErasing, the ratio is height to width, and both sides must be smaller than
            those of the image. Otherwise the ratio is width to height, and the sides may be equal.

    Returns:
        Whether one fits, bool `[N]`; its height and width, and its position (y, x), float64 `[N, 2]` each,
        in whole pixels.
    """
    given = torch.from_numpy(np.ascontiguousarray(sizes)), torch.from_numpy(stream.sample_ids)
    options = (*stream.key, stream.skip(_AREA_NUMBERS))
    areas = torch.ops.orbbec.draw_areas.default(*given, scale, ratio, transposed, *options).numpy()
    return areas[:, 0] > 0, areas[:, 1:3], areas[:, 3:]


def draw_coordinates(
    sizes: Array, sample_ids: Array, program: Tensor, passes: int, seed: int, epoch: int
) -> Array:
    """Draw the coordinate transforms of each image for all passes.

    Args:
        sizes: contiguous int64 `[N, 2]`.
        sample_ids: contiguous int64 `[N]`.
        program: float64 `[K, 10]`: kind, transform index, whether it begins a pass, parameters of the kind.
        passes: number of passes.
        seed: see `Stream`.
        epoch: see `Stream`.

    Returns:
        float64 `[passes, 16 N]`: 9 N numbers of matrices, 4 N of boxes, 2 N of sizes, N of flips.
    """
    given = torch.from_numpy(sizes), torch.from_numpy(sample_ids)
    drawn: Tensor = torch.ops.orbbec.draw_coordinates.default(*given, program, passes, seed, epoch)
    return drawn.numpy()


@register_fake("draw_areas", sizes=2, sample_ids=1, scale=2, ratio=2)
def _(sizes: Tensor, *arguments: object) -> Tensor:
    return sizes.new_empty((sizes.size(0), 5), dtype=torch.float64)


@register_fake("draw_coordinates", sizes=2, sample_ids=1, program=2)
def _(sizes: Tensor, sample_ids: Tensor, program: Tensor, passes: int, *key: int) -> Tensor:
    return sizes.new_empty((passes, _PASS_NUMBERS * sizes.size(0)), dtype=torch.float64)


@register_fake("augment_drawn", sample_ids=1, program=2, out=4)
def _(*arguments: object) -> None:
    return None
