"""Several views of each image through a loader, from one decoding."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.data import Decoding, Loader, Sample, decode_image
from orbbec.data.loader import assemble
from orbbec.data.loader.tests.test_clips import jpegs
from tests.support import assert_same_bytes

COUNT = 4
VIEWS = {
    "crops": T.MultiCrop(global_=1, local=3, global_size=24, local_size=12, local_scale=(0.02, 0.1)),
    "linear": T.MultiView([[T.RandomResizedCrop(16, (0.05, 0.2), antialias=False)]] * 2, seed=3),
    # Pillow 13 resizes rows first for the whole images of the first view, columns for those of the second.
    "antialiased": T.MultiView(
        [[T.RandomResizedCrop((30, 80), (0.1, 0.9))], [T.RandomResizedCrop((16, 118), (0.1, 0.9))]], seed=3
    ),
    "one more pass": T.MultiView(
        [[T.RandomCrop(20)], [T.RandomCrop(16), T.MedianBlur(3)]], shared=[T.RandomHorizontalFlip()]
    ),
    "whole": T.MultiView([[T.RandomCrop(20)], [T.RandomRotation(20), T.CenterCrop(24)]]),
}


@pytest.fixture(scope="module")
def source():
    files = jpegs(COUNT, 90, 120)
    box = np.array([[30.0, 20, 70, 60]])
    return [Sample(data, {"label": n, "boxes": box}, 3 * n + 1) for n, data in enumerate(files)]


@pytest.mark.parametrize("feed", ["1", "0"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_a_loader_are_those_of_whole_images(source, monkeypatch, name, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    views = VIEWS[name]
    with Loader(source, COUNT, views, shuffle=False) as loader:
        (batch,) = loader
    whole = torch.from_numpy(np.stack([decode_image(sample.data) for sample in source])).permute(0, 3, 1, 2)
    targets, ids = [sample.targets for sample in source], batch.sample_ids
    assert ids.tolist() == [1, 4, 7, 10]
    expected = views(whole, targets, sample_ids=ids, epoch=0)
    assert len(batch.images) == len(batch.targets) == len(expected)
    for images, found, (pixels, moved) in zip(batch.images, batch.targets, expected, strict=True):
        assert_same_bytes(images, pixels)
        assert found["label"].tolist() == [0, 1, 2, 3]
        for boxes, target in zip(found["boxes"], moved, strict=True):
            assert np.array_equal(boxes, target["boxes"])


def test_an_image_is_decoded_once_as_far_as_its_views_read(source, monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", "0")
    decoded = []
    decode = assemble.decode_region

    def counted(data, header, part, **options):
        decoded.append((part.bottom - part.top) * (part.right - part.left))
        return decode(data, header, part, **options)

    monkeypatch.setattr(assemble, "decode_region", counted)
    with Loader(source, COUNT, VIEWS["linear"], shuffle=False) as loader:
        list(loader)
    assert len(decoded) == COUNT
    plans = [view.plan([(90, 120)] * COUNT, [1, 4, 7, 10], 0) for view in VIEWS["linear"].pipelines]
    boxes = np.stack([plan.passes[0].region(plan.sizes, False) for plan in plans])
    low, high = boxes[:, :, :2].min(0), boxes[:, :, 2:].max(0)
    assert decoded == (high - low).prod(1).tolist()
    assert sum(decoded) < COUNT * 90 * 120


def test_views_of_planes_are_those_of_pixels(source):
    results = []
    for planes in (False, True):
        with Loader(source, 2, VIEWS["crops"], decoding=Decoding(planes=planes)) as loader:
            results.append([image for batch in loader for image in batch.images])
    for one, other in zip(*results, strict=True):
        assert_same_bytes(one, other)


def test_planned_batches_have_one_pipeline(source):
    with Loader(source, 2, VIEWS["crops"]) as loader, pytest.raises(TypeError, match="got a MultiView"):
        loader.planned()
