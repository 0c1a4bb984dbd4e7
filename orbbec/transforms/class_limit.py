"""Crops in which no class of a mask prevails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.bridge.arguments import Array, as_tensor
from orbbec.plan.points import shifts
from orbbec.plan.steps import same_rows
from orbbec.transforms.targets.masks import Mask, moved_masks
from orbbec.transforms.targets.motion import Motion

CLASS_TRIES = 10


@dataclass(frozen=True)
class ClassLimit:
    """A bound of the part of a crop that one class may have.

    Args:
        name: name of the transform, for messages.
        ratio: the bound, of the pixels that count.
        ignore_index: the class of pixels that do not count, as those outside the image.

    Source:
        mmsegmentation's `RandomCrop`.
    """

    name: str
    ratio: float
    ignore_index: int

    def masks_of(self, targets: Sequence[Any]) -> list[Tensor]:
        """The masks of classes, int64 on the CPU.

        Raises:
            TypeError: a mask does not have whole numbers.
            ValueError: a target has no mask.
        """
        masks = []
        for n, target in enumerate(targets):
            if "mask" not in target:
                raise ValueError(
                    f"{self.name}: expected mask in the target of image {n}, as max_class_ratio needs, "
                    "but got none"
                )
            mask = as_tensor(self.name, "mask", target["mask"])
            if mask.is_floating_point():
                raise TypeError(
                    f"{self.name}: expected mask of whole numbers, but image {n} has {mask.dtype}"
                )
            masks.append(mask.cpu().long())
        return masks

    def chosen(
        self,
        corners: Sequence[Array],
        masks: Sequence[Tensor],
        matrix: Array,
        size: tuple[int, int],
        border: str,
    ) -> Array:
        """The first corner of each image whose crop is within the bound, otherwise the last one.

        Args:
            corners: rows and columns of the crops, int64 `[N, 2]` each.
            masks: those of the images.
            matrix: from pixels to those of the masks, float64 `[N, 3, 3]`.
            size: (height, width) of the crops.
            border: of the crops.
        """
        result, rest = corners[0].copy(), np.arange(len(masks))
        for others in corners[1:]:
            reads = matrix[rest] @ shifts(result[rest, 1], result[rest, 0], len(rest))
            parts = [Mask(k, masks[n]) for k, n in enumerate(rest.tolist())]
            crops = moved_masks(Motion(reads, same_rows(size, len(rest)), border), parts, self.ignore_index)
            rest = rest[[not self._is_within(crop.numpy()) for crop in crops]]
            if len(rest) == 0:
                break
            result[rest] = others[rest]
        return result

    def _is_within(self, classes: Array) -> bool:
        counts = np.unique(classes[classes != self.ignore_index], return_counts=True)[1]
        return len(counts) > 1 and bool(counts.max() < self.ratio * counts.sum())
