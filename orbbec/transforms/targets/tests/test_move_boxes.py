"""`move_boxes` compared with corners that NumPy moves, and its errors."""

import numpy as np
import pytest
import torch

from orbbec.plan.points import areas, carried_edges, clipped, corners_of, forward_of, grown, hulls

KEEP, SCALE, VISIBLE = -1, -2, -3
SIZES = np.array([[40, 60], [25, 30], [64, 64]])
REGIONS = np.array([[5, 3, 45, 33], [0, 0, 20, 25], [10, 12, 60, 40]])


def move(boxes, images, matrices, sizes=SIZES, regions=None, limits=()):
    tensors = (None if each is None else torch.from_numpy(each) for each in (matrices, sizes, regions))
    table = torch.from_numpy(boxes), torch.from_numpy(images)
    return torch.ops.orbbec.move_boxes(*table, *tensors, list(limits)).numpy()


def drawn(rng, count=200, perspective=0.0):
    boxes = np.ones((count, 7))
    boxes[:, :2] = rng.uniform(-20, 60, (count, 2))
    boxes[:, 2:4] = boxes[:, :2] + rng.uniform(0, 40, (count, 2))
    boxes[:, 4:6] = rng.uniform(0.1, 2, (count, 2))
    matrices = np.eye(3) + rng.normal(0, 0.4, (3, 3, 3)) * [[1, 1, 20], [1, 1, 20], [0, 0, 0]]
    matrices[:, 2, :2] = rng.normal(0, perspective, (3, 2))
    return boxes, rng.integers(0, 3, count), matrices


def clip(boxes, sizes, limits, is_last):
    whole = np.where(np.isfinite(boxes[:, :4]).all(1)[:, None], boxes[:, :4], 0.0)
    edges = clipped(whole, sizes)
    left, sides = areas(edges), edges[:, 2:] - edges[:, :2]
    part = np.minimum(left / np.maximum(areas(whole), 1e-12), 1.0)
    visible, scale = boxes[:, VISIBLE] * part, boxes[:, SCALE] * part
    keep = boxes[:, KEEP] != 0
    if limits:
        keep = keep & (left > 0) & (visible >= limits[0] - 1e-9)
        is_large = (sides >= limits[1]).all(1) & (left >= limits[2] * (1 - 1e-9))
        keep = keep & (is_large | (not is_last))
    return np.concatenate([edges, np.stack([visible, scale, keep], 1)], 1)


def expected(boxes, images, matrices, regions, limits):
    boxes = boxes.copy()
    if regions is not None:
        crops = regions[images]
        boxes[:, :4] -= np.tile(crops[:, :2], 2)
        boxes = clip(boxes, (crops[:, 2:] - crops[:, :2])[:, ::-1], limits, False)
    if matrices is not None:
        forward = forward_of(matrices)[images]
        corners = corners_of(boxes[:, :4])
        boxes[:, SCALE] *= grown(forward, corners)
        boxes[:, :4] = hulls(carried_edges(forward, corners))
    return clip(boxes, SIZES[images], limits, True)


@pytest.mark.parametrize("perspective", [0.0, 1e-3, 3e-2])
@pytest.mark.parametrize("regions", [None, REGIONS])
@pytest.mark.parametrize("limits", [(), (0.3, 2.0, 9.0)])
def test_boxes_are_the_clipped_hulls_of_their_corners(perspective, regions, limits):
    boxes, images, matrices = drawn(np.random.default_rng(1), perspective=perspective)
    results = move(boxes, images, matrices, SIZES, regions, limits)
    reference = expected(boxes, images, matrices, regions, limits)
    assert 5 < (results[:, KEEP] != 0).sum() < 201 - 20 * bool(limits)
    # Two inverses of a matrix differ in their last bits: 4e-14 of 40 seeds.
    np.testing.assert_allclose(results, reference, rtol=1e-12, atol=1e-12)


def test_boxes_that_stay_in_place_are_clipped_bit_for_bit():
    boxes, images, _ = drawn(np.random.default_rng(2))
    results = move(boxes, images, None)
    np.testing.assert_array_equal(results, expected(boxes, images, None, None, ()))


def test_whole_numbers_of_a_scale_and_a_flip_are_exact():
    boxes = np.array([[1.0, 2, 7, 9, 1, 1, 1]])
    third, flip = np.diag([1 / 3, 1 / 7, 1.0]), np.array([[-1.0, 0, 29], [0, 1, 0], [0, 0, 1]])
    third[:2, 2] = (third.diagonal()[:2] - 1) / 2
    sizes = np.array([[100, 100], [30, 30]])
    results = move(np.tile(boxes, (2, 1)), np.array([0, 1]), np.stack([third, flip]), sizes)
    assert results.tolist() == [[3, 14, 21, 63, 1, 21, 1], [23, 2, 29, 9, 1, 1, 1]]


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.diag([1.0, 0, 1]), np.full((3, 3), np.nan)])
def test_a_matrix_without_an_inverse_leaves_nothing(matrix):
    results = move(np.array([[1.0, 2, 7, 9, 1, 1, 1]]), np.zeros(1, np.int64), matrix[None], SIZES[:1])
    assert results[0, :4].tolist() == [0, 0, 0, 0]
    assert results[0, VISIBLE] == 0


def test_no_boxes_and_no_images():
    assert move(np.zeros((0, 7)), np.zeros(0, np.int64), np.zeros((0, 3, 3)), SIZES[:0]).shape == (0, 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.array([3])}, "expected image_indices from 0 to 2, but got 3"),
        ({"images": np.array([-1])}, "expected image_indices from 0 to 2, but got -1"),
        ({"boxes": np.ones((1, 4))}, r"expected boxes of shape \[1, 7\], but got \[1, 4\]"),
        ({"boxes": np.ones((1, 7), np.float32)}, "expected boxes as contiguous float64"),
        ({"matrices": np.ones((2, 3, 3))}, r"expected matrices of shape \[3, 3, 3\]"),
        ({"regions": REGIONS[:2]}, r"expected regions of shape \[3, 4\]"),
        ({"limits": (1.0,)}, "expected limits as 0 or 3 numbers, but got 1"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    arguments = {"boxes": np.ones((1, 7)), "images": np.array([0]), "matrices": None, **change}
    with pytest.raises(ValueError, match=f"move_boxes: {message}"):
        move(**arguments)
