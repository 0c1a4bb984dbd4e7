"""Steps of other libraries become what they became when conversions.json was recorded."""

import json

import pytest

from orbbec.transforms.base.tests.record_programs import checksum
from orbbec.transforms.convert.tests.record_conversions import PATH, conversions_of, steps

RECORDED = json.loads(PATH.read_text())
STEPS = {f"{index} {step[1]}": step for index, step in enumerate(steps())}


def test_every_step_is_recorded():
    assert list(STEPS) == list(RECORDED)


@pytest.mark.parametrize("key", STEPS)
def test_a_step_becomes_what_it_became(key):
    assert checksum(conversions_of(*STEPS[key])) == RECORDED[key]
