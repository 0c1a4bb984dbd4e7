"""Draws without ids differ in every call, also in DataLoader workers; draws with ids are always the same."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from orbbec import transforms as T
from orbbec.plan import Plan
from orbbec.transforms.base.seeds import new_seed
from tests.support import photograph

IMAGE = torch.from_numpy(photograph(40, 50)).permute(2, 0, 1)
PIPELINE = T.Compose([T.RandomResizedCrop(16, antialias=False), T.RandomHorizontalFlip(), T.GaussianNoise()])
COPIES = 64


class Copies(Dataset):
    """Many augmented copies of one image."""

    def __init__(self, by_id=False):
        self.by_id = by_id

    def __len__(self):
        return COPIES

    def __getitem__(self, index):
        return PIPELINE(IMAGE, sample_ids=[index]) if self.by_id else PIPELINE(IMAGE)


def epochs(dataset, workers, context, count=2):
    start = {"multiprocessing_context": context, "persistent_workers": True} if workers else {}
    loader = DataLoader(dataset, batch_size=8, num_workers=workers, **start)
    return [image.numpy().tobytes() for _ in range(count) for batch in loader for image in batch]


# A spawned process takes 3 s to import torch.
PROCESSES = [(0, None), (1, "fork"), (2, "fork"), (4, "fork"), (2, "spawn")]


@pytest.mark.parametrize(("workers", "context"), PROCESSES)
def test_every_item_of_two_epochs_is_another(workers, context):
    assert len(set(epochs(Copies(), workers, context))) == 2 * COPIES


@pytest.mark.parametrize(("workers", "context"), [(2, "fork"), (2, "spawn"), (4, "fork")])
def test_items_with_ids_are_the_same_in_any_worker(workers, context):
    alone = epochs(Copies(by_id=True), 0, None, count=1)
    assert len(set(alone)) == COPIES
    assert epochs(Copies(by_id=True), workers, context, count=1) == alone


def test_calls_and_images_differ_and_a_seed_repeats_them():
    batch = IMAGE.expand(4, -1, -1, -1)

    def both():
        return torch.cat([PIPELINE(batch), PIPELINE(batch)])

    torch.manual_seed(1)
    first = both()
    assert len({image.numpy().tobytes() for image in first}) == 8
    torch.manual_seed(1)
    assert torch.equal(both(), first)
    torch.manual_seed(2)
    assert not torch.equal(both(), first)


def test_a_generator_stands_in_for_torchs_own():
    def drawn(seed):
        return PIPELINE(IMAGE, generator=torch.Generator().manual_seed(seed))

    before = torch.get_rng_state()
    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ValueError, match="a generator only without sample_ids"):
        PIPELINE(IMAGE, sample_ids=[0], generator=torch.Generator())


def test_schedules_read_the_epoch_of_draws_by_a_generator():
    blend, images = T.MixUp(1.0, epochs=(0, 5)), torch.arange(16.0).reshape(8, 1, 1, 2)
    before, after = (
        T.Compose([blend])(images, epoch=epoch, generator=torch.Generator().manual_seed(1))
        for epoch in (4, 5)
    )
    assert not torch.equal(before, images)
    assert torch.equal(after, images)
    other = T.Compose([blend])(images, epoch=4, generator=torch.Generator().manual_seed(2))
    assert not torch.equal(before, other)


def test_seeds_are_drawn_whatever_the_thread_the_mode_and_the_default_device():
    first = threading.Thread(target=lambda: torch.manual_seed(4))
    first.start()
    first.join()
    with ThreadPoolExecutor(2) as threads, torch.inference_mode():
        results = [threads.submit(new_seed).result(), new_seed()]
    with torch.device("meta"):
        results.append(new_seed())
    torch.manual_seed(4)
    assert [torch.empty((), dtype=torch.int64).random_().item() for _ in range(3)] == results


@pytest.mark.parametrize("draws", [{}, {"epoch": 3}, {"sample_ids": [9, 4]}])
def test_a_plan_records_what_it_drew(draws):
    batch = IMAGE.expand(2, -1, -1, -1)
    plan = PIPELINE.plan([(40, 50)] * 2, **draws)
    done = PIPELINE.apply(plan, batch)
    for kept in (Plan.from_json(plan.to_json()), pickle.loads(pickle.dumps(plan))):
        assert torch.equal(PIPELINE.apply(kept, batch), done)


def test_an_epoch_or_ids_alone_settle_the_draw():
    batch = IMAGE.expand(2, -1, -1, -1)
    assert torch.equal(PIPELINE(batch, epoch=0), PIPELINE(batch, sample_ids=[0, 1]))
    assert not torch.equal(PIPELINE(batch, epoch=1), PIPELINE(batch, epoch=0))
