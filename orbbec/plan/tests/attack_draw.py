"""Calls `draw` with random programs; exits with an error if one is not refused by a ValueError.

    python -m orbbec.plan.tests.attack_draw SEED CALLS

A crash of the process is what test_row_fuzz.py looks for.
"""

import math
import random
import sys

import torch

from orbbec.plan.rules import REGISTERS, SIGNATURES, WIDTH
from orbbec.plan.tests.program_rows import DRAW

ODD = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1e-300, 1e30, -1e30, 1e300, 2.0**31, 2.0**53),
    *(-1.0, -2.0, 1.0, 3.0, 28.0, 29.0, 40.0, 64.0, 65.0, 255.0, 2.0**30, 2.0**40, -(2.0**63), 2.0**63),
)
STATE, WORDS = 60, 96  # per image


def odd(chance):
    return chance.choice(ODD) if chance.random() < 0.8 else chance.uniform(-100, 100)


def operand(chance, kind):
    """A number that its rule accepts, most of the time."""
    name = kind.rstrip("0123456789")
    values = {
        "number": lambda: chance.choice((0, 0.1, 0.5, 1, 2, 100, -3, 1e30, -1e30, 1e-300)),
        "side": lambda: chance.choice((1, 2, 7, 40, 1000, 2**30)),
        "count": lambda: chance.choice((0, 0, 1, 2, 3, 4, 8, 2**30)),
        "register": lambda: chance.randrange(STATE - 18),
        "registers": lambda: chance.randrange(STATE - 32),
        "outputs": lambda: chance.randint(1, 12),
        "words": lambda: chance.choice((-1, 0, 8, 20)),
    }
    return values.get(name, lambda: chance.choice((0, 0, 1, 2)))()


def row(chance):
    """A row of a program with a few odd numbers, or of odd numbers alone."""
    if chance.random() < 0.1:
        return [odd(chance) for _ in range(WIDTH)]
    signature = chance.choice(list(SIGNATURES.values()))
    gate = chance.choice((-1, -1, REGISTERS, REGISTERS + 1, 5))
    head = [signature.number, chance.randint(0, 9), chance.randint(0, 99), gate, chance.randint(29, 41)]
    numbers = head + [operand(chance, kind) for kind in signature.operands]
    numbers += [0.0] * (WIDTH - len(numbers))
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        numbers[chance.randrange(len(numbers))] = odd(chance)
    return numbers


def arguments(chance):
    images = chance.choice((0, 1, 2, 3))
    rows = [row(chance) for _ in range(chance.randint(1, 6))]
    code = torch.tensor(rows, dtype=torch.float64)
    sides = (1, 2, 7, 40, 1000, 2**31 - 1)
    sizes = torch.tensor([[chance.choice(sides) for _ in range(2)] for _ in range(images)]).reshape(-1, 2)
    state = torch.tensor([[odd(chance) for _ in range(STATE)] for _ in range(images)], dtype=torch.float64)
    begin = chance.choice((0, 0, 0, 1, len(rows)))
    end = chance.choice((len(rows), len(rows), begin))
    words = torch.zeros(images * WORDS)
    ids = torch.arange(images)
    return code, sizes.long(), ids, 1, 2, begin, end, state.reshape(images, STATE), words


def main(seed, calls):
    chance, accepted = random.Random(seed), 0
    for number in range(calls):
        given = arguments(chance)
        if "--show" in sys.argv:
            print(number, given[0].tolist(), given[1].tolist(), *given[5:7], given[7].tolist(), flush=True)
        try:
            DRAW(*given)
            accepted += 1
        except ValueError as error:
            if not str(error).startswith("draw: "):
                raise
    print(f"{accepted} of {calls} programs ran")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
