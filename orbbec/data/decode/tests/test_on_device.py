"""JPEGs decoded by kernels have the bytes of the host's decoder, or are left to it."""

import cProfile
import io
import random
from itertools import islice

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

from orbbec import ycbcr_to_rgb
from orbbec.batch.ycbcr_batch import SAMPLINGS, YCbCrBatch
from orbbec.data import decode_image, decode_jpeg, decode_planes
from orbbec.data.decode import on_device
from orbbec.data.decode.native import has_native, pack_scan, scan_size
from orbbec.data.decode.on_device import Decoded, planes_on_device
from orbbec.data.decode.planes import FileRules, planes_on_host
from tests.support import photograph
from tests.support.damage.damage import flipped
from tests.support.damage.scans import hostile_files, outcomes
from tests.support.peers.jpegs import FACTORS

pytestmark = pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in")

RULES = FileRules()
SCAN = b"\xff\xda"


def encoded(image, *options, quality=90, sampling="420"):
    options = [cv2.IMWRITE_JPEG_QUALITY, quality, *options]
    if image.ndim == 3:
        options = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, FACTORS[sampling], *options]
    return cv2.imencode(".jpg", image, options)[1].tobytes()


def saved(image, orientation=1, **options):
    buffer, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = orientation
    image.save(buffer, options.pop("format", "JPEG"), exif=exif, **options)
    return buffer.getvalue()


def decoded(device, files, rules=RULES, unit_bits=128):
    where = torch.device("cuda" if device.name == "cuda" else "cpu")
    with device.active():
        return planes_on_device(files, where, rules, unit_bits)


def assert_as_on_host(device, files, rules=RULES, unit_bits=128):
    """Returns the indices of the files that the host decoded."""
    batch, on_host = decoded(device, files, rules, unit_bits)
    expected = planes_on_host(files, rules)
    assert torch.equal(batch.host_table, expected.host_table)
    for i, (found, wanted) in enumerate(zip(batch.image_buffers(), expected.image_buffers(), strict=True)):
        assert torch.equal(found.cpu(), wanted), f"image {i}"
    return on_host


