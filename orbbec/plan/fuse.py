"""Fuses the steps of a pipeline into as few passes as possible.

The order within an augment pass is fixed: warp, colors, rectangles, normalize, mix, cast. A step that must
run before something that the pass already does begins a new pass, unless the result is the same. What a step
may do is known before parameters are drawn, so the passes depend neither on the draws nor on the batch.
Values are rounded to their dtype between passes, so this gives a sample the same bytes in every batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from orbbec.augment.codes import COLOR_WIDTH, ERASE_WIDTH
from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import FLOATS
from orbbec.plan.passes import AugmentPass, MixPass, Pass
from orbbec.plan.state import BatchState, identities, joined

MAXIMUM = {"uint8": 255.0, "uint16": 65535.0}  # 1 of floats


class Step:
    """A change to a batch, with one row of parameters per image; subclasses are frozen dataclasses."""

    is_alone = False  # a pass of its own

    def only(self, chosen: Array, state: BatchState) -> Step:
        """The step applied to the chosen images only."""
        raise NotImplementedError

    def after(self, state: BatchState) -> BatchState:
        """The state of the batch after the step."""
        return state

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        """Add the step to the passes of a pipeline.

        Args:
            fusion: the passes so far.
            name: name of the transform.
            transform_index: index of the transform in the pipeline.

        Raises:
            ValueError: the step does not support the images at this point.
        """
        raise NotImplementedError


@dataclass
class OpenPass:
    """The augment pass to which steps are being added."""

    matrix: Array
    sizes: Array
    unit: float  # the pipeline's maximum value at the start of the pass, in the units of its input
    maximum: float  # maximum value of the pass's input: 255 for bytes, 1 for floats
    dtype: str  # of its input
    why: str = ""
    interpolation: str | None = None  # None: all positions are whole pixels
    border: str | None = None
    fill: tuple[float, ...] = (0.0,)
    offset: Array | None = None  # of the positions that nearest warps read
    colors: list[Array] = field(default_factory=list)
    contrasts: set[int] = field(default_factory=set)  # the transforms that have one, by index
    erase: list[Array] = field(default_factory=list)
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    channels_last: bool | None = None
    regions: Array | None = None
    flips: list[Array | None] = field(default_factory=list)  # of each warp
    warps: int = 0
    mixes: MixPass | None = None
    cuts: bool = False  # a later warp crops, but the source is not cut off
    holds: dict[str, None] = field(default_factory=dict)

    def is_idle(self, dtype: str) -> bool:
        """Whether the output, of `dtype`, equals the input: its transforms became operators before it."""
        return self.warps == 0 and self.moves_alone(dtype)

    def moves_alone(self, dtype: str) -> bool:
        """Whether the output, of `dtype`, consists of pixels of the input, moved at most."""
        changes = self.colors or self.erase or self.mean or self.mixes
        return not changes and self.channels_last is None and dtype == self.dtype

    def flips_alone(self, dtype: str) -> Array | None:
        """The images that the pass flips horizontally, if it does nothing else."""
        known = [flips for flips in self.flips if flips is not None]
        if not known or len(known) < self.warps or not self.moves_alone(dtype):
            return None
        return reduce(np.logical_xor, known)


class Fusion:
    """Collects the steps of a pipeline in order and makes passes of them.

    Args:
        sizes: int64 `[N, 2]`: sizes of the images.
        channels: number of channels of every image.
        dtype: name of the dtype of the pixels.
        exact: whether each transform is a separate pass, with the bytes of a step-by-step pipeline.
    """

    def __init__(self, sizes: Array, channels: int = 3, dtype: str = "uint8", exact: bool = False) -> None:
        self.state = BatchState(sizes, channels, MAXIMUM.get(dtype, 1.0), exact)
        self.dtype, self.exact = dtype, exact
        self.passes: list[Pass] = []
        self.moves: list[int] = []  # coordinate transforms of each pass
        self._idle: list[Pass] = []
        self.notes: list[str] = []
        self._matrices: list[Array] | None = []  # of all steps so far; None once images are mixed
        self.begin("")

    @property
    def matrix(self) -> Array | None:
        """The matrices from the current output to the images; None once they are mixed."""
        return (
            None if self._matrices is None else reduce(np.matmul, self._matrices, identities(len(self.state)))
        )

    def add(self, step: Step, name: str, transform_index: int = 0) -> None:
        """Add a step of the transform `name` at index `transform_index` of the pipeline."""
        step.fuse(self, name, transform_index)
        if not step.is_alone:
            self.open.holds[name] = None

    def end_transform(self, name: str) -> None:
        """Called after the last step of a transform."""
        if self.exact:
            self.split(f"exact=True rounds after {name}")

    def finish(self, as_planes: bool = False) -> tuple[Pass, ...]:
        """The passes; at least one if the pipeline does anything.

        With `as_planes`, the last one writes floats as planes. A pass that changes nothing is kept only at
        the end, where it makes a tensor of an ImageBatch of one size.
        """
        if as_planes and self.dtype in FLOATS and self.open.channels_last is None:
            self.open.channels_last = False
        self.close()
        last = len(self.passes) - 1
        kept = [n for n, step in enumerate(self.passes) if step not in self._idle or n == last]
        self.moves = [self.moves[n] for n in kept]
        return tuple(self.passes[n] for n in kept)

    def close(self) -> None:
        """Finish the open pass, if it has any step."""
        p, count = self.open, len(self.state)
        if not p.holds:
            return
        if not 1 <= self.state.channels <= 4:
            name = next(iter(p.holds))
            raise ValueError(f"{name}: expected images of 1 to 4 channels, but got {self.state.channels}")
        if self._flipped_before(p):
            return
        step = AugmentPass(
            matrix=p.matrix,
            sizes=p.sizes,
            colors=compact(joined(p.colors, count, COLOR_WIDTH, np.float32)),
            erase=joined(p.erase, count, ERASE_WIDTH, np.float32),
            regions=p.regions,
            reads_beyond=p.border is not None,
            contrast=bool(p.contrasts),
            mean=p.mean,
            std=p.std,
            dtype=self.dtype,
            channels_last=p.channels_last,
            interpolation=p.interpolation or "nearest",
            border=p.border or "replicate",
            fill=p.fill,
            mixes=p.mixes,
            why=p.why if self.passes else "",
            holds=tuple(p.holds),
            offset=p.offset if p.interpolation == "nearest" else None,
        )
        self.append(step, p.warps)
        if p.is_idle(self.dtype):
            self._idle.append(step)

    def _flipped_before(self, p: OpenPass) -> bool:
        """Let the preceding pass flip its results, if it can and this one would do nothing else."""
        flips = None if self.exact or not self.passes else p.flips_alone(self.dtype)
        flipped = None if flips is None else self.passes[-1].flipped(flips, p.matrix, tuple(p.holds))
        if flipped is None:
            return False
        self.passes[-1] = flipped
        self.moves[-1] += p.warps
        return True

    def append(self, step: Pass, warps: int) -> None:
        """Add a pass with `warps` coordinate transforms, after closing the open one."""
        self.passes.append(step)
        self.moves.append(warps)

    def begin(self, why: str) -> None:
        """Open an augment pass and note the reason."""
        maximum = MAXIMUM.get(self.dtype, 1.0)
        sizes = self.state.sizes
        self.open = OpenPass(identities(len(sizes)), sizes, self.state.maximum, maximum, self.dtype, why)

    def split(self, why: str) -> None:
        """Close the open pass and open another one."""
        self.close()
        self.begin(why)

    def mix_targets(self) -> None:
        """Note that outputs no longer come from a single image."""
        self._matrices = None

    def move(self, matrix: Array, sizes: Array, least: tuple[int, int]) -> None:
        if self._matrices is not None:
            self._matrices.append(matrix)
        self.state = self.state.of_sizes(sizes, least)

    def check_no_uint16(self, name: str) -> None:
        if self.dtype == "uint16":
            raise ValueError(
                f"{name}: expected images of uint8 or floats, but got uint16; "
                "put ToDtype(torch.float32, scale=True) before it"
            )

    def check_fill(self, fill: float | Sequence[float], name: str) -> None:
        count = len(fill) if isinstance(fill, (tuple, list)) else 1
        if count not in (1, self.state.channels):
            raise ValueError(f"{name}: expected 1 or {self.state.channels} numbers in fill, but got {count}")


def compact(rows: Array) -> Array:
    """The programs with empty steps moved to the end, cut to the length of the longest one."""
    empty = rows[:, :, 0] == 0
    if not empty.any():
        return rows
    longest = int((~empty).sum(1).max(initial=0))
    order = np.argsort(empty, axis=1, kind="stable")[:, :longest]
    return np.asarray(rows[np.arange(len(rows))[:, None], order])
