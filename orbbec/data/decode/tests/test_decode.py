"""Decoding: whole images and regions have the bytes of cv2 and Pillow; damaged files are refused."""

import io
import random
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from orbbec.data import Decoding, Loader, Sample, decode_jpeg, decode_planes
from orbbec.data.decode import codecs, decode, native
from orbbec.data.decode.decode import decode_image, decode_region, image_size, planes_header, region_header
from orbbec.data.decode.jpeg_header import jpeg_header
from orbbec.data.decode.native import decode_rectangle, has_native
from orbbec.data.decode.orientation import Rectangle, upright, upright_size
from orbbec.data.loader import assemble
from orbbec.transforms import CenterCrop, Resize
from tests.support.damage.examine import NoDecoder

needs_native = pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in")


def picture(height=60, width=90, seed=0):
    """Smooth shapes and noise, RGB."""
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 2.5) // 2 + noise // 4


def encoded(image, format="JPEG", orientation=1, **options):
    buffer = io.BytesIO()
    picture = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    exif = Image.Exif()
    if orientation != 1:
        exif[0x0112] = orientation
    picture.save(buffer, format, exif=exif, **options)
    return buffer.getvalue()


def by_cv2(data):
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


def decoders():
    """The JPEG decoders that are used if the built-in ones do not support a file, by name."""
    found = {"pillow": (), "cv2": (decode._by_cv2,), "orbbec": ()}
    if has_native():
        found["native"] = ()
    if decode._installed("simplejpeg"):
        found["simplejpeg"] = (decode._by_simplejpeg,)
    return found


@pytest.fixture(params=decoders())
def decoder(request, monkeypatch):
    monkeypatch.setattr(decode, "_jpeg_decoders", lambda: decoders()[request.param])
    if request.param != "native":
        monkeypatch.setattr(native, "_library", lambda: None)
        monkeypatch.setattr(codecs, "codec", lambda name: None)
    if request.param not in ("native", "orbbec"):
        monkeypatch.setattr(native, "_decoder", NoDecoder)
    return request.param


JPEGS = {
    "4:2:0": {"subsampling": "4:2:0"},
    "4:2:2": {"subsampling": "4:2:2"},
    "4:4:4": {"subsampling": "4:4:4"},
    "progressive": {"progressive": True},
    "restarts": {"restart_marker_blocks": 3},
    "one quality": {"quality": 20, "optimize": True},
}


@pytest.mark.parametrize("options", JPEGS.values(), ids=JPEGS)
@pytest.mark.parametrize("size", [(1, 1), (7, 13), (64, 48), (101, 75)])
@pytest.mark.usefixtures("decoder")
def test_decode_image_matches_cv2(options, size):
    data = encoded(picture(*size), **options)
    assert np.array_equal(decode_image(data), by_cv2(data))
    assert image_size(data) == size


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.usefixtures("decoder")
def test_decode_image_turns_as_exif_says(format, orientation):
    data = encoded(picture(24, 40), format, orientation)
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image))
    assert np.array_equal(decode_image(data), expected)
    assert image_size(data) == expected.shape[:2] == upright_size(24, 40, orientation)


