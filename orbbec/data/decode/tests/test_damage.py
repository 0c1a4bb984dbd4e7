"""Damaged images are decoded or refused; nothing crashes or hangs, and no Loader loses a sample."""

import io
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbbec.cli.doctor.facts import jpeg_decoder
from orbbec.data import BadSample, Decoding, Loader, Sample, decode_image
from orbbec.data.decode import codecs, decode, native
from orbbec.data.decode.native import check_jpeg
from orbbec.transforms import Pad
from tests.support.damage.damage import (
    FORMATS,
    closed,
    damaged_files,
    flipped,
    good_file,
    huge,
    with_many_scans,
)
from tests.support.damage.examine import Guard, be, disagreements, examined, machines
from tests.support.samples import photograph

SIZE = (48, 64)


@pytest.fixture(params=machines())
def machine(request, monkeypatch):
    """This installation, one without libjpeg-turbo, and one with Pillow only."""
    become(request.param, monkeypatch)
    return request.param


def become(machine, monkeypatch):
    """Call `be` until the test ends."""
    functions = ((decode, "_jpeg_decoders"), (native, "_library"), (native, "_decoder"), (codecs, "codec"))
    for module, name in functions:
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setenv("ORBBEC_FEED", "1")
    be(machine)


@pytest.mark.parametrize("machine", machines())
def test_what_is_broken_is_refused_and_what_is_not_has_the_bytes_of_pillow(machine):
    files = list(damaged_files(SIZE, flips=6))
    with Guard() as guard:
        guard(60, be, machine)
        findings = examined(files, guard)
        assert disagreements(files, findings, guard) == []
    assert {finding.outcome for finding in findings} == {"decoded", "refused"}
    by_name = {name: finding for (name, _), finding in zip(files, findings, strict=True)}
    for name, finding in by_name.items():
        damage = name.partition("/")[2].partition(".")[0].partition("-")[0]
        if damage in ("whole", "named", "exif", "cmyk", "CMYK", "L"):
            assert finding.outcome == "decoded", name
        elif damage in ("empty", "zeros", "huge", "cut", "closed"):
            assert finding.outcome == "refused", name
        # Both agree on which files are damaged, except JPEGs, whose damage Pillow does not report.
        if finding.outcome == "decoded":
            assert finding.pillow == "same", name
        elif finding.pillow == "decoded":
            assert "the JPEG is damaged" in finding.reason, name
            assert "jpeg/" in name


@pytest.mark.parametrize("kind", FORMATS)
def test_decompression_bombs_are_refused_at_their_header(kind):
    bomb = huge(kind.rpartition(".")[2], good_file(kind, SIZE))
    began = time.process_time()
    with pytest.raises(ValueError, match=r"max_pixels|decompression bomb"):
        decode_image(bomb)
    assert time.process_time() - began < 0.5  # at most 13 ms were seen


def jpegs():
    """JPEGs of every coding, mode and layout of scans."""
    picture = Image.fromarray(photograph(96, 128))
    for mode in ("RGB", "L", "CMYK"):
        for name, options in JPEGS.items():
            buffer = io.BytesIO()
            picture.convert(mode).save(buffer, "JPEG", **options)
            yield f"{mode}, {name}", buffer.getvalue()


JPEGS = {
    "baseline": {},
    "4:4:4": {"subsampling": 0, "optimize": True},
    "restarts": {"restart_marker_blocks": 3},
    "progressive": {"progressive": True},
    "progressive with restarts": {"progressive": True, "restart_marker_blocks": 2},
}


