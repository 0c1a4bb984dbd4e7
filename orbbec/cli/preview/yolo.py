"""Data sets in YOLO's format: a .yaml file, `images/a.jpg`, and its boxes or polygons in `labels/a.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.cli.preview.reading import read_yaml
from orbbec.nms.boxes import box_convert

_BOX = 5  # numbers: class, center x and y, width, height


@dataclass(frozen=True)
class YoloTable:
    """The folders of images of a data set and its class names."""

    folders: tuple[Path, ...]
    classes: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> YoloTable:
        """Read a file with `train` or `val`, optionally `path`, which they are relative to, and `names`.

        Raises:
            ValueError: the file has neither `train` nor `val`.
        """
        content = read_yaml(path)
        given = content.get("train") or content.get("val") if isinstance(content, dict) else None
        if not given:
            raise ValueError(f"preview: expected {path} to name a folder of images as `train` or `val`")
        root = path.parent / str(content.get("path") or "")
        folders = [given] if isinstance(given, str) else given
        names = content.get("names") or ()
        names = [names[key] for key in sorted(names)] if isinstance(names, dict) else names
        return cls(tuple(root / folder for folder in folders), tuple(map(str, names)))


def label_file(image: Path) -> Path | None:
    """The file of an image's boxes: `labels/a.txt` for `images/a.jpg`; None if there is none."""
    parts = image.parts
    if "images" not in parts[:-1]:
        return None
    last = len(parts) - 1 - parts[::-1].index("images")
    path = Path(*parts[:last], "labels", *parts[last + 1 :]).with_suffix(".txt")
    return path if path.is_file() else None


def read_labels(path: Path, size: tuple[int, int]) -> dict[str, Any]:
    """The labels of an image of a size (height, width), its boxes as xyxy in pixels, and polygons if given.

    Raises:
        ValueError: a line is neither a class and a box nor a class and a polygon.
    """
    scale = np.array(size[::-1], np.float64)
    rows = [_row(line, path) for line in path.read_text().splitlines() if line.strip()]
    outlines = [_corners(row[1:]) * scale for row in rows]
    boxes = np.array([[*outline.min(0), *outline.max(0)] for outline in outlines]).reshape(-1, 4)
    target: dict[str, Any] = {"boxes": boxes, "labels": np.array([int(row[0]) for row in rows], np.int64)}
    return {**target, "polygons": outlines} if any(len(row) > _BOX for row in rows) else target


def _row(line: str, path: Path) -> list[float]:
    try:
        numbers = [float(word) for word in line.split()]
    except ValueError:
        numbers = []
    if len(numbers) < _BOX or len(numbers) % 2 == 0:
        raise ValueError(
            f"preview: expected a class, then center x and y, width and height, or the points of a polygon, "
            f"as a line of {path}, but got {line.strip()!r:.80}"
        )
    return numbers


def _corners(numbers: list[float]) -> Array:
    """The corners of a box, or the points of a polygon: `[P, 2]`, relative to the image."""
    if len(numbers) > 4:
        return np.array(numbers).reshape(-1, 2)
    return np.asarray(box_convert(np.array([numbers]), "cxcywh", "xyxyxyxy")).reshape(4, 2)
