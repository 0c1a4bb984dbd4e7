"""The table of what every kernel takes on every architecture, and what a change makes worse."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.machine_code.cubins import Kernel

HERE = Path(__file__).parent
TABLE = HERE / "kernels.tsv"
EXCEPTIONS = HERE / "exceptions.tsv"
COLUMNS = (
    "threads",
    "parameters",
    "shared",
    "registers",
    "stack",
    "local_loads",
    "local_stores",
    "divisions64",
    "float64",
    "approximate",
    "loads",
    "stores",
)
WIDTHS = {"loads", "stores"}  # more is better
FORBIDDEN = {
    "local": ("stack", "local_loads", "local_stores"),
    "float64": ("float64",),
    "approximate": ("approximate",),
}
HEADER = """\
# What each kernel takes, and its instructions. `python tools/check_cuda.py --update` writes this file;
# README.md of this folder explains the columns. A cell is one number, or one for each architecture.
# nvcc {release}
# architectures {architectures}
"""

# By source file, kernel and architecture.
Measured = dict[str, dict[str, dict[int, Kernel]]]
# By source file, kernel and column; a number for each architecture.
Rows = dict[str, dict[str, dict[str, tuple[float, ...]]]]


@dataclass(frozen=True)
class Table:
    """The release of nvcc, the architectures of a cell, and the rows."""

    release: str
    architectures: tuple[int, ...]
    rows: Rows

    def kernels(self) -> dict[str, dict[str, tuple[float, ...]]]:
        """The rows of all files, by kernel."""
        return {name: row for rows in self.rows.values() for name, row in rows.items()}


@dataclass(frozen=True)
class Change:
    """A number that differs from the table's."""

    kernel: str
    architecture: int
    column: str
    before: float
    after: float

    @property
    def is_worse(self) -> bool:
        """Other launch bounds are neither better nor worse, but the table has to know them."""
        if self.column == "threads":
            return True
        return self.after < self.before if self.column in WIDTHS else self.after > self.before

    def __str__(self) -> str:
        return f"{self.kernel} on sm_{self.architecture}: {self.column} {self.before:g} -> {self.after:g}"


def read(text: str) -> Table:
    """Parses a table."""
    release, architectures = re.search(r"^# nvcc (.*)\n# architectures (.*)$", text, re.MULTILINE).groups()
    table = Table(release, tuple(map(int, architectures.split("/"))), {})
    for line in text.splitlines():
        if line.startswith("["):
            rows = table.rows.setdefault(line.strip("[]"), {})
        elif line and not line.startswith(("#", "kernel\t")):
            name, *cells = line.split("\t")
            rows[name] = {column: unfold(cell, table) for column, cell in zip(COLUMNS, cells, strict=True)}
    return table


def write(table: Table) -> str:
    """The text of a table."""
    lines = ["\t".join(("kernel", *COLUMNS))]
    for file, rows in sorted(table.rows.items()):
        lines.append(f"[{file}]")
        lines += ["\t".join((name, *(fold(row[c]) for c in COLUMNS))) for name, row in sorted(rows.items())]
    architectures = "/".join(map(str, table.architectures))
    return HEADER.format(release=table.release, architectures=architectures) + "\n".join(lines) + "\n"


def fold(values: tuple[float, ...]) -> str:
    """One number if all are equal.

    Example:
        >>> fold((32, 32, 32)), fold((32, 40.5, 32))
        ('32', '32/40.5/32')
    """
    return f"{values[0]:g}" if len(set(values)) == 1 else "/".join(f"{value:g}" for value in values)


def unfold(cell: str, table: Table) -> tuple[float, ...]:
    """The numbers of a cell, one for each architecture."""
    values = tuple(map(float, cell.split("/")))
    return values * len(table.architectures) if len(values) == 1 else values


def rows_of(measured: Measured, architectures: tuple[int, ...]) -> Rows:
    """The rows of a table; of a kernel that several files have, the first counts."""
    seen: set[str] = set()
    rows: Rows = {}
    for file, kernels in sorted(measured.items()):
        new = {name: found for name, found in kernels.items() if name not in seen}
        seen |= set(new)
        rows[file] = {
            name: {column: tuple(getattr(found[a], column) for a in architectures) for column in COLUMNS}
            for name, found in new.items()
        }
    return rows


def updated(table: Table, release: str, measured: Measured, files: list[str] | None) -> Table:
    """The table with new rows for these source files, or for all."""
    kept = {} if files is None else {file: rows for file, rows in table.rows.items() if file not in files}
    known = {name for rows in kept.values() for name in rows}
    new = rows_of(measured, table.architectures)
    for file, rows in new.items():
        kept[file] = {name: row for name, row in rows.items() if name not in known}
    return Table(release, table.architectures, {file: rows for file, rows in kept.items() if rows})


def missing(table: Table, measured: Measured, files: list[str] | None) -> Iterator[str]:
    """Kernels without a row, and rows of these source files, or of all, without a kernel."""
    rows = table.kernels()
    found = {name for name, _, _ in each(measured)}
    yield from (f"{name}: not in the table" for name in sorted(found - set(rows)))
    for file, of_file in table.rows.items():
        if files is None or file in files:
            gone = (name for name in of_file if name not in found)
            yield from (f"{name}: in the table of {file}, but no kernel" for name in gone)


def changes(table: Table, measured: Measured) -> Iterator[Change]:
    """The numbers that differ, of the kernels and architectures that both have."""
    rows = table.kernels()
    for name, arch, kernel in each(measured):
        if name not in rows or arch not in table.architectures:
            continue
        at = table.architectures.index(arch)
        for column in COLUMNS:
            before, after = rows[name][column][at], getattr(kernel, column)
            if before != after:
                yield Change(name, arch, column, before, after)


def each(measured: Measured) -> Iterator[tuple[str, int, Kernel]]:
    """Name, architecture and numbers of every kernel."""
    for kernels in measured.values():
        for name, found in kernels.items():
            for arch, kernel in found.items():
                yield name, arch, kernel


@dataclass(frozen=True)
class Exceptions:
    """What kernels may have though it is forbidden: kind, pattern of their names, reason."""

    rules: tuple[tuple[str, str, str], ...]

    @classmethod
    def read(cls, text: str) -> "Exceptions":
        """Parses the list.

        Raises:
            ValueError: a line without a kind that exists, a pattern and a reason.
        """
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        rules = [tuple(line.split("\t")) for line in lines]
        for rule in rules:
            if len(rule) != 3 or rule[0] not in FORBIDDEN or not rule[2]:
                raise ValueError(f"exceptions.tsv: expected kind, pattern and reason, but got {rule}")
        return cls(tuple(rules))

    def violations(self, measured: Measured) -> Iterator[str]:
        """What kernels have without being listed."""
        for name, arch, kernel in each(measured):
            for kind, columns in FORBIDDEN.items():
                found = {column: getattr(kernel, column) for column in columns if getattr(kernel, column)}
                if found and not any(re.search(rule[1], name) for rule in self.rules if rule[0] == kind):
                    numbers = ", ".join(f"{value} {column}" for column, value in found.items())
                    yield f"{name} on sm_{arch}: {kind} without a reason in exceptions.tsv: {numbers}"

    def unused(self, table: Table) -> Iterator[str]:
        """Entries that no kernel of the table needs."""
        rows = table.kernels().items()
        for kind, pattern, _ in self.rules:
            matching = [row for name, row in rows if re.search(pattern, name)]
            if not any(any(row[column]) for row in matching for column in FORBIDDEN[kind]):
                yield f"exceptions.tsv: no kernel needs {kind} {pattern}"
