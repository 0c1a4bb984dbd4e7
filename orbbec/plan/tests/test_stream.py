"""Numbers depend only on their key and position; distributions."""

import warnings

import numpy as np
import pytest

from orbbec.plan import Stream
from tests.support import philox

IDS = np.array([3, 0, 7, -1, 2**62])


def test_numbers_are_those_of_the_oracle():
    drawn = Stream(IDS, seed=5, epoch=2, transform_index=9).uniforms(11)
    for row, sample in enumerate(IDS.tolist()):
        words = philox.blocks(sample, np.arange(3), seed=5, epoch=2, transform_index=9).reshape(-1)[:11]
        assert (drawn[row] == philox.uniforms(words)).all()


def test_numbers_do_not_depend_on_the_batch_or_on_how_they_are_asked_for():
    whole = Stream(IDS, seed=1).uniforms(40)
    stream = Stream(IDS[::-1], seed=1)
    parts = np.concatenate([stream.uniforms(count) for count in (1, 0, 9, 30)], 1)
    assert (parts[::-1] == whole).all()
    assert (Stream(IDS[2:3], seed=1).uniforms(40) == whole[2]).all()
    assert (stream.again().uniforms(40) == parts).all()


@pytest.mark.parametrize(("before", "count"), [(0, 0), (0, 5), (3, 5), (3, 0), (7, 9)])
def test_numbers_that_are_reserved_are_drawn_by_nobody_else(before, count):
    whole, stream = Stream(IDS).uniforms(before + count + 2), Stream(IDS)
    first = stream.uniforms(before)
    assert stream.skip(count) == before
    assert (np.concatenate([first, stream.uniforms(2)], 1) == np.delete(whole, np.s_[before:-2], 1)).all()


@pytest.mark.parametrize(
    ("counts", "drawn"),
    [([8], [8]), ([3, 5], [8]), ([8, 1], [8, 16]), ([9], [9]), ([40, 40, 1], [40, 80, 160]), ([0], [])],
)
def test_numbers_are_drawn_when_they_are_asked_for_and_twice_as_many_each_time(monkeypatch, counts, drawn):
    asked, draw = [], Stream._draw
    monkeypatch.setattr(Stream, "_draw", lambda self, *how: (asked.append(how[0]), draw(self, *how))[1])
    stream = Stream(IDS)
    for count in counts:
        stream.uniforms(count)
    assert asked == drawn


def test_transforms_seeds_and_epochs_differ():
    first = Stream(IDS).uniforms(4)
    for key in ({"seed": 1}, {"epoch": 1}, {"transform_index": 1}):
        assert (Stream(IDS, **key).uniforms(4) != first).all()


def test_kinds_of_numbers():
    many = np.arange(20000)
    assert set(Stream(many).below(6)) == set(range(6))
    assert (Stream(many).below(np.where(many % 2, 1, 5))[1::2] == 0).all()
    between = Stream(many).between(-2.0, 4.0)
    assert between.min() >= -2
    assert between.max() < 4
    assert (np.sort(Stream(many).permutation(5)) == np.arange(5)).all()
    assert abs(Stream(many).chance(0.3).mean() - 0.3) < 0.01  # 3 deviations: 0.0097
    normals = Stream(many).normals(1)
    assert abs(normals.mean()) < 0.022  # 3 deviations: 0.021
    assert abs(normals.std() - 1) < 0.016


@pytest.mark.parametrize("alpha", [0.2, 0.4, 1.0, 3.0])
def test_gammas_and_betas(alpha):
    many = np.arange(20000)
    gammas = Stream(many, seed=2).gammas(alpha, 1)
    assert abs(gammas.mean() / alpha - 1) < 3.1 / np.sqrt(alpha * 20000)
    betas = Stream(many, seed=3).betas(alpha)
    assert abs(betas.mean() - 0.5) < 0.011
    assert abs(betas.var() * 4 * (2 * alpha + 1) - 1) < 0.03


def test_numbers_that_a_gamma_distribution_refuses_warn_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (Stream(np.arange(500)).gammas(0.2, 4) >= 0).all()
