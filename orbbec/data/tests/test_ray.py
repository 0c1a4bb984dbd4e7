"""Ray Data on a local Ray: rows have the bytes of the Loader, for any blocks and workers.

Run by `make test-ray`, in a venv with Ray; without Ray, only the tests that do not need it run.
"""

import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from orbbec.data import Decoding, Loader
from orbbec.data.loader.tests.test_loader import PIPELINE, Files
from orbbec.data.ray import _target_columns, ray_dataset
from orbbec.transforms import Compose, MixUp


def samples(count, bad=()):
    files = Files(count, bad)
    return [files[index] for index in range(count)]


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="`make test-ray` installs it")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("workers", "batch_size"), [(2, 1), (None, 5)])
def test_rows_have_the_bytes_of_the_loader(workers, batch_size):
    pipeline = Compose(PIPELINE, seed=7)
    loader = Loader(samples(13), 4, pipeline)
    loader.set_epoch(2)
    expected = {int(i): image for images, _, ids in loader for i, image in zip(ids, images, strict=True)}
    rows = ray_dataset(samples(13), pipeline, workers=workers, batch_size=batch_size, epoch=2).take_all()
    assert [row["sample_id"] for row in rows] == [row["label"] for row in rows] == list(range(13))
    assert all(np.array_equal(row["image"], expected[row["sample_id"]].numpy()) for row in rows)


class _SlowFirst(list):
    """Samples of which the first takes long to read."""

    def __getitem__(self, index):
        time.sleep(3 * (index == 0))
        return super().__getitem__(index)


@pytest.mark.usefixtures("cluster")
def test_rows_are_in_the_order_of_the_source():
    rows = ray_dataset(_SlowFirst(samples(24)), workers=2, batch_size=1).take_all()
    assert [row["sample_id"] for row in rows] == list(range(24))


@pytest.mark.usefixtures("cluster")
def test_without_transforms_images_keep_their_sizes():
    (batch,) = Loader(samples(5), 5, shuffle=False)
    rows = ray_dataset(samples(5), batch_size=2).take_all()
    assert all(
        np.array_equal(row["image"], image) for row, image in zip(rows, batch.images.numpy(), strict=True)
    )


@pytest.mark.usefixtures("cluster")
def test_bad_samples_have_their_policy():
    source = samples(9, bad=[2, 3, 7])
    rows = ray_dataset(source, PIPELINE, batch_size=2, on_error="skip").take_all()
    assert [row["sample_id"] for row in rows] == [0, 1, 4, 5, 6, 8]
    with pytest.raises(Exception, match=r"sample 2 \(its image\)"):
        ray_dataset(source, PIPELINE).take_all()


@pytest.mark.usefixtures("cluster")
def test_what_mixes_images_is_refused():
    with pytest.raises(Exception, match="expected transforms of single images"):
        ray_dataset(samples(4), [*PIPELINE, MixUp(num_classes=4)]).take_all()


def test_arguments_are_checked():
    for arguments, text in (
        ({"batch_size": 0}, "ray_dataset: expected batch_size"),
        ({"on_error": "ignore"}, "ray_dataset: expected on_error as one of raise, skip, substitute"),
        ({"decoding": Decoding(device="nvimgcodec")}, "expected a Decoding on the host"),
        ({"decoding": Decoding(planes=True)}, "on the host, but got planes=True"),
    ):
        with pytest.raises(ValueError, match=text):
            ray_dataset([], **arguments)


def test_targets_become_columns():
    targets = [{"label": 1, "boxes": torch.ones(2, 4)}, {"label": 2}]
    columns = _target_columns(targets)
    assert columns["label"] == [1, 2]
    assert np.array_equal(columns["boxes"][0], np.ones((2, 4)))
    assert columns["boxes"][1] is None
    with pytest.raises(ValueError, match=r"expected target names other than \['image'\]"):
        _target_columns([{"image": 1}])


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(ImportError, match=r"pip install 'ray\[data\]'"):
        ray_dataset([])


class Here:
    """Stands in for ray.data: one worker, in this process."""

    def __init__(self):
        self.context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))

    def ActorPoolStrategy(self, **pool):
        return pool

    def from_numpy(self, blocks):
        self.blocks = blocks
        return self

    def map_batches(self, worker, *, batch_size, compute, fn_constructor_args):
        self.pool, work = compute, worker(*fn_constructor_args)
        indices = np.concatenate(self.blocks) if self.blocks else np.zeros(0, np.int64)
        self.batches = [
            work({"data": indices[at : at + batch_size]}) for at in range(0, len(indices), batch_size)
        ]
        return self


@pytest.fixture
def here(monkeypatch):
    data = Here()
    for name in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, name, data)
    return data


@pytest.mark.parametrize(
    ("count", "blocks"), [(0, []), (1, [1]), (16, [16]), (17, [16, 1]), (35, [16, 16, 3])]
)
def test_a_block_has_eight_batches(here, count, blocks):
    ray_dataset(samples(count), batch_size=2)
    assert [len(block) for block in here.blocks] == blocks
    assert [index for block in here.blocks for index in block.tolist()] == list(range(count))
    assert here.pool == {"min_size": 1}
    ray_dataset([], workers=3)
    assert here.pool == {"size": 3}


def test_a_worker_gives_the_rows_of_the_loader(here):
    pipeline = Compose(PIPELINE, seed=7)
    loader = Loader(samples(5), 5, pipeline, shuffle=False)
    loader.set_epoch(2)
    (expected,) = loader
    result = ray_dataset(samples(5), PIPELINE, batch_size=2, seed=7, epoch=2)
    rows = [row for batch in result.batches for row in zip(batch["sample_id"], batch["image"], strict=True)]
    assert [number for number, _ in rows] == expected.sample_ids.tolist()
    assert all(np.array_equal(image, known) for (_, image), known in zip(rows, expected.images, strict=True))
    assert [label for batch in result.batches for label in batch["label"]] == list(range(5))


def test_a_worker_warns_of_each_bad_sample_once(here):
    with pytest.warns(UserWarning, match="ray_dataset: sample") as caught:
        result = ray_dataset(samples(6, bad=[1, 4, 5]), PIPELINE, batch_size=2, on_error="skip")
    assert [str(each.message).split()[2] for each in caught] == ["1", "4", "5"]
    assert [batch["sample_id"].tolist() for batch in result.batches] == [[0], [2, 3], []]
    assert "image" not in result.batches[2]


def test_a_worker_refuses_what_mixes_images(here):
    with pytest.raises(ValueError, match="ray_dataset: expected transforms of single images"):
        ray_dataset(samples(4), [*PIPELINE, MixUp(num_classes=4)])
    for name, value in (("workers", 0), ("batch_size", 0)):
        with pytest.raises(ValueError, match=f"ray_dataset: expected {name} as a whole number of at least 1"):
            ray_dataset([], **{name: value})
