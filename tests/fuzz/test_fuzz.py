"""Arguments of every kind give a result or a named error; and the fuzzer finds what it is there to find."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
CALLS = {"cpu": 20000, "emulated": 1500}

# Operators with faults, of a library of their own.
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
op, calls = sys.argv[1], int(sys.argv[2])
runner = Runner(Limits(cpu_seconds=0.2, wall_seconds=2, memory=64 << 20))
report = fuzz([op], calls, 0, runner, "planted")
print(dict(report.kinds[op]))
print_failures(report, 0, runner)
"""


def run(*arguments: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    # A process of its own: its children are forks, and what pytest has loaded need not survive one.
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.sanitized
def test_every_operator_gives_a_result_or_a_named_error():
    device = "emulated" if hasattr(torch.ops.orbbec, "set_emulation") else "cpu"
    done = run("-m", "tests.fuzz", "--device", device, "--calls", str(CALLS[device]), "--seed", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


def test_each_operator_is_reached_beyond_its_checks():
    done = run("-m", "tests.fuzz", "--calls", "6300", "--shares")
    shares = [line.split() for line in done.stdout.splitlines() if "%" in line]
    low = {op: share for op, share, *_ in shares if float(share.rstrip("%")) < 15}
    assert len(shares) > 60
    assert not low, f"few calls give a result: {low}"


def planted(op: str, calls: int) -> str:
    done = run("-c", PLANTED, op, str(calls))
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_call(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("torch.ops.planted."))


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("dies", "a death by SIGSEGV"),
        ("hangs", "a run past the time limit"),
        ("sleeps", "a run past the time limit"),
        ("bare", "a bare IndexError"),
    ],
)
def test_a_planted_fault_is_found(op, kind):
    output = planted(op, 6)
    assert f"{op}, call" in output
    assert kind in output


def test_the_call_that_kills_is_the_one_that_is_named():
    """It is alone in its failure: those before and after it in the same child have their own outcomes."""
    output = planted("dies", 100)
    kinds = eval(output.splitlines()[0])
    assert kinds["a death by SIGSEGV"] > 3
    assert kinds["result"] > 30
    assert sum(kinds.values()) == 100


def test_memory_is_bounded():
    assert "memory" in eval(planted("eats", 12).splitlines()[0])


def test_a_named_error_is_no_failure():
    assert set(eval(planted("named", 50).splitlines()[0])) <= {"result", "refusal", "unbuildable"}


def test_a_failing_call_is_printed_at_its_simplest():
    call = printed_call(planted("dies", 12))
    assert call == "torch.ops.planted.dies(torch.empty([], dtype=torch.uint8), [0, 0, 0], '')", call


def test_the_same_seed_draws_the_same_calls():
    code = "import orbbec\nfrom tests.fuzz.draw import draw_call, operators\n"
    code += "print([draw_call(op, 3, i) for op in operators() for i in range(5)])"
    assert run("-c", code).stdout == run("-c", code).stdout != ""
