"""The cases of `benchmarks/ops`, which `tools/bench.py` runs, each with contenders that do the same work."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, is_ragged

try:
    import cv2 as cv2
except ImportError:  # a GPU machine may have only torch and NumPy
    cv2 = None  # type: ignore[assignment]
try:
    from PIL import Image as Image
except ImportError:
    Image = None  # type: ignore[assignment]
try:
    import torchvision as torchvision
    import torchvision.transforms.v2  # torchvision leaves it out
except ImportError:  # it has no CPU-only build
    torchvision = None

T = TypeVar("T")
OURS = "orbbec"  # prefix of our contenders' names
# Taps of an interpolation relative to the floor of a position, in pixels.
TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}


@dataclass(frozen=True)
class Contender:
    """One way of doing the work of a case.

    Args:
        name: library, and formats of input and output.
        run: does the work once; returns an input of `as_array`.
        exact: whether its result must equal the expected one; otherwise the difference is measured.
        least_psnr: lower limit in dB for results that need not be equal.
    """

    name: str
    run: Callable[[], Any]
    exact: bool = True
    least_psnr: float = 0.0


@dataclass(frozen=True)
class Work:
    """A case prepared on a device.

    Args:
        contenders: the first is the reference for relative speeds.
        expected: the expected result, in the form of `as_array`.
        images: number of images processed by one run.
        moved_bytes: the bytes that a run must read, each once, and those that it writes.
        unit: what a time is given per, as in "per image", for the table.
    """

    contenders: Sequence[Contender]
    expected: Array
    images: int
    moved_bytes: int
    unit: str = "per image"


@dataclass(frozen=True)
class Case:
    """A benchmark: `prepare(device)` makes its `Work`, from a seed."""

    name: str
    prepare: Callable[[str], Work]


def share(work: Callable[..., T], *items: Iterable[Any]) -> list[T]:
    """`map` on a persistent pool of as many Python threads as torch uses; OpenCV uses one thread in each.

    If there are fewer items than threads, OpenCV uses all threads instead.

    Example:
        >>> share(lambda a, b: a - b, [5, 7, 9], [1, 2, 3])
        [4, 5, 6]
    """
    rows, threads = list(zip(*items, strict=True)), torch.get_num_threads()
    alone = threads == 1 or len(rows) < threads
    if cv2 is not None:
        cv2.setNumThreads(threads if alone else 1)
    if alone:
        return [work(*row) for row in rows]
    done: list[Any] = [None] * len(rows)

    def run(first: int) -> None:
        done[first::threads] = [work(*row) for row in rows[first::threads]]

    list(_pool(threads).map(run, range(threads)))
    return done


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def as_array(result: Any) -> Array:
    """The result of a contender as one array; images, including tensors `[N, C, H, W]`, as `[N, H, W, C]`.

    Variable-size images become one row of pixels.

    Example:
        >>> as_array(Tensor(2, 3, 4, 5)).shape
        (2, 4, 5, 3)
    """
    if isinstance(result, Tensor):
        return (result.permute(0, 2, 3, 1) if result.dim() == 4 else result).detach().cpu().numpy()
    has_images = is_ragged(result) or isinstance(result, list)
    if not has_images:
        return np.asarray(result)
    images = [as_array(image) for image in result]
    alike = len({image.shape for image in images}) == 1
    return np.stack(images) if alike else np.concatenate([image.ravel() for image in images])


def psnr(actual: Array, expected: Array) -> float:
    """Peak signal-to-noise ratio in dB; the peak is 255 for uint8, else the largest expected value.

    Example:
        >>> round(psnr(np.array([254], np.uint8), np.array([255], np.uint8)), 1)
        48.1
    """
    difference = np.subtract(actual, expected, dtype=np.float64)
    error = np.mean(np.square(difference, out=difference))  # in one buffer, since some results have 600 MB
    peak = 255.0 if expected.dtype == np.uint8 else float(np.abs(expected).max())
    return float("inf") if error == 0 else float(10 * np.log10(peak**2 / error))


def touched_pixels(x: Array, y: Array, source: tuple[int, int], interpolation: str) -> int:
    """The number of distinct pixels of a source of `(height, width)` that are read at `x`, `y`.

    Example:
        >>> touched_pixels(np.array([0.5]), np.array([0.5]), (4, 4), "linear")
        4
    """
    read = np.zeros(source, bool)
    round_half = 0.5 if interpolation == "nearest" else 0.0
    column, row = np.floor(x + round_half).astype(np.int64), np.floor(y + round_half).astype(np.int64)
    for dy in TAPS[interpolation]:
        for dx in TAPS[interpolation]:
            tap_y, tap_x = row + dy, column + dx
            inside = (tap_y >= 0) & (tap_y < source[0]) & (tap_x >= 0) & (tap_x < source[1])
            read[tap_y[inside], tap_x[inside]] = True
    return int(read.sum())


def source_positions(matrix: Array, size: tuple[int, int]) -> tuple[Array, Array]:
    """The source positions of an output of `(height, width)` by an output-to-source matrix.

    Example:
        >>> x, y = source_positions(np.array([[1.0, 0, 5], [0, 1, 7]]), (2, 3))
        >>> float(x[1, 2]), float(y[1, 2])
        (7.0, 8.0)
    """
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float64)
    rows = [row[0] * x + row[1] * y + row[2] for row in matrix]
    return (rows[0] / rows[2], rows[1] / rows[2]) if len(rows) == 3 else (rows[0], rows[1])
