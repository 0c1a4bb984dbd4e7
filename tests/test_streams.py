"""What the host and the streams of a device do at the same time.

``python tests/emulation/run.py --flavour lazy tests/test_streams.py`` runs this without a GPU, on a device
that names a missing wait; a GPU may forgive it.
"""

import io
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import orbbec
from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.data import Decoding, DevicePrefetcher, Loader, Sample, collate, decode_image, sink
from orbbec.data.decode import nvimgcodec as module
from orbbec.data.decode.native import has_native
from orbbec.plan import tables_of
from orbbec.plan.packing import on_device
from tests.support import assert_same_bytes, photograph, photographs

pytestmark = pytest.mark.cuda
NEEDS_LIBJPEG = pytest.mark.skipif(
    not has_native(), reason="needs libjpeg-turbo; 3rdparty/vendor.py builds it"
)
FLOATS = [T.ToDtype(torch.float32, scale=True), T.Normalize()]
PIPELINES = {
    "fused": [T.RandomResizedCrop(12, antialias=False), T.ColorJitter(0.4, 0.4, 0.4, 0.1), *FLOATS],
    "operators": [T.RandomResizedCrop(12), T.RandomApply([T.GaussianBlur(3)], p=0.5), *FLOATS],
    "mixed": [T.RandomRotation(20, "linear"), T.Resize((12, 12)), *FLOATS, T.MixUp(num_classes=3)],
    "ragged": [T.RandomHorizontalFlip(), T.RandomAdjustSharpness(2.0)],
}
DECODINGS = [
    Decoding(),
    pytest.param(Decoding(planes=True), marks=NEEDS_LIBJPEG),
    pytest.param(Decoding(device="cuda"), marks=NEEDS_LIBJPEG),
]


