"""Writes arguments.json: what transforms make of values of each argument today.

    python orbbec/transforms/base/tests/record_arguments.py

A checksum for each argument of each transform: of the refusals, or of the value and of what the transform is
compiled to.
"""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import torch

from orbbec import transforms as T
from orbbec.transforms.base.tests.record_programs import PIXELS, checksum, program_of
from orbbec.transforms.tests.examples import EXAMPLES

PATH = Path(__file__).with_name("arguments.json")
NUMBERS = (-99, -1, -0.75, -0.25, 0, 0.0, 0.25, 1, 1.0, 1.5, 2, 3, 4, 5, 40, 99, 300.5, math.nan, math.inf)
VALUES = (
    *(*NUMBERS, True, None, "x", "linear", "random", (), (1,), (3, 5), (5, 3), (0.25, 0.5), (0.5, 0.25)),
    *((-0.5, 0.5), (1.25, 2.0), (2, 4), (3, "x"), (1, None), (1, 2, 3), (0.1, 0.2, 0.3), (1, 2, 0, 3)),
    *((0.1, 0.2, 0.8, 0.9), [1, 2, 3, 4, 5], [(1, 2), (4, 3)], torch.tensor([0.5, 2.0]), {"x": 1}),
)


EVERY = {name: examples[0] for name, examples in EXAMPLES.items()} | {"TargetOptions": T.TargetOptions()}


def texts_of(transform, name):
    """What becomes of each value of an argument."""
    for value in VALUES:
        try:
            other = replace(transform, **{name: value})
        except (TypeError, ValueError) as error:
            yield f"{value}: {type(error).__name__}: {error}"
        else:
            yield f"{value}: {getattr(other, name)!r}"
            for kind in ("ragged", "floats", "five") if isinstance(other, T.Transform) else ():
                yield program_of(lambda one: [one], other, False, PIXELS[kind])


def arguments_of(name):
    """The texts of each argument of a transform, whose other arguments are those of its first example."""
    transform = EVERY[name]
    names = [field.name for field in fields(transform) if field.init]
    return {name: "\n".join(texts_of(transform, name)) for name in names}


def main():
    record = {name: " ".join(map(checksum, arguments_of(name).values())) for name in sorted(EVERY)}
    PATH.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
