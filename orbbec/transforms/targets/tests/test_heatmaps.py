"""Heat maps and SimCC's rows of keypoints."""

import math

import numpy as np
import pytest
import torch

from orbbec.transforms import keypoint_heatmaps, simcc_targets


def points(count=40, size=(32, 24)):
    rng = np.random.default_rng(0)
    xy = rng.uniform(-4, np.array(size[::-1]) + 4, (2, count, 2))
    return torch.from_numpy(np.concatenate([xy, rng.integers(0, 3, (2, count, 1))], 2)).float()


def test_heatmaps_are_gaussians_around_the_keypoints():
    keypoints, size = points(), (32, 24)
    maps, weights = keypoint_heatmaps(keypoints, size, (16, 12), 1.5)
    assert maps.shape == (2, 40, 16, 12)
    for n, k in np.ndindex(2, 40):
        x, y, visible = keypoints[n, k].tolist()
        there = visible > 0 and -0.5 <= x < 23.5 and -0.5 <= y < 31.5
        assert weights[n, k] == there
        for row, column in ((3, 4), (15, 0), (8, 11)):
            distance = (column - ((x + 0.5) / 2 - 0.5)) ** 2 + (row - ((y + 0.5) / 2 - 0.5)) ** 2
            expected = math.exp(-distance / 4.5) if there else 0.0
            assert abs(float(maps[n, k, row, column]) - expected) < 1e-6


def test_rows_of_simcc_are_distributions_around_the_keypoints():
    keypoints, size = points(), (32, 24)
    x, y, weights = simcc_targets(keypoints, size, 2.0, 3.0)
    assert (x.shape, y.shape) == ((2, 40, 48), (2, 40, 64))
    assert torch.allclose(x.sum(-1), weights)
    assert torch.allclose(y.sum(-1), weights)
    is_labeled = weights > 0
    assert 10 < int(is_labeled.sum()) < 70
    for row, axis in ((x, 0), (y, 1)):
        center = keypoints[..., axis][is_labeled].mul(2).round().clamp(0, row.shape[-1] - 1)
        assert (row[is_labeled].argmax(-1) - center).abs().max() <= 1


def test_keypoints_that_are_not_finite_have_no_map():
    keypoints = torch.tensor([[[float("nan"), 2.0, 2.0], [3.0, float("inf"), 2.0], [3.0, 2.0, 2.0]]])
    maps, weights = keypoint_heatmaps(keypoints, (8, 8), (8, 8))
    assert weights.tolist() == [[0.0, 0.0, 1.0]]
    assert bool(maps.isfinite().all())
    assert int(maps[0, :2].count_nonzero()) == 0


def test_pairs_of_coordinates_are_always_labeled():
    _, weights = keypoint_heatmaps(torch.tensor([[[1.0, 2.0], [9.0, 2.0]]]), (8, 8), (4, 4))
    assert weights.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: keypoint_heatmaps(torch.zeros(4, 3), (8, 8), (4, 4)), "expected keypoints as floats"),
        (lambda: keypoint_heatmaps(torch.zeros(1, 4, 3).long(), (8, 8), (4, 4)), "but got torch.int64"),
        (lambda: keypoint_heatmaps(torch.zeros(1, 4, 3), (8, 0), (4, 4)), "sizes of at least 1"),
        (lambda: keypoint_heatmaps(torch.zeros(1, 4, 3), (8, 8), (4, 4), 0.0), "sigma above 0"),
        (lambda: simcc_targets(torch.zeros(1, 4, 3), (8, 8), 0.0), "expected split_ratio above 0"),
    ],
)
def test_wrong_arguments_are_named(run, message):
    with pytest.raises(ValueError, match=message):
        run()
