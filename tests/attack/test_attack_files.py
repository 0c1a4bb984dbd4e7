"""Hostile files are read correctly or refused by name; nothing crashes, hangs or exhausts memory.

    pytest tests/attack                              20 s for this file
    ORBBEC_ATTACK_SECONDS=600 pytest tests/attack    longer: `make attack`

A failure names the target and the seed; `attack(target, seed)` of tests.support.damage.attack reproduces it.
"""

import os
import time
from collections import Counter

import pytest

from tests.support.damage.attack import SECONDS, TARGETS, attack, bound_memory
from tests.support.damage.examine import Guard, be, machines

BUDGET = float(os.environ.get("ORBBEC_ATTACK_SECONDS", "20"))  # for all tests here
LEAST = 3  # rounds per target, even on a slow machine
START = 60  # seconds for a process to start


def attacked(machine: str, seconds: float, targets: dict) -> tuple[Counter, list[str]]:
    """The outcomes by target, and the failures."""
    outcomes, wrong, seed = Counter(), [], 0
    end = time.monotonic() + seconds
    with Guard() as guard:
        ready = False
        while seed < LEAST or (time.monotonic() < end and len(wrong) < 10):
            for target in targets:
                if not ready:
                    guard(START, be, machine)
                    guard(START, attack, "images", 0)  # imports its modules
                    guard(START, bound_memory)
                try:
                    outcomes[target, guard(SECONDS, attack, target, seed)] += 1
                    ready = True
                except RuntimeError as error:
                    wrong.append(f"attack({target!r}, {seed}): {error}")
                    guard.close()
                    ready = False
            seed += 1
    return outcomes, wrong


@pytest.mark.parametrize("machine", machines())
def test_hostile_files_are_read_right_or_refused(machine):
    for module in ("webdataset", "h5py", "lmdb", "pyarrow"):
        pytest.importorskip(module)
    outcomes, wrong = attacked(machine, BUDGET / len(machines()), TARGETS)
    print(f"\n{machine}: {outcomes.total()} rounds", *sorted(outcomes.items()), sep="\n")
    assert not wrong, "\n".join(wrong)
    assert {target for target, _ in outcomes} == {*TARGETS}
    assert {outcome for _, outcome in outcomes} >= {"read", "refused"}


def test_rounds_are_bounded_in_memory():
    with Guard() as guard:
        guard(START, bound_memory)
        with pytest.raises(RuntimeError, match="MemoryError"):
            guard(START, bytes, 3 << 30)
