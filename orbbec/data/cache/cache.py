"""A cache of the samples of a source, which gives what the source would give."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from orbbec.bridge.arguments import Array
from orbbec.data.cache.parts import apart, together
from orbbec.data.cache.stores import FileStore, MemoryStore, Record, Store
from orbbec.data.locks import Locked
from orbbec.data.placed import check_placed
from orbbec.data.sample import Sample, each_image, printable
from orbbec.transforms.base.checks import flag, whole

_SETTLED = 2 * 10**9  # ns: a file that changed so shortly before it was read may change within one time stamp

Status: TypeAlias = tuple[int, int, int, int]  # inode, bytes, and times of changes of content and status


@dataclass(frozen=True)
class Cache:
    """Where a `Loader` keeps samples after it has read them, at most `nbytes`.

    The batches are those without a cache. A sample with a `path` is read again if that file or one of its
    `files` changed, by its size, its times and its number in the file system; other samples must not change
    while the cache exists.
    What is stored first stays, so that with memory for half of the samples half of the reads are saved.

    Args:
        nbytes: most bytes to keep.
        path: a file for all processes of this user and node, such as one in `/dev/shm`; it belongs to one
            source, remains after the process ends, and is deleted by you. It takes only samples whose `path`
            is a file; of several images, that of each `Sample`. None: the memory of this process.
        decoded: keep pixels instead of files: 5 to 15 times as many bytes, without decoding.

    Raises:
        TypeError: an argument has an unsupported type.
        ValueError: `nbytes` is not positive.

    Example:
        >>> from orbbec.data import Loader
        >>> source = [Sample(np.full((8, 8, 3), i, np.uint8), {"label": i}, i) for i in range(4)]
        >>> loader = Loader(source, 2, cache=Cache(10 << 20))
        >>> [len(list(loader)) for epoch in range(4)]
        [2, 2, 2, 2]
        >>> loader.report().cached
        0.75
    """

    nbytes: int
    path: str | os.PathLike[str] | None = None
    decoded: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", whole("Cache", "nbytes", self.nbytes, 1))
        object.__setattr__(self, "decoded", flag("Cache", "decoded", self.decoded))

    def store_for(self, source: Any, decoding: object) -> Store:
        """The store for the samples of a source.

        Raises:
            OSError: the file cannot be opened or written.
            TypeError: the source cannot be pickled, as telling sources apart needs.
            ValueError: the file holds samples of another source or decoding.
        """
        if self.path is None:
            return MemoryStore(self.nbytes)
        digest = _digest(source, decoding if self.decoded else None)
        return FileStore(Path(self.path), self.nbytes, digest, len(source))


class CachedSource(Locked):
    """A source whose samples come from a cache after the first read; made by a `Loader`.

    `decode` gives the pixels of a file, or raises ValueError; `decoding` tells decodings apart.
    """

    def __init__(self, source: Any, cache: Cache, decoding: object, decode: Callable[[bytes], Array]) -> None:
        super().__init__()
        self.source = source
        self.hits = self.reads = 0
        self._store = cache.store_for(source, decoding)
        self._decode = decode if cache.decoded else None
        self._needs_path = cache.path is not None

    @property
    def hit_rate(self) -> float:
        """The fraction of the samples that came from the cache, from 0 to 1."""
        return self.hits / self.reads if self.reads else 0.0

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        sample = self._found(index)
        with self.lock:
            self.hits += sample is not None
            self.reads += 1
        if sample is not None:
            return sample
        began = time.time_ns()
        sample = self.source[index]
        return self._stored(index, sample, began) if isinstance(sample, Sample) else sample

    def _found(self, index: int) -> Sample | None:
        record = self._store.get(index)
        if record is None:
            return None
        statuses, sample = pickle.loads(record.description)  # that this user wrote
        return together(sample, record.images) if _statuses(sample) == statuses else None

    def _stored(self, index: int, sample: Sample, began: int) -> Sample:
        """The sample, which is stored if its files cannot have changed since; decoded if pixels are kept."""
        statuses = _statuses(sample)
        has_changed = any(status is not None and status[3] >= began - _SETTLED for status, _ in statuses)
        has_path = all(status is not None for status, is_image in statuses if is_image)
        if self._store.is_full or has_changed or (self._needs_path and not has_path):
            return sample
        sample = self._decoded(sample)
        parts = apart(sample)
        if parts is not None:  # otherwise the Loader refuses it
            description, images = parts
            self._store.put(index, Record(pickle.dumps((statuses, description), 5), images))
        return sample

    def _decoded(self, sample: Sample) -> Sample:
        """The sample with pixels; unchanged if the Loader will refuse it, with its message."""
        decode = self._decode
        if decode is None:
            return sample

        def pixels(holder: Sample, image: Any) -> Any:
            if not isinstance(image, bytes):
                return image
            array = decode(image)
            check_placed(holder, (array.shape[0], array.shape[1]))
            return array

        with suppress(ValueError):
            return each_image(sample, pixels)
        return sample


def _statuses(sample: Sample) -> list[tuple[Status | None, bool]]:
    """What tells whether the files of a sample changed, and whether each is that of an image."""
    result = [(_status(sample.path), True), *((_status(path), False) for path in sample.files)]
    images = sample.data.values() if isinstance(sample.data, dict) else ()
    return result + [each for image in images if isinstance(image, Sample) for each in _statuses(image)]


def _status(path: str) -> Status | None:
    """What tells that a file is the same; None if there is no such file."""
    with suppress(OSError, ValueError):
        if path:
            status = os.stat(path)
            return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return None


class _Digest:
    """A file that keeps only the digest of what is written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)


def _digest(source: Any, decoding: object) -> bytes:
    """32 bytes that differ between sources, and between decodings if pixels are kept."""
    file = _Digest()
    try:
        pickle.Pickler(file, 5).dump((source, decoding))
    except Exception as error:  # of any type, by the source's own methods
        raise TypeError(f"Cache: expected a source that can be pickled: {printable(error)}") from error
    return file.sha256.digest()
