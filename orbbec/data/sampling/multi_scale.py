"""A size per batch, the same for all of its images and all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from orbbec.noise.philox import philox_draws
from orbbec.transforms import Compose
from orbbec.transforms.base.checks import entries, whole

_POSITION = 32768  # stream position beyond any transform


class MultiScale:
    """A pipeline for each of several sizes, of which a `Loader` draws one per batch: multi-scale training.

    The draw is a function of (seed, epoch, number of the batch in the epoch): all ranks have the same size in
    a step, and a resumed epoch continues with the sizes that would have followed.

    Args:
        make: gives the pipeline of a size, with the same transforms for each.
        sizes: the sizes; what is listed twice is drawn twice as often.
        seed: from 0 to 2^63 - 1.
        every: number of batches of an epoch that share a draw.

    Raises:
        TypeError: `make` does not give a `Compose`.
        ValueError: there is no size, or the pipelines have different transforms.

    Example:
        >>> from orbbec.transforms import Resize
        >>> scales = MultiScale(lambda size: Compose([Resize((size, size))]), range(320, 641, 32), seed=1)
        >>> [scales.pipeline(epoch=0, step=step).transforms[0].size for step in range(3)]
        [(544, 544), (448, 448), (544, 544)]
    """

    def __init__(
        self, make: Callable[[Any], Compose], sizes: Iterable[Any], seed: int = 0, every: int = 1
    ) -> None:
        self.pipelines = [make(size) for size in entries("MultiScale", "sizes", tuple(sizes))]
        self.seed = whole("MultiScale", "seed", seed, 0, 2**63 - 1)
        self.every = whole("MultiScale", "every", every, 1)
        for pipeline in self.pipelines:
            if not isinstance(pipeline, Compose):
                raise TypeError(
                    f"MultiScale: expected a Compose for each size, but got {type(pipeline).__name__}"
                )
        kinds = {tuple(map(type, pipeline.transforms)) for pipeline in self.pipelines}
        if len(kinds) > 1:
            raise ValueError("MultiScale: expected the same transforms for each size, but got others")

    def number(self, epoch: int, step: int) -> int:
        """The number of the pipeline of the batch that is number `step` of an epoch."""
        draw = philox_draws(
            [step // self.every],
            1,
            kind="below",
            below=len(self.pipelines),
            seed=self.seed,
            epoch=epoch,
            transform_index=_POSITION,
        )
        return int(draw)

    def pipeline(self, epoch: int, step: int) -> Compose:
        """The pipeline of a batch; see `number`."""
        return self.pipelines[self.number(epoch, step)]
