"""Images with label files of YOLO: boxes, polygons and keypoints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from reprlib import repr as shortened  # YAML can share parts, whose whole text is endless
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.decode import image_size
from orbbec.data.files import AnnotatedFiles
from orbbec.data.readers.annotations.yolo_rows import YoloFormat, YoloRows, class_names
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.literals import is_integer, to_integer
from orbbec.data.readers.masks import mask_of
from orbbec.data.readers.paths import check_path, image_files, listed_lines
from orbbec.data.sample import Sample, faults_named, printable
from orbbec.transforms.base.checks import choice, flag
from orbbec.transforms.base.optional import optional

_IMAGES, _LABELS = "images", "labels"  # folders
_NUMBERS_OF_A_POINT = (2, 3)


class Yolo(AnnotatedFiles):
    """Images with label files of YOLO, as Ultralytics and others write them.

    The label file of `images/train/1.jpg` is `labels/train/1.txt`: the last folder `images` of the path
    becomes `labels`; without such a folder, the files are next to the images. An image without a label file
    has no objects. A line is one object, in fractions of the width and height of the upright image: a class
    with a box (center and size), with a polygon of at least three points, or with a box and keypoints.

    The targets of an image with K objects:

    - `boxes` float32 `[K, 4]`, (x0, y0, x1, y1) in pixels; of a polygon, its bounding box,
    - `labels` int64 `[K]`,
    - `polygons`, a list of K float32 `[P, 2]` in pixels, and `masks` uint8 `[K, H, W]`, on request,
    - `keypoints` float32 `[K, P, 2]` or `[K, P, 3]`, (x, y, visibility) in pixels, if there are keypoints.

    A line with other numbers, such as NaN, fractions beyond 0 to 1, or a class without a name, makes the
    image a bad sample, which names the file and the line. Images are sorted by path; the sample id of an
    image is its index. `Sample.size` is the size of the upright image.

    Args:
        data: `data.yaml`, or a folder of images.
        split: the entry of `data.yaml`: "train", "val" or "test"; a folder, a text file with a path per line,
            or a list of these.
        root: the folder that the entries are relative to; None: `path` in `data.yaml`, relative to its
            folder.
        classes: names of the classes, for a folder; None: any class is accepted, and `classes` is empty.
        keypoints: number of keypoints, and of numbers of each, 2 or 3; None: `kpt_shape` in `data.yaml`.
        labels: "from_zero": as in the files; "from_one": these plus 1, which leaves 0 for the background.
        polygons: return `polygons`; a box without a polygon makes a bad sample.
        masks: return `masks`; see `polygons`.
        trust_paths: accept paths that leave the folder of `data.yaml`, or `root`.

    Raises:
        OSError: a folder or file cannot be read.
        ValueError: `data.yaml` is malformed, there is no image, no image has a label file, or two images have
            the same; the message names the file.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> (root / "images").mkdir(), (root / "labels").mkdir()
        (None, None)
        >>> _ = (root / "images/1.pgm").write_bytes(b"P5 8 4 255 " + bytes(32))
        >>> _ = (root / "labels/1.txt").write_text("1 0.5 0.5 0.5 1.0")
        >>> sample = Yolo(root, classes=["cat", "dog"])[0]
        >>> sample.targets["boxes"].tolist(), sample.targets["labels"].tolist(), sample.size
        ([[2.0, 0.0, 6.0, 4.0]], [1], (4, 8))
    """

    def __init__(
        self,
        data: str | os.PathLike[str],
        split: str = "train",
        *,
        root: str | os.PathLike[str] | None = None,
        classes: Sequence[str] | None = None,
        keypoints: tuple[int, int] | None = None,
        labels: str = "from_zero",
        polygons: bool = False,
        masks: bool = False,
        trust_paths: bool = False,
    ) -> None:
        self._first = int(choice("Yolo", "labels", labels, ("from_zero", "from_one")) == "from_one")
        self._polygons, self._masks = flag("Yolo", "polygons", polygons), flag("Yolo", "masks", masks)
        self.classes, self.flip_indices = list(classes or ()), list[int]()
        file = Path(data)
        if file.is_dir():
            self.paths = image_files(file, EXTENSIONS)
        else:
            table = _read_yaml(file)
            self.classes = class_names(table.get("names"), printable(file))
            _check_count(table.get("nc"), len(self.classes), file)
            keypoints = _points_of(keypoints or _whole(table.get("kpt_shape")))
            self.flip_indices = _flip_indices(_whole(table.get("flip_idx")), keypoints, file)
            self.paths = sorted(_Entries(file, table, root, trust_paths).images(split))
        self._label_files = _as_written([_label_file(path) for path in self.paths])
        self._check_files(file)
        self._format = YoloFormat(len(self.classes) or None, _points_of(keypoints))

    @property
    def keypoint_pairs(self) -> list[tuple[int, int]]:
        """The pairs of keypoints that a flip swaps, from `flip_idx` of `data.yaml`."""
        return [(one, other) for one, other in enumerate(self.flip_indices) if one < other]

    def _check_files(self, data: Path) -> None:
        if not self.paths:
            raise ValueError(f"Yolo: expected images in {printable(data)}, but got none")
        if not any(map(os.path.exists, self._label_files)):
            raise ValueError(
                f"Yolo: expected label files of the images in {printable(data)}, but got none: "
                f"{printable(self._label_files[0])} does not exist"
            )
        known: dict[str, str] = {}
        for path, labels in zip(self.paths, self._label_files, strict=True):
            if known.setdefault(labels, path) != path:
                raise ValueError(
                    f"Yolo: expected a label file per image, but {printable(known[labels])} and "
                    f"{printable(path)} both have {printable(labels)}"
                )

    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of an image from the bytes of its file."""
        path = self.paths[index]
        with faults_named(index, path, ValueError):
            size = image_size(record)
        return Sample(record, self._targets(index, size), index, path, size, (self._label_files[index],))

    def _targets(self, index: int, size: tuple[int, int]) -> dict[str, Any]:
        file = self._label_files[index]
        with faults_named(index, file, ValueError):
            rows = self._format.read(_text_of(file), Path(file), index)
            scale = np.array(size[::-1], np.float64)
            targets: dict[str, Any] = {
                "boxes": (rows.boxes * np.tile(scale, 2)).astype(np.float32),
                "labels": np.array(rows.labels, np.int64) + self._first,
            }
            if rows.points is not None:
                rows.points[..., :2] *= scale
                targets["keypoints"] = rows.points.astype(np.float32)
            if self._polygons or self._masks:
                targets |= self._outlines(rows, scale, size)
        return targets

    def _outlines(self, rows: YoloRows, scale: Array, size: tuple[int, int]) -> dict[str, Any]:
        outlines = []
        for row, polygon in enumerate(rows.polygons):
            if polygon is None:
                raise ValueError(f"expected polygons, but object {row} has a box only")
            outlines.append((polygon * scale).astype(np.float32))
        targets: dict[str, Any] = {"polygons": outlines} if self._polygons else {}
        if self._masks:
            masks = [mask_of([outline.ravel()], size) for outline in outlines]
            targets["masks"] = np.array(masks, np.uint8).reshape(-1, *size)
        return targets


