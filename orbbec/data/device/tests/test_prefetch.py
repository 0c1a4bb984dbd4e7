"""Batches of any DataLoader, augmented on a device."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from orbbec import ImageBatch
from orbbec.data import DevicePrefetcher, collate
from orbbec.data.device.staging import Staging, map_tensors, pinned
from orbbec.data.order import Order, OrderSampler
from orbbec.transforms import Compose, RandomHorizontalFlip, RandomResizedCrop
from tests.support import assert_same_bytes

PIPELINE = Compose([RandomResizedCrop(8), RandomHorizontalFlip()], seed=3)


class Images(Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        image = np.random.default_rng(index).integers(0, 256, (20 + index, 30, 3), np.uint8)
        return {"images": image, "label": index, "sample_ids": index}


def test_a_dataloader_gives_what_compose_gives():
    sampler = OrderSampler(Order(7, seed=1))
    batches = DevicePrefetcher(DataLoader(Images(), 3, sampler=sampler, collate_fn=collate), PIPELINE, "cpu")
    assert len(batches) == 3
    orders = []
    for epoch in range(2):
        batches.set_epoch(epoch)
        for batch in batches:
            ids = batch["sample_ids"].tolist()
            orders += ids
            assert batch["label"].tolist() == ids
            images = [Images()[i]["images"] for i in ids]
            assert torch.equal(batch["images"], PIPELINE(images, sample_ids=ids, epoch=epoch))
    assert sorted(orders[:7]) == sorted(orders[7:]) == list(range(7))
    assert orders[:7] != orders[7:]


class Pair(NamedTuple):
    images: torch.Tensor
    labels: torch.Tensor


@pytest.mark.parametrize("kind", ["tensor", "tuple", "list", "named"])
def test_images_are_found_and_samples_counted(kind):
    images = torch.randint(0, 256, (4, 3, 20, 20), dtype=torch.uint8)
    labels = torch.arange(4)
    batch = {
        "tensor": images,
        "tuple": (images, labels),
        "list": [images, labels],
        "named": Pair(images, labels),
    }[kind]
    for epoch, batches in enumerate([DevicePrefetcher([batch, batch], PIPELINE, "cpu")]):
        for turn, result in enumerate(batches):
            expected = PIPELINE(images, sample_ids=torch.arange(4 * turn, 4 * turn + 4), epoch=epoch)
            assert type(result) is type(batch)
            assert torch.equal(result if kind == "tensor" else result[0], expected)


def test_batches_are_only_copied_without_transforms():
    images = ImageBatch.from_images([np.zeros((2, 3, 3), np.uint8)])
    (result,) = DevicePrefetcher([{"images": images, "name": "a"}], None, "cpu")
    assert result == {"images": images, "name": "a"}
    with pytest.raises(ValueError, match="a dict with 'images', but got dict"):
        list(DevicePrefetcher([{"pictures": images}], None, "cpu"))


def test_tensors_are_found_in_containers():
    value = {"a": [torch.tensor(1), ("b", torch.tensor(2))], "c": Pair(torch.tensor(3), None)}
    changed = map_tensors(value, lambda tensor: tensor * 10)
    assert changed == {"a": [10, ("b", 20)], "c": Pair(30, None)}


class OnCuda(torch.Tensor):
    """Says that it lies on CUDA, and keeps the streams that read it."""

    device = torch.device("cuda", 0)

    def record_stream(self, stream):
        self.readers = [stream]


class Stream:
    def __init__(self):
        self.waited_for = []

    def wait_stream(self, other):
        self.waited_for.append(other)


def test_the_side_stream_waits_for_a_batch_that_is_on_the_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: ("current", device))
    staging, side = Staging(torch.device("cpu")), Stream()
    staging._stream = side
    staging.take({"images": torch.zeros(2), "labels": [torch.zeros(1)]})
    assert side.waited_for == []
    images = torch.zeros(2).as_subclass(OnCuda)
    assert staging.take({"images": images})["images"] is images
    assert side.waited_for == [("current", images.device)]
    assert images.readers == [side]


def test_after_an_epoch_that_was_left_comes_the_next():
    images = torch.randint(0, 256, (4, 3, 20, 20), dtype=torch.uint8)
    batches = DevicePrefetcher([images, images], PIPELINE, "cpu")
    ids = torch.arange(4)
    for epoch in range(3):
        for batch in batches:
            assert torch.equal(batch, PIPELINE(images, sample_ids=ids, epoch=epoch))
            break
    batches.set_epoch(1)
    first, second = batches
    assert torch.equal(first, PIPELINE(images, sample_ids=ids, epoch=1))
    assert torch.equal(second, PIPELINE(images, sample_ids=ids + 4, epoch=1))


def test_on_the_cpu_a_batch_is_made_when_it_is_asked_for():
    asked = []

    def batches():
        for number in range(4):
            asked.append(number)
            yield torch.zeros(1, 3, 2, 2, dtype=torch.uint8)

    for number, _ in enumerate(DevicePrefetcher(batches(), None, "cpu")):
        assert asked == list(range(number + 1))
    assert asked == [0, 1, 2, 3]


def test_the_last_batches_come_though_none_follows():
    batches = DevicePrefetcher([torch.full((1, 3, 2, 2), n).byte() for n in range(3)], None, "cpu")
    batches._staging.depth = 2  # as on CUDA
    assert [int(batch.max()) for batch in batches] == [0, 1, 2]


def test_a_sampler_without_epochs_is_left_alone():
    images = [torch.full((3, 2, 2), number, dtype=torch.uint8) for number in range(4)]
    batches = DevicePrefetcher(torch.utils.data.DataLoader(images, 2), None, "cpu")
    batches.set_epoch(3)
    assert [batch[:, 0, 0, 0].tolist() for batch in batches] == [[0, 1], [2, 3]]
    assert batches.epoch == 4


@pytest.mark.parametrize(("name", "depth"), [("cpu", 1), ("cuda", 2)])
def test_on_cuda_a_batch_is_prepared_while_another_is_in_the_model(monkeypatch, name, depth):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    assert Staging(torch.device(name)).depth == depth


@pytest.mark.cuda
def test_a_mark_says_whether_the_device_has_work():
    staging = Staging(torch.device("cuda"))
    torch.cuda._sleep(1 << 30)  # cycles
    is_busy = staging.mark()
    assert is_busy()
    torch.cuda.synchronize()
    assert not is_busy()


def test_on_the_cpu_no_wait_is_hidden():
    assert not Staging(torch.device("cpu")).mark()()


@pytest.mark.cuda
def test_an_expanded_target_is_pinned():
    expanded = torch.arange(3)[:, None].expand(3, 4)
    (tensor,) = pinned([expanded])
    assert tensor.is_pinned()
    assert_same_bytes(tensor, expanded.contiguous())
