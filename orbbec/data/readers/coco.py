"""Images with COCO annotations: boxes, masks, keypoints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.files import FileSource
from orbbec.data.readers.masks import mask_box, mask_of, rings_of
from orbbec.data.readers.paths import check_path
from orbbec.data.sample import faults_named
from orbbec.transforms.base.checks import choice

_FARTHEST = 1e9  # largest coordinate in pixels, and largest area
_LONGEST = 1 << 20  # longest side in pixels
_LABELS = ("from_zero", "from_one", "category_id")
_NONE = (np.nan,) * 4  # a box that the file lacks
_MOST_MASK_BYTES = 2 << 30  # per image: refuses hostile files before they exhaust memory


class Coco(FileSource):
    """A folder of images with a JSON file of COCO annotations.

    The targets of an image with K objects:

    - `boxes` float32 `[K, 4]`, (x0, y0, x1, y1) in pixels,
    - `labels` int64 `[K]`, see the argument `labels`; `classes` are sorted by category id,
    - `area` float32 `[K]`, as annotated, in square pixels,
    - `masks` uint8 `[K, H, W]` of 0 and 1, identical to pycocotools; empty without a segmentation,
    - `polygons`, a list for each of the K objects of its rings float32 `[P, 2]`,
    - `keypoints` float32 `[K, P, 3]`, (x, y, visibility); zeros for an object without keypoints,
    - `iscrowd` bool `[K]`: a region of many objects that are not annotated separately.

    What an object lacks, or has as null or an empty list, follows from the rest: `area` is the number of
    pixels of its mask or, if there are none, the area of its box; its box is that of its mask; it is no
    crowd.

    The sample id of an image is its id in the file, and images are sorted by id. A `Loader` refuses an image
    with objects whose size is not that of the file; see `Sample.size`.

    Args:
        images: the folder of the images.
        annotations: the JSON file.
        masks: return `masks`.
        polygons: return `polygons`; run lengths make a bad sample, unless they are those of a crowd that is
            dropped.
        keypoints: return `keypoints`.
        keep_crowd: keep crowds and return `iscrowd`, as evaluation needs. False: drop them, since they are
            not single objects to learn.
        labels: "from_zero": indices into `classes`; "from_one": these plus 1, which leaves 0 for the
            background, as torchvision's detectors expect; or "category_id": the ids of the file.
        trust_paths: accept any `file_name`, also absolute paths and paths that leave `images` by `..`, as
            torchvision does. False: refuse them, since an untrusted file could name any path.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON or an entry is malformed; the message names the entry.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> annotation = {"id": 1, "image_id": 42, "category_id": 7, "bbox": [1, 2, 3, 4], "area": 12}
        >>> images = [{"id": 42, "file_name": "a.jpg", "height": 8, "width": 9}]
        >>> table = {"images": images, "annotations": [annotation], "categories": [{"id": 7, "name": "cat"}]}
        >>> _ = (root / "train.json").write_text(json.dumps(table)), (root / "a.jpg").write_bytes(b"...")
        >>> sample = Coco(root, root / "train.json")[0]
        >>> sample.sample_id, sample.targets["boxes"].tolist(), sample.targets["labels"].tolist()
        (42, [[1.0, 2.0, 4.0, 6.0]], [0])
    """

    root: Path
    sample_ids: list[int]
    sizes: list[tuple[int, int]]

    def __init__(
        self,
        images: str | os.PathLike[str],
        annotations: str | os.PathLike[str],
        *,
        masks: bool = False,
        polygons: bool = False,
        keypoints: bool = False,
        keep_crowd: bool = False,
        labels: str = "from_zero",
        trust_paths: bool = False,
    ) -> None:
        choice("Coco", "labels", labels, _LABELS)
        self.root, self.keep_crowd = Path(images), keep_crowd
        try:
            table = json.loads(Path(annotations).read_bytes())  # which knows UTF-8, 16 and 32 apart
        except (ValueError, RecursionError) as error:
            raise ValueError(f"Coco: {annotations} is not a JSON file: {error}") from error
        entries = _of(table, "images", {"id": int, "file_name": str, "height": int, "width": int})
        categories = _of(table, "categories", {"id": int, "name": str})
        objects = _of(table, "annotations", {"image_id": int, "category_id": int})
        for entry in entries:
            _check_image(entry)
            if not trust_paths:
                check_path("Coco", self.root, entry["file_name"], f"image {entry['id']} of {annotations}")
        entries.sort(key=lambda entry: entry["id"])
        categories.sort(key=lambda entry: entry["id"])

        self.sample_ids = [entry["id"] for entry in entries]
        self.paths = [entry["file_name"] for entry in entries]
        self.sizes = [(entry["height"], entry["width"]) for entry in entries]
        self.classes = [entry["name"] for entry in categories]
        self.category_ids = [entry["id"] for entry in categories]
        names = [entry.get("keypoints") or [] for entry in categories]
        if not all(isinstance(entry, list) for entry in names):
            raise ValueError("Coco: expected lists of names as keypoints of categories")
        self.points = max(map(len, names), default=0)

        _check_annotations(objects)
        objects = [entry for entry in objects if keep_crowd or not entry.get("iscrowd")]
        indices = _index_by_id(entries, "images")
        objects = _sorted_by_image(objects, indices)
        classes = _index_by_id(categories, "categories")
        self._read_objects(objects, indices, _labels_of(classes, labels))
        self._masks, self._polygons = masks, polygons
        self._segmentations = [entry.get("segmentation") for entry in objects if masks or polygons]
        self._keypoints = _keypoints(objects, self.points) if keypoints else None

    def _read_objects(
        self, objects: list[dict[str, Any]], indices: dict[int, int], labels: dict[int, int]
    ) -> None:
        """Objects as columns: a few bytes each, compared with a kilobyte for a dict."""
        for entry in objects:
            if entry["category_id"] not in labels:
                raise ValueError(f"Coco: expected a known category, but got {entry!r:.200}")
            _check_object(entry)
        corners = np.array([entry.get("bbox") or _NONE for entry in objects], np.float64).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        areas = [np.nan if entry.get("area") is None else entry["area"] for entry in objects]
        self._columns: dict[str, Array] = {
            "boxes": corners.astype(np.float32),
            "labels": np.array([labels[entry["category_id"]] for entry in objects], np.int64),
            "area": np.array(areas, np.float32),
            "iscrowd": np.array([bool(entry.get("iscrowd")) for entry in objects], bool),
        }
        if not self.keep_crowd:
            del self._columns["iscrowd"]
        is_partial = np.isnan(corners).any(1) | np.isnan(areas)
        self._partial = {row: objects[row].get("segmentation") for row in np.flatnonzero(is_partial).tolist()}
        counts = np.bincount([indices[entry["image_id"]] for entry in objects], minlength=len(indices))
        self._begins = [0, *np.cumsum(counts).tolist()]

    def targets(self, index: int) -> dict[str, Any]:
        """The annotations of an image.

        Raises:
            BadSample: a segmentation is malformed.
        """
        index = range(len(self.paths))[index]
        rows = slice(self._begins[index], self._begins[index + 1])
        targets: dict[str, Any] = {name: column[rows].copy() for name, column in self._columns.items()}
        if self._keypoints is not None:
            targets["keypoints"] = self._keypoints[rows].copy()
        size = self.sizes[index]
        with faults_named(self.sample_ids[index], self.root / self.paths[index], ValueError, TypeError):
            if self._masks:
                targets["masks"] = _masks(self._segmentations[rows], size)
            if self._polygons:
                targets["polygons"] = list(map(rings_of, self._segmentations[rows]))
            for at, row in enumerate(range(rows.start, rows.stop)):
                if row not in self._partial:
                    continue
                _complete(targets["boxes"][at], targets["area"][at : at + 1], self._partial[row], size)
        return targets


def _of(table: Any, name: str, kinds: dict[str, type]) -> list[dict[str, Any]]:
    """A list in the file, after checking the fields of each entry."""
    entries = table.get(name) if isinstance(table, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"Coco: expected a list of {name} in the JSON file, but there is none")
    for entry in entries:
        for field, kind in kinds.items():
            value = entry.get(field) if isinstance(entry, dict) else None
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(
                    f"Coco: expected {name} with '{field}' ({kind.__name__}), but got {entry!r:.200}"
                )
    return entries


def _is_number(value: Any) -> bool:
    """Whether a value is finite; Python's JSON allows NaN, infinity and arbitrarily large integers."""
    return type(value) in (int, float) and abs(value) < _FARTHEST  # false for NaN


