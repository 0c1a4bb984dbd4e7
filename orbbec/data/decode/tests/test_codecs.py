"""PNG and WebP are decoded without the GIL, to Pillow's bytes; what Pillow alone decides is left to it."""

import inspect
import random
import re
import struct
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from orbbec.data import decode_image, image_size
from orbbec.data.decode import codecs, decode, native
from orbbec.data.decode.by_pillow import decode_by_pillow
from orbbec.data.decode.codecs import codec, decode_by_codec, size_by_codec
from orbbec.data.decode.modes import CHANNELS
from orbbec.data.decode.native import has_native
from orbbec.data.decode.tests.files import chunk, exif, png_row, with_chunk
from orbbec.data.decode.tests.test_decode import encoded, picture
from tests.support.damage.damage import flipped

needs_png = pytest.mark.skipif(codec("png") is None, reason="libspng is not built in")
needs_webp = pytest.mark.skipif(codec("webp") is None, reason="libwebp is not built in")
KINDS = [pytest.param("PNG", marks=needs_png), pytest.param("WEBP", marks=needs_webp)]
COLORS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
WHOLE = ((0, 0, 1, 1),)


def png(color, bits, size, *chunks, interlaced=False, pieces=1, seed=0):
    """A PNG of random bytes under random filters, in a number of IDAT chunks."""
    height, width = size
    noise = random.Random(seed)
    raw = b""
    for top, left, row_step, column_step in PASSES if interlaced else WHOLE:
        rows, columns = len(range(top, height, row_step)), len(range(left, width, column_step))
        row_bytes = -(-columns * bits * SAMPLES[color] // 8)
        for _ in range(rows if columns else 0):
            raw += bytes([noise.randrange(5)]) + noise.randbytes(row_bytes)
    data = zlib.compress(raw)
    cuts = [len(data) * i // pieces for i in range(pieces + 1)]
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, interlaced)
    pixels = [chunk(b"IDAT", data[begin:end]) for begin, end in pairwise(cuts)]
    return b"\x89PNG\r\n\x1a\n" + b"".join([chunk(b"IHDR", header), *chunks, *pixels, chunk(b"IEND", b"")])


def with_header(data, content):
    return data[:8] + chunk(b"IHDR", content) + data[33:]


def palette(count):
    return chunk(b"PLTE", random.Random(count).randbytes(3 * count))


def agrees(data, mode):
    """Whether the library decodes a file; its pixels are Pillow's."""
    pixels = decode_by_codec(data, mode, 10**8, True)
    if pixels is not None:
        assert np.array_equal(pixels, decode_by_pillow(data, mode, 10**8, True))
        assert size_by_codec(data, 10**8, True) == pixels.shape[:2]
    return pixels is not None


@needs_png
@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize(("color", "bits"), [(color, bits) for color in COLORS for bits in COLORS[color]])
def test_a_png_of_every_kind_of_pixels_has_pillows_bytes(color, bits, interlaced):
    chunks = [palette(1 << bits)] if color == 3 else []
    sizes = [(1, 1), (1, 9), (9, 1), (2, 3), (5, 8), (17, 33)] + [(n, m) for n in (3, 4) for m in range(1, 9)]
    for number, size in enumerate(sizes):
        data = png(color, bits, size, *chunks, interlaced=interlaced, pieces=1 + number % 3, seed=number)
        assert all(agrees(data, mode) for mode in CHANNELS), size


TRANSPARENT = {
    "gray of 1 bit": (0, 1, b"\0\1"),
    "gray of 2 bits": (0, 2, b"\0\2"),
    "gray of 4 bits": (0, 4, b"\0\x09"),
    "gray of 8 bits": (0, 8, b"\0\x07"),
    "RGB": (2, 8, bytes([0, 10, 0, 20, 0, 30])),
    "palette": (3, 4, bytes(range(0, 160, 16))),
    "palette, one entry": (3, 4, b"\xff\xff\0\xff"),
    "gray and alpha": (4, 8, b"\0\1"),
}


@needs_png
@pytest.mark.parametrize(("color", "bits", "content"), TRANSPARENT.values(), ids=TRANSPARENT)
def test_transparency_of_a_png_is_pillows(color, bits, content):
    chunks = [palette(16)] if color == 3 else []
    data = png(color, bits, (40, 40), *chunks, chunk(b"tRNS", content))
    assert all(agrees(data, mode) for mode in CHANNELS)
    if color in (0, 3):
        assert len(np.unique(decode_image(data, mode="RGBA")[..., 3])) > 1


@needs_png
def test_a_transparent_color_makes_pixels_transparent():
    row = bytes([10, 20, 30, 10, 20, 31, 30, 20, 10, 10, 20, 30])
    data = png_row(8, 2, row, chunk(b"tRNS", bytes([0, 10, 0, 20, 0, 30])))
    assert agrees(data, "RGBA")
    assert decode_by_codec(data, "RGBA", 4, True)[0, :, 3].tolist() == [0, 255, 255, 0]


@needs_png
def test_indices_beyond_the_palette_are_pillows_black():
    data = png_row(8, 3, bytes([0, 1, 2, 255]), chunk(b"PLTE", bytes([9, 8, 7, 6, 5, 4])))
    assert all(agrees(data, mode) for mode in CHANNELS)
    assert decode_image(data).tolist() == [[[9, 8, 7], [6, 5, 4], [0, 0, 0], [0, 0, 0]]]


def webp(image, **options):
    return encoded(image, "WEBP", **options)


def alpha_picture(height, width):
    return np.dstack([picture(height, width), picture(height, width, seed=1)[..., :1]])


def animation(**options):
    frames = [Image.fromarray(alpha_picture(20, 30)), Image.fromarray(alpha_picture(20, 30)[::-1])]
    return webp(frames[0], save_all=True, append_images=frames[1:], **options)


WEBPS = {
    "lossy": webp(picture(33, 50), quality=80),
    "lossy, odd": webp(picture(1, 1), quality=10),
    "lossy, alpha": webp(alpha_picture(33, 50), quality=50),
    "lossy, lossy alpha": webp(alpha_picture(34, 51), quality=50, alpha_quality=20),
    "lossless": webp(picture(33, 50), lossless=True),
    "lossless, alpha": webp(alpha_picture(7, 9), lossless=True),
    "lossless, palette": webp(picture(33, 50) // 64 * 64, lossless=True),
    "animation": animation(lossless=True),
    "lossy animation": animation(quality=60),
    "metadata": webp(picture(12, 9), icc_profile=b"profile", xmp=b"<x/>"),
}


@needs_webp
@pytest.mark.parametrize("data", WEBPS.values(), ids=WEBPS)
def test_a_webp_has_pillows_bytes(data):
    assert all(agrees(data, mode) for mode in CHANNELS)


@needs_webp
def test_lossy_webps_of_all_sizes_and_qualities_have_pillows_bytes():
    noise = random.Random(0)
    for _ in range(30):
        size = noise.randrange(1, 70), noise.randrange(1, 70)
        image = alpha_picture(*size)[..., : noise.choice((3, 4))]
        data = webp(image, quality=noise.randrange(101), method=noise.randrange(4))
        assert all(agrees(data, mode) for mode in CHANNELS), size


@pytest.mark.parametrize("format", KINDS)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientations_are_applied_in_place(format, orientation):
    data = encoded(alpha_picture(24, 40), format, orientation)
    assert all(agrees(data, mode) for mode in CHANNELS)
    stored = decode_by_codec(data, "RGB", 960, False)
    assert stored.shape == (24, 40, 3)
    assert np.array_equal(stored, decode_by_pillow(data, "RGB", 960, False))


@pytest.mark.parametrize("format", KINDS)
@pytest.mark.parametrize("mode", CHANNELS)
def test_a_rectangle_is_part_of_the_whole(format, mode):
    files = [encoded(alpha_picture(24, 40), format)]
    files += [png(2, 8, (24, 40), interlaced=True)] if format == "PNG" else [WEBPS["lossless"]]
    functions, chance = codec(format.lower()), random.Random(0)
    for data in files:
        whole = decode_by_codec(data, mode, 10**6, True)
        for _ in range(30):
            left, top = chance.randrange(whole.shape[1]), chance.randrange(whole.shape[0])
            width = chance.randint(1, whole.shape[1] - left)
            height = chance.randint(1, whole.shape[0] - top)
            buffer = np.full((height, 2 * width, 5), 77, np.uint8)
            part = buffer[::-1, ::2, : CHANNELS[mode]]
            box = left, top, width, height
            assert not functions.decode(*arguments(data, part, box))
            assert np.array_equal(part, whole[top : top + height, left : left + width]), box
            assert (buffer[:, 1::2] == 77).all()
            assert (buffer[..., CHANNELS[mode] :] == 77).all()


def arguments(data, pixels, box, shrink=1, message=None):
    rows, columns, _ = pixels.strides
    start = (data, len(data), shrink, pixels.shape[2], *box)
    return *start, pixels.ctypes.data, rows, columns, message or b" " * codecs.MESSAGE_BYTES


@pytest.mark.parametrize("format", KINDS)
def test_what_does_not_fit_is_refused_with_a_message(format):
    data, functions = encoded(picture(20, 30), format), codec(format.lower())
    for channels, box in ((3, (28, 0, 3, 5)), (3, (-1, 0, 2, 2)), (3, (0, 0, 0, 2)), (2, (0, 0, 4, 4))):
        pixels, message = np.zeros((4, 4, channels), np.uint8), codecs.ctypes.create_string_buffer(200)
        assert functions.decode(*arguments(data, pixels, box, message=message)) == 1
        left, top, width, height = box
        expected = f"rectangle {left}, {top}, {height}x{width}x{channels} of an image of 20x30"
        assert message.value.decode() == expected
        assert not pixels.any()
    assert functions.decode(*arguments(data, np.zeros((20, 30, 3), np.uint8), (0, 0, 30, 20), 2)) == 2


RGB16_KEY = chunk(b"tRNS", bytes([1, 2, 3, 4, 5, 6]))
RED = png(2, 8, (4, 4))
OF_PILLOW = {  # files that Pillow decodes and the library leaves to it, for some mode
    "data after the end": RED + b"\0",
    "no end": RED[:-12],
    "transparent gray that no pixel has": png(0, 4, (4, 4), chunk(b"tRNS", b"\0\x40")),
    "transparent color of 16 bits": png(2, 16, (4, 4), RGB16_KEY),
    "transparent gray of 16 bits": png(0, 16, (4, 4), chunk(b"tRNS", b"\1\2")),
    "more alpha than colors": png(3, 2, (4, 4), palette(2), chunk(b"tRNS", bytes(4))),
    "two blocks of EXIF": with_chunk(with_chunk(RED, b"eXIf", exif(3)), b"eXIf", exif(6)),
    "an unknown compression": with_header(RED, RED[16:26] + b"\1\0\0"),
    "a second header": RED[:33] + RED[8:],
    "two palettes": png(3, 2, (4, 4), palette(4), palette(2)),
    "a wrong checksum of a text": with_chunk(RED, b"tEXt", b"a\0b").replace(b"a\0b", b"a\0c"),
    "a text that unpacks to 5 MB": with_chunk(RED, b"zTXt", b"a\0\0" + zlib.compress(bytes(5_000_000))),
    "pixels before and after a text": with_chunk(with_chunk(RED, b"tEXt", b"a\0b"), b"IDAT", b""),
}


@needs_png
@pytest.mark.parametrize("data", OF_PILLOW.values(), ids=OF_PILLOW)
def test_pngs_with_rules_of_pillow_are_left_to_it(data):
    assert not all(agrees(data, mode) for mode in CHANNELS)
    for mode in CHANNELS:
        assert np.array_equal(decode_image(data, mode=mode), decode_by_pillow(data, mode, 10**6, True))


@needs_webp
def test_a_frame_that_is_smaller_than_the_canvas_is_left_to_pillow():
    lossy = WEBPS["lossy"]
    frame = lossy[lossy.index(b"VP8 ") :]
    header = struct.pack("<4sIB3x", b"VP8X", 10, 2) + bytes([69, 0, 0, 59, 0, 0])
    control = struct.pack("<4sIIH", b"ANIM", 6, 0, 0)
    box = bytes([5, 0, 0, 4, 0, 0, 49, 0, 0, 32, 0, 0, 9, 0, 0, 0])
    content = b"WEBP" + header + control + struct.pack("<4sI", b"ANMF", len(box + frame)) + box + frame
    data = struct.pack("<4sI", b"RIFF", len(content)) + content
    assert not agrees(data, "RGB")
    assert decode_image(data).shape == (60, 70, 3)
    assert not decode_image(data)[:8].any()


@pytest.mark.parametrize("format", KINDS)
def test_damaged_files_are_refused_as_without_the_library(format, monkeypatch):
    """What the library decodes has Pillow's bytes, and Pillow decides about everything else."""
    if format == "PNG":
        options, chunks = {}, [png(3, 4, (20, 20), palette(16), chunk(b"tRNS", b"\1\2"), interlaced=True)]
    else:
        options, chunks = {"quality": 70}, [WEBPS["lossy, alpha"], WEBPS["animation"]]
    files, chance = [encoded(picture(40, 50), format, 6, **options), *chunks], random.Random(1)
    damaged = [data[: len(data) * share // 20] for data in files for share in range(20)]
    damaged += [flipped(data, chance) for data in files for _ in range(80)]
    found = [answer(data) for data in damaged]
    monkeypatch.setattr(codecs, "codec", lambda name: None)
    assert [answer(data) for data in damaged] == found
    refused = sum(isinstance(value, str) for value, _ in found)
    assert 60 < refused < len(found)


def answer(data):
    answers = []
    for function in (decode_image, image_size):
        try:
            result = function(data, **({"max_pixels": 10**6} if function is decode_image else {}))
            answers.append(result.tobytes() if isinstance(result, np.ndarray) else result)
        except ValueError as error:
            answers.append(str(error))
    return tuple(answers)


@pytest.mark.parametrize("format", KINDS)
def test_large_images_are_refused_with_the_same_message(format, monkeypatch):
    data = encoded(picture(30, 40), format)
    assert decode_by_codec(data, "RGB", 1200, True).shape == (30, 40, 3)
    assert decode_by_codec(data, "RGB", 1199, True) is None
    for name in (codec, lambda name: None):
        monkeypatch.setattr(codecs, "codec", name)
        with pytest.raises(
            ValueError, match=r"^decode_image: expected at most 1199 pixels .*, but got 30x40"
        ):
            decode_image(data, max_pixels=1199)


@needs_png
def test_a_header_that_promises_more_than_the_file_can_hold_is_left_to_pillow():
    bomb = with_header(png(0, 1, (4, 4)), struct.pack(">IIBBBBB", 30000, 30000, 1, 0, 0, 0, 0))
    assert size_by_codec(bomb, 10**9, True) is None
    with pytest.raises(ValueError, match="too few bytes for 30000x30000 pixels"):
        decode_image(bomb, max_pixels=10**9)
    for mode in ("1", "RGB"):
        blank = encoded(Image.new(mode, (3000, 2000)), "PNG")
        assert size_by_codec(blank, 10**9, True) == (2000, 3000)


@needs_png
def test_threads_that_decode_at_once_do_not_share_memory():
    sizes = [(40, 60), (3, 2), (300, 200), (40, 60)]
    files = [encoded(picture(*size, seed=n), "PNG") for n, size in enumerate(sizes)]
    files += [png(2, 8, (30, 50), interlaced=n > 1, seed=n) for n in (1, 2, 3)]
    expected = [decode_by_pillow(data, "RGB", 10**6, True) for data in files]

    def wrong(thread):
        order = [*range(thread, len(files)), *range(thread)] * 3
        results = [decode_by_codec(files[n], "RGB", 10**6, True) for n in order]
        return [
            n for n, pixels in zip(order, results, strict=True) if not np.array_equal(pixels, expected[n])
        ]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, range(4))) == [[]] * 4


@needs_webp
def test_an_image_larger_than_the_memory_that_a_thread_keeps_is_decoded():
    data = webp(Image.new("RGB", (3000, 2200), (9, 9, 9)), lossless=True, method=0, quality=0)
    pixels = decode_by_codec(data, "L", 10**7, True)
    assert pixels.shape == (2200, 3000, 1)
    assert pixels.min() == pixels.max() == 9


LARGE = [
    pytest.param("PNG", {}, id="PNG", marks=needs_png),
    pytest.param("WEBP", {"method": 0}, id="WebP", marks=needs_webp),
    pytest.param(
        *("JPEG", {"progressive": True}),
        id="progressive JPEG",
        marks=pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in"),
    ),
]


@pytest.mark.parametrize(("format", "options"), LARGE)
def test_decoding_leaves_python_to_other_threads(format, options, monkeypatch):
    def no_pillow(*_):
        raise AssertionError("Pillow was called")

    monkeypatch.setattr(decode, "decode_by_pillow", no_pillow)
    data = encoded(picture(600, 800), format, **options)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)  # seconds: a thread that computes in Python keeps the GIL
    try:
        assert any(steps_during_decoding(data) > 20 for _ in range(10))
    finally:
        sys.setswitchinterval(interval)


def steps_during_decoding(data):
    """The steps that this thread makes while another decodes a file."""
    times, steps = [], []

    def decode_alone():
        times.append(time.perf_counter())
        decode_image(data)
        times.append(time.perf_counter())

    thread = threading.Thread(target=decode_alone)
    thread.start()
    while len(times) < 2:
        steps.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    began, ended = times
    return sum(began < step < ended for step in steps)


def test_functions_of_libraries_know_the_types_of_their_arguments():
    names = set(re.findall(r"orbbec_jpeg_\w+", inspect.getsource(native)))
    libraries = [library for library in (native._decoder(), native._library(), native._checker()) if library]
    jpeg = [getattr(library, name) for library in libraries for name in names if hasattr(library, name)]
    functions = [*jpeg, *(function for name in ("png", "webp") for function in codec(name) or ())]
    assert len(jpeg) == len(names) or not has_native()
    assert [function.__name__ for function in functions if function.argtypes is None] == []