class _Entries:
    """The images that a `data.yaml` names."""

    def __init__(
        self, file: Path, table: dict[str, Any], root: str | os.PathLike[str] | None, trust_paths: bool
    ) -> None:
        self._file, self._table, self._trust_paths = file, table, trust_paths
        self._root = file.parent / str(table.get("path") or "") if root is None else Path(root)
        self._bounds = file.parent if root is None else self._root

    def images(self, split: str) -> Iterable[str]:
        entries = self._table.get(split)
        if not entries or not isinstance(entries, (str, list)):
            raise ValueError(
                f"Yolo: expected a folder or a list as '{split}' in {printable(self._file)}, "
                f"but got {shortened(entries)}"
            )
        for entry in [entries] if isinstance(entries, str) else entries:
            path = self._path_of(str(entry))
            yield from self._listed(path) if path.suffix.lower() == ".txt" else image_files(path, EXTENSIONS)

    def _path_of(self, entry: str) -> Path:
        """The path of an entry; Roboflow's `../train/images` are relative to a folder in the root."""
        path = self._root / entry
        if entry.startswith("../") and not path.exists():
            path = self._root / entry[3:]
        self._check(str(path), f"{printable(self._file)}")
        if not path.exists():
            raise FileNotFoundError(
                f"Yolo: expected {printable(path)}, as {printable(self._file)} says, but it does not exist; "
                "root=... says where its folders are"
            )
        return path

    def _check(self, path: str, source: str) -> None:
        if not self._trust_paths:
            check_path("Yolo", self._bounds, os.path.abspath(path), source)

    def _listed(self, file: Path) -> Iterable[str]:
        for entry, source in listed_lines(file):
            path = os.path.normpath(file.parent / entry)
            self._check(path, source)
            yield path


