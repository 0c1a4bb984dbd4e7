"""Writes draws.npz: what plans hold today, for the pipelines of draw_cases.py.

    python orbbec/plan/tests/record_draws.py

Structure, such as names, options and notes, is recorded as text. Integers, masks and float32 words are
recorded as checksums. float64 numbers are recorded, since functions such as exp differ in the last bits;
where operators read them rounded to float32, so is a checksum of the rounded numbers.
"""

import json
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orbbec.plan.tests.draw_cases import BATCHES, EPOCHS, IDS, SEEDS, all_cases, targets_of
from orbbec.transforms import Compose

PATH = Path(__file__).with_name("draws.npz")
ATTRIBUTES = (
    *("reads_beyond", "contrast", "mean", "std", "channels_last", "interpolation", "border", "fill"),
    "options",
)

ULPS, WEIGHT_ULPS = 4, 128
NOTHING = np.zeros(0)
COLOR = re.compile(r"(?:copy\d+\.\d+\.)?color(\d+)\.")  # the column of a color step


class Entry(NamedTuple):
    """An array of a plan: `exact` numbers as a checksum, `close` ones as float64, or both."""

    name: str
    values: np.ndarray
    is_rounded: bool = False  # operators read these float64 numbers as float32
    farthest: np.ndarray | None = None  # of a matrix: the largest position in the images and the outputs

    @property
    def checksum(self):
        if self.values.dtype == np.float64 and not self.is_rounded:
            return 0
        values = self.values.astype(np.float32) if self.is_rounded else self.values
        values = (
            values + np.zeros((), values.dtype) if values.dtype.kind == "f" else values
        )  # no zero below 0
        text = f"{self.name.rpartition(' ')[2]} {self.values.dtype.str} {self.values.shape}"
        return zlib.crc32(np.ascontiguousarray(values).tobytes(), zlib.crc32(text.encode()))

    @property
    def close(self):
        return self.values.ravel() if self.values.dtype == np.float64 else NOTHING

    def tolerance(self, expected):
        """How much the float64 numbers may differ from those expected, both in the shape of `values`.

        `ULPS` units of the last place; in a matrix, of the terms whose sum an element may be: an element of
        the same row, and its products with a position. A matrix of halves does not change. `WEIGHT_ULPS` for
        weights of mixes: powers of random numbers, where an ulp of a logarithm becomes many.
        """
        if "weight" in self.name.rpartition(" ")[2]:
            return WEIGHT_ULPS * np.spacing(np.abs(expected))
        if self.farthest is None:
            return ULPS * np.spacing(np.abs(expected))
        largest = np.abs(expected)[:, :, :2].max(2)
        terms = np.stack([largest, largest, (1 + largest) * self.farthest[:, None]], 2)
        terms = np.maximum(terms, np.abs(expected))
        is_simple = (expected * 2 % 1 == 0).all((1, 2), keepdims=True)
        return np.where(is_simple, 0.0, ULPS * np.spacing(terms))


class Drawn(NamedTuple):
    """What a plan holds."""

    texts: list  # its structure, a text for the plan and for each pass
    entries: list  # its arrays


def without_empty_steps(colors):
    """Color programs without the steps at the end that are empty for every image."""
    used = np.flatnonzero(colors.any((0, 2)))
    return colors[:, : used[-1] + 1 if len(used) else 0]


def passes_of(plan):
    """The passes with their labels; those within a blend follow the blend."""
    for number, step in enumerate(plan.passes):
        for inner, each in enumerate(step.unfolded()):
            label = f"pass {number} ({each.name})"
            yield (
                (f"{label} within pass {number}, {inner}" if inner else label),
                each,
                list(step.unfolded())[1:],
            )


def expected_columns(step, inner):
    """Columns that repeat the matrix, the tables or the columns of inner passes, by name."""
    matrix = getattr(step, "matrix", None)
    known = {} if matrix is None else {f"m{i}{j}": matrix[:, i, j] for i in range(3) for j in range(3)}
    for number, each in enumerate(inner if type(step).__name__ == "BlendPass" else ()):
        copies = step.tables(None)["weights"].shape[1] - 1
        for name, values in each.columns().items():
            known |= {f"copy{k}.{number}.{name}": v for k, v in enumerate(np.split(values, copies))}
    return known


