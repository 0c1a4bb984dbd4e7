"""What all images of a batch get at the end: normalising, dtype, layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from orbbec.plan.steps import Cast, Frame, Step
from orbbec.plan.steps import Normalize as NormalizeStep
from orbbec.plan.template import Row
from orbbec.transforms.checks import flag, numbers
from orbbec.transforms.transform import Transform

_DTYPES = ("uint8", "float16", "bfloat16", "float32")


@dataclass(frozen=True)
class Normalize(Transform):
    """Take the mean off and divide by the deviation, channel by channel; of floats.

    Args:
        mean: a number, or one a channel.
        std: a number, or one a channel, not 0.

    Source:
        `torchvision.transforms.v2.Normalize`.
    """

    mean: float | Sequence[float] = (0.485, 0.456, 0.406)
    std: float | Sequence[float] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        self._set(mean=numbers(self.name, "mean", self.mean), std=numbers(self.name, "std", self.std))
        if 0.0 in numbers(self.name, "std", self.std):
            raise ValueError(f"{self.name}: expected std without 0, but got {self.std}")

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        assert isinstance(self.mean, tuple)
        assert isinstance(self.std, tuple)
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, frame.channels):
                raise ValueError(
                    f"{self.name}: expected 1 or {frame.channels} numbers in {name}, but got {len(values)}"
                )
        return [NormalizeStep(self.mean, self.std)]

    def coordinates(self) -> Row:
        return ()


@dataclass(frozen=True)
class ToDtype(Transform):
    """Give the pixels another dtype.

    Args:
        dtype: torch.uint8, float16, bfloat16 or float32.
        scale: white stays white: 255 of uint8, or 65535 of uint16, becomes 1 of floats. False keeps the
            numbers. uint16, and numbers that are kept, take a pass of their own.
        channels_last: the layout of the result; None: as it was.

    Source:
        `torchvision.transforms.v2.ToDtype`.
    """

    dtype: torch.dtype
    scale: bool = False
    channels_last: bool | None = None

    def __post_init__(self) -> None:
        name = str(self.dtype).removeprefix("torch.")
        if name not in _DTYPES:
            raise ValueError(
                f"{self.name}: expected dtype as one of {', '.join(_DTYPES)}, but got {self.dtype}"
            )
        self._set(dtype=getattr(torch, name))
        flag(self.name, "scale", self.scale)
        if self.channels_last is not None:
            flag(self.name, "channels_last", self.channels_last)

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        return [Cast(str(self.dtype).removeprefix("torch."), self.scale, self.channels_last)]

    def coordinates(self) -> Row:
        return ()


@dataclass(frozen=True)
class ToImage(Transform):
    """Give tensors `[C, H, W]` for arrays and PIL images too. The pixels stay as they are.

    Source:
        `torchvision.transforms.v2.ToImage`, whose result is a `tv_tensors.Image`.
    """

    makes_tensors: ClassVar[bool] = True

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        return []

    def coordinates(self) -> Row:
        return ()


class PILToTensor(ToImage):
    """Give tensors `[C, H, W]` for arrays and PIL images too. The pixels stay as they are.

    Source:
        `torchvision.transforms.v2.PILToTensor`.
    """


class ToPureTensor(ToImage):
    """Give tensors `[C, H, W]`, for `tv_tensors` too. The pixels stay as they are.

    Source:
        `torchvision.transforms.v2.ToPureTensor`.
    """

    makes_pure: ClassVar[bool] = True


class ToTensor(ToImage):
    """Give float32 tensors `[C, H, W]`, of bytes multiplied by 1/255, of uint16 by 1/65535.

    Source:
        `torchvision.transforms.ToTensor`, which divides bytes, so that the last bit may be another, and gives
        16 bits as int16.
    """

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        return [Cast("float32")]
