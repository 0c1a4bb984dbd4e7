"""The loader: every sample once, independent of threads; immediate stops; nothing left behind."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec.data import BadSample, Decoding, Fault, Loader, Sample, SourceError
from orbbec.data.order import Order
from orbbec.transforms import (
    Compose,
    Mosaic,
    Normalize,
    RandomHorizontalFlip,
    RandomIoUCrop,
    RandomResizedCrop,
    Resize,
    ToDtype,
    transform_targets,
)

PIPELINE = (RandomResizedCrop(24, antialias=False), RandomHorizontalFlip())


def jpeg(seed, height=40, width=50):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return cv2.imencode(".jpg", cv2.GaussianBlur(noise, (0, 0), 2.0))[1].tobytes()


class Files:
    """JPEGs in memory; those in `bad` are truncated, those in `missing` cannot be read."""

    def __init__(self, count, bad=(), missing=()):
        self.data = [jpeg(i, 30 + i % 7, 50 - i % 5) for i in range(count)]
        self.missing = missing
        for index in bad:
            self.data[index] = self.data[index][:-300]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        if index in self.missing:
            raise BadSample(index, f"{index}.jpg", "No such file or directory")
        return Sample(self.data[index], {"label": index}, index)


def by_id(loader):
    """The images of an epoch by sample id."""
    found = {}
    for images, targets, ids in loader:
        assert targets["label"].tolist() == ids.tolist()
        found.update(zip(ids.tolist(), images, strict=True))
    return found


pytestmark = pytest.mark.usefixtures("no_earlier_threads")


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("orbbec-data")]


def descriptors():
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 4])
def test_every_sample_comes_once_an_epoch(threads, world_size):
    for epoch in range(2):
        ids = []
        for rank in range(world_size):
            order = Order(23, seed=1, rank=rank, world_size=world_size)
            loader = Loader(Files(23), 4, PIPELINE, threads=threads, order=order)
            loader.set_epoch(epoch)
            batches = list(loader)
            assert len(batches) == len(Loader(Files(23), 4, PIPELINE, order=order))
            ids += [i for batch in batches for i in batch.sample_ids.tolist()]
        assert sorted(ids) == list(range(23))


def test_a_sample_is_the_same_whatever_prepares_it():
    one = by_id(Loader(Files(13), 1, PIPELINE, threads=1, prefetch=0, seed=7))
    for loader in (
        Loader(Files(13), 5, PIPELINE, threads=3, seed=7),
        Loader(Files(13), 13, Compose(PIPELINE, seed=7), shuffle=False),
        Loader(Files(13), 4, PIPELINE, seed=7, decoding=Decoding(roi=False)),
        Loader(iter([Files(13)[i] for i in range(13)]), 4, PIPELINE, seed=7),
    ):
        other = by_id(loader)
        assert other.keys() == one.keys()
        assert all(torch.equal(other[i], one[i]) for i in one)


def test_batches_are_those_of_cv2_and_compose():
    pipeline = Compose([*PIPELINE, ToDtype(torch.float32, scale=True), Normalize()], seed=3)
    files = Files(6)
    loader = Loader(files, 6, pipeline, shuffle=False)
    whole = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB) for data in files.data]
    for epoch in range(2):
        (batch,) = loader
        assert torch.equal(batch.images, pipeline(whole, epoch=epoch))


def test_batches_are_the_same_bits_on_an_accelerator(accelerator):
    name = "cuda" if accelerator.name == "cuda" else "cpu"
    expected = list(Loader(Files(11), 3, PIPELINE, seed=4))
    with accelerator.active():
        for _ in range(2):
            for actual, wanted in zip(Loader(Files(11), 3, PIPELINE, name, seed=4), expected, strict=True):
                assert actual.images.device.type == actual.targets["label"].device.type == name
                assert torch.equal(actual.images.cpu(), wanted.images)
                assert torch.equal(actual.sample_ids.cpu(), wanted.sample_ids)


def test_epochs_count_up_or_are_set():
    loader = Loader(Files(9), 9, PIPELINE, seed=1)
    first, second = (next(iter(list(loader))) for _ in range(2))
    assert first.sample_ids.tolist() != second.sample_ids.tolist()
    loader.set_epoch(0)
    (again,) = loader
    assert torch.equal(again.images, first.images)


def test_the_last_batch_is_kept_or_dropped():
    assert [len(batch.images) for batch in Loader(Files(10), 4, PIPELINE)] == [4, 4, 2]
    loader = Loader(Files(10), 4, PIPELINE, drop_last=True)
    assert len(loader) == 2
    assert [len(batch.images) for batch in loader] == [4, 4]


def test_without_transforms_images_come_as_they_are():
    (batch,) = Loader(Files(3), 3, shuffle=False)
    assert isinstance(batch.images, ImageBatch)
    assert batch.images.sizes.tolist() == [[30, 50], [31, 49], [32, 48]]


def test_arrays_and_tensors_are_images_too():
    gray = np.arange(12, dtype=np.uint8).reshape(3, 4)
    color = torch.full((3, 4, 3), 5, dtype=torch.uint8)
    (batch,) = Loader(
        [Sample(gray), Sample(color, {}, 1)], 2, [Resize((3, 4), antialias=False)], shuffle=False
    )
    assert torch.equal(batch.images[0], torch.from_numpy(gray).expand(3, 3, 4))
    assert int(batch.images[1].min()) == 5


def test_targets_follow_the_images():
    class Boxes(Files):
        def __getitem__(self, index):
            boxes = np.array([[0.0, 0.0, 10.0, 20.0]] * (index + 1))
            return Sample(self.data[index], {"boxes": boxes, "labels": np.arange(index + 1)}, index)

    pipeline = Compose([RandomIoUCrop(), Resize((32, 32)), RandomHorizontalFlip(1.0)], seed=1)
    source = Boxes(4)
    (batch,) = Loader(source, 4, pipeline, shuffle=False, collate=list)
    samples = [source[i] for i in range(4)]
    sizes = [(30 + i, 50 - i) for i in range(4)]
    plan = pipeline.plan(sizes, targets=[sample.targets for sample in samples], epoch=0)
    expected = transform_targets(plan, [sample.targets for sample in samples])
    for actual, wanted in zip(batch.targets, expected, strict=True):
        assert np.array_equal(actual["boxes"], wanted["boxes"])
        assert np.array_equal(actual["labels"], wanted["labels"])


@pytest.mark.parametrize("world_size", [1, 2])
def test_an_epoch_goes_on_at_the_exact_sample(world_size):
    def loader(rank):
        order = Order(29, seed=5, rank=rank, world_size=world_size)
        return Loader(Files(29), 3, PIPELINE, seed=5, order=order, threads=2)

    for rank in range(world_size):
        whole = [(ids.tolist(), images) for images, _, ids in loader(rank)]
        first = loader(rank)
        for _ in zip(range(3), first, strict=False):
            state = first.state_dict()
        first.close()
        resumed = loader(rank)
        resumed.load_state_dict(state)
        assert len(resumed) == len(whole)
        left = [(ids.tolist(), images) for images, _, ids in resumed]
        assert [ids for ids, _ in left] == [ids for ids, _ in whole[3:]]
        assert all(torch.equal(a, b) for (_, a), (_, b) in zip(left, whole[3:], strict=True))
        assert next(iter(resumed)).sample_ids.tolist() != whole[0][0]  # the next epoch


def test_a_source_that_shrank_is_not_gone_on_with():
    state = Loader(Files(9), 2).state_dict()
    with pytest.raises(ValueError, match="Order: expected a state of length 8, but got 9"):
        Loader(Files(8), 2).load_state_dict(state)


def test_a_stream_goes_on_at_the_exact_sample():
    files = [Files(9)[i] for i in range(9)]
    loader = Loader(Stream(files), 2, PIPELINE)
    with pytest.raises(TypeError, match="a stream has no length"):
        len(loader)
    batches = iter(loader)
    next(batches)
    next(batches)
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert [batch.sample_ids.tolist() for batch in loader] == [[4, 5], [6, 7], [8]]


def test_a_stream_may_give_bad_samples():
    files = [Files(3)[i] for i in range(3)]
    files[1] = BadSample(1, "1.jpg", "the archive ends here")
    loader = Loader(Stream(files), 2, PIPELINE, on_error="skip")
    with pytest.warns(UserWarning, match="1 bad sample was skipped"):
        assert [batch.sample_ids.tolist() for batch in loader] == [[0], [2]]
    assert loader.faults == [Fault(1, "1.jpg", "the archive ends here")]
    with pytest.raises(BadSample, match="the archive ends here"):
        list(Loader(Stream(files), 2, PIPELINE))


class Stream:
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)


def test_a_bad_sample_is_raised():
    with pytest.raises(BadSample, match=r"sample 5 \(its image\): .*JPEG is damaged: the file is cut off"):
        list(Loader(Files(8, bad=[5]), 2, PIPELINE))
    with pytest.raises(BadSample, match=r"sample 3 \(3.jpg\): No such file"):
        list(Loader(Files(8, missing=[3]), 2, PIPELINE))
    assert not own_threads()


@pytest.mark.parametrize("roi", [True, False])
def test_bad_samples_are_skipped_counted_and_listed(roi):
    files = Files(12, bad=[1, 2, 7], missing=[4])
    loader = Loader(files, 2, PIPELINE, shuffle=False, on_error="skip", decoding=Decoding(roi=roi))
    with pytest.warns(UserWarning, match="4 bad samples were skipped:\n  sample"):
        ids = [batch.sample_ids.tolist() for batch in loader]
    assert ids == [[0], [3], [5], [6], [8, 9], [10, 11]]
    assert sorted(fault.sample_id for fault in loader.faults) == [1, 2, 4, 7]
    nothing = Loader(Files(2, bad=[0, 1]), 2, PIPELINE, on_error="skip")
    with pytest.warns(UserWarning, match="2 bad samples"):
        assert list(nothing) == []


@pytest.mark.parametrize("roi", [True, False])
def test_bad_samples_are_replaced_by_the_next_good_one(roi):
    files = Files(8, bad=[1, 2], missing=[7])
    loader = Loader(files, 4, PIPELINE, shuffle=False, on_error="substitute", decoding=Decoding(roi=roi))
    with pytest.warns(UserWarning, match="3 bad samples were replaced"):
        ids = [batch.sample_ids.tolist() for batch in loader]
    assert ids == [[0, 3, 3, 3], [4, 5, 6, 0]]
    with pytest.raises(BadSample):
        list(Loader(Files(3, bad=[0, 1, 2]), 3, PIPELINE, on_error="substitute"))


class Boxed(Files):
    """Images with a box, which is not finite for those in `unfit`."""

    def __init__(self, count, unfit, **others):
        super().__init__(count, **others)
        self.unfit = unfit

    def __getitem__(self, index):
        box = [np.nan if index in self.unfit else 1.0, 1, 9, 9]
        return Sample(super().__getitem__(index).data, {"boxes": np.array([box])}, index)


@pytest.mark.parametrize("roi", [True, False])
def test_targets_that_do_not_fit_make_a_bad_sample(roi):
    def ids(count, unfit, on_error, **others):
        loader = Loader(
            Boxed(count, unfit, **others),
            4,
            PIPELINE,
            shuffle=False,
            on_error=on_error,
            collate=list,
            decoding=Decoding(roi=roi),
        )
        return [batch.sample_ids.tolist() for batch in loader]

    with pytest.raises(BadSample, match=r"sample 5 \(its image and targets\): .* is not finite"):
        ids(8, [5], "raise")
    with pytest.warns(UserWarning, match="2 bad samples were skipped:\n  sample"):
        assert ids(8, [5], "skip", bad=[2]) == [[0, 1, 3], [4, 6, 7]]
    with pytest.warns(UserWarning, match="2 bad samples were replaced"):
        assert ids(8, [5, 6], "substitute") == [[0, 1, 2, 3], [4, 7, 7, 7]]
    with pytest.warns(UserWarning, match="2 bad samples were replaced"):
        assert ids(4, [3], "substitute", bad=[2]) == [[0, 1, 0, 0]]
    with pytest.raises(BadSample, match="sample 0"):
        ids(4, range(4), "substitute")


def test_samples_that_do_not_fit_together_are_named():
    image = np.zeros((8, 8, 3), np.uint8)
    source = [Sample(image, {"keypoints": np.ones((1, 3 + i, 2))}, 10 + i) for i in range(2)]
    with pytest.raises(ValueError, match="Loader: samples 10, 11: "):
        list(Loader(source, 2, [Mosaic(16)], shuffle=False, collate=list))


class Broken(Files):
    def __getitem__(self, index):
        return Sample({}[f"key {index}"])


def test_an_error_of_the_source_names_the_sample_and_the_line_and_keeps_its_traceback_as_text():
    expected = r"^Loader: sample 2 raised KeyError: 'key 2' \(in __getitem__, .*test_loader.py:\d+\)$"
    with pytest.raises(RuntimeError, match=expected) as caught:
        list(Loader(Broken(3), 1, PIPELINE, order=Order(3, shuffle=False).part(2, 3)))
    assert isinstance(caught.value, SourceError)
    assert 'in __getitem__\n    return Sample({}[f"key {index}"])' in caught.value.details
    assert "\nKeyError: 'key 2'\n" in caught.value.details
    assert not own_threads()


@pytest.mark.parametrize(
    ("source", "inner"),
    [
        (Files(3, bad=[1]), "the file is cut off"),
        (Files(3, missing=[1]), "BadSample"),
        (Broken(3), "KeyError: 'key"),
    ],
)
def test_what_is_printed_of_an_error_is_short_and_keeps_no_frames(source, inner):
    with pytest.raises((BadSample, SourceError)) as caught:
        list(Loader(source, 2, PIPELINE, shuffle=False))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    assert len(traceback.format_exception(error)) < 8  # including the frames of the loop
    files = [Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)]
    assert files == ["test_loader.py", "epoch.py"]
    assert inner in error.details
    assert "assemble.py" in error.details
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.details) == (str(error), error.details)


def test_leaving_early_leaves_nothing_behind():
    before = descriptors()
    for stop in ("break", "with", "close", "forgotten"):
        loader = Loader(Files(60), 2, PIPELINE, threads=3)
        if stop == "with":
            with loader:
                next(iter(loader))
        elif stop == "break":
            for _ in loader:
                break
        else:
            next(iter(loader))
            loader.close() if stop == "close" else None
        del loader
        gc.collect()
        latest = time.monotonic() + 20
        while stop in ("break", "forgotten") and own_threads() and time.monotonic() < latest:
            time.sleep(0.001)  # dropped, an epoch only signals
        assert not own_threads(), stop
    assert descriptors() <= before


def test_a_new_epoch_ends_the_one_that_was_left():
    loader = Loader(Files(20), 2, PIPELINE, threads=2, shuffle=False)
    for _ in loader:
        break
    assert [batch.sample_ids[0].item() for batch in loader] == list(range(0, 20, 2))
    assert loader.state_dict()["epoch"] == 2
    assert not own_threads()


def test_an_epoch_that_another_ended_says_so():
    loader = Loader(Files(6), 2, PIPELINE, threads=1)
    with pytest.raises(RuntimeError, match="Loader: expected one epoch at a time"):
        list(zip(loader, loader, strict=True))
    first, second = iter(loader), loader.planned()
    with pytest.raises(RuntimeError, match="a newer epoch ended this one"):
        next(first)
    assert len(list(second)) == 3
    third = iter(loader)
    assert next(second, None) is None  # ended before the third one began
    assert len(list(third)) == 3
    assert not own_threads()


def test_memory_is_bounded():
    begun = []

    class Counting(Files):
        def __getitem__(self, index):
            begun.append(index)
            return super().__getitem__(index)

    taken = 0
    for batch in Loader(Counting(60), 2, PIPELINE, threads=2, prefetch=1, shuffle=False):
        taken += len(batch.images)
        time.sleep(0.005)
        assert len(begun) <= taken + 2 * (2 + 1)


def test_threads_and_arguments_are_checked():
    assert Loader(Files(1), 1, PIPELINE, threads=3).threads == 3
    for arguments, text in (
        ({"batch_size": 0}, "Loader: expected batch_size as a whole number"),
        ({"threads": 0}, "Loader: expected threads"),
        ({"prefetch": -1}, "Loader: expected prefetch"),
        ({"shuffle": "no"}, "Loader: expected shuffle as True or False, but got 'no'"),
        ({"drop_last": "no"}, "Loader: expected drop_last"),
        ({"on_error": "ignore"}, "expected on_error as one of raise, skip, substitute, but got 'ignore'"),
    ):
        with pytest.raises(ValueError, match=text):
            Loader(Files(1), **{"batch_size": 1, **arguments})
    with pytest.raises(ValueError, match="expected a source with an index"):
        Loader(iter([]), 1, on_error="substitute")
    with pytest.raises(ValueError, match="Loader: expected a source with an index for order"):
        Loader(iter([]), 1, order=Order(0))
    for length in (0, 5, 12):
        with pytest.raises(ValueError, match=f"length 10, but got {length}"):
            Loader(Files(10), 2, PIPELINE, order=Order(length))
    with pytest.raises(
        ValueError, match="Decoding: expected mode as one of L, RGB, RGBA, UNCHANGED, but got 'BGR'"
    ):
        Decoding(mode="BGR")
    with pytest.raises(
        TypeError, match="expected a Sample, but sample 0 is a int: use as_source or open_source"
    ):
        list(Loader([7], 1, PIPELINE))


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, {folder!r})
from test_loader import PIPELINE, Files, Loader
loader = Loader(Files(50), 2, PIPELINE, threads=3)
try:
    while True:
        for number, batch in enumerate(loader):
            if number == 3:
                print("running", flush=True)
            {step}
except KeyboardInterrupt:
    loader.close()
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    print("left", left, flush=True)
"""


@pytest.mark.parametrize("step", ["pass", "time.sleep(0.01)"])
def test_ctrl_c_stops_everything(step):
    code = INTERRUPTED.format(folder=str(Path(__file__).parent), step=step)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out.splitlines()[-1] == "left []", errors
    assert process.returncode == 0


def test_a_process_ends_though_an_epoch_was_left():
    code = INTERRUPTED.format(folder=str(Path(__file__).parent), step="sys.exit(3)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Loader(Files(4), 2, PIPELINE))) == 2


def test_seconds_say_what_time_was_spent_on():
    loader = Loader(Files(8), 2, PIPELINE, threads=1)
    list(loader)
    assert {"read", "decode", "augment", "wait", "step", "work", "idle"} <= loader.seconds.keys()
    parts = sum(loader.seconds[name] for name in ("read", "decode", "augment"))
    assert parts < loader.seconds["work"]
    assert all(spent > 0 for spent in loader.seconds.values())
