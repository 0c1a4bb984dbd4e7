"""Random numbers from Philox4x32-10."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Matrix, name_value
from orbbec.bridge.buffer_pool import pooled_output
from orbbec.bridge.dispatch import call_into
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.noise import key_value, whole_table

SampleIds = Matrix | list[int] | tuple[int, ...]


def philox_noise(
    sample_ids: SampleIds,
    channels: int,
    size: tuple[int, int],
    *,
    kind: str = "uniform",
    seed: int = 0,
    epoch: int = 0,
    transform_index: int = 0,
) -> Tensor:
    """A noise image for each sample.

    The number of a pixel is a function of seed, epoch, sample id, transform index, channel, y, x and width
    only: word `x % 4` of the Philox block at draw number `(channel * height + y) * ceil(width / 4) + x // 4`.
    Normal numbers are computed from words 0 and 1, or 2 and 3, by the Box-Muller transform in float32; the
    largest error seen is 3.3 units in the last place (core/normal.h).

    Args:
        sample_ids: whole numbers `[N]`; the result is on their device.
        channels: at least 0.
        size: (height, width).
        kind: "uniform", from 0 to 1 - 2^-24 in steps of 2^-24, or "normal" with mean 0 and deviation 1.
        seed: from 0 to 2^63 - 1.
        epoch: from 0 to 2^63 - 1.
        transform_index: index of the transform in its pipeline, from 0 to 65535.

    Returns:
        float32 `[N, channels, height, width]`.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: a value is out of its range.

    Source:
        Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).

    Example:
        >>> one, two = philox_noise([7, 8], 1, (2, 2))
        >>> bool((one == philox_noise([7], 1, (2, 2))[0]).all()), bool((one == two).any())
        (True, False)
    """
    op = "philox_noise"
    ids, (height, width) = whole_table(op, "sample_ids", sample_ids), size
    shape = *ids.shape, channels, height, width
    result: Tensor = call_into(
        op,
        pooled_output(shape, torch.float32, False, ids) if len(shape) == 4 else None,
        ids,
        channels,
        height,
        width,
        name_value(op, "kind", kind),
        key_value(op, "seed", seed),
        key_value(op, "epoch", epoch),
        key_value(op, "transform_index", transform_index),
    )
    return result


def philox_draws(
    sample_ids: SampleIds,
    count: int,
    *,
    kind: str = "uniform",
    below: int = 1,
    seed: int = 0,
    epoch: int = 0,
    transform_index: int = 0,
) -> Tensor:
    """The first numbers of each sample's stream, in the order that a transform draws them.

    Args:
        sample_ids: whole numbers `[N]`, on the CPU.
        count: number of draws, at least 0.
        kind: "uniform", from 0 to 1 - 2^-24; "normal", of float32, two words each; "below", whole numbers
            from 0 to `below` - 1 with equal probabilities within 2^-32.
        below: from 1 to 2^32 - 1.
        seed: see `philox_noise`.
        epoch: see `philox_noise`.
        transform_index: see `philox_noise`.

    Returns:
        float64 `[N, count]` on the CPU.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: a value is out of its range.

    Source:
        See `philox_noise`; draw number `i // 4`, word `i % 4`.

    Example:
        >>> dice = philox_draws([0, 1], 100, kind="below", below=6)
        >>> sorted(dice.unique().tolist())
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """
    op = "philox_draws"
    result: Tensor = operators.philox_draws(
        whole_table(op, "sample_ids", sample_ids),
        count,
        name_value(op, "kind", kind),
        below,
        key_value(op, "seed", seed),
        key_value(op, "epoch", epoch),
        key_value(op, "transform_index", transform_index),
    )
    return result


def philox_blocks(counters: Matrix, key: tuple[int, int]) -> Tensor:
    """Philox4x32-10 blocks for given counters and key.

    Args:
        counters: int64 `[K, 4]` on the CPU; only the low 32 bits of each are used.
        key: two words, each from 0 to 2^32 - 1.

    Returns:
        int64 `[K, 4]`, each number from 0 to 2^32 - 1.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: a shape or value is invalid.

    Source:
        See `philox_noise`.

    Example:
        >>> words = philox_blocks(torch.zeros(1, 4, dtype=torch.int64), (0, 0))[0]
        >>> [f"{word:08x}" for word in words.tolist()]
        ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    result: Tensor = operators.philox_blocks(whole_table("philox_blocks", "counters", counters), *key)
    return result


@register_fake("philox_noise", sample_ids=1)
def _(sample_ids: Tensor, channels: int, height: int, width: int, *options: Any) -> Tensor:
    return sample_ids.new_empty((sample_ids.size(0), channels, height, width), dtype=torch.float32)


register_out_fake("philox_noise", sample_ids=1, out=4)


@register_fake("philox_draws", sample_ids=1)
def _(
    sample_ids: Tensor,
    count: int,
    kind: str,
    below: int,
    seed: int,
    epoch: int,
    transform_index: int,
    transform_count: int = 1,
) -> Tensor:
    return sample_ids.new_empty((transform_count * sample_ids.size(0), count), dtype=torch.float64)


@register_fake("philox_blocks", counters=2)
def _(counters: Tensor, key_low: int, key_high: int) -> Tensor:
    return torch.empty_like(counters, memory_format=torch.contiguous_format)
