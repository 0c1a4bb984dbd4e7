"""ImageBatch between processes: DataLoader with and without workers, forked and spawned."""

import io
import pickletools
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader

from orbbec.batch import ImageBatch, check_not_forked, collate

WORKERS = [(0, None), (2, "fork"), (2, "spawn")]
INSTEAD = "return the batch from the worker and call .to(device) in the training loop"


def random_samples(count):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 50, (count, 2)).tolist()
    return [
        {
            "image": rng.integers(0, 256, (height, width, 3), np.uint8),
            "label": index,
            "boxes": rng.random((index % 3, 4)),
            "name": f"image {index}",
        }
        for index, (height, width) in enumerate(sizes)
    ]


@pytest.mark.parametrize(("workers", "context"), WORKERS)
@pytest.mark.parametrize("pin_memory", [False, True])
def test_loader_gives_the_samples(workers, context, pin_memory):
    samples = random_samples(22)
    loader = DataLoader(
        samples,
        batch_size=4,
        collate_fn=collate,
        num_workers=workers,
        multiprocessing_context=context,
        pin_memory=pin_memory,
    )
    batches = list(loader)
    assert [len(batch["image"]) for batch in batches] == [4, 4, 4, 4, 4, 2]
    images = [image for batch in batches for image in batch["image"].numpy()]
    boxes = [item for batch in batches for item in batch["boxes"]]
    for sample, image, box in zip(samples, images, boxes, strict=True):
        np.testing.assert_array_equal(image, sample["image"])
        np.testing.assert_array_equal(box, sample["boxes"])
    assert torch.cat([batch["label"] for batch in batches]).tolist() == list(range(22))
    assert [name for batch in batches for name in batch["name"]] == [sample["name"] for sample in samples]
    for batch in batches:
        assert batch["image"].layout.tolist() == batch["image"].host_layout.tolist()
        assert all(image.data_ptr() % 64 == 0 for image in batch["image"])
        assert batch["image"].is_pinned() == (pin_memory and torch.cuda.is_available())


def test_loader_calls_pin_memory_of_the_batch(monkeypatch):
    called = []
    monkeypatch.setattr(ImageBatch, "pin_memory", lambda batch: called.append(len(batch)) or batch)
    pinned = torch.utils.data._utils.pin_memory.pin_memory(
        collate([{"image": np.zeros((2, 2), np.uint8)}] * 3)
    )
    assert called == [3]
    assert isinstance(pinned["image"], ImageBatch)


def test_a_worker_makes_the_batch_in_shared_memory():
    def is_shared(samples):
        return collate(samples).storage.is_shared()

    images = [np.zeros((2, 2, 3), np.uint8)]
    assert list(DataLoader(images, collate_fn=is_shared, num_workers=1, multiprocessing_context="fork")) == [
        True
    ]
    assert list(DataLoader(images, collate_fn=is_shared)) == [False]


def test_a_worker_returns_a_batch_without_images():
    loader = DataLoader(
        [0],
        collate_fn=lambda _: ImageBatch.from_images([], channels=2),
        num_workers=1,
        multiprocessing_context="fork",
    )
    (batch,) = loader
    assert len(batch) == 0
    assert batch.channels == 2


def test_a_batch_pickles_as_one_shared_tensor():
    batch = ImageBatch.from_images([np.zeros((300, 300, 3), np.uint8)] * 20, plan_bytes=50)
    stream = bytes(ForkingPickler.dumps(batch))
    assert len(stream) < 2000
    names = [
        argument for _, argument, _ in pickletools.genops(io.BytesIO(stream)) if isinstance(argument, str)
    ]
    assert names.count("rebuild_tensor") == 1
    assert batch.storage.is_shared()


@pytest.mark.parametrize("strategy", sorted(mp.get_all_sharing_strategies()))
def test_another_process_sees_the_same_memory(strategy):
    def add_one(inbox, outbox):
        batch = inbox.get()
        for image in batch:
            image += 1
        outbox.put([len(batch), batch.sizes.tolist(), batch.plan.tolist(), batch.layout.tolist()])

    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(strategy)
    try:
        batch = ImageBatch.from_images(
            [np.full((3, 4, 3), 7, np.uint8), np.full((2, 2, 3), 8, np.uint8)], plan_bytes=2
        )
        batch.plan.fill_(5)
        context = mp.get_context("fork")
        inbox, outbox = context.Queue(), context.Queue()
        worker = context.Process(target=add_one, args=(inbox, outbox))
        worker.start()
        inbox.put(batch)
        assert outbox.get(timeout=60) == [2, [[3, 4], [2, 2]], [5, 5], batch.layout.tolist()]
        worker.join(60)
    finally:
        mp.set_sharing_strategy(before)
    assert batch[0].unique().tolist() == [8]
    assert batch[1].unique().tolist() == [9]


@pytest.mark.parametrize(
    "call",
    [
        lambda images: collate(images).to("cuda"),
        lambda images: collate(images).to(torch.device("cuda", 0), non_blocking=True),
        lambda images: collate(images).pin_memory(),
        lambda images: ImageBatch.from_images(images, pin_memory=True),
    ],
    ids=["to", "to_device", "pin_memory", "from_images"],
)
def test_cuda_in_a_forked_worker_says_what_to_do_instead(call):
    images = [np.zeros((2, 2, 3), np.uint8)]
    loader = DataLoader(images, collate_fn=call, num_workers=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError) as caught:
        list(loader)
    assert "CUDA cannot be used in a forked worker process" in str(caught.value)
    assert INSTEAD in str(caught.value)
    assert 'multiprocessing_context="spawn"' in str(caught.value)


def test_a_forked_worker_may_copy_to_the_cpu():
    images = [np.full((2, 2, 3), 6, np.uint8)]
    loader = DataLoader(
        images,
        collate_fn=lambda samples: collate(samples).to("cpu"),
        num_workers=1,
        multiprocessing_context="fork",
    )
    (batch,) = loader
    assert batch[0].unique().tolist() == [6]


def test_cuda_is_not_refused_in_a_spawned_worker():
    loader = DataLoader(["to"], collate_fn=check_not_forked, num_workers=1, multiprocessing_context="spawn")
    assert list(loader) == [None]


def test_cuda_is_refused_where_cuda_was_initialized_before_the_fork(monkeypatch):
    check_not_forked("to")
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    with pytest.raises(RuntimeError, match=r"^to: CUDA cannot be used in a forked worker process; "):
        check_not_forked("to")
    with pytest.raises(RuntimeError, match=r"^ImageBatch\.to: CUDA"):
        ImageBatch.from_images([]).to("cuda")
