"""Writes docs/reference/switch.md: what the torchvision switch replaces, with results and speed.

    python scripts/parity/list_switch.py            needs torchvision; also writes docs/parity/switch.json
    python scripts/parity/list_switch.py --check    writes nothing; needs no torchvision

The exit status is 1 if functions differ that the code lists as identical, or if the page is outdated. Times
are CPU times of one thread, with alternating contenders.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from report import difference_text

from orbbec.backends.torchvision.functions import FUNCTIONS
from orbbec.cli.doctor.facts import cpu_model
from tests.support.peers import peers, switch_pipelines, switches
from tests.support.timing.records import write_records

DOCS = Path(__file__).parents[2] / "docs"
PAGE, FIGURES = DOCS / "reference" / "switch.md", DOCS / "parity" / "switch.json"
BEGIN, END = "<!-- by scripts/parity/list_switch.py: -->\n", "<!-- end -->\n"
COLUMNS = {"PIL": "PIL images", "v1": "v1, tensors", "v2": "v2, tensors"}
ON_FILES = ("PIL", "JPEG")  # kinds of Pillow images
CASES = 500

Row = dict[str, Any]


def measured(cases: int) -> dict[str, Any]:
    """The figures of the page."""
    rows = []
    for cell in switches.cells():
        tally = asdict(cell.compare(cases))
        rows.append(
            {"op": cell.op, "kind": cell.kind, "api": cell.api, "speed": round(cell.speed(), 2), **tally}
        )
        print(f"{cell.op} {cell.kind} {cell.api}: {difference_text(tally)}, {rows[-1]['speed']}x", flush=True)
    versions = {author: peers.version(author) for author in ("torchvision", "Pillow")}
    return {
        "versions": {**versions, "torch": torch.__version__},
        "processor": cpu_model(),
        "cases": cases,
        "rows": rows,
        "pipelines": [asdict(times) for times in switch_pipelines.timed()],
    }


def taken(row: Row) -> str:
    """How the switch replaces a function: "exact", "close" (with `exact=False`), or "" if it does not."""
    if row["api"] == "ops" or row["kind"] == "JPEG":
        return "exact"
    image, kind = ("PIL", "RGB") if row["kind"] == "PIL" else ("tensor", row["kind"])
    # v1 crops, then calls its own resize.
    op = "resize" if (row["api"], row["op"], image) == ("v1", "resized_crop", "tensor") else row["op"]
    for function in FUNCTIONS:
        api = function.api if image == "PIL" else row["api"]  # v1 and v2 are the same for PIL images
        if (function.api, function.image, function.op) == (api, image, op):
            return "exact" if kind in function.exact else "close" if kind in function.close else ""
    return ""


def entry(row: Row | None) -> str:
    """A cell of the page."""
    if row is None:
        return "-"
    text = f"{difference_text(row)}; {row['speed']:.2g}x"
    return {"exact": f"**{text}**", "close": f"*{text}*", "": text}[taken(row)]


def table(rows: list[Row]) -> Iterator[str]:
    """A table with functions and pixel types as rows, and APIs as columns."""
    yield f"| function | pixels | {' | '.join(COLUMNS.values())} |"
    yield f"| --- | --- |{' --- |' * len(COLUMNS)}"
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row["api"] in COLUMNS:
            of_pillow = row["kind"] in ON_FILES
            pixels = "uint8" if of_pillow else row["kind"]
            lines.setdefault((row["op"], pixels), {})["PIL" if of_pillow else row["api"]] = row
    for (op, pixels), found in lines.items():
        yield f"| `{op}` | {pixels} | {' | '.join(entry(found.get(column)) for column in COLUMNS)} |"


def operators(rows: list[Row]) -> Iterator[str]:
    """A table of the detection operators."""
    yield "| operator | values compared | result |"
    yield "| --- | --- | --- |"
    for row in rows:
        if row["api"] == "ops":
            yield f"| `{row['op']}` | {row['values']:,} | {entry(row)} |"


def pipelines(times: list[Row]) -> Iterator[str]:
    """A table of the time saved in torchvision's pipelines."""
    yield "| pipeline | torchvision | switch | saved | `exact=False` | saved | `convert` | saved |"
    yield "| --- " * 8 + "|"
    for row in times:
        base = row["torchvision"]
        others = (f"{row[name]:,.0f} | {1 - row[name] / base:.0%}" for name in ("exact", "close", "fused"))
        yield f"| {row['name']} | {base:,.0f} | {' | '.join(others)} |"


def page(figures: dict[str, Any]) -> str:
    """The current text of the page."""
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    lines = [
        f"{versions}; {figures['cases']} cases per cell; one thread of {figures['processor']}.",
        "",
        *table(figures["rows"]),
        "",
        *operators(figures["rows"]),
        "",
        "Microseconds per image of 375x500:",
        "",
        *pipelines(figures["pipelines"]),
    ]
    head, rest = PAGE.read_text().split(BEGIN)
    return head + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1]


def broken(figures: dict[str, Any]) -> list[str]:
    """Functions that the code lists as identical but that differ, or that were not measured."""
    rows = figures["rows"]
    lines = [
        f"{row['op']} {row['kind']} {row['api']}: {difference_text(row)}"
        for row in rows
        if taken(row) == "exact" and row["different_values"]
    ]
    lines += [f"{row['name']}: the switch changes it" for row in figures["pipelines"] if not row["identical"]]
    known = {(row["op"], "PIL" if row["kind"] == "PIL" else "tensor") for row in rows}
    return lines + [f"{each.name}: not measured" for each in FUNCTIONS if (each.op, each.image) not in known]


def main(
    check: Annotated[bool, typer.Option(help="Write nothing; fail where the page is stale.")] = False,
    cases: Annotated[int, typer.Option(help="Of each function and kind of image.")] = CASES,
) -> None:
    """Write docs/reference/switch.md."""
    torch.set_num_threads(1)
    figures = json.loads(FIGURES.read_text()) if check else measured(cases)
    if not check:
        write_records(FIGURES, figures)
        PAGE.write_text(page(figures))
    failures = broken(figures)
    if page(figures) != PAGE.read_text():
        failures.append(f"{PAGE.name} is stale: python scripts/parity/list_switch.py")
    print("\n".join([*failures, f"{PAGE.name}: {len(figures['rows'])} cells"]))
    if failures:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
