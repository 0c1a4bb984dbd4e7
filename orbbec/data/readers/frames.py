"""Clips whose frames are image files: one folder per clip."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orbbec.bridge.plain import shown
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import visible_folders
from orbbec.data.sample import BadSample, Sample, printable, read_bytes
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import flag, names, whole

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class TemporalSample:
    """Which frames of a video make a clip: `frames` of them, every `stride`-th, from a random one.

    Args:
        frames: number of frames of a clip.
        stride: distance of two frames.
        random: begin at a random frame, drawn by seed, epoch and sample id; False: the middle of the video.
        seed: from 0 to 2^63 - 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range.

    Example:
        >>> TemporalSample(frames=3, stride=4, random=False).indices(20, sample_id=7)
        [5, 9, 13]
    """

    frames: int = 16
    stride: int = 4
    random: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        whole("TemporalSample", "frames", self.frames, 1)
        whole("TemporalSample", "stride", self.stride, 1)
        whole("TemporalSample", "seed", self.seed, 0, 2**63 - 1)
        flag("TemporalSample", "random", self.random)

    @property
    def span(self) -> int:
        """The number of frames of a video from the first frame of a clip to its last."""
        return (self.frames - 1) * self.stride + 1

    def indices(self, count: int, sample_id: int, epoch: int = 0) -> list[int]:
        """The frames of a clip of a video of `count` frames.

        Raises:
            ValueError: the video is too short.
        """
        if count < self.span:
            raise ValueError(f"expected at least {self.span} frames, but got {count}")
        first = (count - self.span) // 2
        if self.random:
            stream = Stream(np.array([sample_id]), self.seed, epoch)
            first = int(stream.below(count - self.span + 1)[0])
        return list(range(first, first + self.span, self.stride))


class FrameFolders:
    """Videos as folders of frames, in one folder per class: `root/jump/clip_7/0001.jpg`.

    Classes and videos are sorted as text, and the sample id of a video is its index. Frames are sorted by the
    numbers in their names: `2.jpg` before `10.jpg`. Hidden files and folders are skipped. A video that is too
    short is a bad sample.

    Args:
        root: the folder of the classes.
        sample: which frames make a clip.
        extensions: file extensions of frames, in any case; other files are ignored.

    Raises:
        OSError: a folder cannot be read.
        TypeError: `sample` is not a TemporalSample.
        ValueError: there is no class, or a class has no video.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> for t in range(12):
        ...     (root / "jump" / "a").mkdir(parents=True, exist_ok=True)
        ...     _ = (root / "jump" / "a" / f"{t}.jpg").write_bytes(b"frame %d" % t)
        >>> FrameFolders(root, TemporalSample(frames=3, stride=4))[0].data
        (b'frame 3', b'frame 7', b'frame 11')
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        sample: TemporalSample | None = None,
        extensions: Sequence[str] = EXTENSIONS,
    ) -> None:
        self.sample = TemporalSample() if sample is None else sample
        if not isinstance(self.sample, TemporalSample):
            raise TypeError(f"FrameFolders: expected sample as a TemporalSample, but got {shown(sample)}")
        self.classes = [folder.name for folder in visible_folders(Path(root))]
        if not self.classes:
            raise ValueError(f"FrameFolders: expected a folder for each class in {printable(root)}")
        self._endings = tuple(
            extension.lower() for extension in names("FrameFolders", "extensions", extensions)
        )
        self.folders: list[str] = []
        self.labels: list[int] = []
        for label, name in enumerate(self.classes):
            videos = visible_folders(Path(root, name))
            if not videos:
                raise ValueError(f"FrameFolders: expected a folder for each video in {Path(root, name)}")
            self.folders += map(str, videos)
            self.labels += [label] * len(videos)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose clips are read; a `Loader` does this."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self.folders)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        folder = self.folders[index]
        try:
            names = sorted(filter(self._is_frame, os.listdir(folder)), key=_numbered)
            chosen = self.sample.indices(len(names), index, self._epoch)
        except (OSError, ValueError) as error:
            raise BadSample(index, folder, str(error)) from error
        data = tuple(read_bytes(os.path.join(folder, names[frame]), index) for frame in chosen)
        return Sample(data, {"label": self.labels[index]}, index, folder)

    def _is_frame(self, name: str) -> bool:
        return name.lower().endswith(self._endings) and not name.startswith(".")


def _numbered(name: str) -> list[tuple[int, str]]:
    """Sorts names by the numbers in them."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)]
