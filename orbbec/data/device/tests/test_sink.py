"""A sink trains as a loop does."""

import threading

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.batch import collate
from orbbec.data import Loader, Sample, sink
from orbbec.data.device import slots as module
from orbbec.data.device.sink import Sink
from orbbec.data.device.slots import Feed, Slots
from orbbec.transforms import Normalize, RandomResizedCrop, ToDtype
from tests.support import Recorder, assert_same_bytes, photograph

FLOATS = ToDtype(torch.float32, scale=True)
JITTER = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
PIPELINES = {
    "fused": [T.RandomResizedCrop(9, antialias=False), JITTER, T.RandomErasing(), FLOATS, Normalize()],
    "operators": [
        RandomResizedCrop(9),
        T.RandomApply([T.GaussianBlur(3)], p=0.6),
        T.RandomEqualize(),
        T.RandomAdjustSharpness(2.0),
        T.RandomRotation(20, "linear"),
        ToDtype(torch.float16, scale=True),
    ],
    "mixed": [T.Resize((9, 9)), T.RandomPerspective(p=0.3), FLOATS, T.MixUp(num_classes=3)],
    "blended": [RandomResizedCrop(9), T.AugMix(mixture_width=1, chain_depth=1)],
    "noise": [RandomResizedCrop(9), T.GaussianNoise(0.0, 0.1), T.ElasticTransform(20.0)],
}
# How often a graph is captured, and how many of the nine sinks of three epochs are replays. Noise depends on
# the epoch; in one sink no image is blurred; and batches without any color step are of another structure.
COUNTS = {"fused": (2, 4), "operators": (2, 3), "mixed": (2, 4), "blended": (2, 4), "noise": (2, 0)}


def loader(device="cpu"):
    source = [
        Sample(np.random.default_rng(i).integers(0, 256, (20, 20, 3), np.uint8), {"label": i % 3}, i)
        for i in range(22)
    ]
    pipeline = [RandomResizedCrop(8), ToDtype(torch.float32, scale=True), Normalize()]
    return Loader(source, 4, pipeline, device, drop_last=True, seed=1, threads=2)


def trained(run, device="cpu", epochs=2):
    """The losses of some epochs, by `run(step, batches)`."""
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
    return [losses for _ in range(epochs) for losses in run(step, batches)]


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


@pytest.mark.parametrize("sink_size", [1, 2, 5, 100])
def test_a_captured_sink_trains_as_a_loop_does(sink_size):
    sinks = []

    def run(step, batches):
        sinks.extend(sinks or [Sink(step, batches, sink_size, Recorder)])
        return sinks[0]

    assert_same_bytes(torch.cat(trained(run, epochs=4)), torch.cat(trained(in_a_loop, epochs=4)))
    assert sinks[0].captured == {1: 1, 2: 2, 5: 1, 100: 1}[sink_size]


class History:
    """A step that keeps every image where it came, as a captured graph can."""

    def __init__(self, like, rows):
        self.images = like.new_zeros((rows, *like.shape[1:]))
        self.seen = torch.zeros((), dtype=torch.int64, device=like.device)

    def step(self, images, *targets):
        self.images.index_copy_(0, self.seen + torch.arange(len(images), device=images.device), images)
        self.seen += len(images)
        return targets[-1].sum()


def assert_replays_the_loader(pipeline, sink_size, device, epochs=3):
    """The bytes of every image over epochs of five batches of 4 and one of 2; gives the sink."""
    name = "cuda" if device.name == "cuda" else "cpu"
    loader = ragged(pipeline, name)
    expected = [batch for _ in range(epochs) for batch in loader]
    history = History(expected[0].images, sum(len(batch.images) for batch in expected))
    sunk = Sink(history.step, ragged(pipeline, name), sink_size, None if name == "cuda" else Recorder)
    losses = torch.cat([losses for _ in range(epochs) for losses in sunk])
    assert_same_bytes(history.images, torch.cat([batch.images for batch in expected]))
    assert losses.tolist() == [int(batch.sample_ids.sum()) for batch in expected]
    return sunk


