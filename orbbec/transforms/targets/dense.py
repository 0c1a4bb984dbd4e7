"""Depth, optical flow and surface normals: read at the pixels of masks; their values follow the geometry.

Output pixel q shows source position s(q); the Jacobian of s has the transform's linear part and zoom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.plan.points import carried, forward_of
from orbbec.transforms.targets.fields import Field
from orbbec.transforms.targets.numbers import is_floating

DENSE_KINDS = ("depth", "flow", "normals")
_CHANNELS = {"flow": 2, "normals": 3}


class Reading(NamedTuple):
    """How a pass reads one image."""

    matrix: Array  # float64 [3, 3]: output pixels to source pixels
    field: Field | None  # how each output pixel reads, instead of the matrix
    border: str
    size: tuple[int, int]  # of the source


def check_dense(kind: str, key: str, value: Any, index: int, is_scaled: bool) -> None:
    """Refuse dense targets of wrong channels, and integers whose values would change."""
    channels = _CHANNELS.get(kind)
    if channels is not None and (value.ndim != 3 or value.shape[0] != channels):
        raise ValueError(
            f"transform_targets: expected {key} of shape [{channels}, H, W], but image {index} has "
            f"{list(value.shape)}"
        )
    if not is_floating(value) and (channels is not None or is_scaled):
        raise TypeError(f"transform_targets: expected {key} as floats, but image {index} has {value.dtype}")


def following(kind: str, values: Tensor, reading: Reading) -> Tensor:
    """Let the values of a dense target, read at the nearest pixels, follow the geometry; see `TargetOptions`.

    Zeros and non-finite values stay as they are.
    """
    exact = values.detach().cpu().double().numpy()
    height, width = exact.shape[-2:]
    if exact.size == 0:
        return values
    y, x = np.mgrid[:height, :width].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        source, jacobian = _linear(reading, x, y)
        changed = _CHANGES[kind](exact, reading, source, jacobian)
    stays = ~np.isfinite(exact) if kind == "depth" else ~np.isfinite(exact).all(0)
    return torch.from_numpy(np.where(stays, exact, changed)).to(values)


def _linear(reading: Reading, x: Array, y: Array) -> tuple[Array, Sequence[Any]]:
    """The source positions `[2, H, W]` of output pixels, and (dx/dx, dx/dy, dy/dx, dy/dy) of them."""
    if reading.field is not None:
        displacement = reading.field.displacement
        across, down = (_slopes(displacement, axis) for axis in (2, 1))
        return np.stack([x, y]) + displacement, (1 + across[0], down[0], across[1], 1 + down[1])
    (a, b, c), (d, e, f), (g, h, i) = reading.matrix.tolist()
    weight = g * x + h * y + i
    source = np.stack([(a * x + b * y + c) / weight, (d * x + e * y + f) / weight])
    if (g, h) == (0.0, 0.0):
        return source, (a / i, b / i, d / i, e / i)
    u, v = source
    return source, ((a - u * g) / weight, (b - u * h) / weight, (d - v * g) / weight, (e - v * h) / weight)


def _slopes(values: Array, axis: int) -> Array:
    return np.asarray(np.gradient(values, axis=axis)) if values.shape[axis] > 1 else np.zeros_like(values)


def _zoom(jacobian: Sequence[Any]) -> Any:
    """Source pixels per output pixel, along a side."""
    a, b, c, d = jacobian
    return np.sqrt(np.abs(a * d - b * c))


def _depth(depth: Array, reading: Reading, source: Array, jacobian: Sequence[Any]) -> Array:
    return np.asarray(depth * _zoom(jacobian))


def _flow(flow: Array, reading: Reading, source: Array, jacobian: Sequence[Any]) -> Array:
    """Where the other end of each vector goes, relative to where this end goes."""
    flow = flow * _mirrored(reading, source)
    a, b, c, d = jacobian
    if not np.ndim(a):  # one for all pixels
        rotated = np.stack([d * flow[0] - b * flow[1], a * flow[1] - c * flow[0]])
        return np.asarray(rotated / (a * d - b * c))
    ends = np.moveaxis(source + flow, 0, -1)
    if reading.field is not None:
        there = reading.field.points(ends)
    else:
        there = carried(forward_of(reading.matrix), ends)
    height, width = flow.shape[1:]
    vectors = np.moveaxis(there, -1, 0) - np.mgrid[:height, :width][::-1]
    return np.where((flow == 0).all(0), 0.0, vectors)


def _normals(normals: Array, reading: Reading, source: Array, jacobian: Sequence[Any]) -> Array:
    """Normals of the surface that the image shows: by the transposed inverse of the linear part."""
    a, b, c, d = jacobian
    x, y = normals[:2] * _mirrored(reading, source) / _zoom(jacobian)
    rotated = np.stack([a * x + c * y, b * x + d * y, normals[2]])
    before, after = ((each**2).sum(0) for each in (normals, rotated))
    return rotated * np.sqrt(np.where(after > 0, before / after, 1.0))


def _mirrored(reading: Reading, source: Array) -> Any:
    """-1 where a border reflects an axis, otherwise 1: `[2, H, W]`, or 1 for all."""
    if reading.border not in ("reflect", "reflect101"):
        return 1.0
    sides = np.array(reading.size[::-1]).reshape(2, 1, 1)
    steps = np.maximum(sides - (reading.border == "reflect101"), 1)
    along = np.floor(source + 0.5) % (2 * steps)
    return np.where(along > (sides - 1), -1.0, 1.0)


_CHANGES = {"depth": _depth, "flow": _flow, "normals": _normals}
