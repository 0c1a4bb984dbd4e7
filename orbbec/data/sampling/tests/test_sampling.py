"""Counts of samples: repeated, weighted, mixed and in buckets, over ranks and wherever a run stopped."""

import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from orbbec.data import Buckets, Mixture, Order, Repeats, Weights, aspect_buckets
from orbbec.data.sampling.copies import MAX_COPIES, numbered
from orbbec.data.sampling.shuffle import Shuffle

LENGTH = 24
BUCKETS = np.arange(LENGTH) % 5 % 3  # of 10, 9 and 5 samples
SAMPLINGS = {
    "repeats": Repeats(3),
    "all repeats": Repeats(2, samples=2 * LENGTH),
    "weights": Weights(np.arange(LENGTH) % 4, samples=101),
    "mixture": Mixture([20, 4], [1, 1], samples=50),
    "buckets": Buckets(BUCKETS, 2),
    "full buckets": Buckets(BUCKETS, 2, drop_last=True),
}
each_sampling = pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)


def orders(sampling, world, **options):
    return [
        Order(LENGTH, seed=3, rank=rank, world_size=world, sampling=sampling, **options)
        for rank in range(world)
    ]


@each_sampling
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_and_workers_share_one_sequence(sampling, world, workers):
    ranks = orders(sampling, world)
    for epoch in (0, 1):
        whole = ranks[0]._sequence(epoch).tolist()
        parts = [order.part(worker, workers) for order in ranks for worker in range(workers)]
        taken = [position for part in parts for position in part.indices(epoch).tolist()]
        assert Counter(taken) == Counter(whole)
        assert len(whole) == ranks[0].entries == sum(map(len, parts))
        assert len(set(whole)) == len(whole)  # no copy of a sample is taken twice
        assert 0 <= min(whole) <= max(whole) < LENGTH * MAX_COPIES


@each_sampling
def test_epochs_and_seeds_differ_and_repeat(sampling):
    sequences = {
        (seed, epoch): tuple((Order(LENGTH, seed, sampling=sampling).indices(epoch) % LENGTH).tolist())
        for seed in (0, 1)
        for epoch in (0, 1)
    }
    assert len(set(sequences.values())) == 4
    again = Order(LENGTH, 1, sampling=sampling).indices(1) % LENGTH
    assert tuple(again.tolist()) == sequences[1, 1]


@each_sampling
@pytest.mark.parametrize("tail", ["keep", "drop", "pad"])
@pytest.mark.parametrize("world", [1, 3])
def test_an_epoch_goes_on_at_the_exact_sample(sampling, world, tail):
    for order in orders(sampling, world, tail=tail):
        straight = order.indices(epoch=2).tolist()
        assert len(straight) == len(order)
        for delivered in range(0, len(order) + 1, 3):
            epoch, start = order.resume(order.state_dict(2, delivered))
            assert straight[:delivered] + order.indices(epoch, start).tolist() == straight


@pytest.mark.parametrize("name", ["repeats", "all repeats", "weights", "mixture"])
def test_an_epoch_goes_on_with_another_number_of_ranks(name):
    before, after = orders(SAMPLINGS[name], 2), orders(SAMPLINGS[name], 3)
    taken = [position for order in before for position in order.indices(4)[:5].tolist()]
    state = before[0].state_dict(4, delivered=5)
    taken += [position for order in after for position in order.indices(*order.resume(state)).tolist()]
    assert Counter(taken) == Counter(before[0]._sequence(4).tolist())


