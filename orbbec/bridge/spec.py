"""What pipelines, targets and the profile know of an operator: each declares it once, in its own folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from orbbec.bridge.arguments import Array

FLOATS = ("float16", "bfloat16", "float32")
BYTES_AND_FLOATS = ("uint8", *FLOATS)
EVERY_DTYPE = ("uint8", "uint16", *FLOATS)


@dataclass(frozen=True, kw_only=True)
class OpSpec:
    """An operator that a pipeline can run as a pass.

    Args:
        call: takes images, then the columns of its parameter table and its options by name. An operator that
            gives other sizes takes `size` and `out` too.
        name: in plans; by default that of `call`.
        dtypes: of images that it takes, by name.
        channels: counts of channels that it takes; empty: any.
        identity: a column, and its value for images that keep their bytes to the last bit; None: the operator
            runs for the images alone that it changes.
        host_columns: columns that are read on the host, such as sizes of windows; a CUDA graph holds them.
        capturable: whether a CUDA graph can hold it.
        takes_ragged: whether it takes an `ImageBatch`; else it runs for one image after the other.
        choice: the option that may be a tuple of values, of which column `which` has an index per image.
        displacement: takes sample ids `[N]`, a size, the columns, seed, epoch and transform index, and gives
            `[N, 2, H, W]`: how far from its own position each pixel reads, x then y. None: pixels stay in
            place, or move along the matrix of the pass. With it the operator takes `interpolation` and
            `fill`.
        region: takes columns, options, and sizes of outputs and images, `[N, 2]`, and gives what it reads of
            each image, int64 `[N, 4]`: left, top, right, bottom. The operator then reads column `boxes`, and
            gives the same pixels for a part of the image. None: it reads whole images.
    """

    call: Callable[..., Any]
    name: str = ""
    dtypes: tuple[str, ...] = BYTES_AND_FLOATS
    channels: tuple[int, ...] = ()
    identity: tuple[str, float] | None = None
    host_columns: tuple[str, ...] = ()
    capturable: bool = True
    takes_ragged: bool = True
    choice: str = ""
    displacement: Callable[..., Any] | None = None
    region: Callable[[Mapping[str, Array], Mapping[str, Any], Array, Array], Array] | None = None
    parameters: frozenset[str] = field(init=False, repr=False)  # the names of all arguments

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.call.__name__)
        object.__setattr__(self, "parameters", frozenset(signature(self.call).parameters))

    def with_identities(self, table: Mapping[str, Array], drawn: Array) -> Mapping[str, Array]:
        """The table by which images that are not `drawn` keep their bytes, if the operator has one."""
        if self.identity is None or drawn.all():
            return table
        column, value = self.identity
        numbers = table[column]
        mask = drawn.reshape(-1, *(1,) * (numbers.ndim - 1))
        return {**table, column: np.where(mask, numbers, np.array(value, numbers.dtype))}


class Tiles(NamedTuple):
    """Where images lie in outputs that are laid out from several: K tiles per output, row by row.

    Args:
        pair_indices: int64 `[N * K]`: the index of each image.
        boxes: int64 `[N * K, 4]`: left, top, right, bottom of what is seen of it, in the output.
        offsets: int64 `[N * K, 2]`: where its pixel (0, 0) lies in the output, (x, y).
    """

    pair_indices: Array
    boxes: Array
    offsets: Array


@dataclass(frozen=True, kw_only=True)
class MixSpec(OpSpec):
    """An operator that mixes images of a batch. Its table has a column `pair_indices`.

    Args:
        reads: how many images each output pixel reads.
        fused_dtypes: of images that the pass before can mix as it writes them.
        fused_rows: takes columns and sizes, and gives float32 `[N, 7]`, as `augment` takes `mix`.
        tiles: takes columns, and sizes of images and outputs; None: labels are mixed by column `weights`.
    """

    reads: int = 1
    fused_dtypes: tuple[str, ...] = ()
    fused_rows: Callable[[Mapping[str, Array], Array], Array] | None = None
    tiles: Callable[[Mapping[str, Array], Array, Array], Tiles] | None = None


OPERATORS: dict[str, OpSpec] = {}
MIXES: dict[str, MixSpec] = {}


def register(*specs: OpSpec) -> None:
    """Make operators known to pipelines, by name."""
    for spec in specs:
        if isinstance(spec, MixSpec):
            MIXES[spec.name] = spec
        else:
            OPERATORS[spec.name] = spec
