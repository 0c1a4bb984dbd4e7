"""What the feed reads, and what it leaves to the caller."""

import os
import random
import zlib
from contextlib import suppress

import numpy as np
import pytest

from orbbec.data.decode.codecs import size_by_codec
from orbbec.data.decode.decode import decode_image, region_header
from orbbec.data.decode.jpeg_header import is_jpeg
from orbbec.data.decode.native import feed_functions
from orbbec.data.decode.orientation import upright_size
from orbbec.data.decode.tests.files import PREFIX, exif, with_segment
from orbbec.data.readers.checksum import crc32c
from orbbec.feed.feed import GOOD, Feed, Limits, bytes_of
from tests.support.damage.damage import damaged_files, good_file

LIMITS = Limits(max_pixels=10**6)
SIZE = 45, 64


@pytest.fixture(scope="module")
def feed():
    feed = Feed(2, feed_functions(), readers=1)
    yield feed
    feed.end()


def rows_of(feed, files, limits=LIMITS):
    with feed.read_bytes(files, limits) as batch:
        assert batch.wait(lambda: False)
        return batch.rows()


def size_of(data):
    """The upright size if a region can be decoded."""
    with suppress(ValueError):
        header = region_header(data, "RGB", LIMITS.max_pixels)
        if header is not None:
            return upright_size(header.height, header.width, header.orientation)
    return None if is_jpeg(data) else size_by_codec(data, LIMITS.max_pixels, True)


def odd_exif():
    """JPEGs with EXIF that is damaged, repeated, or of another layout."""
    jpeg = good_file("jpeg", SIZE)
    blocks = [
        exif(6),
        exif(9),
        exif(0),
        exif(3, order=">"),
        exif(6, declared=9),
        exif(),
        exif(5)[:20],
        b"",
        b"II",
    ]
    blocks += [exif(8, type=kind) for kind in (1, 4)] + [exif(7, version=43), b"MM" + exif(2)[2:]]
    yield from (with_segment(jpeg, PREFIX + block) for block in blocks)
    yield from (with_segment(with_segment(jpeg, PREFIX + exif(6)), PREFIX + block) for block in blocks)
    yield with_segment(jpeg, b"Exif\0")
    yield jpeg[:2] + b"\xff" * 3 + jpeg[2:]
    yield jpeg + bytes(5)


def changed_headers(count):
    """JPEGs with other bytes in their headers."""
    chance = random.Random(3)
    for _ in range(count):
        data = bytearray(with_segment(good_file("jpeg", SIZE), PREFIX + exif(chance.randint(1, 8))))
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(2, 700)] = chance.choice(
                [0, 1, 8, 0xC0, 0xDA, 0xE1, 0xFF, chance.randrange(256)]
            )
        yield bytes(data)


def test_a_header_is_that_of_the_python_function_or_left_to_it(feed):
    files = [data for _, data in damaged_files(SIZE, flips=20)]
    files += [*odd_exif(), *changed_headers(600)]
    good = 0
    for data, row in zip(files, rows_of(feed, files), strict=True):
        if row["status"] != GOOD:
            continue
        good += 1
        assert upright_size(*(int(row[name]) for name in ("height", "width", "orientation"))) == size_of(data)
    accepted = sum(size_of(data) is not None for data in files)
    assert 450 < good <= accepted


def test_an_image_beyond_the_limit_is_left_to_the_caller(feed):
    files = [good_file("jpeg", SIZE)]
    assert rows_of(feed, files, Limits(SIZE[0] * SIZE[1]))["status"] == GOOD
    assert rows_of(feed, files, Limits(SIZE[0] * SIZE[1] - 1))["status"] != GOOD


def test_files_are_read_and_what_is_none_is_left_to_the_caller(feed, tmp_path):
    good = tmp_path / "good.jpg"
    good.write_bytes(good_file("jpeg", SIZE))
    (tmp_path / "empty.jpg").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe.jpg")
    paths = [str(tmp_path / name) for name in ("good.jpg", "empty.jpg", "pipe.jpg", "none.jpg", "")]
    with feed.read_files(paths, None, LIMITS) as batch:
        assert batch.wait(lambda: False)
        rows = batch.rows()
    assert (rows["status"] == GOOD).tolist() == [True, False, False, False, False]
    assert rows["size"].tolist() == [good.stat().st_size, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="without null characters"):
        feed.read_files(["a\0b"], None, LIMITS)


