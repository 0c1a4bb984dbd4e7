"""`inverse_matrices` and `move_points` compared with NumPy's formulas, and their errors."""

import numpy as np
import pytest
import torch

from orbbec.plan.points import carried, carried_edges, forward_of, grown

INVERSE, MOVE = torch.ops.orbbec.inverse_matrices, torch.ops.orbbec.move_points


def drawn(rng, count, perspective=0.0):
    matrices = np.eye(3) + rng.normal(0, 0.4, (count, 3, 3)) * [[1, 1, 20], [1, 1, 20], [0, 0, 0]]
    matrices[:, 2, :2] = rng.normal(0, perspective, (count, 2))
    return matrices


@pytest.mark.parametrize("perspective", [0.0, 1e-3, 3e-2])
def test_inverses_are_those_of_numpy(perspective):
    matrices = drawn(np.random.default_rng(3), 500, perspective)
    np.testing.assert_allclose(forward_of(matrices), np.linalg.inv(matrices), rtol=1e-9, atol=1e-9)
    assert forward_of(matrices[7]).tobytes() == forward_of(matrices)[7].tobytes()


def test_zeros_on_the_diagonal_have_inverses_and_singular_matrices_have_none():
    swap = np.eye(3)[[1, 0, 2]]
    assert forward_of(swap).tolist() == swap.tolist()
    matrices = np.stack([np.ones((3, 3)), np.zeros((3, 3)), np.diag([2.0, 4.0, 1.0])])
    assert np.isnan(forward_of(matrices[:2])).all()
    assert forward_of(matrices)[2].tolist() == np.diag([0.5, 0.25, 1.0]).tolist()


def test_shapes_without_matrices_or_points():
    assert forward_of(np.empty((0, 3, 3))).shape == (0, 3, 3)
    assert carried(np.empty((0, 3, 3)), np.empty((0, 4, 2))).shape == (0, 4, 2)
    assert carried(np.eye(3), np.empty((0, 2))).shape == (0, 2)
    assert carried(np.stack([np.eye(3)] * 3), np.empty((3, 0, 2))).shape == (3, 0, 2)
    assert carried_edges(np.eye(3), np.ones((2, 5, 2))).tolist() == np.ones((2, 5, 2)).tolist()


@pytest.mark.parametrize("perspective", [0.0, 1e-3, 3e-2])
def test_points_and_areas_change_as_numpy_has_it(perspective):
    rng = np.random.default_rng(4)
    forward = drawn(rng, 300, perspective)
    points = rng.uniform(-50, 90, (300, 4, 2))
    homogeneous = np.concatenate([points, np.ones((300, 4, 1))], -1) @ forward.transpose(0, 2, 1)
    weight = homogeneous[..., 2:]
    expected = np.where(weight > 1e-12, homogeneous[..., :2] / weight, np.nan)
    assert np.isnan(expected).any() == (perspective == 3e-2)
    np.testing.assert_allclose(carried(forward, points), expected, rtol=1e-9, atol=1e-9)
    center = np.append(points.mean(1) - 0.5, np.ones((300, 1)), 1)
    growth = np.abs(np.linalg.det(forward)) / np.abs((forward[:, 2] * center).sum(1)) ** 3
    np.testing.assert_allclose(grown(forward, points), growth, rtol=1e-8)


def test_nothing_grows_where_a_perspective_has_its_horizon():
    forward = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])
    assert grown(forward, np.full((1, 1, 2), -0.5)).tolist() == [0.0]


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        (INVERSE, (torch.eye(3),), r"inverse_matrices: expected matrices \[K, 3, 3\]"),
        (INVERSE, (torch.zeros(2, 3, 3),), "inverse_matrices: expected matrices as contiguous float64"),
        (MOVE, (torch.zeros(2, 3, 2).double(), torch.zeros(2, 1, 2)), "move_points: expected matrices of sh"),
        (MOVE, (torch.zeros(2, 3, 3).double(), torch.zeros(2, 2)), r"move_points: expected points \[K, P, 2"),
        (MOVE, (torch.zeros(2, 3, 3).double(), torch.zeros(3, 1, 2).double()), "expected points of shape"),
        (MOVE, (torch.zeros(2, 3, 3).double(), torch.zeros(2, 1, 2)), "points as contiguous float64"),
    ],
)
def test_wrong_tables_are_refused(operator, arguments, message):
    with pytest.raises(ValueError, match=message):
        operator(*arguments)
