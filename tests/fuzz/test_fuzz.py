"""Random arguments give a result or a named error, and the fuzzer finds planted faults."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.fuzz.run import CALLS_OF_A_CHILD

ROOT = Path(__file__).resolve().parents[2]
CALLS = {"cpu": 8000, "emulated": 800}

# Operators with faults, in a separate library.
PLANTED = """
import os, signal, sys, time
import torch
from tests.fuzz.children import Limits, Runner
from tests.fuzz.run import fuzz, print_failures

library = torch.library.Library("planted", "DEF")

def plant(schema, fault):
    library.define(schema)
    library.impl(schema.partition("(")[0], fault, "CPU")

def dies(images, size, name):
    if len(size) > 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    return images.clone()

def hangs(images, count):
    while count > 5:
        pass
    return images.clone()

def sleeps(images, count):
    while count > 5:
        time.sleep(1)
    return images.clone()

def eats(images, count):
    held = []
    while count > 5:
        held.append(torch.ones(1 << 20))
    return images.clone()

def bare(images):
    return images.new_empty(images.shape[3])

def named(images, count):
    if count > 5:
        raise ValueError(f"named: expected count of at most 5, but got {count}")
    return images.clone()

plant("dies(Tensor images, int[] size, str name) -> Tensor", dies)
plant("hangs(Tensor images, int count) -> Tensor", hangs)
plant("sleeps(Tensor images, int count) -> Tensor", sleeps)
plant("eats(Tensor images, int count) -> Tensor", eats)
plant("bare(Tensor images) -> Tensor", bare)
plant("named(Tensor images, int count) -> Tensor", named)
op, calls, shrinks = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "shrink"
runner = Runner(Limits(cpu_seconds=2, wall_seconds=8, memory=64 << 20))
report = fuzz([op], calls, 0, runner, "planted")
print(dict(report.kinds[op]))
if shrinks:
    print_failures(report, 0, runner)
"""

PRINTED = """
import warnings

import orbbec
from tests.fuzz.call import outcome_of
from tests.fuzz.draw import draw_call, operators

warnings.simplefilter("ignore")
for op in operators():
    for index in range(6):
        call = draw_call(op, 8, index)
        expected = call.run()
        if expected.kind == "unbuildable":
            continue
        try:
            exec(call.source())
            found = ""
        except Exception as error:
            found = outcome_of(error, "device='meta'" in call.source()).detail
        if found != expected.detail:
            print(call.source(), expected, found)
"""


def run(*arguments: str, timeout: float = 1800) -> subprocess.CompletedProcess[str]:
    # A separate process: its children are forks, and pytest's modules may not survive a fork.
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.sanitized
def test_every_operator_gives_a_result_or_a_named_error():
    device = "emulated" if hasattr(torch.ops.orbbec, "set_emulation") else "cpu"
    done = run("-m", "tests.fuzz", "--device", device, "--calls", str(CALLS[device]), "--seed", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


def test_all_calls_run_in_as_many_children_as_they_take():
    done = run("-m", "tests.fuzz", "--op", "move_boxes", "--calls", str(2 * CALLS_OF_A_CHILD + 7))
    _, counts = done.stdout.split(" s: ")
    numbers = [int(count.split()[0]) for count in counts.split(", ")]
    assert sum(numbers) == 2 * CALLS_OF_A_CHILD + 7, done.stdout


def test_each_operator_is_reached_beyond_its_checks():
    done = run("-m", "tests.fuzz", "--calls", "6300", "--fractions")
    fractions = [line.split() for line in done.stdout.splitlines() if "%" in line]
    low = {op: fraction for op, fraction, *_ in fractions if float(fraction.rstrip("%")) < 15}
    assert len(fractions) > 60
    assert not low, f"few calls give a result: {low}"


def planted(op: str, calls: int, then: str = "") -> list[str]:
    done = run("-c", PLANTED, op, str(calls), then)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("op", "calls", "kind"),  # calls of the middle two that exceed the limit take 2 and 8 seconds
    [
        ("dies", 12, "a death by SIGSEGV"),
        ("hangs", 4, "a run past the time limit"),
        ("sleeps", 2, "a run past the time limit"),
        ("bare", 12, "a bare IndexError"),
    ],
)
def test_a_planted_fault_is_found(op, calls, kind):
    assert kind in eval(planted(op, calls)[0])


def test_the_call_that_kills_is_the_one_that_is_named():
    """Only this call fails: calls before and after it in the same child keep their outcomes."""
    kinds = eval(planted("dies", 100)[0])
    assert kinds["a death by SIGSEGV"] > 3
    assert kinds["result"] > 30
    assert sum(kinds.values()) == 100


def test_memory_is_bounded():
    assert "memory" in eval(planted("eats", 12)[0])


def test_a_named_error_is_no_failure():
    assert set(eval(planted("named", 50)[0])) <= {"result", "refusal", "memory", "unbuildable"}


def test_a_failing_call_is_printed_at_its_simplest():
    lines = planted("dies", 30, "shrink")
    call = next(line for line in lines if line.startswith("torch.ops.planted."))
    simplest = r"torch\.ops\.planted\.dies\(torch\.full\(\[\], \S+, dtype=torch\.\w+\), \[0, 0, 0\], '.*'\)"
    assert re.fullmatch(simplest, call), call


def test_what_is_printed_runs_and_ends_as_the_call_did():
    done = run("-c", PRINTED)
    assert done.stdout == "", done.stdout
    assert done.returncode == 0, done.stderr


def test_the_same_seed_draws_the_same_calls():
    code = "import orbbec\nfrom tests.fuzz.draw import draw_call, operators\n"
    code += "print([draw_call(op, 3, i) for op in operators() for i in range(5)])"
    assert run("-c", code).stdout == run("-c", code).stdout != ""
