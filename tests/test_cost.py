"""The cost of pipelines: operator calls, launches, memory."""

import ctypes
import gc
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import orbbec
from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.bridge import dispatch
from orbbec.bridge.buffer_pool import BUFFER_POOL
from orbbec.plan import apply

ROOT = Path(__file__).parents[1]
SIDE = 224
CROP = T.RandomResizedCrop(SIDE, antialias=False)
JITTER = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8)
END = (T.ToDtype("float16", scale=True), T.Normalize())
GEOMETRY = [
    T.RandomPerspective(),
    T.RandomRotation(10, "linear"),
    T.RandomAffine(5, interpolation="linear"),
    CROP,
]
# A pipeline, its passes, and whether one of them needs a mean.
PIPELINES = {
    "crop, flip, normalize": ([CROP, T.RandomHorizontalFlip(), *END], ["augment"], False),
    "four maps": ([*GEOMETRY, *END], ["augment"], False),
    "colors, no mean": (
        [CROP, T.ColorJitter(0.4, 0, 0.4, 0.1), T.RandomErasing(), *END],
        ["augment"],
        False,
    ),
    "colors with contrast": (
        [CROP, JITTER, T.RandomGrayscale(), T.RandomErasing(), *END],
        ["augment"],
        True,
    ),
    "SimCLR": (
        [
            CROP,
            T.RandomHorizontalFlip(),
            JITTER,
            T.RandomGrayscale(),
            T.RandomApply([T.GaussianBlur(23)]),
            *END,
        ],
        ["augment", "gaussian_blur", "augment"],
        True,
    ),
}


class Calls(TorchDispatchMode):
    """The operators that are called, and whether an augment needs a mean."""

    def __init__(self):
        super().__init__()
        self.names, self.takes_mean = [], False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name
        if name.startswith("orbbec::"):
            given = dict(zip((a.name for a in function._schema.arguments), args, strict=False))
            self.takes_mean |= bool(given.get("contrast", False))
            self.names.append(name.removeprefix("orbbec::").removesuffix("_out"))
        return function(*args, **(kwargs or {}))


def images(count):
    """Images of different sizes, about 500 x 375."""
    rng = np.random.default_rng(0)
    sizes = rng.integers((330, 450), (400, 520), (count, 2)).tolist()
    return ImageBatch.from_images([rng.integers(0, 256, (*size, 3), np.uint8) for size in sizes])


