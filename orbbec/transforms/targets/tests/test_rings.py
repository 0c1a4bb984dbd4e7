"""Rings of polygons, compared with shapely."""

import numpy as np
import pytest
import torch

shapely = pytest.importorskip("shapely")
from shapely import affinity

from orbbec import transforms as T
from orbbec.plan.points import forward_of
from orbbec.transforms.targets.tests.test_targets import MAPS

HEIGHT, WIDTH = 60, 80
PART = [[5.0, 6.0], [60.0, 8.0], [70.0, 50.0], [12.0, 44.0]]
HOLE = [[20.0, 15.0], [20.0, 30.0], [40.0, 30.0], [40.0, 15.0]]
BOW_TIE = [[10.0, 10.0], [66.0, 40.0], [66.0, 8.0], [10.0, 50.0]]
LINE = [[10.0, 10.0], [40.0, 40.0], [20.0, 20.0]]
POINT = [[33.0, 21.0]]
AFFINE = ["flip", "crop", "rotation", "expand", "affine", "pad", "letterbox", "zoom out", "two passes"]


def even_odd(rings):
    """The set of positions that an odd number of rings surround."""
    union = shapely.Polygon()
    for ring in rings:
        if len(ring) > 2:
            union = union.symmetric_difference(shapely.make_valid(shapely.Polygon(ring)))
    return union


def polygons_of(name, polygons, seed=0):
    compose = T.Compose(MAPS[name], seed=seed)
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    plan = compose.plan([(HEIGHT, WIDTH)], sample_ids=[0], epoch=0)
    _, target = compose(image, {"polygons": polygons}, epoch=0)
    return plan, target["polygons"]


@pytest.mark.parametrize("name", AFFINE)
@pytest.mark.parametrize("rings", [[PART, HOLE], [BOW_TIE], [PART, BOW_TIE, LINE]])
@pytest.mark.parametrize("seed", range(3))
def test_rings_surround_what_shapely_moves_and_clips(name, rings, seed):
    plan, (actual,) = polygons_of(name, [[np.array(ring) for ring in rings]], seed)
    a, b, x, c, d, y = forward_of(plan.matrix)[0][:2].reshape(-1)
    shift = np.array([[a, b], [c, d]]) @ [-0.5, -0.5] + 0.5  # pixel positions to edges
    whole = affinity.affine_transform(even_odd(rings), [a, b, c, d, x + shift[0], y + shift[1]])
    height, width = plan.output_sizes[0].tolist()
    expected = whole.intersection(shapely.box(0, 0, width, height))
    assert len(actual) == len(rings)
    assert expected.area > 0
    # 3.3e-12 seen, of areas up to 4,000; shapely 2.2.0.
    assert even_odd(actual).symmetric_difference(expected).area < 1e-9


@pytest.mark.parametrize("name", MAPS)
def test_no_ring_is_lost(name):
    rings = [np.array(ring) for ring in (PART, POINT, BOW_TIE, LINE)]
    rings.append(np.zeros((0, 2)))
    _, (several, one) = polygons_of(name, [rings, np.array(PART)])
    assert [ring.ndim for ring in several] == [2] * 5
    assert len(several[4]) == 0
    assert len(several[0]) > 2
    assert np.array_equal(several[0], one)


def test_lists_of_coco_are_rings():
    flat = [np.ravel(PART).tolist(), np.ravel(HOLE).tolist()]
    _, (actual, _) = polygons_of("flip", [flat, PART])
    _, (expected, points) = polygons_of("flip", [[np.array(PART), np.array(HOLE)], np.array(PART)])
    assert all(map(np.array_equal, actual, expected))
    assert np.array_equal(points, expected[0])


def test_a_ring_outside_the_image_is_empty():
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    outside = np.array(HOLE) + 500
    _, target = T.Compose([T.CenterCrop(40)])(image, {"polygons": [[outside, np.array(PART)]]})
    assert list(map(len, target["polygons"][0])) == [0, 4]


@pytest.mark.parametrize(
    ("ring", "message"),
    [
        (np.array([[1.0, np.nan], [3.0, 4.0]]), "expected finite rings of polygon 1 of image 0"),
        (np.zeros((4, 3)), r"expected rings of polygon 1 of image 0 of shape \[P, 2\], but got \[4, 3\]"),
        ([[1.0, 2.0, 3.0]], r"of shape \[P, 2\], but got \[3\]"),
        ([[1.0, 2.0, "x", 4.0]], "expected rings of polygon 1 of image 0 as numbers"),
        ([torch.zeros(4, 2), torch.full((3, 2), torch.inf)], "expected finite rings of polygon 1"),
    ],
)
def test_what_is_no_ring_is_named(ring, message):
    image = torch.zeros(3, HEIGHT, WIDTH)
    with pytest.raises(ValueError, match=message):
        T.Compose([T.CenterCrop(40)])(image, {"polygons": [np.array(PART), ring]})
