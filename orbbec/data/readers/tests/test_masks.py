"""Masks of COCO segmentations, compared with pycocotools."""

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
coco = pytest.importorskip("pycocotools.mask")
from hypothesis import strategies as st

from orbbec.data.readers.masks import mask_of

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools

COORDINATE = st.one_of(st.integers(-5, 45).map(float), st.floats(-20, 60, width=32))
POLYGON = st.integers(3, 9).flatmap(
    lambda points: st.lists(COORDINATE, min_size=2 * points, max_size=2 * points)
)


@hypothesis.given(st.lists(POLYGON, min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 40))
@hypothesis.settings(max_examples=200, deadline=None)
def test_polygons_are_those_of_pycocotools(polygons, height, width):
    expected = coco.decode(coco.merge(coco.frPyObjects(polygons, height, width)))
    assert np.array_equal(mask_of(polygons, (height, width)), expected)


@hypothesis.given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(0, 99))
@hypothesis.settings(max_examples=200, deadline=None)
def test_compressed_run_lengths_are_those_of_pycocotools(height, width, fraction, seed):
    mask = (np.random.default_rng(seed).random((height, width)) < fraction).astype(np.uint8)
    runs = coco.encode(np.asfortranarray(mask))
    assert np.array_equal(mask_of(runs, (height, width)), mask)
    text = {"size": runs["size"], "counts": runs["counts"].decode()}
    assert np.array_equal(mask_of(text, (height, width)), mask)


def test_long_runs_take_several_characters():
    mask = np.zeros((700, 900), np.uint8)
    mask[3:690, 50:870] = 1
    assert np.array_equal(mask_of(coco.encode(np.asfortranarray(mask)), (700, 900)), mask)


@pytest.mark.parametrize("segmentation", [[[1, 1, 5, 5]], [[]], [], (), None])
def test_an_object_without_a_polygon_of_three_points_covers_nothing(segmentation):
    mask = mask_of(segmentation, (8, 9))
    assert mask.shape == (8, 9)
    assert not mask.any()


@pytest.mark.parametrize(
    ("segmentation", "message"),
    [
        ("", "expected a segmentation of polygons or run lengths"),
        ([["1", "2", "3", "4", "5", "6"]], "finite x, y pairs"),
        ([[True, False] * 3], "finite x, y pairs"),
        ([None], "finite x, y pairs"),
        ({"size": None, "counts": [25]}, r"of size \[5, 5\], but got None"),
        ({"size": [5, 5], "counts": [2**62, 2**62, 2**62, 2**62, 25]}, "add up to 25 pixels"),
        (5, "but got 5"),
        ([[1, 2, 3, 4, 5]], "finite x, y pairs"),
        ([[1, 2, 3, 4, 5, float("nan")]], "finite x, y pairs"),
        ([[1, 2, 3, 4, 5, -1e300]], "finite x, y pairs"),
        ([[1, 2, 3, 4, 5, 2**2000]], "finite x, y pairs"),
        ([[1, 2, 3, 4, 5, {}]], "finite x, y pairs"),
        ([[1, 2, 3, 4, 5, 1e8]], "an outline of 2000000 pixels at most, but got 19999999"),
        ({"size": [5, 5], "counts": "o" * 1000}, "has one of 65 bits"),
        ([1, 2, 3, 4, 5, 6], "finite x, y pairs"),
        ({"size": [4, 4], "counts": [25]}, r"of size \[5, 5\], but got \[4, 4\]"),
        ({"size": [5, 5], "counts": [24]}, "add up to 25 pixels"),
        ({"size": [5, 5], "counts": [30, -5]}, "add up to 25 pixels"),
        ({"size": [5, 5], "counts": [12.5, 12.5]}, "add up to 25 pixels"),
        ({"size": [5, 5], "counts": "P"}, "truncated"),
        ({"size": [5, 5]}, "add up to 25 pixels"),
    ],
)
def test_malformed_segmentations_are_named(segmentation, message):
    with pytest.raises(ValueError, match=message):
        mask_of(segmentation, (5, 5))