class TorchKernels(TorchDispatchMode):
    """The operators of torch that compute: neither views nor allocations."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name
        if name.startswith("aten::") and not function.is_view and "empty" not in name:
            self.names.append(name)
        return function(*args, **(kwargs or {}))


PHOTOS = torch.zeros(2, 3, 24, 32, dtype=torch.uint8)
FLOATS = PHOTOS.float()
BATCH = ImageBatch.from_tensor(PHOTOS)
MAP, SHIFT = torch.zeros(2, 9, 7), torch.tensor([[1.0, 0, 3], [0, 1, 0]])
WHOLE_CALLS = {
    "warp_affine": lambda: orbbec.warp_affine(PHOTOS, SHIFT, (9, 7)),
    "remap": lambda: orbbec.remap(PHOTOS, MAP, MAP),
    "augment": lambda: orbbec.augment(BATCH, SHIFT, (9, 7)),
    "resize": lambda: orbbec.resize(PHOTOS, (9, 7)),
    "equalize": lambda: orbbec.equalize(PHOTOS),
    "channel_statistics of bytes": lambda: orbbec.channel_statistics(BATCH),
    "channel_statistics of floats": lambda: orbbec.channel_statistics(FLOATS),
}


@pytest.mark.parametrize("name", WHOLE_CALLS)
def test_a_call_launches_no_kernel_of_torch(name):
    with TorchKernels() as calls:
        WHOLE_CALLS[name]()
    assert calls.names == []


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_as_many_calls_as_its_plan_says(name):
    transforms, passes, takes_mean = PIPELINES[name]
    batch = images(8)
    plan = T.Compose(transforms, seed=1).plan(batch.sizes, epoch=0)
    with Calls() as calls:
        apply(plan, batch)
    assert calls.names == passes
    assert len(plan.passes) == len(passes)
    assert calls.takes_mean == takes_mean


def test_bytes_of_different_sizes_are_written_where_they_stay():
    batch = images(5)
    pipeline = T.Compose([T.RandomShortestSize([40, 50], antialias=True), T.RandomHorizontalFlip()], seed=1)
    plan = pipeline.plan(batch.sizes, epoch=0)

    class CallsInto(Calls):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            name = function._schema.name
            assert not name.startswith("orbbec::") or name.endswith(("_out", "_each"))
            return super().__torch_dispatch__(function, types, args, kwargs)

    with CallsInto() as calls:
        results = apply(plan, batch)
    assert calls.names == ["resize_each"]  # it flips its results
    assert results.sizes.tolist() == plan.output_sizes.tolist()
    for row in range(5):
        alone = pipeline(batch[row].numpy(), sample_ids=[row])
        assert np.array_equal(results[row].numpy(), alone)


def calls_of_plan(pipeline):
    with Calls() as calls:
        pipeline.plan([(375, 500)], epoch=0)
    return calls.names


@pytest.mark.parametrize("name", PIPELINES)
def test_a_plan_is_drawn_in_one_call(name):
    pipeline = T.Compose(PIPELINES[name][0], seed=1)
    calls_of_plan(pipeline)  # compiles it
    assert calls_of_plan(pipeline) == ["draw"]


@pytest.mark.parametrize("name", PIPELINES)
def test_what_asks_for_no_gradient_passes_by_autograd(name, monkeypatch):
    transforms, passes, _ = PIPELINES[name]
    batch, entered = images(2), []

    @contextmanager
    def below_autograd():
        entered.append(True)
        yield

    plan = T.Compose(transforms, seed=1).plan(batch.sizes, epoch=0)
    monkeypatch.setattr(dispatch, "_below_autograd", below_autograd)
    monkeypatch.setattr(BUFFER_POOL, "limit", 0)  # operators that write to a given buffer have no gradient
    apply(plan, batch)
    assert len(entered) == len(passes)


def peak_of(work):
    """The peak of additional memory while `work` runs, including what it keeps."""
    gc.collect()  # a collection during the work would free unrelated memory
    ctypes.CDLL(None).malloc_trim(0)  # freed memory must not be available for reuse
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    status = Path("/proc/self/status")
    before = int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1])
    kept = work()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
    assert kept is not None
    return 1024 * (peak - before)


def peaks_of(name):
    """The bytes of 64 output images, the peak with new outputs, and the peak with `out`."""
    batch, pipeline = images(64), T.Compose(PIPELINES[name][0], seed=1)
    output = pipeline(batch, epoch=0)
    fresh = peak_of(lambda: pipeline(batch, epoch=0))
    into = peak_of(lambda: pipeline.apply(pipeline.plan(batch.sizes, epoch=0), batch, out=output))
    return output.nbytes, fresh, into


@pytest.mark.skipif(hasattr(torch.ops.orbbec, "set_emulation"), reason="the sanitizers keep memory")
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_needs_input_output_and_what_stands_between_passes(name):
    # In a separate process, where no memory of other tests can be freed or reused.
    command = f"from tests.test_cost import peaks_of; print(*peaks_of({name!r}))"
    printed = subprocess.run([sys.executable, "-c", command], cwd=ROOT, check=True, capture_output=True)
    output, fresh, into = map(int, printed.stdout.split())
    buffers = 2 if name == "SimCLR" else 0  # the bytes before and after the blur
    between = buffers * 64 * 3 * SIDE * SIDE
    # New memory comes in pages of 2 MB. Largest excess seen: 0.3 MB with `out`, 1.9 MB with one new buffer,
    # 3.7 MB with three.
    assert output <= fresh <= output + between + 2**20 + (buffers + 1) * 2**21
    assert into <= between + 2**20 + (2**21 if between else 0)
