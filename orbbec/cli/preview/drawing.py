"""One picture of a sheet: an image scaled to a square, with its targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.cli.preview.reading import module
from orbbec.data.sample import printable
from orbbec.nms.boxes import box_convert

ROW_KEY = "_row"  # target with the original index of each box
COLORS = ("#e6462e", "#2f7de1", "#2fa84f", "#e8a202", "#9a4fd0", "#12a5a5", "#e0569a", "#8a6d3b")
_STRENGTH = 0.45  # opacity of masks
_DOT = 2  # pixels: half the side of a point
_LINE = 2  # pixels


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture of a sheet.

    Args:
        caption: text above the picture.
        image: uint8 `[H, W, 3]`.
        targets: drawn on the image, see `TargetOptions`.
    """

    caption: str
    image: Array
    targets: dict[str, Any] = field(default_factory=dict)


def draw_shown(shown: Shown, side: int, box_format: str = "xyxy") -> Any:
    """Draw a picture within a square of `side` pixels; small images are enlarged by a whole factor.

    Returns:
        A Pillow image.
    """
    pillow = module("PIL.Image")
    height, width = shown.image.shape[:2]
    scale = side / max(height, width)
    scale = float(int(scale)) if scale > 1 else scale
    size = max(1, round(width * scale)), max(1, round(height * scale))
    how = pillow.Resampling.NEAREST if scale >= 1 else pillow.Resampling.LANCZOS
    picture = pillow.fromarray(_with_masks(shown)).resize(size, how)
    pen = module("PIL.ImageDraw").Draw(picture)
    boxes = _corners(shown, box_format)
    for row, corners in _outlines(shown.targets, boxes):
        closed = [tuple(point) for point in (corners * scale).tolist()]
        pen.line([*closed, closed[0]], _color(row), _LINE)
    _write_labels(pen, shown.targets, scale, boxes)
    for row, x, y in _points(shown.targets):
        at_x, at_y = (x + 0.5) * scale, (y + 0.5) * scale
        pen.ellipse([at_x - _DOT, at_y - _DOT, at_x + _DOT, at_y + _DOT], _color(row), "white")
    return picture


def _color(row: int) -> str:
    return COLORS[row % len(COLORS)]


def _rows(targets: dict[str, Any], count: int) -> list[int]:
    """The color indices of objects: their rows in the original, if known."""
    rows = targets.get(ROW_KEY)
    return rows.tolist() if rows is not None and len(rows) == count else list(range(count))


def _with_masks(shown: Shown) -> Array:
    image = shown.image.astype(np.float64)
    masks = np.asarray(shown.targets.get("masks", np.zeros((0, *image.shape[:2]))))
    layers = list(zip(_rows(shown.targets, len(masks)), masks > 0, strict=True))
    if "mask" in shown.targets:
        classes = np.asarray(shown.targets["mask"])
        layers += [(int(level) - 1, classes == level) for level in np.unique(classes) if level > 0]
    rgb = module("PIL.ImageColor").getrgb
    for row, layer in layers:
        image[layer] += _STRENGTH * (np.array(rgb(_color(row))) - image[layer])
    return image.round().astype(np.uint8)


def _outlines(targets: dict[str, Any], boxes: Array) -> list[tuple[int, Array]]:
    """Boxes and polygons `[P, 2]` with their color index, in coordinates of pixel edges."""
    found = list(zip(_rows(targets, len(boxes)), boxes, strict=True))
    polygons = targets.get("polygons", [])
    rows = _rows(targets, len(polygons))
    for row, polygon in zip(rows, polygons, strict=True):
        rings = polygon if isinstance(polygon, (list, tuple)) else [polygon]
        found += [(row, ring) for ring in rings if len(ring) > 1]
    return found


def _corners(shown: Shown, box_format: str) -> Array:
    """The corners of boxes: `[K, 4, 2]`."""
    boxes = np.asarray(shown.targets.get("boxes", ()), np.float64)
    if boxes.size == 0:
        return np.zeros((0, 4, 2))
    if box_format.endswith("n"):
        height, width = shown.image.shape[:2]
        boxes, box_format = boxes * (width, height, width, height), box_format[:-1]
    return np.asarray(box_convert(boxes, box_format, "xyxyxyxy")).reshape(-1, 4, 2)


def _write_labels(pen: Any, targets: dict[str, Any], scale: float, boxes: Array) -> None:
    labels = targets.get("labels", ())
    if len(boxes) != len(labels):
        return
    font = module("PIL.ImageFont").load_default(11)
    for row, corners, label in zip(_rows(targets, len(boxes)), boxes, labels, strict=True):
        top_left = corners[corners.sum(1).argmin()] * scale  # the corner nearest to the top left
        text = printable(label.item() if hasattr(label, "item") else label)
        corner = (float(top_left[0]) + _LINE, float(top_left[1]) + _LINE)
        pen.rectangle(pen.textbbox(corner, text, font), _color(row))
        pen.text(corner, text, "white", font=font)


def _points(targets: dict[str, Any]) -> list[tuple[int, float, float]]:
    """The visible points: color index, x, y."""
    found: list[tuple[int, float, float]] = []
    for key in ("keypoints", "landmarks"):
        points = np.asarray(targets.get(key, np.zeros((0, 2))), np.float64)
        objects = points if points.ndim == 3 else points[:, None]
        for row, coordinates in zip(_rows(targets, len(objects)), objects, strict=True):
            seen = np.isfinite(coordinates[:, :2]).all(1) & (coordinates[:, 2:] > 0).all(1)
            found += [(row, x, y) for x, y in coordinates[seen, :2].tolist()]
    return found
