"""Vectorized rows have the bits of rows computed pixel by pixel.

ORBBEC_SIMD selects the level; a processor without it uses its best level.
"""

import pytest
import torch

from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.samples import DTYPES
from tests.support.warps import ARITHMETICS, BORDERS, WARPS, random_warps, warp

# Below, at and above vectors of 8 and 16 and blocks of 16 columns.
WIDTHS = (1, 7, 8, 15, 16, 17, 31, 33, 130)
VECTORS = ("avx2", "avx512")
# Output to source: shifts, flips, scales, one pixel for all, and positions far outside or not finite.
AXIS_ALIGNED = (
    [[1, 0, -5], [0, 1, 7]],
    [[1, 0, 4], [0, 1, 3]],
    [[-1, 0, 40], [0, -1, 19]],
    [[1.7, 0, -9.3], [0, 0.4, 2.2]],
    [[-0.3, 0, 33.4], [0, 2.1, -8]],
    [[0, 0, 3], [0, 0, 4]],
    [[1, 0, 400], [0, 1, 0]],
    [[1e30, 0, 0], [0, 1e38, 2]],
    [[1, 0, float("nan")], [0, 1, 2]],
)
pytestmark = pytest.mark.sanitized


def assert_vectors_change_nothing(monkeypatch, call):
    monkeypatch.setenv("ORBBEC_SIMD", "scalar")
    expected = call()
    for level in VECTORS:
        monkeypatch.setenv("ORBBEC_SIMD", level)
        assert_same_bytes(call(), expected)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_vectors_change_nothing(monkeypatch, op, dtype, interpolation, arithmetic):
    for width in WIDTHS:
        source, target = (21, 3 + width), (5, width)
        maps = random_warps(op, source, target, 2, seed=width)
        for channels in (1, 3, 4, 5):
            images = photographs(2, channels, *source, dtype)
            before = photographs(2, channels, *target, dtype, seed=1)
            for border in BORDERS:
                options = {
                    "interpolation": interpolation,
                    "arithmetic": arithmetic,
                    "border": border,
                    "fill": 3.5,
                }

                def call(images=images, maps=maps, target=target, before=before, options=options):
                    return warp(op, images, maps, target, out=before.clone(), **options)

                assert_vectors_change_nothing(monkeypatch, call)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32], ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("last", [False, True])
def test_vectors_change_nothing_in_any_layout(monkeypatch, op, dtype, channels, last):
    images = photographs(2, channels, 64, 70, dtype)
    if last:
        images = images.contiguous(memory_format=torch.channels_last)
    maps = random_warps(op, (64, 70), (37, 130), 2)
    fill = tuple(range(channels))
    for given in (images, images[..., 1:-1, 3:], images[..., ::2]):

        def call(given=given):
            return warp(op, given, maps, (37, 130), fill=fill)

        assert_vectors_change_nothing(monkeypatch, call)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_vectors_change_nothing_for_variable_size_images(monkeypatch, op, channels):
    sizes = [(1, 1), (2, 2), (1, 40), (40, 1), (33, 47), (64, 64)]
    batch = ImageBatch.from_images([photograph(*size, channels) for size in sizes])
    maps = random_warps(op, (30, 30), (37, 130), len(sizes))
    for border in ("constant", "replicate", "wrap"):

        def call(border=border):
            return warp(op, batch, maps, (37, 130), border=border, fill=9)

        assert_vectors_change_nothing(monkeypatch, call)


@pytest.mark.parametrize(
    "matrix", [[1e9, 0, 0, 0, 1e9, 0], [1, 0, 2e9, 0, 1, 0], [1, 0, float("nan"), 0, 1, 0]]
)
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
def test_vectors_change_nothing_far_outside(monkeypatch, matrix, border):
    images, matrix = photographs(2, 3, 20, 30), torch.tensor(matrix, dtype=torch.float64).view(2, 3)

    def call():
        return warp("warp_affine", images, matrix, (9, 70), inverse=True, border=border, fill=77)

    assert_vectors_change_nothing(monkeypatch, call)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("border", ["constant", "transparent"])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_vectors_keep_the_sign_of_zero(monkeypatch, op, interpolation, border, arithmetic):
    images, maps = photographs(1, 3, 9, 9, torch.float32), random_warps(op, (9, 9), (40, 70))
    before = torch.full((1, 3, 40, 70), -0.0)
    options = {"interpolation": interpolation, "border": border, "arithmetic": arithmetic, "fill": -0.0}

    def call():
        return warp(op, images, maps, (40, 70), out=before.clone(), **options)

    assert_vectors_change_nothing(monkeypatch, call)


@pytest.mark.parametrize("op", ["warp_affine", "warp_perspective"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("border", BORDERS)
def test_vectors_change_nothing_in_axis_aligned_warps(monkeypatch, op, dtype, arithmetic, border):
    maps = torch.tensor(AXIS_ALIGNED, dtype=torch.float64)
    if op == "warp_perspective":
        maps = torch.nn.functional.pad(maps, (0, 0, 0, 1))
        maps[:, 2, 2] = 1
    options = {"interpolation": "nearest", "arithmetic": arithmetic, "border": border, "fill": 3.5}
    for channels in (1, 3, 4, 5):
        images = photographs(len(maps), channels, 21, 44, dtype)
        before = photographs(len(maps), channels, 30, 57, dtype, seed=1)
        last = torch.channels_last
        for source, out in (
            (images, before),
            (images.contiguous(memory_format=last), before.contiguous(memory_format=last)),
            (images[..., ::2], before),
        ):

            def call(source=source, out=out):
                return warp(op, source, maps, (30, 57), out=out.clone(), inverse=True, **options)

            assert_vectors_change_nothing(monkeypatch, call)
