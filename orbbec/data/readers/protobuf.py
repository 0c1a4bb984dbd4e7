"""Minimal protocol buffer parsing for TensorFlow's Example and Caffe's Datum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from orbbec.bridge.arguments import Array

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_SIDES = tuple(f"object/bbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax"))
# Optional features with a value per object, and the targets that they become.
_OF_OBJECTS = (
    ("image/object/area", "area", np.float32),
    ("image/object/is_crowd", "iscrowd", np.bool_),
)
_MOST = (1 << 64) - 1
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}

Message = TypeVar("Message", bytes, memoryview)  # slices of the latter are no copies


def fields_of(message: Message) -> Iterator[tuple[int, int | Message]]:
    """The fields of a message in order: number and value, which is an integer or bytes.

    Example:
        >>> list(fields_of(bytes([0x08, 0x96, 0x01, 0x12, 0x02]) + b"ab"))
        [(1, 150), (2, b'ab')]
    """
    offset = 0
    while offset < len(message):
        tag, offset = _varint(message, offset)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, offset = _varint(message, offset)
            yield number, value
            continue
        if kind == _BYTES:
            size, offset = _varint(message, offset)
        elif kind in _FIXED_BYTES:
            size = _FIXED_BYTES[kind]
        else:
            raise ValueError(f"the message has a field of unknown kind {kind}")
        if offset + size > len(message):
            raise ValueError("the message is truncated")
        yield number, message[offset : offset + size]
        offset += size


def _varint(message: bytes | memoryview, offset: int) -> tuple[int, int]:
    """An integer in groups of 7 bits, lowest first, and the offset after it."""
    if offset < len(message) and message[offset] < 0x80:
        return message[offset], offset + 1
    value = shift = 0
    while True:
        if offset >= len(message) or shift > 63:
            raise ValueError("the message is truncated")
        byte = message[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value & _MOST, offset


def example_features(message: bytes | memoryview) -> dict[str, Any]:
    """The features of a `tf.train.Example`, by name.

    A feature of one value is an int, a float or bytes; others are an int64 array, a float32 array or a list
    of bytes.
    """
    entries = (
        dict(fields_of(_bytes(entry)))
        for _, features in fields_of(memoryview(message))
        for _, entry in fields_of(_bytes(features))
    )
    empty = memoryview(b"")
    return {
        str(_bytes(entry.get(1, empty)), "utf-8"): _feature(_bytes(entry.get(2, empty))) for entry in entries
    }


def _feature(message: memoryview) -> Any:
    values: Any = []
    for kind, content in fields_of(message):
        items = [value for _, value in fields_of(_bytes(content))]
        if kind == 1:
            values = [item if isinstance(item, int) else bytes(item) for item in items]
        elif kind == 2:
            values = np.frombuffer(b"".join(map(_bytes, items)), "<f4").astype(np.float32)
        elif kind == 3:
            values = np.fromiter((number for item in items for number in _whole_numbers(item)), np.int64)
    if len(values) != 1:
        return values
    return values[0].item() if isinstance(values, np.ndarray) else values[0]


def _whole_numbers(item: int | memoryview) -> Iterator[int]:
    """One number, or several packed into bytes."""
    if isinstance(item, int):
        yield _signed(item)
        return
    offset = 0
    while offset < len(item):
        value, offset = _varint(item, offset)
        yield _signed(value)


def _signed(value: int) -> int:
    """Negative numbers are stored as 64 bits."""
    return value - (1 << 64) if value >> 63 else value


def _bytes(value: int | Message) -> Message:
    if isinstance(value, int):
        raise ValueError("the message has a number where a message belongs")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError("the message has bytes where a number belongs")
    return value


def example_sample(features: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Image and targets of features with the names of TensorFlow's image data sets.

    The image is "image/encoded" or "image"; "image/class/label" or "label" is the target `label`. Relative
    boxes, "image/object/bbox/xmin" ..., become `boxes` in pixels with `labels`, and with `area` and `iscrowd`
    if "image/object/area" and "image/object/is_crowd" are there.
    """
    data = features.get("image/encoded", features.get("image"))
    if not isinstance(data, bytes):
        raise ValueError(f"expected a feature 'image/encoded' or 'image', but got {', '.join(features)}")
    targets: dict[str, Any] = {}
    label = features.get("image/class/label", features.get("label"))
    if label is not None:
        if not isinstance(label, (int, float)) and len(label) == 0:
            raise ValueError("expected a value as feature 'label', but it is empty")
        targets["label"] = label
    if "image/object/bbox/xmin" in features:
        xmin, ymin, xmax, ymax, width, height, labels = (
            _known(features, f"image/{name}") for name in (*_SIDES, "width", "height", "object/class/label")
        )
        if labels.shape != xmin.shape or (labels.size and labels.dtype.kind != "i"):
            raise ValueError(
                f"expected an integer per box as feature 'image/object/class/label', but got {labels}"
            )
        boxes = np.stack([xmin * width, ymin * height, xmax * width, ymax * height], 1)
        targets["boxes"], targets["labels"] = boxes.astype(np.float32), labels.astype(np.int64)
        targets.update(_of_objects(features, len(boxes)))
    return data, targets


def example_size(features: Mapping[str, Any]) -> tuple[int, int] | None:
    """Height and width of the image, "image/height" and "image/width"; None if they are not integers."""
    height, width = features.get("image/height"), features.get("image/width")
    return (height, width) if isinstance(height, int) and isinstance(width, int) else None


def _of_objects(features: Mapping[str, Any], count: int) -> dict[str, Array]:
    """The optional targets with a value per object; an empty feature of several objects is none."""
    targets = {}
    for name, target, dtype in _OF_OBJECTS:
        values = _known(features, name) if name in features else np.zeros(0)
        if len(values) not in (0, count):
            raise ValueError(f"expected {count} values of feature '{name}', but got {len(values)}")
        if name in features and len(values) == count:
            targets[target] = values.astype(dtype)
    return targets


def _known(features: Mapping[str, Any], name: str) -> Array:
    """A numeric feature."""
    if name not in features:
        raise ValueError(f"expected a feature '{name}', but got {', '.join(features)}")
    values = np.atleast_1d(features[name])
    if values.dtype.kind not in "if" and values.size:
        raise ValueError(f"expected numbers as feature '{name}', but got {values.dtype.name}")
    return values


def datum_sample(key: bytes, value: bytes) -> tuple[Any, dict[str, Any]]:
    """Image and label of a Caffe `Datum`: encoded, or planes of blue, green and red. The key is not used.

    Raises:
        ValueError: the message is malformed.
    """
    table = dict(fields_of(value))
    channels, height, width, label, encoded = (_number(table.get(field, 0)) for field in (1, 2, 3, 5, 7))
    targets = {"label": _signed(label)} if 5 in table else {}
    data = _bytes(table.get(4, b""))
    if encoded:
        return data, targets
    if channels * height * width != len(data):
        raise ValueError(f"expected {channels} planes of {height}x{width}, but got {len(data)} bytes")
    planes = np.frombuffer(data, np.uint8).reshape(channels, height, width)
    return np.ascontiguousarray(planes[::-1].transpose(1, 2, 0)), targets
