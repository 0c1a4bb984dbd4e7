"""What determines the draws of a batch: its seed, sample ids and epoch, and the sizes of its images."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import torch

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import shown

LARGEST_SEED = 2**63 - 1


class _Scratch(threading.local):
    """An int64 tensor and its memory, one per thread: creating them takes longer than drawing a number."""

    def __init__(self) -> None:
        with torch.inference_mode(False):
            self.tensor = torch.empty((), dtype=torch.int64, device="cpu")
        self.memory: memoryview[int] = memoryview(self.tensor.numpy())  # type: ignore[arg-type]


_SCRATCH = _Scratch()


def new_seed(generator: torch.Generator | None = None) -> int:
    """A seed from a CPU generator; None: torch's default."""
    scratch = _SCRATCH
    if generator is None:
        scratch.tensor.random_()
    else:
        _check_generator(generator)
        scratch.tensor.random_(generator=generator)
    return scratch.memory[()]


def _check_generator(generator: object) -> None:
    if not isinstance(generator, torch.Generator):
        raise TypeError(f"Compose: expected generator as a torch.Generator, but got {shown(generator)}")
    if generator.device.type != "cpu":
        raise ValueError(f"Compose: expected a generator of the CPU, but got one of {generator.device}")


class Key(NamedTuple):
    """Determines the draws of a batch."""

    seed: int
    sample_ids: Array  # int64 [N]
    epoch: int
    frames: int = 1  # of each clip, which follow one another and have its id

    def of_clips(self, frames: int) -> Key:
        """The key of the frames of clips."""
        if frames == 1:
            return self
        return self._replace(sample_ids=np.repeat(self.sample_ids, frames), frames=max(frames, 1))


def sizes_of(sizes: Any) -> Array:
    """Sizes as an int64 array `[N, 2]`; refuses anything but whole numbers."""
    table = sizes.detach().cpu().numpy() if isinstance(sizes, torch.Tensor) else np.asarray(sizes)
    if table.size == 0:
        table = table.reshape(0, 2)
    if table.ndim != 2 or table.shape[1] != 2 or (table.size and table.dtype.kind not in "iu"):
        raise ValueError(
            f"Compose: expected sizes as whole numbers [N, 2], but got {table.dtype} {list(table.shape)}"
        )
    return np.array(table, np.int64, order="C")


def check_pixels(sizes: Array) -> None:
    """Refuse images without pixels."""
    if sizes.size and sizes.min() < 1:
        index = int((sizes < 1).any(1).argmax())
        raise ValueError(
            f"Compose: expected images with pixels, but image {index} is of size {sizes[index].tolist()}"
        )


def ids_of(sample_ids: Any, count: int) -> Array:
    """Sample ids as an int64 array `[count]`; None: 0 to count - 1."""
    if sample_ids is None:
        return np.arange(count)
    ids = (
        sample_ids.detach().cpu().numpy() if isinstance(sample_ids, torch.Tensor) else np.asarray(sample_ids)
    )
    if ids.shape != (count,) or (count and ids.dtype.kind not in "iu"):
        raise ValueError(
            f"Compose: expected sample_ids as whole numbers [{count}], but got {ids.dtype} {list(ids.shape)}"
        )
    if ids.dtype == np.uint64 and count and ids.max() > LARGEST_SEED:
        raise ValueError(f"Compose: expected sample_ids up to 2^63 - 1, but got {ids.tolist()!r:.80}")
    return ids.astype(np.int64)
