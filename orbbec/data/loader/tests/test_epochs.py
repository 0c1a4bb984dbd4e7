"""The epoch and the samples of a Loader's iterators: left early, resumed, chosen, in any order."""

import gc
import random

import numpy as np
import pytest

from orbbec.data import Loader, Order, Sample, ShuffleBuffer, as_source

LENGTH, BATCH = 23, 3
SOURCE = [Sample(np.full((2, 2, 3), i, np.uint8), {}, i) for i in range(LENGTH)]


def order(rank=0, world_size=1, tail="pad"):
    return Order(LENGTH, seed=4, rank=rank, world_size=world_size, tail=tail)


def make(rank=0, world_size=1, **options):
    return Loader(SOURCE, BATCH, threads=2, order=order(rank, world_size), **options)


def expected(epoch, start=0, rank=0, world_size=1):
    """The batches of an epoch."""
    ids = order(rank, world_size).indices(epoch, start).tolist()
    return [ids[at : at + BATCH] for at in range(0, len(ids), BATCH)]


def taken(batches, steps=None):
    """The sample ids of some or all batches."""
    found = []
    for batch in batches:
        found.append(batch.sample_ids.tolist())
        if len(found) == steps:
            break
    return found


class InTheLoopError(Exception):
    pass


HELD = {}


@pytest.fixture(autouse=True)
def no_epoch_is_held_on():
    yield
    HELD.clear()


def by_break(loader, steps):
    return taken(loader, steps)


def by_exception(loader, steps):
    found = []
    try:
        for batch in loader:
            found.append(batch.sample_ids.tolist())
            if len(found) == steps:
                raise InTheLoopError
    except InTheLoopError:
        pass
    return found


def by_closing_the_iterator(loader, steps):
    batches = iter(loader)
    found = taken(batches, steps)
    batches.close()
    assert next(batches, None) is None
    return found


def by_closing_the_loader(loader, steps):
    batches = iter(loader)
    found = taken(batches, steps)
    loader.close()
    assert next(batches, None) is None
    return found


def by_beginning_another(loader, steps):
    HELD["batches"] = iter(loader)  # until another one replaces it
    return taken(HELD["batches"], steps)


def by_the_garbage_collector(loader, steps):
    batches = iter(loader)
    cycle = [batches]
    cycle.append(cycle)
    found = taken(batches, steps)
    del batches, cycle
    gc.collect()
    return found


WAYS = [
    by_break,
    by_exception,
    by_closing_the_iterator,
    by_closing_the_loader,
    by_beginning_another,
    by_the_garbage_collector,
]
each_way = pytest.mark.parametrize("leave", WAYS)
ranks = pytest.mark.parametrize(("rank", "world_size"), [(0, 1), (1, 2), (2, 3)])


@each_way
@ranks
def test_after_an_epoch_that_was_left_comes_the_next(leave, rank, world_size):
    loader = make(rank, world_size)
    for epoch in range(3):
        assert leave(loader, 2) == expected(epoch, 0, rank, world_size)[:2]
    assert taken(loader) == expected(3, 0, rank, world_size)
    assert taken(loader) == expected(4, 0, rank, world_size)


@each_way
@ranks
def test_the_state_after_leaving_is_that_of_the_last_batch(leave, rank, world_size):
    loader = make(rank, world_size)
    taken(loader)
    leave(loader, 2)
    state = loader.state_dict()
    assert (state["epoch"], state["start"]) == (1, 2 * BATCH * world_size)
    for other_rank in range(world_size):
        resumed = make(other_rank, world_size)
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state
        assert len(resumed) == len(expected(1, 0, other_rank, world_size))
        assert taken(resumed) == expected(1, state["start"], other_rank, world_size)
        assert taken(resumed) == expected(2, 0, other_rank, world_size)
    assert taken(loader) == expected(2, 0, rank, world_size)


@each_way
def test_a_resumed_epoch_that_is_left_was_that_epoch(leave):
    loader = make()
    loader.load_state_dict(order().state_dict(epoch=5, delivered=6))
    assert leave(loader, 2) == expected(5, 6)[:2]
    assert loader.state_dict()["start"] == 12
    assert leave(loader, 1) == expected(6)[:1]
    assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (6, 3)


@each_way
def test_set_epoch_chooses_the_next_one(leave):
    loader = make()
    loader.set_epoch(7)
    assert leave(loader, 2) == expected(7)[:2]
    loader.set_epoch(7)
    assert loader.state_dict()["start"] == 0
    assert leave(loader, 2) == expected(7)[:2]
    loader.set_epoch(2)
    assert taken(loader) == expected(2)
    assert taken(loader) == expected(3)


