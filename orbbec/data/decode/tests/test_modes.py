"""One rule for modes and channels, whether a file, a PIL image or an array is given."""

import io
import struct

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from orbbec.data import BadSample, Decoding, Loader, Sample, as_source, decode_image
from orbbec.data.decode.modes import with_channels
from orbbec.data.decode.tests.files import SHORT, chunk, png_row, tiff_gray
from orbbec.data.decode.tests.test_decode import encoded, picture
from orbbec.transforms import RandomHorizontalFlip

UNCHANGED = [RandomHorizontalFlip(0.0)]
MODES = ("L", "RGB", "RGBA")
COLOR = Image.fromarray(picture(5, 7))
ALPHA = Image.fromarray(np.dstack([picture(5, 7), np.arange(35, dtype=np.uint8).reshape(5, 7, 1) * 7]))
DEEP = np.random.default_rng(0).integers(0, 65536, (5, 7), np.uint16)
TRANSPARENT = COLOR.quantize(16)
TRANSPARENT.info["transparency"] = bytes(range(100, 116))
ONE_TRANSPARENT = COLOR.quantize(16)
ONE_TRANSPARENT.info["transparency"] = 3
# By format, the modes that it stores without loss.
FILES = {
    "PNG": [
        *(COLOR.convert("1"), COLOR.convert("L"), ALPHA.convert("LA"), COLOR.quantize(16), COLOR, ALPHA),
        *(TRANSPARENT, ONE_TRANSPARENT, Image.fromarray(DEEP)),
    ],
    "TIFF": [
        *(COLOR.convert("1"), COLOR.convert("L"), ALPHA.convert("LA"), COLOR.quantize(16), COLOR, ALPHA),
        *(COLOR.convert("CMYK"), COLOR.convert("YCbCr"), Image.frombytes("LAB", (7, 5), COLOR.tobytes())),
        Image.fromarray(DEEP),
    ],
    "GIF": [COLOR.quantize(16), ONE_TRANSPARENT],
}


