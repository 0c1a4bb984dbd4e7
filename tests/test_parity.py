"""A quick run of scripts/parity/check_parity.py: promised results are identical to OpenCV's."""

import numpy as np
import pytest

parity = pytest.importorskip("tests.support.peers.parity", reason="needs cv2")
from tests.support.peers import opencv, peer_lines, peers
from tests.support.warps import BORDERS, INTERPOLATIONS, WARPS

CASES = 6
LINES = peer_lines.lines()


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", parity.DTYPES)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("border", BORDERS)
def test_random_cases_are_as_promised(op, dtype, interpolation, border):
    cell = parity.Cell(op, dtype, interpolation, border)
    tally = parity.compare(cell, opencv.arithmetic(), CASES, seed=1)
    assert tally.values > 0
    assert tally.different_values == 0 or not parity.is_promised(cell, opencv.arithmetic()), tally


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_operators_are_as_promised(line):
    tally = peers.compare(line, 5 * CASES, seed=1)
    assert tally.values > 0
    assert tally.different_values == 0 or not line.promised, tally


def test_the_draw_is_a_function_of_the_cell_and_the_seed():
    cell = parity.Cell("warp_affine", "uint8", "linear", "wrap")
    one, same, other = (parity.draw_case(np.random.default_rng(seed), cell) for seed in (1, 1, 2))
    assert (one.image.tobytes(), one.fill, one.size) == (same.image.tobytes(), same.fill, same.size)
    assert one.image.tobytes() != other.image.tobytes()


def test_a_wrong_value_is_found(monkeypatch):
    cell = parity.Cell("warp_affine", "uint8", "linear", "wrap")

    def off_by_one(case, arithmetic):
        answer = parity.opencv_answer(case)
        answer[0, 0, 0] += 1
        return answer

    monkeypatch.setattr(parity, "orbbec_answer", off_by_one)
    tally = parity.compare(cell, opencv.arithmetic(), 10, seed=1)
    assert tally.different_cases == tally.different_values == 10
    assert tally.largest_difference in (1, 255)
