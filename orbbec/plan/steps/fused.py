"""Steps that can be fused: coordinates, colors, rectangles, normalization, dtypes and layouts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from orbbec.augment.codes import CONTRAST
from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import FLOATS
from orbbec.plan.fuse import MAXIMUM, Fusion, Step
from orbbec.plan.state import BatchState
from orbbec.plan.steps.alone import Operator, least_after, lower

_IDENTITY = np.eye(3)
SMOOTHNESS = ("nearest", "linear", "cubic")  # interpolations of warps, the smoother ones last


@dataclass(frozen=True, eq=False)
class Warp(Step):
    """The source position of each output pixel.

    What a warp may do is known before parameters are drawn, so that every batch gets the same passes.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to source pixels, pixel centers at whole numbers.
        sizes: int64 `[N, 2]`: sizes of the output.
        interpolation: one of `SMOOTHNESS`.
        border: values outside the source; None: the warp never reads there.
        fill: fill of a constant border, in the units of the pipeline: one number, or one per channel.
        lossless: every output pixel is a source pixel, moved.
        onto: also, every source pixel is kept, as by a flip.
        region: int64 `[N, 4]`: left, top, right, bottom of the part of the source that is cropped first.
        flips: bool `[N]`: the warp only flips these images horizontally; None: it may do something else.
        offset: float64 `[N, 2]`: added to the positions (x, y) that a nearest warp reads, but not to those of
            targets; None: no offset.
        least: lower bounds of height and width of the output, if it changes sizes.
    """

    matrix: Array
    sizes: Array
    interpolation: str = "linear"
    border: str | None = None
    fill: tuple[float, ...] = (0.0,)
    lossless: bool = False
    onto: bool = False
    region: Array | None = None
    flips: Array | None = None
    offset: Array | None = None
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, state: BatchState) -> Warp:
        """The warp for the chosen images, and the identity for the others."""
        return replace(
            self,
            matrix=np.where(chosen[:, None, None], self.matrix, _IDENTITY),
            sizes=np.where(chosen[:, None], self.sizes, state.sizes),
            region=None if self.region is None else np.where(chosen[:, None], self.region, state.regions),
            flips=None if self.flips is None else self.flips & chosen,
            offset=None if self.offset is None else np.where(chosen[:, None], self.offset, 0.0),
            least=lower(least_after(self, state), state.least),
        )

    def after(self, state: BatchState) -> BatchState:
        return state if self.sizes is state.sizes else state.of_sizes(self.sizes, self.least)

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        fusion.check_fill(self.fill, name)
        why = self._begins_pass(fusion, name)
        if why:
            fusion.split(why)
        p = fusion.open
        if self.border == "constant" and p.border is None and p.interpolation in ("linear", "cubic"):
            fusion.notes.append(f"{name} mixes its fill with the border over a pixel of what the pass reads")
        if self.border is not None:
            p.border, p.fill = self.border, self._fill(fusion)
            if p.cuts:
                fusion.notes.append(f"{name} shows pixels outside the preceding crop")
        if not self.lossless:
            both = max(p.interpolation or "nearest", self.interpolation, key=SMOOTHNESS.index)
            if p.interpolation not in (None, self.interpolation):
                fusion.notes.append(f"{name} is fused with a warp of another interpolation: both are {both}")
            p.interpolation = both
        if p.warps == 0:
            p.regions = self.region
        else:
            p.cuts = p.cuts or not (self.onto or (self.border is not None and self.region is None))
        if self.offset is not None:
            own = np.einsum("nij,nj->ni", p.matrix[:, :2, :2], self.offset)
            p.offset = own if p.offset is None else p.offset + own
        p.matrix = p.matrix @ self.matrix if p.warps else self.matrix
        p.flips.append(self.flips)
        p.warps += 1
        p.sizes = self.sizes
        fusion.move(self.matrix, self.sizes, least_after(self, fusion.state))

    def _begins_pass(self, fusion: Fusion, name: str) -> str:
        """Why the warp cannot join the open pass; empty if it can."""
        p = fusion.open
        if p.mixes is not None:
            return f"{name} moves pixels after images were mixed"
        if p.erase:
            return f"{name} moves pixels after rectangles were filled"
        if (p.colors or p.mean is not None) and not (self.border is None and self.lossless):
            return f"{name} reads between pixels after their colors changed"
        if p.contrasts and not self.onto:
            return f"{name} leaves pixels out after their mean was taken for contrast"
        if self.border is not None and p.border not in (None, self.border):
            return f"{name} has border {self.border}, the warp before it {p.border}"
        if self.border == "constant" == p.border and self._fill(fusion) != p.fill:
            return f"{name} has another fill than the warp before it"
        if self.border == "constant" and not self._holds_fill(fusion):
            return f"{name} fills with what {p.dtype} does not hold"
        return ""

    def _fill(self, fusion: Fusion) -> tuple[float, ...]:
        """The fill in the units of the open pass's input."""
        return tuple(value * fusion.open.unit / fusion.state.maximum for value in self.fill)

    def _holds_fill(self, fusion: Fusion) -> bool:
        """Whether some input value of the open pass becomes the fill."""
        unit = fusion.open.unit / fusion.state.maximum
        read = torch.tensor(self._fill(fusion), dtype=torch.float64, device="cpu")
        expected = torch.tensor(self.fill, dtype=torch.float64, device="cpu")
        held = _as_dtype(_as_dtype(read, fusion.open.dtype) / unit, fusion.dtype)
        return bool((held == _as_dtype(expected, fusion.dtype)).all())


