"""ycbcr_to_rgb worked by hand, on every device and SIMD level, and inside torch, without a decoder."""

import ctypes

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, YCbCrBatch, ycbcr_to_rgb
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.data.decode.orientation import upright
from tests.support import assert_same_bytes

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SIZES = [(1, 1), (1, 6), (6, 1), (3, 4), (5, 5), (7, 13), (16, 17)]


def random_planes(sizes, samplings, orientations=None, seed=0):
    batch = YCbCrBatch.of_sizes(sizes, samplings, orientations)
    batch.buffer.random_(0, 256, generator=torch.Generator().manual_seed(seed))
    return batch


def every_kind(sizes=SIZES):
    """All sizes and samplings, with alternating orientations."""
    pairs = [(size, sampling) for size in sizes for sampling in SAMPLINGS]
    orientations = [1 + n % 8 for n in range(len(pairs))]
    return random_planes(*map(list, zip(*pairs, strict=True)), orientations)


def converted(device, batch):
    images = ycbcr_to_rgb(batch.to("cuda") if device.name == "cuda" else batch)
    assert isinstance(images, ImageBatch)
    assert images.layout.tolist() == images.host_layout.tolist()
    assert images.sizes.tolist() == batch.sizes.tolist()
    return images.numpy()


def one_image(device, sampling, luma, cb, cr):
    """The colors of an image given by the rows of its planes."""
    batch = YCbCrBatch.of_sizes([(len(luma), len(luma[0]))], [sampling])
    for plane, rows in zip(batch.planes(0), (luma, cb, cr), strict=True):
        plane.copy_(torch.tensor(rows))
    return converted(device, batch)[0]


def upsampled(device, sampling, height, width, chroma):
    """The upsampled chroma, read from the blue of black pixels: 1.772 times the chroma, rounded."""
    numbers = {round(1.772 * value): value for value in range(128)}
    shown = [[128 + value for value in row] for row in chroma]
    red = [[128] * len(row) for row in chroma]
    image = one_image(device, sampling, [[0] * width] * height, shown, red)
    return [[numbers[blue] for blue in row] for row in image[..., 2].tolist()]


def assert_same_images(actual, expected):
    assert len(actual) == len(expected) > 0
    for one, other in zip(actual, expected, strict=True):
        assert_same_bytes(one, other)


def test_colors_by_hand(device):
    """T.871: R = Y + 1.402 Cr, G = Y - 0.344 Cb - 0.714 Cr, B = Y + 1.772 Cb."""
    image = one_image(
        device, "444", [[100, 100, 100, 250, 0]], [[128, 228, 128, 255, 0]], [[128, 128, 228, 255, 0]]
    )
    expected = [[100, 100, 100], [100, 66, 255], [240, 29, 100], [255, 116, 255], [0, 135, 0]]
    assert image.tolist() == [expected]


def test_halved_columns_by_hand(device):
    """(3 own + other + 1) / 4 on the left of a column, + 2 on its right, rounded down; own at both ends."""
    assert upsampled(device, "422", 1, 6, [[0, 12, 36]]) == [[0, 3, 9, 18, 30, 36]]
    assert upsampled(device, "422", 1, 5, [[0, 12, 36]]) == [[0, 3, 9, 18, 30]]


def test_halved_rows_by_hand(device):
    """The rule of columns, also for few rows."""
    assert upsampled(device, "440", 6, 1, [[0], [12], [36]]) == [[0], [3], [9], [18], [30], [36]]
    assert upsampled(device, "440", 3, 2, [[0, 8], [12, 8]]) == [[0, 8], [3, 8], [9, 8]]


def test_halved_rows_and_columns_by_hand(device):
    """Rows make 0 64 128, 64 128 192, 192 256 320, 256 320 384 of 16 parts; columns as above, + 8 and + 7."""
    assert upsampled(device, "420", 4, 6, [[0, 16, 32], [64, 80, 96]]) == [
        [0, 4, 12, 20, 28, 32],
        [16, 20, 28, 36, 44, 48],
        [48, 52, 60, 68, 76, 80],
        [64, 68, 76, 84, 92, 96],
    ]
    assert upsampled(device, "420", 1, 5, [[0, 16, 32]]) == [[0, 4, 12, 20, 28]]


def test_two_columns_are_not_blended(device):
    assert upsampled(device, "422", 2, 4, [[0, 40], [80, 120]]) == [[0, 0, 40, 40], [80, 80, 120, 120]]
    expected = [[0, 0, 40, 40], [0, 0, 40, 40], [80, 80, 120, 120]]
    assert upsampled(device, "420", 3, 4, [[0, 40], [80, 120]]) == expected


