"""Adapters of torch datasets, sequences and iterables to sources and streams of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import IterableDataset

from orbbec.batch.collate import is_pil
from orbbec.bridge.arguments import Array
from orbbec.data.concat import with_distinct_ids
from orbbec.data.decode.modes import pixels_of, widest_mode
from orbbec.data.sample import BadSample, Sample, Source, faults_named, read_bytes

_IMAGE_KEYS = ("image", "img")
_MODES_OF_MASKS = ("1", "L", "P", "I", "I;16")  # one number per pixel
_LOST = OSError, ValueError, EOFError  # errors of unreadable files; any other error is a bug


class WrappedDataset:
    """A dataset as a source; made by `as_source`."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.classes = list(getattr(dataset, "classes", None) or ())

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        with faults_named(index, f"{type(self.dataset).__name__}[{index}]", *_LOST):
            item = self.dataset[index]
        return to_sample(item, index)


class WrappedStream:
    """An iterable as a stream; made by `as_source`. Its `set_epoch`, if any, is called."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch."""
        if hasattr(self.items, "set_epoch"):
            self.items.set_epoch(epoch)

    def __iter__(self) -> Iterator[Sample | BadSample]:
        for index, item in enumerate(self.items):
            yield item if isinstance(item, BadSample) else to_sample(item, index)


def as_source(dataset: Any) -> WrappedDataset | WrappedStream:
    """Adapt a dataset to a source, or an iterable to a stream.

    An item is an image, `(image, target)`, a dict with "image", or a `Sample`, which is kept. A target is a
    dict of targets. A PIL image of classes, or whole numbers `[H, W]` of the size of the image, are its
    `mask`, as in data sets for segmentation; anything else is `label`. Images are arrays uint8
    `[H, W, C]` or `[H, W]`, tensors `[C, H, W]` or `[H, W]`, or PIL images, which become gray, RGB or RGBA by
    the rule of `decode_image` for modes; their EXIF is not read. Encoded files are bytes, or a dict with
    "bytes" or a "path", as Hugging Face's `Image(decode=False)` gives them. The dataset's own transforms must
    not convert images to float.

    Sample ids are the indices of the dataset, or the positions in the iterable, which must therefore keep its
    order in every epoch: shuffle it afterwards with `ShuffleBuffer`. A `Sample` keeps its id, except in a
    `ConcatDataset` of torch, whose parts may repeat ids: sample `id` of part number p, counted from 1, gets
    the id `p << 48 | id`. An iterable must distribute itself over ranks and workers.

    An item of a dataset that cannot be read (OSError, ValueError, EOFError), or a PIL image whose mode has no
    known range, such as "F", is a `BadSample`. An error of an
    iterable ends it and propagates.

    Args:
        dataset: a torch `Dataset`, a sequence, or an iterable.

    Raises:
        TypeError: the dataset or an item has an unsupported type.

    Example:
        >>> from torch.utils.data import TensorDataset
        >>> source = as_source(TensorDataset(torch.zeros(5, 3, 4, 6, dtype=torch.uint8), torch.arange(5)))
        >>> source[2].data.shape, source[2].targets, source[2].sample_id
        ((4, 6, 3), {'label': 2}, 2)
    """
    if isinstance(dataset, (WrappedDataset, WrappedStream)):
        return dataset
    dataset = with_distinct_ids(dataset)
    if isinstance(dataset, Source) and not isinstance(dataset, IterableDataset):
        return WrappedDataset(dataset)
    if hasattr(dataset, "__iter__"):
        return WrappedStream(dataset)
    raise TypeError(f"as_source: expected a dataset or an iterable, but got {type(dataset).__name__}")


def to_sample(item: Any, sample_id: int) -> Sample:
    """Convert an item of a dataset to a sample; see `as_source`.

    Raises:
        TypeError: the item has an unsupported type; the message names the sample.
    """
    if isinstance(item, Sample):
        return item
    image, target = item, {}
    if isinstance(item, Mapping):
        key = next((key for key in _IMAGE_KEYS if key in item), None)
        if key is None:
            raise TypeError(f"as_source: expected 'image' in sample {sample_id}, but got {', '.join(item)}")
        image, target = item[key], {name: value for name, value in item.items() if name != key}
    elif isinstance(item, (tuple, list)):
        if len(item) not in (1, 2):
            raise TypeError(
                f"as_source: expected (image, target), but sample {sample_id} has {len(item)} parts"
            )
        image, target = item[0], item[1] if len(item) == 2 else {}
    image, path = _encoded(image, sample_id) if isinstance(image, Mapping) else (image, "")
    pixels = _image(image, sample_id)
    if not isinstance(target, Mapping):
        if is_pil(target) and target.mode in _MODES_OF_MASKS:
            target = {"mask": np.array(target)}
        else:
            target = {"mask" if _is_mask(target, pixels) else "label": _plain(target)}
    return Sample(pixels, dict(target), sample_id, path)


def _encoded(image: Mapping[str, Any], sample_id: int) -> tuple[bytes, str]:
    """The bytes and the path of a file that its data set did not decode."""
    data, path = image.get("bytes"), image.get("path")
    if isinstance(data, bytes):
        return data, path or ""
    if data is None and isinstance(path, str):
        return read_bytes(path, sample_id), path
    raise TypeError(
        f"as_source: expected 'bytes' or the 'path' of the image in sample {sample_id}, "
        f"but got a dict of {', '.join(image) or 'nothing'}"
    )


def _is_mask(target: Any, pixels: Any) -> bool:
    """Whether a target is whole numbers `[H, W]`, one per pixel of its image."""
    if not isinstance(target, (np.ndarray, Tensor)) or target.ndim != 2 or isinstance(pixels, bytes):
        return False
    kind = target.dtype.kind if isinstance(target, np.ndarray) else "f" if target.is_floating_point() else "i"
    return kind in "biu" and tuple(target.shape) == tuple(pixels.shape[:2])


def _plain(label: Any) -> Any:
    """Convert NumPy and torch numbers to Python numbers; anything else is unchanged."""
    is_scalar = isinstance(label, np.generic) or (isinstance(label, Tensor) and label.dim() == 0)
    return label.item() if is_scalar else label


def _image(image: Any, sample_id: int) -> bytes | Array:
    if isinstance(image, bytes):
        return image
    if is_pil(image):
        with faults_named(sample_id, "its image", ValueError):
            mode = widest_mode(image)
            array = pixels_of(image, mode)
        array = array[..., 0] if mode == "L" else array
    elif isinstance(image, Tensor):
        array = image.detach().cpu().numpy()
        array = array.transpose(1, 2, 0) if array.ndim == 3 else array
    elif isinstance(image, np.ndarray):
        array = image
    else:
        raise TypeError(f"as_source: expected an image in sample {sample_id}, but got {type(image).__name__}")
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        raise TypeError(
            f"as_source: expected an image of uint8 in sample {sample_id}, but got {array.dtype} "
            f"{list(array.shape)}: convert to float with orbbec.transforms instead"
        )
    return array
