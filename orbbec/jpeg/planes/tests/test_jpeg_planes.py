"""The operator refuses bad arguments, and flags tables and scans that it cannot trust."""

import random
import struct

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

from orbbec import YCbCrBatch
from orbbec.data.decode.native import pack_scan, scan_size
from orbbec.jpeg.planes import jpeg_planes
from tests.support import photograph
from tests.support.damage.damage import huge
from tests.support.peers.jpegs import encoded

BAD_SCAN = 1
HEADER = struct.Struct("III")  # bytes, segments and MCUs per segment of a packed scan
FIRST = 3 * 128 + 4 * 272  # the tables are before it
BEGINS = FIRST + 16  # the offsets of the segments


def packed(height=40, width=50, sampling="420", interval=0):
    """A packed scan, and the arguments that follow it."""
    options = [cv2.IMWRITE_JPEG_RST_INTERVAL, interval, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x221111]
    data = cv2.imencode(".jpg", photograph(height, width), options)[1].tobytes()
    if sampling != "420":
        image = photograph(height, width)
        data = encoded(image[..., 0].copy() if sampling == "gray" else image, 90, sampling)
    size = scan_size(data)
    scans = np.zeros(size.most_bytes, np.uint8)
    scans = scans[: pack_scan(data, scans.ctypes.data)]
    batch = YCbCrBatch.of_sizes([(height, width)], [sampling])
    batch.buffer.zero_()
    return torch.from_numpy(scans), batch, size.blocks


def run(device, scans, batch, blocks, row=None, box=None):
    """The flag and a copy of the planes."""
    row = [0, scans.numel(), 0] if row is None else row
    rows = torch.tensor([[*row, *(box or [0, 0, 10_000, 10_000])]])
    moved = device.put(batch)
    with device.active():
        tables = moved.buffer, moved.layout, moved.forms
        flags = jpeg_planes(device.put(scans), device.put(rows), *tables, blocks, unit_bits=128)
    return flags.tolist()[0], moved.buffer.cpu().clone()


def test_a_file_of_too_many_bytes_or_blocks_is_left_to_the_host():
    image = photograph(40, 50)
    data = encoded(image, 90, "420")
    assert scan_size(data).blocks == 3 * 4 * 6
    assert scan_size(huge("jpeg", data)) is None
    assert scan_size(data + bytes(1 << 21)) is None
    assert scan_size(data[:100]) is None


def test_a_packed_scan_is_decoded(device):
    for interval in (0, 3):
        flag, planes = run(device, *packed(interval=interval))
        assert flag == 0
        assert planes.float().std() > 1


def written(device, sampling, box):
    """Which pixels of the planes of an image of 100 x 130 are written; those have the whole image's bytes."""
    scans, batch, blocks = packed(100, 130, sampling)
    whole = run(device, scans, batch, blocks)[1]
    batch.buffer.copy_(255 - whole)
    flag, planes = run(device, scans, batch, blocks, box=box)
    assert flag == 0
    is_written = planes == whole
    assert torch.equal(planes[~is_written], 255 - whole[~is_written])
    shape = YCbCrBatch.of_sizes([(100, 130)], [sampling])
    shape.buffer.copy_(is_written)
    return shape.planes(0)


BOXES = {  # box, and the blocks of luma that are written
    "inside": ((40, 40, 50, 50), {"444": (4, 4, 7, 7), "420": (4, 4, 8, 8), "gray": (4, 4, 7, 7)}),
    "at an edge": ((0, 0, 14, 14), {"444": (0, 0, 2, 2), "420": (0, 0, 2, 2), "gray": (0, 0, 2, 2)}),
    "neighbors": ((18, 18, 31, 31), {"444": (2, 2, 5, 5), "420": (2, 2, 6, 6), "gray": (2, 2, 5, 5)}),
    "rows": ((0, 64, 130, 66), {"444": (0, 7, 17, 9), "420": (0, 6, 18, 10), "gray": (0, 7, 17, 9)}),
    "beyond": ((-(1 << 62), 99, 1 << 62, 1 << 62), {"444": (0, 12, 17, 13), "420": (0, 12, 18, 14)}),
    "nothing": ((60, 60, 20, 20), {"444": (7, 7, 7, 7), "420": (6, 6, 6, 6)}),
}


@pytest.mark.parametrize(
    ("box", "sampling", "blocks"),
    [(box, sampling, found) for box, expected in BOXES.values() for sampling, found in expected.items()],
)
def test_only_the_blocks_that_a_box_needs_are_transformed(device, box, sampling, blocks):
    left, top, right, bottom = (8 * side for side in blocks)
    luma, *chroma = written(device, sampling, box)
    expected = torch.zeros(100, 130, dtype=torch.uint8)
    expected[top:bottom, left:right] = 1
    assert torch.equal(luma, expected)
    if sampling == "420":
        assert all(torch.equal(plane, expected[::2, ::2]) for plane in chroma)


def test_an_image_without_bytes_is_left_as_it_is(device):
    scans, batch, blocks = packed()
    flag, planes = run(device, scans, batch, blocks, [0, 0, 0])
    assert flag == 0
    assert not planes.any()


