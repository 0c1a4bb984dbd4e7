"""YCbCrBatch: YCbCr planes of JPEGs in one tensor; half the bytes of RGB for 4:2:0.

The bytes of a batch of N images, planes at a multiple of 64 bytes::

    planes of image 0 | ... | planes of image N - 1 | layout        | forms         | layout of RGB
    Y, Cb, Cr: uint8 [H, W]             int64 [N, 3]    int64 [N, 2]    int64 [N, 3]

A row of a layout is (offset, height, width); a row of forms is (index in `SAMPLINGS`, EXIF orientation).
Sizes of planes refer to the stored image, sizes of RGB to the upright image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from orbbec.batch.image_batch import ImageBatch, check_sizes, empty_on_host, packed, rounded_up
from orbbec.batch.stored_batch import StoredBatch
from orbbec.bridge.arguments import Array

# Interleaved RGB, luma only, or planes with full chroma, half the columns, half the rows, or half of both.
# The order is that of color/ycbcr/ycbcr.h.
SAMPLINGS = ("rgb", "gray", "444", "422", "440", "420")
_COLUMNS = [3, 2, 3]  # of the three tables
_TRANSPOSED = 5  # from this orientation on, rows and columns are swapped
_FLIPPED, _MIRRORED = (3, 4, 6, 7), (2, 3, 7, 8)  # orientations


@dataclass(frozen=True, eq=False, repr=False)
class YCbCrBatch(StoredBatch):
    """Variable-size images as stored in JPEG files, in one tensor that is copied to a device at once.

    Made by :meth:`of_sizes`, or from files by `orbbec.data.decode_planes`. `orbbec.ycbcr_to_rgb` converts it
    to an `ImageBatch` on its device.

    Args:
        storage: uint8, flat: the planes, then the tables.
        host_table: int64 ``[N, 8]`` on the CPU: a copy of the three tables, side by side.
        plane_bytes: offset of the tables in ``storage``.
        pixel_bytes: bytes of the RGB images.

    Example:
        >>> batch = YCbCrBatch.of_sizes([(4, 6), (5, 3)], ["420", "rgb"], [1, 6])
        >>> batch
        YCbCrBatch(2 images, 420 and rgb, device=cpu)
        >>> [tuple(plane.shape) for plane in batch.planes(0)]
        [(4, 6), (2, 3), (2, 3)]
        >>> batch.sizes.tolist()  # the second is transposed
        [[4, 6], [3, 5]]
    """

    host_table: torch.Tensor
    plane_bytes: int
    pixel_bytes: int

    @classmethod
    def of_sizes(
        cls,
        sizes: Sequence[tuple[int, int]],
        samplings: Sequence[str],
        orientations: Sequence[int] | None = None,
        *,
        empty: Callable[[int], torch.Tensor] | None = None,
    ) -> YCbCrBatch:
        """Make an uninitialized batch, for example for a decoder.

        Args:
            sizes: height and width of each stored image in pixels, at least 1.
            samplings: the sampling of each image: "rgb", "gray", "444", "422", "440" or "420".
            orientations: the EXIF orientation of each image, 1 to 8; None: all are upright.
            empty: allocates a flat uint8 tensor of a number of bytes on the CPU; None: new memory.

        Returns:
            A batch of ``len(sizes)`` images.

        Raises:
            ValueError: an argument is invalid.
        """
        check_sizes("YCbCrBatch.of_sizes", sizes, 3)
        count = len(sizes)
        orientations = [1] * count if orientations is None else orientations
        _check_forms(count, samplings, orientations)
        stored = np.array(sizes, np.int64).reshape(-1, 2)
        forms = np.array(
            [(SAMPLINGS.index(sampling), way) for sampling, way in zip(samplings, orientations, strict=True)],
            np.int64,
        ).reshape(-1, 2)
        layout, plane_bytes = packed(stored, bytes_of_planes(stored, forms[:, 0]))
        upright = np.where(forms[:, 1:] >= _TRANSPOSED, stored[:, ::-1], stored)
        rgb_layout, pixel_bytes = packed(upright, 3 * stored[:, 0] * stored[:, 1])
        table = torch.from_numpy(np.concatenate([layout, forms, rgb_layout], 1))
        storage = (empty or empty_on_host)(plane_bytes + table.nbytes)
        batch = cls(storage, table, plane_bytes, pixel_bytes)
        for there, here in zip(batch._tables, torch.split(table, _COLUMNS, 1), strict=True):
            there.copy_(here)
        return batch

    @property
    def buffer(self) -> torch.Tensor:
        """The planes: uint8, flat, in the memory of ``storage``."""
        return self._cached("_buffer", lambda: self.storage[: self.plane_bytes])

    @property
    def offsets(self) -> torch.Tensor:
        """The offset of the planes of each image: int64 ``[N]``, always on the CPU."""
        return self.host_table[:, 0]

    @property
    def layout(self) -> torch.Tensor:
        """The table of (offset, height, width): int64 ``[N, 3]``, in the memory of ``storage``."""
        return self._tables[0]

    @property
    def forms(self) -> torch.Tensor:
        """The table of (sampling, orientation): int64 ``[N, 2]``, in the memory of ``storage``."""
        return self._tables[1]

    @property
    def rgb_layout(self) -> torch.Tensor:
        """The layout table of the RGB images: int64 ``[N, 3]``, in the memory of ``storage``."""
        return self._tables[2]

    @property
    def rgb_bytes(self) -> int:
        """The bytes of the ImageBatch after conversion."""
        return rounded_up(self.pixel_bytes + 8 * _COLUMNS[2] * len(self))

    @property
    def sizes(self) -> torch.Tensor:
        """The sizes (height, width) of the upright images in pixels: int64 ``[N, 2]``, always on the CPU."""
        return self.host_table[:, 6:]

    @property
    def samplings(self) -> list[str]:
        """The sampling of each image, one of `SAMPLINGS`."""
        return [SAMPLINGS[form] for form in self.host_table[:, 3].tolist()]

    def image_buffers(self) -> list[torch.Tensor]:
        """The bytes of all planes of each image: uint8, flat, sharing the memory of the batch."""
        table = self.host_table.numpy()
        ends = table[:, 0] + bytes_of_planes(table[:, 1:3], table[:, 3])
        return [
            self.storage[first:end] for first, end in zip(table[:, 0].tolist(), ends.tolist(), strict=True)
        ]

    def planes(self, index: int) -> list[torch.Tensor]:
        """The planes of an image: uint8 ``[H, W]`` each, or one ``[H, W, 3]``, sharing the batch's memory."""
        height, width, form = self.host_table[index, 1:4].tolist()
        buffer = self.image_buffers()[index]
        if SAMPLINGS[form] == "rgb":
            return [buffer.view(height, width, 3)]
        chroma = _chroma_size(np.array([[height, width]]), np.array([form]))[0].tolist()
        shapes = [(height, width)] if SAMPLINGS[form] == "gray" else [(height, width), chroma, chroma]
        parts = torch.split(buffer, [rows * columns for rows, columns in shapes])
        return [part.view(*shape) for part, shape in zip(parts, shapes, strict=True)]

    def stored_boxes(self, boxes: Array) -> Array:
        """Boxes of upright images in pixels of the stored images: int64 ``[N, 4]``, contiguous.

        Args:
            boxes: int64 ``[N, 4]``: left, top, right, bottom.

        Example:
            >>> batch = YCbCrBatch.of_sizes([(2, 3)], ["gray"], [6])
            >>> batch.stored_boxes(np.array([[0, 0, 1, 3]])).tolist()
            [[0, 1, 3, 2]]
        """
        table = self.host_table.numpy()
        height, width, orientation = table[:, 1], table[:, 2], table[:, 4]
        is_transposed = orientation[:, None] >= _TRANSPOSED
        left, top, right, bottom = np.where(is_transposed, boxes[:, [1, 0, 3, 2]], boxes).T
        is_flipped, is_mirrored = np.isin(orientation, _FLIPPED), np.isin(orientation, _MIRRORED)
        top, bottom = np.where(is_flipped, [height - bottom, height - top], [top, bottom])
        left, right = np.where(is_mirrored, [width - right, width - left], [left, right])
        return np.stack([left, top, right, bottom], 1)

    def images(self, storage: torch.Tensor) -> ImageBatch:
        """The batch of RGB images whose pixels are in ``storage``, which has ``rgb_bytes``."""
        batch = ImageBatch(storage, self.host_table[:, 5:].contiguous(), 3, self.pixel_bytes)
        batch.layout.copy_(self.rgb_layout)
        return batch

    def __len__(self) -> int:
        return len(self.host_table)

    def __repr__(self) -> str:
        found = " and ".join(sorted(set(self.samplings))) or "none"
        return f"YCbCrBatch({len(self)} images, {found}, device={self.device})"

    @property
    def _tables(self) -> list[torch.Tensor]:
        return self._cached("_made", self._new_tables)

    def _new_tables(self) -> list[torch.Tensor]:
        table = self.storage[self.plane_bytes : self.plane_bytes + self.host_table.nbytes]
        parts = torch.split(table.view(torch.int64), [columns * len(self) for columns in _COLUMNS])
        return [part.view(-1, columns) for part, columns in zip(parts, _COLUMNS, strict=True)]


