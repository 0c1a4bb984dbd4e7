"""Time files to batches: this loader compared with its alternatives, on the user's own folder.

Every contender reads JPEGs from disk and makes float32 `[N, 3, 224, 224]`: random resized crop, random flip,
normalization. Rounds are interleaved. Each round is one epoch of its contender on the next files: threads and
processes start anew.
"""

from __future__ import annotations

import importlib
import os
import random
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from orbbec.bridge.arguments import Array
from orbbec.data.decode.decoding import Decoding
from orbbec.data.files import ImageFiles
from orbbec.data.loader.loader import Loader
from orbbec.data.readers.paths import image_files
from orbbec.data.sample import Sample, read_bytes
from orbbec.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype
from orbbec.transforms.base.checks import choice

SIDE, BATCH = 224, 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_SCALE = (1 / 255 / np.array(STD, np.float32))[:, None, None]
_OFFSET = (-np.array(MEAN, np.float32) / np.array(STD, np.float32))[:, None, None]
DECODES = ("host", "device")
_JPEG = (".jpg", ".jpeg")

Run = Callable[[Sequence[str], int], int]  # paths, threads -> images


@dataclass
class Files:
    """Image files as a source; `paths` may be replaced by equally many others between epochs."""

    paths: Sequence[str]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Sample:
        return Sample(read_bytes(self.paths[index], index), self.targets(index), index)

    def targets(self, index: int) -> dict[str, Any]:
        """None: there are only images."""
        return {}

    def table(self) -> ImageFiles:
        """The files, for a `Loader`."""
        return ImageFiles(self.paths, columns={})


class Timing(NamedTuple):
    """Milliseconds per image: wall-clock time and CPU time."""

    clock: float
    processor: float


@dataclass
class Row:
    """The measurements of a contender."""

    name: str
    rounds: list[Timing] = field(default_factory=list)

    @property
    def median(self) -> Timing:
        clocks, processors = zip(*self.rounds, strict=True)
        return Timing(statistics.median(clocks), statistics.median(processors))


def jpegs_below(folder: str | os.PathLike[str]) -> list[str]:
    """The JPEGs below a folder, sorted."""
    if not Path(folder).exists():
        raise FileNotFoundError(f"bench-data: expected a folder of JPEGs, but {folder} does not exist")
    found = image_files(folder, _JPEG) if Path(folder).is_dir() else []
    if not found:
        raise ValueError(f"bench-data: expected JPEGs below {folder}, but there are none")
    return found