def test_gray_and_rgb_are_kept(device):
    batch = random_planes([(3, 5), (3, 5)], ["gray", "rgb"])
    gray, rgb = converted(device, batch)
    assert (gray == batch.planes(0)[0].numpy()[:, :, None]).all()
    assert (rgb == batch.planes(1)[0].numpy()).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_images_are_turned(device, sampling):
    for height, width in ((5, 8), (3, 1)):
        batch = random_planes([(height, width)] * 8, [sampling] * 8, list(range(1, 9)))
        for n in range(8):
            batch.image_buffers()[n].copy_(batch.image_buffers()[0])
        first, *_ = images = converted(device, batch)
        assert_same_images(images, [upright(first, way) for way in range(1, 9)])


def test_variable_size_images_are_converted_one_by_one(device):
    batch = every_kind(SIZES[::3])
    images = converted(device, batch)
    for n, (offset, *_, way) in enumerate(batch.host_table[:, :5].tolist()):
        height, width, form = batch.host_table[n, 1:4].tolist()
        alone = YCbCrBatch.of_sizes([(height, width)], [SAMPLINGS[form]], [way])
        alone.image_buffers()[0].copy_(batch.buffer[offset : offset + alone.image_buffers()[0].numel()])
        assert_same_images([images[n]], converted(device, alone))


def test_ycbcr_to_rgb_is_the_same_on_every_device(accelerator):
    batch = every_kind([*SIZES, (33, 1100)])
    expected = ycbcr_to_rgb(batch).numpy()
    with accelerator.active():
        assert_same_images(converted(accelerator, batch), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_ycbcr_to_rgb_is_the_same_on_every_machine(monkeypatch, level):
    batch = every_kind([*SIZES, (40, 511), (9, 512), (4, 513), (3, 1100)])
    expected = ycbcr_to_rgb(batch).numpy()
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_images(ycbcr_to_rgb(batch).numpy(), expected)


BOXES = {  # of an image of 20 x 150: left, top, right, bottom
    "whole": (0, 0, 150, 20),
    "inside": (19, 5, 131, 12),
    "a pixel": (149, 19, 150, 20),
    "beyond": (-(2**40), 15, 2**40, 2**40),
    "nothing": (10, 10, 10, 15),
    "reversed": (15, 15, 5, 5),
}


UNWRITTEN = (0xFE, 0xCB)  # of new memory: by glibc, and by AddressSanitizer as tests/emulation/run.py sets it
_M_PERTURB = -6


@pytest.fixture
def filled():
    """New memory of the host has bytes that show."""
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(_M_PERTURB, 0x01)  # the complement
    yield
    mallopt(_M_PERTURB, 0)


def assert_only_converted(part, box, image, device):
    """Up to 3 more columns of the stored image are converted, not more."""
    left, top, right, bottom = box
    assert_same_bytes(part[top:bottom, left:right], image[top:bottom, left:right])
    if device.name == "cuda":  # new memory has any bytes
        return
    is_written = ~np.isin(part, UNWRITTEN).all(-1)
    is_written[top:bottom, left:right] = False
    assert is_written.sum() <= 3 * max(bottom - top, right - left, 0)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("box", BOXES)
def test_only_boxes_are_converted(device, box, level, monkeypatch, filled):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    inside = [min(max(side, 0), size) for side, size in zip(BOXES[box], (150, 20) * 2, strict=True)]
    sizes = [(20, 150)] * 4 + [(150, 20)] * 4
    for sampling in SAMPLINGS:
        batch = random_planes(sizes, [sampling] * 8, list(range(1, 9)))
        whole = converted(device, batch)
        there = batch.to("cuda") if device.name == "cuda" else batch
        parts = ycbcr_to_rgb(there, boxes=np.array([BOXES[box]] * 8)).numpy()
        for part, image in zip(parts, whole, strict=True):
            assert_only_converted(part, inside, image, device)


@pytest.mark.parametrize("shape", [(4,), (1, 4), (2, 3)])
def test_boxes_of_another_shape_are_named(shape):
    batch = random_planes([(2, 3), (4, 5)], ["420", "rgb"])
    with pytest.raises(ValueError, match=r"ycbcr_to_rgb: expected boxes of shape \[2, 4\], but got"):
        ycbcr_to_rgb(batch, boxes=np.zeros(shape, np.int64))


def test_ycbcr_to_rgb_of_nothing(device):
    assert converted(device, YCbCrBatch.of_sizes([], [])) == []


def test_ycbcr_to_rgb_names_what_is_no_batch_of_planes():
    with pytest.raises(TypeError, match="ycbcr_to_rgb: expected planes as a YCbCrBatch, but got Tensor"):
        ycbcr_to_rgb(torch.zeros(3))


def arguments_of(batch):
    return [batch.buffer, batch.layout, batch.forms, batch.rgb_layout, batch.rgb_bytes]


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, torch.zeros(4, 4).byte(), "expected a flat contiguous uint8 buffer"),
        (0, torch.zeros(4), "expected a flat contiguous uint8 buffer"),
        (1, torch.zeros(2, 4).long(), r"expected layout as contiguous int64 \[N, 3\]"),
        (2, torch.zeros(2, 3).long(), r"expected forms of shape \[2, 2\], but got \[2, 3\]"),
        (2, torch.zeros(1, 2).long(), r"expected forms of shape \[2, 2\], but got \[1, 2\]"),
        (2, torch.zeros(2, 2), "expected forms as contiguous int64"),
        (3, torch.zeros(1, 3).long(), r"expected rgb_layout of shape \[2, 3\], but got \[1, 3\]"),
        (3, torch.zeros(2, 3), r"expected layout as contiguous int64 \[N, 3\]"),
        (4, -1, r"expected nbytes from 0 to 2\^59, but got -1"),
        (4, 2**60, r"expected nbytes from 0 to 2\^59"),
        (5, torch.zeros(2, 4), "expected boxes as contiguous int64"),
        (5, torch.zeros(1, 4).long(), r"expected boxes of shape \[2, 4\], but got \[1, 4\]"),
    ],
)
def test_the_operator_names_the_bad_argument(device, index, value, message):
    arguments = arguments_of(random_planes([(2, 3), (4, 5)], ["420", "rgb"]))
    arguments.append(torch.zeros(2, 4).long())
    arguments[index] = value
    arguments = [device.put(value) if isinstance(value, torch.Tensor) else value for value in arguments]
    with pytest.raises((ValueError, RuntimeError), match=message):
        torch.ops.orbbec.ycbcr_to_rgb(*arguments)