def test_a_jpeg_that_was_cut_and_closed_again_is_damaged(machine):
    for name, data in jpegs():
        whole = decode_image(data)
        begin = data.index(b"\xff\xda")
        for percent in range(10, 100, 10):
            cut = closed(data[: begin + 16 + (len(data) - begin - 18) * percent // 100])
            with pytest.raises(ValueError, match="decode_image: the JPEG is damaged: "):
                decode_image(cut)
            if "progressive" not in name:  # the headers of a scan may be truncated, too
                kept = decode_image(cut, on_damage="keep")
                assert kept.shape == whole.shape
                assert percent < 50 or np.array_equal(kept[:16], whole[:16]), name  # the parts read so far


def test_a_jpeg_that_lacks_scans_is_damaged(machine):
    for name, data in jpegs():
        scans = [offset for offset in range(len(data)) if data[offset : offset + 2] == b"\xff\xda"]
        for scan in scans[1:]:
            with pytest.raises(ValueError, match="the JPEG is damaged: scans are missing"):
                decode_image(closed(data[:scan]))
            assert decode_image(closed(data[:scan]), on_damage="keep").shape == (96, 128, 3), name


def test_a_jpeg_that_is_cut_off_is_kept_for_who_asks(machine):
    data = good_file("jpeg", SIZE)
    with pytest.raises(ValueError, match="damaged: the file is cut off"):
        decode_image(data[: len(data) // 2])
    kept = decode_image(data[: len(data) // 2], on_damage="keep")
    assert np.array_equal(kept[:8], decode_image(data)[:8])
    with pytest.raises(ValueError, match="on_damage as one of raise, keep, but got 'skip'"):
        decode_image(data, on_damage="skip")


@pytest.mark.parametrize("options", [{}, {"roi": False}, {"planes": True}], ids=str)
def test_a_loader_keeps_damaged_jpegs_for_who_asks(machine, options):
    data = good_file("jpeg", SIZE)
    damaged = closed(data[: len(data) // 2])
    samples = [Sample(data, {}, 0), Sample(damaged, {}, 1)]

    def batch(**more):
        decoding = Decoding(**options, **more)
        return next(iter(Loader(samples, 2, [Pad(1)], threads=1, shuffle=False, decoding=decoding)))

    with pytest.raises(BadSample, match=r"sample 1 \(its image\): decode_image: the JPEG is damaged"):
        batch()
    kept = batch(on_damage="keep").images[:, :, 1:-1, 1:-1].permute(0, 2, 3, 1).numpy()
    assert np.array_equal(kept[0], decode_image(data))
    assert np.array_equal(kept[1], decode_image(damaged, on_damage="keep"))
    with pytest.raises(ValueError, match="Decoding: expected on_damage as one of raise, keep"):
        Decoding(on_damage="skip")


@pytest.mark.parametrize("on_damage", ["raise", "keep"])
def test_scans_without_end_are_refused_at_once(machine, on_damage):
    bomb = with_many_scans(good_file("progressive.jpeg", (16, 16)), 4000)
    began = time.process_time()
    with pytest.raises(ValueError, match="decode_image: more than 500 scans"):
        decode_image(bomb, on_damage=on_damage)
    assert time.process_time() - began < 0.5  # 3.5 s if Pillow decides


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("on_damage", ["raise", "keep"])
def test_pixels_that_no_data_can_hold_are_refused_at_once(machine, on_damage):
    for kind in ("jpeg", "progressive.jpeg", "png", "gif", "bmp", "ppm"):
        bomb = huge(kind.rpartition(".")[2], good_file(kind, (16, 16)), 9999)
        began = time.process_time()
        with pytest.raises(ValueError, match=r"decode_image: too few bytes for (9999x9999|so many) pixels"):
            decode_image(bomb, on_damage=on_damage)
        assert time.process_time() - began < 0.5, kind  # 9.7 s if Pillow decides


def test_images_of_one_color_are_not_taken_for_bombs(machine):
    for mode in ("L", "RGB"):
        for options in ({}, {"optimize": True}, {"progressive": True, "optimize": True, "quality": 1}):
            buffer = io.BytesIO()
            Image.new(mode, (9000, 9000), "white").save(buffer, "JPEG", **options)
            # At most 256 pixels per byte: two bits for a block of 64.
            assert check_jpeg(buffer.getvalue(), walks=True).kind == ""
    for kind, mode in (
        ("PNG", "1"),
        ("PNG", "RGB"),
        ("GIF", "L"),
        ("BMP", "1"),
        ("WEBP", "RGB"),
        ("TIFF", "1"),
    ):
        buffer = io.BytesIO()
        Image.new(mode, (1000, 1000), 0).save(buffer, kind)
        assert decode_image(buffer.getvalue()).shape == (1000, 1000, 3)


@pytest.mark.parametrize("marker", [0xC3, 0xC9, 0xCA])
def test_jpegs_whose_damage_cannot_be_told_are_refused(machine, marker):
    data = good_file("jpeg", SIZE).replace(b"\xff\xc0", bytes([0xFF, marker]), 1)
    with pytest.raises(ValueError, match=r"lossless, hierarchical or arithmetic .* on_damage='keep'"):
        decode_image(data)


def test_machines_agree_on_what_is_damaged(monkeypatch):
    chance, answers = random.Random(0), {}
    files = [damaged_jpeg(data, chance) for _ in range(20) for _, data in jpegs()]
    for name in machines():
        with monkeypatch.context() as patch:
            become(name, patch)
            answers[name] = [answer_of(data) for data in files]
    has_no_simd = jpeg_decoder(Path(native.__file__).with_name("_jpeg.abi3.so")).endswith("without SIMD")
    for name, answer in answers.items():
        refusals = [[told for told in own if isinstance(told, str)] for own in (answer, answers["pillow"])]
        assert refusals[0] == refusals[1]
        others = sum(one != two for one, two in zip(answer, answers["pillow"], strict=True))
        # Sums that only damage makes so large wrap in 16 bits, except in libjpeg-turbo's C code, which
        # decodes files that orbbec's decoder does not support: 1 of 300, with stray bytes between segments.
        assert others <= (1 if name == "native" and has_no_simd else 0)
    refused = sum(isinstance(answer, str) for answer in answers["pillow"])
    assert 100 < refused < 250  # 187 of 300


def answer_of(data):
    try:
        pixels = decode_image(data, max_pixels=10**6)
    except ValueError as error:
        return str(error)
    return pixels.shape, pixels.tobytes()


def damaged_jpeg(data, chance):
    """Flipped bits, or a piece that is lost, repeated or from elsewhere."""
    if chance.random() < 0.4:
        return flipped(data, chance)
    begin, end, other = (chance.randrange(len(data)) for _ in range(3))
    piece = data[other : other + chance.randrange(100)] if chance.random() < 0.7 else b""
    return (
        data[:begin] + piece + data[begin if chance.random() < 0.5 else min(begin + end % 100, len(data)) :]
    )


def test_postscript_is_not_run():
    with pytest.raises(ValueError, match="not an image that Pillow knows"):
        decode_image(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n")


def kill_this_process(code):
    os._exit(code)


def test_a_guard_survives_the_end_of_its_process():
    with Guard() as guard:
        assert guard(60, int, "3") == 3
        with pytest.raises(RuntimeError, match="ValueError: invalid literal"):
            guard(60, int, "three")
        with pytest.raises(RuntimeError, match="the process ended with 3"):
            guard(60, kill_this_process, 3)
        with pytest.raises(RuntimeError, match=r"hung for 0\.1 s"):
            guard(0.1, time.sleep, 60)


def test_a_check_that_was_not_built_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    with pytest.raises(ImportError, match=r"no library at .*_jpeg_check\.abi3\.so; build it with"):
        native._checker.__wrapped__()