@contextmanager
def without_waits():
    """The host waits for nothing but what it asks for by `synchronize`."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def samples(count=14):
    images = [photograph(20 + i % 5, 24 - i % 3, seed=i) for i in range(count)]
    return [Sample(encoded(image), {"label": i % 3}, i) for i, image in enumerate(images)]


def encoded(image, format="JPEG", **options):
    buffer = io.BytesIO()
    pytest.importorskip("PIL.Image").fromarray(image).save(buffer, format, **options)
    return buffer.getvalue()


def by_id(batches):
    """The image of each sample id."""
    found = {}
    for images, _, ids in batches:
        found.update(zip(ids.tolist(), images.to("cpu"), strict=True))
    return found


def assert_same_images(actual, expected):
    assert actual.keys() == expected.keys()
    for key, image in expected.items():
        assert_same_bytes(actual[key], image)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("decoding", DECODINGS)
def test_a_loader_gives_the_bytes_of_the_host(name, decoding):
    on_host = Decoding(planes=decoding.makes_planes)
    expected = by_id(Loader(samples(), 4, PIPELINES[name], seed=1, threads=2, decoding=on_host))
    with Loader(samples(), 4, PIPELINES[name], "cuda", seed=1, threads=2, decoding=decoding) as loader:
        assert_same_images(by_id(loader), expected)


@NEEDS_LIBJPEG
@pytest.mark.parametrize("name", [*PIPELINES, None])
def test_a_loader_decodes_on_the_device_what_the_host_need_not(name):
    files = samples(24)
    for i, image in enumerate(photographs(6, 3, 20, 24, torch.uint8).movedim(1, -1).numpy()):
        kind = {"format": "PNG"} if i % 3 == 0 else {"progressive": True} if i % 3 == 1 else {}
        data = encoded(image, **kind)
        files[4 * i] = replace(files[4 * i], data=data if kind else data[:-40] + data[-2:])
    options = {"seed": 1, "threads": 3, "prefetch": 2}
    pipeline = None if name is None else PIPELINES[name]
    on_host, on_device = (
        Decoding(on_damage="keep", **kind) for kind in ({"planes": True}, {"device": "cuda"})
    )
    expected = by_id(Loader(files, 4, pipeline, decoding=on_host, **options))
    with Loader(files, 4, pipeline, "cuda", decoding=on_device, **options) as loader:
        for _ in range(2):
            batches = list(loader)
            loader.set_epoch(0)
            assert_same_images(by_id(batches), expected)
        assert (loader.report().on_device, loader.report().on_host) == (36, 12)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_loader_does_not_wait_for_the_device(name):
    pipeline = PIPELINES[name]
    expected = by_id(Loader(samples(), 4, pipeline, seed=1, threads=2))
    with Loader(samples(), 4, pipeline, "cuda", seed=1, threads=2) as loader:
        with without_waits():
            batches = list(loader)
        assert_same_images(by_id(batches), expected)


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return {"images": photograph(20, 30, seed=index), "label": index, "sample_ids": index}


@pytest.mark.parametrize("pin_memory", [False, True])
def test_a_prefetcher_gives_the_bytes_of_the_host(pin_memory):
    pipeline = T.Compose(PIPELINES["fused"], seed=3)

    def images(device):
        batches = DataLoader(Images(), 3, collate_fn=collate, pin_memory=pin_memory)
        return [batch["images"].cpu() for batch in DevicePrefetcher(batches, pipeline, device)]

    for actual, expected in zip(images("cuda"), images("cpu"), strict=True):
        assert_same_bytes(actual, expected)


def test_batches_that_are_made_on_the_device_are_augmented_after_they_are_made():
    pipeline = T.Compose(PIPELINES["fused"], seed=3)
    made = [photographs(3, 3, 20, 24, seed=seed) for seed in range(4)]
    batches = (images.to("cuda", non_blocking=True).flip(-1) for images in made)
    for n, images in enumerate(DevicePrefetcher(batches, pipeline, "cuda")):
        ids = torch.arange(3 * n, 3 * n + 3)
        assert_same_bytes(images, pipeline(made[n].flip(-1), sample_ids=ids, epoch=0))


def trained(device, sink_size):
    """The losses of three epochs, and the weights after them."""
    weights = torch.zeros(3 * 12 * 12, device=device)

    def step(images, labels, ids):
        mean = images.flatten(1).mean(0)
        weights.add_(mean * labels.sum())
        return (weights * mean).sum()

    with Loader(samples(), 3, PIPELINES["fused"], device, seed=1, threads=2, drop_last=True) as loader:
        losses = torch.cat([losses for _ in range(3) for losses in sink(step, loader, sink_size)])
    return losses.cpu(), weights.cpu()


@pytest.mark.parametrize("sink_size", [1, 2])
def test_a_sink_trains_as_on_the_host(sink_size):
    for actual, expected in zip(trained("cuda", sink_size), trained("cpu", sink_size), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


def boxes(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * 50
    sides = torch.rand(count, 2, generator=generator) * 20
    return torch.cat([corners, corners + sides], 1), torch.rand(count, generator=generator)


def test_nms_on_a_side_stream_gives_the_indices_of_the_host():
    given, scores = boxes(300)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        kept = orbbec.nms(given.to("cuda", non_blocking=True), scores.to("cuda", non_blocking=True), 0.5)
        assert kept.tolist() == orbbec.nms(given, scores, 0.5).tolist()


def test_a_kernel_of_the_host_is_copied_without_waiting():
    images, kernel = photographs(2, 3, 20, 24), torch.rand(3, 3) / 9
    on_device = images.to("cuda")
    with without_waits():
        filtered = orbbec.filter2d(on_device, kernel)
    assert_same_bytes(filtered, orbbec.filter2d(images, kernel))


def in_threads(work, count=2, repeats=15):
    """Call `work(number, turn)` in threads that begin together; raises what one of them raised."""
    errors, together = [], threading.Barrier(count)

    def run(number):
        try:
            together.wait()
            with torch.cuda.stream(torch.cuda.Stream()):
                for turn in range(repeats):
                    work(number, turn)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_two_threads_launch_one_kernel_with_different_shared_memory():
    sizes = (45, 61)  # tiles of 51 and 68 KiB, beyond what a kernel has without asking
    images = photographs(1, 1, 20, 24).float()
    expected = [orbbec.gaussian_blur(images, size, 3.0) for size in sizes]

    def blur(number, turn):
        which = (number + turn) % 2
        blurred = orbbec.gaussian_blur(images.to("cuda"), sizes[which], 3.0)
        assert_same_bytes(blurred, expected[which])

    in_threads(blur)


def test_two_threads_augment_and_suppress():
    pipeline = T.Compose(PIPELINES["fused"], seed=3)
    given, scores = boxes(80)
    images = photographs(2, 3, 20, 24)
    augmented, kept = pipeline(images, sample_ids=[0, 1]), orbbec.nms(given, scores, 0.5)

    def work(number, turn):
        if (number + turn) % 2:
            on_device = images.to("cuda", non_blocking=True)
            assert_same_bytes(pipeline(on_device, sample_ids=[0, 1]), augmented)
        else:
            assert orbbec.nms(given.to("cuda"), scores.to("cuda"), 0.5).tolist() == kept.tolist()

    in_threads(work)


class Codec:
    """nvImageCodec with a stream of its own, which the caller's waits for, but which waits for none."""

    CodeStream = staticmethod(bytes)
    ColorSpec = SampleFormat = type("Any", (), {"SRGB": 0, "I_RGB": 0, "GRAY": 0, "I_Y": 0})
    DecodeParams = staticmethod(lambda **_: None)

    def __init__(self):
        self.own = torch.cuda.Stream()

    def Decoder(self, device_id):
        return self

    def as_images(self, buffers, stream):
        return buffers

    def decode(self, files, *, images, params, cuda_stream):
        for data, buffer in zip(files, images, strict=True):
            buffer.record_stream(self.own)
            with torch.cuda.stream(self.own):
                buffer.copy_(torch.from_numpy(decode_image(data)).pin_memory(), non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.own)
        return images