@pytest.mark.usefixtures("decoder")
def test_decode_image_gives_gray_and_cmyk():
    image = picture()
    gray = encoded(image[..., 0])
    assert np.array_equal(decode_image(gray), np.repeat(decode_image(gray, mode="L"), 3, axis=2))
    color = encoded(image)
    luma = cv2.imdecode(np.frombuffer(color, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert np.array_equal(decode_image(color, mode="L")[..., 0], luma)
    cmyk = Image.fromarray(image).convert("CMYK")
    with Image.open(io.BytesIO(encoded(cmyk))) as again:
        assert np.array_equal(decode_image(encoded(cmyk)), np.asarray(again.convert("RGB")))


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "PPM", "GIF", "WEBP"])
def test_decode_image_reads_lossless_formats(format):
    image = picture()
    options = {"lossless": True} if format == "WEBP" else {}
    source = Image.fromarray(image[..., 0] // 8 * 8) if format == "GIF" else Image.fromarray(image)
    data = encoded(source, format, **options)
    assert np.array_equal(decode_image(data), np.asarray(source.convert("RGB")))
    assert image_size(data) == image.shape[:2]


def test_decode_image_drops_or_keeps_alpha():
    image = np.dstack([picture(), np.full((60, 90), 7, np.uint8)])
    data = encoded(image, "PNG")
    assert np.array_equal(decode_image(data), image[..., :3])
    assert np.array_equal(decode_image(data, mode="RGBA"), image)
    assert decode_image(encoded(picture()), mode="RGBA")[..., 3].min() == 255


def test_decode_image_keeps_the_upper_8_of_16_bits():
    deep = np.random.default_rng(0).integers(0, 65536, (5, 7), np.uint16)
    ok, png = cv2.imencode(".png", deep)
    color = np.random.default_rng(1).integers(0, 65536, (5, 7, 3), np.uint16)
    ok_color, png_color = cv2.imencode(".png", color)
    assert ok
    assert ok_color
    assert np.array_equal(decode_image(png.tobytes(), mode="L")[..., 0], deep >> 8)
    assert np.array_equal(decode_image(png_color.tobytes())[..., ::-1], color >> 8)
    pgm = b"P5 2 1 65535 " + bytes([1, 200, 255, 0])
    assert decode_image(pgm, mode="L")[..., 0].tolist() == [[1, 255]]
    with pytest.raises(ValueError, match="decode_image: pixels of mode F have no known range"):
        decode_image(encoded(Image.fromarray(np.zeros((2, 2), np.float32)), "TIFF"))


def test_images_have_a_hundred_million_pixels_at_most_by_default():
    with pytest.raises(ValueError, match="too few bytes for 10000x10000 pixels"):
        decode_image(b"P5 10000 10000 255 ")
    with pytest.raises(ValueError, match=r"at most 100000000 pixels \(max_pixels\), but got 1x100000001"):
        decode_image(b"P5 100000001 1 255 ")


def test_decode_image_refuses_what_is_too_large():
    data = encoded(picture(30, 40))
    assert decode_image(data, max_pixels=1200).shape == (30, 40, 3)
    for refused in (data, encoded(picture(30, 40), "PNG")):
        with pytest.raises(ValueError, match=r"at most 1199 pixels \(max_pixels\), but got 30x40"):
            decode_image(refused, max_pixels=1199)
    declared = bytearray(encoded(picture(8, 8)))
    frame = declared.index(b"\xff\xc0")
    declared[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"  # declares 65535x65535, contains 8x8
    with pytest.raises(ValueError, match="but got 65535x65535"):
        decode_image(bytes(declared))


def test_decode_image_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"decode_image: not an image that Pillow knows \(4 bytes\)"):
        decode_image(b"text")
    with pytest.raises(ValueError, match="expected mode as one of L, RGB, RGBA, but got 'BGR'"):
        decode_image(encoded(picture()), mode="BGR")
    with pytest.raises(ValueError, match="image_size: not an image"):
        image_size(b"")


@pytest.mark.usefixtures("decoder")
def test_decode_image_refuses_what_is_cut_off():
    for data in (encoded(picture()), encoded(picture(), progressive=True), encoded(picture(), "PNG")):
        for length in range(0, len(data) - 20, 97):
            with pytest.raises(ValueError, match="decode_image: "):
                decode_image(data[:length])


@pytest.mark.usefixtures("decoder")
def test_decode_image_refuses_what_is_cut_off_between_scans():
    data = encoded(picture(), progressive=True)
    scans = [offset for offset in range(len(data)) if data[offset : offset + 2] == b"\xff\xda"]
    assert len(scans) == 10
    for length in (*scans, *(scan + 5 for scan in scans), len(data) - 2):
        with pytest.raises(ValueError, match="decode_image: "):
            decode_image(data[:length])


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, about EXIF
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM"])
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_decode_image_survives_flipped_bits(format, seed):
    chance = random.Random(seed)
    data = bytearray(encoded(picture(24, 40), format, orientation=6))
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    try:
        image = decode_image(bytes(data), max_pixels=10**6)
    except ValueError:
        return
    assert image.dtype == np.uint8
    assert image.ndim == 3


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200))
def test_jpeg_header_reads_the_size_behind_anything(data):
    size = b"\xff\xc0\x00\x11\x08\x00\x18\x00\x28\x03" + bytes(9)
    for begin in (b"", b"Exif\0\0", b"Exif\0\0II*\0", b"Exif\0\0MM\0*"):
        segment = (2 + len(begin) + len(data)).to_bytes(2, "big") + begin + data
        header = jpeg_header(b"\xff\xd8\xff\xe1" + segment + size)
        assert header[:4] == (24, 40, 3, 8)
        assert 1 <= header.orientation <= 8
    for begin in (b"", b"\xff\xd8", b"\xff\xd8\xff\xe1\x00\x40Exif\0\0II*\0"):
        header = jpeg_header(begin + data)
        assert header is None or min(header[:2]) > 0


