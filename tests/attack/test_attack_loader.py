"""Attacks on the Loader: bad data, abandoned loops, interrupts, forks, resumed epochs, kept batches.

ORBBEC_ATTACK_SECONDS is the total time (18); ORBBEC_ATTACK_SEED selects the rounds.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("ORBBEC_ATTACK_SECONDS", "18"))
SEED = os.environ.get("ORBBEC_ATTACK_SEED", "0")
ATTACKS = ["faults", "leave", "interrupt", "fork", "resume", "export"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_loader_withstands_all_attacks():
    """Runs in a separate process: a deadlock ends it with the stack of each thread."""
    script = Path(__file__).with_name("loader_rounds.py")
    command = [sys.executable, "-W", "ignore", script, SEED, str(SECONDS), *ATTACKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS + 600)
    assert done.returncode == 0, done.stderr[-6000:]
    assert "orbbec/data/" not in done.stderr  # a finalizer of the package in which Ctrl-C was lost
    rounds = dict(line.split() for line in done.stdout.splitlines())
    assert list(rounds) == ATTACKS
    assert min(map(int, rounds.values())) >= 3
