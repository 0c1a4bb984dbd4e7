"""A sink trains as a loop does."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec.data import Loader, Sample, sink
from orbbec.transforms import Normalize, RandomResizedCrop, ToDtype


def loader(device="cpu"):
    source = [
        Sample(np.random.default_rng(i).integers(0, 256, (20, 20, 3), np.uint8), {"label": i % 3}, i)
        for i in range(22)
    ]
    chain = [RandomResizedCrop(8), ToDtype(torch.float32, scale=True), Normalize()]
    return Loader(source, 4, chain, device, drop_last=True, seed=1, threads=2)


def trained(run, device="cpu"):
    """The losses of two epochs, by `run(step, batches)`."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3)).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)

    def step(images, labels, sample_ids):
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    batches = loader(device)
    return [losses for _ in range(2) for losses in run(step, batches)]


def in_a_loop(step, batches):
    for images, targets, sample_ids in batches:
        yield step(images, targets["label"], sample_ids).detach()[None]


@pytest.mark.parametrize("sink_size", [1, 2, 5, 100])
def test_a_sink_trains_as_a_loop_does(sink_size, device):
    name = "cuda" if device.name == "cuda" else "cpu"
    expected = torch.cat(trained(in_a_loop, name))
    sunk = trained(lambda step, batches: sink(step, batches, sink_size), name)
    lengths = [min(sink_size, 5 - begin) for begin in range(0, 5, sink_size)]
    assert [len(losses) for losses in sunk] == 2 * lengths
    torch.testing.assert_close(torch.cat(sunk), expected, rtol=0 if name == "cpu" else 1e-5, atol=0)
    assert not torch.equal(expected[:5], expected[5:])


def test_a_sink_names_what_is_wrong():
    with pytest.raises(ValueError, match="sink: expected sink_size from 1, but got 0"):
        list(sink(torch.sum, [], 0))
    with pytest.raises(ValueError, match="sink: expected a batch with tensors, but got str"):
        list(sink(torch.sum, ["text"], 1))
    with pytest.raises(ValueError, match="expected tensors, but got an ImageBatch"):
        list(sink(torch.sum, [ImageBatch.from_images([np.zeros((2, 2, 3), np.uint8)])], 1))
