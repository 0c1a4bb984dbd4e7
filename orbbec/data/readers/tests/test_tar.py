"""Entries of tar archives."""

import io
import tarfile

import numpy as np
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


@pytest.mark.parametrize("form", [b"%06o\0 ", b"%06o \0", b"%07o ", b"%07o\0", b" %06o ", b"%08o"])
def test_checksums_in_any_form_that_programs_write_are_read(form):
    entries = bytearray(to_entries("7", {"jpg": b"1"}))
    number = int(entries[148:154], 8)
    entries[148:156] = form % number
    assert from_entries(bytes(entries)) == {"jpg": b"1"}
    entries[148:156] = form % (number + 1)
    with pytest.raises(ValueError, match="the header at byte 0 does not match its checksum"):
        from_entries(bytes(entries))


@pytest.mark.parametrize("name", ["7.jpg", "7.\x7fé", "7.\x80"])
def test_checksums_of_signed_bytes_are_read(name):
    header = bytearray(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT, "utf-8"))
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % np.frombuffer(bytes(header), np.int8).sum(dtype=np.int64)
    assert from_entries(bytes(header)) == {name[2:]: b""}


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


MESSAGES = {
    "negative": "the header at byte 2560 has the number b'-0000001000'",
    "huge": "the member at byte 2560 has 8589934591 bytes, 2048 are there",
    "other digits": "the header at byte 2560 has the number b'0b000000001'",
    "negative, extended": "the header at byte 3584 has the number b'-512'",
    "huge, extended": f"the member at byte 3584 has {'9' * 19} bytes, 2048 are there",
    "extended beyond itself": "an extended header is malformed",
    "extended, of length 0": "an extended header is malformed",
    "extended alone": "the archive ends at byte 3584, after an extended header",
    "sparse": "the member at byte 2560 is sparse",
    "sparse, extended": "the member at byte 2560 is sparse",
    "no checksum": "the header at byte 2560 does not match its checksum",
    "cut off": "the member at byte 4096 has 1 bytes, 412 are there",
    "cut off in a header": "the header at byte 4096 is truncated",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_says_what_is_wrong_and_at_which_byte(name):
    entries = {**HOSTILE_ENTRIES, "cut off in a header": ENTRIES[:1636]}[name]
    assert reason_of_refusal(to_entries("6", {"png": bytes(2048)}) + entries) == MESSAGES[name]


@pytest.mark.parametrize("length", [98, 99, 100])
@pytest.mark.parametrize("folder", ["", "a" * 80, "a" * 155])
def test_names_that_fill_their_fields_are_read(folder, length):
    name = "7." + "x" * (length - 2)
    info = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
    assert from_entries(info.tobuf(tarfile.USTAR_FORMAT)) == {name[2:]: b""}


def test_sizes_of_256_values_a_byte_are_read():
    entries = with_size(ENTRIES, b"\x80" + (700).to_bytes(11, "big"))
    assert from_entries(entries) == from_entries(ENTRIES) == {"jpg": b"1" * 700, "cls": b"3"}