def test_a_state_of_another_sampling_is_refused():
    samplings = [*SAMPLINGS.values(), None, Repeats(2), Weights([1] * LENGTH, 101), Buckets(BUCKETS, 3)]
    known = [Order(LENGTH, sampling=sampling) for sampling in samplings]
    for order in known:
        for other in known:
            if other is not order:
                with pytest.raises(ValueError, match="Order: expected a state of"):
                    other.resume(order.state_dict(0, 2))
    state = Order(LENGTH, sampling=Buckets(BUCKETS, 2)).state_dict(0, 2)
    with pytest.raises(ValueError, match="expected a state of step 4, but got 2"):  # batches of two ranks
        Order(LENGTH, world_size=2, sampling=Buckets(BUCKETS, 2)).resume(state)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_copies_of_a_sample_go_to_different_ranks_and_an_epoch_has_as_many_as_the_source(world):
    """As DeiT's RASampler: each of the first third of the shuffled samples three times, dealt in turn."""
    ranks = orders(Repeats(3), world)
    shuffled = Order(LENGTH, seed=3).indices(1).tolist()
    expected = [index for index in shuffled[: LENGTH // 3] for _ in range(3)]
    for rank, order in enumerate(ranks):
        assert (order.indices(1) % LENGTH).tolist() == expected[rank::world]
    copies = torch.stack([order.indices(1) for order in ranks], 1).flatten() // LENGTH
    assert copies.tolist() == [0, 1, 2] * (LENGTH // 3)


@pytest.mark.parametrize(
    ("length", "copies", "samples"), [(5, 3, None), (5, 3, 15), (7, 2, 9), (1, 3, 2), (0, 3, None)]
)
def test_each_sample_is_repeated_as_often_as_asked_for(length, copies, samples):
    counts = Counter(
        (Order(length, 1, sampling=Repeats(copies, samples)).indices() % max(length, 1)).tolist()
    )
    entries = length if samples is None else samples
    rest = [entries % copies] if entries % copies else []
    assert sorted(counts.values(), reverse=True) == [copies] * (entries // copies) + rest


def test_samples_are_drawn_in_proportion_to_their_weights():
    weights = np.array([0, 1, 2, 0, 5, 0.5, 0])
    order = Order(7, seed=2, sampling=Weights(weights, samples=4000))
    counts = np.bincount(order.indices() % 7, minlength=7)
    assert counts[weights == 0].sum() == 0
    expected = weights / weights.sum() * 4000
    chi_squared = ((counts - expected)[weights > 0] ** 2 / expected[weights > 0]).sum()
    assert chi_squared < 12.8  # of 3 degrees of freedom: once in 200; measured 1.9


@pytest.mark.parametrize("weight", [5e-324, 1.7e308])
def test_a_sample_without_weight_is_not_drawn_whatever_the_others_weigh(weight):
    order = Order(4, seed=2, sampling=Weights([0, weight, 0, 0], samples=50))
    assert (order.indices() % 4).tolist() == [1] * 50


def test_draws_with_replacement_number_the_copies_of_a_sample():
    positions = Order(3, seed=2, sampling=Weights([1, 0, 1], samples=50)).indices()
    for index in (0, 2):
        copies = positions[positions % 3 == index] // 3
        assert copies.tolist() == list(range(len(copies)))
    many = numbered(torch.zeros(2 * MAX_COPIES + 1, dtype=torch.int64), 3)
    assert many.tolist() == [*range(0, 3 * MAX_COPIES, 3)] * 2 + [0]


@pytest.mark.parametrize("ratios", [(1, 1, 1), (3, 1, 0), (0.2, 0.7, 0.1)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_sources_have_their_share_and_go_round_before_they_repeat(ratios, shuffle):
    lengths, samples = [50, 3, 7], 47
    order = Order(60, seed=1, shuffle=shuffle, sampling=Mixture(lengths, ratios, samples))
    indices = (order.indices(2) % 60).tolist()
    begin = 0
    for length, ratio in zip(lengths, ratios, strict=True):
        counts = Counter(index for index in indices if begin <= index < begin + length)
        share = sum(counts.values())
        assert abs(share - ratio / sum(ratios) * samples) < 1
        assert set(counts.values()) <= {share // length, share // length + 1}
        begin += length
    assert len(indices) == samples
    if not shuffle:  # each third of the epoch has the sources in the same proportion
        thirds = [Counter(index < 50 for index in indices[n : n + 15]) for n in (0, 15, 30)]
        assert max(third[True] for third in thirds) - min(third[True] for third in thirds) <= 1


@pytest.mark.parametrize(
    ("ratios", "samples", "counts"),
    [
        ((6, 21, 3), 3, [1, 2, 0]),
        ((1, 1, 1), 4, [2, 1, 1]),
        ((1, 2, 3), 6, [1, 2, 3]),
        ((0, 1, 0), 5, [0, 5, 0]),
    ],
)
def test_the_largest_remainders_of_a_mixture_are_rounded_up(ratios, samples, counts):
    indices = Order(30, sampling=Mixture([10, 10, 10], ratios, samples)).indices() % 30
    assert torch.bincount(indices // 10, minlength=3).tolist() == counts


def test_sources_that_are_not_shuffled_are_spread_from_the_middle_of_their_distances():
    order = Order(4, shuffle=False, sampling=Mixture([1, 3], [1, 3]))
    assert order.indices().tolist() == [1, 0, 2, 3]


def test_the_first_of_equals_comes_first():
    """Also of so many that a sort need not leave equals in order."""
    order = Order(1000, shuffle=False, sampling=Mixture([250] * 4, [1] * 4))
    assert order.indices().tolist() == torch.arange(1000).reshape(4, 250).T.flatten().tolist()
    assert Mixture([9] * 80, [1, 2] * 40, samples=100).counts == [1, 2] * 20 + [1, 1] * 20
    positions = numbered(torch.arange(1000) % 3, 3)
    assert positions.tolist() == list(range(1000))


def test_a_mixture_takes_no_more_passes_of_a_source_than_it_needs():
    lengths = [50_000, 3]
    indices = Order(50_003, seed=1, sampling=Mixture(lengths, [1, 1])).indices() % 50_003
    assert len(indices) == 50_003
    counts = torch.bincount(indices, minlength=50_003)
    assert counts[:50_000].max() == 1
    assert counts[50_000:].sum() == 25_001


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("world", [1, 2])
def test_batches_of_all_ranks_have_one_bucket_in_a_step(world, drop_last, shuffle):
    sampling = Buckets(BUCKETS, 2, drop_last)
    ranks = orders(sampling, world, shuffle=shuffle)
    steps = torch.stack([order.indices(3).reshape(-1, 2) for order in ranks], 1) % LENGTH
    for step in steps.tolist():
        assert len({BUCKETS[index] for batch in step for index in batch}) == 1
    counts, step = Counter(steps.flatten().tolist()), 2 * world
    for bucket in range(3):
        members = np.flatnonzero(bucket == BUCKETS).tolist()
        taken = sum(counts[index] for index in members)
        rounded = len(members) // step if drop_last else -(-len(members) // step)
        assert taken == rounded * step
        assert all(counts[index] <= (1 if drop_last else 2) for index in members)
        assert drop_last or all(counts[index] >= 1 for index in members)
    if shuffle:
        assert [BUCKETS[step[0][0]] for step in steps.tolist()] != sorted(
            BUCKETS[step[0][0]] for step in steps.tolist()
        )


def test_empty_buckets_and_sources_are_ordinary():
    assert Order(2, sampling=Buckets([3, 3], 2)).entries == 2
    assert Order(2, sampling=Buckets([3, 3], 4, drop_last=True)).indices().tolist() == []
    assert Order(0, sampling=Buckets(np.zeros(0, np.int64), 4)).indices().tolist() == []
    assert Order(2, sampling=Mixture([0, 2], [0, 1])).entries == 2


def test_buckets_of_aspects_are_between_bounds():
    sizes = [(10, 4), (10, 5), (10, 9), (10, 10), (10, 20), (10, 21)]
    buckets = aspect_buckets(sizes, [0.5, 1, 2])
    assert buckets.tolist() == [0, 1, 1, 2, 3, 3]
    assert all(one <= other for one, other in pairwise(buckets.tolist()))
    for bad in ([(0, 1)], [(1, 1), (-1, 2)]):
        with pytest.raises(ValueError, match="aspect_buckets: expected positive sizes"):
            aspect_buckets(bad)
    with pytest.raises(ValueError, match=r"rising bounds, but got \[2, 1\]"):
        aspect_buckets(sizes, [2, 1])
    assert aspect_buckets([(2, 1), (1, 1)], [1, 1]).tolist() == [0, 2]  # no image lies between equal bounds


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Repeats(0), "Repeats: expected copies as a whole number from 1 to 512, but got 0"),
        (lambda: Order(4, sampling=Repeats(2, 9)), "Repeats: expected at most 8 samples, 2 times the length"),
        (lambda: Weights([1, -1]), "Weights: expected numbers from 0 with a positive sum"),
        (lambda: Weights([0, 0]), "Weights: expected numbers from 0 with a positive sum"),
        (lambda: Weights([1, float("nan")]), "Weights: expected numbers from 0 with a positive sum"),
        (lambda: Weights([1, float("inf")]), "Weights: expected numbers from 0 with a positive sum"),
        (
            lambda: Order(3, sampling=Weights([1, 1])),
            "Weights: expected 3 weights, one per sample, but got 2",
        ),
        (lambda: Mixture([1, 1], [1]), r"Mixture: expected 2 ratios .*, but got \[1\]"),
        (lambda: Mixture([1, 1], [1, -1]), r"Mixture: expected 2 ratios from 0"),
        (lambda: Mixture([0, 1], [1, 1]), "Mixture: expected samples in source 0, but its length is 0"),
        (
            lambda: Order(3, sampling=Mixture([1, 1], [1, 1])),
            r"Mixture: expected lengths with the sum 3, but got \[1, 1\]",
        ),
        (lambda: Buckets([0, -1], 2), "Buckets: expected whole numbers from 0"),
        (lambda: Buckets([0.5], 2), "Buckets: expected whole numbers from 0"),
        (
            lambda: Order(3, sampling=Buckets([0], 2)),
            "Buckets: expected 3 numbers, one per sample, but got 1",
        ),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_other_samplings_are_refused():
    with pytest.raises(TypeError, match="Order: expected a sampling or None, but got list"):
        Order(3, sampling=[1, 2])


def test_equal_keys_keep_their_order(monkeypatch):
    keys = np.random.default_rng(0).integers(0, 5, 2000)
    monkeypatch.setattr(Shuffle, "_keys", lambda shuffle, count, stream: torch.from_numpy(keys))
    shuffle = Shuffle(seed=0, epoch=0)
    expected = np.argsort(keys, kind="stable")
    assert shuffle.permuted(torch.arange(2000)).tolist() == expected.tolist()
    expected = np.argsort(keys.reshape(20, 100), 1, kind="stable")
    assert shuffle.permutations(20, 100, 0).tolist() == expected.tolist()


def test_numbers_that_are_not_shuffled_are_in_order():
    shuffle = Shuffle(seed=0, epoch=0, enabled=False)
    assert shuffle.permuted(torch.arange(5)).tolist() == [0, 1, 2, 3, 4]
    assert shuffle.permutations(2, 3, 0).tolist() == [[0, 1, 2]] * 2


RECORDED = {  # CRC-32 of the sequences of epochs 0 and 1: a run may be continued by a later version
    "repeats": (1057885392, 3394972849),
    "all repeats": (1842595608, 2910381331),
    "weights": (2737846114, 4265340132),
    "mixture": (2324447025, 2917274221),
    "buckets": (1923494132, 1723986070),
    "full buckets": (1167873946, 2592607620),
}


@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_sequence_is_that_of_earlier_versions(name):
    (order,) = orders(SAMPLINGS[name], 1)
    sequences = [order._sequence(epoch).numpy().astype("<i8") for epoch in (0, 1)]
    assert tuple(zlib.crc32(sequence.tobytes()) for sequence in sequences) == RECORDED[name]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Weights("x"), "Weights: expected weights as numbers, but got 'x'"),
        (lambda: Mixture(3, [1]), "Mixture: expected lengths as a list of at least 1 entry, but got 3"),
        (lambda: Mixture([3], "x"), "Mixture: expected ratios as numbers, but got 'x'"),
        (lambda: aspect_buckets(5), r"aspect_buckets: expected positive sizes \[N, 2\], but got 5"),
        (lambda: aspect_buckets([(4, 5, 6, 7)]), r"aspect_buckets: expected positive sizes \[N, 2\]"),
        (lambda: aspect_buckets([(4, 5)], 1.0), "aspect_buckets: expected rising bounds, but got 1.0"),
        (
            lambda: aspect_buckets([(4, 5)], [2, 1]),
            r"aspect_buckets: expected rising bounds, but got \[2, 1\]",
        ),
    ],
)
def test_wrong_numbers_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_no_images_have_no_buckets():
    assert aspect_buckets([]).tolist() == []


def test_without_shuffling_the_only_sample_of_a_source_is_in_the_middle():
    order = Order(5, shuffle=False, sampling=Mixture([4, 1], [4, 1]))
    assert (order.indices() % 5).tolist() == [0, 1, 4, 2, 3]