def _check_forms(count: int, samplings: Sequence[str], orientations: Sequence[int]) -> None:
    for name, values in (("samplings", samplings), ("orientations", orientations)):
        if len(values) != count:
            raise ValueError(f"YCbCrBatch.of_sizes: expected {count} {name}, but got {len(values)}")
    for sampling in samplings:
        if sampling not in SAMPLINGS:
            known = ", ".join(SAMPLINGS)
            raise ValueError(f"YCbCrBatch.of_sizes: expected samplings of {known}, but got {sampling!r}")
    for orientation in orientations:
        if not 1 <= orientation <= 8:
            raise ValueError(f"YCbCrBatch.of_sizes: expected orientations from 1 to 8, but got {orientation}")


def _chroma_size(sizes: Array, forms: Array) -> Array:
    """Height and width of the chroma planes."""
    halved = np.array([[name in ("440", "420"), name in ("422", "420")] for name in SAMPLINGS])[forms]
    return np.where(halved, -(-sizes // 2), sizes)


def bytes_of_planes(sizes: Array, forms: Array) -> Array:
    """The bytes of all planes of each image; "rgb" needs as many as "444"."""
    chroma = _chroma_size(sizes, forms).prod(1)
    result: Array = sizes.prod(1) + np.where(forms == SAMPLINGS.index("gray"), 0, 2 * chroma)
    return result
