"""Trains with a sink over a Loader, compares its images with a Loader's on the CPU, and times an epoch.

    python tools/check_sink.py                 on CUDA, with captured graphs
    python tools/check_sink.py --device cpu    records and repeats the work, to test this script

The exit status is 1 if a byte differs, or if nothing was replayed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1]))
from orbbec.data import Loader, Sample
from orbbec.data.device.sink import Sink
from orbbec.transforms import (
    ColorJitter,
    GaussianBlur,
    Normalize,
    RandomApply,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToDtype,
)
from tests.support import Recorder, photograph, same_bytes

COUNT, BATCH_SIZE, SINK_SIZE, EPOCHS, SIDE, CLASSES = 66, 8, 4, 3, 48, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = parser.parse_args().device
    expected = torch.cat([images for batches in [loader("cpu")] * EPOCHS for images, *_ in batches])
    by_loop, by_sink = Training(device), Training(device)
    batches = loader(device)
    sunk = Sink(by_sink.step, loader(device), SINK_SIZE, None if device == "cuda" else Recorder)
    for _ in range(EPOCHS):
        loop = seconds(by_loop.step(images, targets["label"], ids) for images, targets, ids in batches)
        sink = seconds(sunk)
    is_same = all(bool(same_bytes(one.images, expected).all()) for one in (by_loop, by_sink))
    print(f"sink on {device}: {sunk.captured} graphs captured, {sunk.replayed} sinks replayed")
    print(f"the bytes of {len(expected)} images are those of a Loader on the CPU: {is_same}")
    print(f"the last epoch: {1000 * loop:.1f} ms in a loop, {1000 * sink:.1f} ms by the sink")
    if not (is_same and sunk.replayed):
        raise SystemExit(1)


class Training:
    """A small network that keeps all images that it gets."""

    def __init__(self, device: str) -> None:
        self.images = torch.zeros(EPOCHS * COUNT, 3, SIDE, SIDE, device=device)
        self.seen = torch.zeros((), dtype=torch.int64, device=device)
        layers = (
            torch.nn.Conv2d(3, 16, 5, 4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.LazyLinear(CLASSES),
        )
        self.network = torch.nn.Sequential(*layers).to(device)
        self.network(self.images[:1])  # initializes LazyLinear
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01)

    def step(self, images: Tensor, labels: Tensor, sample_ids: Tensor) -> Tensor:
        self.images.index_copy_(0, self.seen + torch.arange(len(images), device=images.device), images)
        self.seen += len(images)
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.network(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss


def loader(device: str) -> Loader:
    images = [photograph(60 + n % 40, 100 - n % 30, seed=n) for n in range(COUNT)]
    source = [Sample(image, {"label": n % CLASSES}, n) for n, image in enumerate(images)]
    jitter, blur = RandomApply([ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), RandomApply([GaussianBlur(5)])
    ending = [ToDtype(torch.float32, scale=True), Normalize()]
    pipeline = [RandomResizedCrop(SIDE), RandomHorizontalFlip(), jitter, blur, RandomErasing(), *ending]
    return Loader(source, BATCH_SIZE, pipeline, device, seed=1)


def seconds(losses: Iterable[Tensor]) -> float:
    """The seconds until the last loss is computed."""
    began = time.perf_counter()
    torch.cat([loss.reshape(-1) for loss in losses]).tolist()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
