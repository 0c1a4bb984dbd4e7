"""PNM and TIFF files of 16 bits and floats, compared with OpenCV and with what was written."""

import io
import re

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from orbbec.data import decode_image
from orbbec.data.decode.unchanged import decode_unchanged

DEEP = (
    np.random.default_rng(0).integers(0, 65536, (5, 7, 3), np.uint16)
    >> np.arange(5, dtype=np.uint16)[:, None, None] * 2
)


def pnm(pixels, largest=65535, comment=b"\n"):
    kind, (height, width) = b"P6" if pixels.ndim == 3 else b"P5", pixels.shape[:2]
    return kind + comment + b"%d %d\n%d\n" % (width, height, largest) + pixels.astype(">u2").tobytes()


def tiff(pixels, **options):
    file = io.BytesIO()
    pytest.importorskip("tifffile").imwrite(file, pixels, **options)
    return file.getvalue()


@pytest.mark.parametrize("largest", [256, 1000, 65535])
@pytest.mark.parametrize("pixels", [DEEP, DEEP[..., 0]], ids=["colors", "gray"])
def test_16_bits_of_pnm_are_unchanged(pixels, largest):
    stored = np.minimum(pixels, largest)
    data = pnm(stored, largest, b" # of a camera\n")
    result = decode_unchanged(data, 35)
    assert result.dtype == np.uint16
    assert np.array_equal(result, stored.reshape(5, 7, -1))
    cv2 = pytest.importorskip("cv2")
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(result, theirs.reshape(5, 7, -1)[..., ::-1])


@pytest.mark.parametrize("largest", [256, 1000, 65535])
def test_colors_and_gray_of_pnm_keep_the_same_upper_bits(largest):
    stored = np.minimum(DEEP[..., :1].repeat(3, -1), largest)
    colors, gray = decode_image(pnm(stored, largest)), decode_image(pnm(stored[..., 0], largest))
    assert np.array_equal(colors, gray)
    assert np.array_equal(colors, np.rint(stored * (65535 / largest)).astype(np.uint16) >> 8)
    assert np.array_equal(decode_image(pnm(stored, largest), mode="L"), gray[..., :1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pnm(DEEP)[:-1], "not enough image data"),
        (pnm(DEEP).replace(b"7 5", b"7 6"), "at most 35 pixels"),
        (b"P6 0 5 65535 ", ""),
    ],
)
def test_damaged_pnm_of_16_bits_is_refused(data, message):
    for decode in (decode_unchanged, lambda data, most: decode_image(data, max_pixels=most)):
        with pytest.raises(ValueError, match=rf"^decode_image: .*{message}"):
            decode(data, 35)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 2, 0), (0,), (4,), (1, 2, 2, 3)])
def test_an_array_that_is_no_image_is_named(shape):
    file = io.BytesIO()
    np.save(file, np.zeros(shape, np.uint8))
    with pytest.raises(ValueError, match=rf"\[H, W, C\], but got uint8 {re.escape(str(list(shape)))}$"):
        decode_unchanged(file.getvalue(), 35)


@pytest.mark.parametrize("order", "<>")
def test_16_bit_colors_of_tiff_in_separate_planes_are_not_misread(order):
    data = tiff(np.moveaxis(DEEP, -1, 0), photometric="rgb", planarconfig="separate", byteorder=order)
    assert np.array_equal(decode_unchanged(data, 35), DEEP)
    with pytest.raises(ValueError, match=r"^decode_image: .*16-bit colors in separate planes"):
        decode_image(data)


def test_8_bit_colors_of_tiff_in_separate_planes_are_read():
    pixels = (DEEP >> 8).astype(np.uint8)
    data = tiff(np.moveaxis(pixels, -1, 0), photometric="rgb", planarconfig="separate")
    assert np.array_equal(decode_image(data), pixels)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_floats_of_tiff_are_read_in_their_byte_order(order, compression):
    floats = (DEEP[..., 0] / 7).astype(np.float32)
    data = tiff(floats, photometric="minisblack", byteorder=order, compression=compression)
    assert np.array_equal(decode_unchanged(data, 35)[..., 0], floats)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("big", [False, True])
def test_inverted_gray_of_any_tiff_is_restored(order, big):
    gray = (DEEP[..., 0] >> 8).astype(np.uint8)
    data = tiff(gray, photometric="miniswhite", byteorder=order, bigtiff=big)
    assert np.array_equal(decode_unchanged(data, 35)[..., 0], 255 - gray)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("channels", [3, 4])
def test_colors_of_jpeg_2000_are_unchanged(bits, channels):
    cv2 = pytest.importorskip("cv2")
    smooth = np.linspace(0, 2**bits - 1, 32 * 40 * channels).reshape(32, 40, channels)
    data = cv2.imencode(".jp2", smooth.astype(f"uint{bits}"))[1].tobytes()
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    result = decode_unchanged(data, 32 * 40)
    assert result.dtype == theirs.dtype == f"uint{bits}"
    assert np.array_equal(result, theirs[..., [2, 1, 0, 3][:channels]])


@pytest.mark.parametrize("mode", ["I;16", "I"])  # of Pillow today, and before 11
def test_gray_of_png_has_16_bits_in_every_pillow(mode, monkeypatch):
    file = io.BytesIO()
    Image.fromarray(DEEP[..., 0]).save(file, "PNG")
    monkeypatch.setitem(PngImagePlugin._MODES, (16, 0), (mode, "I;16B"))
    result = decode_unchanged(file.getvalue(), 35)
    assert result.dtype == np.uint16
    assert np.array_equal(result[..., 0], DEEP[..., 0])


def test_colors_of_jpeg_2000_of_9_bits_have_16():
    cv2 = pytest.importorskip("cv2")
    data = cv2.imencode(".jp2", np.linspace(0, 255, 32 * 40 * 3).reshape(32, 40, 3).astype(np.uint8))[1]
    bits = data.tobytes().index(b"\xff\x4f\xff\x51") + 42  # of each channel, less 1
    data[bits : bits + 9 : 3] = 8
    result = decode_unchanged(data.tobytes(), 32 * 40)
    assert result.dtype == np.uint16
    assert np.array_equal(result, cv2.imdecode(data, cv2.IMREAD_UNCHANGED)[..., ::-1])


def test_tiffs_of_four_and_more_channels_are_read_as_their_colors_say():
    stored = (DEEP[..., :1] >> 8).astype(np.uint8) + np.arange(5, dtype=np.uint8)
    data = tiff(stored, photometric="miniswhite", planarconfig="contig")
    assert np.array_equal(decode_unchanged(data, 35), 255 - stored)
    assert decode_unchanged(tiff(stored[..., :4].copy(), photometric="separated"), 35).shape == (5, 7, 3)
    colors = tiff(stored, photometric="rgb", planarconfig="contig")  # of which Pillow reads three channels
    assert np.array_equal(decode_unchanged(colors, 35), stored)
