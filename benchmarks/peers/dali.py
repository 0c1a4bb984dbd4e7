"""DALI pipelines that run when they are asked: nothing is computed ahead of a timer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.contest import by_threads
from orbbec.bridge.arguments import Array


def dali_runner(
    graph: Callable[..., Any], inputs: Sequence[Sequence[Array]], device: str = "cpu"
) -> Callable[[], Tensor]:
    """Runs a graph on a batch.

    Args:
        graph: takes a DALI node for each of `inputs`, and `device`; gives the node of the result.
        inputs: each an array for each image. They are read where they lie.
        device: "cpu", or "cuda" for what the graph does after the inputs.

    Returns:
        What runs the pipeline once and gives the batch as one tensor, which the next run overwrites.
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
            nodes = [fn.external_source(source=_always(given), batch=True, no_copy=True) for given in inputs]
            return graph(*nodes, device=on)

        built = pipeline()
        built.build()

        def run() -> Tensor:
            (batch,) = built.run()
            return torch.from_dlpack(batch.as_tensor())

        return run

    return by_threads(build)


def _always(given: Sequence[Array]) -> Callable[[], list[Array]]:
    arrays = [np.asarray(array) for array in given]
    return lambda: arrays
