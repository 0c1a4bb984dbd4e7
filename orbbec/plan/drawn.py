"""Pipelines of one pass that only moves pixels: one operator draws and augments."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orbbec.augment.augment import scale_and_white
from orbbec.binding.arguments import Array, is_channels_last
from orbbec.binding.dispatch import is_plain
from orbbec.binding.recycle import output_for
from orbbec.plan.passes import AugmentPass


@dataclass(frozen=True, eq=False)
class DrawnPass:
    """What every batch of the pipeline has in common.

    Args:
        program: float64 `[K, 10]`, as `draw_coordinates` reads it.
        step: any pass of the pipeline, for its options.
        size: (height, width) of all results in pixels.
    """

    program: Tensor
    step: AugmentPass
    size: tuple[int, int]

    @property
    def makes_floats(self) -> bool:
        return self.step.dtype != "uint8"

    def serves(self, images: Tensor) -> bool:
        """Whether `[N, C, H, W]` are at least 1 image on the CPU that asks for no gradient."""
        return images.is_cpu and images.shape[0] > 0 and is_plain(images)

    def run(self, images: Tensor, sample_ids: Array, seed: int, epoch: int) -> Tensor:
        """Draw and augment.

        Args:
            images: `[N, C, H, W]`, which it serves.
            sample_ids: int64 `[N]`.
            seed: as that of `Stream`.
            epoch: as that of `Stream`.

        Raises:
            ValueError: an image is too small for a crop.
        """
        step, dtype = self.step, getattr(torch, self.step.dtype)
        last = is_channels_last(images, None) if step.channels_last is None else step.channels_last
        output = output_for((*images.shape[:2], *self.size), dtype, last, images)
        torch.ops.orbbec.augment_drawn.default(
            images,
            torch.from_numpy(sample_ids),
            self.program,
            seed,
            epoch,
            step.regions is not None,
            step.mean or (),
            step.std or (),
            scale_and_white(images.dtype, dtype)[0],
            step.interpolation,
            step.border,
            step.fill,
            output,
        )
        return output
