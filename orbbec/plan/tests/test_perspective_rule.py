"""The rule `perspective` compared with `get_perspective_matrix`, NumPy and the tests' own Philox."""

import numpy as np
import pytest

from orbbec import get_perspective_matrix
from orbbec import transforms as T
from orbbec.plan import Stream
from orbbec.plan.tests.program_rows import KEY, Rows

IDS = np.arange(-250, 250)
HALF = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])  # from pixel centers to pixel corners
SIDES = {"large": (100, 3000), "of photographs": (1, 900), "small": (1, 40), "tiny": (1, 6)}


def sizes_of(kind):
    return np.random.default_rng(3).integers(*SIDES[kind], (len(IDS), 2))


def corners(sizes, distortion, stream):
    """Where the corners go, and where they were: (x, y), clockwise from the top left."""
    near = (distortion * (sizes[:, ::-1] // 2)).astype(np.int64) + 1
    ends, starts = np.empty((2, len(sizes), 4, 2))
    for corner, far in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
        starts[:, corner] = far * (sizes[:, ::-1] - 1)
        for axis in range(2):
            ends[:, corner, axis] = stream.below(near[:, axis])
            ends[:, corner, axis] += far[axis] * (sizes[:, 1 - axis] - near[:, axis])
    return ends, starts


def matrices_by_hand(sizes, distortion, stream):
    """Output to source, between pixel centers; the identity where there is no matrix."""
    matrices = np.linalg.inv(HALF) @ get_perspective_matrix(*corners(sizes, distortion, stream)) @ HALF
    usable = np.isfinite(matrices).all((1, 2)) & (np.abs(np.linalg.det(matrices)) > 1e-12)
    return np.where(usable[:, None, None], matrices, np.eye(3))


@pytest.mark.parametrize("distortion", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("kind", SIDES)
def test_matrices_are_those_of_get_perspective_matrix(kind, distortion):
    rows, sizes = Rows(), sizes_of(kind)
    rows.add("perspective", distortion, stream=2, first=3)
    rows.end_pass()
    table = rows.run(sizes, IDS)
    stream = Stream(IDS, **KEY, transform_index=2)
    stream.skip(3)
    expected, actual = matrices_by_hand(sizes, distortion, stream), table.matrices(rows.passes[0])
    assert np.array_equal(actual.astype(np.float32), expected.astype(np.float32))
    assert actual == pytest.approx(expected, rel=1e-15)
    assert np.array_equal(table.sizes(rows.passes[0]), sizes)
    stays = (expected == np.eye(3)).all((1, 2))
    if kind == "large" and distortion:
        assert not stays.any()
    if kind == "tiny":
        assert stays.any()


@pytest.mark.parametrize("kind", ["large", "small"])
def test_the_corners_of_the_output_read_those_of_the_image(kind):
    sizes = sizes_of(kind)
    plan = T.Compose([T.RandomPerspective(0.5, 1.0)], seed=5).plan(sizes, IDS, epoch=0)
    stream = Stream(IDS, 5)
    stream.skip(1)  # the chance
    ends, starts = corners(sizes, 0.5, stream)
    moved = np.concatenate([ends, np.ones((len(IDS), 4, 1))], 2) @ (
        HALF @ plan.matrix @ np.linalg.inv(HALF)
    ).swapaxes(1, 2)
    chosen = (plan.matrix != np.eye(3)).any((1, 2))
    assert chosen.mean() > 0.9
    assert np.abs(moved[..., :2] / moved[..., 2:] - starts)[chosen].max() < 1e-6


def test_rules_after_a_perspective_that_is_not_drawn_read_the_image():
    flip, size = T.RandomHorizontalFlip(1.0), (20, 31)
    plans = [
        T.Compose([*first, flip]).plan([size] * 50, epoch=0) for first in ([], [T.RandomPerspective(p=0.4)])
    ]
    (plain,), (some,) = (plan.passes for plan in plans)
    same = (some.matrix == plain.matrix).all((1, 2))
    assert 15 < same.sum() < 45
    chance = Stream(np.arange(50)).chance(0.4)
    assert np.array_equal(same, ~chance)


def test_the_operator_of_lanczos_draws_alike():
    sizes = sizes_of("of photographs")[:100]
    plans = (
        T.Compose([T.RandomPerspective(interpolation=how)]).plan(sizes, epoch=0)
        for how in ("linear", "lanczos4")
    )
    fused, operator = (plan.passes[0] for plan in plans)
    assert operator.name == "warp_perspective"
    assert np.array_equal(operator.table["matrix"], fused.matrix)
    assert np.array_equal(operator.matrix, fused.matrix)
