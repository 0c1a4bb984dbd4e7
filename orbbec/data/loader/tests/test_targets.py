"""The targets of a Loader: tensors, ready for the model."""

import numpy as np
import pytest
import torch

from orbbec.data import Loader, Sample
from orbbec.data.device.staging import arrays_as_tensors
from orbbec.transforms import Compose, RandomHorizontalFlip


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