def test_set_epoch_lets_the_resumed_one_go_on_and_no_other():
    state = order().state_dict(epoch=5, delivered=6)
    loader = make()
    loader.load_state_dict(state)
    loader.set_epoch(5)
    assert taken(loader, 2) == expected(5, 6)[:2]
    loader.set_epoch(5)
    assert taken(loader) == expected(5)
    loader.load_state_dict(state)
    loader.set_epoch(6)
    assert taken(loader) == expected(6)


def test_resuming_ends_the_running_epoch():
    loader = make()
    batches = iter(loader)
    next(batches)
    loader.load_state_dict(order().state_dict(epoch=5, delivered=6))
    assert list(batches) == []
    assert taken(loader) == expected(5, 6)


def test_set_epoch_leaves_the_running_epoch_alone():
    loader = make()
    batches = iter(loader)
    assert taken(batches, 2) == expected(0)[:2]
    loader.set_epoch(4)
    assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (4, 0)
    assert taken(batches, 1) == expected(0)[2:3]
    assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (0, 9)
    assert taken(batches) == expected(0)[3:]
    assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (4, 0)
    assert taken(loader) == expected(4)


def test_an_iterator_that_was_never_asked_is_no_epoch():
    loader = make()
    for _ in range(3):
        iter(loader)
        iter(loader).close()
    assert taken(loader, 1) == expected(0)[:1]
    loader.load_state_dict(order().state_dict(epoch=5, delivered=6))
    iter(loader)
    assert len(loader) == len(expected(5))
    assert taken(loader) == expected(5, 6)


def test_an_epoch_ends_though_no_more_is_asked_than_it_has():
    loader = make()
    steps = len(loader)
    assert taken(loader, steps) == expected(0)
    state = loader.state_dict()
    assert taken(loader, steps) == expected(1)
    loader.load_state_dict(state)
    assert len(loader) == steps
    assert taken(loader) == []  # all of epoch 0 had been taken
    assert taken(loader) == expected(1)


def test_the_length_is_that_of_the_epoch_that_is_taken_or_comes_next():
    loader = make()
    loader.load_state_dict(order().state_dict(epoch=5, delivered=6))
    lengths = [len(loader)]
    for _ in loader:
        lengths.append(len(loader))
        if len(lengths) == 3:
            break
    assert lengths == [len(expected(5))] * 3
    assert len(loader) == len(expected(6))


def test_a_stream_that_is_left_begins_anew_with_the_next_epoch():
    class Stream:
        epochs = ()

        def set_epoch(self, epoch):
            self.epochs += (epoch,)

        def __iter__(self):
            return iter(SOURCE)

    loader = Loader(Stream(), BATCH, threads=1)
    source = loader._assembler.source
    assert taken(loader, 2) == [[0, 1, 2], [3, 4, 5]]
    state = loader.state_dict()
    assert taken(loader, 1) == [[0, 1, 2]]
    loader.load_state_dict(state)
    assert taken(loader, 1) == [[6, 7, 8]]
    assert source.epochs == (0, 1, 0)
    loader.load_state_dict({"epoch": 0, "start": LENGTH})
    assert taken(loader) == []
    loader.load_state_dict({"epoch": 0, "start": LENGTH + 1})
    with pytest.raises(ValueError, match="Loader: expected a stream of at least 24 samples, but got 23"):
        taken(loader)


@pytest.mark.parametrize("seed", range(8))
def test_any_calls_in_any_order(seed):
    """Compared with a model of three numbers: the next epoch, its start, and the progress of the last one."""
    chance = random.Random(seed)
    loader, kept = make(), []
    upcoming, last, is_open = (0, 0), (0, 0), False
    for _ in range(30):
        call = chance.choice(["leave", "leave", "take", "set", "same", "save", "load", "unasked"])
        if call == "leave":
            steps = chance.randint(1, 3)
            (epoch, start), left = upcoming, expected(*upcoming)
            leave = chance.choice(WAYS)
            is_open = leave is by_beginning_another
            assert leave(loader, steps) == left[:steps]
            count = sum(map(len, left[:steps]))
            upcoming = (epoch + 1, 0)
            last = upcoming if len(left) < steps else (epoch, start + count)
        elif call == "take":
            assert taken(loader) == expected(*upcoming)
            upcoming = last = (upcoming[0] + 1, 0)
        elif call in ("set", "same"):
            epoch = upcoming[0] if call == "same" else chance.randint(0, 5)
            loader.set_epoch(epoch)
            upcoming = last = upcoming if epoch == upcoming[0] else (epoch, 0)
        elif call == "save":
            kept.append(loader.state_dict())
        elif call == "load" and kept:
            state = chance.choice(kept)
            loader.load_state_dict(state)
            upcoming = last = (state["epoch"], state["start"])
        elif call == "unasked":
            iter(loader)
        state = loader.state_dict()
        assert (state["epoch"], state["start"]) == last
        if not is_open:
            assert len(loader) == len(expected(upcoming[0]))


