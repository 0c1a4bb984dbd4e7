"""The decoder of baseline JPEGs gives OpenCV's bytes."""

import io

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")
image_module = pytest.importorskip("PIL.Image")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.data.decode import native
from tests.support import assert_same_bytes, photograph
from tests.support.peers.jpegs import FACTORS

SCAN = b"\xff\xda"


@pytest.fixture(autouse=True, params=["scalar", "avx2", "avx512"])
def alone(request, monkeypatch):
    """No other decoder is used for files that this one refuses, on each SIMD level."""
    monkeypatch.setattr(native, "_library", lambda: None)
    monkeypatch.setenv("ORBBEC_SIMD", request.param)


def encoded(image, *options, quality=90, sampling="420"):
    given_options = [cv2.IMWRITE_JPEG_QUALITY, quality, *options]
    if image.ndim == 3:
        given_options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, FACTORS[sampling]]
    return cv2.imencode(".jpg", image, given_options)[1].tobytes()


def by_opencv(data, channels=3):
    flag = cv2.IMREAD_COLOR_RGB if channels == 3 else cv2.IMREAD_GRAYSCALE
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    return pixels.reshape(*pixels.shape[:2], channels)


def rectangles(height, width, seed, count=4):
    """The whole image, its last pixel, and random parts: left, top, width, height."""
    yield 0, 0, width, height
    yield width - 1, height - 1, 1, 1
    rng = np.random.default_rng(seed)
    for _ in range(count):
        left, top = (int(rng.integers(size)) for size in (width, height))
        yield left, top, int(rng.integers(1, width - left + 1)), int(rng.integers(1, height - top + 1))


def assert_as_opencv(data, seed=0):
    for channels in (1, 3):
        expected = by_opencv(data, channels)
        for left, top, width, height in rectangles(*expected.shape[:2], seed):
            actual = native.decode_rectangle(data, left, top, width, height, channels=channels)
            assert_same_bytes(actual, np.ascontiguousarray(expected[top : top + height, left : left + width]))


@pytest.mark.parametrize("sampling", FACTORS)
@pytest.mark.parametrize("quality", [1, 50, 90, 100])
def test_the_decoder_matches_opencv(sampling, quality):
    for height, width in [(1, 1), (2, 5), (3, 4), (4, 5), (8, 16), (17, 33), (40, 31), (70, 130)]:
        image = photograph(height, width)
        assert_as_opencv(encoded(image, quality=quality, sampling=sampling))
        assert_as_opencv(encoded(image[..., 0].copy(), quality=quality))


@pytest.mark.parametrize("sampling", FACTORS)
def test_a_large_image_matches_opencv(sampling):
    smooth = cv2.GaussianBlur(photograph(481, 641), (0, 0), 1.5)
    assert_as_opencv(encoded(smooth, sampling=sampling))
    assert_as_opencv(encoded(photograph(3, 20000), sampling=sampling))
    assert_as_opencv(encoded(photograph(5000, 3), sampling=sampling))


