"""Images and clips as pipelines take them: frame after frame, with targets for each, and back.

The frames of a clip share their random parameters. The targets of a batch may be in one dict, as
`orbbec.data.collate` makes them: tensors `[N, ...]`, lists of N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from orbbec.batch import ClipBatch, ImageBatch
from orbbec.batch.clip_batch import check_frames
from orbbec.batch.collate import is_pil, sequence_like
from orbbec.transforms.base.tv_tensors import is_tv_tensor, is_video, plain, wrapped
from orbbec.transforms.targets.dense import DENSE_KINDS
from orbbec.transforms.targets.run_lengths import are_runs
from orbbec.transforms.targets.state import MASK_KEYS, POINT_KEYS

Target: TypeAlias = dict[str, Any]

TARGET_KEYS = ("boxes", "polygons", *MASK_KEYS, *POINT_KEYS, *DENSE_KINDS)
_RANKS = {"mask": 2, "boxes": 2, "masks": 3, "flow": 3, "normals": 3}  # of the targets of one image


@dataclass(frozen=True)
class Images:
    """Images, each a sample of its own.

    Args:
        images: any input of `Compose`, but clips.
        count: number of samples.
        frames: images of a sample.
    """

    images: Any
    count: int
    frames: int = 1

    def restored(self, results: Any) -> Any:
        """The results in the form of the input."""
        return results

    def frames_of(self, out: Any) -> Any:
        """The images of an output buffer in the form of the input."""
        return out

    def split(self, targets: Any) -> list[Target]:
        """Targets as one dict per image.

        Args:
            targets: one dict per image, a dict of a batch, or that of a single image.
        """
        if not isinstance(targets, dict):
            return list(targets)
        return split(targets, self.count) if self._is_batch(targets) else [targets]

    def joined(self, changed: Sequence[Target], targets: Any) -> Any:
        """The inverse of `split` for changed targets, in the form of `targets`."""
        if not isinstance(targets, dict):
            return changed
        return joined(changed, targets) if self._is_batch(targets) else changed[0]

    def _is_batch(self, target: Target) -> bool:
        return is_of_batch(target, self.images, self.count)


@dataclass(frozen=True)
class Clips(Images):
    """The frames of clips.

    Args:
        images: all frames, one clip after the other.
        count: number of clips.
        frames: frames of each clip.
        is_batch: whether the input was a batch, not a clip.
    """

    is_batch: bool = True

    def restored(self, results: Any) -> Any:
        if isinstance(results, ImageBatch):
            return ClipBatch.of(results, self.frames)
        if isinstance(results, list):
            sizes = torch.tensor([frame.shape[-2:] for frame in results], device="cpu")
            check_frames("Compose", sizes.view(-1, self.frames, 2))
            return [torch.stack(list(clip)) for clip in self._clips(results)]
        if not self.is_batch:
            return results
        clips = plain(results).reshape(self.count, self.frames, *results.shape[1:])
        return wrapped(clips, results) if is_tv_tensor(results) else clips

    def frames_of(self, out: Any) -> Any:
        return out.reshape(-1, *out.shape[2:]) if self.is_batch else out

    def split(self, targets: Any) -> list[Target]:
        """Targets as one dict per frame.

        Args:
            targets: of each clip a list of dicts, one per frame, or a dict whose entries have a row per
                frame, except `label` and what else belongs to all frames. Or one dict for the batch, with a
                row per clip; or one dict per frame.
        """
        each = self._of_each(targets)
        if len(each) != self.count:
            raise ValueError(f"Compose: expected targets of {self.count} clips, but got {len(each)}")
        frames: list[Target] = []
        for index, clip in enumerate(each):
            rows = self._spread(clip) if isinstance(clip, dict) else clip
            if len(rows) != self.frames:
                raise ValueError(
                    f"Compose: expected targets of {self.frames} frames, but clip {index} has {len(rows)}"
                )
            frames += rows
        return frames

    def joined(self, changed: Sequence[Target], targets: Any) -> Any:
        if self._is_listed(targets):
            return changed
        pairs = zip(self._clips(changed), self._of_each(targets), strict=True)
        each: list[Any] = [
            self._gathered(clip, target) if isinstance(target, dict) else clip for clip, target in pairs
        ]
        if not self.is_batch:
            return each[0]
        return joined(each, targets) if isinstance(targets, dict) else each

    def _clips(self, images: Sequence[Any]) -> list[Sequence[Any]]:
        return [images[n * self.frames : (n + 1) * self.frames] for n in range(self.count)]

    def _of_each(self, targets: Any) -> Sequence[Any]:
        if not self.is_batch:
            return [targets]
        if self._is_listed(targets):
            return self._clips(targets)
        return split(targets, self.count) if isinstance(targets, dict) else list(targets)

    def _is_listed(self, targets: Any) -> bool:
        """Whether there is one dict per frame, though there are clips."""
        if isinstance(targets, dict) or self.frames == 1 or len(targets) != self.count * self.frames:
            return False
        return all(isinstance(target, dict) for target in targets)

    def _spread(self, target: Target) -> list[Target]:
        shared = {key: value for key, value in target.items() if not self._has_rows(key, value)}
        rows = split({key: value for key, value in target.items() if key not in shared}, self.frames)
        return [{**shared, **row} for row in rows]

    def _gathered(self, frames: Sequence[Target], target: Target) -> Target:
        """The dict of a clip; what belongs to all frames is that of the first."""
        if not frames:
            return dict(target)
        rows = {key: value for key, value in target.items() if self._has_rows(key, value)}
        shared = {key: value for key, value in frames[0].items() if key in target and key not in rows}
        rest = [{key: value for key, value in frame.items() if key not in shared} for frame in frames]
        return {**joined(rest, rows), **shared}

    def _has_rows(self, key: str, value: Any) -> bool:
        return key != "label" and rows_of_batch(key, value, self.frames) is not None


def is_list_of_videos(value: Any) -> bool:
    """Whether a value is a list of `tv_tensors.Video`."""
    return isinstance(value, list) and len(value) > 0 and all(map(is_video, value))


def clips_of(value: Any) -> Clips | None:
    """The clips in an input of `Compose`; None for images.

    These are tensors `[N, T, C, H, W]`, arrays `[N, T, H, W, C]`, a `ClipBatch`, and one or several `Video`.

    Raises:
        ValueError: the clips of a list differ in length.
    """
    if type(value) in (Tensor, np.ndarray, ImageBatch) and getattr(value, "ndim", 0) != 5:
        return None
    if isinstance(value, ClipBatch):
        return Clips(value.as_images(), len(value) // value.frames, value.frames)
    if is_list_of_videos(value):
        return _of_list(value)
    if is_video(value) and value.ndim == 4:
        return Clips(value, 1, len(value), is_batch=False)
    if not isinstance(value, (Tensor, np.ndarray)) or value.ndim != 5:
        return None
    frames = plain(value).reshape(-1, *value.shape[2:])
    return Clips(wrapped(frames, value) if is_tv_tensor(value) else frames, *value.shape[:2])


def _of_list(videos: Sequence[Any]) -> Clips:
    for index, video in enumerate(videos):
        if video.ndim != 4 or len(video) != len(videos[0]):
            raise ValueError(
                f"Compose: expected clips [{len(videos[0])}, C, H, W], with as many frames as the first, "
                f"but clip {index} has shape {list(video.shape)}"
            )
    return Clips([frame for video in videos for frame in plain(video)], len(videos), len(videos[0]))


def is_of_batch(target: dict[str, Any], images: Any, count: int) -> bool:
    """Whether a dict has the targets of all images of a batch, not those of one image.

    Args:
        target: boxes, masks and other entries.
        images: the images.
        count: their number.
    """
    if not (isinstance(images, (ImageBatch, list, tuple)) or getattr(images, "ndim", 0) > 3):
        return False
    ranked = [_is_of_several(target[key], rank) for key, rank in _RANKS.items() if key in target]
    return all(ranked) if ranked else count != 1


def _is_of_several(value: Any, rank: int) -> bool:
    if isinstance(value, (list, tuple)):
        if not value or (rank == _RANKS["masks"] and isinstance(value[0], (list, tuple))):
            return not value or are_runs(value[0])
        return is_pil(value[0]) or np.ndim(value[0]) == rank
    return isinstance(value, ImageBatch) or getattr(value, "ndim", 0) > rank


def split(target: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """One dict per image. Entries without a row per image are left out.

    Raises:
        ValueError: boxes, masks or points are of another number of images.

    Example:
        >>> split({"mask": torch.zeros(2, 4, 6), "names": ["a", "b"], "step": 7}, 2)[1]["names"]
        'b'
    """
    columns = {key: rows_of_batch(key, value, count) for key, value in target.items()}
    return [{key: rows[n] for key, rows in columns.items() if rows is not None} for n in range(count)]


def rows_of_batch(key: str, value: Any, count: int) -> Sequence[Any] | None:
    """The rows of an entry, one per image; None if it has none."""
    if isinstance(value, ImageBatch):
        rows: Sequence[Any] = [image[..., 0] if image.shape[-1] == 1 else image for image in value.images()]
    elif isinstance(value, (Tensor, np.ndarray)):
        rows = list(plain(value)) if value.ndim else []
        rows = [wrapped(row, like=value) for row in rows] if is_tv_tensor(value) else rows
    else:
        rows = value if isinstance(value, (list, tuple)) else []
    if len(rows) == count:
        return rows
    if key in TARGET_KEYS:
        raise ValueError(
            f"Compose: expected {key} of {count} images in the dict of a batch, but got {len(rows)}; "
            "pass one dict per image, or entries with a row per image"
        )
    return None


def joined(targets: Sequence[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """The targets of a batch in one dict: arrays of one shape and dtype are stacked, others listed.

    Args:
        targets: one dict per image.
        before: the dict before; its entries without a row per image are kept.
    """
    if not targets:
        return dict(before)
    unchanged = {
        key: value for key, value in before.items() if rows_of_batch(key, value, len(targets)) is None
    }
    keys = [key for key in targets[0] if all(key in target for target in targets)]
    return {
        **unchanged,
        **{key: _joined([target[key] for target in targets], before.get(key)) for key in keys},
    }


def _joined(values: list[Any], before: Any) -> Any:
    first = values[0]
    if isinstance(before, tuple):
        return sequence_like(values, before)
    if not isinstance(first, (Tensor, np.ndarray)) or not all(type(value) is type(first) for value in values):
        return values
    if len({(value.shape, value.dtype) for value in values}) > 1:
        return values
    if isinstance(first, np.ndarray):
        return np.stack(values)
    stacked = torch.stack([plain(value) for value in values])
    return wrapped(stacked, like=first) if is_tv_tensor(first) else stacked
