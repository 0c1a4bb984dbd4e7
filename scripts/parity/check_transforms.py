"""Compares every transform, alone and with `exact=True`, with OpenCV, Pillow or torchvision on random cases.

    python scripts/parity/check_transforms.py             25 cases per form; writes nothing
    python scripts/parity/check_transforms.py --write     300 cases per form; writes docs

A form is a transform and its reference (tests/support/peers/transforms.py). Forms whose reference is not
installed are skipped, so --write needs all three libraries. The exit status is 1 if a value differs where
identity is promised.
"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import typer

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from report import difference_text
from summary import write_report

from tests.support.peers import peers, sharpness
from tests.support.peers.transforms import LINES
from tests.support.timing.records import write_records

DOCS = Path(__file__).parents[2] / "docs"
MANY = 300


def main(
    cases: Annotated[int, typer.Option(help="Cases of each form.")] = 25,
    write: Annotated[bool, typer.Option("--write", help=f"{MANY} cases; keep the result in docs.")] = False,
    seed: Annotated[int, typer.Option(help="Another seed, other cases.")] = 0,
) -> None:
    """Compare every transform with its author, bit by bit."""
    torch.set_num_threads(1)
    here = [author for author in peers.MODULES if peers.is_here(author)]
    rows, broken = [], 0
    for line in LINES:
        if line.author not in (*here, "NumPy"):
            continue
        tally = peers.compare(line, MANY if write else cases, seed)
        row = {"op": line.op, "form": line.form, "author": line.author, "promised": line.promised}
        rows.append({**row, **asdict(tally)})
        broken += line.promised and tally.different_values
        print(
            f"{'BROKEN ' if line.promised and tally.different_values else ''}{line.name}: "
            f"{tally.cases} cases, {difference_text(asdict(tally))}"
        )
    if write:
        versions = {author: peers.version(author) for author in here}
        content = {
            "versions": versions,
            "lines": rows,
            "sharpness": {**sharpness.measure()._asdict(), **sharpness.measure_border()._asdict()},
        }
        write_records(DOCS / "parity" / "transforms.json", content)
        write_report(DOCS)
    if broken:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