@dataclass(frozen=True, eq=False)
class Colors(Step):
    """Steps of a color program.

    Args:
        rows: float32 `[N, S, 16]`: code, numbers of the step, zeros; code 0 means no step.
        contrast: whether a row may adjust contrast, at most one per image.
        operators: the operators that give torchvision's bytes instead.
    """

    rows: Array
    contrast: bool = False
    operators: tuple[Operator, ...] = ()

    def only(self, chosen: Array, state: BatchState) -> Colors:
        rows = np.where(chosen[:, None, None], self.rows, np.float32(0))
        return Colors(rows, self.contrast, tuple(op.only(chosen, state) for op in self.operators))

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        fusion.check_no_uint16(name)
        if fusion.state.channels not in (1, 3):
            raise ValueError(f"{name}: expected images of 1 or 3 channels, but got {fusion.state.channels}")
        if fusion.exact and self.operators:
            for operator in self.operators:
                operator.fuse(fusion, name, transform_index)
            return
        if not self.contrast and (self.rows[:, :, 0] == CONTRAST).any():
            raise ValueError(f"{name}: expected Colors(contrast=True), since there are steps of contrast")
        if fusion.dtype in FLOATS and fusion.state.maximum != 1:
            raise ValueError(
                f"{name}: expected to stand before ToDtype(scale=False), since floats are taken as 0 to 1"
            )
        p = fusion.open
        if p.mixes is not None:
            fusion.split(f"{name} changes colors after images were mixed")
        elif p.erase:
            fusion.split(f"{name} changes colors after rectangles were filled")
        elif p.mean is not None:
            fusion.split(f"{name} changes colors after they were normalized")
        elif self.contrast and p.contrasts - {transform_index}:
            fusion.split(f"{name} takes a second mean for contrast")
        fusion.open.colors.append(self.rows)
        if self.contrast:
            fusion.open.contrasts.add(transform_index)


@dataclass(frozen=True, eq=False)
class Erase(Step):
    """Rectangles to fill.

    Args:
        boxes: float64 `[N, E, 8]`: left, top, right, bottom in pixels, right and bottom exclusive, and the
            fill of up to four channels in the units of the pipeline.
    """

    boxes: Array

    def only(self, chosen: Array, state: BatchState) -> Erase:
        return Erase(np.where(chosen[:, None, None], self.boxes, 0.0))

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        fusion.check_no_uint16(name)
        if fusion.open.mixes is not None:
            fusion.split(f"{name} fills rectangles after images were mixed")
        p, boxes = fusion.open, self.boxes.copy()
        channels = min(fusion.state.channels, 4)
        fill = boxes[:, :, 4 : 4 + channels]
        if p.mean is not None and p.std is not None:  # in the units after normalization
            fill *= np.resize(p.std, channels)
            fill += np.resize(p.mean, channels)
        else:
            fill *= p.unit / fusion.state.maximum / p.maximum
        p.erase.append(boxes)


@dataclass(frozen=True, eq=False)
class Normalize(Step):
    """`(value - mean) / std` of every image, with one number per channel."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def only(self, chosen: Array, state: BatchState) -> Normalize:
        raise ValueError("Normalize: images of one batch are all normalized, or none")

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        if fusion.dtype not in FLOATS:
            raise ValueError(f"{name}: expected floats; put ToDtype(torch.float32, scale=True) before it")
        if fusion.open.mean is not None:
            fusion.split(f"{name} normalizes a second time")
        fusion.open.mean, fusion.open.std = self.mean, self.std


@dataclass(frozen=True, eq=False)
class Cast(Step):
    """A change of dtype or memory layout of all images; `scale` maps the old maximum value to the new one."""

    dtype: str | None = None
    scale: bool = True
    channels_last: bool | None = None

    def only(self, chosen: Array, state: BatchState) -> Cast:
        raise ValueError("ToDtype: images of one batch are all cast, or none")

    def after(self, state: BatchState) -> BatchState:
        if self.dtype is None or not self.scale:
            return state
        return replace(state, maximum=255.0 if self.dtype == "uint8" else 1.0)

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        if self.channels_last is not None:
            fusion.open.channels_last = self.channels_last
        if self.dtype is None or self.dtype == fusion.dtype:
            return
        was_byte, is_byte = fusion.dtype == "uint8", self.dtype == "uint8"
        if is_byte:
            fusion.check_no_uint16(name)
        if fusion.dtype == "uint16" or (was_byte != is_byte and not self.scale):
            self._fuse_operator(fusion, name, transform_index)
            return
        if is_byte and not was_byte and fusion.open.mean is not None:
            fusion.split(f"{name} rounds to bytes after normalizing")
        fusion.dtype = self.dtype
        fusion.state = replace(fusion.state, maximum=255.0 if is_byte else 1.0)

    def _fuse_operator(self, fusion: Fusion, name: str, transform_index: int) -> None:
        assert self.dtype is not None
        is_byte, maximum = self.dtype == "uint8", 1.0 if self.scale else fusion.state.maximum
        why = "reads 16 bits" if fusion.dtype == "uint16" else "keeps the numbers"
        operator = "to_uint8" if is_byte else "to_float"
        options = {"dtype": self.dtype, **({} if is_byte else {"scale": self.scale})}
        Operator(operator, options=options, why=why).fuse(fusion, name, transform_index)
        fusion.dtype = self.dtype
        fusion.state = replace(fusion.state, maximum=255.0 if is_byte else maximum)
        fusion.begin(f"{name} {why}")
        fusion.open.channels_last = self.channels_last


def _as_dtype(values: Tensor, name: str) -> Tensor:
    """Values rounded to a dtype, in float64; integers are saturated."""
    bounded = values.round().clamp(0, MAXIMUM[name]) if name in MAXIMUM else values
    return bounded.to(getattr(torch, name)).double()