def ragged(pipeline, device="cpu"):
    sizes = [(20 + i % 7, 24 - i % 5, 3) for i in range(22)]
    images = [np.random.default_rng(i).integers(0, 256, size, np.uint8) for i, size in enumerate(sizes)]
    source = [Sample(image, {"label": i % 3}, i) for i, image in enumerate(images)]
    return Loader(source, 4, pipeline, device, seed=1, threads=2)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_replay_gives_the_bytes_of_the_loader(name, device):
    sunk = assert_replays_the_loader(PIPELINES[name], 2, device)
    assert (sunk.captured, sunk.replayed) == COUNTS[name]


@pytest.mark.parametrize(
    ("name", "sink_size", "counts"), [("fused", 1, (2, 12)), ("fused", 8, (1, 1)), ("noise", 1, (3, 7))]
)
def test_sinks_of_any_size_give_the_bytes_of_the_loader(name, sink_size, counts, device):
    sunk = assert_replays_the_loader(PIPELINES[name], sink_size, device)
    assert (sunk.captured, sunk.replayed) == counts


@pytest.mark.parametrize(
    ("sides", "captured"),
    [
        ([60, 20, 20, 20, 60, 20], 1),  # captured with small images, replayed with large ones
        ([20, 20, 20, 20, 20, 60, 20, 60], 2),  # captured, and again in larger slots
    ],
)
def test_images_may_be_larger_than_those_that_were_captured(sides, captured):
    images = [photograph(side, side + n, seed=side + n) for side in sides for n in range(2)]
    source = [Sample(image, {"label": n}, n) for n, image in enumerate(images)]

    def batches():
        return Loader(source, 2, [T.Resize((9, 8))], shuffle=False, threads=1)

    history = History(next(iter(batches())).images, len(source))
    sunk = Sink(history.step, batches(), 1, Recorder)
    list(sunk)
    assert sunk.captured == captured
    assert_same_bytes(history.images, torch.cat([batch.images for batch in batches()]))


def test_what_cannot_be_captured_runs_as_it_is(device):
    for pipeline in (
        [RandomResizedCrop(9), T.MotionBlur(p=1.0)],
        [T.RandomRotation(9, expand=True), T.Resize((9, 9))],
    ):
        sunk = assert_replays_the_loader(pipeline, 2, device, epochs=2)
        assert (sunk.captured, sunk.replayed) == (0, 0)


def test_batches_of_another_structure_are_captured_by_themselves():
    batches = [(torch.full((n % 2 + 1,), float(n)),) for n in range(12)]
    sunk = Sink(lambda x: x.sum(), batches, 1, Recorder)
    assert torch.cat([*sunk, *sunk]).tolist() == [n * (n % 2 + 1.0) for n in range(12)] * 2
    assert (sunk.captured, sunk.replayed) == (2, 19)


def test_what_a_graph_reads_is_computed_once_before_it_is_captured():
    asked = []

    class Watched(Recorder):
        def warm_up(self, work):
            asked.append(("warm up", self.device.type))
            return super().warm_up(work)

        def record(self, work):
            asked.append(("record", self.device.type))
            return super().record(work)

    losses = torch.cat(list(Sink(lambda x: x.sum(), [(torch.ones(2),)] * 5, 1, Watched)))
    assert losses.tolist() == [2.0] * 5
    assert asked == [("warm up", "cpu")] * 4 + [("record", "cpu")]


