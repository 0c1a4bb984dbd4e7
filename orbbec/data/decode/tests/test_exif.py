"""One reader decides about the orientation of every format, mode and decoder."""

import io
import struct

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from orbbec import ycbcr_to_rgb
from orbbec.data import Decoding, Loader, Sample, decode_image, decode_planes, image_size
from orbbec.data.decode.exif import exif_orientation, without_orientation
from orbbec.data.decode.tests.files import (
    BYTE,
    LONG,
    PREFIX,
    SHORT,
    XMP,
    chunk,
    exif,
    tiff_gray,
    with_chunk,
    with_segment,
)
from orbbec.data.decode.tests.test_decode import encoded, picture
from orbbec.data.decode.unchanged import decode_unchanged
from orbbec.transforms import RandomHorizontalFlip

IMAGE = picture(24, 40)
UNCHANGED = [RandomHorizontalFlip(0.0)]
JPEG, PNG = encoded(IMAGE), encoded(IMAGE, "PNG")


def saved(format, **options):
    file = io.BytesIO()
    Image.fromarray(IMAGE).save(file, format, **options)
    return file.getvalue()


def with_exif(*blocks, jpeg=JPEG):
    for block in reversed(blocks):
        jpeg = with_segment(jpeg, PREFIX + block)
    return jpeg


ORIENTED = {
    "SHORT": with_exif(exif(6)),
    "SHORT, big-endian": with_exif(exif(6, order=">")),
    "LONG": with_exif(exif(6, type=LONG)),
    "LONG, big-endian": with_exif(exif(6, type=LONG, order=">")),
    "BYTE": with_exif(exif(6, type=BYTE)),
    "two values": with_exif(exif(6, count=2)),
    "0": with_exif(exif(0)),
    "9": with_exif(exif(9)),
    "twice: 6, 1": with_exif(exif(6, 1)),
    "twice: 3, 6": with_exif(exif(3, 6)),
    "two blocks: 1, 6": with_exif(exif(1), exif(6)),
    "two blocks: 3, 6": with_exif(exif(3), exif(6)),
    "two blocks: damaged, 3": with_exif(b"garbage", exif(3)),
    "two blocks: empty, 3": with_exif(exif(), exif(3)),
    "more entries than bytes": with_exif(exif(3, declared=60000)),
    "version of BigTIFF": with_exif(exif(6, version=43)),
    "XMP": with_segment(JPEG, b"http://ns.adobe.com/xap/1.0/\0" + XMP),
    "PNG": with_chunk(PNG, b"eXIf", exif(6)),
    "PNG, after the pixels": PNG[:-12] + chunk(b"eXIf", exif(3)) + PNG[-12:],
    "PNG, XMP": with_chunk(PNG, b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP),
    "PNG, text of ImageMagick": with_chunk(
        PNG, b"tEXt", b"Raw profile type exif\0\nexif\n      32\n" + (PREFIX + exif(6)).hex().encode()
    ),
    "WebP": saved("WEBP", lossless=True, exif=exif(6, order=">")),
    "WebP, prefix": saved("WEBP", lossless=True, exif=PREFIX + exif(6)),
    "WebP, XMP": saved("WEBP", lossless=True, xmp=XMP),
    "TIFF": saved("TIFF", tiffinfo={274: 6}),
    "TIFF, XMP": saved("TIFF", tiffinfo={700: XMP}),
}


@pytest.mark.parametrize("data", ORIENTED.values(), ids=ORIENTED)
def test_the_orientation_is_the_one_that_opencv_reads(data):
    expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(decode_image(data), expected)
    for mode in ("L", "RGBA"):
        assert decode_image(data, mode=mode).shape[:2] == expected.shape[:2]
    assert image_size(data) == expected.shape[:2]
    (batch,) = Loader([Sample(data)], 1, UNCHANGED, decoding=Decoding(planes=True))
    assert tuple(batch.images.shape[-2:]) == expected.shape[:2]


@pytest.mark.parametrize("name", ["SHORT", "LONG, big-endian", "two blocks: damaged, 3", "XMP"])
def test_cmyk_has_the_orientation_of_rgb(name):
    segments = ORIENTED[name][: len(ORIENTED[name]) - len(JPEG) + 2]
    cmyk = encoded(Image.fromarray(IMAGE).convert("CMYK"))
    assert image_size(segments + cmyk[2:]) == image_size(ORIENTED[name])
    stored = decode_image(cmyk)
    way = exif_orientation(exif(6)) if name == "SHORT" else 3 if "3" in name else 1
    expected = {1: stored, 3: stored[::-1, ::-1], 6: stored[::-1].transpose(1, 0, 2)}[way]
    assert np.array_equal(decode_image(segments + cmyk[2:]), expected)


def avif(block):
    """An AVIF whose EXIF was replaced."""
    file = saved("AVIF", exif=PREFIX + exif().ljust(60, b"\0"))
    return file.replace(exif().ljust(60, b"\0"), block.ljust(60, b"\0"))


