"""Pipelines with a single pass that only moves pixels: one operator draws the parameters and augments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from orbbec.augment.augment import scale_and_maximum
from orbbec.bridge.arguments import Array, is_channels_last
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.bridge.dispatch import is_plain
from orbbec.plan.passes import AugmentPass


@dataclass(frozen=True, eq=False)
class DrawnPass:
    """What all batches of the pipeline have in common.

    Args:
        program: float64 `[K, 10]`, see `draw_coordinates`.
        size: (height, width) of all results in pixels.
        dtype: dtype of the results.
        channels_last: memory layout of the results; None: that of the images.
        options: the other arguments of the operator.
    """

    program: Tensor
    size: tuple[int, int]
    dtype: torch.dtype
    channels_last: bool | None
    options: tuple[Any, ...]

    @classmethod
    def of(cls, step: AugmentPass, program: Tensor, dtype: torch.dtype, size: tuple[int, int]) -> DrawnPass:
        """Replaces every pass of the pipeline for images of one dtype."""
        result = getattr(torch, step.dtype)
        scale, _ = scale_and_maximum(dtype, result)
        options = (
            step.regions is not None,
            step.mean or (),
            step.std or (),
            scale,
            step.interpolation,
            step.border,
            step.fill,
        )
        return cls(program, size, result, step.channels_last, options)

    @property
    def makes_floats(self) -> bool:
        return self.dtype is not torch.uint8

    def serves(self, images: Tensor) -> bool:
        """Whether `[N, C, H, W]` is on the CPU, not empty, and needs no gradient."""
        return images.is_cpu and images.size(0) > 0 and is_plain(images)

    def run(self, images: Tensor, sample_ids: Array | None, seed: int, epoch: int) -> Tensor:
        """Draw and augment.

        Args:
            images: `[N, C, H, W]` for which `serves` is true.
            sample_ids: int64 `[N]`; None: 0 to N - 1.
            seed: see `Stream`.
            epoch: see `Stream`.

        Raises:
            ValueError: an image is too small for a crop.
        """
        last = is_channels_last(images, None) if self.channels_last is None else self.channels_last
        output = output_buffer((images.size(0), images.size(1), *self.size), self.dtype, last)
        ids = None if sample_ids is None else torch.from_numpy(sample_ids)
        _augment_drawn(images, ids, self.program, seed, epoch, *self.options, output)
        return output


_augment_drawn = torch.ops.orbbec.augment_drawn.default
