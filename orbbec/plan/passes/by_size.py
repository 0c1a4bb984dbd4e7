"""Runs a pass over variable-size images in as few calls as possible."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array, is_ragged
from orbbec.plan.batches import Work, device_of, merged, one_by_one, rows_of
from orbbec.plan.passes.base import Pass

# Takes images, their rows (None: all), the common size of their results (None: they differ), and an output
# buffer or None.
Run: TypeAlias = Callable[[Work, Array | None, tuple[int, int] | None, Any], Any]


def single_size(work: Work, step: Pass) -> tuple[int, int] | None:
    """The common size of the results if the images are in one buffer; None if there is none."""
    return None if isinstance(work, list) else step.size


def run_by_size(work: Work, step: Pass, sizes: Array, run: Run, out: Any, takes_sizes: bool) -> Work:
    """The results of a pass, in `out` if it fits.

    One call if they have one size, or with `takes_sizes` if they are uint8 and the images in one buffer.
    Otherwise uint8 takes one call per image and gives an ImageBatch; other dtypes take one call per size.
    """
    size, is_byte = single_size(work, step), step.dtype == "uint8"
    if size is not None:
        return run(work, None, size, out)
    if len(sizes) == 0 and not (is_ragged(work) and is_byte):
        return work if isinstance(work, list) else run(work, None, _no_size(work), None)
    if step.size is None and is_byte:
        results = results_of(work, step.sizes) if out is None else out
        if takes_sizes and not isinstance(work, list):
            return run(work, None, None, results)
        return _written_in_place(work, results, run)
    keys = np.concatenate([step.sizes, sizes], 1) if isinstance(work, list) else step.sizes
    groups, group = np.unique(keys, axis=0, return_inverse=True)
    images: list[Tensor] = [torch.empty(0, dtype=torch.uint8, device="cpu")] * len(sizes)
    for number, (height, width) in enumerate(groups[:, :2].tolist()):
        rows = np.flatnonzero(group.reshape(-1) == number)
        for row, image in zip(
            rows.tolist(), run(rows_of(work, rows), rows, (height, width), None), strict=True
        ):
            images[row] = image
    return merged(images)


def _no_size(work: Work) -> tuple[int, int]:
    """The size of the results of no images."""
    return (int(work.shape[2]), int(work.shape[3])) if isinstance(work, Tensor) else (1, 1)


def results_of(work: Work, sizes: Array) -> ImageBatch:
    """A batch for results of these sizes, with the channels of the images, on their device."""
    first = work[0] if isinstance(work, list) else work
    channels, device = first.shape[-3] if isinstance(first, Tensor) else first.channels, device_of(work)
    empty = None if device.type == "cpu" else partial(torch.empty, dtype=torch.uint8, device=device)
    return ImageBatch.of_sizes(sizes.tolist(), channels, empty=empty)


def _written_in_place(work: Work, results: ImageBatch, run: Run) -> ImageBatch:
    targets = [image.permute(2, 0, 1)[None] for image in results.images()]
    for row, (image, target) in enumerate(zip(one_by_one(work), targets, strict=True)):
        height, width = target.shape[2:]
        run(image, np.array([row]), (height, width), target)
    return results
