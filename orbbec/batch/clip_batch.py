"""ClipBatch: the frames of clips in one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from orbbec.batch.image_batch import ImageBatch
from orbbec.bridge.arguments import whole_value
from orbbec.bridge.plain import shown


@dataclass(frozen=True, eq=False, repr=False)
class ClipBatch(ImageBatch):
    """Clips of equally many frames, one clip after the other: an `ImageBatch` of all frames.

    The frames of a clip share the random parameters of a pipeline. Sizes may vary from clip to clip.

    Args:
        frames: number of frames of each clip.

    Example:
        >>> batch = ClipBatch.from_clips([np.zeros((2, 4, 6, 3), np.uint8), np.ones((2, 5, 7, 3), np.uint8)])
        >>> batch
        ClipBatch(2 clips of 2 frames, channels=3, sizes=4..5 x 6..7, device=cpu)
        >>> batch.clips()[1].shape
        torch.Size([2, 5, 7, 3])
    """

    frames: int = 1

    @classmethod
    def of(cls, images: ImageBatch, frames: int) -> ClipBatch:
        """The images as frames of clips, without a copy.

        Raises:
            TypeError: these are no images, or `frames` is no whole number.
            ValueError: they are not whole clips, or the frames of a clip differ in size; names the clip.
        """
        if not isinstance(images, ImageBatch):
            raise TypeError(f"ClipBatch: expected images as an ImageBatch, but got {shown(images)}")
        frames = whole_value("ClipBatch", "frames", frames)
        if frames < 1:
            raise ValueError(f"ClipBatch: expected frames of at least 1, but got {frames}")
        if len(images) % frames:
            raise ValueError(f"ClipBatch: expected clips of {frames} frames, but got {len(images)} images")
        check_frames("ClipBatch", images.sizes.view(-1, frames, 2))
        return cls(**{field.name: getattr(images, field.name) for field in fields(ImageBatch)}, frames=frames)

    @classmethod
    def from_clips(cls, clips: Sequence[npt.NDArray[np.uint8] | torch.Tensor]) -> ClipBatch:
        """Copy clips into a batch on the CPU.

        Args:
            clips: at least one; uint8 arrays or CPU tensors `[T, H, W, C]`, T and C the same for all.

        Raises:
            TypeError: a clip is not an array or tensor, or not uint8.
            ValueError: a clip has another shape, or another number of frames than the first; names the clip.
        """
        if not isinstance(clips, Iterable):
            raise TypeError(f"ClipBatch.from_clips: expected clips as a sequence, but got {shown(clips)}")
        clips = list(clips)
        for index, clip in enumerate(clips):
            if not isinstance(clip, (np.ndarray, torch.Tensor)):
                kind = type(clip).__name__
                raise TypeError(
                    f"ClipBatch.from_clips: expected arrays or tensors, but clip {index} is a {kind}"
                )
            if clip.ndim != 4 or len(clip) != len(clips[0]):
                expected = f"[{len(clips[0])}, H, W, C]" if index else "[T, H, W, C]"
                raise ValueError(
                    f"ClipBatch.from_clips: expected clips of shape {expected}, "
                    f"but clip {index} has {list(clip.shape)}"
                )
        if not clips:
            raise ValueError("ClipBatch.from_clips: expected at least 1 clip, but got 0")
        return cls.of(ImageBatch.from_images([frame for clip in clips for frame in clip]), len(clips[0]))

    def clips(self) -> list[torch.Tensor]:
        """The clips: uint8 `[T, H, W, C]` on the device of the batch, copied."""
        images = self.images()
        return [torch.stack(images[at : at + self.frames]) for at in range(0, len(images), self.frames)]

    def as_images(self) -> ImageBatch:
        """The frames as images, without a copy."""
        return ImageBatch(**{field.name: getattr(self, field.name) for field in fields(ImageBatch)})

    def _slice(self, index: slice) -> ImageBatch:
        return self.as_images()[index]

    def in_storage(self, storage: torch.Tensor, channels: int) -> ClipBatch:
        """See `ImageBatch.in_storage`."""
        return ClipBatch.of(super().in_storage(storage, channels), self.frames)

    def __reduce__(self) -> tuple[Callable[..., ClipBatch], tuple[Any, ...]]:
        """Pickle as an `ImageBatch` does."""
        rebuild, arguments = super().__reduce__()
        return _rebuild, (rebuild, arguments, self.frames)

    def __repr__(self) -> str:
        _, _, rest = super().__repr__().partition(", ")
        return f"ClipBatch({len(self) // self.frames} clips of {self.frames} frames, {rest}"


def _rebuild(rebuild: Callable[..., ImageBatch], arguments: tuple[Any, ...], frames: int) -> ClipBatch:
    return ClipBatch.of(rebuild(*arguments), frames)


def check_frames(op: str, sizes: torch.Tensor) -> None:
    """Refuse clips whose frames differ in size; `sizes` `[clips, frames, 2]` are heights and widths."""
    differs = (sizes != sizes[:, :1]).any(2).any(1)
    if differs.any():
        clip = int(differs.int().argmax())
        raise ValueError(f"{op}: expected frames of one size, but clip {clip} has {sizes[clip].tolist()}")
