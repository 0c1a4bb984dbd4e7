"""Entries of tar archives."""

import io
import tarfile

import pytest

from orbbec.data.readers.tar import end_of_archive, from_entries, to_entries
from tests.support.damage.examine import Guard
from tests.support.damage.hostile import ENTRIES, HOSTILE_ENTRIES, with_size

FIELDS = {"jpg": bytes(range(256)) * 5, "cls": b"", "boxes.npy": b"x" * 512}


def test_entries_are_an_archive():
    entries = to_entries("000000007", FIELDS)
    assert from_entries(entries) == FIELDS
    whole = entries + end_of_archive(len(entries))
    assert len(whole) % 10240 == 0
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        assert {member.name: archive.extractfile(member).read() for member in archive} == {
            f"000000007.{name}": data for name, data in FIELDS.items()
        }


def test_long_and_foreign_names_come_back():
    fields = {"jpg": b"1", "ä.npy": b"2", "x" * 120 + ".npy": b"3"}
    assert from_entries(to_entries("7", fields)) == fields


def test_a_field_that_comes_twice_is_named():
    with pytest.raises(ValueError, match=r"the sample has 7\.jpg twice"):
        from_entries(to_entries("7", {"jpg": b"1"}) + to_entries("7", {"jpg": b"2"}))


def reason_of_refusal(data: bytes) -> str:
    try:
        return f"read: {from_entries(data)}"
    except ValueError as error:
        return str(error)


def test_hostile_headers_are_refused_at_once():
    with Guard() as guard:
        assert guard(60, reason_of_refusal, ENTRIES).startswith("read: ")
        for name, entries in HOSTILE_ENTRIES.items():
            reason = guard(5, reason_of_refusal, entries)
            assert "header at byte" in reason or "member at byte" in reason or "extended header" in reason, (
                name
            )


def test_sizes_of_256_values_a_byte_are_read():
    entries = with_size(ENTRIES, b"\x80" + (700).to_bytes(11, "big"))
    assert from_entries(entries) == from_entries(ENTRIES) == {"jpg": b"1" * 700, "cls": b"3"}
