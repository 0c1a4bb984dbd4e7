"""Rows of columns, as Hugging Face's data sets have them, as images and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orbbec.batch.collate import is_pil
from orbbec.bridge.arguments import Array

_BOXES = "boxes"


class Columns:
    """Which columns are the image and the targets.

    Args:
        op: name of the reader, for messages.
        schema: the columns, as pyarrow describes them.
        image: the column of the image.
        targets: columns by target name, with a dot before a field in a column: "objects.bbox"; None: every
            other column under its own name.

    Raises:
        ValueError: there is no such column.
    """

    def __init__(self, op: str, schema: Any, image: str, targets: Mapping[str, str] | None) -> None:
        known = list(schema.names)
        self.image = image
        self.targets = {name: name for name in known if name != image} if targets is None else dict(targets)
        for column in self.names:
            if column not in known:
                raise ValueError(f"{op}: expected a column '{column}', but got {', '.join(known)}")
        self._empty = {name: _empty(schema, path) for name, path in self.targets.items()}

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys([self.image, *(path.partition(".")[0] for path in self.targets.values())]))

    def targets_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The targets of a row: lists of numbers as arrays, anything else as it is.

        Raises:
            ValueError: a field is missing; the message names it.
        """
        return {name: self._target(name, _at(row, path)) for name, path in self.targets.items()}

    def _target(self, name: str, value: Any) -> Any:
        empty = self._empty[name]
        return _target(name, value) if value != [] or name == _BOXES or empty is None else empty.copy()


def _at(row: Any, path: str) -> Any:
    value = row
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise ValueError(f"expected a field '{path}', but got none")
        value = value[name]
    return value


def _empty(schema: Any, path: str) -> Array | None:
    """What a list of numbers without entries is; None: the column has other values."""
    name, *fields = path.split(".")
    kind = schema.field(name).type
    for field in fields:
        index = kind.get_field_index(field) if hasattr(kind, "get_field_index") else -1
        if index < 0:
            return None
        kind = kind.field(index).type
    number: Any = getattr(kind, "value_type", None)
    try:
        dtype = np.dtype(number.to_pandas_dtype())
    except (AttributeError, NotImplementedError, TypeError):
        return None
    if dtype.kind not in "iufb":
        return None
    return np.zeros(0, {"f": np.float32, "b": np.bool_}.get(dtype.kind, np.int64))


def _target(name: str, value: Any) -> Any:
    if is_pil(value):
        return np.array(value)
    if not isinstance(value, list):
        return value
    if name == _BOXES and not value:
        return np.zeros((0, 4), np.float32)
    try:
        array = np.array(value)
    except ValueError:  # of rows of several lengths, such as polygons
        return value
    if array.dtype.kind not in "iufb" or not value:
        return value
    return array.astype(np.float32) if array.dtype.kind == "f" or name == _BOXES else array


def encoded_image(value: Any) -> tuple[bytes, str]:
    """The bytes of an encoded image, and its path for messages, which may be empty.

    `value` is bytes, or a dict with "bytes" and "path", as Hugging Face writes it.

    Example:
        >>> encoded_image({"bytes": b"the bytes of a JPEG", "path": "1.jpg"})
        (b'the bytes of a JPEG', '1.jpg')
    """
    path = ""
    if isinstance(value, Mapping):
        value, path = value.get("bytes"), value.get("path") or ""
    if not isinstance(value, bytes) or not value:
        found = f"the path {path!r:.80} only" if path else f"a {type(value).__name__}"
        raise ValueError(f"expected the bytes of an encoded image, but got {found}")
    return value, str(path)
