"""The headers of JPEG and PNG files with markers and chunks in unusual positions."""

import struct

import pytest

from orbbec.data.decode import png_chunks
from orbbec.data.decode.jpeg_header import JpegHeader, jpeg_header, without_metadata

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


def test_a_file_that_ends_anywhere_is_no_error():
    begin = b"\xff\xd8" + segment(0xE0, b"other") + segment(0xDB, b"table") + segment(0xFE, b"text")
    data = begin + segment(0xC0, FRAME)
    for length in range(len(data)):
        assert jpeg_header(data[:length]) is None
        assert data.startswith(without_metadata(data[:length])[:2])
    assert jpeg_header(data) == JpegHeader(30, 40, 3, 8, 1)
    rest = segment(0xC0, FRAME) + b"\xff"
    assert without_metadata(b"\xff\xd8" + segment(0xFE, b"") + rest) == b"\xff\xd8" + rest


@pytest.mark.parametrize("length", range(6))
def test_a_frame_without_all_its_numbers_is_none(length):
    short = segment(0xC0, FRAME[:length])
    assert jpeg_header(b"\xff\xd8" + short) is None
    assert jpeg_header(b"\xff\xd8" + short + segment(0xC1, FRAME)) == JpegHeader(30, 40, 3, 8, 1)
    assert jpeg_header(b"\xff\xd8" + segment(0xC0, FRAME[:6])) == JpegHeader(30, 40, 3, 8, 1)


JFIF, ADOBE = segment(0xE0, b"JFIF\0" + bytes(9)), segment(0xEE, b"Adobe" + bytes(7))
TABLES = segment(0xDB, bytes(65))
SCAN = b"\xff\xda\0\x02pixels\xff\xd9"


@pytest.mark.parametrize(
    ("marker", "body"),
    [
        (0xFE, b"a comment"),
        (0xFE, b""),
        (0xE0, b"JFIF\0" + bytes(8)),
        (0xE0, b"JFXX\0" + bytes(20)),
        (0xE1, b"Exif\0\0garbage"),
        (0xE2, b"ICC_PROFILE\0" + bytes(20)),
        (0xEE, b"Adobe" + bytes(6)),
        (0xEE, b"Other" + bytes(20)),
        (0xEE, b"JFIF\0" + bytes(20)),
        (0xEF, bytes(20)),
    ],
)
def test_metadata_goes_and_what_defines_pixels_stays(marker, body):
    start, frame, metadata = b"\xff\xd8", segment(0xC0, FRAME), segment(marker, body)
    for parts in ([JFIF, ADOBE, TABLES, frame], [TABLES, frame], [frame, ADOBE]):
        with_metadata = start + metadata + metadata.join(parts) + metadata + SCAN
        assert without_metadata(with_metadata) == start + b"".join(parts) + SCAN


def test_a_jpeg_with_bytes_between_its_segments_stays_as_it_is():
    data = b"\xff\xd8" + segment(0xFE, b"a comment") + b"stray" + segment(0xC0, FRAME) + SCAN
    assert without_metadata(data) == data


@pytest.mark.parametrize("length", [0, 253, 254, 255, 256, 1000, 65533])
def test_segments_of_any_length_are_passed_over(length):
    frame = segment(0xC0, FRAME)
    data = b"\xff\xd8" + segment(0xFE, bytes(length)) + frame + SCAN
    assert jpeg_header(data) == JpegHeader(30, 40, 3, 8, 1)
    assert without_metadata(data) == b"\xff\xd8" + frame + SCAN


def chunk(kind, body=b"12345"):
    return struct.pack(">I", len(body)) + kind + body + b"crc."


def test_ancillary_chunks_of_a_png_go_except_its_transparency():
    start, parts = b"\x89PNG\r\n\x1a\n", [chunk(b"IHDR"), chunk(b"tRNS"), chunk(b"IDAT", b""), chunk(b"IEND")]
    whole = start + b"".join(parts)
    assert png_chunks.without_metadata(whole) == whole
    for kind in (b"tEXt", b"iCCP", b"eXIf", b"acTL", b"tIME"):
        for position in range(4):
            changed = start + b"".join([*parts[:position], chunk(kind), *parts[position:]])
            assert png_chunks.without_metadata(changed) == whole
        truncated = start + chunk(kind) + parts[0] + chunk(kind)[:-1]
        assert png_chunks.without_metadata(truncated) == start + parts[0] + chunk(kind)[:-1]
    assert png_chunks.png_exif(start + chunk(b"eXIf") + parts[0] + chunk(b"eXIf", b"")) == [b"12345", b""]


@pytest.mark.parametrize(("bits", "step"), [(1, 255), (2, 85), (4, 17), (8, 1)])
def test_the_step_of_a_gray_spans_8_bits(bits, step):
    assert png_chunks.gray_step(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(8) + bytes([bits, 0]))) == step
