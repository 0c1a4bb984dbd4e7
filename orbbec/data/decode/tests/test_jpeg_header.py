"""The header of a JPEG with markers in unusual positions."""

import struct

import pytest

from orbbec.data.decode.jpeg_header import JpegHeader, jpeg_header

FRAME = struct.pack(">BHHB", 8, 30, 40, 3) + 9 * b"\0"


def segment(marker, body):
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


@pytest.mark.parametrize("marker", [0xC4, 0xC8, 0xCC])
def test_tables_are_no_frame(marker):
    other = struct.pack(">BHHB", 8, 7, 9, 1) + 9 * b"\0"
    data = b"\xff\xd8" + segment(marker, other) + segment(0xC0, FRAME)
    assert jpeg_header(data) == JpegHeader(30, 40, 3, 8, 1)


@pytest.mark.parametrize("marker", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC9, 0xCD, 0xCF])
def test_every_frame_says_the_size(marker):
    assert jpeg_header(b"\xff\xd8" + segment(marker, FRAME)) == JpegHeader(30, 40, 3, 8, 1)


@pytest.mark.parametrize("before", [b"\xff\x01", b"\xff\xd0\xff\xd8", b"\xff\xff"], ids=bytes.hex)
def test_markers_without_a_length_and_bytes_that_fill_are_passed_over(before):
    data = b"\xff\xd8" + segment(0xE0, b"JFIF") + before + segment(0xC0, FRAME)
    assert jpeg_header(data) == JpegHeader(30, 40, 3, 8, 1)


@pytest.mark.parametrize("length", range(6))
def test_a_frame_without_all_its_numbers_is_none(length):
    short = segment(0xC0, FRAME[:length])
    assert jpeg_header(b"\xff\xd8" + short) is None
    assert jpeg_header(b"\xff\xd8" + short + segment(0xC1, FRAME)) == JpegHeader(30, 40, 3, 8, 1)
    assert jpeg_header(b"\xff\xd8" + segment(0xC0, FRAME[:6])) == JpegHeader(30, 40, 3, 8, 1)