def loaded(data, mode):
    source = [data] if isinstance(data, Sample) else as_source([data])
    (batch,) = Loader(source, 1, UNCHANGED, decoding=Decoding(mode=mode))
    return batch.images[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize(
    ("format", "image"),
    [(format, image) for format, images in FILES.items() for image in images],
    ids=lambda value: getattr(value, "mode", value),
)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings("error")
def test_a_file_a_pil_image_and_an_array_give_the_same_pixels(format, image, mode):
    data = encoded(image, format)
    expected = decode_image(data, mode=mode)
    items = [Image.open(io.BytesIO(data)), data]
    if image.mode in ("L", "LA", "RGB", "RGBA"):
        array = np.array(image)
        items += [array, Sample(torch.from_numpy(array), sample_id=100 + len(items))]
    (batch,) = Loader(as_source(items), len(items), UNCHANGED, decoding=Decoding(mode=mode))
    assert all(np.array_equal(pixels.permute(1, 2, 0).numpy(), expected) for pixels in batch.images)


@pytest.mark.parametrize("mode", MODES)
def test_channels_are_worked_out_by_hand(mode):
    pixels = {
        1: [[[9]]],
        2: [[[9, 50]]],
        3: [[[10, 20, 200]]],
        4: [[[10, 20, 200, 50]]],
    }
    luma = round(0.299 * 10 + 0.587 * 20 + 0.114 * 200)
    expected = {
        "L": {1: [9], 2: [9], 3: [luma], 4: [luma]},
        "RGB": {1: [9, 9, 9], 2: [9, 9, 9], 3: [10, 20, 200], 4: [10, 20, 200]},
        "RGBA": {1: [9, 9, 9, 255], 2: [9, 9, 9, 50], 3: [10, 20, 200, 255], 4: [10, 20, 200, 50]},
    }
    for channels, image in pixels.items():
        found = with_channels(np.array(image, np.uint8), mode)
        assert found.tolist() == [[expected[mode][channels]]]
    with pytest.raises(ValueError, match="expected 1 to 4 channels, but got 5"):
        with_channels(np.zeros((2, 2, 5), np.uint8), mode)


@pytest.mark.parametrize("mode", ["RGBa", "La", "PA", "HSV", "RGBX", "I;16B", "I;16L"])
def test_modes_that_no_file_has_are_converted_like_the_others(mode):
    if mode.startswith("I;16"):
        stored = DEEP.astype(">u2" if mode == "I;16B" else "<u2")
        image = Image.frombytes(mode, (7, 5), stored.tobytes())
        plain = Image.fromarray((DEEP >> 8).astype(np.uint8))
    elif mode in ("RGBa", "La"):
        opaque = COLOR.convert("RGBA") if mode == "RGBa" else COLOR.convert("LA")
        image, plain = opaque.convert(mode), opaque
    elif mode == "PA":
        image, plain = COLOR.quantize(16).convert("PA"), COLOR.quantize(16)
    else:
        image = COLOR.convert(mode)
        plain = image.convert("RGB")
    for target in MODES:
        assert np.array_equal(loaded(image, target), loaded(plain, target))


def test_a_data_set_may_mix_all_modes():
    images = [image for images in FILES.values() for image in images]
    source = as_source([(image, i) for i, image in enumerate(images)])
    (batch,) = Loader(source, len(images), UNCHANGED, shuffle=False)
    assert tuple(batch.images.shape) == (len(images), 3, 5, 7)


TIFFS = {
    "16 bits": (tiff_gray(struct.pack("<4H", 0, 256, 40000, 65535), 16), [0, 1, 156, 255]),
    "16 bits, big-endian": (
        tiff_gray(struct.pack(">4H", 0, 256, 40000, 65535), 16, order=">"),
        [0, 1, 156, 255],
    ),
    "16 bits, white is 0": (
        tiff_gray(struct.pack("<4H", 0, 256, 40000, 65535), 16, photometric=0),
        [255, 254, 99, 0],
    ),
    "8 bits, white is 0": (tiff_gray(bytes([0, 1, 200, 255]), 8, photometric=0), [255, 254, 55, 0]),
    "12 bits": (tiff_gray(bytes.fromhex("000100800fff"), 12), [0, 16, 128, 255]),
    "4 bits": (tiff_gray(bytes([0x0F, 0x37]), 4), [0, 255, 51, 119]),
}


@pytest.mark.parametrize(("data", "gray"), TIFFS.values(), ids=TIFFS)
def test_gray_tiffs_keep_their_upper_8_bits(data, gray):
    assert decode_image(data, mode="L").ravel().tolist() == gray
    assert loaded(Image.open(io.BytesIO(data)), "L").ravel().tolist() == gray
    by_opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert by_opencv is None or np.array_equal(decode_image(data), by_opencv)  # None: 4 and 12 bits


NO_RANGE = {
    "uint32": (tiff_gray(struct.pack("<4I", 0, 256, 2**31, 2**32 - 1), 32), "I"),
    "int32": (tiff_gray(struct.pack("<4i", 0, 256, -1, 70000), 32, sample_format=2), "I"),
    "int16": (tiff_gray(struct.pack("<4h", 0, 256, -5, 32767), 16, sample_format=2), "I"),
    "float32": (tiff_gray(struct.pack("<4f", 0, 0.5, 1, 255), 32, sample_format=3), "F"),
}


@pytest.mark.parametrize(("data", "mode"), NO_RANGE.values(), ids=NO_RANGE)
def test_pixels_without_a_known_range_are_refused_with_file_and_mode(data, mode):
    reason = f"pixels of mode {mode} have no known range"
    with pytest.raises(ValueError, match=rf"^decode_image: {reason} \({len(data)} bytes\)$"):
        decode_image(data)
    with pytest.raises(BadSample, match=rf"^sample 7 \(b/c.tif\): decode_image: {reason}"):
        loaded(Sample(data, {}, 7, "b/c.tif"), "RGB")
    with pytest.raises(BadSample, match=rf"^sample 0 \(its image\): {reason}"):
        as_source([Image.open(io.BytesIO(data))])[0]


def test_bad_arrays_are_named():
    for array, message in (
        (np.zeros((2, 2, 5), np.uint8), r"expected 1 to 4 channels, but got 5 in \[2, 2, 5\], \[H, W, C\]$"),
        (np.zeros((2, 2, 3), np.uint16), r"expected pixels uint8 \[H, W, C\], but got uint16 \[2, 2, 3\]"),
        (np.zeros((2, 0, 3), np.uint8), r"but got uint8 \[2, 0, 3\]"),
    ):
        with pytest.raises(BadSample, match=message):
            loaded(Sample(array), "RGB")


@pytest.mark.parametrize(
    ("data", "alpha"),
    [
        (png_row(1, 0, bytes([0b01010000]), chunk(b"tRNS", b"\0\1")), [255, 0, 255, 0]),
        (png_row(2, 0, bytes([0b00011011]), chunk(b"tRNS", b"\0\2")), [255, 255, 0, 255]),
        (png_row(4, 0, bytes([0x01, 0x2F]), chunk(b"tRNS", b"\0\1")), [255, 0, 255, 255]),
        (png_row(8, 0, bytes([1, 2, 3, 4]), chunk(b"tRNS", b"\0\4")), [255, 255, 255, 0]),
        (png_row(16, 0, bytes(range(8)), chunk(b"tRNS", b"\2\3")), [255, 0, 255, 255]),
        (png_row(8, 2, bytes(range(12)), chunk(b"tRNS", b"\0\3\0\4\0\5")), [255, 0, 255, 255]),
    ],
    ids=["1 bit", "2 bits", "4 bits", "8 bits", "16 bits", "RGB"],
)
def test_a_transparent_color_of_a_png_is_transparent(data, alpha):
    assert decode_image(data, mode="RGBA")[0, :, 3].tolist() == alpha
    by_opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(decode_image(data), by_opencv)


def test_a_gray_of_12_bits_in_a_tiff_of_16_is_not_guessed():
    data = tiff_gray(struct.pack("<4H", 0, 256, 4095, 4095), 16, extra=[(281, SHORT, 4095)])
    assert decode_image(data, mode="L").ravel().tolist() == [0, 1, 15, 15]