def _read_yaml(file: Path) -> dict[str, Any]:
    yaml = optional("Yolo", "yaml", "pyyaml")
    with open(file, encoding="utf-8") as opened:
        try:
            table = yaml.load(opened, yaml.BaseLoader)  # scalars as texts: `no` is a name
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise ValueError(f"Yolo: {printable(file)} is not a YAML file: {error}") from error
    if not isinstance(table, dict):
        raise ValueError(f"Yolo: expected entries such as 'train' and 'names' in {printable(file)}")
    return table


def _whole(values: Any) -> Any:
    """Texts as whole numbers, if all of them are."""
    is_whole = isinstance(values, list) and all(isinstance(each, str) and is_integer(each) for each in values)
    return list(map(to_integer, values)) if is_whole else values


def _check_count(count: Any, classes: int, file: Path) -> None:
    if count not in (None, str(classes)):
        raise ValueError(
            f"Yolo: expected {classes} classes, as names, in {printable(file)}, but nc is {shortened(count)}"
        )


def _label_file(image: str) -> str:
    before, folder, after = f"{os.sep}{image}".rpartition(f"{os.sep}{_IMAGES}{os.sep}")
    stem = os.path.splitext(after)[0]
    return f"{before}{folder.replace(_IMAGES, _LABELS)}{stem}.txt".removeprefix(os.sep)


def _as_written(files: list[str]) -> list[str]:
    """The files by their names in their folders: `1.TXT` where there is no `1.txt`."""
    names: dict[str, str] = {}
    for folder in filter(os.path.isdir, {os.path.dirname(file) for file in files}):
        for name in sorted(os.listdir(folder)):  # capitals first
            stem, ending = os.path.splitext(os.path.join(folder, name))
            names[stem + ending.lower()] = stem + ending
    return [names.get(file, file) for file in files]


def _text_of(file: str) -> str:
    """The text of a label file; empty if there is none."""
    try:
        with open(file, "rb", 0) as opened:
            return opened.read().decode("utf-8-sig")
    except FileNotFoundError:
        if os.path.islink(file):
            raise
        return ""


def _points_of(shape: Any) -> tuple[int, int] | None:
    if shape is None:
        return None
    is_pair = isinstance(shape, (list, tuple)) and len(shape) == 2 and all(type(n) is int for n in shape)
    if not is_pair or shape[0] < 1 or shape[1] not in _NUMBERS_OF_A_POINT:
        raise ValueError(f"Yolo: expected keypoints as (number, 2 or 3), but got {shortened(shape)}")
    return shape[0], shape[1]


def _flip_indices(indices: Any, points: tuple[int, int] | None, file: Path) -> list[int]:
    """The keypoint that each becomes in a mirrored image."""
    if indices is None:
        return []
    found = f"in {printable(file)}, but got {shortened(indices)}"
    is_list = isinstance(indices, list) and all(type(index) is int for index in indices)
    if not is_list or points is None or sorted(indices) != list(range(points[0])):
        raise ValueError(f"Yolo: expected flip_idx as each keypoint once {found}")
    if any(indices[indices[index]] != index for index in indices):
        raise ValueError(f"Yolo: expected flip_idx as pairs {found}")
    return list(indices)
