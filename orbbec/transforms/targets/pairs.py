"""Pairs of keypoints that change sides in a mirrored image, such as the left and the right hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.transforms.base.checks import choice, whole

Pairs = tuple[tuple[int, int], ...]

# Eyes, ears, shoulders, elbows, wrists, hips, knees, ankles of COCO's 17 keypoints; 0 is the nose.
_COCO = tuple((2 * n - 1, 2 * n) for n in range(1, 9))
_NAMED = {"coco": _COCO}


def pairs_of(op: str, name: str, value: Any) -> Pairs:
    """Checked pairs of indices, from a sequence of pairs or a name.

    Raises:
        TypeError: it is no sequence of pairs.
        ValueError: a name is unknown, an index is negative, or in two pairs.

    Example:
        >>> pairs_of("TargetOptions", "pairs", "coco")[:2], pairs_of("TargetOptions", "pairs", [[0, 2]])
        (((1, 2), (3, 4)), ((0, 2),))
    """
    if isinstance(value, str):
        return _NAMED[choice(op, name, value, tuple(_NAMED))]
    if not isinstance(value, Sequence) or not all(isinstance(p, Sequence) and len(p) == 2 for p in value):
        raise TypeError(f"{op}: expected {name} as pairs of indices or a name, but got {value!r:.80}")
    one, other = ([whole(op, f"an index of {name}", pair[side], 0) for pair in value] for side in (0, 1))
    if len({*one, *other}) < 2 * len(value):
        raise ValueError(f"{op}: expected {name} with each index once, but got {value!r:.80}")
    return tuple(zip(one, other, strict=True))


def swapped(points: Array, pairs: Pairs, what: str) -> Array:
    """Points whose pairs are exchanged.

    Args:
        points: `[..., P, D]`.
        pairs: see `pairs_of`.
        what: the points, for messages: "keypoints of image 3".

    Raises:
        ValueError: there are fewer points than the pairs name.
    """
    if not pairs or points.size == 0:
        return points
    order, last = np.arange(points.shape[-2]), max(map(max, pairs))
    if last >= len(order):
        raise ValueError(
            f"transform_targets: expected at least {last + 1} points, as keypoint_pairs has, but {what} are "
            f"{len(order)}"
        )
    one, other = np.array(pairs).T
    order[one], order[other] = other, one
    return points[..., order, :]


def mirrors(forward: Array, size: Sequence[int]) -> bool:
    """Whether a matrix `[3, 3]` of pixels mirrors an image of (height, width) at its center."""
    weight = forward[2] @ [(size[1] - 1) / 2, (size[0] - 1) / 2, 1]
    return bool(np.linalg.det(forward) * weight < 0)  # false for NaN
