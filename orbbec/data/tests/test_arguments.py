"""Readers, orders and loaders make of each argument what arguments.json has (record_arguments.py)."""

import json

import pytest

from orbbec.data.tests.record_arguments import MAKERS, PATH, arguments_of
from orbbec.transforms.base.tests.record_programs import checksum

RECORDED = json.loads(PATH.read_text())


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_becomes_what_it_became(name):
    pairs = zip(arguments_of(MAKERS[name]).items(), RECORDED[name].split(), strict=True)
    assert not [argument for (argument, text), known in pairs if checksum(text) != known]
