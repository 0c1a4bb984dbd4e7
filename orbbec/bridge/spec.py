"""`OpSpec`: what pipelines, targets and the profile need to know of an operator, declared in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from orbbec.bridge.arguments import Array

FLOATS = ("float16", "bfloat16", "float32")
BYTES_AND_FLOATS = ("uint8", *FLOATS)
EVERY_DTYPE = ("uint8", "uint16", *FLOATS)
_Call = TypeVar("_Call", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class OpSpec:
    """An operator that a pipeline can run as a pass.

    Args:
        call: the function. It takes images, then the columns of its parameter table and its options by name,
            and `size` and `out` if it changes sizes.
        name: name in plans; by default that of `call`.
        dtypes: names of the supported dtypes of images.
        channels: supported numbers of channels; empty: any.
        identity: a column, and the value of it that leaves an image unchanged to the last bit; None: the
            operator runs only on the images that it changes.
        host_columns: columns that are read on the host, such as window sizes; a CUDA graph keeps their
            values.
        capturable: whether a CUDA graph can capture it.
        takes_ragged: whether it takes an `ImageBatch`; otherwise it runs on one image at a time.
        takes_sizes: whether uint8 results may have different sizes: `size` is None, `out` an `ImageBatch`.
        choice: an option that may be a tuple of values; column `which` has the index of each image's value.
        displacement: takes `size`, the columns and, if it draws noise, `sample_ids`, `seed`, `epoch` and
            `transform_index` by name, and returns `[N, 2, H, W]`: the distance (x, y) from each pixel to the
            position that it reads. The operator then takes `interpolation` and `fill`. None: pixels stay in
            place, or follow the matrix of the pass.
        pieces: takes `size` and the columns by name, for one image, and returns rectangles that together are
            the image, each moved as a whole: int64 `[K, 6]`: left, top, right, bottom, and the left and top
            that it moves to. The operator then has no options. None: as `displacement` says.
        region: takes columns, options, output sizes and image sizes `[N, 2]`, and a part of each image that
            is there anyway, or None. It returns the part that the operator reads, int64 `[N, 4]`: left, top,
            right, bottom. The operator then takes column `boxes`, and gives the same pixels if only that part
            of the image is there. None: it reads whole images.
        covers: a column of the pixels that it covers, bool `[N, H, W]`, where the largest image of the batch
            has `[H, W]`. Masks have 0 there, points are invisible, and boxes lose them.
    """

    call: Callable[..., Any]
    name: str = ""
    dtypes: tuple[str, ...] = BYTES_AND_FLOATS
    channels: tuple[int, ...] = ()
    identity: tuple[str, float] | None = None
    host_columns: tuple[str, ...] = ()
    capturable: bool = True
    takes_ragged: bool = True
    takes_sizes: bool = False
    choice: str = ""
    displacement: Callable[..., Any] | None = None
    pieces: Callable[..., Any] | None = None
    region: Callable[..., Array] | None = None
    covers: str = ""
    parameters: frozenset[str] = field(init=False, repr=False)  # names of all arguments of `call`

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.call.__name__)
        object.__setattr__(self, "parameters", frozenset(signature(self.call).parameters))

    @property
    def moves_pixels(self) -> bool:
        """Whether it moves pixels by another rule than the matrix of the pass."""
        return self.displacement is not None or self.pieces is not None

    def with_identities(self, table: Mapping[str, Array], drawn: Array) -> Mapping[str, Array]:
        """The table with the identity value for images that are not `drawn`, if the operator has one."""
        if self.identity is None or drawn.all() or self.identity[0] not in table:
            return table
        column, value = self.identity
        numbers = table[column]
        mask = drawn.reshape(-1, *(1,) * (numbers.ndim - 1))
        return {**table, column: np.where(mask, numbers, np.array(value, numbers.dtype))}


class Tiles(NamedTuple):
    """The position of each image in outputs composed of several: K tiles per output, row by row.

    Args:
        pair_indices: int64 `[N * K]`: index of each tile's image.
        boxes: int64 `[N * K, 4]`: left, top, right, bottom of its visible part, in the output.
        offsets: int64 `[N * K, 2]`: position (x, y) of its pixel (0, 0) in the output.
    """

    pair_indices: Array
    boxes: Array
    offsets: Array


@dataclass(frozen=True, kw_only=True)
class MixSpec(OpSpec):
    """An operator that mixes images of a batch; its table has a column `pair_indices`.

    Args:
        reads: number of images that each output pixel reads.
        fused_dtypes: dtypes for which the preceding pass can mix images as it writes them.
        fused_rows: takes columns and sizes, and returns the argument `mix` of `augment`: float32 `[N, 7]`.
        tiles: takes columns, image sizes and output sizes; None: labels are mixed with column `weights`.
    """

    reads: int = 1
    fused_dtypes: tuple[str, ...] = ()
    fused_rows: Callable[[Mapping[str, Array], Array], Array] | None = None
    tiles: Callable[[Mapping[str, Array], Array, Array], Tiles] | None = None


OPERATORS: dict[str, OpSpec] = {}
MIXES: dict[str, MixSpec] = {}


def register(*specs: OpSpec) -> None:
    """Make operators available to pipelines by name."""
    for spec in specs:
        if isinstance(spec, MixSpec):
            MIXES[spec.name] = spec
        else:
            OPERATORS[spec.name] = spec


def composite(
    name: str,
    dtypes: tuple[str, ...] = BYTES_AND_FLOATS,
    *,
    channels: tuple[int, ...] = (),
    host_columns: tuple[str, ...] = (),
    displacement: Callable[..., Any] | None = None,
    pieces: Callable[..., Any] | None = None,
) -> Callable[[_Call], _Call]:
    """Register a function that is made of other operators, for images of one size; see `OpSpec`.

    A CUDA graph captures it if it reads no column on the host.
    """

    def registration(call: _Call) -> _Call:
        spec = OpSpec(
            call=call,
            name=name,
            dtypes=dtypes,
            channels=channels,
            host_columns=host_columns,
            capturable=not host_columns,
            takes_ragged=False,
            displacement=displacement,
            pieces=pieces,
        )
        register(spec)
        return call

    return registration
