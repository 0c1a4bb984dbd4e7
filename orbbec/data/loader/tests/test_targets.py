"""The targets of a Loader: tensors, ready for the model."""

import threading

import numpy as np
import pytest
import torch

from orbbec.data import BadSample, Loader, Sample
from orbbec.data.device.staging import arrays_as_tensors
from orbbec.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    MixUp,
    Normalize,
    Pad,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToDtype,
)


def read_only(values):
    values.flags.writeable = False
    return values


class Objects:
    """Images with 0, 1, 2 ... objects."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        targets = {
            "boxes": np.tile(np.float32([1, 2, 5, 7]), (index, 1)),
            "labels": np.full(index, 3),
            "masks": np.ones((index, 8, 9), np.uint8),
            "iscrowd": np.zeros(index, bool),
            "polygons": [np.float32([[1, 2], [5, 2], [5, 7]])] * index,
            "name": f"{index}.jpg",
        }
        return Sample(np.zeros((8, 9, 3), np.uint8), targets, index)


@pytest.mark.parametrize("transforms", [None, Compose([RandomHorizontalFlip(p=1.0)])])
def test_targets_of_a_list_are_dicts_of_tensors(transforms):
    ((_, targets, _),) = Loader(Objects(), 4, transforms, shuffle=False, collate=list)
    assert [len(target["boxes"]) for target in targets] == [0, 1, 2, 3]
    dtypes = {"boxes": torch.float32, "labels": torch.int64, "masks": torch.uint8, "iscrowd": torch.bool}
    for index, target in enumerate(targets):
        assert {name: target[name].dtype for name in dtypes} == dtypes
        assert target["masks"].shape == (index, 8, 9)
        assert [polygon.shape for polygon in target["polygons"]] == [(3, 2)] * index
        assert target["name"] == f"{index}.jpg"
    assert targets[1]["boxes"].tolist() == [[1, 2, 5, 7] if transforms is None else [4, 2, 8, 7]]


def test_the_default_collate_lists_tensors_of_different_counts():
    ((_, targets, _),) = Loader(Objects(), 4, shuffle=False)
    assert [labels.tolist() for labels in targets["labels"]] == [[], [3], [3, 3], [3, 3, 3]]
    assert all(isinstance(boxes, torch.Tensor) for boxes in targets["boxes"])


@pytest.mark.parametrize("transforms", [None, [RandomHorizontalFlip(1.0)]])
def test_targets_of_bytes_are_no_images(transforms):
    flags, boxes = np.eye(5, 7, dtype=np.uint8), np.uint8([[1, 2, 5, 7]])
    common = {"all": flags, "boxes": boxes, "list": [flags, flags]}
    targets = [{"flags": flags[: 5 - n], **common} for n in range(2)]
    source = [Sample(np.zeros((8, 9, 3), np.uint8), target, n) for n, target in enumerate(targets)]
    (batch,) = Loader(source, 2, transforms, shuffle=False)
    assert batch.targets["all"].tolist() == [flags.tolist()] * 2
    assert [rows.tolist() for rows in batch.targets["flags"]] == [flags.tolist(), flags[:4].tolist()]
    assert batch.targets["boxes"].tolist() == [[[1, 2, 5, 7] if transforms is None else [4, 2, 8, 7]]] * 2
    assert [[rows.tolist() for rows in each] for each in batch.targets["list"]] == [[flags.tolist()] * 2] * 2


SQUARE = np.float32([[1, 2], [5, 2], [5, 7], [1, 7]])
PLACED = {
    "boxes": (np.float32([[1, 2, 5, 7]]), [[4, 2, 8, 7]]),
    "masks": (np.uint8([[[1] + [0] * 8] * 8]), [[[0] * 8 + [1]] * 8]),
    "mask": (np.uint8([[1] + [0] * 8] * 8), [[0] * 8 + [1]] * 8),
    "keypoints": (np.float32([[[1, 2]]]), [[[7, 2]]]),
    "landmarks": (np.float32([[1, 2]]), [[7, 2]]),
    "polygons": ([SQUARE], [[[8, 2], [4, 2], [4, 7], [8, 7]]]),
}


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("name", PLACED)
def test_targets_move_though_other_images_of_the_batch_have_none(name, row):
    given, expected = PLACED[name]
    source = [Sample(np.zeros((8, 9, 3), np.uint8), {"label": n}, n) for n in range(3)]
    source[row].targets[name] = given
    (batch,) = Loader(source, 3, [RandomHorizontalFlip(1.0)], shuffle=False, collate=list)
    moved = batch.targets[row][name]
    assert [entry.tolist() for entry in moved] == expected
    assert [target.keys() - {"label"} for target in batch.targets if name not in target] == [set(), set()]


def test_targets_move_though_the_samples_beside_them_were_skipped():
    boxed, bad = Objects()[1], BadSample(7, "7.jpg", "the file is empty")
    source = iter([bad, Sample(boxed.data, {"label": 1}, 8), boxed])
    loader = Loader(source, 3, [RandomHorizontalFlip(1.0)], on_error="skip", collate=list)
    with pytest.warns(UserWarning, match="1 bad sample was skipped"):
        ((_, targets, _),) = loader
    assert targets[1]["boxes"].tolist() == [[4, 2, 8, 7]]


def test_labels_of_mixed_images_change_though_nothing_lies_on_them():
    source = [Sample(np.full((8, 9, 3), 80 * n, np.uint8), {"label": n}, n) for n in range(3)]
    (batch,) = Loader(source, 3, [CenterCrop(8), MixUp(num_classes=3)], shuffle=False, collate=list)
    assert [target["label"].shape for target in batch.targets] == [(3,)] * 3


class Scenes:
    """Images of several sizes with a class per pixel."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        height, width = 20 + 3 * index, 26 - index
        classes = np.random.default_rng(index).choice(np.array([0, 3, 255], np.uint8), (height, width))
        return Sample(np.repeat(classes[..., None], 3, 2), {"mask": classes}, index)