def measure(
    paths: Sequence[str],
    threads: int,
    images: int,
    rounds: int,
    show: Callable[[str], None] = lambda text: None,
    decode: str = "host",
) -> list[Row]:
    """Time every contender whose packages are installed, in interleaved rounds after one for warming up.

    Each has as many cores as threads, and the next `images` of `paths`, repeated if there are too few.
    `show` is called with a line about what is timed next. The first row is this loader; see `available`.
    """
    contenders = available(decode)
    rows = [Row(name) for name in contenders]
    endless = cycle(paths)
    with on_cores(threads):
        for number in range(rounds + 1):
            chunk = list(islice(endless, images))
            for row, run in zip(rows, contenders.values(), strict=True):
                show(f"round {number} of {rounds}: {row.name}" if number else f"warm-up: {row.name}")
                timing = _timed(partial(run, chunk, threads))
                if number:
                    row.rounds.append(timing)
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text, with each time divided by the first row's.

    Example:
        >>> print(table([Row("this", [Timing(2.0, 2.0)]), Row("that", [Timing(3.0, 2.5)])]))
        contender                                  images/s  ms/image  ms CPU/image    ratio
        this                                            500      2.00          2.00     1.00
        that                                            333      3.00          2.50     1.50
    """
    first = rows[0].median.clock
    lines = [f"{'contender':<41}{'images/s':>10}{'ms/image':>10}{'ms CPU/image':>14}{'ratio':>9}"]
    for row in rows:
        clock, processor = row.median
        lines.append(
            f"{row.name:<41}{1e3 / clock:>10.0f}{clock:>10.2f}{processor:>14.2f}{clock / first:>9.2f}"
        )
    return "\n".join(lines)


def available(decode: str = "host") -> dict[str, Run]:
    """The contenders whose packages are installed.

    "device" adds this loader with batches on the GPU, decoded on the host or there.
    """
    found: dict[str, Run] = {"orbbec": _Orbbec(False), "orbbec, antialiased": _Orbbec(True)}
    if choice("bench-data", "--decode", decode, DECODES) == "device":
        if not torch.cuda.is_available():
            raise ValueError("bench-data: expected --decode host where torch sees no GPU, but got device")
        found["orbbec, batches on the GPU"] = _Orbbec(False, "cuda")
        found["orbbec, decoding on the GPU"] = _Orbbec(False, "cuda", Decoding(device="cuda"))
    has = {name: _is_there(name) for name in ("cv2", "simplejpeg", "torchvision")}
    if has["cv2"] and has["simplejpeg"]:
        found["threads, simplejpeg + cv2"] = partial(_run_pool, decoder="simplejpeg")
    if has["cv2"]:
        found["threads, cv2"] = partial(_run_pool, decoder="cv2")
    if has["torchvision"]:
        found["DataLoader, torchvision v1, antialiased"] = _run_torchvision
    return found


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def first_cores(count: int) -> list[int]:
    """The first `count` cores that this process may use, or all of them if there are fewer."""
    known = hasattr(os, "sched_getaffinity")
    return sorted(os.sched_getaffinity(0) if known else range(os.cpu_count() or 1))[:count]


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Run on the first `count` cores that this process may use."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, first_cores(count))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _timed(run: Callable[[], int]) -> Timing:
    began, before = time.perf_counter(), os.times()
    images = run()
    clock, after = time.perf_counter() - began, os.times()
    return Timing(1e3 * clock / images, 1e3 * (sum(after[:4]) - sum(before[:4])) / images)


class _Orbbec:
    """A loader kept between rounds, as between epochs; each round starts its threads."""

    def __init__(self, antialias: bool, device: str = "cpu", decoding: Decoding | None = None) -> None:
        crop = RandomResizedCrop(SIDE, antialias=antialias)
        cast = ToDtype(torch.float32, scale=True)
        self._pipeline = [crop, RandomHorizontalFlip(), cast, Normalize(MEAN, STD)]
        self._files, self._device, self._decoding = Files([]), device, decoding
        self._loader: Loader | None = None

    def __call__(self, paths: Sequence[str], threads: int) -> int:
        self._files.paths = paths
        if self._loader is None:
            self._loader = Loader(
                self._files, BATCH, self._pipeline, self._device, threads=threads, decoding=self._decoding
            )
        images = sum(len(batch.images) for batch in self._loader)
        if self._device == "cuda":
            torch.cuda.synchronize()
        return images


def _run_pool(paths: Sequence[str], threads: int, *, decoder: str) -> int:
    cv2 = importlib.import_module("cv2")
    cv2.setNumThreads(1)
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(paths), BATCH):
            part = paths[start : start + BATCH]
            batch = torch.empty(len(part), 3, SIDE, SIDE, dtype=torch.float32, device="cpu")
            fill = partial(_fill_by_cv2, cv2, decoder)
            done += len(list(pool.map(fill, part, range(start, start + BATCH), batch.numpy())))
    return done


def _fill_by_cv2(cv2: Any, decoder: str, path: str, seed: int, out: Array) -> None:
    data = Path(path).read_bytes()
    if decoder == "simplejpeg":
        image = importlib.import_module("simplejpeg").decode_jpeg(data)
    else:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    chance = random.Random(seed)
    top, left, height, width = random_crop(image.shape[0], image.shape[1], chance)
    small = cv2.resize(image[top : top + height, left : left + width], (SIDE, SIDE))
    if chance.random() < 0.5:
        small = small[:, ::-1]
    np.multiply(small.transpose(2, 0, 1), _SCALE, out=out)
    out += _OFFSET


def random_crop(height: int, width: int, chance: random.Random) -> tuple[int, int, int, int]:
    """Top, left, height and width with the distribution of RandomResizedCrop."""
    for _ in range(10):
        area = height * width * chance.uniform(0.08, 1.0)
        ratio = np.exp(chance.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return chance.randint(0, height - h), chance.randint(0, width - w), h, w
    return 0, 0, height, width


def _run_torchvision(paths: Sequence[str], threads: int) -> int:
    with warnings.catch_warnings():  # of more workers than cores
        warnings.filterwarnings("ignore", "This DataLoader will create")
        loader = torch.utils.data.DataLoader(_PilFiles(paths), BATCH, num_workers=threads)
        return sum(len(batch) for batch in loader)


class _PilFiles(torch.utils.data.Dataset[torch.Tensor]):
    """Files read by PIL, with torchvision's transforms of PIL images."""

    def __init__(self, paths: Sequence[str]) -> None:
        transforms = importlib.import_module("torchvision.transforms")
        self.paths = paths
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(SIDE),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        with importlib.import_module("PIL.Image").open(self.paths[index]) as image:
            result: torch.Tensor = self.transform(image.convert("RGB"))
        return result
