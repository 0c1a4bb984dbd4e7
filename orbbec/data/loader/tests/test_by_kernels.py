"""Batches whose JPEGs kernels decode have the pixels, targets, ids, faults and errors of the host's."""

import time
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

from orbbec import ycbcr_to_rgb
from orbbec.data import Decoding, Loader, Sample
from orbbec.data.decode import on_device
from orbbec.data.decode.native import has_native
from orbbec.data.loader.by_feed import FeedAssembler
from orbbec.data.loader.tests.test_by_feed import (
    NAMES,
    PIPELINES,
    SOURCES,
    assert_same,
    ended_early,
    epoch_of,
    files_of,
    folder,
)
from orbbec.feed.feed import GOOD, FeedBatch
from orbbec.jpeg.planes import jpeg_planes
from orbbec.transforms import (
    CenterCrop,
    MixUp,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
)

pytestmark = [
    pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in"),
    pytest.mark.usefixtures("kernels"),
]

APPLY = import_module("orbbec.plan.apply")  # the package has a function of this name
ON_DEVICE, PLANES = Decoding(device="cuda"), Decoding(planes=True)
CROP = [RandomResizedCrop(16), RandomHorizontalFlip()]


@pytest.fixture
def kernels(device):
    """Threads of a Loader on the CPU run kernels on the emulated device."""
    if device.name == "cuda":
        pytest.skip("the loaders here are on the CPU")
    with device.active():
        yield


@pytest.mark.parametrize("on_error", ["raise", "skip", "substitute"])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("files", NAMES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("feed", ["0", "1"])
def test_an_epoch_has_the_bytes_of_the_host(
    device, source, files, pipeline, on_error, feed, tmp_path, monkeypatch
):
    images = SOURCES[source](tmp_path, files_of(files))
    monkeypatch.setenv("ORBBEC_FEED", feed)
    options = PIPELINES[pipeline], ON_DEVICE, on_error, False
    actual = epoch_of(images, *options)
    expected = epoch_of(images, PIPELINES[pipeline], PLANES, on_error, False)
    assert_same(actual, expected)
    assert expected[0] or expected[1] or expected[2]


@pytest.mark.parametrize("decoding", [Decoding(planes=True, on_damage="keep"), Decoding(planes=True)])
def test_options_of_decoding_apply_to_kernels(decoding, tmp_path):
    images = folder(tmp_path, files_of("damaged"))
    for stored in (False, True):
        for limit in (10**6, 45 * 64):
            options = {"on_damage": decoding.on_damage, "max_pixels": limit, "apply_exif_orientation": stored}
            epochs = [
                epoch_of(images, CROP, one, "skip", False)
                for one in (Decoding(**options, device="cuda"), Decoding(**options, planes=True))
            ]
            assert_same(*epochs)


def rest_of(loader, batches=0):
    """The ids and images of an epoch, without the first batches."""
    found = [(batch.sample_ids.tolist(), batch.images.clone()) for batch in loader]
    return found[batches:]


@pytest.mark.parametrize(
    ("begins", "ends"), [(ON_DEVICE, PLANES), (PLANES, ON_DEVICE), (ON_DEVICE, ON_DEVICE)]
)
@pytest.mark.parametrize("threads", [1, 3])
def test_an_epoch_is_resumed_where_it_was_left_on_either_device(begins, ends, threads, tmp_path):
    images = folder(tmp_path, files_of("formats") | files_of("odd"))
    options = {"transforms": CROP, "seed": 4, "threads": threads, "prefetch": 2}
    expected = rest_of(Loader(images, 5, decoding=PLANES, **options), 2)
    with Loader(images, 5, decoding=begins, **options) as loader:
        epoch = iter(loader)
        next(epoch), next(epoch)
        state = loader.state_dict()
    resumed = Loader(images, 5, decoding=ends, **options)
    resumed.load_state_dict(state)
    actual = rest_of(resumed)
    assert [ids for ids, _ in actual] == [ids for ids, _ in expected]
    assert len(actual) >= 2
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(actual, expected, strict=True))


class Calls:
    """Counts launches, and the images that feeds decode or pack."""

    def __init__(self, monkeypatch):
        self.launches, self.images, self.boxes = [], [], []
        decode = FeedBatch.decode

        def counted(reading, storage, offsets, **options):
            self.images.append(int(((offsets >= 0) & (reading.rows()["status"] == GOOD)).sum()))
            return decode(reading, storage, offsets, **options)

        def launched(*arguments, **options):
            self.launches.append(int((arguments[1][:, 1] > 0).sum()))
            self.boxes += arguments[1][:, 3:].tolist()
            return jpeg_planes(*arguments, **options)

        monkeypatch.setattr(FeedBatch, "decode", counted)
        monkeypatch.setattr(on_device, "jpeg_planes", launched)


def test_a_flagged_image_is_repeated_alone(tmp_path, monkeypatch):
    files = files_of("good")
    files["3.jpg"] = ended_early(files["3.jpg"])
    images = folder(tmp_path, files)
    calls = Calls(monkeypatch)
    loader = Loader(images, 16, decoding=Decoding(device="cuda", on_damage="keep"), shuffle=False, threads=1)
    ((_, _, ids),) = loader
    assert len(ids) == 16
    assert calls.launches == [16]
    assert calls.images[:2] == [16, 1]
    assert (loader.report().on_device, loader.report().on_host) == (15, 1)


def test_the_time_of_kernels_is_time_of_decoding(tmp_path, monkeypatch):
    decode = on_device.ScanBuffer.decode
    monkeypatch.setattr(
        on_device.ScanBuffer, "decode", lambda *arguments: (time.sleep(0.2), decode(*arguments))[1]
    )
    loader = Loader(folder(tmp_path, files_of("good")), 16, decoding=Decoding(device="cuda"), threads=1)
    list(loader)
    assert loader.seconds["decode"] > 0.2


