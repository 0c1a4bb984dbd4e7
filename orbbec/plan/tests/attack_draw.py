"""Calls `draw` with random programs; fails if one is not refused by a ValueError.

    python -m orbbec.plan.tests.attack_draw SEED CALLS

test_row_fuzz.py runs it as a process of its own, which may crash.
"""

import math
import random
import sys

import torch

from orbbec.plan.rules import WIDTH
from orbbec.plan.tests.program_rows import DRAW
from tests.fuzz.rules import STATE, WORDS, rows

ODD = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1e-300, 1e30, -1e30, 1e300, 2.0**31, 2.0**53),
    *(-1.0, -2.0, 1.0, 3.0, 28.0, 29.0, 40.0, 64.0, 65.0, 255.0, 2.0**30, 2.0**40, -(2.0**63), 2.0**63),
)


def odd(chance):
    return chance.choice(ODD) if chance.random() < 0.8 else chance.uniform(-100, 100)


def program(chance):
    """A program with some odd numbers, or of odd numbers alone."""
    found = rows(chance)
    for row in found:
        for _ in range(chance.choice((0, 0, 0, 1, 1, 2, WIDTH))):
            row[chance.randrange(WIDTH)] = odd(chance)
    return torch.tensor(found, dtype=torch.float64).reshape(-1, WIDTH)


def arguments(chance):
    images, code = chance.choice((0, 1, 2, 3)), program(chance)
    sizes = [[chance.choice((1, 2, 7, 40, 1000, 2**31 - 1)) for _ in range(2)] for _ in range(images)]
    state = [odd(chance) for _ in range(images * STATE)]
    begin = chance.choice((0, 0, 0, min(1, len(code)), len(code)))
    end = chance.choice((len(code), len(code), begin))
    return (
        code,
        torch.tensor(sizes, dtype=torch.int64).reshape(-1, 2),
        torch.arange(images),
        *(1, 2, begin, end),
        torch.tensor(state, dtype=torch.float64).reshape(images, STATE),
        torch.zeros(images * WORDS),
    )


def main(seed, calls):
    chance, accepted = random.Random(seed), 0
    for _ in range(calls):
        try:
            DRAW(*arguments(chance))
            accepted += 1
        except ValueError as error:
            if not str(error).startswith("draw: "):
                raise
    print(f"{accepted} of {calls} programs ran")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
