"""The same sample id and epoch give the same bytes in any batch, order, worker and process, on any device.

Run as a program, this file is the second process of a sharded training; the argument is their common folder.
"""

import pickle
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from orbbec import transforms as T
from orbbec.batch import collate
from tests.support import photograph

COUNT, EPOCH = 64, 3
PIPELINES = {
    "one pass": [
        T.RandomResizedCrop(16, antialias=False),
        T.RandomHorizontalFlip(),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(0.2),
        T.RandomErasing(),
        T.ToDtype(torch.float16, scale=True),
        T.Normalize(),
    ],
    "operators": [
        T.RandomResizedCrop(16),
        T.ElasticTransform(8.0, 2.0),
        T.RandomApply([T.GaussianBlur(5)]),
        T.RandomErasing(value="random"),
        T.RandAugment(),
    ],
    "boxes": [
        T.RandomZoomOut(side_range=(1.0, 1.5)),
        T.RandomIoUCrop(),
        T.RandomRotation(20, "linear"),
        T.RandomHorizontalFlip(),
        T.Letterbox(20),
    ],
}
host_only = pytest.mark.skipif(
    hasattr(torch.ops.orbbec, "set_emulation"), reason="of processes, whatever the device"
)


class Photographs(Dataset):
    """Variable-size images with boxes; the sample id is the index."""

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        height, width = rng.integers(12, 31, 2).tolist()
        low = rng.random((2, 2)) * (width / 2, height / 2)
        high = low + np.array([width / 3, height / 3])
        boxes = np.concatenate([low, high], 1)
        return {"images": photograph(height, width, seed=index), "boxes": boxes, "sample_ids": index}


def pipeline_of(name):
    return T.Compose(PIPELINES[name], seed=11)


def plan_of(pipeline, batch):
    targets = [{"boxes": np.asarray(boxes)} for boxes in batch["boxes"]]
    plan = pipeline.plan(batch["images"].sizes, batch["sample_ids"], EPOCH, targets=targets)
    return plan, T.transform_targets(plan, targets)


def results_of(pipeline, batch, planned=None):
    """The bytes of image and boxes by sample id."""
    plan, targets = plan_of(pipeline, batch) if planned is None else planned
    images = pipeline.apply(plan, batch["images"])
    images = images.cpu().contiguous().view(torch.uint8).numpy()
    return {
        index: (image.tobytes(), target["boxes"].tobytes())
        for index, image, target in zip(batch["sample_ids"].tolist(), images, targets, strict=True)
    }


def batches_of(order, size):
    dataset = Photographs()
    return [collate([dataset[i] for i in order[at : at + size]]) for at in range(0, len(order), size)]


@pytest.fixture(scope="module")
def expected():
    """The results of each pipeline for one ordered batch on the CPU, computed before a device is active."""
    batch = batches_of(range(COUNT), COUNT)[0]
    results = {name: results_of(pipeline_of(name), batch) for name in PIPELINES}
    assert all(len({image for image, _ in found.values()}) == COUNT for found in results.values())
    return results


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_batches_of_any_size_and_order_give_the_same_bytes(device, expected, name, size):
    pipeline, found = pipeline_of(name), {}
    for batch in batches_of(np.random.default_rng(size).permutation(COUNT).tolist(), size):
        moved = {**batch, "images": batch["images"].to("cuda" if device.name == "cuda" else "cpu")}
        found |= results_of(pipeline, moved)
    assert found == expected[name]


def test_another_epoch_or_seed_gives_other_bytes():
    batch = batches_of(range(8), 8)[0]
    pipelines = [pipeline_of("one pass"), T.Compose(PIPELINES["one pass"], seed=12)]
    first, second = ([image for image, _ in results_of(pipeline, batch).values()] for pipeline in pipelines)
    assert all(one != other for one, other in zip(first, second, strict=True))


class Planned:
    """Collates and plans, and optionally applies the plan, in any process."""

    def __init__(self, pipeline, work):
        self.pipeline, self.work = pipeline, work

    def __call__(self, samples):
        batch = collate(samples)
        if self.work == "nothing":
            return batch, None
        planned = plan_of(self.pipeline, batch)
        return (batch, planned) if self.work == "plan" else results_of(self.pipeline, batch, planned)


@host_only
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker processes")
@pytest.mark.parametrize("work", ["nothing", "plan", "all"])
@pytest.mark.parametrize("workers", [0, 1, 4])
def test_workers_give_the_same_bytes(expected, work, workers):
    pipeline, found = pipeline_of("one pass"), {}
    loader = DataLoader(
        Photographs(), batch_size=7, shuffle=True, num_workers=workers, collate_fn=Planned(pipeline, work)
    )
    for made in loader:
        found |= made if work == "all" else results_of(pipeline, *made)
    assert found == expected["one pass"]


@host_only
def test_two_processes_of_a_sharded_training_give_the_same_bytes(expected, tmp_path):
    other = subprocess.Popen([sys.executable, __file__, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    found = shard(tmp_path, 0)
    _, complaint = other.communicate(timeout=60)
    assert other.returncode == 0, complaint
    theirs = pickle.loads((tmp_path / "shard").read_bytes())
    assert len(found) == len(theirs) == COUNT // 2
    assert found | theirs == expected["one pass"]


def shard(folder, rank):
    """The part of an epoch that one of two processes sees."""
    dist.init_process_group("gloo", f"file://{folder}/store", timedelta(seconds=60), rank=rank, world_size=2)
    dataset, pipeline, found = Photographs(), pipeline_of("one pass"), {}
    sampler = DistributedSampler(dataset)
    sampler.set_epoch(EPOCH)
    for batch in DataLoader(dataset, batch_size=8, sampler=sampler, collate_fn=collate):
        found |= results_of(pipeline, batch)
    dist.destroy_process_group()
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "shard").write_bytes(pickle.dumps(shard(folder, 1)))
