"""Rectangles of JPEGs that were decoded before, whose rows of MCUs have known starts."""

import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from orbbec.data.decode.native import decode_rectangle

FORMS = [
    {"subsampling": "4:2:0"},
    {"subsampling": "4:2:2"},
    {"subsampling": "4:4:4", "quality": 30},
    {"subsampling": "4:2:0", "quality": 99, "optimize": True},
    {"subsampling": "4:2:0", "restart_marker_rows": 2},
]


def photograph(height=203, width=317, seed=0):
    """Smooth colors with noise, so that bytes 0xff are common."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    colors = np.stack([y + x, 2 * y, 255 - x], -1) % 256 + random.normal(0, 20, (height, width, 3))
    return colors.clip(0, 255).astype(np.uint8)


def jpeg(image, **options):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", **{"quality": 90, **options})
    return file.getvalue()


def whole(data, channels=3):
    height, width = photograph().shape[:2]
    return decode_rectangle(data, 0, 0, width, height, channels=channels)


def rectangles(count, seed):
    random = np.random.default_rng(seed)
    height, width = photograph().shape[:2]
    for _ in range(count):
        left, top = random.integers(width), random.integers(height)
        right, bottom = random.integers(left + 1, width + 1), random.integers(top + 1, height + 1)
        yield left, top, right, bottom


def differing(data, expected, count=60, seed=0, channels=3):
    """How many rectangles, in random order, are not parts of the whole image."""
    return sum(
        not np.array_equal(
            decode_rectangle(data, left, top, right - left, bottom - top, channels=channels),
            expected[top:bottom, left:right],
        )
        for left, top, right, bottom in rectangles(count, seed)
    )


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("channels", [1, 3])
def test_rectangles_are_parts_of_the_whole_image(form, channels):
    data = jpeg(photograph(seed=len(str(form))), **form)
    assert differing(data, whole(data, channels), channels=channels) == 0


def test_gray_images_too():
    data = jpeg(photograph(seed=1)[..., 0])
    assert differing(data, whole(data, 1), channels=1) == 0
    assert differing(data, whole(data)) == 0


def test_files_of_other_content_have_other_starts():
    """Of the same size, with one byte changed."""
    data = bytearray(jpeg(photograph(seed=2), subsampling="4:4:4"))
    assert differing(bytes(data), whole(bytes(data))) == 0
    at = len(data) // 2
    while data[at - 1] == 0xFF or data[at] in (0, 0xFF, 0xFE):
        at += 1
    data[at] ^= 1
    assert differing(bytes(data), whole(bytes(data))) == 0


def test_a_file_that_is_cut_off_is_refused_as_before():
    data = jpeg(photograph(seed=3))
    height = photograph().shape[0]
    part = decode_rectangle(data, 9, 100, 40, height - 100)
    assert np.array_equal(part, whole(data)[100:, 9:49])
    with pytest.raises(ValueError, match=r"Premature end|damaged"):
        decode_rectangle(data[: len(data) // 2], 9, 100, 40, height - 100)


def test_repeated_bytes_before_a_stuffed_zero():
    """Decoders skip fill bytes; the offsets of rows would not count them."""
    data = jpeg(photograph(seed=4), quality=95)
    scan = data.index(b"\xff\xda")
    filled = data[:scan] + data[scan:].replace(b"\xff\x00", b"\xff\xff\x00")
    assert len(filled) > len(data)
    assert np.array_equal(whole(filled), whole(data))
    assert differing(filled, whole(data)) == 0


def test_threads_find_the_same_starts():
    data = jpeg(photograph(seed=5))
    expected = whole(data)
    with ThreadPoolExecutor(4) as pool:
        counts = pool.map(lambda seed: differing(data, expected, seed=seed), range(8))
    assert sum(counts) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that forks")
def test_a_forked_process_finds_them_too():
    data = jpeg(photograph(seed=6))
    expected = whole(data)
    assert differing(data, expected) == 0
    child = os.fork()
    if child == 0:
        os._exit(differing(data, expected, seed=1))
    assert os.waitpid(child, 0)[1] == 0
