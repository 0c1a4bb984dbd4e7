"""The augment pass to which steps are being added, and what may join it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from torch import Tensor

from orbbec.plan.passes import AugmentPass, CropPass, OperatorPass, Size

MAXIMUM = {"uint8": 255.0, "uint16": 65535.0}  # 1 of floats
SMOOTHNESS = ("nearest", "linear", "cubic")  # interpolations of warps, the smoother ones last


@dataclass(eq=False)
class OpenPass:
    """The augment pass to which steps are being added."""

    unit: float  # the pipeline's maximum value at the start of the pass, in the units of its input
    maximum: float  # maximum value of the pass's input: 255 for bytes, 1 for floats
    dtype: str  # of its input
    step: AugmentPass = field(default_factory=lambda: AugmentPass(out=-1, dtype=""))
    is_colored: bool = False
    is_placed: bool = False  # whether colors depend on where pixels are
    interpolation: str | None = None  # None: all positions are whole pixels
    border: str | None = None
    offset: bool = False  # whether nearest warps read at an offset
    contrasts: set[int] = field(default_factory=set)  # the transforms that have one, by index
    flips: list[bool] = field(default_factory=list)  # of each warp: whether it only flips horizontally
    cuts: bool = False  # a later warp crops, but the source is not cut off
    holds: dict[str, None] = field(default_factory=dict)

    @property
    def why_fixed(self) -> str:
        """Why its pixels must stay where they are; empty if they may move."""
        if self.step.mixes is not None:
            return "after images were mixed"
        if self.step.erase_block.rows:
            return "after rectangles were filled"
        return "whose colors depend on where they are" if self.is_placed else ""

    def moves_alone(self, dtype: str) -> bool:
        """Whether the output, of `dtype`, consists of pixels of the input, moved at most."""
        step = self.step
        changes = self.is_colored or step.erase_block.rows or step.mean or step.mixes
        return not changes and step.channels_last is None and dtype == self.dtype

    def fill_units(self, channels: int, maximum: float) -> tuple[list[float], list[float]]:
        """Factors and summands that convert fills from the units of the pipeline to those of rectangles."""
        mean, std = self.step.mean, self.step.std
        if mean is not None and std is not None:  # in the units after normalization
            return _repeated(std, channels), _repeated(mean, channels)
        return [self.unit / maximum / self.maximum] * channels, [0.0] * channels

    def joins(self, crop: OperatorPass) -> bool:
        """Whether the pass, which flips images at most, may be one with the `resized_crop` before it."""
        known = (
            set(crop.options) == {"interpolation", "antialias"} and crop.options["interpolation"] != "nearest"
        )
        return crop.runs and known and all(self.flips) and self.dtype == "uint8"

    def finish(self, out: int, dtype: str, size: Size, crop: OperatorPass | None = None) -> AugmentPass:
        """The pass; `out` is its first register, `dtype` and `size` are those of its output.

        `crop` makes its input, if there is one.
        """
        step = self.step
        step.out, step.dtype, step.static_size, step.holds = out, dtype, size, tuple(self.holds)
        step.has_offset = self.offset and self.interpolation == "nearest"
        step.reads_beyond, step.contrast = self.border is not None, bool(self.contrasts)
        step.interpolation, step.border = self.interpolation or "nearest", self.border or "replicate"
        if step.mixes is not None:
            step.mixes.out, step.mixes.static_size = out, size
        if crop is None:
            return step
        step.why, step.holds, step.matrix_block.rows = crop.why, crop.holds, 0
        return CropPass(**vars(step), crop=crop)


def _repeated(values: tuple[float, ...], count: int) -> list[float]:
    return [values[index % len(values)] for index in range(count)]


@lru_cache(maxsize=256)
def holds_fill(fill: tuple[float, ...], unit: float, source: str, dtype: str) -> bool:
    """Whether some value of a source becomes the fill in an output.

    Args:
        fill: in the units of the output.
        unit: of these, in units of the source.
        source: dtype of the source.
        dtype: of the output.
    """
    expected = torch.tensor(fill, dtype=torch.float64, device="cpu")
    result = _as_dtype(_as_dtype(expected * unit, source) / unit, dtype)
    return bool((result == _as_dtype(expected, dtype)).all())


def _as_dtype(values: Tensor, name: str) -> Tensor:
    """Values rounded to a dtype, in float64; integers are saturated."""
    bounded = values.round().clamp(0, MAXIMUM[name]) if name in MAXIMUM else values
    return bounded.to(getattr(torch, name)).double()
