"""Crops of the upper or the lower half of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.points import carried, forward_of, numbers_of, shifts
from orbbec.plan.steps import BatchState, Step, Warp
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import at_least, checks, several, text
from orbbec.transforms.base.checks import FillValue, whole
from orbbec.transforms.base.transform import _Chance
from orbbec.transforms.cuts import padded


@dataclass(frozen=True)
class RandomHalfBody(_Chance):
    """Crop some images to the upper or the lower joints of their person.

    The crop is the bounding box of the visible joints of that half, larger by a factor. An image stays whole
    if it has too few visible joints; if only one half has enough, it is that half. Where the crop leaves the
    image, it is filled. Put a resize after it: crops vary in size.

    Args:
        upper: indices of the joints of the upper body in `keypoints`; by default those of COCO.
        lower: indices of the joints of the lower body.
        min_total_keypoints: smallest number of visible joints.
        min_upper_keypoints: smallest number of visible joints of an upper body.
        min_lower_keypoints: smallest number of visible joints of a lower body.
        padding: ratio of the crop's sides to those of the bounding box.
        upper_prob: probability of the upper body where both have enough joints.
        aspect_ratio: ratio of width to height to which the shorter side is extended; None: any.
        key: the target with the joints of one person, `[K, 2]`, or `[K, 3]` with visibilities above 0.
        fill: value outside the image, in pixel units: a number or one per channel.
        padding_mode: see `Pad`.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, joints have another shape.

    Source:
        mmpose's `RandomHalfBody`, as in RTMPose and ViTPose.

    Example:
        >>> person = torch.tensor([[20.0, 10]] * 5 + [[25, 20]] + [[30, 30]] * 5 + [[25, 70]] * 6)
        >>> crop = RandomHalfBody(padding=2, upper_prob=1.0, p=1.0)
        >>> image, target = crop(torch.zeros(3, 90, 60), {"keypoints": person})
        >>> image.shape, target["keypoints"][0].tolist()
        (torch.Size([3, 41, 21]), [5.0, 10.0])
    """

    upper: Sequence[int] = tuple(range(11))
    lower: Sequence[int] = tuple(range(11, 17))
    min_total_keypoints: int = 9
    min_upper_keypoints: int = 2
    min_lower_keypoints: int = 3
    padding: float = 1.5
    upper_prob: float = 0.7
    aspect_ratio: float | None = None
    key: str = "keypoints"
    fill: FillValue = 0.0
    padding_mode: str = "constant"
    p: float = 0.3

    needs_targets = crops_by_targets = True

    _checks = checks(
        upper=several(partial(whole, low=0)),
        lower=several(partial(whole, low=0)),
        min_total_keypoints=at_least(1),
        min_upper_keypoints=at_least(1),
        min_lower_keypoints=at_least(1),
        padding=at_least(1.0),
        upper_prob=(0.0, 1.0),
        aspect_ratio=at_least(1e-6),
        key=text,
    )

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        chosen, prefers_upper = stream.chance(self.p), stream.chance(self.upper_prob)
        boxes, forward = state.regions, forward_of(matrix)
        for n, target in enumerate(targets):
            joints = self._joints_of(target, n)
            half = self._half(self._visible(joints), bool(prefers_upper[n])) if chosen[n] else ()
            if len(half):
                boxes[n] = self._box(carried(forward[n], joints[half, :2]))
        sizes = np.stack([boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]], 1)
        return Warp(shifts(boxes[:, 0], boxes[:, 1], len(boxes)), sizes, lossless=True, **padded(self))

    def _joints_of(self, target: Any, index: int) -> Array:
        """The joints of an image, `[K, 2]` or `[K, 3]`; without a person, no visible ones."""
        least = 1 + max(*self.upper, *self.lower)
        joints = numbers_of(target.get(self.key, ()))
        if joints.size == 0:
            return np.zeros((least, 3))
        joints = joints[0] if joints.ndim == 3 and len(joints) == 1 else joints
        if joints.ndim != 2 or len(joints) < least or joints.shape[1] not in (2, 3):
            raise ValueError(
                f"{self.name}: expected {self.key} of one person of shape [{least}, 3], "
                f"but image {index} has {list(joints.shape)}"
            )
        return joints

    @staticmethod
    def _visible(joints: Array) -> Array:
        visible = np.isfinite(joints[:, :2]).all(1)
        return np.asarray(visible & (joints[:, 2] > 0) if joints.shape[1] == 3 else visible)

    def _half(self, visible: Array, prefers_upper: bool) -> list[int]:
        """The joints of the half that is cropped; none: the image stays whole."""
        upper, lower = ([joint for joint in half if visible[joint]] for half in (self.upper, self.lower))
        has_upper, has_lower = len(upper) >= self.min_upper_keypoints, len(lower) >= self.min_lower_keypoints
        if visible.sum() < self.min_total_keypoints or not (has_upper or has_lower):
            return []
        return upper if has_upper and (prefers_upper or not has_lower) else lower

    def _box(self, joints: Array) -> Array:
        """Left, top, right and bottom of the pixels around joints `[K, 2]`."""
        middle, (width, height) = joints.mean(0), (joints.max(0) - joints.min(0)) * self.padding
        if self.aspect_ratio is not None:
            width, height = max(width, height * self.aspect_ratio), max(height, width / self.aspect_ratio)
        half = np.array([width, height]) / 2
        ends = np.concatenate([np.rint(middle - half), np.rint(middle + half) + 1])
        return np.asarray(ends.clip(-(2.0**30), 2.0**30).astype(np.int64))
