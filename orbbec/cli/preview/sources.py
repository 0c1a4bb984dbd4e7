"""Images and their targets from files, folders and data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.cli.preview.drawing import ROW_KEY, Shown
from orbbec.cli.preview.yolo import YoloTable, label_file, read_labels, with_outlines
from orbbec.data.decode.decode import decode_image
from orbbec.data.placed import check_placed
from orbbec.data.readers.coco import Coco
from orbbec.data.readers.detect import open_source
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import image_files
from orbbec.data.sample import Sample, Source, read_bytes

_DRAWN = ("boxes", "labels", "masks", "mask", "keypoints", "landmarks", "polygons")


@dataclass
class Selection:
    """Images to preview.

    Args:
        images: uint8 `[H, W, 3]` by name.
        targets: one dict per image; boxes are xyxy.
        classes: the names that labels are indices of; empty if unknown.
    """

    images: dict[str, Array] = field(default_factory=dict)
    targets: list[dict[str, Any]] = field(default_factory=list)
    classes: Sequence[str] = ()

    def add(self, name: str, image: Array, target: dict[str, Any]) -> None:
        if name in self.images:
            raise ValueError(f"preview: expected files with distinct names, but got {name} twice")
        self.images[name] = image
        self.targets.append(target)


def select(paths: Sequence[Path], count: int, images: Path | None = None) -> Selection:
    """Read images from image files, and up to `count` of each folder and data set, evenly spaced.

    Each path is an image, a folder of images, a data set in YOLO's format (its .yaml file), a COCO .json file
    or anything that `open_source` reads. The boxes of `images/a.jpg` are read from `labels/a.txt`, as for
    YOLO, if there is such a file.

    Args:
        paths: what to read.
        count: images per folder or data set.
        images: the folder of the images of a .json or .csv file; None: the folder of that file.

    Raises:
        ValueError: nothing can be read from a path.
    """
    selection = Selection()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"preview: expected images or a data set, but {path} does not exist")
        if path.suffix.lower() in (".yaml", ".yml"):
            _add_yolo(selection, path, count)
        elif path.is_dir() and (files := image_files(path, EXTENSIONS)):
            _add_files(selection, map(Path, _spread(files, count)), path)
        elif path.suffix.lower() in EXTENSIONS:
            _add_files(selection, [path], path.parent)
        else:
            _add_source(selection, _opened(path, images), count)
    return selection


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Up to `count` items, evenly spaced, so that a few images of each class are among them."""
    return [items[index] for index in _indices(len(items), count)]


def _indices(length: int, count: int) -> list[int]:
    chosen = min(count, length)
    return [index * length // chosen for index in range(chosen)]


def _add_yolo(selection: Selection, path: Path, count: int) -> None:
    table = YoloTable.read(path)
    selection.classes = table.classes
    _add_files(selection, map(Path, _spread(table.files(), count)), path.parent)


def _add_files(selection: Selection, files: Iterable[Path], root: Path) -> None:
    files = list(files)
    images = [_decoded(Sample(read_bytes(file, 0)), file) for file in files]
    labels = map(label_file, files)
    targets = [
        read_labels(each, image.shape[:2]) if each else {} for each, image in zip(labels, images, strict=True)
    ]
    if any("polygons" in target for target in targets):  # mixes take them of all images or of none
        targets = [with_outlines(target) for target in targets]
    for file, image, target in zip(files, images, targets, strict=True):
        name = file.relative_to(root) if file.is_relative_to(root) else file
        selection.add(str(name), image, target)


def _opened(path: Path, images: Path | None) -> Any:
    if path.suffix.lower() != ".json":
        try:
            return open_source(path, images=images)
        except ValueError as error:
            if not path.is_dir():
                raise
            raise ValueError(f"preview: expected images or a data set in {path}, but got none") from error
    source = Coco(images or path.parent, path, masks=True, keypoints=True)
    if source.paths and not (source.root / source.paths[0]).exists():
        raise ValueError(
            f"preview: expected {source.paths[0]}, which {path} lists, in {source.root}; "
            "name the folder of the images with --images"
        )
    return source


def _add_source(selection: Selection, source: Any, count: int) -> None:
    selection.classes = getattr(source, "classes", ())
    paths = getattr(source, "paths", None)
    for index, sample in _samples(source, count):
        name = str(paths[index]) if paths else f"sample {sample.sample_id}"
        image = _decoded(sample, name)
        try:
            check_placed(sample, image.shape[:2])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        target = {key: value for key, value in sample.targets.items() if key in _DRAWN}
        selection.add(_with_class(name, sample, selection.classes), image, target)


def _samples(source: Any, count: int) -> Iterator[tuple[int, Sample]]:
    if not isinstance(source, Source):  # a stream
        yield from enumerate(islice(source, count))
        return
    for index in _indices(len(source), count):
        yield index, source[index]


def _with_class(name: str, sample: Sample, classes: Sequence[str]) -> str:
    label: Any = sample.targets.get("label")
    is_known = isinstance(label, (int, np.integer)) and 0 <= label < len(classes)
    return f"{name}: {classes[int(label)]}" if is_known else name


def _decoded(sample: Sample, name: Path | str) -> Array:
    """A sample's image as uint8 `[H, W, 3]`."""
    if isinstance(sample.data, bytes):
        try:
            return decode_image(sample.data)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    pixels = np.asarray(sample.data)
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        kind = f"{pixels.dtype} {list(pixels.shape)}"
        raise ValueError(f"preview: expected images as uint8 [H, W] or [H, W, 3], but {name} is {kind}")
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))


def shown_by_class(shown: Shown, classes: Sequence[str]) -> Shown:
    """The same picture with one color per class, and with names instead of numbers as labels."""
    labels = shown.targets.get("labels")
    if labels is None or not classes:
        return shown
    numbers = np.asarray(labels, np.int64)
    names = [classes[n] if 0 <= n < len(classes) else str(n) for n in numbers.tolist()]
    return replace(shown, targets={**shown.targets, "labels": names, ROW_KEY: numbers})
