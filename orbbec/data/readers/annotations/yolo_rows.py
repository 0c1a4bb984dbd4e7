"""Label files of YOLO: one object per line, in fractions of the width and height of its image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shortened  # YAML can share parts, whose whole text is endless
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.readers.literals import to_numbers
from orbbec.data.sample import BadSample

_BOX = 4  # numbers of a box
_MIN_POLYGON = 6  # numbers of a triangle
_MAX_CLASS = 1 << 31


@dataclass(frozen=True)
class YoloRows:
    """The objects of one label file.

    Args:
        labels: the class of each object.
        boxes: float64 `[K, 4]`, (x0, y0, x1, y1) as fractions.
        points: float64 `[K, P, 2]` or `[K, P, 3]` as fractions; None without keypoints.
        polygons: float64 `[P, 2]` of each object as fractions; None for an object that has a box.
    """

    labels: list[int]
    boxes: Array
    points: Array | None
    polygons: list[Array | None]


class YoloFormat:
    """What the lines of a data set hold.

    Args:
        classes: number of classes; None: not known.
        points: number of keypoints, and of numbers of each, 2 or 3; None: rows are boxes or polygons.
    """

    def __init__(self, classes: int | None, points: tuple[int, int] | None) -> None:
        self._classes, self._points = classes, points

    def read(self, text: str, file: Path, sample_id: int) -> YoloRows:
        """The objects of a file; a malformed line is a BadSample that names it.

        Example:
            >>> rows = YoloFormat(2, None).read("1 0.5 0.5 0.5 1", Path("a.txt"), 7)
            >>> rows.labels, rows.boxes.tolist()
            ([1], [[0.25, 0.0, 0.75, 1.0]])
            >>> YoloFormat(2, None).read("2 0.5 0.5 0.5 1", Path("a.txt"), 7)
            Traceback (most recent call last):
            orbbec.data.sample.BadSample: sample 7 (a.txt:1): expected a class from 0 to 1, but got 2
        """
        labels, boxes, points, polygons = [], [], [], []
        for line, row in enumerate(text.splitlines(), start=1):
            if not row.strip():
                continue
            try:
                label, *values = to_numbers(row)
                self._check_class(label)
                box, numbers, polygon = self._object(values)
            except ValueError as error:
                raise BadSample(sample_id, f"{file}:{line}", str(error)) from error
            labels.append(int(label))
            boxes.append(box)
            points.append(numbers)
            polygons.append(polygon)
        shape = self._points and (-1, *self._points)
        return YoloRows(
            labels,
            np.array(boxes, np.float64).reshape(-1, _BOX),
            np.array(points, np.float64).reshape(shape) if shape else None,
            polygons,
        )

    def _check_class(self, label: float) -> None:
        last = _MAX_CLASS if self._classes is None else self._classes - 1
        if not (label.is_integer() and 0 <= label <= last):
            known = "0" if self._classes is None else f"0 to {last}"
            raise ValueError(f"expected a class from {known}, but got {label:g}")

    def _object(self, values: list[float]) -> tuple[list[float], list[float], Array | None]:
        """Box, numbers of the keypoints, and polygon of a row."""
        if self._points is not None:
            points, each = self._points
            if len(values) != _BOX + points * each:
                raise ValueError(
                    f"expected {1 + _BOX + points * each} numbers: a class, a box and {points} keypoints of "
                    f"{each}, but got {1 + len(values)}"
                )
            return _box(values[:_BOX]), _keypoints(values[_BOX:], each), None
        if len(values) == _BOX:
            return _box(values), [], None
        if len(values) < _MIN_POLYGON or len(values) % 2:
            raise ValueError(
                "expected a class with a box of 4 numbers or a polygon of at least 3 x, y pairs, "
                f"but got {1 + len(values)} numbers"
            )
        _check_fractions(values)
        x, y = values[::2], values[1::2]
        return [min(x), min(y), max(x), max(y)], [], np.array(values).reshape(-1, 2)


def _check_fractions(values: list[float]) -> None:
    if min(values) < 0 or max(values) > 1:
        wrong = next(value for value in values if not 0 <= value <= 1)
        raise ValueError(f"expected fractions from 0 to 1, but got {wrong}")


def _box(values: list[float]) -> list[float]:
    _check_fractions(values)
    x, y, width, height = values
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def _keypoints(values: list[float], each: int) -> list[float]:
    _check_fractions(values[::each] + values[1::each])
    if each == 3 and not {0, 1, 2}.issuperset(values[2::3]):
        raise ValueError(f"expected visibilities of 0, 1 or 2, but got {values[2::3]}")
    return values


def class_names(names: Any, file: str) -> list[str]:
    """The class names of a `data.yaml` whose scalars are texts: a list, or a dict by every class number.

    Example:
        >>> class_names({"0": "cat", "1": "dog"}, "data.yaml")
        ['cat', 'dog']
    """
    if isinstance(names, dict):
        missing = next((number for number in range(len(names)) if str(number) not in names), None)
        if missing is not None:
            raise ValueError(
                f"Yolo: expected names of classes from 0 to {len(names) - 1} in {file}, "
                f"but {missing} is missing"
            )
        names = [names[str(number)] for number in range(len(names))]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"Yolo: expected 'names' as a list or a dict in {file}, but got {shortened(names)}")
    return names
