"""How the parts of samples are collated."""

import sys
from collections import OrderedDict, namedtuple
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from orbbec.batch import ImageBatch, collate
from orbbec.batch.collate import sequence_like

SMALL, LARGE = np.full((2, 3, 3), 1, np.uint8), np.full((5, 4, 3), 2, np.uint8)
Sample = namedtuple("Sample", "image label")


def assert_is_small_and_large(batch):
    assert isinstance(batch, ImageBatch)
    assert batch.sizes.tolist() == [[2, 3], [5, 4]]
    for actual, expected in zip(batch.numpy(), [SMALL, LARGE], strict=True):
        np.testing.assert_array_equal(actual, expected)


def assert_is_tensor(value, expected, dtype):
    assert isinstance(value, torch.Tensor)
    assert value.dtype == dtype
    assert value.tolist() == expected


@pytest.mark.parametrize("as_image", [np.asarray, torch.from_numpy])
def test_images_become_an_image_batch(as_image):
    assert_is_small_and_large(collate([as_image(SMALL), as_image(LARGE)]))


def test_images_in_tuples_lists_and_dicts_become_image_batches():
    images, labels = collate([(SMALL, 3), (LARGE, 4)])
    assert_is_small_and_large(images)
    assert_is_tensor(labels, [3, 4], torch.int64)

    batch = collate([[SMALL, 3], [LARGE, 4]])
    assert type(batch) is list
    assert_is_small_and_large(batch[0])

    batch = collate([{"image": SMALL, "label": 3}, {"label": 4, "image": LARGE}])
    assert list(batch) == ["image", "label"]
    assert_is_small_and_large(batch["image"])
    assert_is_tensor(batch["label"], [3, 4], torch.int64)

    batch = collate([Sample(SMALL, 3), Sample(LARGE, 4)])
    assert type(batch) is Sample
    assert_is_small_and_large(batch.image)
    assert_is_tensor(batch.label, [3, 4], torch.int64)


def test_samples_that_are_lists_are_taken_apart_wherever_their_images_are():
    targets, labels = collate([[{"image": SMALL}, 3], [{"image": LARGE}, 4]])
    assert_is_small_and_large(targets["image"])
    assert_is_tensor(labels, [3, 4], torch.int64)


def test_nested_arrays_become_image_batches():
    gray = np.zeros((6, 7), np.uint8)
    samples = [
        {"views": [SMALL, LARGE], "target": {"gray": gray}},
        {"views": [LARGE, SMALL], "target": {"gray": gray}},
    ]
    batch = collate(samples)
    assert type(batch["views"]) is list
    assert_is_small_and_large(batch["views"][0])
    assert batch["views"][1].sizes.tolist() == [[5, 4], [2, 3]]
    assert batch["target"]["gray"].channels == 1
    assert batch["target"]["gray"].sizes.tolist() == [[6, 7], [6, 7]]


def as_pil(mask):
    return pytest.importorskip("PIL.Image").fromarray(mask)


@pytest.mark.parametrize("as_mask", [np.asarray, torch.from_numpy, as_pil])
def test_masks_of_one_size_become_a_tensor_and_others_a_list(as_mask):
    """uint8 `[H, W]` was once taken for an image of one channel."""

    def sample(height, value):
        return {"image": SMALL, "target": {"mask": as_mask(np.full((height, 3), value, np.uint8))}}

    batch = collate([sample(2, 1), sample(2, 255)])
    assert_is_tensor(batch["target"]["mask"], [[[1] * 3] * 2, [[255] * 3] * 2], torch.uint8)
    masks = collate([sample(2, 1), sample(4, 255)])["target"]["mask"]
    assert [np.asarray(mask).tolist() for mask in masks] == [[[1] * 3] * 2, [[255] * 3] * 4]


def test_masks_of_torchvision_are_known_by_their_class(monkeypatch):
    class Mask(torch.Tensor):
        """Stands in for `tv_tensors.Mask`."""

    monkeypatch.setitem(sys.modules, "torchvision.tv_tensors", SimpleNamespace(Mask=Mask))
    masks = [torch.full((2, 3), value, dtype=torch.uint8).as_subclass(Mask) for value in (1, 2)]
    images, stacked = collate([(SMALL, masks[0]), (LARGE, masks[1])])
    assert isinstance(images, ImageBatch)
    assert torch.as_tensor(stacked).tolist() == [[[1] * 3] * 2, [[2] * 3] * 2]