BAD_STATES = [
    (ValueError, {"start": "5"}, "start of a state as a whole number .*, but got '5'"),
    (ValueError, {"start": 1.5}, "start of a state as a whole number .*, but got 1.5"),
    (TypeError, {"start": None}, "start of a state as a whole number .*, but got None"),
    (ValueError, {"epoch": "0"}, "epoch of a state as a whole number .*, but got '0'"),
    (ValueError, {"start": -3}, "start of a state as a whole number .*, but got -3"),
    (ValueError, {"epoch": -1}, "epoch of a state as a whole number .*, but got -1"),
    (
        ValueError,
        {"epoch": 2**63},
        "epoch of a state as a whole number .*, but got 9223372036854775808",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "text"), BAD_STATES)
def test_a_state_that_is_malformed_is_refused_and_changes_nothing(kind, changes, text):
    loader = make()
    batches = iter(loader)
    taken(batches, 2)
    state = loader.state_dict()
    with pytest.raises(kind, match=f"^Order: expected {text}$"):
        loader.load_state_dict({**state, **changes})
    assert loader.state_dict() == state
    assert taken(batches) == expected(0)[2:]
    with pytest.raises(kind, match=f"^Loader: expected {text}$"):
        Loader(iter(SOURCE), BATCH).load_state_dict({"epoch": 0, "start": 0, **changes})
    with pytest.raises(kind, match=f"^ShuffleBuffer: expected {text}$"):
        ShuffleBuffer(SOURCE, 4).load_state_dict({"size": 4, "seed": 0, "epoch": 0, "start": 0, **changes})


def test_a_state_beyond_the_end_or_without_a_name_is_refused():
    state = make().state_dict()
    with pytest.raises(ValueError, match=r"^Order: expected start of .* from 0 to 23, but got 1000000000$"):
        make().load_state_dict({**state, "start": 10**9})
    del state["start"]
    with pytest.raises(
        ValueError, match=r"^Order: expected a state with 'start', but got length, seed, shuffle"
    ):
        make().load_state_dict(state)
    with pytest.raises(ValueError, match=r"^Loader: expected a state with 'epoch', but got start$"):
        Loader(iter(SOURCE), BATCH).load_state_dict({"start": 0})
    with pytest.raises(TypeError, match=r"^Order: expected a state as a dict, but got NoneType$"):
        make().load_state_dict(None)


@pytest.mark.parametrize("world_size", [2, 3, 5])
def test_the_state_of_a_padded_end_is_the_end(world_size):
    loader = make(0, world_size)
    steps = len(loader)
    taken(loader, steps)
    assert loader.state_dict()["start"] == LENGTH
    resumed = make()
    resumed.load_state_dict(loader.state_dict())
    assert len(resumed) == 8


def test_bad_samples_of_an_epoch_that_was_left_are_told_as_the_next_begins():
    class Missing(list):
        def __getitem__(self, index):
            if index == 1:
                raise ValueError("gone")
            return super().__getitem__(index)

    loader = Loader(as_source(Missing(SOURCE)), BATCH, shuffle=False, on_error="skip", threads=1)
    assert taken(loader, 1) == [[0, 2]]
    iterator = iter(loader)
    with pytest.warns(UserWarning, match=r"Loader: 1 bad sample was skipped:\n  sample 1 .*: gone$") as told:
        next(iterator)
    assert [warning.filename for warning in told] == [__file__]
    with pytest.warns(UserWarning, match="Loader: 1 bad sample was skipped") as told:
        list(iterator)
    assert [warning.filename for warning in told] == [__file__]


def test_a_batch_counts_in_its_epoch_also_after_another_is_set():
    with make() as loader:
        batches = iter(loader)
        next(batches)
        loader.set_epoch(7)
        assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (7, 0)
        next(batches)
        assert (loader.state_dict()["epoch"], loader.state_dict()["start"]) == (0, 2 * BATCH)


def test_an_epoch_that_has_ended_stays_ended():
    with make() as loader:
        loader.load_state_dict({**loader.state_dict(), "start": 2 * BATCH})
        batches = iter(loader)
        next(batches)
        assert len(loader) == 8
        assert len(list(batches)) == 5
        assert len(loader) == 8
        newer = iter(loader)
        next(newer)
        assert list(batches) == []
