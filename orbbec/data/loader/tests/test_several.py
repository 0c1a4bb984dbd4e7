"""Samples of several images through a loader: one draw per sample, a batch per name, and bad samples."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.batch import ImageBatch
from orbbec.data import (
    BadSample,
    Decoding,
    Loader,
    MultiScale,
    Order,
    Repeats,
    Sample,
    SeveralImages,
    decode_image,
)
from orbbec.data.decode.region import regions_of
from orbbec.data.loader import assemble
from orbbec.data.loader.tests.test_clips import jpegs
from orbbec.data.ray import _Worker
from tests.support import assert_same_bytes

COUNT, NAMES = 5, ("left", "right")
BOX = np.array([[4.0, 3.0, 30.0, 35.0]])
CROP = T.Compose([T.RandomResizedCrop(12, antialias=False), T.RandomHorizontalFlip()], seed=3, images=NAMES)


@pytest.fixture(scope="module")
def source():
    """Pairs of several sizes, the left image with a box."""
    left = [
        Sample(data, {"label": n, "boxes": BOX + n}, 3 * n + 1, f"left/{n}.jpg")
        for n, (data,) in enumerate(jpegs(1, 40 + n, 50) for n in range(COUNT))
    ]
    right = [
        Sample(data, {}, 3 * n + 1, f"right/{n}.jpg")
        for n, (data,) in enumerate(jpegs(1, 30, 44 + n) for n in range(COUNT))
    ]
    return SeveralImages({"left": left, "right": right})


def tensor_of(image):
    data = image.data if isinstance(image, Sample) else image
    return torch.from_numpy(decode_image(data)).permute(2, 0, 1)


def by_compose(compose, sample, epoch=0):
    """The images and targets of a sample, by a call of its own."""
    images = {name: tensor_of(image) for name, image in sample.data.items()}
    return compose(images | sample.data["left"].targets, sample_ids=[sample.sample_id], epoch=epoch)


@pytest.mark.parametrize("feed", ["1", "0"])
@pytest.mark.parametrize("decoding", [Decoding(), Decoding(roi=False), Decoding(planes=True)])
def test_images_of_a_loader_are_those_of_the_pipeline(source, monkeypatch, feed, decoding):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    with Loader(source, 2, CROP, shuffle=False, decoding=decoding) as loader:
        batches = list(loader)
    assert [batch.images["right"].shape for batch in batches] == [(2, 3, 12, 12)] * 2 + [(1, 3, 12, 12)]
    for n in range(COUNT):
        batch, row = batches[n // 2], n % 2
        expected = by_compose(CROP, source[n])
        assert list(batch.images) == [*NAMES]
        for name in NAMES:
            assert_same_bytes(batch.images[name][row], expected[name])
        assert batch.sample_ids[row] == 3 * n + 1
        assert sorted(batch.targets) == ["boxes", "label"]
        assert batch.targets["label"][row] == n
        assert np.array_equal(batch.targets["boxes"][row], expected["boxes"])


def test_only_the_regions_that_are_read_are_decoded(source, monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", "0")
    decoded = []
    decode = assemble.decode_region

    def counted(data, header, part, **options):
        decoded.append((part.right - part.left, part.bottom - part.top))
        return decode(data, header, part, **options)

    monkeypatch.setattr(assemble, "decode_region", counted)
    with Loader(source, COUNT, CROP, shuffle=False) as loader:
        list(loader)
    ids = [3 * n + 1 for n in range(COUNT)]
    for name, found in zip(NAMES, (decoded[:COUNT], decoded[COUNT:]), strict=True):
        plan = CROP.plan([tensor_of(source[n].data[name]).shape[1:] for n in range(COUNT)], ids)
        assert found == [tuple(size) for size in regions_of(plan).sizes[:, ::-1].tolist()]


@pytest.mark.parametrize("planes", [False, True])
def test_images_without_transforms_are_a_batch_per_name(source, planes):
    with Loader(source, 3, shuffle=False, decoding=Decoding(planes=planes)) as loader:
        batch = next(iter(loader))
    for name in NAMES:
        assert isinstance(batch.images[name], ImageBatch)
        for image, n in zip(batch.images[name], range(3), strict=True):
            assert_same_bytes(image.permute(2, 0, 1), tensor_of(source[n].data[name]))
    assert batch.targets["label"].tolist() == [0, 1, 2]


def test_transforms_read_the_boxes_of_the_first_image(source):
    crop = T.Compose([T.RandomIoUCrop(), T.Resize((12, 12))], seed=2, images=NAMES)
    with Loader(source, COUNT, crop, shuffle=False) as loader:
        (batch,) = loader
    for n in range(COUNT):
        expected = by_compose(crop, source[n])
        for name in NAMES:
            assert_same_bytes(batch.images[name][n], expected[name])


def test_targets_of_another_image_follow_it():
    values = np.arange(48, dtype=np.uint8).reshape(6, 8)
    pixels = np.repeat(values[..., None], 3, 2)
    depth = values.astype(np.float32)
    wide = np.ascontiguousarray(pixels[:, :6])
    sample = Sample(
        {
            "left": Sample(pixels, {"depth": depth}),
            "right": Sample(wide, {"depth": depth[:, :6], "side": "R"}),
        },
        {"action": np.float32([1, 2])},
        4,
    )
    crop = T.Compose([T.RandomCrop(4), T.RandomHorizontalFlip()], seed=1)
    with Loader([sample], 1, crop) as loader:
        for _ in range(3):
            ((images, targets, _),) = loader
            assert np.array_equal(targets["depth"][0], images["left"][0, 0].float())
            assert np.array_equal(targets["right"]["depth"][0], images["right"][0, 0].float())
            assert targets["right"]["side"] == ["R"]
            assert targets["action"].tolist() == [[1, 2]]


def test_views_of_several_images(source):
    views = T.MultiView([[T.RandomResizedCrop(12, antialias=False)], [T.CenterCrop(16)]], seed=3)
    with Loader(source, 2, views, shuffle=False) as loader:
        batch = next(iter(loader))
    for name in NAMES:
        whole = [tensor_of(source[n].data[name]) for n in range(2)]
        for found, expected in zip(batch.images[name], views(whole, sample_ids=[1, 4], epoch=0), strict=True):
            assert_same_bytes(found, torch.stack(list(expected)))
    assert [view["label"].tolist() for view in batch.targets] == [[0, 1]] * 2


@pytest.mark.parametrize("pairs", ["batch", "source"])
def test_mixes_combine_images_of_one_name(pairs):
    images = [
        Sample(
            {name: np.full((8, 8, 3), 100 * m + n, np.uint8) for m, name in enumerate(NAMES)}, {"label": n}, n
        )
        for n in range(40)
    ]
    compose = [T.Mosaic(16, center_range=(0.5, 0.5))]
    with Loader(images, 8, compose, pairs=pairs, seed=4, collate=list) as loader:
        batch, *_ = loader
        expected = 3 * 40 if pairs == "source" else 0
        assert (loader.report().pairs, loader.report().decoded_pairs) == (expected, expected)
    left, right = (batch.images[name][..., ::8, ::8].float() for name in NAMES)
    assert torch.equal(right, left + 100)
    assert torch.equal(left[:, 0, 0, 0].long(), batch.sample_ids)
    assert len(batch.targets) == 8
    compose += [T.ToDtype(torch.float32, scale=False), T.MixUp(p=0.5)]
    with Loader(images, 8, compose, pairs=pairs, seed=4, collate=list) as loader:
        left, right = next(iter(loader)).images.values()
    assert (right - left - 100).abs().max() < 1e-4  # float32


def test_an_epoch_is_resumed_and_distributed(source):
    with Loader(source, 1, CROP, seed=7) as loader:
        every = {int(batch.sample_ids[0]): batch.images for epoch in range(2) for batch in loader}
    assert len(every) == COUNT
    loader = Loader(source, 2, CROP, seed=7)
    with loader:
        loader.set_epoch(1)
        first = next(iter(loader))
        state = loader.state_dict()
    again = Loader(source, 2, CROP, seed=7)
    again.load_state_dict(state)
    with again:
        rest = list(again)
    ids = [int(n) for batch in (first, *rest) for n in batch.sample_ids]
    assert sorted(ids) == sorted(every)
    ranks = [Loader(source, 2, CROP, order=Order(COUNT, 7, rank=rank, world_size=2)) for rank in range(2)]
    found = []
    for rank in ranks:
        with rank:
            rank.set_epoch(1)
            found += list(rank)
    assert sorted(int(n) for batch in found for n in batch.sample_ids) == sorted(every)
    for batch in (first, *rest, *found):
        for row, n in enumerate(batch.sample_ids.tolist()):
            for name in NAMES:
                assert_same_bytes(batch.images[name][row], every[n][name][0])


def test_copies_scales_and_streams(source):
    with Loader(source, 4, CROP, order=Repeats(2), seed=1) as loader:
        batch = next(iter(loader))
    assert len(set(batch.sample_ids.tolist())) == 4
    scales = MultiScale(lambda size: T.Compose([T.Resize((size, size))]), (8, 12), seed=5)
    with Loader(source, 2, scales) as loader:
        sides = [tuple(batch.images[name].shape[-1] for name in NAMES) for batch in loader]
    assert {side for side, _ in sides} <= {8, 12}
    assert all(one == other for one, other in sides)
    with Loader(iter([source[n] for n in range(3)]), 2, CROP) as loader:
        assert [batch.images["right"].shape[0] for batch in loader] == [2, 1]


def test_images_of_a_name_keep_their_dtype_and_channels(source):
    def sample(n, dtype=np.uint16):
        color = np.full((9, 8, 3), n, np.uint8)
        return Sample({"color": color, "thermal": np.full((7, 8), 1000 * n, dtype)}, {}, n, f"{n}.tif")

    options = {"shuffle": False, "decoding": Decoding(mode="UNCHANGED")}
    with Loader([sample(1), sample(2)], 2, [T.CenterCrop(6)], **options) as loader:
        (batch,) = loader
    assert (batch.images["color"].dtype, batch.images["color"].shape) == (torch.uint8, (2, 3, 6, 6))
    assert (batch.images["thermal"].dtype, batch.images["thermal"].shape) == (torch.uint16, (2, 1, 6, 6))
    assert batch.images["thermal"][1, 0, 0].tolist() == [2000] * 6
    loader = Loader([sample(1), sample(2, np.float32)], 2, **options)
    with loader, pytest.raises(BadSample, match=r"2\.tif \(thermal\).*expected pixels uint16 \[H, W, 1\]"):
        next(iter(loader))


@pytest.mark.parametrize("feed", ["1", "0"])
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_image_makes_its_sample_a_bad_one(source, monkeypatch, feed, name):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    good = source[1].data[name]
    damages = (good.data[:300], b"no image", good.data[: len(good.data) // 2])
    for data in damages:
        damaged = Sample(data, good.targets, good.sample_id, good.path)
        samples = [source[0], Sample(source[1].data | {name: damaged}, {}, 4, "left/1.jpg"), source[2]]
        for on_error, ids in (("skip", [1, 7]), ("substitute", [1, 7, 7])):
            loader = Loader(samples, 3, CROP, shuffle=False, on_error=on_error)
            with loader, pytest.warns(UserWarning, match=f"{name}/1.jpg"):
                (batch,) = loader
            assert batch.sample_ids.tolist() == ids
            assert [(fault.sample_id, fault.path) for fault in loader.faults] == [(4, f"{name}/1.jpg")]
            for image in NAMES:
                assert_same_bytes(batch.images[image][1], by_compose(CROP, source[2])[image])
        with Loader(samples, 3, CROP) as loader, pytest.raises(BadSample, match=f"{name}/1.jpg"):
            next(iter(loader))


def test_an_image_that_transforms_refuse_is_named(source):
    small = Sample(source[0].data | {"right": np.zeros((4, 4, 3), np.uint8)}, {}, 1, "pair 1")
    with (
        Loader([small, source[1]], 2, [T.RandomCrop(20)]) as loader,
        pytest.raises(BadSample, match="sample 1"),
    ):
        next(iter(loader))


def test_depth_of_another_size_is_named(source):
    left = Sample(source[0].data["left"].data, {"depth": np.zeros((4, 6), np.float32)}, 1, "left/0.jpg")
    samples = [Sample({"left": left, "right": source[0].data["right"]}, {}, 1)]
    with (
        Loader(samples, 1, CROP) as loader,
        pytest.raises(BadSample, match=r"expected depth of size \[40, 50\]"),
    ):
        next(iter(loader))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_samples_of_other_names_are_refused(source, on_error):
    first = source[0].data
    others = {
        "images right, left": Sample({"right": first["right"], "left": first["left"]}, {}, 9),
        "images left": Sample({"left": first["left"]}, {}, 9),
        "one image without a name": Sample(first["left"].data, {}, 9),
    }
    for text, other in others.items():
        loader = Loader([source[0], other], 2, T.Compose(CROP.transforms), shuffle=False, on_error=on_error)
        expected = f"expected images left, right, as sample 1 has, but sample 9 has {text}"
        with loader, pytest.raises(ValueError, match=expected):
            next(iter(loader))


def test_wrong_samples_are_named(source):
    left, right = source[0].data.values()
    wrong = {
        r"sample 5 .*: the sample has no images": Sample({}, {}, 5, "empty"),
        r"expected targets of left of other names than images, but got right": Sample(
            {"left": Sample(left.data, {"right": 3}), "right": Sample(right.data, {"label": 3})}, {}, 5
        ),
        r"as Compose\(images=\['left', 'right'\]\) has, but got images right": Sample(
            {"right": right.data}, {}, 5
        ),
    }
    for text, sample in wrong.items():
        with Loader([sample], 1, CROP) as loader, pytest.raises(BadSample, match=text):
            next(iter(loader))
    for data in ((right.data,), {"up": right.data}):
        sample = Sample({"left": left, "right": Sample(data)}, {}, 5)
        text = "expected one image as right of sample 5, but got several"
        with Loader([sample], 1, CROP) as loader, pytest.raises(TypeError, match=text):
            next(iter(loader))


def test_what_takes_single_images_refuses_several(source):
    with pytest.raises(ValueError, match="ray_dataset: expected samples of one image, but got several"):
        _Worker(source, CROP, Decoding(), "raise", 0)({"data": np.array([0, 1])})
    with (
        Loader(source, 2, CROP) as loader,
        pytest.raises(TypeError, match="planned: expected samples of one"),
    ):
        next(loader.planned())


def test_epochs_reach_the_sources():
    class Epochs(list):
        epoch = None

        def set_epoch(self, epoch):
            self.epoch = epoch

    samples = [Sample(np.zeros((4, 4, 3), np.uint8), {}, n) for n in range(2)]
    left, right = Epochs(samples), Epochs(samples)
    with Loader(SeveralImages({"left": left, "right": right}), 2) as loader:
        loader.set_epoch(6)
        list(loader)
    assert (left.epoch, right.epoch) == (6, 6)