def _check_annotations(objects: list[dict[str, Any]]) -> None:
    seen = set()
    for entry in objects:
        if entry.get("iscrowd") not in (None, 0, 1):
            raise ValueError(f"Coco: expected iscrowd as 0 or 1, but got {entry!r:.200}")
        number = entry.get("id")
        if not isinstance(number, (int, str, type(None))) or number in seen:
            raise ValueError(f"Coco: expected annotations with distinct ids, but got {entry!r:.200}")
        if number is not None:
            seen.add(number)


def _check_object(entry: dict[str, Any]) -> None:
    """Check the numbers of an object. Those that it lacks follow from its segmentation; see `_complete`."""
    box, area = entry.get("bbox") or None, entry.get("area")
    if box is None and not entry.get("segmentation"):
        raise ValueError(f"Coco: expected objects with 'bbox' or 'segmentation', but got {entry!r:.200}")
    if box is not None and not (isinstance(box, list) and len(box) == 4 and all(map(_is_number, box))):
        raise ValueError(f"Coco: expected a box of 4 numbers, but got {entry!r:.200}")
    if box is not None and min(box[2:]) < 0:
        raise ValueError(f"Coco: expected boxes of width and height from 0, but got {entry!r:.200}")
    if area is not None and not (_is_number(area) and area >= 0):
        raise ValueError(f"Coco: expected a number from 0 as area, but got {entry!r:.200}")


