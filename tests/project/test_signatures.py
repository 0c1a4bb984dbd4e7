"""Defaults of public functions, classes and methods change only on purpose."""

from tests.support.signatures import RECORD, lines


def test_defaults_are_those_on_record():
    # After a change on purpose: PYTHONPATH=. python tests/support/signatures.py
    record = RECORD.read_text().splitlines()
    assert len(record) > 200
    assert lines() == record
