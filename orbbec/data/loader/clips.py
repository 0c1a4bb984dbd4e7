"""Samples that are clips, or several images: each frame is opened, decoded and planned as an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from orbbec.batch import ClipBatch, ImageBatch
from orbbec.data.loader.entries import Bad, Opened
from orbbec.data.loader.several import by_sample, named_images, names_in
from orbbec.data.sample import BadSample, Sample
from orbbec.transforms.base.clips import Clips


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame(Sample):
    """A frame of a clip, with its targets."""

    clip: Sample


def as_images(sample: Sample) -> Sequence[Sample]:
    """The sample, or its images, or the frames of a clip.

    Raises:
        BadSample: there are none, or targets of another number of frames.
        TypeError: one of several images is a clip.
    """
    if isinstance(sample.data, dict):
        return named_images(sample, sample.data)
    if not isinstance(sample.data, tuple):
        return [sample]
    count = len(sample.data)
    if count == 0:
        raise BadSample(sample.sample_id, sample.path, "the clip has no frames")
    try:
        targets = Clips(None, 1, count, is_batch=False).split(sample.targets)
    except ValueError as error:
        raise BadSample(sample.sample_id, sample.path, str(error)) from error
    rest = {field.name: getattr(sample, field.name) for field in fields(Sample)}
    return [
        Frame(**rest | {"data": data, "targets": target, "path": f"{sample.path} (frame {t})"}, clip=sample)
        for t, (data, target) in enumerate(zip(sample.data, targets, strict=True))
    ]


def groups_of(
    opened: Sequence[Opened], changed: Sequence[Opened | Bad | None] | None = None
) -> list[list[Any]]:
    """The images of each sample: one, several, or the frames of a clip; `changed` replaces some of them.

    `opened` are the images of all samples; see `in_order`.
    """
    entries = opened if changed is None else [new or old for old, new in zip(opened, changed, strict=True)]
    if names := names_in(opened):
        return by_sample(entries, names)
    groups, at = [], 0
    while at < len(opened):
        end = at + _length(opened[at])
        groups.append([*entries[at:end]])
        at = end
    return groups


def _length(entry: Opened) -> int:
    return len(entry.sample.clip.data) if isinstance(entry.sample, Frame) else 1


def frame_count(opened: Sequence[Opened]) -> int:
    """The number of frames of the clips of a batch; 1 of images.

    Raises:
        ValueError: clips differ in length, or the frames of a clip in size; names the sample.
    """
    groups = groups_of(opened)
    for group in groups:
        sample, count = group[0].sample, len(group)
        if count != len(groups[0]):
            raise ValueError(
                f"expected clips of {len(groups[0])} frames, as the first, "
                f"but sample {sample.sample_id} has {count}"
            )
        for t, entry in enumerate(group):
            if entry.size != group[0].size:
                raise ValueError(
                    f"expected frames of size {list(group[0].size)}, as the first, "
                    f"but frame {t} has {list(entry.size)}"
                )
    return len(groups[0])


def is_clip(entry: Opened) -> bool:
    """Whether an image is a frame of a clip."""
    return isinstance(entry.sample, Frame)


def as_clips(batch: Any, opened: Sequence[Opened]) -> Any:
    """A decoded batch, as clips if it is one of clips.

    Raises:
        ValueError: clips were decoded to planes, or unchanged.
    """
    if not is_clip(opened[0]):
        return batch
    if not isinstance(batch, ImageBatch):
        expected = "mode='RGB'" if isinstance(batch, list) else "planes=False"
        raise ValueError(f"Loader: expected Decoding({expected}) for clips")
    return ClipBatch.of(batch, frame_count(opened))


def clip_targets(opened: Sequence[Opened], targets: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The targets of each sample, from those of each image."""
    if not is_clip(opened[0]):
        return list(targets)
    frames = frame_count(opened)
    clips = [entry.sample.clip.targets for entry in opened[::frames] if isinstance(entry.sample, Frame)]
    joined: list[dict[str, Any]] = Clips(None, len(clips), frames).joined(targets, clips)
    return joined
