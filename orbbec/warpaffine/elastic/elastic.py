"""Elastic transforms: smoothed noise, and remap by it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from orbbec.bridge.arguments import (
    Fill,
    Images,
    Matrix,
    constant_numbers,
    copied_to,
    on_device_of,
    operator_input,
    size_values,
)
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_for, call_into
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.names import Border, Interpolation, border_name
from orbbec.bridge.noise import key_value, sample_table, whole_table
from orbbec.bridge.plain import is_real, is_sequence, shown
from orbbec.bridge.pointwise import count_of
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.filters.arguments import kernel_sizes
from orbbec.warpaffine.remap import remap

_LARGEST_SIGMA = 4095.0  # gives the largest window of gaussian_blur
Strength = float | tuple[float, float] | Matrix


def elastic_displacement(
    sample_ids: Any,
    size: tuple[int, int],
    alpha: Strength = 50.0,
    sigma: Strength = 5.0,
    *,
    seed: int = 0,
    epoch: int = 0,
    transform_index: int = 0,
) -> Tensor:
    """The displacement field of `elastic_transform`.

    `alpha * blur(2 * u - 1)`, where `u` is the uniform `philox_noise` of two channels, the first for x, and
    `blur` is a Gaussian blur with `sigma` and an odd window of about `int(8 * sigma + 1)` pixels and border
    reflect101. Smoothing reduces the noise strongly: at `sigma` 5, displacements have a standard deviation of
    about `0.033 * alpha`.

    Args:
        sample_ids: whole numbers `[N]`; the result is on their device.
        size: (height, width) of the images.
        alpha: displacement in pixels for noise of 1: a number, (x, y), or `[N]` or `[N, 2]`, one per image.
        sigma: standard deviation of the smoothing in pixels, from 0 (none) to 4095: a number, (x, y), or
            `[N]` or `[N, 2]` on the CPU.
        seed: seed of the noise, from 0 to 2^63 - 1.
        epoch: epoch of the noise, from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.

    Returns:
        float32 `[N, 2, height, width]` in pixels: x, then y.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: a shape or value is invalid.

    Source:
        torchvision's `ElasticTransform`, whose displacements are `alpha * width / height / 2` pixels along x
        and `alpha * height / width / 2` along y: half of those here for a square. For different sigmas, it
        uses different windows for x and y.

    Example:
        >>> elastic_displacement([3], (4, 5), alpha=0.0).abs().max().item()
        0.0
    """
    op = "elastic_displacement"
    ids = whole_table(op, "sample_ids", sample_ids)
    if ids.dim() != 1:
        raise ValueError(f"{op}: expected sample_ids of shape [N], but got {list(ids.shape)}")
    height, width = size_values(op, size)
    alphas, sigmas = _strength(op, "alpha", alpha, ids.size(0)), _sigma(op, sigma, ids.size(0))
    key = _key(op, seed, epoch, transform_index)
    displacement: Tensor = call_for(op, _field, ids, (height, width), alphas, sigmas, key, False)
    return displacement


def elastic_transform(
    images: Images,
    alpha: Strength = 50.0,
    sigma: Strength = 5.0,
    *,
    interpolation: Interpolation = "linear",
    border: Border = "constant",
    fill: Fill = 0,
    seed: int = 0,
    sample_ids: Matrix | None = None,
    epoch: int = 0,
    transform_index: int = 0,
) -> Any:
    """Displace the pixels of each image by its own smoothed noise.

    Output pixel `(x, y)` reads source position `(x + dx, y + dy)`, with the `elastic_displacement` of its
    image. The noise depends only on seed, epoch, sample id, transform index and size, so that masks and
    points can be transformed equally.

    An `ImageBatch` is processed size by size: one set of launches per distinct size, then one copy per image
    and one of the whole batch. Sizes are read on the host, without device synchronization.

    Args:
        images: see `warp_affine`.
        alpha: see `elastic_displacement`, in pixels.
        sigma: see `elastic_displacement`, in pixels.
        interpolation: see `warp_affine`.
        border: see `warp_affine`; "transparent" is not supported.
        fill: see `warp_affine`.
        seed: seed of the noise, from 0 to 2^63 - 1.
        sample_ids: whole numbers `[N]` that identify the images. None: 0 to N - 1.
        epoch: epoch of the noise, from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.

    Returns:
        Images of the type, sizes, dtype and memory format of `images`, on their device.

    Raises:
        TypeError: an argument has an unsupported type or dtype.
        ValueError: a shape, value or name is invalid.

    Source:
        `cv2.remap` at these positions. With the same displacements and `fill` None, torchvision's `elastic`
        differs by at most 1 level in 0.01 % of uint8 values; it blends any other `fill` into the border
        twice.

    Example:
        >>> image = torch.arange(6, dtype=torch.uint8).reshape(1, 2, 3)
        >>> elastic_transform(image, alpha=0.0).tolist()
        [[[0, 1, 2], [3, 4, 5]]]
    """
    op = "elastic_transform"
    inputs = operator_input(op, "images", images)
    count = count_of(inputs)
    border = border_name(op, border)
    if border == "transparent":
        raise ValueError(f"{op}: border 'transparent' is for warps only")
    ids = sample_table(op, sample_ids, count)
    if ids is None:
        ids = torch.arange(count, device=inputs.images.device if inputs.layout is None else "cpu")
    strengths = _strength(op, "alpha", alpha, count), _sigma(op, sigma, count)
    key = _key(op, seed, epoch, transform_index)

    def displace(same: Any, rows: list[int] | None, size: tuple[int, int]) -> Any:
        """Displace images of one size; `rows` are their indices in the batch."""
        own_ids = ids if rows is None else ids[rows]
        alphas, sigmas = (_of_rows(value, rows) for value in strengths)
        on_device = copied_to(inputs.images.device, own_ids)
        x, y = call_for(op, _field, on_device, size, alphas, sigmas, key, True).unbind(1)
        return call_for(op, remap, same, x, y, interpolation=interpolation, border=border, fill=fill)

    if inputs.layout is None:
        return displace(images, None, (inputs.images.size(2), inputs.images.size(3)))
    return _by_size(images, displace)


@dataclass(frozen=True)
class _Some:
    """A view of some images of a batch."""

    buffer: Tensor
    layout: Tensor
    channels: int


def _by_size(batch: Any, displace: Callable[[Any, list[int], tuple[int, int]], Tensor]) -> Any:
    """Apply `displace` to the images of each size; returns a batch like `batch`."""
    result = batch.with_pixels(batch.buffer, batch.channels)
    groups: dict[tuple[int, int], list[int]] = {}
    for row, (height, width) in enumerate(batch.sizes.tolist()):
        groups.setdefault((height, width), []).append(row)
    for size, rows in groups.items():
        layout = copied_to(batch.buffer.device, batch.host_layout[rows])
        displaced = displace(_Some(batch.buffer, layout, batch.channels), rows, size)
        for row, pixels in zip(rows, displaced, strict=True):
            result[row].copy_(pixels.permute(1, 2, 0))
    return result


def _field(
    ids: Tensor,
    size: tuple[int, int],
    alpha: tuple[float, float] | Tensor,
    sigma: tuple[float, float] | Tensor,
    key: tuple[int, int, int],
    adds_pixels: bool,
) -> Tensor:
    """The displacements, or with `adds_pixels` the positions that they lead to: x, then y."""
    count, device = ids.size(0), ids.device
    if isinstance(sigma, tuple):
        windows = [_window(sigma[1]), _window(sigma[0])]
        sigmas = _row_of(sigma[::-1], device)
    else:
        sigmas = sigma.flip(1)
        windows = kernel_sizes("gaussian_blur", (8 * sigmas + 1).to(torch.int64) | 1, count)
    alphas = _row_of(alpha, device) if isinstance(alpha, tuple) else alpha
    alphas = on_device_of(ids, alphas, torch.float32)
    arguments = ids, list(size), windows, sigmas, alphas, adds_pixels, *key
    buffer = pooled_output((count, 2, *size), torch.float32, False, ids, sigmas, alphas)
    field: Tensor = call_into("elastic_displacement", buffer, *arguments)
    return field


def _key(op: str, seed: Any, epoch: Any, transform_index: Any) -> tuple[int, int, int]:
    index = key_value(op, "transform_index", transform_index)
    return key_value(op, "seed", seed), key_value(op, "epoch", epoch), index


def _row_of(pair: tuple[float, ...], device: torch.device) -> Tensor:
    """float64 `[1, 2]`, without a copy from the host."""
    row = torch.full((1, 2), pair[0], dtype=torch.float64, device=device)
    row[:, 1].fill_(pair[1])
    return row


def _of_rows(value: tuple[float, float] | Tensor, rows: list[int] | None) -> tuple[float, float] | Tensor:
    return value if rows is None or isinstance(value, tuple) else value[rows]


def _window(sigma: float) -> int:
    return int(8 * sigma + 1) | 1


def _strength(op: str, name: str, value: Any, count: int) -> tuple[float, float] | Tensor:
    """(x, y) for all images, or float64 `[count, 2]` on its device."""
    if is_real(value):
        return float(value), float(value)
    if is_sequence(value):
        try:
            x, y = map(float, value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{op}: expected {name} as a number or (x, y), but got {shown(value)}") from error
        return x, y
    table = constant_numbers(op, name, value).to(torch.float64)
    if list(table.shape) == [count]:
        table = table[:, None]
    if list(table.shape) not in ([count, 1], [count, 2]):
        raise ValueError(
            f"{op}: expected {name} of shape [{count}] or [{count}, 2], but got {list(table.shape)}"
        )
    return table.expand(count, 2)


def _sigma(op: str, value: Any, count: int) -> tuple[float, float] | Tensor:
    """Like `_strength`, on the CPU, where the windows are computed."""
    sigma = _strength(op, "sigma", value, count)
    if isinstance(sigma, Tensor) and sigma.device.type != "cpu":
        raise ValueError(f"{op}: expected sigma on the CPU")
    numbers = sigma if isinstance(sigma, tuple) else sigma.flatten().tolist()
    for number in numbers:
        if not 0 <= number <= _LARGEST_SIGMA:
            raise ValueError(f"{op}: expected sigma from 0 to {_LARGEST_SIGMA:g}, but got {number}")
    return sigma


@register_fake("elastic_displacement", sample_ids=1, size=2, sigma=2, alpha=2)
def _(sample_ids: Tensor, size: list[int], *options: Any) -> Tensor:
    return sample_ids.new_empty((sample_ids.size(0), 2, *size), dtype=torch.float32)


register_out_fake("elastic_displacement", sample_ids=1, size=2, sigma=2, alpha=2)


register(
    OpSpec(
        call=elastic_transform,
        dtypes=EVERY_DTYPE,
        host_columns=("sigma",),
        displacement=elastic_displacement,
    )
)