def _complete(box: Array, area: Array, segmentation: Any, size: tuple[int, int]) -> None:
    """Fill in the box or the area of an object that is nan, as pycocotools does for results."""
    _check_masks(1, size)
    mask = mask_of(segmentation, size) if segmentation else np.zeros((0, 0), np.uint8)
    if np.isnan(box).any():
        left, top, width, height = mask_box(mask)
        box[:] = left, top, left + width, top + height
    if np.isnan(area).any():
        area[:] = np.count_nonzero(mask) or (box[2] - box[0]) * (box[3] - box[1])


def _masks(segmentations: list[Any], size: tuple[int, int]) -> Array:
    _check_masks(len(segmentations), size)
    masks: Array = np.zeros((len(segmentations), *size), np.uint8)
    for mask, segmentation in zip(masks, segmentations, strict=True):
        mask[:] = mask_of(segmentation, size)
    return masks


def _check_image(entry: dict[str, Any]) -> None:
    if not (0 < entry["height"] < _LONGEST and 0 < entry["width"] < _LONGEST):
        raise ValueError(f"Coco: expected images with height and width from 1, but got {entry!r:.200}")


def _check_masks(count: int, size: tuple[int, int]) -> None:
    if count * size[0] * size[1] > _MOST_MASK_BYTES:
        raise ValueError(
            f"expected masks of at most {_MOST_MASK_BYTES} bytes together, but got {count} of {list(size)}"
        )


def _index_by_id(entries: list[dict[str, Any]], name: str) -> dict[int, int]:
    indices: dict[int, int] = {}
    for index, entry in enumerate(entries):
        if entry["id"] in indices or not 0 <= entry["id"] < 1 << 63:
            raise ValueError(
                f"Coco: expected {name} with distinct ids from 0 to 2^63 - 1, but got {entry!r:.200}"
            )
        indices[entry["id"]] = index
    return indices


def _labels_of(classes: dict[int, int], labels: str) -> dict[int, int]:
    """The label of each category id."""
    if labels == "category_id":
        return {number: number for number in classes}
    return {number: index + int(labels == "from_one") for number, index in classes.items()}


def _sorted_by_image(objects: list[dict[str, Any]], indices: dict[int, int]) -> list[dict[str, Any]]:
    for entry in objects:
        if entry["image_id"] not in indices:
            raise ValueError(f"Coco: expected annotations of known images, but got {entry!r:.200}")
    return sorted(objects, key=lambda entry: indices[entry["image_id"]])  # stable


def _keypoints(objects: list[dict[str, Any]], points: int) -> Array:
    table = np.zeros((len(objects), points, 3), np.float32)
    for row, entry in zip(table, objects, strict=True):
        values = entry.get("keypoints") or []
        if not isinstance(values, list) or len(values) % 3 or not all(map(_is_number, values)):
            raise ValueError(f"Coco: expected keypoints as x, y, visibility triples, but got {entry!r:.200}")
        if len(values) > 3 * points:
            raise ValueError(f"Coco: expected at most {points} keypoints, but got {entry!r:.200}")
        row[: len(values) // 3] = np.array(values, np.float32).reshape(-1, 3)
    return table