def pass_of(label, step, plan):
    """The text and the entries of a pass."""
    attributes = {name: getattr(step, name) for name in ATTRIBUTES if hasattr(step, name)}
    about = {
        "type": type(step).__name__,
        "name": step.name,
        "holds": step.holds,
        "why": step.why,
        "dtype": step.dtype,
        **{n: dict(v) if hasattr(v, "items") else v for n, v in attributes.items()},
    }
    farthest = np.maximum(np.resize(plan.sizes.max(1), len(step.sizes)), step.sizes.max(1))
    entries = [Entry(f"{label} sizes", step.sizes)]
    if type(step).__name__ != "MixPass":
        entries.append(Entry(f"{label} matrix", step.matrix, farthest=farthest))
    for name in ("regions", "offset"):
        if getattr(step, name, None) is not None:
            entries.append(Entry(f"{label} {name}", getattr(step, name)))
    tables = dict(step.tables(plan.key))
    if "colors" in tables:
        tables["colors"] = without_empty_steps(tables["colors"])
        if not tables["colors"].shape[1]:
            del tables["colors"]
    entries += [Entry(f"{label} table {n}", v, v.dtype == np.float64) for n, v in tables.items()]
    about["tables"] = [f"{name} {values.dtype.str}" for name, values in tables.items()]
    return about, entries, tables


def columns_of(label, step, inner, tables):
    """The names of the columns of a pass, and the entries of those that repeat nothing."""
    known = expected_columns(step, inner) | tables
    steps = tables["colors"].shape[1] if "colors" in tables else 0
    names, entries = [], []
    for name, values in step.columns().items():
        color = COLOR.match(name) if "color" in name else None
        if color and int(color[1]) >= steps and not values.any():
            continue
        same = name in known and same_bytes(values, known[name])
        names.append(name if same else f"{name}: {values.dtype.str}")
        if not same:
            entries.append(Entry(f"{label} column {name}", values, values.dtype == np.float64))
    return names, entries


def same_bytes(one, other):
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def drawn_of(plan):
    """What a plan holds."""
    texts, entries = [json.dumps({"notes": plan.notes})], [Entry("plan output_sizes", plan.output_sizes)]
    for label, step, inner in passes_of(plan):
        about, own, tables = pass_of(label, step, plan)
        names, columns = columns_of(label, step, inner, tables)
        texts += [
            f"{label}: {json.dumps(about, default=lambda value: value.__name__)}",
            f"{label} columns: {', '.join(names)}",
        ]
        entries += own + columns
    return Drawn(texts, entries)


def plans_of(case):
    """The plans of a case, or errors instead, with their labels."""
    for seed in SEEDS:
        pipeline = Compose(case.transforms, seed, case.exact)
        for epoch in EPOCHS:
            if case.few and bool(seed) != bool(epoch):
                continue
            drawn = None
            for label, drawn in attempts(case, pipeline, epoch):
                yield label, drawn
            if not drawn.entries:
                return


def attempts(case, pipeline, epoch):
    """Plans of a pipeline for the batches in turn, until one is not refused."""
    first = "equal" if epoch and pipeline.seed else "any"
    for kind in (first, *(name for name in BATCHES if name != first)):
        sizes = BATCHES[kind]
        skipped = len(IDS) - case.count
        targets = targets_of(sizes)[skipped:] if case.has_targets else None
        label = f"{case.name}; seed {pipeline.seed}, epoch {epoch}, {kind} sizes"
        how = {"channels": case.channels, "dtype": case.dtype, "targets": targets}
        try:
            plan = pipeline.plan(sizes[skipped:], IDS[skipped:], epoch, **how)
        except ValueError as error:
            yield label, Drawn([f"refused: {error}"], [])
        else:
            yield label, drawn_of(plan)
            return


def label_checksum(label):
    return zlib.crc32(label.encode())


def recorded(kinds):
    """The record of all cases as arrays; `lengths` counts texts, entries and float64 numbers of each plan."""
    pool, labels, lengths, texts, checksums, close = {}, [], [], [], [], []
    for case in (case for cases in kinds.values() for case in cases):
        for label, drawn in plans_of(case):
            texts += [pool.setdefault(text, len(pool)) for text in drawn.texts]
            checksums += [entry.checksum for entry in drawn.entries]
            close += [entry.close for entry in drawn.entries]
            labels.append(label_checksum(label))
            count = sum(len(entry.close) for entry in drawn.entries)
            lengths.append((len(drawn.texts), len(drawn.entries), count))
    return {
        "pool": np.frombuffer("\n".join(pool).encode(), np.uint8),
        "labels": np.array(labels, np.uint32),
        "lengths": np.array(lengths, np.uint16),
        "texts": np.array(texts, np.uint16),
        "checksums": np.array(checksums, np.uint32),
        "close": np.concatenate(close),
    }


def main():
    np.savez_compressed(PATH, **recorded(all_cases()))


if __name__ == "__main__":
    main()
