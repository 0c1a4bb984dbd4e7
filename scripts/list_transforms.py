"""Writes the tables of docs/reference/transforms.md from the code: passes, targets, reference.

    python scripts/list_transforms.py [--check]

With --check, nothing is written, and the exit status is 1 if the page is outdated.
"""

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from transform_examples import example, names, pipeline_of

from orbbec import transforms as T
from orbbec.plan import Plan
from orbbec.plan.passes import AugmentPass, Pass

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.peers.references import PARITY

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "transforms.md"
BEGIN, END = "<!-- by scripts/list_transforms.py: -->\n", "<!-- end -->\n"
HEIGHT, WIDTH, IMAGES, EPOCHS = 160, 128, 4, 4
BOXES = np.array([[30.0, 20, 70, 60], [50, 80, 90, 120]])
MASKS = np.zeros((2, HEIGHT, WIDTH), bool)
MASKS[0, 20:60, 30:70] = MASKS[1, 80:120, 50:90] = True
DENSE = np.random.default_rng(0).random((3, HEIGHT, WIDTH), np.float32)
POINTS = np.array([[40.0, 35], [60, 35], [50, 45], [42, 52], [58, 52]])
MOVABLE: dict[str, Any] = {
    "boxes": BOXES,
    "masks": MASKS,
    "keypoints": POINTS,
    "polygons": [BOXES[:, [0, 1, 2, 1, 2, 3, 0, 3]][k].reshape(4, 2) for k in range(2)],
    "depth": DENSE[0],
    "flow": DENSE[:2],
    "normals": DENSE,
    "landmarks": POINTS,
}
FOLLOWERS = MOVABLE.keys() - {"landmarks"}
LABELS = [{"label": row} for row in np.eye(IMAGES)]


def plans(name: str) -> list[tuple[Plan, list[dict[str, Any]]]]:
    """Some plans of a transform, and the targets of their images."""
    pipeline, sizes = pipeline_of(name), [(HEIGHT, WIDTH)] * IMAGES
    moved = [MOVABLE] * IMAGES
    made = [pipeline.plan(sizes, epoch=epoch, targets=moved) for epoch in range(EPOCHS)]
    for mix in made[0].mixes:
        if mix.name == "copy_paste":
            moved = [{key: MOVABLE[key] for key in ("boxes", "masks", "keypoints")}] * IMAGES
        elif mix.name != "mosaic":
            moved = LABELS
    return [(plan, moved) for plan in made]


def described(step: Pass) -> str:
    if not isinstance(step, AugmentPass):
        return f"`{step.name}`"
    return "fused, after a mean" if step.contrast else "fused"


def passes(name: str) -> str:
    """The number of passes over the pixels, and their kinds."""
    steps = plans(name)[0][0].passes
    return "none" if not steps else f"{len(steps)}: {', '.join(dict.fromkeys(map(described, steps)))}"


def targets(name: str) -> str:
    """The targets that the transform changes in some draw, and those that it removes."""
    moved: dict[str, None] = {}
    gone: dict[str, None] = {}
    for plan, targets in plans(name):
        for before, after in zip(targets, T.transform_targets(plan, targets), strict=True):
            gone |= dict.fromkeys(before.keys() - after.keys() - {"landmarks"})
            kept = before.keys() & after.keys() - {"landmarks"}
            moved |= dict.fromkeys(key for key in kept if not is_same(before[key], after[key]))
    found = "all" if moved.keys() == FOLLOWERS else ", ".join(sorted(moved)) or "none"
    return f"{found}; without {', '.join(sorted(gone))}" if gone else found


def is_same(before: Any, after: Any) -> bool:
    if len(before) != len(after):
        return False
    return all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def parity(name: str) -> str:
    """The reference with the same results, alone and with exact=True; otherwise the source."""
    found = PARITY.get(name, getattr(T, name).parity)
    if not found:
        return " ".join(
            (inspect.getdoc(getattr(T, name)) or "").partition("Source:\n")[2].split("\n\n")[0].split()
        )
    known = [f"{p.author} `{p.reference}`: {p.difference}" if p.author else p.reference for p in found]
    return "; ".join(known)


def summary(documented: object) -> str:
    return (inspect.getdoc(documented) or "").split("\n")[0].rstrip(".")


def is_container(name: str) -> bool:
    return hasattr(example(name), "transforms")


def tables() -> Iterator[str]:
    """One Markdown table per module."""
    kinds = sorted((getattr(T, name) for name in names()), key=lambda kind: (kind.__module__, kind.__name__))
    for module, own in groupby(kinds, key=lambda kind: str(kind.__module__)):
        yield f"### {summary(import_module(module))}\n"
        yield "| transform | description | passes | targets | reference |"
        yield "| --- | --- | --- | --- | --- |"
        for kind in own:
            name = kind.__name__
            cost = "those of its transforms" if is_container(name) else passes(name)
            moved = "those of its transforms" if is_container(name) else targets(name)
            yield f"| `{name}` | {summary(kind)} | {cost} | {moved} | {parity(name)} |"
        yield ""


def page() -> str:
    """The page as it should be."""
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n" + "\n".join(tables()) + "\n" + END + rest.split(END)[1]


def main(
    check: Annotated[bool, typer.Option(help="Write nothing; fail where the page is stale.")] = False,
) -> None:
    """Write the tables of docs/reference/transforms.md."""
    wanted = page()
    if check and wanted != PAGE.read_text():
        print(f"{PAGE.name} is stale: python scripts/list_transforms.py")
        raise typer.Exit(1)
    if not check:
        PAGE.write_text(wanted)
    print(f"{PAGE.name}: {len(names())} transforms")


if __name__ == "__main__":
    typer.run(main)
