"""Reference images that transforms read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.batch.collate import is_pil
from orbbec.bridge.plain import is_sequence
from orbbec.resize import resize
from orbbec.transforms.base.optional import optional

_MODES = {1: "L", 3: "RGB"}
_SIZES = 64  # resized references to keep


class References:
    """Reference images: arrays, tensors, images of Pillow or paths, as bytes.

    Args:
        op: name used in messages.
        images: a sequence of them, or a function without arguments that returns one.
    """

    def __init__(self, op: str, images: Sequence[Any] | Callable[[], Sequence[Any]]) -> None:
        if not (is_sequence(images) or callable(images)):
            raise TypeError(
                f"{op}: expected references as a list of images or paths, or a function that returns one, "
                f"but got {type(images).__name__}"
            )
        self.op, self.images = op, images
        if not callable(images):
            self._checked(images)

    def _checked(self, images: Any) -> list[Any]:
        """Refuse what is no image."""
        if not is_sequence(images) or not len(images):
            raise ValueError(f"{self.op}: expected at least one image in references, but got {images!r:.60}")
        for index, image in enumerate(images):
            if not (_is_path(image) or is_pil(image) or isinstance(image, (Tensor, np.ndarray))):
                raise TypeError(
                    f"{self.op}: expected arrays, tensors, images of Pillow or paths in references, "
                    f"but reference {index} is a {type(image).__name__}"
                )
            if isinstance(image, (Tensor, np.ndarray)) and image.ndim not in (2, 3):
                raise ValueError(
                    f"{self.op}: expected references [H, W, C] or tensors [C, H, W], "
                    f"but reference {index} has shape {list(image.shape)}"
                )
        return list(images)

    @cached_property
    def entries(self) -> list[Any]:
        """The images or paths; calls the function once."""
        return self._checked(self.images() if callable(self.images) else self.images)

    @property
    def paths(self) -> list[str] | None:
        """The paths, if all are paths."""
        if callable(self.images) or not all(map(_is_path, self.images)):
            return None
        return list(map(os.fspath, self.images))

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, References):
            return NotImplemented
        return self is other or (self.paths is not None and self.paths == other.paths)

    def __hash__(self) -> int:
        return hash(tuple(self.paths or (id(self),)))

    def __repr__(self) -> str:
        if self.paths is not None:
            return repr(self.paths)
        return repr(self.images) if callable(self.images) else f"<{len(self)} images>"

    @property
    def option(self) -> Any:
        """What plans have of it: paths, which can be written as text, or itself."""
        return self if self.paths is None else tuple(self.paths)

    def __reduce__(self) -> Any:
        return References, (self.op, self.images)

    def check(self, channels: int) -> None:
        """Refuse arrays and tensors of another number of channels."""
        for index, image in enumerate(self.entries):
            if not _is_path(image):
                self._check_channels(index, len(_bytes_of(image, channels)), channels)

    def _check_channels(self, index: int, count: int, channels: int) -> None:
        if count != channels:
            raise ValueError(
                f"{self.op}: expected references of {channels} channels, as the images, "
                f"but reference {index} has {count}"
            )

    @cached_property
    def resized(self) -> Callable[[int, int, tuple[int, int]], Tensor]:
        """Takes an index, channels and a size, and gives this reference: uint8 `[C, H, W]` on the CPU."""

        @lru_cache(_SIZES)
        def of(index: int, channels: int, size: tuple[int, int]) -> Tensor:
            image = _bytes_of(self.entries[index], channels)
            self._check_channels(index, len(image), channels)
            if tuple(image.shape[1:]) == size:
                return image
            result: Tensor = resize(image[None], size)[0]
            return result

        return of


def as_references(op: str, option: Any) -> References:
    """The references of a plan; see `References.option`."""
    return option if isinstance(option, References) else _of_paths(op, tuple(option))


@lru_cache(8)
def _of_paths(op: str, paths: tuple[str, ...]) -> References:
    return References(op, paths)


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _bytes_of(image: Any, channels: int) -> Tensor:
    """An image as uint8 `[C, H, W]` on the CPU; floats are taken as 0 to 1."""
    if _is_path(image):
        with optional("references", "PIL.Image", "pillow").open(image) as opened:
            return _bytes_of(opened.convert(_MODES.get(channels, "RGB")), channels)
    if isinstance(image, Tensor):
        planes = image.detach().cpu()
        planes = planes[None] if planes.dim() == 2 else planes
    else:
        array = np.asarray(image)
        planes = torch.from_numpy(np.array(array[..., None] if array.ndim == 2 else array)).permute(2, 0, 1)
    if planes.is_floating_point():
        planes = (planes * 255).round().clamp(0, 255)
    return planes.to(torch.uint8).contiguous()
