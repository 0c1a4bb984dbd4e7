"""For those who keep their DataLoader: its batches copied to a device and augmented there, one ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from orbbec.batch import ImageBatch
from orbbec.data.staging import Staging, to_device
from orbbec.transforms import Compose, Transform


class DevicePrefetcher:
    """Batches of any loader on a device, augmented; on CUDA on a side stream, one ahead of the model.

    Args:
        batches: a DataLoader, best with `collate_fn=orbbec.data.collate` and `pin_memory=True`. A batch is
            images, a tuple or list that begins with images, or a dict that holds them. Its other tensors go
            to the device as they are.
        transforms: a `Compose`, or transforms in order; None: batches are only copied.
        device: where to.
        images: the key of images in a dict.
        sample_ids: the key of their ids in a dict. Without, samples are counted over the epoch, so that what
            one becomes depends on its place in the order.

    Example:
        >>> from orbbec.transforms import RandomHorizontalFlip
        >>> batches = [(torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.tensor([0, 1]))]
        >>> for images, labels in DevicePrefetcher(batches, [RandomHorizontalFlip()], "cpu"):
        ...     print(list(images.shape), labels.tolist())
        [2, 3, 4, 4] [0, 1]
    """

    def __init__(
        self,
        batches: Iterable[Any],
        transforms: Compose | Sequence[Transform] | None,
        device: torch.device | str,
        *,
        images: str = "images",
        sample_ids: str = "sample_ids",
    ) -> None:
        self.batches, self.images, self.sample_ids = batches, images, sample_ids
        if transforms is not None and not isinstance(transforms, Compose):
            transforms = Compose(transforms)
        self.transforms = transforms
        self.epoch = 0  # the next
        self._staging = Staging(torch.device(device))

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that begins next, for the loader's sampler too; without it they count up.

        An epoch begins as its first batch is asked for; one that is left by `break` is over.
        """
        self.epoch = epoch
        sampler = getattr(self.batches, "sampler", None)
        if sampler is not None and hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        staged: deque[tuple[Any, Any]] = deque()
        seen, epoch = 0, self.epoch
        self.epoch += 1
        for batch in self.batches:
            staged.append(self._staging.stage(self._prepared, self._staging.take(batch), seen, epoch))
            seen += len(_images_of(batch, self.images))
            if len(staged) == self._staging.depth:
                yield self._staging.ready(*staged.popleft())
        while staged:
            yield self._staging.ready(*staged.popleft())

    def _prepared(self, batch: Any, seen: int, epoch: int) -> Any:
        images = _images_of(batch, self.images)
        ids = batch.get(self.sample_ids) if isinstance(batch, dict) else None
        moved = to_device(batch, self._staging.device)
        if self.transforms is None:
            return moved
        ids = torch.arange(seen, seen + len(images)) if ids is None else ids
        results = self.transforms(_images_of(moved, self.images), sample_ids=ids, epoch=epoch)
        if isinstance(moved, dict):
            return {**moved, self.images: results}
        if isinstance(moved, (tuple, list)):
            changed = [results, *moved[1:]]
            return type(moved)(*changed) if hasattr(moved, "_fields") else type(moved)(changed)
        return results


def _images_of(batch: Any, key: str) -> Any:
    if isinstance(batch, (torch.Tensor, ImageBatch)):
        return batch
    if isinstance(batch, dict) and key in batch:
        return batch[key]
    if isinstance(batch, (tuple, list)) and batch and isinstance(batch[0], (torch.Tensor, ImageBatch)):
        return batch[0]
    raise ValueError(
        f"DevicePrefetcher: expected a batch of images, one that begins with them, or a dict with '{key}', "
        f"but got {type(batch).__name__}"
    )
