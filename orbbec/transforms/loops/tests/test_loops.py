"""`on_device`: epochs, calls, ranks and sample ids in a training loop."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import orbbec
from orbbec import ImageBatch
from orbbec.transforms import Compose, Lambda, MixUp, MultiView, RandomCrop, RandomHorizontalFlip, ToDtype
from orbbec.transforms.convert import ConversionError
from tests.support import photograph

CROP = [RandomCrop(8), RandomHorizontalFlip(), ToDtype("float32", scale=True)]
SIZES = [(20, 30), (25, 18), (40, 40), (16, 16)]


def images():
    return ImageBatch.from_images([photograph(*size, seed=n) for n, size in enumerate(SIZES)])


def test_each_call_draws_anew_and_an_epoch_repeats_them_all():
    augment = orbbec.on_device(CROP, seed=3)
    augment.set_epoch(5)
    first, second = augment(images()), augment(images())
    assert not torch.equal(first, second)
    augment.set_epoch(5)
    assert torch.equal(augment(images()), first)
    augment.set_epoch(5, calls=1)  # resumed
    assert torch.equal(augment(images()), second)
    augment.set_epoch(6)
    assert not torch.equal(augment(images()), first)


def test_each_image_of_a_batch_draws_for_itself():
    same = torch.arange(1024, dtype=torch.int32).reshape(1, 32, 32).float().expand(16, 1, 32, 32)
    results = orbbec.on_device([RandomCrop(8)])(same)
    assert len({float(corner) for corner in results[:, 0, 0, 0]}) > 12


def test_seeds_and_ranks_differ(monkeypatch):
    first = orbbec.on_device(CROP, seed=1)(images())
    assert not torch.equal(orbbec.on_device(CROP, seed=2)(images()), first)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert not torch.equal(orbbec.on_device(CROP, seed=1)(images()), first)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("orbbec.transforms", "RandomHorizontalFlip"),
        ("torchvision.transforms.v2", "RandomHorizontalFlip"),
        ("albumentations", "HorizontalFlip"),
    ],
)
def test_a_pipeline_of_any_library_has_the_seed_and_is_as_exact_as_asked(module, name):
    flip = getattr(pytest.importorskip(module), name)()
    pipeline = orbbec.on_device(flip, seed=7, exact=True).pipeline
    assert (pipeline.seed, pipeline.exact) == (7, True)
    pipeline = orbbec.on_device(flip).pipeline
    assert (pipeline.seed, pipeline.exact) == (0, False)


def test_torchs_generator_is_neither_read_nor_advanced():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = orbbec.on_device(CROP)(images())
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(orbbec.on_device(CROP)(images()), first)


def test_a_training_image_is_redrawn_alone_from_its_id_and_epoch():
    augment = orbbec.on_device(CROP, seed=3)
    augment.set_epoch(7)
    trained = augment(images(), sample_ids=[40, 41, 42, 43])
    alone = photograph(*SIZES[2], seed=2)
    replayed = augment.pipeline(alone, sample_ids=[42], epoch=7)
    assert np.array_equal(replayed, trained[2].permute(1, 2, 0).numpy())
    assert augment.calls == 0  # ids replace the count


def test_a_training_image_is_redrawn_on_another_device(accelerator):
    augment = orbbec.on_device(CROP, seed=3)
    trained = augment(images(), sample_ids=[40, 41, 42, 43])
    with accelerator.active():
        replayed = augment.pipeline(accelerator.put(images()), sample_ids=[40, 41, 42, 43], epoch=0)
    assert torch.equal(replayed.cpu(), trained)


def test_schedules_follow_the_epoch():
    augment = orbbec.on_device([MixUp(1.0, epochs=(0, 5))])
    batch = torch.arange(16.0).reshape(8, 1, 1, 2)
    for epoch, is_unchanged in ((4, False), (5, True)):
        augment.set_epoch(epoch)
        assert torch.equal(augment(batch), batch) == is_unchanged


def test_targets_and_structures_follow():
    augment = orbbec.on_device([RandomHorizontalFlip(1.0)])
    batch = torch.zeros(2, 3, 8, 10)
    boxes = [{"boxes": torch.tensor([[1.0, 2, 4, 6]])}] * 2
    assert augment(batch, boxes)[1][1]["boxes"].tolist() == [[6.0, 2.0, 9.0, 6.0]]
    result = augment({"pixel_values": batch, "labels": torch.arange(2)})
    assert result["labels"].tolist() == [0, 1]


def test_copies_continue_from_the_same_call():
    augment = orbbec.on_device(Compose(CROP, seed=4), seed=3)
    augment(images())
    restored, copied = pickle.loads(pickle.dumps(augment)), copy.deepcopy(augment)
    expected = augment(images())
    assert torch.equal(restored(images()), expected)
    assert torch.equal(copied(images()), expected)
    assert list(augment.parameters()) == []
    assert augment.state_dict() == {}


def test_workers_of_a_data_loader_differ_and_so_do_their_epochs():
    same = torch.arange(4096, dtype=torch.float32).reshape(1, 64, 64)
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(
        [same] * 8, 2, num_workers=2, collate_fn=orbbec.on_device([RandomCrop(1)]), generator=generator
    )
    draws = [float(pixel) for _ in range(2) for batch in loader for pixel in batch]
    assert len(set(draws)) > 14


def test_pipelines_of_orbbec_are_unchanged():
    compose, views = Compose(CROP, seed=9), MultiView([CROP, CROP], seed=9)
    assert orbbec.on_device(compose).pipeline is compose
    one, other = orbbec.on_device(views, seed=1)(images())
    assert one.shape == other.shape == (4, 3, 8, 8)
    assert torch.equal(one, orbbec.on_device(views, seed=1)(images())[0])
    assert not torch.equal(one, other)


def test_a_step_without_a_counterpart_is_named():
    with pytest.raises(ConversionError, match="step 1, ReLU, has no counterpart"):
        orbbec.on_device(torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU()))
    with pytest.raises(ConversionError, match="step 0, ReLU, has no counterpart"):
        orbbec.on_device([torch.nn.ReLU(), Lambda(np.negative)])


def test_an_option_without_effect_is_refused():
    with pytest.raises(ValueError, match="expected exact only for pipelines that are converted"):
        orbbec.on_device(Compose(CROP), exact=True)


@pytest.mark.parametrize(("arguments", "name"), [((-1,), "epoch"), ((0, -1), "calls"), ((2**63,), "epoch")])
def test_epochs_and_calls_out_of_range_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"on_device: expected {name}"):
        orbbec.on_device(CROP).set_epoch(*arguments)
