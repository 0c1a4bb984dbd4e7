"""Transforms make of each argument what they made when arguments.json was recorded (record_arguments.py)."""

import json
import re

import pytest

from orbbec.transforms.base.tests.record_arguments import EVERY, PATH, arguments_of
from orbbec.transforms.base.tests.record_programs import checksum

RECORDED = json.loads(PATH.read_text())


def test_every_transform_is_recorded():
    assert sorted(EVERY) == list(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_a_value_becomes_what_it_became_and_a_wrong_one_is_named(name):
    texts = arguments_of(name)
    assert not re.findall(rf"^.*Error: (?!{name}: expected ).*", "\n".join(texts.values()), re.MULTILINE)
    pairs = zip(texts.items(), RECORDED[name].split(), strict=True)
    assert not [argument for (argument, text), known in pairs if checksum(text) != known]
