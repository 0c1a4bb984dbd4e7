"""Ray Data on a local Ray: rows have the bytes of the Loader, for any blocks and workers.

Run by `make test-ray`, in a venv with Ray; without Ray, only the tests that do not need it run.
"""

import sys

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
        ({"decoding": Decoding(on_device=True)}, "expected a Decoding on the host"),
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
