"""A prefetcher for an existing DataLoader: copies batches to a device and augments them, one ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from orbbec.batch import ImageBatch
from orbbec.data.device.staging import Staging, to_device
from orbbec.transforms import Compose, Transform


class DevicePrefetcher:
    """Copy batches of any loader to a device and augment them; on CUDA on a side stream, one batch ahead.

    Args:
        batches: a DataLoader, ideally with `collate_fn=orbbec.data.collate` and `pin_memory=True`. A batch is
            images, a tuple or list that begins with images, or a dict with images. Its other tensors are
            copied to the device unchanged.
        transforms: a `Compose`, or transforms in order; None: only copy.
        device: the target device.
        images: key of the images in a dict.
        sample_ids: key of the sample ids in a dict. None: samples are numbered in each epoch, so that the
            result of a sample depends on its position in the order.

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
        self.epoch = 0  # the next epoch
        self._staging = Staging(torch.device(device))

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, for the loader's sampler too; otherwise epochs count up.

        An epoch begins when its first batch is requested, and ends if it is left by `break`.
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
        on_device = to_device(batch, self._staging.device)
        if self.transforms is None:
            return on_device
        ids = torch.arange(seen, seen + len(images), device="cpu") if ids is None else ids
        results = self.transforms(_images_of(on_device, self.images), sample_ids=ids, epoch=epoch)
        if isinstance(on_device, dict):
            return {**on_device, self.images: results}
        if isinstance(on_device, (tuple, list)):
            changed = [results, *on_device[1:]]
            return type(on_device)(*changed) if hasattr(on_device, "_fields") else type(on_device)(changed)
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
