"""Flares of the sun."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to
from orbbec.bridge.spec import composite
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import FillValue, Range, region
from orbbec.transforms.base.transform import _Chance
from orbbec.transforms.effects.weather import checked_color

_RING = 10  # pixels of the radius of the sun for each of its discs
_DRAWS = 6  # of a circle


class Circle(NamedTuple):
    """A circle of a flare."""

    weight: float
    x: int
    y: int
    radius: int
    color: list[float]


def flare_circles(
    size: tuple[int, int], center: tuple[int, int], revolutions: float, color: Sequence[float], draws: Array
) -> list[Circle]:
    """The circles of a flare, on a line through the sun.

    Args:
        size: (height, width).
        center: (x, y) of the sun.
        revolutions: the angle of the line, clockwise.
        color: three levels, of which circles have less by up to a fifth of the largest.
        draws: numbers from 0 to 1, `[K, 6]`: weight, position, radius and color of each circle.
    """
    height, width = size
    step, most = max(1, int(math.hypot(height, width) * 0.01)), max(2, int(height * 0.01))
    count, slope = (
        -(-width // step),
        (math.cos(2 * math.pi * revolutions), math.sin(2 * math.pi * revolutions)),
    )
    least = [max(level - int(max(color) * 0.2), 0) for level in color]
    circles = []
    for weight, position, radius, *levels in draws.tolist():
        along = -center[0] + step * int(position * count)
        x, y = (int(at + along * part) for at, part in zip(center, slope, strict=True))
        ends = zip(least, color, levels, strict=True)
        shade = [low + math.floor(level * (high - low + 1)) for low, high, level in ends]
        circles.append(Circle(0.05 + 0.15 * weight, x, y, (1 + int(radius * most)) ** 3, shade))
    return circles


def _with_circles(image: Tensor, circles: Sequence[Circle], unit: float, is_byte: bool) -> Tensor:
    """Blend an image with itself under opaque circles, one more each time: float32 `[3, H, W]`."""
    height, width = image.shape[-2:]
    result, overlay = (image.to(torch.float32, copy=True) for _ in range(2))
    left, top, right, bottom = width, height, 0, 0  # around all circles so far
    for circle in circles:
        ends = [max(at - circle.radius, 0) for at in (circle.x, circle.y)]
        ends += [min(at + circle.radius + 1, side) for at, side in ((circle.x, width), (circle.y, height))]
        left, top, right, bottom = (
            min(left, ends[0]),
            min(top, ends[1]),
            max(right, ends[2]),
            max(bottom, ends[3]),
        )
        if ends[0] < ends[2] and ends[1] < ends[3]:
            _draw(overlay[:, ends[1] : ends[3], ends[0] : ends[2]], circle, ends, unit)
        if left < right and top < bottom:
            seen, over = (each[:, top:bottom, left:right] for each in (result, overlay))
            seen.mul_(1 - circle.weight).add_(over * circle.weight)
            if is_byte:
                seen.round_()
    return result


def _draw(part: Tensor, circle: Circle, ends: Sequence[int], unit: float) -> None:
    """Draw a circle on the part of an image from the left and the top of `ends`."""
    x = torch.arange(ends[0], ends[2], device=part.device) - circle.x
    y = torch.arange(ends[1], ends[3], device=part.device)[:, None] - circle.y
    color = torch.tensor(circle.color, dtype=torch.float32, device="cpu")[:, None, None] / unit
    inside = x * x + y * y <= circle.radius**2
    part.copy_(torch.where(inside, copied_to(part.device, color), part))


def sun_weights(radius: int, circles: Sequence[Circle]) -> list[float]:
    """The weights of the discs of the sun, the smallest first."""
    count = radius // _RING
    total = sum(circle.radius for circle in circles)
    most = min(sum(circle.weight * circle.radius for circle in circles) / total * 5, 1.0)
    return [float(weight) ** 3 for weight in np.linspace(most, 0.0, count)]


def _with_sun(
    values: Tensor, center: tuple[int, int], radius: int, color: Sequence[float], weights: Sequence[float]
) -> Tensor:
    """Blend bytes or floats `[3, H, W]` with a color in discs, the smallest first."""
    height, width = values.shape[-2:]
    radii = np.linspace(1, radius, len(weights)).astype(np.int64)
    x = torch.arange(width, device=values.device) - center[0]
    y = torch.arange(height, device=values.device)[:, None] - center[1]
    ends = copied_to(values.device, torch.from_numpy(radii * radii))
    smallest = torch.searchsorted(ends, x * x + y * y)  # of the discs that have a pixel
    if values.dtype != torch.uint8:
        left = torch.tensor(
            [1.0, *np.cumprod(1 - np.array(weights[::-1]))][::-1], dtype=torch.float32, device="cpu"
        )
        rest = copied_to(values.device, left)[smallest]
        shade = torch.tensor(color, dtype=torch.float32, device="cpu")[:, None, None] / 255
        return values * rest + copied_to(values.device, shade) * (1 - rest)
    levels = torch.arange(256, dtype=torch.float64, device="cpu")
    shades = torch.tensor(color, dtype=torch.float64, device="cpu")[:, None]
    tables = [levels.expand(3, 256)]
    for weight in weights[::-1]:
        seen = (levels * (1 - weight) + shades * weight).round().long()
        tables.append(tables[-1].gather(1, seen))
    table = copied_to(values.device, torch.stack(tables[::-1], 1).byte()).flatten(1)
    first, result = smallest * 256, torch.empty_like(values)
    for levels_of, plane, target in zip(table, values, result, strict=True):
        torch.take(levels_of, first + plane, out=target)
    return result


@composite("sun_flare", channels=(3,), host_columns=("position", "revolutions", "count", "circles"))
def _flared(
    images: Tensor,
    position: Tensor,
    revolutions: Tensor,
    count: Tensor,
    circles: Tensor,
    src_radius: int,
    src_color: Sequence[float],
) -> Tensor:
    """Add circles, and the sun."""
    (height, width), result = images.shape[-2:], torch.empty_like(images)
    is_byte = images.dtype == torch.uint8
    rows = zip(position.tolist(), revolutions.tolist(), count.tolist(), circles.double().numpy(), strict=True)
    for n, ((across, down), angle, number, draws) in enumerate(rows):
        center = int(width * across), int(height * down)
        shown = flare_circles((height, width), center, angle, src_color, draws[: int(number)])
        values = _with_circles(images[n], shown, 1.0 if is_byte else 255.0, is_byte)
        values = values.byte() if is_byte else values
        weights = sun_weights(src_radius, shown)
        result[n] = _with_sun(values, center, src_radius, src_color, weights).to(images.dtype)
    return result


@dataclass(frozen=True)
class RandomSunFlare(_Chance):
    """Add a sun, whose discs become fainter outwards, and circles on a line through it.

    Args:
        flare_roi: where the center of the sun may be: left, top, right, bottom as fractions of the sides.
        src_radius: radius of the sun in pixels, from 10.
        src_color: its color, three numbers from 0 to 255 or one for all channels; circles are darker by up to
            a fifth.
        angle_range: range of the angle of the line, in revolutions from 0 to 1, clockwise from the x axis.
        num_flare_circles_range: how many circles: a number, or a range, from 1 to 64.
        p: probability, from 0 to 1.

    Source:
        `RandomSunFlare` of Albumentations with method "overlay", by `cv2.circle` and `cv2.addWeighted`.

    Example:
        >>> RandomSunFlare(p=1.0)(torch.full((3, 20, 30), 255, dtype=torch.uint8)).amax().item()
        255
    """

    flare_roi: Sequence[float] = (0.0, 0.0, 1.0, 0.5)
    src_radius: int = 400
    src_color: FillValue = (255.0, 255.0, 255.0)
    angle_range: Range = (0.0, 1.0)
    num_flare_circles_range: int | Sequence[int] = (6, 10)
    p: float = 0.5

    _checks = checks(
        flare_roi=region,
        src_radius=(_RING, 1 << 20),
        src_color=checked_color,
        angle_range=(0.0, 1.0),
        num_flare_circles_range=(1, 64),
    )

    def rules(self, build: Build) -> None:
        left, top, right, bottom = self.flare_roi
        counts: Any = self.num_flare_circles_range
        chosen, revolutions = build.chance(self.p), build.uniform(*self.angle_range)
        position = build.consecutive([build.uniform(left, right), build.uniform(top, bottom)])
        count = build.whole(counts[0], counts[1] - counts[0] + 1)
        circles = build.consecutive([build.uniform() for _ in range(_DRAWS * counts[1])])
        columns = {
            "position": Column("registers", position, (2,)),
            "revolutions": Column("registers", revolutions),
            "count": Column("registers", count, (), "int64"),
            "circles": Column("registers", circles, (counts[1], _DRAWS)),
        }
        options = {"src_radius": self.src_radius, "src_color": self.src_color}
        build.operator(OperatorStep("sun_flare", columns, options, chosen, "draws circles"))
