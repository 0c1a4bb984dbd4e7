"""Samplings, samplers and sizes in a Loader."""

import copy
import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, RandomSampler, WeightedRandomSampler

from orbbec.data import (
    BadSample,
    Buckets,
    Copies,
    Decoding,
    ImageFiles,
    Loader,
    Mixture,
    MultiScale,
    Order,
    OrderSampler,
    Repeats,
    Sample,
    SourceError,
    Weights,
    original_ids,
)
from orbbec.data.loader.tests.test_by_feed import assert_same, epoch_of, files_of, folder, shards_with_boxes
from orbbec.data.sampling import orders
from orbbec.transforms import Compose, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize

RNG = np.random.default_rng(0)
SOURCE = [Sample(RNG.integers(0, 256, (12, 9, 3), np.uint8), {"label": n}, n) for n in range(10)]
CROP = [RandomCrop(6)]


def epoch(loader):
    return [(batch.images, batch.targets["label"].tolist(), batch.sample_ids.tolist()) for batch in loader]


def assert_equal(actual, expected):
    assert [batch[1:] for batch in actual] == [batch[1:] for batch in expected]
    assert all(torch.equal(one[0], other[0]) for one, other in zip(actual, expected, strict=True))


SAMPLINGS = {
    "repeats": Repeats(3, samples=30),
    "weights": Weights(np.arange(10), samples=31),
    "mixture": Mixture([8, 2], [1, 2], samples=30),
    "buckets": Buckets(np.arange(10) % 3, 4),
}
each_sampling = pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)


@each_sampling
def test_copies_of_a_sample_are_augmented_differently_and_reproducibly(sampling):
    with Loader(SOURCE, 4, CROP, seed=1, order=sampling) as loader:
        batches = epoch(loader)
    crops = {}
    for images, labels, ids in batches:
        assert labels == original_ids(torch.tensor(ids)).tolist()
        for image, label, sample_id in zip(images, labels, ids, strict=True):
            crops.setdefault(label, {})[sample_id] = image.numpy().tobytes()
    counts = Counter(label for _, labels, _ in batches for label in labels)
    for label, images in crops.items():
        assert len(images) == counts[label]
        if counts[label] >= 3:
            assert len(set(images.values())) > 1  # of 28 positions
    batch_size = 4 if isinstance(sampling, Buckets) else 1
    with Loader(SOURCE, batch_size, CROP, seed=1, order=sampling, threads=1) as loader:
        for images, labels, ids in epoch(loader):
            for image, label, sample_id in zip(images, labels, ids, strict=True):
                assert crops[label][sample_id] == image.numpy().tobytes()


def test_the_first_copy_is_what_an_epoch_without_sampling_has():
    with (
        Loader(SOURCE, 10, CROP, seed=1) as plain,
        Loader(SOURCE, 10, CROP, seed=1, order=Repeats(2)) as repeated,
    ):
        [(images, _, ids)], [(copies, _, copy_ids)] = epoch(plain), epoch(repeated)
    known = dict(zip(ids, images, strict=True))
    both = [
        (known[sample_id], image) for sample_id, image in zip(copy_ids, copies, strict=True) if sample_id < 10
    ]
    assert len(both) == 5
    assert all(torch.equal(*pair) for pair in both)


@each_sampling
@pytest.mark.parametrize("threads", [1, 3])
def test_an_epoch_is_resumed_at_the_exact_batch(sampling, threads):
    expected = []
    with Loader(SOURCE, 4, CROP, seed=1, order=sampling) as loader:
        epoch(loader)
        expected = epoch(loader)
        assert len(loader) == len(expected)
    loader = Loader(SOURCE, 4, CROP, seed=1, order=sampling, threads=threads)
    loader.set_epoch(1)
    batches = iter(loader)
    next(batches), next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    loader.close()
    resumed = Loader(SOURCE, 4, CROP, seed=1, order=sampling)
    resumed.load_state_dict(state)
    assert len(resumed) == len(expected)
    assert_equal(epoch(resumed), expected[2:])
    assert_equal(epoch(copy.deepcopy(loader)), expected[2:])


def test_ranks_share_an_epoch(monkeypatch):
    taken = []
    for rank in range(2):
        monkeypatch.setattr(orders, "_rank_and_world_size", lambda rank=rank: (rank, 2))
        with Loader(SOURCE, 4, order=Buckets(np.arange(10) % 2, 4)) as loader:
            taken.append([batch.targets["label"].tolist() for batch in loader])
    assert len(taken[0]) == len(taken[1]) == 2
    for one, other in zip(*taken, strict=True):
        assert len({label % 2 for label in one + other}) == 1
    assert {label for batches in taken for batch in batches for label in batch} == set(range(10))


def test_sources_are_mixed_by_ratio():
    other = [Sample(np.zeros((12, 9, 3), np.uint8), {"label": 100 + n}, n) for n in range(3)]
    source = ConcatDataset([SOURCE, other])
    with Loader(source, 7, CROP, order=Mixture([10, 3], [2, 1], samples=21)) as loader:
        labels = Counter(label for _, labels, _ in epoch(loader) for label in labels)
    assert sum(labels[label] for label in range(10)) == 14
    assert sorted(labels[100 + n] for n in range(3)) == [2, 2, 3]