DAMAGED = {
    "JPEG": with_exif(b"garbage"),
    "JPEG, only a prefix": with_exif(b""),
    "JPEG, bytes after it": with_exif(b"garbage")[: -len(JPEG) + 2] + bytes(16) + JPEG[2:],
    "PNG, no TIFF": with_chunk(PNG, b"eXIf", b"b'Exif\\x00\\x00MM\\x00*'"),
    "PNG, cut off": with_chunk(PNG, b"eXIf", exif(6)[:15]),
    "PNG, offset beyond the end": with_chunk(PNG, b"eXIf", b"II*\0\xff\xff\xff\xff"),
    "PNG, no hexadecimal text": with_chunk(
        PNG, b"tEXt", b"Raw profile type exif\0\nexif\n      12\n4578zz\n"
    ),
    "PNG, compressed text": with_chunk(PNG, b"zTXt", b"Raw profile type exif\0\0garbage"),
    "WebP": saved("WEBP", exif=b"Exif\0\0garbage"),
    "WebP, empty": saved("WEBP", exif=b"Exif\0\0"),
    "AVIF": avif(b"garbage"),
    "AVIF, offset beyond the end": avif(b"II*\0\xff\xff\xff\xff"),
    "MPO": with_segment(JPEG, b"MPF\0II*\0\xff\xff\xff\xff", 0xE2),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.filterwarnings("error")
def test_damaged_exif_is_no_orientation(data):
    assert decode_image(data).shape == (24, 40, 3)
    assert decode_image(data, mode="RGBA").shape == (24, 40, 4)
    assert image_size(data) == (24, 40)


@pytest.mark.parametrize("order", "<>")
def test_a_bigtiff_states_its_orientation_behind_other_entries(order):
    def big(*entries):
        head = struct.pack(order + "2sHHHQQ", {"<": b"II", ">": b"MM"}[order], 43, 8, 0, 16, len(entries))
        return head + b"".join(struct.pack(order + "HHQH6x", tag, SHORT, 1, value) for tag, value in entries)

    file = big((0x0100, 40), (0x0101, 24), (0x0112, 6))
    assert exif_orientation(file) == 6
    assert without_orientation(file) == big((0x0100, 40), (0x0101, 24), (0x0112, 1))
    assert exif_orientation(file[:-7]) == 1  # the value is missing


@pytest.mark.parametrize("offset", [3, 77, 10**9, 2**32 - 1])
def test_a_tiff_is_read_without_its_exif(offset):
    data = tiff_gray(bytes(range(8)), 8, height=2, extra=[(274, SHORT, 6), (34665, LONG, offset)])
    assert decode_image(data, mode="L")[..., 0].tolist() == [[4, 0], [5, 1], [6, 2], [7, 3]]
    assert image_size(data) == (4, 2)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_apply_exif_orientation_false_gives_what_is_stored(format, orientation):
    data, plain = (encoded(IMAGE, format, way, quality=90) for way in (orientation, 1))
    assert np.array_equal(decode_image(data, apply_exif_orientation=False), decode_image(plain))
    assert image_size(data, apply_exif_orientation=False) == (24, 40)
    assert np.array_equal(decode_unchanged(data, 24 * 40), decode_image(data))
    assert np.array_equal(decode_unchanged(data, 24 * 40, False), decode_image(plain))
    planes = decode_planes([data], apply_exif_orientation=False)
    assert np.array_equal(ycbcr_to_rgb(planes).numpy()[0], decode_image(plain))


@pytest.mark.parametrize(
    "options",
    [{}, {"roi": False}, {"planes": True}, {"device": "nvimgcodec"}],
    ids=["roi", "whole", "planes", "device"],
)
@pytest.mark.parametrize("orientation", [3, 6])
def test_a_loader_ignores_orientations_where_asked_to(options, orientation):
    samples = [Sample(encoded(IMAGE, format, orientation), {}, i) for i, format in enumerate(("JPEG", "PNG"))]
    for applies in (False, True):
        decoding = Decoding(**options, apply_exif_orientation=applies)
        (batch,) = Loader(samples, 2, UNCHANGED, shuffle=False, decoding=decoding)
        for image, sample in zip(batch.images, samples, strict=True):
            expected = decode_image(sample.data, apply_exif_orientation=applies)
            assert torch.equal(image, torch.tensor(expected).permute(2, 0, 1))


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=60), st.integers(0, 70), st.sampled_from("<>"), st.sampled_from([42, 43]))
def test_no_bytes_make_the_reader_fail(data, length, order, version):
    block = (exif(6, order=order, version=version)[: len(data) % 40] + data)[:length]
    assert 1 <= exif_orientation(block, PREFIX + block) <= 8
    upright = without_orientation(block)
    assert len(upright) == len(block)
    assert exif_orientation(upright) == 1


def test_a_file_without_an_orientation_is_not_copied():
    for tiff in (exif(), b"garbage", b"II*\0\xff\xff\xff\xff"):
        assert without_orientation(tiff) is tiff
    assert exif_orientation(without_orientation(exif(6))) == 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("type", [SHORT, LONG, BYTE])
@pytest.mark.parametrize("count", [1, 2])
def test_other_readers_find_no_orientation_either(type, order, count):
    tiff = without_orientation(exif(6, 3, type=type, order=order, count=count))
    found = Image.Exif()
    found.load(PREFIX + tiff)
    assert found[274] == 1
    assert exif_orientation(tiff) == 1
