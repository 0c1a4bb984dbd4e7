"""Each whole number with a bound may be the bound itself, and nothing beyond it."""

import re

import numpy as np
import pytest

from orbbec.data import (
    Arrays,
    Buckets,
    Cache,
    Loader,
    Mixture,
    MultiScale,
    Order,
    Repeats,
    Sample,
    ShuffleBuffer,
    Weights,
    open_source,
    pack,
)
from orbbec.transforms import Compose, Resize

SOURCE = Arrays(np.zeros((4, 2, 2, 3), np.uint8))
LARGEST = 2**63 - 1


def scales(**options):
    return MultiScale(lambda size: Compose([Resize(size)]), [4, 8], **options)


def loader(**options):
    return Loader(SOURCE, **{"batch_size": 2, "threads": 1, **options})


@pytest.mark.parametrize(
    ("make", "name", "low", "high"),
    [
        (lambda v: Order(v), "Order: expected length", 0, None),
        (lambda v: Order(9, seed=v), "Order: expected seed", 0, LARGEST),
        (lambda v: Order(9, world_size=v), "Order: expected world_size", 1, None),
        (lambda v: Order(9, workers=v), "Order: expected workers", 1, None),
        (lambda v: Order(9, rank=v, world_size=3), "Order: expected rank", 0, 2),
        (lambda v: Order(9, worker=v, workers=3), "Order: expected worker", 0, 2),
        (lambda v: Order(9).indices(start=v), "Order: expected start", 0, None),
        (lambda v: Order(9).state_dict(0, v), "Order: expected delivered", 0, None),
        (lambda v: ShuffleBuffer(SOURCE, v), "ShuffleBuffer: expected size", 1, 2**24),
        (lambda v: ShuffleBuffer(SOURCE, 2, v), "ShuffleBuffer: expected seed", 0, LARGEST),
        (lambda v: ShuffleBuffer(SOURCE, 2).set_epoch(v), "ShuffleBuffer: expected epoch", 0, LARGEST),
        (lambda v: loader(batch_size=v), "Loader: expected batch_size", 1, None),
        (lambda v: loader(threads=v), "Loader: expected threads", 1, None),
        (lambda v: loader(prefetch=v), "Loader: expected prefetch", 0, None),
        (lambda v: loader().set_epoch(v), "Loader: expected epoch", 0, None),
        (
            lambda v: list(loader().synthetic(next(iter(loader())), v)),
            "Loader.synthetic: expected steps",
            1,
            None,
        ),
        (lambda v: loader(memory=v), "Loader: expected memory", 1, None),
        (lambda v: Cache(v), "Cache: expected nbytes", 1, None),
        (lambda v: Repeats(v), "Repeats: expected copies", 1, 512),
        (lambda v: Repeats(samples=v), "Repeats: expected samples", 1, None),
        (lambda v: Weights([1], v), "Weights: expected samples", 1, None),
        (lambda v: Mixture([4, v], [1, 0]), "Mixture: expected a length", 0, None),
        (lambda v: Mixture([4], [1], v), "Mixture: expected samples", 1, None),
        (lambda v: Buckets([0], v), "Buckets: expected batch_size", 1, None),
        (lambda v: scales(seed=v), "MultiScale: expected seed", 0, LARGEST),
        (lambda v: scales(every=v), "MultiScale: expected every", 1, None),
    ],
)
def test_a_bound_is_accepted_and_what_is_beyond_it_is_not(make, name, low, high):
    for bound, beyond in ((low, low - 1), (high, None if high is None else high + 1)):
        if bound is not None:
            make(bound)
            with pytest.raises(ValueError, match=re.escape(f"{name} as a whole number")):
                make(beyond)


@pytest.mark.parametrize("sample_id", [0, LARGEST])
def test_sample_ids_have_63_bits(tmp_path, sample_id):
    beyond = {0: -1, LARGEST: LARGEST + 1}[sample_id]
    pixels = np.zeros((2, 2, 3), np.uint8)
    pack([Sample(pixels, {}, sample_id)], tmp_path / "packed")
    assert open_source(tmp_path / "packed")[0].sample_id == sample_id
    with pytest.raises(ValueError, match="pack: expected sample_id as a whole number"):
        pack([Sample(pixels, {}, beyond)], tmp_path / "beyond")


def test_an_archive_of_a_pack_has_one_byte_at_least(tmp_path):
    pack(SOURCE, tmp_path / "packed", shard_bytes=1)
    assert len(list((tmp_path / "packed").glob("*.tar"))) == len(SOURCE)
    with pytest.raises(ValueError, match="pack: expected shard_bytes as a whole number of at least 1"):
        pack(SOURCE, tmp_path / "other", shard_bytes=0)
