"""Batches of images that keep the dtype and channels of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from orbbec.data.loader.entries import Bad, Opened
from orbbec.data.loader.memory import Job
from orbbec.data.sample import BadSample


def alike(
    groups: Sequence[list[Opened | Bad]], bad: Callable[[int, BadSample], Bad]
) -> list[list[Opened | Bad]]:
    """The images with the dtype and channels of the first of their name; `bad` records the others."""
    firsts: dict[str, Opened] = {}
    return [[_like(entry, firsts, bad) for entry in group] for group in groups]


def _like(
    entry: Opened | Bad, firsts: dict[str, Opened], bad: Callable[[int, BadSample], Bad]
) -> Opened | Bad:
    if isinstance(entry, Bad):
        return entry
    first = firsts.setdefault(getattr(entry.sample, "name", ""), entry)
    if kind_of(entry) == kind_of(first):
        return entry
    (channels, dtype), (count, other), sample = kind_of(first), kind_of(entry), entry.sample
    reason = (
        f"expected pixels {dtype} [H, W, {channels}], as sample {first.sample.sample_id} of its batch, "
        f"but got {other} [H, W, {count}]"
    )
    return bad(entry.position, BadSample(sample.sample_id, sample.path or "its image", reason))


def kind_of(entry: Opened) -> tuple[int, str]:
    """The channels and the dtype of a decoded image."""
    assert entry.pixels is not None
    return entry.pixels.shape[2], entry.pixels.dtype.name


def tensors_of(opened: Sequence[Opened], job: Job, pin_memory: bool) -> list[Tensor]:
    """Decoded images as tensors `[C, H, W]`."""
    every = [entry.pixels for entry in opened if entry.pixels is not None]
    job.take(sum(pixels.nbytes for pixels in every))
    tensors = [torch.from_numpy(np.require(pixels, requirements="W")).permute(2, 0, 1) for pixels in every]
    return [tensor.pin_memory() for tensor in tensors] if pin_memory else tensors