NUMBERS = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 4, 5, 8, 9, 64, 2**31 - 1, 2**31, 2**62, 2**63 - 1])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.lists(st.lists(NUMBERS, min_size=8, max_size=8), min_size=1, max_size=4),
    size=st.integers(0, 100),
    nbytes=st.integers(0, 200),
)
def test_tables_that_do_not_fit_write_nothing_elsewhere(device, table, size, nbytes):
    """The device reads them, so the host cannot check them."""
    layout, forms, rgb_layout = (
        device.put(part.contiguous()) for part in torch.split(torch.tensor(table), [3, 2, 3], 1)
    )
    planes = device.put(torch.zeros(size, dtype=torch.uint8))
    assert torch.ops.orbbec.ycbcr_to_rgb(planes, layout, forms, rgb_layout, nbytes).shape == (nbytes,)


@pytest.mark.parametrize("column", range(8))
def test_an_image_whose_tables_do_not_fit_is_left_out(device, column):
    """The second of two images is outside, of an unknown kind, or differs in size from its output."""
    batch = random_planes([(2, 3), (4, 5)], ["444", "444"])
    expected = converted(device, batch)[0]
    wrong = {0: 2**40, 1: 400, 2: 9, 3: 6, 4: 9, 5: -1, 6: 3, 7: 4}[column]
    tables = [table.clone() for table in (batch.layout, batch.forms, batch.rgb_layout)]
    part, at = (0, column) if column < 3 else (1, column - 3) if column < 5 else (2, column - 5)
    tables[part][1, at] = wrong
    output = torch.ops.orbbec.ycbcr_to_rgb(
        device.put(batch.buffer), *map(device.put, tables), batch.rgb_bytes
    )
    assert_same_bytes(output[:18].cpu().view(2, 3, 3), torch.from_numpy(expected))


def test_ycbcr_to_rgb_passes_opcheck(device):
    # One image of 64 bytes, so that all of the output is written.
    batch = random_planes([(8, 8)], ["420"])
    arguments = [
        device.put(value) if isinstance(value, torch.Tensor) else value for value in arguments_of(batch)
    ]
    arguments[-1] = 3 * 64
    torch.library.opcheck(torch.ops.orbbec.ycbcr_to_rgb.default, tuple(arguments))


def test_ycbcr_to_rgb_compiles_as_one_graph(device):
    batch = random_planes([(8, 8)], ["420"])
    arguments = [
        device.put(value) if isinstance(value, torch.Tensor) else value for value in arguments_of(batch)
    ]
    arguments[-1] = 3 * 64
    compiled = torch.compile(
        lambda *given: torch.ops.orbbec.ycbcr_to_rgb(*given) + 1, fullgraph=True, backend="aot_eager"
    )
    assert_same_bytes(compiled(*arguments), torch.ops.orbbec.ycbcr_to_rgb(*arguments) + 1)


@pytest.mark.cuda
def test_ycbcr_to_rgb_is_captured_in_a_graph():
    batch = every_kind().to("cuda")
    expected = ycbcr_to_rgb(batch).numpy()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        images = ycbcr_to_rgb(batch)
    graph.replay()
    assert_same_images(images.numpy(), expected)