MOVES = {
    None: None,
    "one size": [RandomResizedCrop(12, interpolation="nearest"), RandomHorizontalFlip()],
    "several sizes": [RandomHorizontalFlip(1.0), Pad(2)],
}


@pytest.mark.parametrize("name", MOVES)
def test_masks_of_bytes_are_batched_as_masks_and_lie_where_the_pixels_do(name):
    ((images, targets, _),) = Loader(Scenes(), 4, MOVES[name], shuffle=False)
    masks = targets["mask"]
    if name == "one size":
        assert isinstance(masks, torch.Tensor)
        assert masks.shape == (4, 12, 12)
        images = [image.permute(1, 2, 0) for image in images]
    else:
        assert type(masks) is list
        images = images.images()
    for image, mask in zip(images, masks, strict=True):
        assert mask.dtype == torch.uint8
        assert torch.equal(image[..., 0], mask)


def test_colors_leave_masks_alone():
    moves = [CenterCrop(16), ColorJitter(0.9, 0.9), ToDtype(torch.float32, scale=True), Normalize()]
    ((_, targets, _),) = Loader(Scenes(), 4, moves, shuffle=False)
    assert targets["mask"].shape == (4, 16, 16)
    assert targets["mask"].unique().tolist() == [0, 3, 255]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3)[:, ::-1],
        np.arange(6, dtype=">i4"),
        read_only(np.arange(6, dtype=np.uint16)),
        np.asfortranarray(np.ones((2, 3))),
        np.array(1.5, np.float16),
        np.zeros((0, 4), np.complex64),
    ],
)
def test_an_array_of_any_layout_becomes_a_tensor(array):
    tensor = arrays_as_tensors(array)
    assert np.array_equal(tensor.numpy(), array)
    assert tensor.numpy().dtype == array.dtype.newbyteorder("=")
    assert tensor.shape == array.shape


def test_a_tensor_shares_the_memory_of_an_array_that_can_be_written():
    array, kept = np.zeros(3), read_only(np.zeros(3))
    arrays_as_tensors(array)[:] = 1
    arrays_as_tensors(kept)[:] = 1
    assert (array.tolist(), kept.tolist()) == ([1, 1, 1], [0, 0, 0])


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(2, np.longdouble)])
def test_what_torch_has_no_dtype_for_stays(array):
    assert arrays_as_tensors([array])[0] is array


def test_targets_and_ids_are_pinned_before_they_are_copied_to_a_gpu(monkeypatch):
    pinned = []
    source = [Sample(np.zeros((4, 4, 3), np.uint8), {"label": index}, index) for index in range(2)]
    loader = Loader(source, 2, shuffle=False)
    monkeypatch.setattr(loader, "device", torch.device("cuda"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor.tolist()) or tensor)
    _, batch = loader._prepared(([0, 1], 0, 0), threading.Event())
    assert pinned == [[0, 1], [0, 1]]
    assert batch.sample_ids.tolist() == batch.targets["label"].tolist() == [0, 1]
