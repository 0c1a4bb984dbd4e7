"""How a pass moves targets: points, boxes and masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.bridge.buffer_pool import output_buffer
from orbbec.plan.batches import Rows
from orbbec.plan.passes import AugmentPass, NoiseKey, OperatorPass, Pass
from orbbec.transforms.targets.fields import Field, Pieces
from orbbec.warpaffine.perspective import warp_perspective
from orbbec.warpaffine.perspective.masks import warp_masks

Size = tuple[int, int]


class Masks(NamedTuple):
    """Masks of one dtype."""

    values: Sequence[Tensor]  # per image: [..., H, W]
    images: Sequence[int]  # indices in the batch
    fill: list[float]  # value outside an image, as bytes


class Motion:
    """How the pixels of images move.

    Args:
        matrix: float64 `[N, 3, 3]`: output pixels to what `cut` leaves of images.
        sizes: int64 `[N, 2]`: sizes of the outputs.
        border: of masks.
        regions: int64 `[N, 4]`: crops before `matrix`: left, top, right, bottom; None: none.
        reads: float64 `[N, 3, 3]`: output pixels to the pixels that masks read; None: `matrix`.
        seen: int64 `[N, 4]`: the parts of masks whose pixels those are; None: all of them.
    """

    def __init__(
        self,
        matrix: Array,
        sizes: Array,
        border: str,
        regions: Array | None = None,
        reads: Array | None = None,
        seen: Array | None = None,
    ) -> None:
        self.matrix, self.sizes, self.border, self.regions = matrix, sizes, border, regions
        self.reads, self.seen = matrix if reads is None else reads, seen
        self._sizes: list[Size] = list(map(tuple, sizes.tolist()))
        self._regions = None if regions is None else regions.tolist()

    def keeps(self, index: int) -> bool:
        """Whether every pixel of image `index` stays in place."""
        return False

    def size(self, index: int) -> Size:
        """(height, width) of output `index`."""
        return self._sizes[index]

    def cut(self, index: int) -> Sequence[int] | None:
        """Left, top, right, bottom of the crop of image `index` before `matrix`; None: no crop."""
        return None if self._regions is None else self._regions[index]

    def field(self, index: int) -> Field | None:
        """How each pixel of image `index` moves; None: it follows the matrix."""
        return None

    def move_masks(self, masks: Masks) -> Sequence[Tensor]:
        """Move masks. If the image is read by nearest, masks read the same pixels.

        Returns:
            Masks `[..., height, width]` of each image.
        """
        if not masks.values[0].is_cpu:
            return _by_size(masks, self.sizes, self._launched)
        matrix, sizes = (torch.from_numpy(np.ascontiguousarray(each)) for each in (self.reads, self.sizes))
        seen = None if self.seen is None else torch.from_numpy(np.ascontiguousarray(self.seen))
        return warp_masks(
            masks.values, masks.images, matrix, sizes, regions=seen, border=self.border, fill=masks.fill
        )

    def _launched(self, masks: Masks, size: Size) -> list[Tensor]:
        """Masks whose results have one size, in one launch: in a copy of what they read."""
        tables = list(map(bytes_of, masks.values))
        if self.seen is not None:
            pairs = zip(tables, self.seen[list(masks.images)].tolist(), strict=True)
            tables = [table[:, top:bottom, left:right] for table, (left, top, right, bottom) in pairs]
        how: dict[str, Any] = {"interpolation": "nearest", "border": self.border, "fill": masks.fill}

        def move(batch: Rows | Tensor, rows: Array) -> Tensor:
            out = None
            if isinstance(batch, Rows):  # the bytes of a value stay together
                out = output_buffer((len(rows), batch.channels, *size), torch.uint8, True, batch.buffer)
            matrix = torch.from_numpy(self.reads[rows])
            result: Tensor = warp_perspective(batch, matrix, size, inverse=True, out=out, **how)
            return result

        return _in_one_launch(tables, masks, move)


class _Operated(Motion):
    """By an operator."""

    def __init__(self, step: OperatorPass, key: NoiseKey) -> None:
        super().__init__(step.matrix, step.sizes, mask_border(step))
        self._step, self._key = step, key

    def keeps(self, index: int) -> bool:
        if self._step.resizes:
            return False
        if self._step.spec.moves_pixels:
            return not self._step.drawn[index]
        return bool((self.matrix[index] == np.eye(3)).all())

    def field(self, index: int) -> Field | None:
        of, pieces_of = self._step.spec.displacement, self._step.spec.pieces
        height, width = self.size(index)
        if pieces_of is not None:
            numbers = {name: values[index] for name, values in self._step.table.items()}
            return Pieces.of((height, width), pieces_of(size=(height, width), **numbers))
        if of is None:
            return None
        numbers = self._numbers(index)
        if self._step.draws_noise:
            numbers["transform_index"] = self._step.options["transform_index"]
        return Field(of(size=(height, width), **numbers)[0].numpy())

    def _numbers(self, index: int) -> dict[str, Any]:
        """The row of an image in the table, with what noise depends on."""
        row, key = slice(index, index + 1), self._key
        numbers = {name: torch.from_numpy(values[row]) for name, values in self._step.table.items()}
        if not self._step.draws_noise:
            return numbers
        ids = torch.from_numpy(self._step.noise_ids(key)[row])
        return {**numbers, "sample_ids": ids, "seed": key.seed, "epoch": key.epoch}

    def move_masks(self, masks: Masks) -> Sequence[Tensor]:
        step = self._step
        if step.spec.moves_pixels:
            pairs = zip(masks.values, masks.images, strict=True)
            return [self._displaced(values, index, masks.fill) for values, index in pairs]
        if not (step.resizes and step.options.get("interpolation") == "nearest"):
            return super().move_masks(masks)

        return _by_size(masks, self.sizes, self._resized)

    def _resized(self, masks: Masks, size: Size) -> list[Tensor]:
        """Masks that the operator resizes by nearest, to one size."""
        step = self._step

        def move(batch: Rows | Tensor, rows: Array) -> Tensor:
            columns = {name: torch.from_numpy(values[rows]) for name, values in step.table.items()}
            result: Tensor = step.spec.call(batch, size=size, **columns, **step.options)
            return result

        return _in_one_launch(list(map(bytes_of, masks.values)), masks, move)

    def _displaced(self, masks: Tensor, index: int, fill: list[float]) -> Tensor:
        """The masks of one image, moved by its displacement."""
        table = bytes_of(masks)
        count, height, width, channels = table.shape
        how = {**self._step.options, **self._numbers(index)}
        if self._step.spec.displacement is not None:
            how |= {"interpolation": "nearest", "fill": fill * count}
        pixels = table.permute(0, 3, 1, 2).reshape(1, -1, height, width)
        result: Tensor = self._step.spec.call(pixels, **how)
        return _values_of(result.reshape(count, channels, height, width), masks.dtype).view(masks.shape)


def motion_of(step: Pass, key: NoiseKey) -> Motion | None:
    """How a pass of a plan with this key moves targets; None: not at all, or as they are mixed."""
    if isinstance(step, AugmentPass):
        matrix, regions = (step.source_matrix, step.regions) if step.reads_beyond else (step.matrix, None)
        return Motion(matrix, step.sizes, mask_border(step), regions, step.reads, step.regions)
    return _Operated(step, key) if isinstance(step, OperatorPass) else None


def mask_border(step: Pass) -> str:
    """The border of masks in a pass."""
    if isinstance(step, AugmentPass):
        return step.border
    return str(step.options.get("border", "replicate")) if isinstance(step, OperatorPass) else "replicate"


def bytes_of(masks: Tensor) -> Tensor:
    """Masks `[..., H, W]` as uint8 `[M, H, W, bytes of a value]`."""
    height, width = masks.shape[-2:]
    return masks.detach().contiguous().view(-1, height, width, 1).view(torch.uint8)


def _values_of(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Images whose channels are the bytes of a value, `[M, bytes, H, W]`, as masks `[M, H, W]`."""
    count, _, height, width = images.shape
    return images.permute(0, 2, 3, 1).reshape(-1).view(dtype).view(count, height, width)


