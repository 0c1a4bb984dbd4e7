"""Data sets in YOLO's format: a .yaml file, `images/a.jpg`, and its boxes or polygons in `labels/a.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.cli.preview.reading import read_yaml
from orbbec.data.readers.annotations.yolo_rows import YoloFormat
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import image_files, listed_lines
from orbbec.data.sample import BadSample, printable
from orbbec.plan.points import corners_of


@dataclass(frozen=True)
class YoloTable:
    """The file of a data set, its folders and lists of images, and its class names."""

    file: Path
    images: tuple[Path, ...]
    classes: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> YoloTable:
        """Read a file with `train` or `val`, optionally `path`, which they are relative to, and `names`.

        `train` and `val` are a folder, a text file that lists images, or a list of these.

        Raises:
            ValueError: the file has neither `train` nor `val`, or a class has no name.
        """
        content = read_yaml(path, as_texts=True)
        content = content if isinstance(content, dict) else {}
        entries = content.get("train") or content.get("val")
        entries = [entries] if isinstance(entries, str) else entries
        if not entries or not _are_texts(entries):
            raise ValueError(
                f"preview: expected {printable(path)} to name a folder of images as `train` or `val`, "
                "or a file that lists them"
            )
        root = path.parent / (content.get("path") or "")
        images = tuple(root / entry for entry in entries)
        return cls(path, images, _names(content.get("names") or [], path))

    def files(self) -> list[str]:
        """The images in the folders and lists, which may not be empty."""
        found: list[str] = []
        for entry in self.images:
            files = _listed(entry) if entry.is_file() else []
            if entry.is_dir():
                files = image_files(entry, EXTENSIONS)
            if not files:
                raise ValueError(
                    f"preview: expected images in {printable(entry)}, as {printable(self.file)} says, "
                    "but there are none"
                )
            found += files
        return found


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _names(names: Any, path: Path) -> tuple[str, ...]:
    """The names of classes, from a list or by class index."""
    if isinstance(names, dict) and set(names) == set(map(str, range(len(names)))):
        names = [names[str(index)] for index in range(len(names))]
    if not _are_texts(names):
        raise ValueError(
            f"preview: expected a name for each class from 0 in {printable(path)}, but got {names!r:.80}"
        )
    return tuple(names)


def _listed(file: Path) -> list[str]:
    """The images that a text file lists, one per line, relative to its folder."""
    images = []
    for name, source in listed_lines(file):
        image = file.parent / name
        if not image.is_file():
            raise ValueError(f"preview: expected an image as {source}, but there is no {printable(image)}")
        images.append(str(image))
    return images


def label_file(image: Path) -> Path | None:
    """The file of an image's boxes: `labels/a.txt` for `images/a.jpg`; None if there is none."""
    parts = image.parts
    if "images" not in parts[:-1]:
        return None
    last = len(parts) - 1 - parts[::-1].index("images")
    path = Path(*parts[:last], "labels", *parts[last + 1 :]).with_suffix(".txt")
    return path if path.is_file() else None


def read_labels(path: Path, size: tuple[int, int]) -> dict[str, Any]:
    """The labels of an image of a size (height, width), its boxes as xyxy in pixels, and polygons if any."""
    scale = np.array(size[::-1], np.float64)
    try:
        rows = YoloFormat(None, None).read(path.read_text("utf-8-sig", "surrogateescape"), path, 0)
    except BadSample as error:
        raise ValueError(f"preview: {printable(error.path)}: {error.reason}") from error
    target: dict[str, Any] = {
        "boxes": rows.boxes * np.tile(scale, 2),
        "labels": np.array(rows.labels, np.int64),
    }
    if all(polygon is None for polygon in rows.polygons):
        return target
    corners = corners_of(rows.boxes)
    outlines = [
        box if polygon is None else polygon for box, polygon in zip(corners, rows.polygons, strict=True)
    ]
    return {**target, "polygons": [outline * scale for outline in outlines]}


def with_outlines(target: dict[str, Any]) -> dict[str, Any]:
    """A target with the outlines of its boxes as polygons, if it has boxes but no polygons."""
    if "boxes" not in target or "polygons" in target:
        return target
    return {**target, "polygons": list(corners_of(target["boxes"]))}
