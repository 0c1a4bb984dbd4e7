"""Clips of video files, decoded by torchcodec.

::

    index --> video, number of the clip --> positions of its frames --> torchcodec: these frames --> Sample
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from orbbec.bridge.arguments import Array
from orbbec.data.decode.decode import MAX_PIXELS
from orbbec.data.readers.folders import labeled_files
from orbbec.data.readers.frames import TemporalSample
from orbbec.data.sample import Sample, faults_named
from orbbec.transforms.base.checks import choice, number, whole
from orbbec.transforms.base.optional import optional

VIDEO_EXTENSIONS = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".wmv", ".flv", ".3gp")
_JUST_AFTER = 1e-6  # seconds: less than a unit of any time base, more than the error of a time
_MAX_RATE = 1000.0  # frames per second
_SOURCE = re.compile(r"^.*\.cpp:\d+, | ?/proc/self/fd/\d+")
_NO_VIDEO = "best video stream is unknown"  # what torchcodec says then


class VideoClips:
    """Clips of video files: in one folder per class, or listed; needs `torchcodec` and FFmpeg's libraries.

    Only the frames of a clip are converted to RGB, and none is decoded twice for a clip. They have the bytes
    of `torchcodec.decoders.VideoDecoder`, which applies the rotation that a file states. A clip depends only
    on `seed`, the epoch and the sample id, which is its index. Targets are `video`, the index of the file in
    `paths`; `seconds`, when each frame is shown, as float64 `[frames]`; and `label`, if there are labels. A
    file that cannot be decoded is a bad sample.

    Args:
        videos: the folder of the classes, as for `ImageFolder`; a file; or a list of files.
        frames: number of frames of a clip.
        stride: distance of two frames.
        frame_rate: frames per second: frames are counted on this clock, which shows what a player shows, so
            that files of all frame rates, also variable ones, have one speed. None: the frames of the file
            are counted.
        sampling: "random": each clip begins at a random frame. "uniform": clips begin at equal distances,
            from the first frame to the last possible one; a single clip is in the middle. "all": a video is
            cut into clips, one after the other, and a rest is left out; each file is opened to count them.
        clips_per_video: number of clips of each video, for "random" and "uniform".
        on_short: a video shorter than a clip: "repeat_last" repeats the last frame, as torchcodec does;
            "raise" makes it a bad sample.
        labels: one per file, in place of the folders.
        seed: from 0 to 2^63 - 1.
        seek_mode: "exact" scans a file before its frames are counted, without decoding. "approximate" is
            faster for long files, and trusts what their headers state.
        device: where torchcodec decodes. "cuda" needs a GPU with NVDEC; frames are copied to the host, and
            their last bits may differ from those that a CPU decodes. It was not tested on a GPU.
        extensions: file extensions of videos in folders, in any case; other files are ignored.

    Raises:
        ImportError: torchcodec or FFmpeg is missing.
        OSError: a folder cannot be read.
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range, there is no class, or a class has no video.
    """

    def __init__(
        self,
        videos: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        frames: int = 16,
        stride: int = 2,
        *,
        frame_rate: float | None = None,
        sampling: str = "random",
        clips_per_video: int = 1,
        on_short: str = "repeat_last",
        labels: Sequence[int] | None = None,
        seed: int = 0,
        seek_mode: str = "exact",
        device: torch.device | str = "cpu",
        extensions: Sequence[str] = VIDEO_EXTENSIONS,
    ) -> None:
        op = "VideoClips"
        _check_library(op)
        self._frames, self._stride = whole(op, "frames", frames, 1), whole(op, "stride", stride, 1)
        self._rate = None if frame_rate is None else number(op, "frame_rate", frame_rate, 1e-3, _MAX_RATE)
        self._sampling = choice(op, "sampling", sampling, ("random", "uniform", "all"))
        self._on_short = choice(op, "on_short", on_short, ("repeat_last", "raise"))
        self._seek_mode = choice(op, "seek_mode", seek_mode, ("exact", "approximate"))
        self._random = TemporalSample(self._frames, self._stride, seed=whole(op, "seed", seed, 0, 2**63 - 1))
        self._device = _device_of(op, device)
        self.classes: list[str] = []
        self.labels = None if labels is None else list(labels)
        if isinstance(videos, (str, os.PathLike)) and os.path.isdir(videos):
            if labels is not None:
                raise ValueError(f"{op}: expected labels for a list of files, not for folders of classes")
            self.classes, self.paths, self.labels = labeled_files(op, videos, extensions, "videos")
        else:
            listed = [videos] if isinstance(videos, (str, os.PathLike)) else videos
            self.paths = [os.fspath(path) for path in listed]
        if self.labels is not None and len(self.labels) != len(self.paths):
            raise ValueError(f"{op}: expected {len(self.paths)} labels, but got {len(self.labels)}")
        if not self.paths:
            raise ValueError(f"{op}: expected at least 1 video, but got 0")
        self._clips = whole(op, "clips_per_video", clips_per_video, 1)
        self._ends = list(accumulate(self._counts()))
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose clips are read; a `Loader` does this."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        video = bisect_right(self._ends, index)
        path, clip = self.paths[video], index - (self._ends[video - 1] if video else 0)
        with faults_named(index, path, ValueError):
            decoder = self._opened(path)
            frames, seconds = self._decoded(decoder, self._positions(self._length(decoder), index, clip))
        targets: dict[str, Any] = {"video": video, "seconds": seconds}
        if self.labels is not None:
            targets["label"] = self.labels[video]
        return Sample(frames, targets, index, path)

    def _counts(self) -> list[int]:
        """The number of clips of each video."""
        if self._sampling != "all":
            return [self._clips] * len(self.paths)
        with ThreadPoolExecutor() as pool:
            return list(pool.map(self._count_in, self.paths))

    def _count_in(self, path: str) -> int:
        """The number of clips that a video is cut into; 1 if it cannot be read, which reading it reports."""
        try:
            length = self._length(self._opened(path))
        except (OSError, ValueError):
            return 1
        step = self._frames * self._stride
        return max(1, (length - self._random.span) // step + 1)

    def _opened(self, path: str) -> Any:
        """The decoder of a file; ValueError if it is no video, or its frames are too large."""
        decoders = optional("VideoClips", "torchcodec.decoders")
        with open(path, "rb") as file, _named():
            if not file.read(1):
                raise ValueError("the file is empty")
            # Not its name, which FFmpeg could take for a protocol, and torch takes only as UTF-8.
            decoder = decoders.VideoDecoder(
                f"/proc/self/fd/{file.fileno()}",
                dimension_order="NHWC",
                seek_mode=self._seek_mode,
                device=str(self._device),
            )
        height, width = decoder.metadata.height, decoder.metadata.width
        if height * width > MAX_PIXELS:
            raise ValueError(f"expected at most {MAX_PIXELS} pixels, but got {height} x {width}")
        if len(decoder) < 1:
            raise ValueError("the video has no frames")
        return decoder

    def _length(self, decoder: Any) -> int:
        """The number of positions of frames in a video."""
        if self._rate is None:
            return len(decoder)
        about = decoder.metadata
        seconds: float = about.end_stream_seconds - about.begin_stream_seconds
        return max(1, math.ceil((seconds - 2 * _JUST_AFTER) * self._rate))

    def _positions(self, length: int, index: int, clip: int) -> Array:
        """The positions of the frames of a clip in a video of `length` positions, which may be too few."""
        span = self._random.span
        free = max(0, length - span)
        if self._sampling == "all":
            first = clip * self._frames * self._stride
        elif self._sampling == "uniform":
            first = free // 2 if self._clips == 1 else free * clip // (self._clips - 1)
        else:
            first = self._random.indices(free + span, index, self._epoch)[0]
        positions = np.arange(first, first + span, self._stride)
        shown = positions[positions < length]
        if len(shown) < len(positions) and (self._on_short == "raise" or len(shown) == 0):
            raise ValueError(f"expected at least {first + span} frames, but got {length}")
        repeated: Array = np.minimum(positions, shown[-1])
        return repeated

    def _decoded(self, decoder: Any, positions: Array) -> tuple[tuple[Array, ...], torch.Tensor]:
        """The frames at some positions, and when each is shown."""
        distinct, rows = np.unique(positions, return_inverse=True)
        with _named():
            if self._rate is None:
                found = decoder.get_frames_at(distinct.tolist())
                frames, seconds = list(found.data.cpu().numpy()), found.pts_seconds
            else:
                begin = decoder.metadata.begin_stream_seconds + _JUST_AFTER
                frames, seconds = _played_at(decoder, begin + distinct / self._rate)
        return tuple(frames[row] for row in rows.tolist()), seconds[rows]


def _played_at(decoder: Any, seconds: Array) -> tuple[list[Array], torch.Tensor]:
    """The frames shown at some times, in order; torchcodec would decode one that is shown at several anew."""
    frames: list[Array] = []
    begins: list[float] = []
    end = -math.inf
    for second in seconds.tolist():
        if second < end:
            frames.append(frames[-1])
            begins.append(begins[-1])
            continue
        found = decoder.get_frames_played_at([second])
        begin = float(found.pts_seconds[0])
        if begin > second:
            raise ValueError(f"the frame of second {second:.3f} cannot be found: its file seeks too far")
        end = begin + float(found.duration_seconds[0])
        frames.append(found.data[0].cpu().numpy())
        begins.append(begin)
    return frames, torch.tensor(begins, dtype=torch.float64, device="cpu")


@contextmanager
def _named() -> Iterator[None]:
    """Convert errors of torchcodec into ValueErrors, without paths and lines of source code."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, ValueError, IndexError, AssertionError) as error:
        reason = _SOURCE.sub("", str(error)).partition("\n")[0] or type(error).__name__
        raise ValueError("the file has no video" if _NO_VIDEO in reason else reason) from error


def _device_of(op: str, device: Any) -> torch.device:
    """The CPU or a CUDA device that torch has."""
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"{op}: expected device as 'cpu' or 'cuda', but got {str(device)!r}")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"{op}: expected a GPU for device={str(device)!r}, but torch has none")
    return found


def _check_library(op: str) -> None:
    """Check that torchcodec decodes videos.

    Raises:
        ImportError: it is missing, or did not find FFmpeg.
    """
    torchcodec = optional(op, "torchcodec", extra="video")
    if getattr(torchcodec, "ffmpeg_major_version", True) is None:
        raise ImportError(f"{op}: expected FFmpeg, whose libraries torchcodec loads: apt install ffmpeg")