def test_batches_must_be_those_of_buckets():
    with pytest.raises(ValueError, match="Loader: expected batch_size 4, as that of Buckets, but got 3"):
        Loader(SOURCE, 3, order=Buckets([0] * 10, 4))


@pytest.mark.parametrize("files", ["good", "damaged"])
@pytest.mark.parametrize("make", [folder, shards_with_boxes])
@pytest.mark.parametrize("on_error", ["raise", "skip", "substitute"])
def test_the_feed_makes_the_batches_of_the_python_functions(make, files, on_error, tmp_path, monkeypatch):
    source, results = make(tmp_path, files_of(files)), []

    def loader(*arguments, **options):
        return Loader(*arguments, order=Weights(np.arange(len(source)) % 3, samples=40), **options)

    monkeypatch.setattr("orbbec.data.loader.tests.test_by_feed.Loader", loader)
    for feed in ("1", "0"):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        pipeline = [RandomResizedCrop(16), RandomHorizontalFlip()]
        results.append(epoch_of(source, pipeline, Decoding(), on_error, False))
    assert_same(*results)
    assert (files, make) != ("good", folder) or len(results[0][0]) == 7


def test_ids_and_bad_samples_have_the_number_of_the_copy():
    class Broken(list):
        def __getitem__(self, index):
            raise BadSample(index, "a.jpg", "it is broken")

    copies = Copies(Broken(SOURCE))
    with pytest.raises(BadSample, match=rf"sample {(2 << 54) + 3} \(a.jpg\): it is broken"):
        copies[23]
    with pytest.raises(ValueError, match=r"expected sample ids below 2\^54 .*, but got 18014398509481984"):
        Copies([Sample(b"", {}, 1 << 54)])[0]
    assert [Copies([4, 5])[n] for n in range(5)] == [4, 5, 4, 5, 4]


def test_a_data_loader_takes_copies_by_an_order_sampler():
    order = Order(10, seed=1, sampling=Weights(np.arange(10), samples=20))
    loader = DataLoader(Copies(list(range(10))), batch_size=5, sampler=OrderSampler(order))
    assert [n for batch in loader for n in batch.tolist()] == (order.indices() % 10).tolist()


class EpochSampler:
    """Another program's sampler, with a seed per epoch."""

    def __init__(self, batched=False):
        self.batched, self.epoch = batched, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = np.random.default_rng(self.epoch).integers(0, 10, 17).tolist()
        return iter([order[:3], order[3:10], order[10:12], order[12:]] if self.batched else order)


@pytest.mark.parametrize("batched", [False, True])
def test_a_foreign_sampler_decides_the_order(batched):
    with Loader(SOURCE, 5, CROP, seed=1, order=EpochSampler(batched)) as loader:
        for number in range(2):
            expected = np.random.default_rng(number).integers(0, 10, 17).tolist()
            assert len(loader) == 4
            batches = epoch(loader)
            assert [label for _, labels, _ in batches for label in labels] == expected
            assert [len(labels) for _, labels, _ in batches] == ([3, 7, 2, 5] if batched else [5, 5, 5, 2])
            ids = [sample_id for _, _, ids in batches for sample_id in ids]
            assert len(set(ids)) == 17  # copies have different random parameters


@pytest.mark.parametrize("batched", [False, True])
def test_an_epoch_of_a_foreign_sampler_is_resumed(batched):
    loader = Loader(SOURCE, 5, CROP, seed=1, order=EpochSampler(batched))
    loader.set_epoch(1)
    expected = epoch(loader)
    loader.set_epoch(1)
    batches = iter(loader)
    next(batches), next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    loader.close()
    resumed = Loader(SOURCE, 5, CROP, seed=1, order=EpochSampler(batched))
    resumed.load_state_dict(state)
    assert len(resumed) == 4
    assert_equal(epoch(resumed), expected[2:])
    assert [label for _, labels, _ in epoch(resumed) for label in labels] == np.random.default_rng(
        2
    ).integers(0, 10, 17).tolist()


def test_a_sampler_that_does_not_repeat_its_order_is_not_resumed():
    loader = Loader(SOURCE, 5, order=RandomSampler(SOURCE))
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    loader.close()
    torch.manual_seed(7)
    with pytest.raises(
        ValueError, match="expected the sampler to repeat its order in epoch 0, but it has another"
    ):
        Loader(SOURCE, 5, order=RandomSampler(SOURCE)).load_state_dict(state)