@settings(max_examples=60, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 200),
    quality=st.integers(1, 100),
    sampling=st.sampled_from(list(FACTORS)),
    interval=st.integers(0, 40),
    has_own_codes=st.booleans(),
    levels=st.sampled_from([2, 3, 256]),
    seed=st.integers(0, 1000),
)
def test_any_noise_matches_opencv(height, width, quality, sampling, interval, has_own_codes, levels, seed):
    draws = np.random.default_rng(seed).integers(0, levels, (height, width, 3))
    image = (draws * 255 // (levels - 1)).astype(np.uint8)
    options = [cv2.IMWRITE_JPEG_RST_INTERVAL, interval, cv2.IMWRITE_JPEG_OPTIMIZE, int(has_own_codes)]
    assert_as_opencv(encoded(image, *options, quality=quality, sampling=sampling), seed)


@pytest.mark.parametrize("factors", [0x11, 0x22, 0x41, 0x14])
def test_a_gray_image_has_one_block_per_mcu_whatever_its_factors(factors):
    data = bytearray(encoded(photograph(20, 50)[..., 0].copy(), cv2.IMWRITE_JPEG_RST_INTERVAL, 2))
    data[data.index(b"\xff\xc0") + 11] = factors
    assert_as_opencv(bytes(data))


def test_the_decoder_writes_through_any_steps():
    data = encoded(photograph(40, 50))
    expected = by_opencv(data)[5:35, 7:47]
    for view in (lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a.transpose(1, 0, 2)):
        buffer = np.zeros(view(expected).shape, np.uint8)
        native.decode_rectangle(data, 7, 5, 40, 30, out=view(buffer))
        assert_same_bytes(np.ascontiguousarray(view(buffer)), np.ascontiguousarray(expected))


def test_other_kinds_of_jpegs_are_left_to_others():
    progressive = encoded(photograph(20, 30), cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    cmyk = io.BytesIO()
    image_module.fromarray(photograph(20, 30)).convert("CMYK").save(cmyk, "JPEG")
    arithmetic = encoded(photograph(20, 30)).replace(b"\xff\xc0", b"\xff\xc9", 1)
    rgb = io.BytesIO()
    image_module.fromarray(photograph(20, 30)).save(rgb, "JPEG", keep_rgb=True)
    for data in (progressive, cmyk.getvalue(), arithmetic, rgb.getvalue(), b"", b"text", b"\xff\xd8"):
        with pytest.raises(ValueError, match="needs libjpeg-turbo"):
            native.decode_rectangle(data, 0, 0, 1, 1)
    with pytest.raises(ValueError, match="needs libjpeg-turbo"):
        native.decode_rectangle(encoded(photograph(20, 30)), 0, 0, 1, 1, shrink=2)


def test_damage_is_an_error():
    data = encoded(photograph(60, 60), cv2.IMWRITE_JPEG_RST_INTERVAL, 3)
    marker = data.index(b"\xff\xd1")
    damaged = [
        data[: len(data) // 2] + b"\xff\xd9",
        data[:marker] + b"\xff\xd2" + data[marker + 2 :],
        data[:marker] + data[marker + 2 :],
        data[: data.index(SCAN) + 30] + b"\xff\xd9",
    ]
    for file in damaged:
        with pytest.raises(ValueError, match="the JPEG's data are damaged"):
            native.decode_rectangle(file, 0, 0, 60, 60)


def gray_block(bits, step=None):
    """A file of one gray block, with the Huffman tables of T.81, K.3."""
    data = bytearray(encoded(np.zeros((8, 8), np.uint8)))
    if step is not None:
        start = data.index(b"\xff\xdb") + 5
        data[start : start + 64] = bytes([step]) * 64
    scan = bytes(int(bits[i : i + 8].ljust(8, "1"), 2) for i in range(0, len(bits), 8))
    return bytes(data[: data.index(SCAN) + 10]) + scan.replace(b"\xff", b"\xff\0") + b"\xff\xd9"


SIXTEEN_ZEROS, END = "11111111001", "1010"  # AC codes
LARGE_DC, LARGE_AC = "111111110" + "1" * 11, "1111111110000011" + "1" * 10  # 2047 and 1023


@pytest.mark.parametrize(
    ("bits", "step"),
    [
        ("00" + SIXTEEN_ZEROS * 4, None),  # past the last coefficient
        ("00" + SIXTEEN_ZEROS * 3 + "11111111111111111", None),  # no code
        ("1" * 40, None),
        (LARGE_DC + END, 8),  # products and sums that overflow 16 bits
        (LARGE_DC + LARGE_AC + END, 8),
        (LARGE_DC + LARGE_AC + END, 255),
        (LARGE_DC + LARGE_AC * 2 + END, 8),
        (LARGE_DC + LARGE_AC * 63, 255),
        (LARGE_DC + LARGE_AC * 63, 40),
        (LARGE_DC + LARGE_AC * 2 + END, 33),
    ],
)
def test_blocks_that_no_image_has_match_opencv(bits, step):
    data = gray_block(bits + "1" * 100, step)
    for channels in (1, 3):
        actual = native.decode_rectangle(data, 0, 0, 8, 8, channels=channels)
        assert_same_bytes(actual, by_opencv(data, channels))


def status_and_pixels(data):
    try:
        return "", native.decode_rectangle(data, 0, 0, 80, 64)
    except ValueError as error:
        return str(error), None


@pytest.mark.parametrize("sampling", FACTORS)
def test_mutated_files_are_refused_or_decoded_as_by_opencv(sampling):
    rng = np.random.default_rng(3)
    options = [cv2.IMWRITE_JPEG_RST_INTERVAL, 2]
    whole = encoded(photograph(64, 80), *options, quality=30, sampling=sampling)
    start, refused = whole.index(SCAN) + 14, 0
    for _ in range(200):
        mutated = bytearray(whole)
        for offset in rng.integers(start, len(whole) - 2, 3):
            mutated[offset] ^= 1 << int(rng.integers(8))
        error, actual = status_and_pixels(bytes(mutated))
        assert error in ("", "the JPEG's data are damaged")
        refused += bool(error)
        if not error:
            assert_same_bytes(actual, by_opencv(bytes(mutated)))
    assert 20 < refused < 180


def test_what_follows_the_last_row_is_looked_at():
    data = encoded(photograph(60, 60))
    assert native.decode_rectangle(data, 0, 0, 60, 59).shape == (59, 60, 3)
    for end in (b"", b"\xff\xda\0\2\xff\xd9", b"\0" * 40_000 + b"\xff\xd9"):
        assert native.decode_rectangle(data[:-2] + end, 0, 0, 60, 40).shape == (40, 60, 3)
        with pytest.raises(ValueError, match="the JPEG's data are damaged"):
            native.decode_rectangle(data[:-2] + end, 0, 0, 60, 60)


def test_a_rectangle_outside_names_it():
    with pytest.raises(ValueError, match="rectangle 28, 0, 5x3 of an image of 20x30"):
        native.decode_rectangle(encoded(photograph(20, 30)), 28, 0, 3, 5)
