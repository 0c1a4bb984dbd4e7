"""No sample is lost or repeated, for any ranks and workers, and wherever a run stopped."""

from collections import Counter
from itertools import permutations
from threading import Thread

import pytest
import torch
from torch.utils.data import DataLoader

from orbbec.data import Order, OrderSampler, Weights
from orbbec.noise.philox import philox_draws

LENGTHS = (0, 1, 2, 5, 24, 101)
WORLDS = (1, 2, 3)
THREADS = (0, 1, 4)


def taken_by_threads(order: Order, threads: int, epoch: int) -> list[int]:
    """The samples of a rank, taken by itself or by its workers."""
    if threads == 0:
        return order.indices(epoch).tolist()
    taken: list[int] = []  # append is atomic

    def work(worker: int) -> None:
        for index in order.part(worker, threads).indices(epoch).tolist():
            taken.append(index)

    workers = [Thread(target=work, args=(worker,)) for worker in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return taken


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_every_sample_is_taken_once(length, world, threads, shuffle):
    orders = [Order(length, seed=3, shuffle=shuffle, rank=rank, world_size=world) for rank in range(world)]
    for epoch in (0, 1):
        counts = Counter(index for order in orders for index in taken_by_threads(order, threads, epoch))
        assert counts == Counter(range(length))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_tails_give_all_ranks_equally_many(length, world, threads):
    for tail, length_of_one in (("drop", length // world), ("pad", -(-length // world))):
        orders = [Order(length, rank=rank, world_size=world, tail=tail) for rank in range(world)]
        taken = [taken_by_threads(order, threads, 0) for order in orders]
        assert [len(part) for part in taken] == [len(order) for order in orders] == [length_of_one] * world
        counts = Counter(index for part in taken for index in part)
        whole = Order(length).indices().tolist()
        if tail == "drop":
            assert counts == Counter(whole[: length_of_one * world])
        else:
            assert counts == Counter((whole * 3)[: length_of_one * world])


@pytest.mark.parametrize("tail", ["keep", "drop", "pad"])
@pytest.mark.parametrize("world", WORLDS)
def test_an_epoch_goes_on_at_the_exact_sample(world, tail):
    orders = [Order(23, seed=5, rank=rank, world_size=world, tail=tail) for rank in range(world)]
    for order in orders:
        straight = order.indices(epoch=2).tolist()
        for delivered in range(len(order) + 1):
            epoch, start = order.resume(order.state_dict(2, delivered))
            rest = order.indices(epoch, start).tolist()
            assert straight[:delivered] + rest == straight
            assert len(rest) == order.count(start)
            further = min(2, len(rest))
            epoch, start = order.resume(order.state_dict(epoch, further, start))
            assert straight[: delivered + further] + order.indices(epoch, start).tolist() == straight


@pytest.mark.parametrize("after", WORLDS)
@pytest.mark.parametrize("before", WORLDS)
def test_an_epoch_goes_on_with_another_number_of_ranks(before, after):
    first = [Order(25, seed=5, rank=rank, world_size=before) for rank in range(before)]
    counts = Counter(index for order in first for index in order.indices(4)[:6].tolist())
    state = first[0].state_dict(4, delivered=6)
    for rank in range(after):
        order = Order(25, seed=5, rank=rank, world_size=after)
        counts.update(order.indices(*order.resume(state)).tolist())
    assert counts == Counter(range(25))


def test_every_order_is_as_likely_as_another():
    counts = Counter(tuple(Order(4, seed=seed).indices().tolist()) for seed in range(2400))
    assert set(counts) == set(permutations(range(4)))
    chi_squared = sum((count - 100) ** 2 / 100 for count in counts.values())
    assert chi_squared < 44.2  # chi-squared of 23 degrees of freedom exceeds it once in 200; measured 13.5


def test_epochs_and_seeds_differ_and_repeat():
    orders = {(seed, epoch): tuple(Order(50, seed).indices(epoch)) for seed in (0, 1) for epoch in (0, 1)}
    assert len(set(orders.values())) == 4
    assert Order(50, 1).indices(1).tolist() == [int(index) for index in orders[1, 1]]
    assert Order(50, 1, shuffle=False).indices(1).tolist() == list(range(50))


def test_samples_whose_keys_have_equal_high_bits_are_ordered_by_the_low_ones():
    """The first 32 bits of these two are equal, and the later one has the smaller rest."""
    indices = Order(20_000, seed=11).indices().tolist()
    position = indices.index(19555)
    assert indices[position : position + 2] == [19555, 12126]


def test_an_order_says_nothing_about_what_transforms_draw():
    """The first draw of a transform and the position in the order are not rank-correlated."""
    length = 10000
    drawn = philox_draws(torch.arange(length), 1, seed=9)[:, 0]
    positions = torch.empty(length, dtype=torch.float64)
    positions[Order(length, seed=9).indices()] = torch.arange(length, dtype=torch.float64)
    correlation = torch.corrcoef(torch.stack([drawn, positions]))[0, 1]
    assert abs(correlation) < 0.04  # four deviations of 1/sqrt(length); measured 0.009


def test_a_state_of_another_order_is_refused():
    state = Order(5, seed=1).state_dict(0, 2)
    for other in (Order(6, seed=1), Order(5, seed=2), Order(5, seed=1, shuffle=False)):
        with pytest.raises(ValueError, match=r"Order: expected a state of (length 6|seed 2|shuffle False)"):
            other.resume(state)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": -1}, "length as a whole number from 0 to 9223372036854775807, but got -1"),
        (
            {"length": 2**63},
            "length as a whole number from 0 to 9223372036854775807, but got 9223372036854775808",
        ),
        ({"length": 2, "sampling": Weights([1, 1], 2**63)}, "entries of an epoch as a whole number from 0"),
        ({"length": 5, "seed": -1}, "seed"),
        ({"length": 5, "shuffle": "no"}, "shuffle as True or False, but got 'no'"),
        ({"length": 5, "world_size": 0}, "world_size"),
        ({"length": 5, "rank": 2, "world_size": 2}, "rank"),
        ({"length": 5, "workers": 0}, "workers"),
        ({"length": 5, "worker": 1}, "worker"),
        ({"length": 5, "tail": "wrap"}, "tail as one of keep, drop, pad, but got 'wrap'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=f"Order: expected {message}"):
        Order(**arguments)


def test_a_sampler_resumes_in_a_data_loader():
    sampler = OrderSampler(Order(10, seed=1, rank=1, world_size=2))
    straight = [batch.tolist() for batch in DataLoader(range(10), batch_size=2, sampler=sampler)]
    assert len(sampler) == 5
    state = sampler.state_dict(delivered=2)

    resumed = OrderSampler(Order(10, seed=1, rank=1, world_size=2))
    resumed.load_state_dict(state)
    resumed.set_epoch(0)  # like a loop over the epochs before the resumed one
    assert len(resumed) == 3
    assert [batch.tolist() for batch in DataLoader(range(10), batch_size=2, sampler=resumed)] == straight[1:]
    assert resumed.state_dict(delivered=1)["start"] == 6
    resumed.set_epoch(1)
    assert len(list(resumed)) == 5