@pytest.mark.parametrize(
    "row",
    [
        [-16, 100, 0],
        [8, 100, 0],
        [1 << 40, 100, 0],
        [0, 1 << 40, 0],
        [0, -1, 0],
        [0, 100, 0],
        [16, 2000, 0],
        [0, None, 1],
        [0, None, -1],
        [0, None, 1 << 62],
    ],
)
def test_a_row_that_does_not_fit_is_flagged(device, row):
    scans, batch, blocks = packed()
    row = [scans.numel() if number is None else number for number in row]
    flag, planes = run(device, scans, batch, blocks, row)
    assert flag == BAD_SCAN
    assert not planes.any()


@pytest.mark.parametrize(
    "numbers",
    [(0, 1, 12), (1 << 31, 1, 12), (400, 0, 0), (400, 1, 11), (400, 13, 1), (400, 1 << 31, 1), (8, 1, 12)],
)
def test_a_header_that_does_not_match_is_flagged(device, numbers):
    scans, batch, blocks = packed()
    scans[FIRST : FIRST + 12] = torch.frombuffer(bytearray(HEADER.pack(*numbers)), dtype=torch.uint8)
    assert run(device, scans, batch, blocks)[0] & BAD_SCAN


@pytest.mark.parametrize("begins", [(4, 8), (0, 1 << 29), (0, 0xFFFFFFFF), (0, 40, 30)])
def test_segments_out_of_order_are_flagged(device, begins):
    scans, batch, blocks = packed(interval=3)
    for i, begin in enumerate(begins):
        scans[BEGINS + 4 * i : BEGINS + 4 * i + 4] = torch.tensor(
            list(struct.pack("I", begin)), dtype=torch.uint8
        )
    assert run(device, scans, batch, blocks)[0] & BAD_SCAN


def test_an_image_of_another_size_is_flagged(device):
    scans, _, blocks = packed()
    for size, sampling in (((40, 51), "420"), ((400, 500), "420"), ((40, 50), "444"), ((40, 50), "rgb")):
        batch = YCbCrBatch.of_sizes([size], [sampling])
        flag, _ = run(device, scans, batch, blocks)
        assert flag != 0 or size == (40, 51)  # it has the same MCUs


def test_planes_are_not_written_to_an_rgb_image(device):
    scans, _, blocks = packed(sampling="444")
    assert run(device, scans, YCbCrBatch.of_sizes([(40, 50)], ["444"]), blocks)[0] == 0
    assert run(device, scans, YCbCrBatch.of_sizes([(40, 50)], ["rgb"]), blocks)[0] == BAD_SCAN


def test_a_scan_between_multiples_of_16_is_flagged(device):
    scans, batch, blocks = packed()
    shifted = torch.cat([torch.zeros(8, dtype=torch.uint8), scans])
    assert run(device, shifted, batch, blocks, [8, scans.numel(), 0])[0] == BAD_SCAN


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_give_the_flags_and_planes_of_the_cpu(device, seed):
    from tests.support.device import Device

    chance = random.Random(seed)
    for _ in range(6):
        scans, batch, blocks = packed(
            chance.randint(1, 70), chance.randint(1, 70), interval=chance.choice([0, 1, 5])
        )
        end = chance.choice([BEGINS + 1, len(scans)])
        for _ in range(chance.choice([1, 5, 300])):
            scans[chance.choice([*range(FIRST), *range(BEGINS, end)])] = chance.randrange(256)
        expected = run(Device("cpu"), scans.clone(), batch, blocks)
        batch.buffer.zero_()
        flag, planes = run(device, scans, batch, blocks)
        assert flag == expected[0]
        assert torch.equal(planes, expected[1])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scans", torch.zeros(4, dtype=torch.int32), "expected scans as flat contiguous uint8"),
        ("scans", torch.zeros(2, 2, dtype=torch.uint8), "expected scans as flat contiguous uint8"),
        ("scans", torch.zeros(40, dtype=torch.uint8)[1:], "expected scans at a multiple of 16 bytes"),
        ("files", torch.zeros(2, 7, dtype=torch.int64), r"expected files of shape \[1, 7\]"),
        ("files", torch.zeros(1, 7), "expected files as contiguous int64"),
        ("blocks", -1, "expected blocks from 0 to"),
        ("blocks", 1 << 41, "expected blocks from 0 to"),
        ("unit_bits", 127, "expected unit_bits from 128 to"),
        ("unit_bits", (1 << 24) + 1, "expected unit_bits from 128 to"),
    ],
)
def test_a_bad_argument_is_named(name, value, message):
    scans, batch, blocks = packed()
    arguments = {
        "scans": scans,
        "files": torch.tensor([[0, scans.numel(), 0, 0, 0, 50, 40]]),
        "planes": batch.buffer,
        "layout": batch.layout,
        "forms": batch.forms,
        "blocks": blocks,
        "unit_bits": 4096,
    }
    with pytest.raises(ValueError, match=f"jpeg_planes: {message}"):
        torch.ops.orbbec.jpeg_planes(*(arguments | {name: value}).values())


def test_the_operator_passes_opcheck():
    scans, batch, blocks = packed()
    files = torch.tensor([[0, scans.numel(), 0, 0, 0, 50, 40]])
    arguments = scans, files, batch.buffer, batch.layout, batch.forms, blocks, 4096
    results = torch.library.opcheck(torch.ops.orbbec.jpeg_planes.default, arguments)
    assert set(results.values()) == {"SUCCESS"}
