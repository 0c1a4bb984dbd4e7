"""Seeds from the generators of torch."""

from __future__ import annotations

import threading

import torch

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
