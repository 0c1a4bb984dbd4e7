"""The program's settings of Pillow decide nothing, and remain as they are."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import GifImagePlugin, Image, ImageFile, PngImagePlugin

from orbbec.data import decode_image, image_size
from orbbec.data.decode import pillow
from orbbec.data.decode.by_pillow import decode_by_pillow
from orbbec.data.decode.tests.files import chunk, with_chunk, with_segment
from orbbec.data.decode.tests.test_decode import encoded, picture

IMAGE = picture(24, 40)
FORMATS = ("PNG", "BMP", "TIFF", "PPM", "GIF", "WEBP", "ICO", "TGA", "SGI", "PCX", "JPEG2000", "AVIF")


@pytest.fixture
def program(monkeypatch):
    """A program that set everything that changes what Pillow decodes."""
    settings = [
        (Image, "MAX_IMAGE_PIXELS", 10),
        (ImageFile, "LOAD_TRUNCATED_IMAGES", True),
        (PngImagePlugin, "MAX_TEXT_CHUNK", 1),
        (PngImagePlugin, "MAX_TEXT_MEMORY", 1),
        (GifImagePlugin, "LOADING_STRATEGY", GifImagePlugin.LoadingStrategy.RGB_ALWAYS),
    ]
    for module, name, value in settings:
        monkeypatch.setattr(module, name, value)
    yield
    assert all(getattr(module, name) == value for module, name, value in settings)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.filterwarnings("error")
def test_limits_of_the_program_are_not_ours(format, request):
    data = encoded(Image.fromarray(IMAGE), format)
    expected = decode_image(data)
    request.getfixturevalue("program")
    assert np.array_equal(decode_image(data), expected)
    assert image_size(data) == expected.shape[:2]
    with pytest.raises(Image.DecompressionBombError):
        Image.open(io.BytesIO(data))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.usefixtures("program")
def test_truncated_files_are_refused_whatever_the_program_accepts(format):
    data = encoded(Image.fromarray(IMAGE), format)
    for share in (0.4, 0.7, 0.9):
        with pytest.raises(ValueError, match="decode_image: "):
            decode_image(data[: int(len(data) * share)])


@pytest.mark.usefixtures("program")
def test_damaged_pixels_are_refused_whatever_the_program_accepts():
    png = encoded(IMAGE, "PNG")
    pixels = png.index(b"IDAT")
    with pytest.raises(ValueError, match="decode_image: "):
        decode_image(png[: pixels + 40] + bytes(8) + png[pixels + 48 :])
    assert decode_image(png).shape == IMAGE.shape


TEXT = zlib.compress(b"a" * (2 << 20))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (b"zTXt", b"workflow\0\0" + TEXT),
        (b"iTXt", b"x\0\1\0\0\0" + TEXT),
        (b"iCCP", b"x\0\0" + TEXT),
        (b"iCCP", b"x\0\7garbage"),
        (b"zTXt", b"x\0\7garbage"),
        (b"tEXt", b"x" * (2 << 20)),
        (b"gAMA", b"\0"),
        (b"cHRM", b"\0"),
        (b"pHYs", b"\0"),
        (b"sRGB", b""),
        (b"acTL", b"\0"),
        (b"fcTL", b"\0" * 26),
    ],
)
def test_what_is_no_pixel_of_a_png_is_not_read(kind, content):
    png = encoded(IMAGE, "PNG")
    before, after = with_chunk(png, kind, content), png[:-12] + chunk(kind, content) + png[-12:]
    assert np.array_equal(decode_image(before), IMAGE)
    assert np.array_equal(decode_image(after), IMAGE)
    assert image_size(before) == (24, 40)


@pytest.mark.parametrize(
    ("marker", "content"),
    [
        (0xE0, b"JFIF"),
        (0xEE, b"Adobe"),
        (0xE2, b"ICC_PROFILE\0"),
        (0xE2, b"MPF\0II*\0\xff\xff\xff\xff"),
        (0xED, b"Photoshop 3.0\0008BIM"),
        (0xFE, b"comment"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_pixel_of_a_cmyk_jpeg_is_not_read(marker, content):
    jpeg = encoded(Image.fromarray(IMAGE).convert("CMYK"))
    assert np.array_equal(decode_image(with_segment(jpeg, content, marker)), decode_image(jpeg))


def test_formats_that_the_program_registers_are_read(monkeypatch):
    class Plugin(ImageFile.ImageFile):
        format = "ORBBEC"

        def _open(self):
            assert self.fp.read(7) == b"ORBBEC\n"
            self._size, self._mode = (2, 1), "L"
            self.tile = [("raw", (0, 0, 2, 1), 7, ("L", 0, 1))]

    with pytest.raises(ValueError, match="not an image that Pillow knows"):
        decode_image(b"ORBBEC\n\7\11", mode="L")
    monkeypatch.setitem(Image.OPEN, "ORBBEC", (Plugin, lambda prefix: prefix.startswith(b"ORBBEC")))
    assert decode_image(b"ORBBEC\n\7\11", mode="L").tolist() == [[[7], [9]]]


def test_an_image_inside_another_is_checked_before_it_is_decoded():
    small, large = Image.new("RGB", (16, 16)), io.BytesIO()
    Image.new("1", (9000, 9000)).save(large, "PNG")
    icon = io.BytesIO()
    small.save(icon, "ICO", sizes=[(16, 16)])
    directory, stored = icon.getvalue()[:22], large.getvalue()
    bomb = directory[:14] + struct.pack("<II", len(stored), 22) + stored  # the directory says 16 x 16
    for mode in ("RGB", "L"):
        with pytest.raises(ValueError, match=r"at most 1000000 pixels \(max_pixels\), but got 9000x9000"):
            decode_image(bomb, mode=mode, max_pixels=10**6)


SATURATED = 255 * (IMAGE // np.uint8(np.median(IMAGE))).clip(0, 1)  # the RGB of its JPEG is clipped


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP"])
def test_pillow_gives_the_pixels_of_other_decoders(format, mode):
    data = encoded(Image.fromarray(SATURATED), format)
    pixels = decode_by_pillow(data, mode, 24 * 40, True)
    assert np.array_equal(pixels, decode_image(data, mode=mode))
    assert pixels.shape == (24, 40, {"L": 1, "RGB": 3, "RGBA": 4}[mode])
    converted = np.asarray(Image.open(io.BytesIO(data)).convert(mode)).reshape(pixels.shape)
    assert np.array_equal(pixels, converted) != (format == "JPEG" and mode == "L")  # the luma of a JPEG


def test_gray_of_a_jpeg_is_its_luma():
    data = encoded(Image.fromarray(IMAGE))
    luma = Image.open(io.BytesIO(data))
    luma.draft("YCbCr", luma.size)
    assert np.array_equal(decode_by_pillow(data, "L", 24 * 40, True)[..., 0], np.asarray(luma)[..., 0])


def test_the_usual_formats_are_tried_first():
    assert set(pillow._FORMATS[:6]) == {"BMP", "DIB", "GIF", "JPEG", "PPM", "PNG"}


def png_of(height, width):
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def gif_of(height, width):
    return (
        b"GIF89a"
        + struct.pack("<2H3Bc4HB", width, height, 0, 0, 0, b",", 0, 0, width, height, 0)
        + b"\x08\0;"
    )


def dib_of(height, width):
    return struct.pack("<I2i2H6I", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)


def bmp_of(height, width):
    return b"BM" + struct.pack("<3I", 54, 0, 54) + dib_of(height, width)


def pbm_of(height, width):
    return b"P4 %4d %4d\n" % (width, height)


@pytest.mark.parametrize(
    ("file_of", "most"), [(png_of, 8 * 1032), (gif_of, 2731), (bmp_of, 128), (dib_of, 128), (pbm_of, 8)]
)
def test_a_file_has_no_more_pixels_than_its_bytes_can_hold(file_of, most):
    nbytes = len(file_of(1, 1))
    with pytest.raises(ValueError, match="image file is truncated"):
        decode_by_pillow(file_of(nbytes, most), "RGB", 10**9, True)
    with pytest.raises(ValueError, match=f"too few bytes for {nbytes}x{most + 1} pixels"):
        decode_by_pillow(file_of(nbytes, most + 1), "RGB", 10**9, True)
