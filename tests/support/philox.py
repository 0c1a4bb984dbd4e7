"""Philox4x32-10 in NumPy, written from the paper: the oracle of all random numbers."""

import numpy as np

from orbbec.bridge.arguments import Array

_MASK = np.uint64(0xFFFFFFFF)


def philox(counters: Array, keys: Array) -> Array:
    """Blocks of four words, uint64 `[..., 4]`, at `counters` `[..., 4]` under `keys` `[..., 2]`.

    Example:
        >>> [hex(word) for word in philox(np.zeros(4, np.uint64), np.zeros(2, np.uint64)).tolist()][:2]
        ['0x6627e8d5', '0xe169c58d']
    """
    c = [np.asarray(counters, np.uint64)[..., i] for i in range(4)]
    keys = np.asarray(keys, np.uint64)
    for turn in range(10):
        k = [
            (keys[..., i] + np.uint64(turn * step)) & _MASK for i, step in ((0, 0x9E3779B9), (1, 0xBB67AE85))
        ]
        left, right = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (right >> np.uint64(32)) ^ c[1] ^ k[0],
            right & _MASK,
            (left >> np.uint64(32)) ^ c[3] ^ k[1],
            left & _MASK,
        ]
    return np.stack(np.broadcast_arrays(*c), -1)


def key_of(seed: int, epoch: int) -> Array:
    """The key that stands for seed and epoch: two words."""
    words = [epoch & 0xFFFFFFFF, epoch >> 32, 0, 0]
    return philox(np.array(words, np.uint64), np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint64))[:2]


def blocks(sample: int, draws: Array, *, seed: int = 0, epoch: int = 0, transform_index: int = 0) -> Array:
    """The words at draw numbers `[...]` of a sample: `[..., 4]`."""
    draws = np.asarray(draws, np.uint64)
    upper = ((draws >> np.uint64(32)) & np.uint64(0xFFFF)) | np.uint64(transform_index << 16)
    sample %= 1 << 64
    ids = [np.full_like(draws, word) for word in (sample & 0xFFFFFFFF, sample >> 32)]
    return philox(np.stack([draws & _MASK, upper, *ids], -1), key_of(seed, epoch))


def noise_words(sample: int, shape: tuple[int, int, int], **key: int) -> Array:
    """The words of a field of noise: uint64 `[channels, height, width]`, and so padded to whole blocks."""
    channels, height, width = shape
    groups = -(-width // 4)
    draws = np.arange(channels * height * groups).reshape(channels, height, groups)
    return blocks(sample, draws, **key).reshape(channels, height, groups * 4)


def uniforms(words: Array) -> Array:
    """float32 from 0 to 1."""
    return (words >> np.uint64(8)).astype(np.float32) / np.float32(1 << 24)


def normals(words: Array) -> Array:
    """float64, of pairs of words along the last axis, in the precision of longdouble."""
    first, second = words[..., 0::2], words[..., 1::2]
    fractions = (first.astype(np.longdouble) + 1) / (1 << 32)
    radius = np.sqrt(-2 * np.log(fractions))
    angle = second.astype(np.longdouble) / (1 << 32) * 8 * np.arctan(np.longdouble(1))
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    return pairs.reshape(words.shape).astype(np.float64)
