"""Blurs by kernels that are drawn: lines of whole pixels, and noisy Gaussians of several shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to
from orbbec.bridge.spec import EVERY_DTYPE, composite
from orbbec.filters import filter2d
from orbbec.noise import philox_noise
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import checks, odd_sides
from orbbec.transforms.base.checks import Range, interval
from orbbec.transforms.base.transform import _Chance

_LARGEST = 99  # side of a kernel


def line_kernel(side: int, angle: float, direction: float, shift: Sequence[float] = (0.0, 0.0)) -> Array:
    """The pixels of a line, with a sum of 1: float64 `[side, side]`.

    Args:
        side: odd, in pixels, at least 3.
        angle: clockwise, in degrees from the x axis.
        direction: from -1, only backwards from the middle, to 1, only forwards.
        shift: of the line along x and y, from -1 to 1, in units of a quarter of the side.
    """
    half = side // 2
    ends = -half * (1 - max(direction, 0.0)), half * (1 + min(direction, 0.0))
    steps, radians = np.linspace(*ends, side), np.radians(angle)
    kernel = np.zeros((side, side))
    position = [
        half + part * steps + amount * half / 2
        for part, amount in zip((np.cos(radians), np.sin(radians)), shift, strict=True)
    ]
    x, y = (each.round().clip(0, side - 1).astype(np.int64) for each in position)
    kernel[y, x] = 1
    return np.asarray(kernel / kernel.sum())


def gaussian_kernel(
    side: int, sigmas: tuple[float, float], angle: float, beta: float, factors: Array
) -> Array:
    """A rotated Gaussian, whose squared distance has a power, times factors: float64 `[side, side]`.

    Args:
        side: odd, in pixels.
        sigmas: along the axes of the Gaussian, in pixels.
        angle: by which the axes are rotated, clockwise, in degrees.
        beta: the power; above 1 it is flat in the middle, below 1 pointed.
        factors: `[side, side]`.
    """
    steps = np.arange(-(side // 2), side // 2 + 1.0)
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    x, y = np.meshgrid(steps, steps)
    along, across = x * cosine + y * sine, y * cosine - x * sine
    squared = (along / sigmas[0]) ** 2 + (across / sigmas[1]) ** 2
    kernel = np.exp(-0.5 * squared**beta) * factors
    return np.asarray(kernel / kernel.sum())


def _filtered(images: Tensor, kernels: Sequence[Array]) -> Tensor:
    """Filter images by kernels of several odd sides."""
    largest = max(map(len, kernels), default=1)
    padded = np.zeros((len(kernels), largest, largest), np.float32)
    for target, kernel in zip(padded, kernels, strict=True):
        margin = (largest - len(kernel)) // 2
        target[margin : largest - margin, margin : largest - margin] = kernel
    result: Tensor = filter2d(images, copied_to(images.device, torch.from_numpy(padded)))
    return result


@composite("line_blur", EVERY_DTYPE, host_columns=("kernel_size", "line"))
def _line_blurred(images: Tensor, kernel_size: Tensor, line: Tensor) -> Tensor:
    rows = zip(kernel_size.tolist(), line.tolist(), strict=True)
    return _filtered(images, [line_kernel(side, angle, way, shift) for side, (angle, way, *shift) in rows])


@composite("advanced_blur", EVERY_DTYPE, host_columns=("kernel_size", "shape"))
def _advanced_blurred(
    images: Tensor,
    kernel_size: Tensor,
    shape: Tensor,
    sample_ids: Tensor,
    beta_range: Range,
    noise_range: Range,
    **key: Any,
) -> Tensor:
    """The last number of a shape, from -1 to 1, says where beta is between an end of its range and 1."""
    low, high = noise_range
    kernels, ids = [], sample_ids.cpu()
    rows = zip(kernel_size.tolist(), shape.tolist(), strict=True)
    for n, (side, (across, down, angle, part)) in enumerate(rows):
        beta = 1 + abs(part) * (beta_range[int(part >= 0)] - 1)
        noise = philox_noise(ids[n : n + 1], 1, (side, side), **key)[0, 0].double().numpy()
        kernels.append(gaussian_kernel(side, (across, down), angle, beta, low + noise * (high - low)))
    return _filtered(images, kernels)


class _KernelBlur(_Chance):
    """Blurs by a kernel of an odd side."""

    kernel_size: int | Sequence[int]

    _checks = checks(kernel_size=partial(odd_sides, low=3, high=_LARGEST))

    def _side(self, build: Build) -> Column:
        return Column("registers", build.whole_in(self.kernel_size, 2), dtype="int64")


@dataclass(frozen=True)
class LineBlur(_KernelBlur):
    """Blur each image along a line of whole pixels, evenly or to one side.

    `MotionBlur` has lines with smooth edges through the middle.

    Args:
        kernel_size: odd, in pixels, from 3 to 99: one number, or a range of odd numbers.
        angle_degrees: a range of clockwise angles from the x axis.
        direction_range: a range from -1, only backwards, to 1, only forwards from the middle.
        allow_shifted: shift lines by up to a quarter of the kernel along x and y.
        p: probability, from 0 to 1.

    Source:
        `MotionBlur` of Albumentations, by `cv2.filter2D`.

    Example:
        >>> image = torch.tensor([[[0, 0, 240, 0, 0]]], dtype=torch.uint8)
        >>> LineBlur(3, (0, 0), (-1.0, -1.0), False, p=1.0)(image).tolist()
        [[[0, 0, 120, 120, 0]]]
    """

    kernel_size: int | Sequence[int] = (3, 7)
    angle_degrees: Range = (0.0, 360.0)
    direction_range: Range = (-1.0, 1.0)
    allow_shifted: bool = True
    p: float = 0.5

    _checks = checks(angle_degrees=interval, direction_range=(-1.0, 1.0))

    def rules(self, build: Build) -> None:
        chosen, side = build.chance(self.p), self._side(build)
        ends = self.angle_degrees, self.direction_range
        numbers = [build.uniform(*each) for each in ends]
        numbers += [build.uniform(-1.0, 1.0) if self.allow_shifted else build.constant(0.0) for _ in range(2)]
        columns = {"kernel_size": side, "line": Column("registers", build.consecutive(numbers), (4,))}
        build.operator(OperatorStep("line_blur", columns, drawn=chosen))


@dataclass(frozen=True)
class AdvancedBlur(_KernelBlur):
    """Blur each image by a rotated Gaussian of a drawn shape with noise in its weights.

    Args:
        kernel_size: odd, in pixels, from 3 to 99: one number, or a range of odd numbers.
        sigma_x_range: a range of the standard deviation along one axis of the Gaussian, in pixels, above 0.
        sigma_y_range: along the other axis.
        rotate_range: a range of clockwise angles of the axes, in degrees.
        beta_range: a range of the power of the squared distance, above 0, that contains 1: half of the images
            draw from below 1, with pointed kernels, the others from above, with flat ones.
        noise_range: a range of factors of each weight, from 0; its end is above 0.
        p: probability, from 0 to 1.
        per_frame: draw other factors for each frame of a clip; False: all frames get those of the first.

    Source:
        `AdvancedBlur` of Albumentations, by `cv2.filter2D`.

    Example:
        >>> AdvancedBlur(p=1.0)(torch.full((1, 20, 20), 90, dtype=torch.uint8)).unique().tolist()
        [90]
    """

    kernel_size: int | Sequence[int] = (3, 7)
    sigma_x_range: Range = (0.2, 1.0)
    sigma_y_range: Range = (0.2, 1.0)
    rotate_range: Range = (-90.0, 90.0)
    beta_range: Range = (0.5, 8.0)
    noise_range: Range = (0.9, 1.1)
    p: float = 0.5
    per_frame: bool = field(default=False, kw_only=True)

    _checks = checks(
        sigma_x_range=(1e-6, 1000.0),
        sigma_y_range=(1e-6, 1000.0),
        beta_range=(1e-6, 1000.0),
        rotate_range=interval,
        noise_range=(0.0, 1000.0),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.beta_range
        if not low <= 1 <= high:
            raise ValueError(f"{self.name}: expected beta_range around 1, but got {self.beta_range}")
        if self.noise_range[1] == 0:  # the weights are divided by their sum
            raise ValueError(f"{self.name}: expected noise_range to end above 0, but got {self.noise_range}")

    def rules(self, build: Build) -> None:
        chosen, side = build.chance(self.p), self._side(build)
        ranges = self.sigma_x_range, self.sigma_y_range, self.rotate_range, (-1.0, 1.0)
        shape = build.consecutive([build.uniform(*ends) for ends in ranges])
        columns = {"kernel_size": side, "shape": Column("registers", shape, (4,))}
        options: dict[str, Any] = {name: getattr(self, name) for name in ("beta_range", "noise_range")}
        options["transform_index"] = build.stream
        build.operator(OperatorStep("advanced_blur", columns, options, chosen, per_frame=self.per_frame))