@pytest.mark.parametrize(
    ("values", "expected", "dtype"),
    [
        ([1, 2], [1, 2], torch.int64),
        ([True, False], [True, False], torch.bool),
        ([0.5, 2.0], [0.5, 2.0], torch.float64),
        ([np.float32(0.5), np.float32(2)], [0.5, 2.0], torch.float32),
        ([np.int64(1), np.int64(2)], [1, 2], torch.int64),
        ([np.ones((1, 2)), np.zeros((1, 2))], [[[1, 1]], [[0, 0]]], torch.float64),
        ([torch.tensor([1.0]), torch.tensor([2.0])], [[1], [2]], torch.float32),
        ([torch.tensor(1), torch.tensor(2)], [1, 2], torch.int64),
        ([np.zeros(2, np.uint8), np.ones(2, np.uint8)], [[0, 0], [1, 1]], torch.uint8),
    ],
)
def test_numbers_and_arrays_of_one_shape_become_a_tensor(values, expected, dtype):
    _, stacked = collate([(SMALL, values[0]), (LARGE, values[1])])
    assert_is_tensor(stacked, expected, dtype)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"],
        [b"a", b"b"],
        [None, None],
        [1, None],
        ["a", 1],
        [1, 2**63],
        [SMALL, None],
        [np.zeros((2, 4)), np.zeros((3, 4))],
        [torch.zeros(0, 4), torch.zeros(3, 4)],
        [torch.zeros(2), torch.zeros(2).double()],
        [torch.zeros(2), np.zeros(2, np.float32)],
        [np.array(["a"]), np.array(["b"])],
        [np.array([None]), np.array([None])],
        [np.str_("a"), np.str_("b")],
        [[1, 2], [3, 4]],
        [[[0.0, 0.0, 1.0, 1.0]], []],
        [(1, 2), (3,)],
        [(1, 2), [3, 4]],
        [{"a": 1}, {"b": 2}],
        [Ellipsis, NotImplemented],
    ],
    ids=repr,
)
def test_anything_else_becomes_a_list(values):
    _, kept = collate([(SMALL, values[0]), (LARGE, values[1])])
    assert type(kept) is list
    assert len(kept) == 2
    assert all(actual is expected for actual, expected in zip(kept, values, strict=True))


@pytest.mark.parametrize("as_masks", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("width", [9, 3])
def test_masks_are_no_images(as_masks, width):
    """`[K, H, W]` was once taken for images of K rows and W channels."""

    def sample(count):
        masks = as_masks(np.full((count, 6, width), count, np.uint8))
        return {"image": SMALL, "masks": masks, "labels": np.arange(count)}

    batch = collate([sample(2), sample(2)])
    assert isinstance(batch["image"], ImageBatch)
    assert_is_tensor(batch["masks"], np.full((2, 2, 6, width), 2).tolist(), torch.uint8)
    batch = collate([sample(2), sample(5)])
    assert type(batch["masks"]) is list
    assert [tuple(masks.shape) for masks in batch["masks"]] == [(2, 6, width), (5, 6, width)]
    images, masks = collate([(SMALL, as_masks(np.ones((k, 6, 9), np.uint8))) for k in (2, 5)])
    assert isinstance(images, ImageBatch)
    assert type(masks) is list


def test_images_of_1_to_4_channels_are_told_from_channels_first():
    for channels in (1, 2, 3, 4):
        assert collate([np.zeros((5, 6, channels), np.uint8)]).channels == channels
    assert collate([torch.zeros(3, 5, 6, dtype=torch.uint8)]).shape == (1, 3, 5, 6)


def test_one_sample_follows_the_same_rules():
    batch = collate([{"image": SMALL, "boxes": [[0, 0, 1, 1]], "name": "a", "label": 3}])
    assert len(batch["image"]) == 1
    assert batch["boxes"] == [[[0, 0, 1, 1]]]
    assert batch["name"] == ["a"]
    assert_is_tensor(batch["label"], [3], torch.int64)


def test_pil_images_become_an_image_batch(monkeypatch):
    class Image:
        """Stands in for PIL.Image.Image: only type and array interface matter."""

        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    module = ModuleType("PIL.Image")
    module.Image = Image
    monkeypatch.setitem(sys.modules, "PIL.Image", module)
    images, labels = collate([(Image(SMALL), 3), (Image(LARGE), 4)])
    assert_is_small_and_large(images)
    assert_is_tensor(labels, [3, 4], torch.int64)
    with pytest.raises(TypeError, match="expected images of uint8, but image 1 is bool"):
        collate([Image(SMALL), Image(np.zeros((2, 2), bool))])


def test_collate_names_what_it_refuses():
    with pytest.raises(ValueError, match=r"^collate: expected at least 1 sample, but got 0$"):
        collate([])
    with pytest.raises(ValueError, match=r"expected images of shape \[H, W, 3\], but image 1 has \[5, 4\]"):
        collate([(SMALL, 0), (LARGE[..., 0], 0)])


@pytest.mark.parametrize("kind", [">f4", "<f4", ">i8", "<i2", "u1"])
def test_arrays_of_any_byte_order_become_tensors(kind):
    first, second = np.arange(8).reshape(2, 4).astype(kind)
    tensor = collate([{"boxes": first}, {"boxes": second}])["boxes"]
    assert tensor.dtype == torch.from_numpy(first.astype(first.dtype.newbyteorder("="))).dtype
    assert tensor.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("entries", "like", "expected"),
    [
        ([1, 2], Sample(3, 4), Sample(1, 2)),
        ([1, 2, 3], Sample(3, 4), (1, 2, 3)),
        ([1, 2, 3], torch.Size([3, 4]), torch.Size([1, 2, 3])),
        ([torch.tensor(1), torch.tensor(2)], torch.Size([3, 4]), (torch.tensor(1), torch.tensor(2))),
        ([1, 2, 3], (4,), (1, 2, 3)),
        ((1, 2, 3), [4], [1, 2, 3]),
        ((1, 2, 3), range(2), [1, 2, 3]),
    ],
)
def test_entries_are_in_a_sequence_of_the_type_of_another(entries, like, expected):
    result = sequence_like(entries, like)
    assert type(result) is type(expected)
    assert result == expected


@pytest.mark.parametrize("count", [1, 2])
def test_dicts_of_other_types_are_collated_by_key(count):
    batch = collate([OrderedDict(image=SMALL, label=n) for n in range(count)])
    assert type(batch) is dict
    assert_is_tensor(batch["label"], list(range(count)), torch.int64)
    assert len(batch["image"]) == count
