"""Programs of `draw` that are valid, most of the time, and one of `run`."""

from functools import cache
from random import Random

import torch

from orbbec import transforms as T
from orbbec.plan.program import Program
from orbbec.plan.rules import REGISTERS, SIGNATURES, WIDTH

STATE, WORDS = 60, 96  # registers and words per image
_LAST = STATE - 32  # the last register that an operand of several may begin with


def rows(random: Random) -> list[list[float]]:
    """A few rows of a program: float64 `[K, 16]`."""
    return [_row(random) for _ in range(random.randint(0, 6))]


def _row(random: Random) -> list[float]:
    number, outputs, operands = random.choice(list(SIGNATURES.values()))
    writes = outputs or "outputs" in operands
    head = [number, random.randint(0, 9), random.randint(0, 99), random.choice((-1, -1, -1, REGISTERS, 0))]
    head.append(random.randint(REGISTERS, STATE - 19) if writes else -1)
    row = [float(value) for value in head] + [_operand(random, kind) for kind in operands]
    return row + [0.0] * (WIDTH - len(row))


def _operand(random: Random, kind: str) -> float:
    name = kind.rstrip("0123456789")
    if name == "number":
        return random.choice((0.1, 0.5, 1.0, 2.0, round(random.uniform(-3, 9), 2)))
    if name in ("side", "outputs"):
        return random.randint(1, 12)
    if name in ("register", "registers"):
        return random.randint(REGISTERS - 9, max(REGISTERS, _LAST))
    return random.choice((0, 0, 1, 1, 2, 8)) if name != "words" else random.choice((-1, 0, 12))


@cache
def compiled() -> Program:
    """A crop, a flip and a normalization for `run`."""
    floats = [T.ToDtype(torch.float32, scale=True), T.Normalize(0.5, 0.5)]
    crop = T.RandomResizedCrop((7, 9), antialias=False)
    pipeline = T.Compose([crop, T.RandomHorizontalFlip(), *floats])
    program = pipeline._direct_program((torch.uint8, 3, False, True))
    assert program is not None
    return program
