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
    """Box-Muller by the standard library of longdouble, of pairs of words along the last axis: float64."""
    first, second = words[..., 0::2], words[..., 1::2]
    from_one = (_MASK - first).astype(np.longdouble) / (1 << 32)
    fractions = (first.astype(np.longdouble) + 1) / (1 << 32)
    near_one = from_one < 0.5
    logarithm = np.where(near_one, np.log1p(-np.where(near_one, from_one, 0)), np.log(fractions))
    quarters = (second + np.uint64(1 << 29)) >> np.uint64(30)
    angle = (second.astype(np.int64) - (quarters << np.uint64(30)).astype(np.int64)).astype(np.longdouble)
    angle *= 8 * np.arctan(np.longdouble(1)) / (1 << 32)
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = quarters & np.uint64(3)
    cosines = np.select([turn == 0, turn == 1, turn == 2], [cosine, -sine, -cosine], sine)
    sines = np.select([turn == 0, turn == 1, turn == 2], [sine, cosine, -sine], -cosine)
    radius = np.sqrt(-2 * logarithm)
    pairs = np.stack([radius * cosines, radius * sines], -1)
    return pairs.reshape(words.shape).astype(np.float64)


def float32_normals(words: Array) -> Array:
    """The bits of core/normal.h, step by step: float32, of pairs of words along the last axis."""
    first, second = words[..., 0::2], words[..., 1::2]
    radius = np.sqrt(_squared_radius(first))
    cosine, sine = _cosine_sine(second)
    return np.stack([radius * cosine, radius * sine], -1).reshape(words.shape)


def _fused(a: Array, b: Array | np.float32, c: Array | np.float32) -> Array:
    """The sum a * b + c, rounded once: the product is exact in longdouble, and the sum all but exact."""
    result: Array = (a.astype(np.longdouble) * b + c).astype(np.float32)
    return result


def _series(t: Array, *coefficients: str) -> Array:
    """A polynomial by Horner; the coefficients are in hexadecimal, the highest power first."""
    total = np.full_like(t, float.fromhex(coefficients[0]))
    for coefficient in coefficients[1:]:
        total = _fused(total, t, np.float32(float.fromhex(coefficient)))
    return total


def _squared_radius(words: Array) -> Array:
    about = words.astype(np.float32) + np.float32(1)
    exponent = (about.view(np.int32) - 0x3F3504F3) >> 23
    distance = words.astype(np.int64) + 1 - (np.int64(1) << exponent.astype(np.int64))
    t = np.ldexp(distance.astype(np.float32), -exponent)
    series = _series(
        t,
        *("0x1.45338ap-3", "-0x1.0c6338p-2", "0x1.0e2e38p-2", "-0x1.2197c6p-2", "0x1.5437bap-2"),
        *("-0x1.99b308p-2", "0x1.0003bep-1", "-0x1.555524p-1", "0x1.fffffcp-1"),
    )
    halvings = (32 - exponent).astype(np.float32)
    of_t = _fused(t * series, t, np.float32(-2) * t)
    return _fused(halvings, np.float32(float.fromhex("0x1.62e430p+0")), of_t)


def _cosine_sine(words: Array) -> tuple[Array, Array]:
    turned = (words + np.uint64(1 << 29)) & _MASK
    from_quarter = (turned & np.uint64(0x3FFFFFFF)).astype(np.int64) - (1 << 29)
    x = from_quarter.astype(np.float32) * np.float32(2.0**-30)
    square = x * x
    s = _series(square, "-0x1.2dc84cp-8", "0x1.466004p-4", "-0x1.4abbbep-1", "-0x1.777a5cp-25")
    s = _fused(x, np.float32(float.fromhex("0x1.921fb6p+0")), x * s)
    c = _series(square, "0x1.d9d57ep-11", "-0x1.55c5e0p-6", "0x1.03c1dep-2", "-0x1.3bd3ccp+0", "0x1p+0")
    quarter = turned >> np.uint64(30)
    swapped, cosine_is_negative = quarter % 2 == 1, (quarter == 1) | (quarter == 2)
    cosine, sine = np.where(swapped, s, c), np.where(swapped, c, s)
    return np.where(cosine_is_negative, -cosine, cosine), np.where(quarter >= 2, -sine, sine)
