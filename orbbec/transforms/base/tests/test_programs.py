"""Transforms are compiled to what they were when programs.json was recorded (record_programs.py)."""

import json

import pytest

from orbbec.transforms.base.tests.record_programs import PATH, checksum, declaration_of, programs_of
from orbbec.transforms.tests.examples import our_transforms

RECORDED = json.loads(PATH.read_text())
DECLARED = RECORDED.pop("OPERATORS")


def test_every_transform_is_recorded():
    assert sorted(our_transforms()) == list(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_a_transform_is_compiled_to_what_it_was(name):
    programs = programs_of(name)
    pairs = zip(programs.items(), RECORDED[name].split(), strict=True)
    changed = [f"{case}:\n{text}" for (case, text), known in pairs if checksum(text) != known]
    assert not changed, f"{len(changed)} of {len(programs)} programs, first {changed[0]}"


@pytest.mark.parametrize("operator", DECLARED)
def test_an_operator_declares_what_it_declared(operator):
    assert checksum(declaration_of(operator)) == DECLARED[operator]
