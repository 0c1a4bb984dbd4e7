"""Offline processing on many machines: a Loader's pipeline on Ray Data.

::

    indices --> blocks --> workers: read, plan, decode, augment --> rows of a ray.data.Dataset
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.data.decode.decoding import Decoding
from orbbec.data.epochs import with_epochs
from orbbec.data.loader.assemble import ON_ERROR, Assembler
from orbbec.data.loader.memory import lone_job
from orbbec.plan import Plan
from orbbec.transforms import Compose, Transform
from orbbec.transforms.base.checks import choice, whole
from orbbec.transforms.base.optional import optional

_BATCHES = 8  # batches per block


def ray_dataset(
    source: Any,
    transforms: Compose | Sequence[Transform] | None = None,
    *,
    batch_size: int = 32,
    workers: int | None = None,
    epoch: int = 0,
    seed: int = 0,
    on_error: str = "raise",
    decoding: Decoding | None = None,
) -> Any:
    """Read, decode and augment a source on the workers of a Ray cluster.

    A row has the same bytes as a `Loader`'s result for its sample id, for any blocks and workers. Work begins
    when rows are requested: `write_parquet`, `iter_batches`, `take_all`.

    Args:
        source: samples by index; it is sent to the workers, which must be able to open its files.
        transforms: a `Compose`, or transforms in order, with `seed`; none may mix images of a batch.
        batch_size: images that a worker processes at a time.
        workers: number of workers, each with its own CPU. Leave at least one CPU free for later stages. None:
            Ray chooses a number from 1.
        epoch: epoch of the draws.
        seed: seed of transforms that are not a `Compose`.
        on_error: "raise", "skip" or "substitute", see `Loader`; workers warn of skipped and replaced samples.
        decoding: how images are decoded; `planes` and `device` are not supported.

    Returns:
        A `ray.data.Dataset` in the order of the source: "sample_id", "image" (`[C, H, W]`; without transforms
        `[H, W, C]`), and a column for each target name, None for samples without that target.

    Raises:
        ImportError: Ray is not installed.
        ValueError: an argument is not supported.
    """
    choice("ray_dataset", "on_error", on_error, ON_ERROR)
    batch_size = whole("ray_dataset", "batch_size", batch_size, 1)
    decoding = decoding or Decoding()
    for option in ("planes", "device"):
        value = getattr(decoding, option)
        if value != getattr(Decoding(), option):
            raise ValueError(f"ray_dataset: expected a Decoding on the host, but got {option}={value!r}")
    if transforms is not None and not isinstance(transforms, Compose):
        transforms = Compose(transforms, seed)
    data = optional("ray_dataset", "ray.data", "'ray[data]'", "ray")
    indices, block = np.arange(len(source)), batch_size * _BATCHES
    pool = {"min_size": 1} if workers is None else {"size": whole("ray_dataset", "workers", workers, 1)}
    blocks = data.from_numpy([indices[at : at + block] for at in range(0, len(indices), block)])
    blocks.context.execution_options.preserve_order = True
    return blocks.map_batches(
        _Worker,
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(**pool),
        fn_constructor_args=(source, transforms, decoding, on_error, epoch),
    )


class _Worker:
    """Converts indices to rows in a Ray process."""

    def __init__(
        self, source: Any, transforms: Compose | None, decoding: Decoding, on_error: str, epoch: int
    ) -> None:
        self._assembler = Assembler(source, transforms, decoding, on_error, pin_memory=False)
        self._epoch = epoch
        for part in with_epochs(source):
            part.set_epoch(epoch)

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        known = len(self._assembler.faults)
        batch = self._assembler(rows["data"].tolist(), self._epoch, lone_job())
        for fault in self._assembler.faults[known:]:
            warnings.warn(f"ray_dataset: {fault}", stacklevel=1)
        images = batch.images
        plan, compose = batch.plan, self._assembler.transforms
        if isinstance(plan, dict):
            raise ValueError("ray_dataset: expected samples of one image, but got several")
        if isinstance(plan, Plan) and isinstance(compose, Compose):
            if plan.mixes:
                raise ValueError("ray_dataset: expected transforms of single images, but got one that mixes")
            images = compose.apply(plan, images)
        columns: dict[str, Any] = {"sample_id": batch.sample_ids.numpy()}
        if len(batch.sample_ids):
            columns["image"] = images.numpy()
        return {**_target_columns(batch.targets), **columns}


def _target_columns(targets: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for target in targets for name in target)
    taken = {"sample_id", "image"} & names.keys()
    if taken:
        raise ValueError(f"ray_dataset: expected target names other than {sorted(taken)}")
    return {name: [_plain(target.get(name)) for target in targets] for name in names}


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, Tensor) else value
