"""A copy of a loader begins where the loader is."""

import copy
import pickle
import threading

import numpy as np
import pytest
import torch

from orbbec.data import Decoding, Loader, Order, Sample
from orbbec.transforms import RandomResizedCrop

COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda loader: pickle.loads(pickle.dumps(loader)),
}


def images(count=12):
    noise = np.random.default_rng(0).integers(0, 256, (count, 20, 20, 3), np.uint8)
    return [Sample(pixels, {"label": index}, index) for index, pixels in enumerate(noise)]


def loader_of(**options):
    return Loader(images(), 2, [RandomResizedCrop(8)], seed=3, **options)


def ids(batches):
    return [batch.sample_ids.tolist() for batch in batches]


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_a_new_loader_gives_the_same_batches(name):
    loader = loader_of()
    for one, other in zip(COPIES[name](loader), loader, strict=True):
        assert torch.equal(one.images, other.images)
        assert torch.equal(one.sample_ids, other.sample_ids)


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_goes_on_at_the_position_of_an_open_epoch_and_leaves_it_alone(name):
    loader = loader_of()
    epoch = iter(loader)
    next(epoch), next(epoch)
    other = COPIES[name](loader)
    assert other.state_dict() == loader.state_dict()
    assert ids(other) == ids(epoch)
    assert ids(other) == ids(loader)  # the next epoch


def test_a_copy_has_the_arguments_of_its_loader():
    given = {"threads": 3, "prefetch": 5, "drop_last": True, "on_error": "skip", "collate": list}
    order, decoding = Order(12, seed=4), Decoding(mode="L")
    gray = [Sample(sample.data[..., 0], {}, sample.sample_id) for sample in images()]
    loader = copy.deepcopy(Loader(gray, 2, order=order, decoding=decoding, **given))
    assert (loader.threads, loader.prefetch, loader.batch_size) == (3, 5, 2)
    assert (loader.drop_last, loader.collate, loader.order) == (True, list, order)
    batch = next(iter(loader))
    assert batch.images.images()[0].shape == (20, 20, 1)
    assert type(batch.targets) is list


def test_a_copy_has_its_own_threads_faults_and_times():
    loader = loader_of(threads=2)
    epoch = iter(loader)
    next(epoch)
    other = copy.deepcopy(loader)
    assert (other.seconds, other.faults) == ({}, [])
    next(iter(other))
    other.close()
    assert len(ids(epoch)) == 5
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("orbbec-data")]


def test_a_deep_copy_has_its_own_source_and_a_shallow_one_shares_it():
    loader = loader_of()
    loader_source = loader._assembler.source
    assert copy.copy(loader)._assembler.source is loader_source
    assert copy.deepcopy(loader)._assembler.source is not loader_source


def test_a_stream_that_cannot_be_copied_says_so():
    with pytest.raises(TypeError, match="generator"):
        copy.deepcopy(Loader((sample for sample in images()), 2))
    stream = Loader(Stream(images()), 2)
    next(iter(stream))
    assert ids(copy.deepcopy(stream))[0] == [2, 3]


class Stream:
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)
