"""No program makes `draw` crash; each attack is a process of its own."""

import subprocess
import sys

import pytest

CALL = """
import torch
from orbbec.plan.rules import SIGNATURES

def row(name, *operands, gate=-1, out=-1):
    head = SIGNATURES[name].number, 0, 0, gate, out
    return [*head, *operands, *[0] * (11 - len(operands))]

def draw(*rows, begin=0, state=()):
    registers = torch.zeros(1, 40, dtype=torch.float64)
    for index, value in dict(state).items():
        registers[0, index] = value
    tensors = torch.tensor(rows, dtype=torch.float64), torch.tensor([[5, 7]]), torch.tensor([0])
    try:
        torch.ops.orbbec.draw(*tensors, 1, 2, begin, len(rows), registers, torch.zeros(64))
    except ValueError as error:
        assert str(error).startswith("draw: ")
"""
ATTACKS = {
    "an output of a rule without outputs": "draw(row('set', 0, out=29), row('flip', 0, gate=29, out=1e8))",
    "negative outputs": "draw(row('set', 0, out=29), row('resize', 3, 4, 0, gate=29, out=-1e8))",
    "a negative height": (
        "draw(row('flip', 0), row('resize_scaled', 30, 0, 0, 1), begin=1, "
        "state={0: -1, 1: 1, 30: -float('inf')})"
    ),
    "a state of no size": (
        "[draw(row('flip', 0), row(name, *operands), begin=1, state={0: value, 1: value, 30: factor})\n"
        " for value in (0, -1, float('nan'), float('inf'), -float('inf'), 1e300, -1e300, 0.5)\n"
        " for factor in (0, -1, float('nan'), float('inf'), -float('inf'), 1e300)\n"
        " for name, operands in (('resize', (3, 4, 1)), ('resize_scaled', (30, 0, 0, 1)),\n"
        "     ('resize_shorter', (30, 0, 2)), ('letterbox', (3, 4, 1, 2)), ('zoom_out', (30, 30, 30)),\n"
        "     ('resize_area', (3, 4, 0.1, 1, 0.5, 2, -1, 1, 1)), ('pad_to', (9, 9, 0, 0, 1)),\n"
        "     ('crop_random', (2, 2, 0, 0, 0, 0, 1)), ('affine', (23, 0, 0, 0, 1)))]"
    ),
}


def run(*command):
    """Run Python; fails if it does not end well."""
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, (result.returncode, result.stderr[-2000:])
    return result.stdout


@pytest.mark.parametrize("name", ATTACKS)
def test_bad_programs_are_refused_or_run(name):
    run("-c", CALL + "import orbbec\n" + ATTACKS[name])


@pytest.mark.parametrize("seed", [0, 1])
def test_random_programs_are_refused_or_run(seed):
    ran, *_ = run("-m", "orbbec.plan.tests.attack_draw", str(seed), "10000").split()
    assert int(ran) > 3000
