"""Writes programs.json: what transforms are compiled to today.

    python orbbec/transforms/base/tests/record_programs.py

A checksum of each: of its rules, its passes and its flags, or of the error. Rules are recorded by name, so
that a new one changes no record. Their numbers have 9 digits, since functions such as log differ in the last
bits.
"""

import json
import re
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import torch

from orbbec import transforms as T
from orbbec.bridge.spec import OPERATORS
from orbbec.plan.parameters import Batch
from orbbec.plan.rules import SIGNATURES
from orbbec.transforms.base.pipeline import _Pixels
from orbbec.transforms.tests.examples import EXAMPLES, our_transforms

NAMES = list(SIGNATURES)
PATH = Path(__file__).with_name("programs.json")
CROP = T.RandomResizedCrop(24, antialias=False)
JITTER = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
FINISH = [T.ToDtype(torch.float32, scale=True), T.Normalize()]
BETWEEN = {
    "alone": lambda one: [one],
    "first": lambda one: [one, T.RandomHorizontalFlip(), T.RandomErasing(1.0), *FINISH],
    "second": lambda one: [CROP, one, JITTER, *FINISH],
    "last": lambda one: [JITTER, T.Pad(1), *FINISH, one],
    "by chance": lambda one: [T.RandomApply([one], 0.3), T.Resize((9, 7))],
}
PIXELS = {
    "bytes": _Pixels(3, "uint8", one_size=True),
    "ragged": _Pixels(3, "uint8"),
    "gray": _Pixels(1, "uint8", one_size=True),
    "floats": _Pixels(3, "float32", as_planes=True, one_size=True),
    "16 bits": _Pixels(3, "uint16"),
    "five": _Pixels(5, "uint8"),
}
SIZES = np.array([[40, 50], [44, 42]])
BOXES = np.array([[3.0, 4.0, 30.0, 33.0]])
POINTS = np.array([[4.0, 5], [17, 4], [11, 12], [6, 19], [15, 21]])
TARGETS = [{"boxes": BOXES, "keypoints": POINTS, "landmarks": POINTS, "points": POINTS}] * 2


def transforms_of(name):
    """A transform with its defaults, if it has some, and with every argument off them."""
    try:
        default = [our_transforms()[name]()]
    except TypeError:  # it has arguments without defaults
        default = []
    return [*default, *EXAMPLES.get(name, ())]


def programs_of(name):
    """The programs of a transform as texts: with others, fused or exact, for each kind of images."""
    cases = product(BETWEEN.items(), transforms_of(name), (False, True), PIXELS.items())
    return {
        f"{how}, {transform}, exact={exact}, {kind}": program_of(between, transform, exact, pixels)
        for (how, between), transform, exact, (kind, pixels) in cases
    }


def program_of(between, transform, exact, pixels):
    sizes = np.repeat(SIZES[:1], 2, 0) if pixels.one_size else SIZES
    try:
        pipeline = T.Compose(between(transform), exact=exact)
        program = pipeline._program(pixels, Batch(sizes, np.arange(2), 0, 0, TARGETS))
    except (TypeError, ValueError) as error:
        return str(error)
    between = sum(height * width for height, width in (step.known_size for step in program.passes[:-1]))
    flags = program.draws_anywhere, program.runs, program.size, between
    rules = [" ".join(f"{number:.9g}" for number in row) for row in program.code.tolist()]
    for index, (rule, _, rest) in enumerate(row.partition(" ") for row in rules[: len(program.labels)]):
        rules[index] = f"{NAMES[int(rule)]} {rest}"
    passes = re.sub(r" at 0x\w+", "", repr((program.passes, program.labels, program.notes)))
    passes = re.sub(r"'[^']*/(\w+\.png)'", r"'\1'", passes)  # of references
    return "\n".join([str(flags), *rules, passes])


def declaration_of(operator):
    """The `OpSpec` of an operator as a text."""
    return re.sub(r" at 0x\w+", "", repr(OPERATORS[operator]))


def checksum(text):
    return f"{zlib.crc32(text.encode()):08x}"


def main():
    record = {name: " ".join(map(checksum, programs_of(name).values())) for name in sorted(our_transforms())}
    record["OPERATORS"] = {name: checksum(declaration_of(name)) for name in sorted(OPERATORS)}
    PATH.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
