"""The Python files of a call, nested, are those that docs/project/design.md draws; none is entered twice."""

import re
import sys
from pathlib import Path

import pytest
import torch

import orbbec
from orbbec import transforms as T

ROOT = Path(__file__).parents[1]
IMAGES = torch.zeros(2, 3, 20, 30, dtype=torch.uint8)
BATCH = orbbec.ImageBatch.from_images([torch.zeros(20, 30, 3, dtype=torch.uint8)])
PIPELINE = T.Compose([T.RandomResizedCrop(8, antialias=False), T.RandomHorizontalFlip()])
CALLS = {
    "warp_affine": lambda: orbbec.warp_affine(IMAGES, torch.eye(2, 3), (10, 10)),
    "resize": lambda: orbbec.resize(IMAGES, (10, 10)),
    "Compose": lambda: PIPELINE(BATCH),
}


def drawn(name):
    """The Python files on the drawn path of a call, the number of files on it, and the stated number."""
    page = (ROOT / "docs" / "project" / "design.md").read_text()
    block = re.search(rf"^{name}\(.*? (\d+) files.*?\n((?:  .*\n)+)", page, re.MULTILINE)
    lines = [line.split()[0] for line in block[2].splitlines() if not line.startswith("    ")]
    return [line for line in lines if line.endswith(".py")], len(lines), int(block[1])


def nested_files(call):
    """Every stack of files of the package, outermost first, while a call runs."""
    stack, found = [], set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event in ("call", "return") and (ROOT / "orbbec") in path.parents:
            stack.append(str(path.relative_to(ROOT))) if event == "call" else stack.pop()
            found.add(tuple(stack))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {tuple(file for n, file in enumerate(files) if n == 0 or file != files[n - 1]) for files in found}


@pytest.mark.parametrize("name", CALLS)
def test_the_files_of_a_call_are_those_that_the_page_draws(name):
    files, count, stated = drawn(name)
    assert count == stated <= 8
    CALLS[name]()
    CALLS[name]()  # the first call of a pipeline compiles it
    stacks = nested_files(CALLS[name])
    assert tuple(files) in stacks
    assert all(len(set(stack)) == len(stack) for stack in stacks)