def draw(rng, most=120):
    """A random image: noise, smooth, of two levels, or partly white."""
    height, width = (int(size) for size in np.exp(rng.uniform(0, np.log(most), 2)))
    image = rng.integers(0, 256, (height, width, 3), np.uint8)
    kind = rng.integers(4)
    if kind == 1:
        image = cv2.GaussianBlur(image, (0, 0), 2.0)
    elif kind == 2:
        image = (image // 128 * 255).astype(np.uint8)
    elif kind == 3:
        image[:, width // 2 :] = 255
    return image[..., 0].copy() if rng.integers(5) == 0 else image


def draw_file(rng, **limits):
    options = [cv2.IMWRITE_JPEG_RST_INTERVAL, int(rng.choice([0, 0, 1, 2, 7, 30]))]
    options += [cv2.IMWRITE_JPEG_OPTIMIZE, int(rng.integers(2))]
    sampling = str(rng.choice(list(FACTORS)))
    return encoded(draw(rng, **limits), *options, quality=int(rng.integers(1, 101)), sampling=sampling)


@pytest.mark.parametrize("sampling", FACTORS)
@pytest.mark.parametrize("quality", [1, 50, 90, 100])
def test_planes_are_those_of_the_host(device, sampling, quality):
    sizes = [(1, 1), (2, 5), (3, 4), (8, 16), (17, 33), (40, 31), (70, 130)]
    images = [photograph(height, width) for height, width in sizes]
    files = [encoded(image, quality=quality, sampling=sampling) for image in images]
    files += [encoded(image[..., 0].copy(), quality=quality) for image in images]
    assert assert_as_on_host(device, files) == []


@pytest.mark.parametrize("unit_bits", [128, 136, 1000, 4096, 1 << 24])
def test_the_size_of_units_does_not_matter(device, unit_bits):
    rng = np.random.default_rng(unit_bits)
    assert assert_as_on_host(device, [draw_file(rng) for _ in range(20)], unit_bits=unit_bits) == []


def test_the_size_of_units_is_checked(device):
    with pytest.raises(ValueError, match="expected unit_bits from 128 to"):
        decoded(device, [encoded(photograph(20, 30))], unit_bits=127)


@pytest.mark.parametrize("seed", range(8))
def test_random_files_have_the_planes_of_the_host(device, seed):
    rng = np.random.default_rng(seed)
    assert assert_as_on_host(device, [draw_file(rng) for _ in range(12)]) == []


@pytest.mark.parametrize("orientation", range(1, 9))
def test_rgb_has_the_bytes_of_decode_image(device, orientation):
    files = [saved(Image.fromarray(photograph(33, 50)), orientation, subsampling=n) for n in range(3)]
    batch, on_host = decoded(device, files)
    with device.active():
        images = ycbcr_to_rgb(batch).numpy()
    assert on_host == []
    for image, data in zip(images, files, strict=True):
        assert np.array_equal(image, decode_image(data))
    stored = FileRules(apply_exif_orientation=False)
    assert assert_as_on_host(device, files, stored) == []


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_part_of_an_upright_image_is_found_in_the_stored_one(sampling):
    stored = np.arange(600, dtype=np.int32).reshape(20, 30)
    batch = YCbCrBatch.of_sizes([stored.shape] * 8, [sampling] * 8, range(1, 9))
    boxes = on_device._stored_boxes(batch, np.array([[2, 3, 11, 8]] * 8))
    for orientation, (left, top, right, bottom) in enumerate(boxes.tolist(), 1):
        image = Image.fromarray(stored)
        image.getexif()[0x0112] = orientation
        upright = np.asarray(ImageOps.exif_transpose(image))
        found = stored[top:bottom, left:right]
        assert found.shape == ((9, 5) if orientation > 4 else (5, 9))
        assert set(found.ravel().tolist()) == set(upright[3:8, 2:11].ravel().tolist())


def test_the_host_decodes_what_the_device_cannot(device):
    image = Image.fromarray(photograph(40, 60))
    other = [
        saved(image, progressive=True),
        saved(image.convert("CMYK")),
        saved(image, 6, keep_rgb=True),
        saved(image, format="PNG"),
        encoded(photograph(40, 60), cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x411111),
    ]
    files = [saved(image), *other, saved(image.convert("L"), 5)]
    assert assert_as_on_host(device, files) == [1, 2, 3, 4, 5]


def test_a_scan_over_2_mib_is_left_to_the_host(device, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 256, (1100, 1100, 3), np.uint8)
    data = encoded(noise, quality=100, sampling="444")
    assert len(data) > 1 << 21
    assert assert_as_on_host(device, [data, encoded(photograph(20, 30))]) == [0]


def test_a_flat_image_that_never_synchronizes_is_left_to_the_host(device):
    # Each of its MCUs of 4:2:0 has the same few bits, so that a wrong block of the MCU remains wrong.
    flat = encoded(np.full((1000, 1000, 3), 200, np.uint8))
    assert assert_as_on_host(device, [flat], unit_bits=128) in ([], [0])
    assert assert_as_on_host(device, [flat], unit_bits=1 << 24) == []


def test_a_unit_may_begin_with_the_last_code_of_a_scan(device):
    # Two codes of one bit for each of 72 blocks.
    flat = encoded(np.full((8, 8 * 72), 128, np.uint8), cv2.IMWRITE_JPEG_OPTIMIZE, 1)
    assert flat[flat.index(SCAN) + 10 :] == bytes(18) + b"\xff\xd9"
    assert assert_as_on_host(device, [flat] * 2, unit_bits=143) == []


def test_batches_are_decoded_in_launches_of_bounded_memory(device, monkeypatch):
    files = [draw_file(np.random.default_rng(seed), most=60) for seed in range(12)]
    monkeypatch.setattr(on_device, "MAX_BLOCKS", 30)
    assert assert_as_on_host(device, files) == []
    assert list(on_device._launches([10, 25, 40, 0, 3])) == [(0, 1), (1, 2), (2, 3), (3, 5)]
    assert list(on_device._launches([15, 15, 14, 16, 30, 1])) == [(0, 2), (2, 4), (4, 5), (5, 6)]
    assert list(on_device._launches([])) == []


def test_an_empty_batch_is_ordinary(device):
    assert len(decoded(device, []).batch) == 0


def test_files_are_read_and_packed_without_python():
    file = encoded(photograph(20, 30))

    def calls(count):
        profile = cProfile.Profile()
        with profile:
            planes_on_device([file] * count, torch.device("cpu"), RULES)
        return sum(entry.callcount for entry in profile.getstats())

    calls(1)  # threads begin
    # The pool of buffers looks at each size that it has, of which other tests leave some.
    assert calls(160) - calls(60) <= 100 * 2 + 20


def test_the_error_of_the_first_bad_header_comes_first():
    good = encoded(photograph(20, 30))
    damaged, text, large = good[:300] + b"\xff\xd9", b"text", encoded(photograph(200, 300))
    rules = FileRules(max_pixels=10_000)
    for files in ([good, damaged, large, text], [damaged, text, large], [good, damaged]):
        found = outcome(lambda files=files: planes_on_device(files, torch.device("cpu"), rules).batch)
        assert isinstance(found, str)
        assert found == outcome(lambda files=files: planes_on_host(files, rules))


def damage(data, chance):
    """The file with flipped bits, a gap, an insertion, another restart marker or a cut."""
    at = chance.randrange(min(data.index(SCAN) + 8, len(data) - 3), len(data) - 2)
    kind = chance.randrange(6)
    if kind == 0:
        return flipped(data, chance)
    if kind == 1:  # in the scan only
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[at + chance.randrange(1, 5) :]
    if kind == 3:
        return data[:at] + chance.randbytes(chance.randrange(1, 40)) + data[at:]
    if kind == 4:
        return data[:at] + b"\xff" + bytes([0xD0 + chance.randrange(10)]) + data[at:]
    return data[:at] + b"\xff\xd9"


def outcome(decode):
    """The planes, or the message of the error."""
    try:
        batch = decode()
    except ValueError as error:
        return str(error)
    table = batch.host_table.tolist()
    return table, [buffer.cpu().numpy().tobytes() for buffer in batch.image_buffers()]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("on_damage", ["raise", "keep"])
def test_damaged_files_have_the_verdict_and_bytes_of_the_host(device, seed, on_damage):
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    rules = FileRules(max_pixels=10_000, on_damage=on_damage)
    for _ in range(12):
        data = damage(draw_file(rng, most=80), chance)
        found = outcome(lambda data=data: decoded(device, [data], rules).batch)
        assert found == outcome(lambda data=data: planes_on_host([data], rules)), data.hex()


@pytest.mark.parametrize("seed", range(6))
def test_hostile_files_have_the_bytes_of_the_host_or_a_flag(device, seed):
    files = list(islice(hostile_files(seed), 64))
    found = outcomes(files, device) + outcomes(files, device, unit_bits=1 << 20)
    assert all(found[kind] > 10 for kind in ("left", "flagged", "decoded"))


def test_fill_bytes_before_markers_are_skipped(device):
    data = encoded(photograph(40, 60), cv2.IMWRITE_JPEG_RST_INTERVAL, 3)
    filled = data[:-2] + b"\xff\xff" + data[-2:]
    filled = filled.replace(b"\xff\xd1", b"\xff\xff\xff\xd1")
    assert assert_as_on_host(device, [data, filled]) == []


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_empty_segment_is_damage(device, empty):
    data = encoded(photograph(20, 60), cv2.IMWRITE_JPEG_RST_INTERVAL, 3)
    ends = [data.index(bytes((0xFF, 0xD0 + n))) for n in range(2)] + [len(data) - 2]
    begins = [data.index(SCAN) + 14, ends[0] + 2, ends[1] + 2]
    cut = data[: begins[empty]] + data[ends[empty] :]
    for on_damage in ("raise", "keep"):
        rules = FileRules(on_damage=on_damage)
        found = outcome(lambda rules=rules: decoded(device, [cut], rules).batch)
        assert found == outcome(lambda rules=rules: planes_on_host([cut], rules))
    assert "damaged" in outcome(lambda: decoded(device, [cut]).batch)


@pytest.mark.parametrize(
    ("marker", "changes"),
    [
        (b"\xff\xc0", {11: 0x22, 14: 0x22, 17: 0x22}),  # sampling factors
        (b"\xff\xc0", {14: 0x21}),
        (b"\xff\xc0", {17: 0x12}),
        (SCAN, {10: 0x01}),  # tables of Cr
        (SCAN, {10: 0x10}),
    ],
)
def test_unusual_components_are_left_to_the_host(device, marker, changes):
    data = bytearray(encoded(photograph(20, 30), sampling="444"))
    start = data.index(marker)
    for offset, value in changes.items():
        data[start + offset] = value
    assert scan_size(bytes(data)) is None
    found = outcome(lambda: decoded(device, [bytes(data)]).batch)
    assert found == outcome(lambda: planes_on_host([bytes(data)], RULES))


def test_four_components_without_a_color_space_are_left_to_the_host(device):
    data = saved(Image.fromarray(photograph(20, 30)).convert("CMYK"))
    adobe = data.index(b"\xff\xee")
    data = data[:adobe] + data[adobe + 2 + data[adobe + 3] :]
    assert scan_size(data) is None
    assert assert_as_on_host(device, [data]) == [0]


@pytest.mark.parametrize(("back", "value"), [(3, 1), (2, 62), (1, 1)])  # first and last index, bits
def test_a_scan_of_other_coefficients_is_left_to_the_host(device, back, value):
    data = bytearray(encoded(photograph(20, 30)))
    end = data.index(SCAN) + 2 + data[data.index(SCAN) + 3]
    data[end - back] = value
    assert scan_size(bytes(data)) is None
    found = outcome(lambda: decoded(device, [bytes(data)]).batch)
    assert found == outcome(lambda: planes_on_host([bytes(data)], RULES))


@pytest.mark.parametrize("marker", [0xD0, 0xD7, 0xD8, 0xDA, 0xE0, 0x01])
def test_another_marker_than_that_of_the_end_is_damage(device, marker):
    data = encoded(photograph(20, 60))[:-2] + bytes((0xFF, marker))
    assert pack_scan(data, np.empty(scan_size(data).most_bytes, np.uint8).ctypes.data) == 0
    for on_damage in ("raise", "keep"):
        rules = FileRules(on_damage=on_damage)
        found = outcome(lambda rules=rules: decoded(device, [data], rules).batch)
        assert found == outcome(lambda rules=rules: planes_on_host([data], rules))


@pytest.mark.parametrize(
    ("table", "offset", "value"),
    [
        (0x00, 16 + 11, 200),
        (0x00, 16 + 11, 16),
        (0x00, 0, 3),
        (0x10, 0, 3),
        (0x11, 1, 9),
    ],  # a symbol of DC; too many codes
)
def test_tables_that_libjpeg_refuses_are_left_to_the_host(device, table, offset, value):
    data = bytearray(encoded(photograph(40, 60)))
    start = next(i for i in range(len(data)) if data[i : i + 2] == b"\xff\xc4" and data[i + 4] == table) + 5
    if offset < 16:  # as many codes as before
        most = max(range(16), key=lambda i: data[start + i])
        data[start + most] -= value - data[start + offset]
    data[start + offset] = value
    found = outcome(lambda: decoded(device, [bytes(data)]).batch)
    assert found == outcome(lambda: planes_on_host([bytes(data)], RULES))
    assert scan_size(bytes(data)) is None


def gray_blocks(*blocks, step=1):
    """A file of gray blocks of these bits, in a row, with the Huffman tables of T.81, K.3."""
    bits = "".join(blocks)
    data = bytearray(encoded(np.zeros((8, 8 * len(blocks)), np.uint8)))
    start = data.index(b"\xff\xdb") + 5
    data[start : start + 64] = bytes([step]) * 64
    scan = bytes(int(bits[i : i + 8].ljust(8, "1"), 2) for i in range(0, len(bits), 8))
    return bytes(data[: data.index(SCAN) + 10]) + scan.replace(b"\xff", b"\xff\0") + b"\xff\xd9"


DC_0, END, SIXTEEN_ZEROS = "00", "1010", "11111111001"
LARGE_DC, LARGE_AC = "111111110" + "1" * 11, "1111111110000011" + "1" * 10  # 2047 and 1023


@pytest.mark.parametrize(
    "file",
    [
        gray_blocks(DC_0 + SIXTEEN_ZEROS * 4),  # past the last coefficient
        gray_blocks(DC_0 + SIXTEEN_ZEROS * 3 + "1" * 17 + END),  # no code
        gray_blocks("1" * 40),
        gray_blocks(LARGE_DC + END, step=5),  # a coefficient beyond 8191
        gray_blocks(LARGE_DC + END, step=3),  # the first pass
        gray_blocks(DC_0 + LARGE_AC * 8 + END, step=8),
        gray_blocks(DC_0 + END, DC_0 + END, DC_0 + END)[:-4] + b"\xff\xd9",  # short
        gray_blocks(*[DC_0 + END] * 4)[:-2] + b"\0\xff\xd9",  # 8 bits too long
    ],
)
def test_what_the_kernels_do_not_know_is_flagged(device, file):
    assert outcome(lambda: decoded(device, [file]).batch) == outcome(lambda: planes_on_host([file], RULES))
    good = encoded(photograph(20, 30))
    if not isinstance(outcome(lambda: planes_on_host([file], RULES)), str):
        assert assert_as_on_host(device, [good, file, good]) == [1]


def test_the_public_functions_take_a_device(device):
    files = [
        saved(Image.fromarray(photograph(33, 50)), 6),
        saved(Image.fromarray(photograph(8, 9)), format="PNG"),
    ]
    where = "cuda" if device.name == "cuda" else "cpu"
    with device.active():
        images = decode_jpeg(files, device=where)
    assert images.device.type == decode_planes(files, device=where).device.type == where
    for image, data in zip(images.numpy(), files, strict=True):
        assert np.array_equal(image, decode_image(data))
    with pytest.raises(ValueError, match="pixels"):
        decode_jpeg(files, device=where, max_pixels=100)


@pytest.mark.parametrize(("size", "sampling"), [((2, 3), "gray"), ((3, 2), "gray"), ((5, 1), "420")])
def test_an_image_that_the_host_decoded_leaves_the_others_as_they_are(size, sampling):
    batch = YCbCrBatch.of_sizes([(2, 3), (4, 2), (2, 3)], ["gray"] * 3)
    image = YCbCrBatch.of_sizes([size], [sampling], [6])
    image.buffer.fill_(9)
    for row, buffer in enumerate(batch.image_buffers()):
        buffer.fill_(row)
    result = on_device._replaced(batch, {1: image})
    assert result.host_table[:, 1:5].tolist() == [
        [2, 3, 1, 1],
        image.host_table[0, 1:5].tolist(),
        [2, 3, 1, 1],
    ]
    assert [buffer.unique().tolist() for buffer in result.image_buffers()] == [[0], [9], [2]]


def test_planes_are_decoded_on_the_device_of_the_call(monkeypatch):
    asked = []
    monkeypatch.setattr(on_device, "check_not_forked", asked.append)
    monkeypatch.setattr(
        on_device, "planes_on_device", lambda *arguments: asked.append(arguments) or Decoded("planes", [])
    )
    options = {"max_pixels": 5, "on_damage": "keep", "apply_exif_orientation": False}
    assert decode_planes([b"file"], device="cuda", **options) == "planes"
    assert asked == ["decode_planes", ([b"file"], torch.device("cuda"), FileRules(5, "keep", False))]