def test_the_graphs_that_were_used_last_are_kept():
    batches = [(torch.ones(1 + n // 2),) for n in range(24)]
    sunk = Sink(lambda x: x.sum(), batches, 1, Recorder)
    assert torch.cat(list(sunk)).tolist() == [1 + n // 2 for n in range(24)]
    assert (sunk.captured, len(sunk._graphs)) == (11, 4)  # the first two steps were not warm


def test_slots_stay_where_they_are_until_they_are_too_small():
    slots, pipeline = Slots(2, torch.device("cpu")), T.Compose(PIPELINES["operators"])

    def feeds(side):
        images = [np.full((side, side + n, 3), side, np.uint8) for n in range(3)]
        batch = ImageBatch.from_images(images)
        return [Feed(batch, pipeline.plan(batch.sizes, epoch=0), [torch.tensor([side])])] * 2

    def addresses():
        return slots.small.data_ptr(), slots.pixels.data_ptr(), slots.read(1, feeds(20)[1])[1].data_ptr()

    assert slots.reserve(feeds(20))
    slots.fill(feeds(20))
    first = addresses()
    assert not slots.reserve(feeds(18))
    slots.fill(feeds(18))
    assert addresses() == first
    assert slots.read(1, feeds(20)[1])[1].tolist() == [18]
    assert slots.reserve(feeds(40))


def test_channels_last_stays_in_a_slot():
    given = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    slots, feed = Slots(1, torch.device("cpu")), Feed(None, None, [given])
    slots.reserve([feed])
    slots.fill([feed])
    (read,) = slots.read(0, feed)
    assert read.stride() == given.stride()
    assert_same_bytes(read, given)


@pytest.mark.parametrize(("name", "in_slot"), [("cpu", [False]), ("cuda", [False, True])])
def test_what_is_on_a_gpu_is_written_to_the_slot_and_the_rest_to_the_host(monkeypatch, name, in_slot):
    slots, feed, empty, written = (
        Slots(1, torch.device("cpu")),
        Feed(None, None, [torch.ones(3)]),
        torch.empty,
        [],
    )
    slots.reserve([feed])
    slots._device, first = torch.device(name), slots.small[0].data_ptr()
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory, **how: empty(*shape, **how))
    monkeypatch.setattr(module, "write", lambda _, memory: written.append(memory.data_ptr() == first))
    slots.fill([feed])
    assert written == in_slot


def test_a_sink_that_is_left_stops_the_threads_and_goes_on_with_the_next_epoch():
    batches = ragged(PIPELINES["fused"])
    history = History(next(iter(batches)).images, 100)
    batches.set_epoch(0)
    sunk = Sink(history.step, batches, 2, Recorder)
    for _ in sunk:
        break
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("orbbec-data")]
    assert [len(losses) for losses in sunk] == [2, 2, 2]
    for epoch, begin in ((0, 0), (1, 8)):
        batches.set_epoch(epoch)
        expected = torch.cat([batch.images for batch, _ in zip(batches, range(2), strict=False)])
        assert_same_bytes(history.images[begin : begin + 8], expected)


def test_targets_of_all_kinds_come_from_the_slots():
    boxes = [collate([{"label": n, "weight": n / 2, "keep": n % 2 == 0}]) for n in range(6)]
    sunk = Sink(lambda label, weight, keep: (label + weight) * keep, boxes, 1, Recorder)
    assert torch.cat(list(sunk)).flatten().tolist() == [0.0, 0.0, 3.0, 0.0, 6.0, 0.0]
    assert sunk.replayed == 2


def test_a_captured_step_cannot_ask_for_a_number():
    with pytest.raises(RuntimeError, match="Recorder: a number is asked for"):
        list(Sink(lambda x: x * x.item(), [(torch.tensor(2.0),)] * 4, 1, Recorder))


def test_a_sink_names_what_is_wrong():
    with pytest.raises(ValueError, match="sink: expected sink_size from 1, but got 0"):
        list(sink(torch.sum, [], 0))
    with pytest.raises(ValueError, match="sink: expected a batch with tensors, but got str"):
        list(sink(torch.sum, ["text"], 1))
    with pytest.raises(ValueError, match="expected tensors, but got an ImageBatch"):
        list(sink(torch.sum, [ImageBatch.from_images([np.zeros((2, 2, 3), np.uint8)])], 1))


@pytest.mark.parametrize(("name", "capture"), [("cpu", None), ("cpu", Recorder), ("cuda", None)])
def test_a_loader_applies_its_plans_unless_they_are_captured(name, capture):
    batches = Loader.__new__(Loader)
    batches.device, batches.planned = torch.device(name), lambda: "planned"
    taken = Sink(None, batches, 2, capture)._taken()
    assert (taken == "planned") == (name == "cuda" or capture is not None)
