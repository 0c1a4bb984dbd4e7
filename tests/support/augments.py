"""`orbbec.augment` in NumPy, written for clarity: the oracle of its kernels."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec.augment import Output, Sampling, Values
from orbbec.augment.codes import STEPS
from orbbec.bridge.arguments import Array, is_ragged

_BLOCK = 16  # columns; OpenCV 5 rounds the columns after the last whole block differently
NONE, MATRIX, HUE, GAMMA, POSTERIZE, SOLARIZE, CONTRAST = (
    STEPS[name] for name in ("none", "matrix", "hue", "gamma", "posterize", "solarize", "contrast")
)
_GRAY = np.array([0.2989, 0.587, 0.114], np.float32)


def fused(images: Any, matrix: Any, size: tuple[int, int], **options: Any) -> Any:
    """`orbbec.augment` with the fields of its structs as keywords."""
    fields: list[Any] = [
        kind(**{name: options.pop(name) for name in kind._fields if name in options})
        for kind in (Sampling, Values, Output)
    ]
    return orbbec.augment(images, matrix, size, *fields, **options)


def augment(
    images: Any,
    matrix: Any,
    size: tuple[int, int],
    *,
    colors: Any = None,
    erase: Any = None,
    mean: Any = None,
    std: Any = None,
    dtype: torch.dtype | None = None,
    channels_last: bool | None = None,
    interpolation: str = "linear",
    border: str = "constant",
    fill: Any = 0,
    out: Any = None,
) -> Any:
    """The result of `orbbec.augment` for the same fields.

    Sampling, color matrices, erasing and normalization are exact; hue, gamma and contrast may differ from a
    kernel in the last bits, since powers and sums are computed in float64 here.

    Example:
        >>> image = torch.tensor([[[10, 20]]], dtype=torch.uint8)
        >>> invert = np.zeros((1, 16), np.float32)
        >>> invert[0, [0, 1, 5, 9, 10, 11, 12]] = [MATRIX, -1, -1, -1, 1, 1, 1]
        >>> augment(image, np.eye(2, 3), (1, 2), colors=invert).tolist()
        [[[245, 235]]]
    """
    sources, given = _sources(images)
    count, channels = len(sources), _channels(images)
    max_value = np.float32(255 if given == torch.uint8 else 1)
    maps = np.broadcast_to(_numbers(matrix), (count, *_numbers(matrix).shape[-2:])).astype(np.float32)
    fills = np.broadcast_to(np.array(fill, np.float32).reshape(-1), channels).astype(np.float32)
    if given == torch.uint8:
        fills = np.clip(np.rint(fills), 0, 255)
    program = (
        None if colors is None else np.broadcast_to(_numbers(colors), (count, *_numbers(colors).shape[-2:]))
    )
    results = []
    for n, source in enumerate(sources):
        pixels = sample(source, maps[n], size, interpolation, border, fills)
        if program is not None:
            pixels = np.repeat(pixels, 3, axis=-1) if channels == 1 else pixels
            for row in program[n].astype(np.float32):
                pixels = color(pixels, row, max_value, given == torch.uint8)
            pixels = pixels[..., :channels]
        for box in [] if erase is None else _numbers(erase)[n].astype(np.float32):
            left, top, right, bottom = (max(0, int(edge)) for edge in box[:4])
            pixels[top:bottom, left:right] = (box[4:8] * max_value)[:channels]
        results.append(pixels)
    target = given if dtype is None else dtype
    stacked = np.stack(results) if results else np.zeros((0, *size, channels), np.float32)
    stored = store(stacked, given, target, mean, std)
    return _restore(stored, images, channels_last, out)


def fma(a: Any, b: Any, c: Any) -> Array:
    """`a * b + c` in float32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, so that rounding it again is harmless.
    """
    product = np.float64(a) * np.float64(b)
    term = np.broadcast_to(np.float64(c), np.broadcast_shapes(np.shape(product), np.shape(c)))
    total = product + term
    with np.errstate(invalid="ignore", over="ignore"):
        virtual = total - product
        error = (product - (total - virtual)) + (term - virtual)
        up = (error > 0) == (total > 0)
        bits = np.atleast_1d(total).view(np.int64).reshape(total.shape)
        nudged = np.where(
            (error != 0) & (bits % 2 == 0) & np.isfinite(total), bits + np.where(up, 1, -1), bits
        )
        return np.asarray(np.atleast_1d(nudged).view(np.float64).reshape(total.shape).astype(np.float32))


def positions(matrix: Array, size: tuple[int, int]) -> tuple[Array, Array]:
    """The source positions of the output pixels: x and y, float32 `[height, width]`."""
    height, width = size
    x, y = np.arange(width, dtype=np.float32)[None, :], np.arange(height, dtype=np.float32)[:, None]
    in_block = x < width // _BLOCK * _BLOCK

    def row(m: Array) -> Array:
        product = y * m[1]
        return np.where(in_block, fma(m[0], x, product + m[2]), fma(x, m[0], product) + m[2])

    with np.errstate(all="ignore"):
        if len(matrix) == 2:
            return row(matrix[0]), row(matrix[1])
        weight = row(matrix[2])
        return row(matrix[0]) / weight, row(matrix[1]) / weight


def sample(
    source: Array, matrix: Array, size: tuple[int, int], interpolation: str, border: str, fill: Array
) -> Array:
    """Read float32 `[H, W, C]` at source positions: float32 `[height, width, C]`, not rounded."""
    at_x, at_y = positions(matrix, size)
    finite = np.isfinite(at_x) & np.isfinite(at_y)
    x, y = np.where(finite, at_x, np.float32(-4e9)), np.where(finite, at_y, np.float32(-4e9))
    if interpolation == "nearest":
        result = _tap(source, np.rint(x), np.rint(y), border, fill)
        return np.where(finite[..., None], result, fill)
    left, top = np.floor(x), np.floor(y)
    a, b = (x - left)[..., None], (y - top)[..., None]
    rows = []
    for below in (0, 1):
        from_, to = (
            _tap(source, left.astype(np.float64) + i, top.astype(np.float64) + below, border, fill)
            for i in (0, 1)
        )
        rows.append(fma(a, to - from_, from_))
    return np.where(finite[..., None], fma(b, rows[1] - rows[0], rows[0]), fill)


def color(v: Array, row: Array, max_value: np.float32, is_byte: bool) -> Array:
    """One step of a color program on float32 `[H, W, C]`."""
    code, a = int(row[0]), row[1:]
    if code == NONE:
        return v
    if code == MATRIX:
        m, t = a[:9].reshape(3, 3), a[9:12] * max_value
        r, g, b = v[..., 0], v[..., 1], v[..., 2]
        v = np.stack([fma(m[c, 2], b, fma(m[c, 1], g, fma(m[c, 0], r, t[c]))) for c in range(3)], -1)
    elif code == HUE:
        v = turn_hue(v * np.float32(1 / max_value), a[0]) * max_value
    elif code == GAMMA:
        with np.errstate(invalid="ignore"):
            raised = np.power(np.float64(v) / max_value, np.float64(a[0]))
        v = (np.float64(max_value) * a[1] * raised).astype(np.float32)
    elif code == POSTERIZE:
        v = _posterize(v, int(a[0]), is_byte)
    elif code == SOLARIZE:
        below = np.minimum(v + a[2] * max_value, max_value)
        v = np.where(v >= a[0] * max_value, v if a[1] else max_value - v, below)
    elif code == CONTRAST:
        gray = fma(v[..., 2], _GRAY[2], fma(v[..., 1], _GRAY[1], v[..., 0] * _GRAY[0]))
        mean = np.float32(np.float64(gray).mean())
        v = fma(mean, np.float32(1) - a[0], v * a[0])
    else:
        raise ValueError(f"augment: expected codes from 0 to 6, but got {code}")
    if code in (MATRIX, GAMMA, CONTRAST):
        v = np.clip(v, np.float32(0), max_value)
    return v


def turn_hue(rgb: Array, turn: np.float32) -> Array:
    """Convert RGB from 0 to 1 to HSV, shift the hue, and convert back, in float32."""
    one = np.float32(1)
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high, low = rgb.max(-1), rgb.min(-1)
    gray = high == low
    divisor = np.where(gray, one, high - low)
    saturation = (high - low) / np.where(gray, one, high)
    red, green = high == r, high == g
    ahead, behind = np.where(red, b, np.where(green, r, g)), np.where(red, g, np.where(green, b, r))
    start = np.where(red, 0, np.where(green, 2, 4)).astype(np.float32)
    sixths = ((high - ahead) / divisor + start) - (high - behind) / divisor
    circle = sixths * np.float32(1 / 6) + one
    hue = np.where(circle >= 1, circle - one, circle) + np.float32(turn)
    hue = np.where(hue >= 1, hue - one, np.where(hue < 0, hue + one, hue))
    sixths = hue * np.float32(6)
    sector = sixths.astype(np.int64)
    part, rest = saturation * (sixths - sector.astype(np.float32)), one - saturation
    falling, rising, lowest = (np.clip(f * high, 0, 1) for f in (one - part, part + rest, rest))
    by_sector = [
        (high, rising, lowest),
        (falling, high, lowest),
        (lowest, high, rising),
        (lowest, falling, high),
        (rising, lowest, high),
        (high, lowest, falling),
    ]
    return np.stack([np.choose(sector % 6, [colors[c] for colors in by_sector]) for c in range(3)], -1)


def store(v: Array, given: torch.dtype, target: torch.dtype, mean: Any, std: Any) -> Tensor:
    """Normalize float32 `[N, H, W, C]` and cast it to a tensor of `target`."""
    if given == torch.uint8 and target != torch.uint8:
        v = v * np.float32(1 / 255)
    if mean is not None:
        v = v - np.array(mean, np.float32)
    if std is not None:
        v = v / np.array(std, np.float32)
    if target != torch.uint8:
        return torch.from_numpy(np.ascontiguousarray(v)).to(target)
    v = v if given == torch.uint8 else v * np.float32(255)
    return torch.from_numpy(np.clip(np.rint(np.nan_to_num(v)), 0, 255).astype(np.uint8))


def _posterize(v: Array, bits: int, is_byte: bool) -> Array:
    if is_byte:
        step = np.float32(2 ** (8 - bits))
        return np.floor(v / step) * step
    levels = np.float32(2**bits)
    return np.clip(np.floor(v * levels), np.float32(0), levels - 1) * (np.float32(1) / levels)


def _tap(source: Array, x: Array, y: Array, border: str, fill: Array) -> Array:
    height, width = source.shape[:2]
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    if border == "constant":
        rows, columns = (np.where(inside, p, 0).astype(np.int64) for p in (y, x))
        return np.where(inside[..., None], source[rows, columns], fill)
    return source[_border_index(y, height, border), _border_index(x, width, border)]


def _border_index(position: Array, size: int, border: str) -> Array:
    p = position.astype(np.int64)
    if border == "replicate" or size == 1:
        return np.clip(p, 0, size - 1)
    if border == "wrap":
        return p % size
    seam = 1 if border == "reflect101" else 0
    period = 2 * (size - seam)
    p = p % period
    return np.where(p < size, p, period - 1 + seam - p)


def _numbers(values: Any) -> Array:
    return np.asarray(values.detach().cpu().numpy() if isinstance(values, Tensor) else values, np.float64)


def _sources(images: Any) -> tuple[list[Array], torch.dtype]:
    """The images as float32 `[H, W, C]`, and their dtype."""
    if isinstance(images, Tensor):
        tensor = images.detach().cpu().reshape(-1, *images.shape[-3:])
        return list(tensor.permute(0, 2, 3, 1).float().numpy()), images.dtype
    if is_ragged(images):
        pixels, channels = images.buffer.cpu().numpy(), images.channels
        sources = [
            pixels[offset : offset + height * width * channels].reshape(height, width, channels)
            for offset, height, width in images.layout.tolist()
        ]
        return [source.astype(np.float32) for source in sources], torch.uint8
    array = np.asarray(images)
    array = array[None, ..., None] if array.ndim == 2 else array.reshape(-1, *array.shape[-3:])
    return list(array.astype(np.float32)), torch.uint8 if array.dtype == np.uint8 else torch.float32


def _channels(images: Any) -> int:
    if isinstance(images, Tensor):
        return images.shape[-3]
    if isinstance(images, np.ndarray):
        return 1 if images.ndim == 2 else images.shape[-1]
    return int(images.channels)


def _restore(stored: Tensor, images: Any, channels_last: bool | None, out: Any) -> Any:
    """The result with the type and layout that the operator gives."""
    nchw = stored.permute(0, 3, 1, 2)
    if isinstance(images, np.ndarray):
        array = (
            stored.numpy()
            if images.ndim == 4
            else stored[0].numpy()
            if images.ndim == 3
            else stored[0, ..., 0].numpy()
        )
        if out is not None:
            out[...] = array
        return array if out is None else out
    if channels_last is None and isinstance(images, Tensor) and images.dim() == 4:
        channels_last = images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()
    result = nchw if channels_last else nchw.contiguous()
    if isinstance(images, Tensor):
        result = result.to(images.device) if images.dim() == 4 else result[0].to(images.device)
    if out is not None:
        out.copy_(result)
        return out
    return result
