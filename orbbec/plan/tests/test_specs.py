"""Operators describe themselves; plans, targets, the profile and decoding know none by name."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.bridge.spec import MIXES, OPERATORS, OpSpec, register
from orbbec.plan import apply, fixed
from orbbec.plan.steps import Operator
from orbbec.transforms.base.transform import Transform
from tests.support import assert_same_bytes, photograph

PACKAGE = Path(__file__).parents[2]
PLAN = (
    *("apply.py", "build.py", "external.py", "fusion.py", "microbatches.py", "parameters.py", "plan.py"),
    *("program.py", "rules.py"),
)
NAMELESS = [
    *(PACKAGE / "plan" / name for name in PLAN),
    *sorted((PACKAGE / "plan" / "passes").glob("*.py")),
    *(
        PACKAGE / "transforms" / "targets" / name
        for name in ("masks.py", "motion.py", "state.py", "mixed.py")
    ),
    PACKAGE / "data" / "decode" / "region.py",
    *sorted((PACKAGE / "cli" / "profile").glob("*.py")),
]
ARGUMENTS = {"erase"}  # a field of augment with the name of an operator
CASTS = {"build.py": {"to_float", "to_uint8"}}  # of Build.cast, for what the fused pass does not cast


@pytest.mark.parametrize("path", NAMELESS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_operator_is_known_by_name(path):
    names = (OPERATORS.keys() | MIXES.keys()) - ARGUMENTS - CASTS.get(path.name, set())
    literals = {
        node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
    }
    assert names.isdisjoint(literal for literal in literals if isinstance(literal, str))


@pytest.fixture
def registered(monkeypatch):
    """An operator that is registered for one test; it adds a number to each image."""
    calls = []

    def add_number(images, number):
        calls.append(images.shape)
        return images + number.to(images.dtype)[:, None, None, None]

    def add(**declared):
        monkeypatch.delitem(OPERATORS, "add_number", raising=False)
        register(OpSpec(call=add_number, **declared))
        return calls

    yield add
    OPERATORS.pop("add_number", None)


@dataclass(frozen=True, eq=False)
class _Add(Transform):
    """A custom transform of one step."""

    step: Operator

    def steps(self, params, state):
        return [self.step]


def plan_of(sizes, number, drawn=None, dtype="uint8"):
    operator = Operator("add_number", {"number": np.array(number)}, drawn=drawn)
    return T.Compose([_Add(operator)]).plan(np.array(sizes), epoch=0, dtype=dtype)


def test_an_operator_without_identity_runs_for_the_images_that_it_changes(registered):
    calls = registered()
    images = torch.zeros(3, 3, 2, 2, dtype=torch.uint8)
    results = apply(plan_of([(2, 2)] * 3, [1, 2, 3], np.array([True, False, True])), images)
    assert results[:, 0, 0, 0].tolist() == [1, 0, 3]
    assert calls == [(2, 3, 2, 2)]


def test_an_operator_with_identity_runs_once_for_all_images(registered):
    calls = registered(identity=("number", 0))
    images = torch.zeros(3, 3, 2, 2, dtype=torch.uint8)
    results = apply(plan_of([(2, 2)] * 3, [1, 2, 3], np.array([True, False, True])), images)
    assert results[:, 0, 0, 0].tolist() == [1, 0, 3]
    assert calls == [(3, 3, 2, 2)]


@pytest.mark.parametrize(("drawn", "count"), [((1, 0, 0, 0), 1), ((0, 1, 1, 0), 2), ((1, 1, 0, 1), 4)])
def test_an_operator_with_identity_runs_for_few_images_between_passes(registered, drawn, count):
    calls = registered(identity=("number", 0))
    steps = [
        Operator("add_number", {"number": np.array(number)}, drawn=which)
        for number, which in (([1, 2, 3, 4], None), ([10] * 4, np.array(drawn, bool)))
    ]
    plan = T.Compose([_Add(step) for step in steps]).plan(np.array([(2, 2)] * 4), epoch=0)
    results = apply(plan, torch.zeros(4, 3, 2, 2, dtype=torch.uint8))
    assert results[:, 2, 1, 1].tolist() == [n + 10 * is_drawn for n, is_drawn in enumerate(drawn, 1)]
    assert calls == [(4, 3, 2, 2), (count, 3, 2, 2)]


def test_an_operator_without_ragged_input_runs_for_one_image_after_the_other(registered):
    calls = registered(takes_ragged=False)
    arrays = [photograph(4, 5, seed=1) // 2, photograph(6, 3, seed=2) // 2, photograph(2, 2, seed=3) // 2]
    plan = plan_of([(4, 5), (6, 3), (2, 2)], [1, 2, 3], np.array([True, False, True]))
    results = apply(plan, ImageBatch.from_images(arrays))
    for result, array, number in zip(results, arrays, (1, 0, 3), strict=True):
        assert_same_bytes(result, torch.from_numpy(array + np.uint8(number)))
    assert calls == [(1, 3, 4, 5), (1, 3, 2, 2)]


@pytest.mark.parametrize(
    ("declared", "dtype", "message"),
    [
        ({"dtypes": ("uint8",)}, "float32", "_Add: expected images of uint8, but got float32"),
        ({"dtypes": ("float32",)}, "uint8", "_Add: expected images of float32, but got uint8"),
        ({}, "uint16", "_Add: expected images of uint8 or floats, but got uint16"),
        ({"channels": (1, 4)}, "uint8", "_Add: expected images of 1 or 4 channels, but got 3"),
    ],
)
def test_what_a_spec_does_not_list_is_refused(registered, declared, dtype, message):
    registered(**declared)
    with pytest.raises(ValueError, match=message):
        plan_of([(2, 2)], [1], dtype=dtype)


def test_an_operator_that_is_not_capturable_has_no_fixed_plan():
    blurred = [T.CenterCrop(4), T.MotionBlur(3, p=1.0)]
    assert fixed(T.Compose(blurred).plan([(8, 8)])) is None
    assert fixed(T.Compose(blurred[:1]).plan([(8, 8)])) is not None
