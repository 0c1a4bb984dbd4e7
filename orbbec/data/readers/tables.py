"""CSV files as columns of integers, floats or text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orbbec.bridge.plain import shown
from orbbec.data.readers.literals import is_integer, is_number, to_integer, to_number
from orbbec.data.sample import printable

_ROLES = ("path", "label")  # columns with a meaning, in any case
_PARSERS: dict[type, Callable[[str], Any]] = {int: to_integer, float: to_number, str: str}


@dataclass
class Table:
    """The texts of a CSV file.

    Args:
        file: the file, for messages.
        lines: the line of each row.
        columns: one text per row, by name.
    """

    file: Path
    lines: list[int]
    columns: dict[str, list[str]]

    def where(self, row: int) -> str:
        """A row, for messages."""
        return f"row {row} of {printable(self.file)} (line {self.lines[row]})"

    def values(self, types: Mapping[str, type]) -> dict[str, list[Any]]:
        """The columns as integers, floats or text: as `types` says, else as all texts of a column are.

        Raises:
            ValueError: a text does not fit its column; the message names the row.
            TypeError: a type is none of int, float and str.
        """
        if not isinstance(types, Mapping):
            raise TypeError(f"FileList: expected types as a dict, but got {shown(types)}")
        for name, kind in types.items():
            if name not in self.columns:
                raise ValueError(f"FileList: expected types of {', '.join(self.columns)}, but got {name!r}")
            if kind not in _PARSERS:
                raise TypeError(
                    f"FileList: expected int, float or str as the type of {name!r}, but got {kind!r}"
                )
        self._check_labels()
        values = {name: self._parsed(name, types.get(name) or self._type_of(name)) for name in self.columns}
        if "label" in values and "label" not in types:
            self._check_distinct(values["label"])
        return values

    def _check_labels(self) -> None:
        for row, text in enumerate(self.columns.get("label", ())):
            if not text.strip():
                raise ValueError(f"FileList: expected a label, but {self.where(row)} has none")
            self._check_spaces("label", row, text)

    def _check_spaces(self, name: str, row: int, text: str) -> None:
        if text != text.strip():
            raise ValueError(
                f"FileList: expected '{name}' without spaces around it, but {self.where(row)} has "
                f"{text!r:.80}; the delimiter ', ' skips spaces after commas"
            )

    def _check_distinct(self, labels: Sequence[Any]) -> None:
        """Check that different texts are different labels: `1.1` and `1.10` are one number, but two names."""
        texts: dict[Any, str] = {}
        for row, (label, text) in enumerate(zip(labels, self.columns["label"], strict=True)):
            if texts.setdefault(label, text) != text:
                raise ValueError(
                    f"FileList: expected a text per label, but {self.where(row)} has {text!r} where another "
                    f"row has {texts[label]!r}; types={{'label': str}} or {{'label': float}} takes both"
                )

    def _type_of(self, name: str) -> type:
        """The type of all texts of a column; numbers next to other texts are an error: they may be either."""
        texts = self.columns[name]
        number = next((row for row, text in enumerate(texts) if is_number(text.strip())), None)
        if number is None:
            return str
        other = next((row for row, text in enumerate(texts) if not is_number(text)), None)
        if other is not None:
            self._check_spaces(name, other, texts[other])
            raise ValueError(
                f"FileList: expected numbers or names as '{name}', but {self.where(other)} has "
                f"{texts[other]!r:.80} and row {number} has {texts[number]!r:.80}; "
                f"types={{'{name}': str}} takes names"
            )
        return int if all(map(is_integer, texts)) else float

    def _parsed(self, name: str, kind: type) -> list[Any]:
        values = []
        for row, text in enumerate(self.columns[name]):
            try:
                values.append(_PARSERS[kind](text))
            except ValueError as error:
                raise ValueError(f"FileList: '{name}' in {self.where(row)}: {error}") from error
        return values


def read_table(file: Path, columns: Sequence[str] | None, delimiter: str) -> Table:
    """Read a CSV file; the arguments are those of `FileList`."""
    if len(delimiter) != 1 and delimiter[1:] != " ":
        raise ValueError(
            f"FileList: expected a delimiter of one character, or it and a space, but got {delimiter!r}"
        )
    with open(file, encoding="utf-8-sig", newline="") as opened:
        reader = csv.reader(
            opened, delimiter=delimiter[:1], skipinitialspace=delimiter[1:] == " ", strict=True
        )
        try:
            rows = [(reader.line_num, row) for row in reader if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"FileList: {printable(file)} is not a CSV file: {error}") from error
    header = list(columns) if columns is not None else rows.pop(0)[1] if rows else []
    names = [name.lower() if name.lower() in _ROLES else name for name in header]
    if "path" not in names or len(set(names)) != len(names) or any(name != name.strip() for name in names):
        raise ValueError(
            f"FileList: expected distinct columns with 'path', without spaces around them, in "
            f"{printable(file)}, but got {header}"
        )
    for line, row in rows:
        if len(row) != len(names):
            raise ValueError(
                f"FileList: expected {len(names)} columns in line {line} of {printable(file)}, "
                f"but got {len(row)}"
            )
    texts = {name: [row[column] for _, row in rows] for column, name in enumerate(names)}
    return Table(file, [line for line, _ in rows], texts)
