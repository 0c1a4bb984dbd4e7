"""DALI pipelines that run on demand, so that nothing is computed before the timer starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.contest import by_threads
from orbbec.bridge.arguments import Array


def dali_runner(
    graph: Callable[..., Any], inputs: Sequence[Sequence[Array]], device: str = "cpu"
) -> Callable[[], Tensor]:
    """Make a function that runs a graph on a batch.

    Args:
        graph: takes a DALI node for each of `inputs`, and `device`; returns the node of the result.
        inputs: lists with one array per image, read without a copy. The first has the images, which are on
            the device; the others are arguments, which are on the host.
        device: "cpu" or "cuda".

    Returns:
        A function that runs the pipeline once and returns the batch as one tensor, overwritten by the next
        run.
    """
    from nvidia.dali import fn, pipeline_def

    on = "gpu" if device == "cuda" else "cpu"

    def build(threads: int) -> Callable[[], Tensor]:
        @pipeline_def(
            batch_size=len(inputs[0]),
            num_threads=threads,
            device_id=0 if device == "cuda" else None,
            exec_pipelined=False,
            exec_async=False,
            prefetch_queue_depth=1,
        )
        def pipeline() -> Any:
            read = partial(fn.external_source, batch=True, no_copy=True)
            images = read(source=_always(inputs[0], device), device=on)
            return graph(images, *(read(source=_always(own, "cpu")) for own in inputs[1:]), device=on)

        built = pipeline()
        built.build()

        def run() -> Tensor:
            (batch,) = built.run()
            return torch.from_dlpack(batch.as_tensor())

        return run

    return by_threads(build)


def _always(values: Sequence[Array], device: str) -> Callable[[], list[Any]]:
    arrays = [np.asarray(array) for array in values]
    batch = [torch.from_numpy(array).to(device) for array in arrays] if device == "cuda" else arrays
    return lambda: batch