@needs_native
@pytest.mark.parametrize("options", JPEGS.values(), ids=JPEGS)
@pytest.mark.parametrize("orientation", [1, 6])
def test_decode_region_gives_the_bytes_of_the_whole(options, orientation):
    data = encoded(picture(101, 75), orientation=orientation, **options)
    whole, chance = decode_image(data), random.Random(0)
    header = region_header(data, "RGB", 10**6)
    height, width = whole.shape[:2]
    for _ in range(100):
        left, top = chance.randrange(width), chance.randrange(height)
        part = Rectangle(left, top, chance.randint(left + 1, width), chance.randint(top + 1, height))
        assert np.array_equal(decode_region(data, header, part), part.of(whole)), part


@needs_native
@pytest.mark.parametrize("shrink", [2, 4, 8])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_decode_region_of_a_shrunk_image_is_part_of_it(shrink, orientation):
    data = encoded(picture(101, 75), orientation=orientation)
    height, width = upright_size(-(-101 // shrink), -(-75 // shrink), orientation)
    header = region_header(data, "RGB", 10**6)
    whole = decode_region(data, header, Rectangle(0, 0, width, height), shrink=shrink)
    part = Rectangle(2, 1, 7, 6)
    assert np.array_equal(decode_region(data, header, part, shrink=shrink), part.of(whole))
    flag = getattr(cv2, f"IMREAD_REDUCED_COLOR_{shrink}")
    assert np.array_equal(whole[..., ::-1], cv2.imdecode(np.frombuffer(data, np.uint8), flag))


@needs_native
@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_decode_region_turns_what_is_stored(orientation, mode):
    plain, turned = (encoded(picture(33, 20), orientation=way) for way in (1, orientation))
    stored = decode_image(plain, mode=mode)
    height, width = upright_size(33, 20, orientation)
    out = np.zeros((height, width, stored.shape[2]), np.uint8)
    whole = Rectangle(0, 0, width, height)
    assert decode_region(turned, region_header(turned, mode, 10**6), whole, mode=mode, out=out) is out
    assert np.array_equal(out, upright(stored, orientation))
    assert np.array_equal(decode_image(turned, mode=mode), out)


@needs_native
def test_decode_rectangle_names_what_is_wrong():
    data = encoded(picture(20, 30))
    with pytest.raises(ValueError, match="rectangle 28, 0, 5x3 of an image of 20x30"):
        decode_rectangle(data, 28, 0, 3, 5)
    with pytest.raises(ValueError, match="rectangle 0, 0, 2x0 of"):
        decode_rectangle(data, 0, 0, 0, 2)
    with pytest.raises(ValueError, match="rectangle -1, 0, 2x2 of"):
        decode_rectangle(data, -1, 0, 2, 2)
    with pytest.raises(ValueError, match="Not a JPEG file: starts with 0x74 0x65"):
        decode_rectangle(b"text", 0, 0, 1, 1)
    with pytest.raises(ValueError, match="Premature end of JPEG file"):
        decode_rectangle(data[:-200], 0, 0, 30, 20)
    with pytest.raises(ValueError, match=r"expected out of shape \[2, 4, 3\] with contiguous channels"):
        decode_rectangle(data, 0, 0, 4, 2, out=np.zeros((3, 4, 2), np.uint8).T)


@needs_native
def test_a_rectangle_is_decoded_into_every_other_column_and_channel():
    data = encoded(picture(20, 30))
    for channels, buffer in ((1, np.zeros((5, 8, 2), np.uint8)), (3, np.zeros((5, 8, 4), np.uint8))):
        out = buffer[:, ::2, ::2][..., :1] if channels == 1 else buffer[:, ::2, :3]
        assert decode_rectangle(data, 3, 2, 4, 5, channels=channels, out=out) is out
        assert np.array_equal(out, decode_rectangle(data, 3, 2, 4, 5, channels=channels))
        assert buffer[:, 1::2].max() == buffer[..., channels:].max() == 0


def test_region_header_is_none_where_no_part_can_be_decoded():
    cmyk = encoded(Image.fromarray(picture()).convert("CMYK"))
    cut_off = encoded(picture())[:-2]  # the upper parts could be decoded
    for data in (cmyk, encoded(picture(), "PNG"), b"", encoded(picture())[:50], cut_off):
        assert region_header(data, "RGB", 10**6) is None
    assert region_header(encoded(picture()), "RGBA", 10**6) is None


def test_parts_of_baseline_jpegs_need_no_libjpeg_turbo(monkeypatch):
    monkeypatch.setattr(native, "_library", lambda: None)
    baseline, progressive = encoded(picture(33, 40)), encoded(picture(33, 40), progressive=True)
    part = Rectangle(3, 5, 20, 11)
    header = region_header(baseline, "RGB", 10**6)
    assert np.array_equal(decode_region(baseline, header, part), part.of(by_cv2(baseline)))
    assert region_header(progressive, "RGB", 10**6) is None
    assert planes_header(baseline, "RGB", 10**6, "raise", True) is None
    with pytest.raises(ValueError, match="needs libjpeg-turbo, which is not built in"):
        decode_region(baseline, header, part, shrink=2)


@needs_native
def test_a_loader_decodes_images_smaller_only_where_asked_to():
    """Reduced size changes pixels, down to 20.6 dB, and saves no time: docs/explanation/decoding.md."""
    samples = [Sample(encoded(picture(90, 120, seed)), {}, seed) for seed in range(3)]

    def pixels(**options):
        pipeline = [Resize((20, 20), antialias=False)]
        return next(iter(Loader(samples, 3, pipeline, shuffle=False, decoding=Decoding(**options)))).images

    assert torch.equal(pixels(), pixels(roi=False))
    assert not torch.equal(pixels(shrink=True), pixels(roi=False))


def test_a_loader_without_libjpeg_turbo_decodes_each_part_once(monkeypatch):
    monkeypatch.setattr(native, "_library", lambda: None)
    monkeypatch.setenv("ORBBEC_FEED", "0")
    decoded = []

    def recorded(data, header, part, *, shrink, mode, out):
        decoded.append((len(data), shrink))
        return decode_region(data, header, part, shrink=shrink, mode=mode, out=out)

    monkeypatch.setattr(assemble, "decode_region", recorded)
    files = [encoded(picture(90, 120, seed), progressive=seed == 1) for seed in range(3)]
    samples = [Sample(data, {}, number) for number, data in enumerate(files)]

    def pixels(**options):
        pipeline = [CenterCrop(80), Resize((20, 20), antialias=False)]
        return next(iter(Loader(samples, 3, pipeline, shuffle=False, decoding=Decoding(**options)))).images

    assert torch.equal(pixels(shrink=True), pixels(roi=False))
    assert decoded == [(len(files[0]), 1), (len(files[2]), 1)]


@pytest.mark.parametrize(("mode", "colorspace"), [("RGB", "RGB"), ("L", "GRAY")])
def test_simplejpeg_is_preferred_and_decodes_in_the_colorspace_of_the_mode(monkeypatch, mode, colorspace):
    def decode_jpeg(data, colorspace):
        if not data:
            raise ValueError("truncated")
        return data, colorspace

    packages = {"simplejpeg": SimpleNamespace(decode_jpeg=decode_jpeg), "cv2": cv2}
    monkeypatch.setattr(decode, "_installed", packages.get)
    choose = decode._jpeg_decoders.__wrapped__
    (by_simplejpeg,) = choose()
    assert (by_simplejpeg(b"jpeg", mode), by_simplejpeg(b"", mode)) == ((b"jpeg", colorspace), None)
    del packages["simplejpeg"]
    assert choose() == (decode._by_cv2,)
    packages.clear()
    assert choose() == ()


@pytest.mark.parametrize("orientation", [1, 6])
def test_the_first_decoder_that_succeeds_gives_the_pixels(monkeypatch, orientation):
    marked = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    decoders = [lambda data, mode: None, lambda data, mode: marked, lambda data, mode: marked[::-1]]
    monkeypatch.setattr(decode, "_jpeg_decoders", lambda: decoders)
    monkeypatch.setattr(native, "_library", lambda: None)
    monkeypatch.setattr(native, "_decoder", NoDecoder)
    data = encoded(picture(2, 3), orientation=orientation)
    assert np.array_equal(decode_image(data), upright(marked, orientation))
    del decoders[1:]
    assert np.array_equal(decode_image(data), ImageOps.exif_transpose(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("name", ["mode", "on_damage", "device"])
def test_an_unknown_way_of_decoding_is_named(name):
    with pytest.raises(ValueError, match=f"^Decoding: expected {name} as one of .*, but got 'none'$"):
        Decoding(**{name: "none"})


DECODERS = {"decode_image": decode_image, "decode_planes": decode_planes, "decode_jpeg": decode_jpeg}


@pytest.mark.parametrize("name", ["roi", "shrink", "planes", "apply_exif_orientation"])
def test_text_is_no_truth_value(name):
    with pytest.raises((TypeError, ValueError), match=f"^Decoding: expected {name} as True or False"):
        Decoding(**{name: "false"})
    for function in (*DECODERS, "image_size") if name == "apply_exif_orientation" else ():
        call = DECODERS.get(function, image_size)
        with pytest.raises((TypeError, ValueError), match=f"^{function}: expected {name} as True or False"):
            call(b"", **{name: "false"})


@pytest.mark.parametrize("wrong", ["1", 1.5, 0, -1, None])
def test_a_limit_of_pixels_is_a_whole_number(wrong):
    with pytest.raises((TypeError, ValueError), match=r"^Decoding: expected max_pixels as a whole number"):
        Decoding(max_pixels=wrong)
    for name, call in DECODERS.items():
        with pytest.raises((TypeError, ValueError), match=f"^{name}: expected max_pixels as a whole number"):
            call(b"", max_pixels=wrong)


@pytest.mark.parametrize(
    "others", [{"roi": False}, {"planes": True}, {"device": "nvimgcodec"}, {"mode": "UNCHANGED"}], ids=str
)
def test_an_option_without_effect_is_refused(others):
    with pytest.raises(ValueError, match=r"^Decoding: expected shrink only with roi"):
        Decoding(shrink=True, **others)
    if "mode" in others:
        with pytest.raises(ValueError, match=r'^Decoding: expected on_damage="raise" for mode UNCHANGED'):
            Decoding(on_damage="keep", **others)
