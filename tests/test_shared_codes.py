"""Codes and table widths that Python and C++ both define: a test fails if only one side changes."""

import re
from pathlib import Path

import numpy as np
import pytest

from orbbec.augment import Values
from orbbec.augment.codes import MIX_WIDTH, STEPS
from orbbec.augment.step_gradients import FORMULAS
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.bridge.spec import MIXES
from orbbec.plan import rules
from orbbec.plan.steps import STEP_WARP
from orbbec.transforms.auto import OPERATIONS
from orbbec.transforms.cuts import NEAREST

PACKAGE = Path(__file__).parents[1] / "orbbec"
SOURCES = [path.read_text() for ending in ("*.h", "*.cpp") for path in sorted(PACKAGE.rglob(ending))]


def only(pattern: str) -> str:
    """The only match of a pattern in a C++ file."""
    found = [match[1] for text in SOURCES for match in re.finditer(pattern, text)]
    assert len(found) == 1, (pattern, found)
    return found[0]


def enumerators(name: str) -> list[str]:
    """The members of a C++ enum that counts from 0: kFlipRows as FLIP_ROWS."""
    body = re.sub(r"//[^\n]*", "", only(rf"enum class {name}\b[^{{]*{{([^}}]*)}}"))
    assert "=" not in body
    return [words_of(entry.strip().removeprefix("k")) for entry in body.split(",") if entry.strip()]


def words_of(name: str) -> str:
    """FlipRows as FLIP_ROWS."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def constant(name: str) -> int:
    """An integer constant of C++."""
    return int(only(rf"constexpr \w+ (?:\w+ = \w+, )*{name} =\s*(\d+)[;,]"))


def test_subsamplings_of_jpeg_have_the_numbers_of_cpp():
    assert [name.upper() for name in SAMPLINGS] == enumerators("Subsampling")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Operation", {words_of(name): number for number, name in enumerate(OPERATIONS)}),
        ("NearestOffset", {"NONE": 0, "NEAREST": NEAREST["nearest"], "EXACT": NEAREST["nearest_exact"]}),
    ],
    ids=["operations of policies", "offsets of nearest"],
)
def test_python_and_cpp_number_alike(name, ours):
    assert ours == {entry: number for number, entry in enumerate(enumerators(name))}


def test_operands_begin_where_cpp_reads_them():
    assert rules.rows_of([rules.Rule("uniform", (0.5, 1.0))]).index(0.5) == constant("kFirstOperand")


def test_tables_and_steps_have_the_registers_of_cpp():
    assert (rules.IMAGE_HEIGHT, rules.IMAGE_WIDTH) == (0, 1)  # of ParameterTable's readers
    assert rules.SIGNATURES["end_pass"].outputs == rules.PASS_REGISTERS
    assert rules.SIGNATURES["step_warp"].operands == (f"register{STEP_WARP}", "count")


def test_the_documentation_lists_every_color_step():
    rows = re.findall(r"^ *\| (\d+) \| (\w+) \|", Values.__doc__ or "", re.MULTILINE)
    assert {name: int(code) for code, name in rows} == STEPS


def test_every_color_step_has_a_gradient():
    assert {"none", *FORMULAS} == set(STEPS)


@pytest.mark.parametrize("name", [name for name, spec in MIXES.items() if spec.fused_rows])
def test_fused_mixes_have_the_width_of_their_table(name):
    table = {"pair_indices": np.arange(2), "weights": np.ones(2), "boxes": np.zeros((2, 4))}
    assert MIXES[name].fused_rows(table, np.ones((2, 2), int)).shape == (2, MIX_WIDTH)