def test_samplers_of_torch_are_taken():
    weighted = WeightedRandomSampler([0.0] * 5 + [1.0] * 5, 20, generator=torch.Generator().manual_seed(1))
    with Loader(SOURCE, 5, order=weighted) as loader:
        labels = [
            label for _, labels, _ in epoch(Loader(SOURCE, 5, CROP, order=weighted)) for label in labels
        ]
        assert len(labels) == 20
        assert min(labels) >= 5
        assert len(loader) == 4
    batches = BatchSampler(range(10), 4, drop_last=True)
    with Loader(SOURCE, 9, CROP, order=batches) as loader:
        assert [labels for _, labels, _ in epoch(loader)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        assert [loader.order.step_of(start, 9) for start in (0, 3, 4, 8)] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("order", "kind", "message"),
    [
        ([1, 10], ValueError, "an index of the sampler as a whole number from 0 to 9, but got 10"),
        ([1, -1], ValueError, "an index of the sampler as a whole number from 0 to 9, but got -1"),
        ([[1], [0.5]], ValueError, "an index of the sampler as a whole number from 0 to 9, but got 0.5"),
        (3, TypeError, "expected an Order, a sampling or a sampler as order, but got int"),
        (Order(4), ValueError, "expected order of the source's length 10, but got 4"),
    ],
)
def test_bad_orders_are_named(order, kind, message):
    with pytest.raises(kind, match=f"Loader: expected {message}|Loader: {message}"):
        next(iter(Loader(SOURCE, 2, order=order)))


def scales(seed=3, every=1):
    return MultiScale(
        lambda size: Compose([Resize((size, size)), RandomHorizontalFlip()], seed=1), [4, 8, 12], seed, every
    )


def test_a_size_is_drawn_per_batch_and_images_are_those_of_its_pipeline():
    with Loader(SOURCE, 1, scales(), seed=1) as loader:
        batches = epoch(loader)
        sizes = [images.shape[-1] for images, _, _ in batches]
        assert [images.shape[-1] for images, _, _ in epoch(loader)] != sizes  # in the next epoch
    assert set(sizes) == {4, 8, 12}
    for images, [label], ids in batches:
        pipeline = Compose([Resize(images.shape[-2:]), RandomHorizontalFlip()], seed=1)
        expected = pipeline(torch.from_numpy(SOURCE[label].data).permute(2, 0, 1)[None], sample_ids=ids)
        assert torch.equal(images, expected)


def test_sizes_are_drawn_evenly_and_alike_for_all_ranks_and_share_draws():
    counts = Counter(scales().number(epoch, step) for epoch in range(3) for step in range(200))
    assert min(counts.values()) > 165  # of 600 by three; measured 188
    shared = [scales(every=5).number(0, step) for step in range(60)]
    assert all(len(set(shared[begin : begin + 5])) == 1 for begin in range(0, 60, 5))
    assert len(set(shared)) > 1


@pytest.mark.parametrize("threads", [1, 3])
def test_a_resumed_epoch_continues_with_the_sizes_that_follow(threads):
    with Loader(SOURCE, 2, scales(), seed=1) as loader:
        expected = epoch(loader)
    loader = Loader(SOURCE, 2, scales(), seed=1, threads=threads)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    loader.close()
    resumed = Loader(SOURCE, 2, scales(), seed=1)
    resumed.load_state_dict(state)
    assert_equal(epoch(resumed), expected[1:])
    assert_equal(epoch(pickle.loads(pickle.dumps(loader))), expected[1:])
    stream = Loader(iter(SOURCE), 2, scales())
    sizes = [images.shape[-1] for images, _, _ in epoch(stream)]
    assert sizes == [images.shape[-1] for images, _, _ in expected]


def test_pipelines_of_sizes_must_agree():
    with pytest.raises(ValueError, match="MultiScale: expected sizes as a list of at least 1 entry"):
        MultiScale(lambda size: Compose([]), [])
    with pytest.raises(TypeError, match="MultiScale: expected a Compose for each size, but got list"):
        MultiScale(lambda size: [Resize(size)], [4])
    with pytest.raises(ValueError, match="MultiScale: expected the same transforms for each size"):
        MultiScale(lambda size: Compose([Resize(size)] * size), [1, 2])


@pytest.mark.parametrize("feed", ["0", "1"])
def test_ids_too_large_for_copies_are_named(tmp_path, monkeypatch, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    source = folder(tmp_path, files_of("good"))

    class LargeIds(type(source)):
        def table(self):
            return ImageFiles(self.paths, sample_ids=[(1 << 54) + n for n in range(len(self))])

        def __getitem__(self, index):
            return replace(super().__getitem__(index), sample_id=(1 << 54) + index)

    large = LargeIds(tmp_path)
    with (
        Loader(large, 2, order=Repeats(2)) as loader,
        pytest.raises(SourceError, match=r"expected sample ids below 2\^54 .*, but got 180143985094819"),
    ):
        next(iter(loader))


def test_a_sampler_may_give_nothing():
    for order in ([], [[]]):
        with Loader(SOURCE, 2, CROP, order=order) as loader:
            assert epoch(loader) == []


def test_a_sampler_that_has_ended_is_no_empty_epoch():
    source = [Sample(np.zeros((4, 4, 3), np.uint8), {}, index) for index in range(3)]
    loader = Loader(source, 2, order=iter([2, 0]))
    assert [batch.sample_ids.tolist() for batch in loader] == [[2, 0]]
    with pytest.raises(ValueError, match="Loader: expected a sampler that begins anew each epoch"):
        list(loader)
