"""Data sets of Hugging Face, whose images stay encoded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from orbbec.data.readers.rows import Columns, encoded_image
from orbbec.data.sample import Sample, faults_named, read_bytes
from orbbec.transforms.base.optional import optional


class HuggingFace:
    """A data set of Hugging Face, whose images a `Loader` decodes; needs the package `datasets`.

    Lists of numbers are arrays. The names of its `ClassLabel`, if there is one, are `classes`. The sample id
    of a row is its index in `dataset`, so `select`, `filter` and `shuffle` before give it another one; a
    torch `Subset` of this source keeps it.

    Args:
        dataset: a `datasets.Dataset`, or the folder of one that `save_to_disk` wrote.
        image: the column of the images: `datasets.Image`, or bytes.
        targets: columns by target name, with a dot before a field of a struct: `{"boxes": "objects.bbox"}`;
            None: every other column under its own name.

    Raises:
        ImportError: the package is missing.
        TypeError: the data set is a stream, which `as_source` takes, or a dict of splits.
        ValueError: there is no such column.

    Example:
        >>> import datasets
        >>> rows = {"image": [{"bytes": b"the bytes of a JPEG", "path": None}], "label": [7]}
        >>> dataset = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())
        >>> HuggingFace(dataset)[0]
        Sample(data=b'the bytes of a JPEG', targets={'label': 7}, sample_id=0)
    """

    def __init__(
        self, dataset: Any, image: str = "image", *, targets: Mapping[str, str] | None = None
    ) -> None:
        datasets = optional("HuggingFace", "datasets")
        if isinstance(dataset, (str, os.PathLike)):
            dataset = datasets.load_from_disk(dataset)
        if not isinstance(dataset, datasets.Dataset):
            raise TypeError(f"HuggingFace: expected a datasets.Dataset, but got {type(dataset).__name__}")
        self._columns = Columns("HuggingFace", dataset.features.arrow_schema, image, targets)
        labels = [each for each in dataset.features.values() if isinstance(each, datasets.ClassLabel)]
        self.classes = list(labels[0].names) if len(labels) == 1 else []
        if isinstance(dataset.features[image], datasets.Image):
            dataset = dataset.cast_column(image, datasets.Image(decode=False))
        self.dataset = dataset.select_columns(self._columns.names).with_format(None)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        with faults_named(index, f"row {index}", ValueError):
            row = self.dataset[index]
            image = row[self._columns.image]
            path = image.get("path") if isinstance(image, Mapping) and image.get("bytes") is None else None
            if isinstance(path, str):
                image = {"bytes": read_bytes(path, index), "path": path}
            data, path = encoded_image(image)
            return Sample(data, self._columns.targets_of(row), index, path)
