"""From the steps of a chain to as few passes as can be.

The order within an augment pass is fixed: map, colours, rectangles, normalise, mix, cast. A step that stands
before what the pass has already begins a new one, unless it gives the same there. What a step may do
is known before anything is drawn, so the passes of a chain do not depend on the draws, nor on the batch:
between two passes values are rounded to their dtype, and a sample has the same bytes in every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.binding.arguments import Array
from orbbec.plan.passes import IDENTITIES, AugmentPass, BlendPass, MixPass, OperatorPass, Pass, common_size
from orbbec.plan.steps import (
    COLOR_WIDTH,
    CONTRAST,
    ERASE_WIDTH,
    SMOOTHNESS,
    Blend,
    Cast,
    Colors,
    Erase,
    Frame,
    Map,
    Mix,
    Normalize,
    Operator,
    Step,
    identities,
    joined,
)

FLOATS = ("float16", "bfloat16", "float32")
WHITE = {"uint8": 255.0, "uint16": 65535.0}  # 1 of floats
# Operators that take nothing but uint8, those that take uint16, and those of images of some channels alone.
BYTES_ALONE = ("autocontrast", "equalize", "jpeg_compression")
_FILTERS = ("elastic_transform", "gaussian_blur", "median_blur", "motion_blur")
TAKE_UINT16 = (*_FILTERS, "lambda", "resized_crop", "to_float", "warp_affine", "warp_perspective")
CHANNELS = {"jpeg_compression": (1, 3), "cvt_color": (3,)}
_AFTER_CAST_UNSCALED = "expected to stand before ToDtype(scale=False), since floats are taken as 0 to 1"


@dataclass
class _Open:
    """The augment pass that steps are being added to."""

    matrix: Array
    sizes: Array
    unit: float  # the chain's white where the pass begins, in units of the pass's input
    white: float  # what the pass takes for white: 255 of bytes, 1 of floats
    dtype: str  # of its input
    why: str = ""
    interpolation: str | None = None  # None: no pixel lies between others
    border: str | None = None
    fill: tuple[float, ...] = (0.0,)
    offset: Array | None = None  # of the positions that nearest maps read
    colors: list[Array] = field(default_factory=list)
    contrasts: set[int] = field(default_factory=set)  # the places of the transforms that have one
    erase: list[Array] = field(default_factory=list)
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    channels_last: bool | None = None
    regions: Array | None = None
    flips: list[Array | None] = field(default_factory=list)  # of each map
    maps: int = 0
    mixes: MixPass | None = None
    cuts: bool = False  # a later map left a part out, which is not cut off
    holds: dict[str, None] = field(default_factory=dict)

    def is_idle(self, dtype: str) -> bool:
        """Whether the pass gives, in `dtype`, what it is given: its transforms became operators before it."""
        return self.maps == 0 and self.moves_alone(dtype)

    def moves_alone(self, dtype: str) -> bool:
        """Whether the pass gives, in `dtype`, pixels of what it is given, moved at most."""
        changes = self.colors or self.erase or self.mean or self.mixes
        return not changes and self.channels_last is None and dtype == self.dtype

    def flips_alone(self, dtype: str) -> Array | None:
        """The images that the pass turns left to right, if that is all it does."""
        turns = [flips for flips in self.flips if flips is not None]
        if not turns or len(turns) < self.maps or not self.moves_alone(dtype):
            return None
        return reduce(np.logical_xor, turns)


class Fusion:
    """Takes steps in the order of the chain and gives passes.

    Args:
        sizes: int64 `[N, 2]`: of the images.
        channels: of every image.
        dtype: of the pixels, by name.
        exact: whether each transform is a pass of its own, with the bytes of the step-by-step chain.
    """

    def __init__(self, sizes: Array, channels: int = 3, dtype: str = "uint8", exact: bool = False) -> None:
        self.frame = Frame(sizes, channels, WHITE.get(dtype, 1.0), exact)
        self.dtype, self.exact = dtype, exact
        self.passes: list[Pass] = []
        self.moves: list[int] = []  # of each pass, its coordinate transforms
        self._idle: list[Pass] = []
        self.notes: list[str] = []
        self._maps: list[Array] | None = []  # of all steps so far; None once images were mixed
        self._open = self._new("")

    @property
    def matrix(self) -> Array | None:
        """From the output so far to the images; None once they were mixed."""
        return None if self._maps is None else reduce(np.matmul, self._maps, identities(len(self.frame)))

    def add(self, step: Step, name: str, place: int = 0) -> None:
        """Add a step of the transform `name` at `place` of the chain."""
        if isinstance(step, Map):
            self._add_map(step, name)
        elif isinstance(step, Colors):
            self._add_colors(step, name, place)
        elif isinstance(step, Erase):
            self._add_erase(step, name)
        elif isinstance(step, Normalize):
            self._add_normalize(step, name)
        elif isinstance(step, Cast):
            self._add_cast(step, name)
        else:
            self._add_whole(step, name)
            return
        self._open.holds[name] = None

    def _add_whole(self, step: Operator | Mix | Blend, name: str) -> None:
        """Add what is no part of an augment pass."""
        if isinstance(step, Operator):
            self._add_operator(step, name)
        elif isinstance(step, Mix):
            self._add_mix(step, name)
        else:
            self._add_blend(step, name)

    def end_transform(self, name: str) -> None:
        """Called after the last step of a transform."""
        if self.exact:
            self._split(f"exact: {name} is rounded by itself")

    def finish(self, as_planes: bool = False) -> tuple[Pass, ...]:
        """The passes; at least one where the chain asks for anything at all.

        With `as_planes`, the last one writes floats as planes. An idle pass stays only at the end, where it
        makes one tensor of an ImageBatch of one size.
        """
        if as_planes and self.dtype in FLOATS and self._open.channels_last is None:
            self._open.channels_last = False
        self._close()
        last = len(self.passes) - 1
        kept = [n for n, step in enumerate(self.passes) if step not in self._idle or n == last]
        self.moves = [self.moves[n] for n in kept]
        return tuple(self.passes[n] for n in kept)

    def _new(self, why: str) -> _Open:
        sizes = self.frame.sizes
        white = WHITE.get(self.dtype, 1.0)
        return _Open(identities(len(sizes)), sizes, self.frame.white, white, self.dtype, why)

    def _split(self, why: str) -> None:
        self._close()
        self._open = self._new(why)

    def _close(self) -> None:
        p, count = self._open, len(self.frame)
        if not p.holds:
            return
        if not 1 <= self.frame.channels <= 4:
            name = next(iter(p.holds))
            raise ValueError(f"{name}: expected images of 1 to 4 channels, but got {self.frame.channels}")
        if self._flipped_before(p):
            return
        self.passes.append(
            AugmentPass(
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
        )
        self.moves.append(p.maps)
        if p.is_idle(self.dtype):
            self._idle.append(self.passes[-1])

    def _flipped_before(self, p: _Open) -> bool:
        """Let the resize that stands before a pass turn its results, if the pass would do no more."""
        last = self.passes[-1] if self.passes else None
        if self.exact or not isinstance(last, OperatorPass) or last.name != "resized_crop":
            return False
        flips = p.flips_alone(self.dtype)
        if flips is None:
            return False
        table, holds = {**last.table, "flips": flips}, (*last.holds, *p.holds)
        self.passes[-1] = replace(last, table=table, matrix=last.matrix @ p.matrix, holds=holds)
        self.moves[-1] += p.maps
        return True

    def _add_map(self, step: Map, name: str) -> None:
        p = self._open
        self._check_fill(step.fill, name)
        if p.mixes is not None:
            self._split(f"{name} moves pixels after images were mixed")
        elif p.erase:
            self._split(f"{name} moves pixels after rectangles were filled")
        elif (p.colors or p.mean is not None) and not (step.border is None and step.lossless):
            self._split(f"{name} reads between pixels after their colours changed")
        elif p.contrasts and not step.onto:
            self._split(f"{name} leaves pixels out after their mean was taken for contrast")
        elif step.border is not None and p.border not in (None, step.border):
            self._split(f"{name} has border {step.border}, the map before it {p.border}")
        elif step.border == "constant" == p.border and self._fill_of(step) != p.fill:
            self._split(f"{name} has another fill than the map before it")
        elif step.border == "constant" and not self._holds_fill(step):
            self._split(f"{name} fills with what {p.dtype} does not hold")
        p = self._open
        if step.border == "constant" and p.border is None and p.interpolation in ("linear", "cubic"):
            self.notes.append(f"{name} mixes its fill with the rim over a pixel of what the pass reads")
        if step.border is not None:
            p.border = step.border
            p.fill = self._fill_of(step)
            if p.cuts:
                self.notes.append(f"{name} shows what lies around the part that was cut out before it")
        if not step.lossless:
            both = max(p.interpolation or "nearest", step.interpolation, key=SMOOTHNESS.index)
            if p.interpolation not in (None, step.interpolation):
                self.notes.append(f"{name} is fused with a map of another interpolation: both are {both}")
            p.interpolation = both
        if p.maps == 0:
            p.regions = step.region
        else:
            p.cuts = p.cuts or not (step.onto or (step.border is not None and step.region is None))
        if step.offset is not None:
            own = np.einsum("nij,nj->ni", p.matrix[:, :2, :2], step.offset)
            p.offset = own if p.offset is None else p.offset + own
        p.matrix = p.matrix @ step.matrix if p.maps else step.matrix
        p.flips.append(step.flips)
        p.maps += 1
        p.sizes = step.sizes
        self._moved(step.matrix, step.sizes, self.frame.least_after(step))

    def _fill_of(self, step: Map) -> tuple[float, ...]:
        """In units of what the open pass reads."""
        return tuple(value * self._open.unit / self.frame.white for value in step.fill)

    def _holds_fill(self, step: Map) -> bool:
        """Whether the input of the open pass has a value that becomes the fill."""
        unit = self._open.unit / self.frame.white
        read = torch.tensor(self._fill_of(step), dtype=torch.float64)
        expected = torch.tensor(step.fill, dtype=torch.float64)
        held = _as_dtype(_as_dtype(read, self._open.dtype) / unit, self.dtype)
        return bool((held == _as_dtype(expected, self.dtype)).all())

    def _moved(self, matrix: Array, sizes: Array, least: tuple[int, int]) -> None:
        if self._maps is not None:
            self._maps.append(matrix)
        self.frame = self.frame.of_sizes(sizes, least)

    def _check_no_uint16(self, name: str) -> None:
        if self.dtype == "uint16":
            raise ValueError(
                f"{name}: expected images of uint8 or floats, but got uint16; "
                "put ToDtype(torch.float32, scale=True) before it"
            )

    def _add_colors(self, step: Colors, name: str, place: int) -> None:
        self._check_no_uint16(name)
        if self.frame.channels not in (1, 3):
            raise ValueError(f"{name}: expected images of 1 or 3 channels, but got {self.frame.channels}")
        if self.exact and step.operators:
            for operator in step.operators:
                self._add_operator(operator, name)
            return
        if not step.contrast and (step.rows[:, :, 0] == CONTRAST).any():
            raise ValueError(f"{name}: expected Colors(contrast=True), since there are steps of contrast")
        if self.dtype in FLOATS and self.frame.white != 1:
            raise ValueError(f"{name}: {_AFTER_CAST_UNSCALED}")
        p = self._open
        if p.mixes is not None:
            self._split(f"{name} changes colours after images were mixed")
        elif p.erase:
            self._split(f"{name} changes colours after rectangles were filled")
        elif p.mean is not None:
            self._split(f"{name} changes colours after they were normalised")
        elif step.contrast and p.contrasts - {place}:
            self._split(f"{name} takes a second mean for contrast")
        self._open.colors.append(step.rows)
        if step.contrast:
            self._open.contrasts.add(place)

    def _add_erase(self, step: Erase, name: str) -> None:
        self._check_no_uint16(name)
        if self._open.mixes is not None:
            self._split(f"{name} fills rectangles after images were mixed")
        p, boxes = self._open, step.boxes.copy()
        channels = min(self.frame.channels, 4)
        fill = boxes[:, :, 4 : 4 + channels]
        if p.mean is not None and p.std is not None:  # given in the units after normalising
            fill *= np.resize(p.std, channels)
            fill += np.resize(p.mean, channels)
        else:
            fill *= p.unit / self.frame.white / p.white
        p.erase.append(boxes)

    def _add_normalize(self, step: Normalize, name: str) -> None:
        if self.dtype not in FLOATS:
            raise ValueError(f"{name}: expected floats; put ToDtype(torch.float32, scale=True) before it")
        if self._open.mean is not None:
            self._split(f"{name} normalises a second time")
        self._open.mean, self._open.std = step.mean, step.std

    def _add_cast(self, step: Cast, name: str) -> None:
        if step.channels_last is not None:
            self._open.channels_last = step.channels_last
        if step.dtype is None or step.dtype == self.dtype:
            return
        was_byte, is_byte = self.dtype == "uint8", step.dtype == "uint8"
        if is_byte:
            self._check_no_uint16(name)
        if self.dtype == "uint16" or (was_byte != is_byte and not step.scale):
            why = "reads 16 bits" if self.dtype == "uint16" else "keeps the numbers"
            options: dict[str, Any] = {"dtype": step.dtype}
            options |= {} if is_byte else {"scale": step.scale}
            operator = "to_uint8" if is_byte else "to_float"
            self._add_operator(Operator(operator, options=options, why=why), name)
            self.dtype = step.dtype
            white = 1.0 if step.scale else self.frame.white
            self.frame = replace(self.frame, white=255.0 if is_byte else white)
            self._open = self._new(f"{name} {why}")
            self._open.channels_last = step.channels_last
            return
        if is_byte and not was_byte and self._open.mean is not None:
            self._split(f"{name} rounds to bytes after normalising")
        self.dtype = step.dtype
        self.frame = replace(self.frame, white=255.0 if is_byte else 1.0)

    def _add_operator(self, step: Operator, name: str) -> None:
        why = f"{name}: {step.name} {step.why}"
        self._check_operator(step, name)
        self._close()
        count, sizes = len(self.frame), self.frame.sizes if step.sizes is None else step.sizes
        drawn = np.ones(count, bool) if step.drawn is None else step.drawn
        matrix = identities(count) if step.matrix is None else step.matrix
        self.passes.append(
            OperatorPass(
                name=step.name,
                table=with_identities(step.name, step.table, drawn),
                options=step.options,
                drawn=drawn,
                matrix=matrix,
                sizes=sizes,
                resizes=step.sizes is not None,
                dtype=str(step.options.get("dtype", self.dtype)),
                why=why,
                holds=(name,),
                conditional=step.drawn is not None,
            )
        )
        self.moves.append(int(step.matrix is not None))
        if step.matrix is not None:
            self._moved(matrix, sizes, self.frame.least_after(step))
        self.frame = self.frame.after(step)
        self._open = self._new(f"{step.name} stands before it")

    def _check_operator(self, step: Operator, name: str) -> None:
        channels, known = self.frame.channels, CHANNELS.get(step.name)
        if step.name in BYTES_ALONE and self.dtype != "uint8":
            mend = "give images of 8 bits" if self.dtype == "uint16" else "put it before ToDtype"
            raise ValueError(f"{name}: expected images of uint8, but got {self.dtype}; {mend}")
        if step.name not in TAKE_UINT16:
            self._check_no_uint16(name)
        if known is not None and channels not in known:
            counts = " or ".join(map(str, known))
            raise ValueError(f"{name}: expected images of {counts} channels, but got {channels}")
        self._check_fill(step.options.get("fill", 0.0), name)

    def _check_fill(self, fill: float | Sequence[float], name: str) -> None:
        count = len(fill) if isinstance(fill, (tuple, list)) else 1
        if count not in (1, self.frame.channels):
            raise ValueError(f"{name}: expected 1 or {self.frame.channels} numbers in fill, but got {count}")

    def _add_mix(self, step: Mix, name: str) -> None:
        why = f"{name} reads other images of the batch"
        self._check_fill(step.options.get("fill", 0.0), name)
        self._maps, p = None, self._open
        # A mixup computes each image twice, which bytes cost more than another pass.
        mixed = {"cutmix": ("uint8", *FLOATS), "mixup": FLOATS}.get(step.name, ())
        if self.dtype in mixed and p.holds and p.mixes is None and common_size(p.sizes) is not None:
            p.mixes = MixPass(step.name, step.table, p.sizes, self.dtype, step.options)
            p.holds[name] = None
            return
        self._close()
        sizes = self.frame.sizes if step.sizes is None else step.sizes
        self.passes.append(MixPass(step.name, step.table, sizes, self.dtype, step.options, why, (name,)))
        self.moves.append(0)
        self.frame = self.frame.of_sizes(sizes)
        self._open = self._new(f"{step.name} stands before it")

    def _add_blend(self, step: Blend, name: str) -> None:
        self._check_no_uint16(name)
        self._close()
        copies = Fusion(
            np.tile(self.frame.sizes, (step.weights.shape[1] - 1, 1)), self.frame.channels, self.dtype
        )
        for each in step.steps:
            copies.add(each, name)
        why = f"{name} blends images with altered copies"
        passes = tuple(p for p in copies.finish() if isinstance(p, (AugmentPass, OperatorPass)))
        self.passes.append(BlendPass(passes, step.weights, self.frame.sizes, self.dtype, why, (name,)))
        self.moves.append(0)
        self._open = self._new("blend stands before it")


def with_identities(name: str, table: Mapping[str, Array], drawn: Array) -> Mapping[str, Array]:
    """The table of an operator by which images that are not drawn keep their bytes, if it can be."""
    if name not in IDENTITIES or drawn.all():
        return table
    column, value = IDENTITIES[name]
    numbers = table[column]
    mask = drawn.reshape(-1, *(1,) * (numbers.ndim - 1))
    return {**table, column: np.where(mask, numbers, np.array(value, numbers.dtype))}


def _as_dtype(values: Tensor, name: str) -> Tensor:
    """Values as a dtype has them, in float64; whole numbers rounded and cut off."""
    bounded = values.round().clamp(0, WHITE[name]) if name in WHITE else values
    return bounded.to(getattr(torch, name)).double()


def compact(rows: Array) -> Array:
    """The steps of each image moved to the front, and as many columns as the longest program has."""
    empty = rows[:, :, 0] == 0
    if not empty.any():
        return rows
    longest = int((~empty).sum(1).max(initial=0))
    order = np.argsort(empty, axis=1, kind="stable")[:, :longest]
    return np.asarray(rows[np.arange(len(rows))[:, None], order])