def test_a_decoder_with_streams_of_its_own_writes_nothing_that_is_still_read(monkeypatch):
    monkeypatch.setattr(module, "optional", lambda *_, **__: Codec())
    monkeypatch.setattr(
        module.BatchDecoder, "_settle", lambda self, image, buffer: image.data_ptr() == buffer.data_ptr()
    )
    decoding, pipeline = Decoding(device="nvimgcodec"), PIPELINES["fused"]
    expected = by_id(Loader(samples(40), 4, pipeline, seed=1))
    with Loader(samples(40), 4, pipeline, "cuda", seed=1, threads=2, decoding=decoding) as loader:
        batches = list(loader)  # the host waits for none of them
    assert_same_images(by_id(batches), expected)


def test_variable_size_images_are_freed_after_their_last_use():
    images = [photograph(20 + i, 24, seed=i) for i in range(3)]
    side, batch = torch.cuda.Stream(), ImageBatch.from_images(images)
    for _ in range(3):
        moved = batch.to("cuda", non_blocking=True)
        side.wait_stream(torch.cuda.current_stream())
        moved.record_stream(side)
        with torch.cuda.stream(side):
            result = orbbec.warp_affine(moved, torch.eye(3)[:2], (16, 16))
        del moved
    with torch.cuda.stream(side):
        assert_same_bytes(result, orbbec.warp_affine(batch, np.eye(3, dtype=np.float32)[:2], (16, 16)))


def test_the_tables_of_a_pass_take_one_copy():
    pipeline = T.Compose(
        [T.RandomResizedCrop(12), T.ColorJitter(0.4), T.RandomErasing(p=1.0), *FLOATS], seed=3
    )
    tables = tables_of(pipeline.plan([(20, 24), (30, 18)], sample_ids=[3, 4], epoch=0))[-1]
    copied = on_device(tables, torch.device("cuda"))
    assert list(tables) == ["boxes", "colors", "erase"]
    assert len({table.untyped_storage().data_ptr() for table in copied.values()}) == 1
    for name, table in tables.items():
        assert_same_bytes(copied[name].cpu(), torch.from_numpy(table))
