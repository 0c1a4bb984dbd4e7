"""Rows of images that scale, with a fill around them: vectors give the bytes of scalar code."""

import pytest
import torch

from tests.support import assert_same_bytes
from tests.support.augments import fused as augment

# One permutation reads 16 columns of packed RGB up to a scale of 2.5, and of planes up to 8.
SCALES = [0.3, 1.25, -1.25, 2.5, 2.7, 9.0]
DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float32]


def drawn(height, width, channels, channels_last):
    image = torch.randint(0, 256, (2, channels, height, width), generator=torch.Generator().manual_seed(0))
    layout = torch.channels_last if channels_last else torch.contiguous_format
    return image.to(torch.uint8).contiguous(memory_format=layout)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_rows_with_a_fill_around_have_the_bytes_of_scalar_code(monkeypatch, level, channels_last, scale):
    images = drawn(37, 90, 3, channels_last)
    shift = 90.0 if scale < 0 else -11.3 * scale
    matrix = torch.tensor([[scale, 0.0, shift], [0.0, abs(scale), -7.0 * abs(scale)]])
    for dtype in DTYPES:
        for width in (64, 320, 331):
            options = {"size": (48, width), "dtype": dtype, "border": "constant", "fill": [7, 114, 200]}
            options |= {} if dtype == torch.uint8 else {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]}
            monkeypatch.setenv("ORBBEC_SIMD", "scalar")
            expected = [augment(images, matrix, channels_last=last, **options) for last in (False, True)]
            monkeypatch.setenv("ORBBEC_SIMD", level)
            for last, reference in zip((False, True), expected, strict=True):
                assert_same_bytes(augment(images, matrix, channels_last=last, **options), reference)


@pytest.mark.sanitized
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("border", ["constant", "replicate"])
def test_the_last_bytes_of_an_image_are_read_and_none_after(monkeypatch, channels, border):
    for height, width in ((1, 2), (2, 3), (3, 16), (2, 43), (5, 130)):
        images = drawn(height, width, channels, channels_last=channels == 3)
        matrix = torch.tensor([[0.9, 0.0, 0.2], [0.0, 0.9, 0.1]])
        options = {"size": (height, width + 3), "dtype": torch.float32, "border": border}
        monkeypatch.setenv("ORBBEC_SIMD", "scalar")
        expected = augment(images, matrix, **options)
        monkeypatch.setenv("ORBBEC_SIMD", "avx512")
        assert_same_bytes(augment(images, matrix, **options), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
def test_columns_of_one_image_serve_no_other_scale(monkeypatch, level):
    # From one call to the next, one thing changes on which the columns depend.
    rgb, planes, wide = drawn(37, 90, 3, True), drawn(37, 90, 3, False), drawn(37, 90, 4, True)
    inputs = [rgb, rgb[:, :2], rgb, planes, planes[:, :1], wide, wide, wide[..., :60]]
    calls = [(images, 64, 1.3, 4.0, "constant") for images in inputs]
    calls += [(wide, width, 1.3, 4.0, "constant") for width in (64, 80, 64)]
    scales = [(1.3, 40.0), (0.7, 40.0), (0.7, -2.0)]
    calls += [(rgb, 64, *scale, border) for scale in scales for border in ("replicate", "constant")]
    results = {}
    for simd in ("scalar", level):
        monkeypatch.setenv("ORBBEC_SIMD", simd)
        results[simd] = [
            augment(
                images,
                torch.tensor([[step, 0.0, start], [0.0, 0.8, 0.1]]),
                size=(48, width),
                dtype=dtype,
                border=border,
            )
            for dtype in (torch.uint8, torch.float32)
            for images, width, step, start, border in calls
        ]
    for actual, expected in zip(results[level], results["scalar"], strict=True):
        assert_same_bytes(actual, expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
def test_columns_before_a_box_are_not_those_of_a_narrow_output(monkeypatch, level):
    images, matrix = drawn(37, 90, 3, True), torch.tensor([[1.3, 0.0, 4.1], [0.0, 0.8, 0.1]])
    box = torch.tensor([[60.0, 0, 1e9, 48, 0, 0, 0, 0]])
    for calls in ([(60, None), (320, box)], [(320, box), (60, None)]):
        results = {}
        for simd in ("scalar", level):
            monkeypatch.setenv("ORBBEC_SIMD", simd)
            results[simd] = [
                augment(images, matrix, size=(48, width), dtype=torch.float32, erase=erase)
                for width, erase in calls
            ]
        for actual, expected in zip(results[level], results["scalar"], strict=True):
            assert_same_bytes(actual, expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("border", ["constant", "replicate"])
def test_boxes_cover_columns_in_the_middle_and_up_to_the_end(monkeypatch, level, channels_last, border):
    images = drawn(37, 90, 3, channels_last)
    matrix = torch.tensor([[0.3, 0.0, -3.0], [0.0, 0.8, 0.1]])
    fills = torch.tensor([0.2, 0.5, 0.9, 0.0])
    rows = [(225.5, 0, 1e9, 48), (0, 5, 1e9, 9), (40, 10, 60.5, 40), (255, 20, 257, 30), (16, 30, 320, 31)]
    for boxes in ([rows[0]], rows[1:], rows[::-1]):
        erase = torch.stack([torch.cat([torch.tensor(box), fills]) for box in boxes]).float()
        for dtype in DTYPES:
            for width in (64, 320, 331):
                options = {"size": (48, width), "dtype": dtype, "border": border, "erase": erase}
                monkeypatch.setenv("ORBBEC_SIMD", "scalar")
                expected = [augment(images, matrix, channels_last=last, **options) for last in (False, True)]
                monkeypatch.setenv("ORBBEC_SIMD", level)
                for last, reference in zip((False, True), expected, strict=True):
                    assert_same_bytes(augment(images, matrix, channels_last=last, **options), reference)