def test_a_span_of_a_file_has_its_crc(feed, tmp_path):
    data, begin = good_file("jpeg", SIZE), 13
    file = tmp_path / "archive"
    file.write_bytes(bytes(begin) + data + bytes(3))
    size, crc = len(data), zlib.crc32(data)
    spans = [
        *((begin, size, crc), (begin, size, -1), (begin, size, crc ^ 1), (begin + 1, size, -1)),
        *((begin, size + 4, -1), (-1, size, -1), (begin, 0, -1), (2**62, 2**62, -1)),
    ]
    with feed.read_files([str(file)] * len(spans), np.array(spans), LIMITS) as batch:
        assert batch.wait(lambda: False)
        assert (batch.rows()["status"] == GOOD).tolist() == [True, True, *[False] * 6]


@pytest.mark.parametrize("size", [0, 1, 500])
def test_a_record_of_tfrecord_has_its_checksum_behind_it(feed, tmp_path, size):
    data = bytes(size)
    crc = crc32c(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")
    file = tmp_path / "records"
    file.write_bytes(data + masked + data + b"1" + masked)
    spans = [(0, size + 4, -2), (size + 4, size + 5, -2), (0, size + 3, -2), (size, 2, -2)]
    with feed.read_files([str(file)] * len(spans), np.array(spans), Limits(0, channels=-1)) as batch:
        assert batch.wait(lambda: False)
        rows = batch.rows()
        assert (rows["status"] == GOOD).tolist() == [True, False, False, False]
        assert bytes_of(rows[0]) == data + masked


@pytest.mark.parametrize("length", [*range(18), 4096])
def test_the_crc_is_that_of_zlib(feed, tmp_path, length):
    data = good_file("jpeg", SIZE) + bytes(length)  # any number of bytes of a word is left
    file = tmp_path / "file"
    file.write_bytes(data)
    with feed.read_files([str(file)], np.array([[0, len(data), zlib.crc32(data)]]), LIMITS) as batch:
        assert batch.wait(lambda: False)
        assert batch.rows()["status"] == GOOD


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("channels", [1, 3])
def test_regions_are_those_of_the_whole_image(feed, orientation, channels):
    data = good_file("jpeg", SIZE, orientation)
    whole = decode_image(data, mode="L" if channels == 1 else "RGB")
    assert whole.shape[:2] == upright_size(*SIZE, orientation)
    boxes = np.array([[0, 0, whole.shape[1], whole.shape[0]], [5, 9, 20, 33], [7, 8, 8, 9]])
    sizes = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0]) * channels
    offsets = np.cumsum(sizes) - sizes
    pixels = np.zeros(sizes.sum() + 64, np.uint8)
    with feed.read_bytes([data] * 3, LIMITS) as batch:
        assert batch.wait(lambda: False)
        batch.decode(pixels, offsets, channels=channels, boxes=boxes)
        assert batch.wait(lambda: False)
        assert (batch.rows()["status"] == GOOD).all()
    for (left, top, right, bottom), offset, size in zip(boxes, offsets, sizes, strict=True):
        part = whole[top:bottom, left:right]
        assert np.array_equal(pixels[offset : offset + size].reshape(part.shape), part)
    assert not pixels[-64:].any()


def test_images_are_left_out_or_outside_of_the_file_without_a_trace(feed):
    data = good_file("jpeg", SIZE)
    pixels = np.zeros(3 * 100, np.uint8)
    boxes = np.array([[0, 0, 10, 10], [60, 0, 70, 10], [0, 0, 10, 10]])
    with feed.read_bytes([data] * 3, LIMITS) as batch:
        assert batch.wait(lambda: False)
        batch.decode(pixels, np.array([-1, 0, 0]), channels=1, boxes=boxes[[0, 1, 1]])
        assert batch.wait(lambda: False)
        assert (batch.rows()["status"] == GOOD).tolist() == [True, False, False]
    assert not pixels.any()


def test_waiting_ends_when_it_is_told_to(feed):
    with feed.read_bytes([good_file("jpeg", SIZE)] * 100, LIMITS) as batch:
        assert not batch.wait(lambda: True)


def test_a_batch_can_be_dropped_at_any_time(feed):
    data = good_file("jpeg", (480, 640))
    pixels = np.zeros(3 * 480 * 640, np.uint8)
    for decodes in (False, True) * 5:
        with feed.read_bytes([data] * 20, LIMITS) as batch:
            if decodes:
                assert batch.wait(lambda: False)
                batch.decode(pixels, np.zeros(20, np.int64), channels=3)


def test_a_system_that_refuses_threads_is_named(monkeypatch):
    class Refusing:
        orbbec_feed_begin = staticmethod(lambda *_: None)

    monkeypatch.setattr("orbbec.feed.feed._library", Refusing)
    with pytest.raises(RuntimeError, match="Feed: can't start new thread"):
        Feed(1, feed_functions()).end()