def _by_size(
    masks: Masks, sizes: Array, launch: Callable[[Masks, Size], Sequence[Tensor]]
) -> Sequence[Tensor]:
    """Call `launch` for the masks whose results have one size, by the `sizes` `[N, 2]` of all results."""
    groups: dict[Size, list[int]] = {}
    for row, (height, width) in enumerate(sizes[list(masks.images)].tolist()):
        groups.setdefault((height, width), []).append(row)
    results = list(masks.values)
    for size, rows in groups.items():
        some = Masks([masks.values[row] for row in rows], [masks.images[row] for row in rows], masks.fill)
        for row, result in zip(rows, launch(some, size), strict=True):
            results[row] = result.view(*results[row].shape[:-2], *size)
    return results


def _in_one_launch(
    tables: Sequence[Tensor], masks: Masks, move: Callable[[Rows | Tensor, Array], Tensor]
) -> list[Tensor]:
    """Call `move` with all masks, as `bytes_of` gives them, and the image of each: `[M, height, width]`.

    Masks of several images are images in one buffer. Those of a single image are its channels, which are read
    at positions that are computed once, or a batch with the bytes of a value as channels.
    """
    dtype, images = masks.values[0].dtype, np.array(masks.images)
    if len(tables) > 1:
        counts = [len(table) for table in tables]
        every = _values_of(move(_ragged(tables), images.repeat(counts)), dtype)
        return list(torch.split(every, counts))
    (table,) = tables
    if table.shape[3] == 1:
        return [move(table[None, ..., 0], images)[0].view(dtype)]
    return [_values_of(move(table.permute(0, 3, 1, 2), images.repeat(len(table))), dtype)]


def _ragged(tables: Sequence[Tensor]) -> Rows:
    """Images of variable sizes in one buffer."""
    rows, offset = [], 0
    for table in tables:
        count, height, width, channels = table.shape
        rows += [(offset + n * height * width * channels, height, width) for n in range(count)]
        offset += table.numel()
    parts, layout = [table.reshape(-1) for table in tables], torch.tensor(rows, device="cpu")
    buffer = torch.cat(parts) if len(parts) > 1 else parts[0]
    on_device = layout.to(buffer.device, non_blocking=True)
    return Rows(buffer, on_device, tables[0].shape[3], layout[:, 1:])
