"""The end of a pipeline: normalization, dtype and layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from orbbec.bridge.arguments import dtype_name
from orbbec.plan.build import Build
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import checked_numbers, numbers
from orbbec.transforms.base.transform import Transform, _KeepsPixels

_DTYPES = ("uint8", "float16", "bfloat16", "float32")


@dataclass(frozen=True)
class Normalize(Transform):
    """Subtract the mean and divide by the standard deviation, per channel; floats only.

    Args:
        mean: a number, or one per channel.
        std: a number, or one per channel; not 0.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: a value of `std` is 0; or, when the plan is made, the number of channels differs from that
            of `mean`, or images are not floats.

    Source:
        `torchvision.transforms.v2.Normalize`.

    Example:
        >>> image = torch.tensor([0.0, 0.5, 1.0]).reshape(1, 1, 3)
        >>> Normalize(mean=[0.5], std=[0.25])(image).tolist()
        [[[-2.0, 0.0, 2.0]]]
    """

    mean: float | Sequence[float] = (0.485, 0.456, 0.406)
    std: float | Sequence[float] = (0.229, 0.224, 0.225)

    _checks = checks(mean=numbers, std=numbers)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0.0 in checked_numbers(self.std):
            raise ValueError(f"{self.name}: expected std without 0, but got {self.std}")

    def rules(self, build: Build) -> None:
        mean, std = checked_numbers(self.mean), checked_numbers(self.std)
        build.check_numbers("mean", mean)
        build.check_numbers("std", std)
        build.normalize(mean, std)


@dataclass(frozen=True)
class ToDtype(Transform):
    """Convert pixels to another dtype.

    Args:
        dtype: torch.uint8, float16, bfloat16 or float32.
        scale: map the maximum value (255 of uint8, 65535 of uint16, 1 of floats) to that of `dtype`. False
            keeps the values. uint16 and unscaled conversions take a pass of their own.
        channels_last: the layout of the result; None keeps the layout of the input.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: the dtype is not one of those above.

    Source:
        `torchvision.transforms.v2.ToDtype`.

    Example:
        >>> image = torch.tensor([[[0, 255]]], dtype=torch.uint8)
        >>> ToDtype(torch.float32, scale=True)(image).tolist()
        [[[0.0, 1.0]]]
    """

    dtype: torch.dtype
    scale: bool = False
    channels_last: bool | None = None

    _checks = checks()

    def __post_init__(self) -> None:
        super().__post_init__()
        name = dtype_name(self.dtype)
        if name not in _DTYPES:
            raise ValueError(
                f"{self.name}: expected dtype as one of {', '.join(_DTYPES)}, but got {self.dtype}"
            )
        self._set(dtype=getattr(torch, name))

    def rules(self, build: Build) -> None:
        build.cast(dtype_name(self.dtype), self.scale, self.channels_last)


@dataclass(frozen=True)
class ToImage(_KeepsPixels):
    """Convert arrays and PIL images to tensors `[C, H, W]`, without changing the pixels.

    Source:
        `torchvision.transforms.v2.ToImage`, whose result is a `tv_tensors.Image`.

    Example:
        >>> image = np.array([[[51, 52, 53]]], np.uint8)  # [H, W, C]
        >>> ToImage()(image).shape
        torch.Size([3, 1, 1])
    """

    makes_tensors: ClassVar[bool] = True


class PILToTensor(ToImage):
    """Convert arrays and PIL images to tensors `[C, H, W]`, without changing the pixels.

    Source:
        `torchvision.transforms.v2.PILToTensor`.

    Example:
        >>> image = np.array([[[51, 52, 53]]], np.uint8)  # [H, W, C]
        >>> PILToTensor()(image).shape
        torch.Size([3, 1, 1])
    """


class ToPureTensor(ToImage):
    """Convert any input, `tv_tensors` included, to tensors `[C, H, W]`, without changing the pixels.

    Source:
        `torchvision.transforms.v2.ToPureTensor`.

    Example:
        >>> image = np.array([[[51, 52, 53]]], np.uint8)  # [H, W, C]
        >>> ToPureTensor()(image).shape
        torch.Size([3, 1, 1])
    """

    makes_pure: ClassVar[bool] = True


class ToTensor(ToImage):
    """Convert to float32 tensors `[C, H, W]`; uint8 is multiplied by 1/255, uint16 by 1/65535.

    Source:
        `torchvision.transforms.ToTensor`, which divides instead, so that the last bit may differ, and gives
        int16 for 16-bit images.

    Example:
        >>> image = np.array([[[51], [255]]], np.uint8)  # [H, W, C]
        >>> ToTensor()(image)
        tensor([[[0.2000, 1.0000]]])
    """

    def rules(self, build: Build) -> None:
        build.cast("float32", True, None)
