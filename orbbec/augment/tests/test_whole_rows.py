"""Crops, flips and shifts by whole pixels to floats: vectors give the bytes of scalar code."""

import pytest
import torch

from tests.support import assert_same_bytes
from tests.support.augments import fused as augment

BORDERS = ["constant", "replicate", "reflect101"]
FINISHES = [{}, {"mean": [0.4], "std": [0.3]}]


def drawn(height, width, channels, channels_last):
    image = torch.randint(0, 256, (2, channels, height, width), generator=torch.Generator().manual_seed(0))
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return image.to(torch.uint8).contiguous(memory_format=layout)


def assert_alike(monkeypatch, images, matrix, **options):
    monkeypatch.setenv("ORBBEC_SIMD", "scalar")
    expected = [augment(images, matrix, channels_last=last, **options) for last in (False, True)]
    for level in ("avx2", "avx512"):
        monkeypatch.setenv("ORBBEC_SIMD", level)
        for last, reference in zip((False, True), expected, strict=True):
            assert_same_bytes(augment(images, matrix, channels_last=last, **options), reference)


@pytest.mark.sanitized
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("border", BORDERS)
def test_shifts_and_flips_have_the_bytes_of_scalar_code(monkeypatch, channels_last, channels, border):
    for height, width in ((1, 1), (3, 15), (5, 32), (4, 77)):
        images = drawn(height, width, channels, channels_last)
        for step_x, step_y, left, top in ((1, 1, -4, -1), (-1, 1, width + 2, 1), (1, -1, 3, height - 1)):
            matrix = torch.tensor([[step_x, 0.0, left], [0.0, step_y, top]])
            for finish in FINISHES:
                options = {"size": (height + 1, width + 1), "dtype": torch.float32, "border": border}
                options |= {"interpolation": "nearest", "fill": [114.0]}
                assert_alike(monkeypatch, images, matrix, **options, **finish)


@pytest.mark.sanitized
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("channels_last", [False, True])
def test_boxes_cover_pixels_and_fills_up_to_the_end_of_rows(monkeypatch, channels_last, dtype):
    images = drawn(9, 300, 3, channels_last)
    matrix = torch.tensor([[1.0, 0.0, -5.0], [0.0, 1.0, 0.0]])
    fills = [0.2, 0.5, 0.9, 0.0]
    right, below, inside = [225, 0, 320, 9, *fills], [0, 7, 320, 9, *fills], [200, 1, 230, 4, 1, 0, 1, 0]
    beyond = [[left, 2, left + 9, 5, *fills] for left in (304, 305, 307)]  # the image ends at 305
    lists = [[right], [right, below], [inside, right], [right, inside], [below, [0, 0, 320, 9, *fills]]]
    for boxes in (*lists, *([each] for each in beyond)):
        erase = torch.tensor(boxes, dtype=torch.float32)
        options = {"size": (9, 320), "dtype": dtype, "interpolation": "nearest", "erase": erase}
        assert_alike(monkeypatch, images, matrix, **options)


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_padded_crop_that_is_flipped(channels_last):
    images = drawn(32, 32, 3, channels_last)
    matrix = torch.tensor([[-1.0, 0.0, 29.0], [0.0, 1.0, 3.0]])  # 2 columns and 3 rows outside
    actual = augment(images, matrix, size=(32, 32), dtype=torch.float32, interpolation="nearest")
    padded = torch.nn.functional.pad(images.float(), (0, 0, 0, 3))[:, :, 3:]
    expected = torch.nn.functional.pad(padded.flip(3)[..., 2:], (0, 2))
    assert_same_bytes(actual, expected * (1 / 255))
