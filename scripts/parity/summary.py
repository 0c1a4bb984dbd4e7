"""docs/project/parity.md: what was compared with which reference, and what differs, on one screen."""

from collections.abc import Iterator
from pathlib import Path

from report import Result, Row, main_rows, markdown_table, results, totals, write_cells

HEAD = """\
# Parity

Written by `scripts/parity/check_parity.py` from `docs/parity/*.json`; do not edit.

orbbec promises the bits of a reference wherever the documentation says *identical*. `make parity` checks
this on random cases: sizes from 1 x 1 to 700 x 700, singular and extreme matrices, images far outside, fills
out of range. Everything was measured on the CPU. The tests compare the CUDA kernels with the CPU bit for bit,
on an emulated device and from nvcc's PTX; [two GPUs have run them](../explanation/cuda.md).

Cases and values count what is promised. The last column lists what is not promised: it differs by intention,
or because the reference itself depends on the processor. [Cell by cell](parity_cells.md) has the size of each
difference and [its reason](parity_cells.md#where-the-other-operators-differ-and-why).
"""

TAIL = """\
A pipeline without `exact=True` resamples and rounds once per pass instead of once per transform. Its results
therefore differ from those of separate calls. After a crop, a rotation and an affine transform of a test
image it keeps {fused_detail:.2f} of the detail; with `exact=True`, {exact_detail:.2f}.

[The switch](../reference/switch.md) has its own figures. `make test-peers` runs the tests that need another
library; [these](parity_cells.md#tests-with-other-libraries) passed last.
"""


def different(rows: list[Row]) -> str:
    """The operators of the rows whose values differ."""
    return ", ".join(f"`{name}`" for name in sorted({row["op"] for row in rows if row["different_values"]}))


def line(name: str, compared: str, rows: list[Row], differs: str) -> list[str]:
    """A line of the table."""
    cases, values, broken = totals([row for row in rows if row["promised"]])
    return [name, compared, f"{cases:,}", f"{values:,}", f"{broken:,}", differs or "nothing"]


def lines(warps: list[Result], operators: list[Result], transforms: list[Result]) -> Iterator[list[str]]:
    """What was compared with each reference."""
    yield ["reference", "compared", "cases", "values", "of these differ", "not promised, and different"]
    for result in warps:
        rows = main_rows(result)
        arithmetic = f'warps, `arithmetic="{result["arithmetic"]}"`'
        count = sum(row["different_values"] > 0 for row in rows)
        where = ": float64 except with lanczos4; cubic with a transparent border"
        differs = f"{count} of {len(rows)} cells{where}" if count else ""
        yield line(f"OpenCV {result['opencv']}", arithmetic, rows, differs)
    for result in operators:
        rows = result["lines"]
        yield line(f"{result['author']} {result['version']}", "other operators", rows, different(rows))
    for result in transforms:
        for author, version in result["versions"].items():
            rows = [row for row in result["lines"] if row["author"] == author]
            yield line(f"{author} {version}", "transforms, `exact=True`", rows, different(rows))


def write_summary(docs: Path) -> None:
    """Write `docs/project/parity.md`."""
    found = [results(docs, pattern) for pattern in ("opencv-*.json", "operators-*.json", "transforms.json")]
    parts = [HEAD, markdown_table(lines(*found))]
    parts += [TAIL.format(**result["sharpness"]) for result in found[2]]
    (docs / "project" / "parity.md").write_text("\n\n".join(part.rstrip() for part in parts) + "\n")


def write_report(docs: Path) -> None:
    """Write both pages."""
    (docs / "project").mkdir(exist_ok=True)
    write_summary(docs)
    write_cells(docs)
