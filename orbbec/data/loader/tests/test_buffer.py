"""A stream shuffled through a buffer."""

from collections import Counter

import pytest

from orbbec.data import ShuffleBuffer


@pytest.mark.parametrize("size", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("length", [0, 1, 7, 3000])
def test_every_item_comes_once(length, size):
    assert Counter(ShuffleBuffer(range(length), size)) == Counter(range(length))


def test_a_buffer_of_one_keeps_the_order():
    assert list(ShuffleBuffer(range(20), 1)) == list(range(20))


def test_no_item_comes_earlier_than_the_buffer_allows():
    shuffled = list(ShuffleBuffer(range(1000), 10))
    assert shuffled != sorted(shuffled)
    assert max(item - index for index, item in enumerate(shuffled)) <= 9


def test_a_buffer_as_large_as_the_stream_gives_every_order():
    counts = Counter(tuple(ShuffleBuffer(range(3), 3, seed=seed)) for seed in range(600))
    assert len(counts) == 6
    assert min(counts.values()) > 70  # 100 are expected, with a deviation of 9; measured 84


def test_seeds_and_epochs_differ_and_repeat():
    buffer = ShuffleBuffer(range(100), 20)
    first = list(buffer)
    assert list(buffer) == first
    assert list(ShuffleBuffer(range(100), 20, seed=1)) != first
    buffer.set_epoch(1)
    assert list(buffer) != first


def test_the_epoch_reaches_the_stream():
    class Stream:
        epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __iter__(self):
            return iter(range(10 * self.epoch, 10 * self.epoch + 3))

    buffer = ShuffleBuffer(Stream(), 2)
    buffer.set_epoch(4)
    assert sorted(buffer) == [40, 41, 42]


def test_an_epoch_goes_on_at_the_exact_item():
    buffer = ShuffleBuffer(range(50), 8, seed=3)
    buffer.set_epoch(2)
    straight = list(buffer)
    for delivered in (0, 1, 30, 49, 50):
        resumed = ShuffleBuffer(range(50), 8, seed=3)
        resumed.load_state_dict(buffer.state_dict(delivered))
        assert list(resumed) == straight[delivered:]
        further = min(delivered + 5, 50)
        resumed.load_state_dict(resumed.state_dict(5))
        assert list(resumed) == straight[further:]


def test_bad_arguments_are_named():
    for arguments, name in (
        ((range(3), 0), "size"),
        ((range(3), 2**24 + 1), "size"),
        ((range(3), 1, -1), "seed"),
    ):
        with pytest.raises(ValueError, match=f"ShuffleBuffer: expected {name} as a whole number"):
            ShuffleBuffer(*arguments)
    with pytest.raises(ValueError, match="expected a state of size 3, but got 2"):
        ShuffleBuffer(range(3), 3).load_state_dict(ShuffleBuffer(range(3), 2).state_dict(1))
