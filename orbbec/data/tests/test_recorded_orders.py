"""Random orders are the same in every version: a training run can be resumed and repeated."""

import zlib

import numpy as np
import pytest

from orbbec.data import Buckets, Mixture, MultiScale, Order, Repeats, ShuffleBuffer, TemporalSample, Weights
from orbbec.data.loader.pairs import pairs_of
from orbbec.transforms import Compose, Resize

LENGTH = 3000


def indices_of(sampling=None, **options):
    return Order(LENGTH, seed=5, sampling=sampling, **options).indices(epoch=2)


def scales():
    scale = MultiScale(lambda size: Compose([Resize(size)]), [4, 8, 16, 32], seed=5, every=3)
    return [scale.number(2, step) for step in range(LENGTH)]


ORDERS = {
    "all": (lambda: indices_of(), 1753437095),
    "ranks": (lambda: indices_of(rank=1, world_size=3, worker=1, workers=2, tail="pad"), 2772907974),
    "repeats": (lambda: indices_of(Repeats(3)), 1743101785),
    "weights": (lambda: indices_of(Weights(np.arange(LENGTH))), 494276839),
    "mixture": (lambda: indices_of(Mixture([1000, 2000], [3, 1], 5000)), 1464623353),
    "mixture in order": (lambda: indices_of(Mixture([1000, 2000], [3, 1], 5000), shuffle=False), 318997859),
    "buckets": (lambda: indices_of(Buckets(np.arange(LENGTH) % 7, 8)), 1068104534),
    "buffer": (lambda: [*ShuffleBuffer(range(LENGTH), 50, seed=5)], 3552731683),
    "scales": (scales, 1524838015),
    "frames": (
        lambda: [TemporalSample(4, 3, seed=5).indices(n + 12, n, 2) for n in range(LENGTH)],
        762480747,
    ),
    "pairs": (lambda: pairs_of(range(LENGTH), 3, LENGTH, 5, 2), 3600171488),
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_is_that_on_record(name):
    make, expected = ORDERS[name]
    assert zlib.crc32(np.asarray(make(), "<i8").tobytes()) == expected
