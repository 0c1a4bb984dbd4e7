"""Parsers make of damaged files what damage.json has (record_damage.py)."""

import json

import pytest

from orbbec.data.tests.record_damage import PARSERS, PATH, checksums_of

RECORDED = json.loads(PATH.read_text())


@pytest.mark.parametrize("name", PARSERS)
def test_a_damaged_file_becomes_what_it_became(name):
    assert checksums_of(name) == RECORDED[name]