GEOMETRY = {
    "crop": [CenterCrop(20)],
    "antialiased crop": [RandomResizedCrop(12, scale=(0.1, 0.3), antialias=True), RandomHorizontalFlip()],
    "padded crop": [RandomCrop(30, padding=7), RandomVerticalFlip()],
    "affine": [RandomAffine(30, translate=(0.3, 0.3), scale=(1.5, 3.0)), CenterCrop(16)],
    "rows": [CenterCrop((8, 64))],
    "mixed": [RandomResizedCrop(16, scale=(0.1, 0.5)), MixUp(num_classes=2)],
}


class Conversions:
    """Counts the pixels that plans convert to RGB; others get bytes that no image has."""

    def __init__(self):
        self.converted = self.whole = 0

    def __call__(self, planes, *, boxes):
        images = ycbcr_to_rgb(planes, boxes=boxes)
        if boxes is None:
            return images
        for image, (left, top, right, bottom) in zip(images.numpy(), boxes.tolist(), strict=True):
            part = image[top:bottom, left:right].copy()
            image[...] = 0xCB
            image[top:bottom, left:right] = part
            self.converted += part.size // 3
            self.whole += image.size // 3
        return images


@pytest.mark.parametrize("pipeline", GEOMETRY)
def test_the_part_that_a_plan_reads_is_enough(pipeline, tmp_path, monkeypatch):
    images = folder(tmp_path, files_of("good") | files_of("formats"))
    memory = property(lambda _: lambda nbytes: torch.full((nbytes,), 0xCB, dtype=torch.uint8))
    monkeypatch.setattr(FeedAssembler, "_empty_planes", memory)
    for on_host in (PLANES, Decoding(planes=True, apply_exif_orientation=False)):
        by_kernels = replace(on_host, planes=False, device="cuda")
        expected = rest_of(Loader(images, 8, GEOMETRY[pipeline], seed=5, decoding=on_host))
        for decoding in (by_kernels, on_host):
            with monkeypatch.context() as patch:
                patch.setattr(APPLY, "ycbcr_to_rgb", conversions := Conversions())
                epoch = rest_of(Loader(images, 8, GEOMETRY[pipeline], seed=5, decoding=decoding))
            # Beyond the border of an image a plan may read all of it.
            assert (conversions.converted > 0) == (pipeline not in ("affine", "padded crop"))
            assert conversions.converted <= 0.7 * conversions.whole
            assert all(torch.equal(a, b) for (_, a), (_, b) in zip(epoch, expected, strict=True))


def test_kernels_transform_only_the_part_that_a_plan_reads(tmp_path, monkeypatch):
    sizes = {"1.jpg": (45, 64), "6.jpg": (45, 64)}
    images = folder(tmp_path, {name: files_of("good")[name] for name in sizes})
    calls = Calls(monkeypatch)
    for roi in (True, False):
        list(Loader(images, 2, [CenterCrop(20)], shuffle=False, decoding=Decoding(device="cuda", roi=roi)))
    (upright, rotated), whole = calls.boxes[:2], calls.boxes[2:]
    assert whole == [[0, 0, 64, 45]] * 2
    assert upright == [22, 12, 42, 32]
    assert rotated == [22, 13, 42, 33]


def test_a_report_counts_what_the_host_decoded(tmp_path):
    odd = {name: data for name, data in files_of("odd").items() if name not in files_of("good")}
    images = folder(tmp_path, files_of("formats") | odd)
    loader = Loader(images, 8, decoding=ON_DEVICE)
    assert sum(len(ids) for _, _, ids in loader) == 26
    report = loader.report()
    assert (report.on_device, report.on_host) == (17, 9)  # the gray one of `odd` is decoded on the device
    assert "Decoded on the device: 17 of 26 images; the host did the others" in str(report)
    host = Loader(images, 8, decoding=PLANES)
    list(host)
    assert "Decoded on the device" not in str(host.report())


def test_samples_with_pixels_and_streams_are_mixed_with_files():
    files = list(files_of("good").values())
    samples = [Sample(data, {"label": n}, n) for n, data in enumerate(files)]
    samples[4] = Sample(np.full((45, 64, 3), 7, np.uint8), {"label": 4}, 4)
    for source in (samples, iter(samples)):
        loader = Loader(source, 8, CROP, decoding=ON_DEVICE, shuffle=False)
        actual = rest_of(loader)
        assert (loader.report().on_device, loader.report().on_host) == (15, 1)
        expected = rest_of(Loader(samples, 8, CROP, decoding=PLANES, shuffle=False))
        assert all(torch.equal(a, b) for (_, a), (_, b) in zip(actual, expected, strict=True))


def test_auto_decodes_on_the_host_with_the_same_bytes(tmp_path):
    images = folder(tmp_path, files_of("good"))
    loader = Loader(images, 8, CROP, decoding=Decoding(device="auto"), seed=2)
    automatic = rest_of(loader)
    assert loader.report().on_device == 0
    expected = rest_of(Loader(images, 8, CROP, decoding=ON_DEVICE, seed=2))
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(automatic, expected, strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "Decoding: expected device as one of cpu, cuda, auto, nvimgcodec, but got 'gpu'"),
        ({"device": "cuda", "mode": "L"}, "Decoding: expected mode as one of RGB, but got 'L'"),
        ({"device": "nvimgcodec", "mode": "RGBA"}, "expected mode as one of RGB, L, but got 'RGBA'"),
    ],
)
def test_an_impossible_device_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Decoding(**options)
