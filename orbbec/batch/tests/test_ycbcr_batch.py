"""YCbCrBatch: positions, tables, memory, errors."""

import pickle

import pytest
import torch

from orbbec import ImageBatch, YCbCrBatch
from orbbec.batch.ycbcr_batch import SAMPLINGS


def test_planes_lie_where_worked_out_by_hand():
    batch = YCbCrBatch.of_sizes([(3, 5), (9, 9), (2, 2)], ["420", "gray", "rgb"], [1, 3, 6])
    # 15 + 2 * 2 * 3 = 27, 81 and 12 bytes take 64, 128 and 64; the tables begin at 256.
    assert batch.layout.tolist() == [[0, 3, 5], [64, 9, 9], [192, 2, 2]]
    assert batch.forms.tolist() == [[5, 1], [1, 3], [0, 6]]
    assert batch.rgb_layout.tolist() == [[0, 3, 5], [64, 9, 9], [320, 2, 2]]  # 45, 243 and 12 bytes
    assert batch.host_table.tolist() == torch.cat([batch.layout, batch.forms, batch.rgb_layout], 1).tolist()
    assert (batch.plane_bytes, batch.nbytes) == (256, 256 + 3 * 64)
    assert (batch.pixel_bytes, batch.rgb_bytes) == (384, 384 + 128)


@pytest.mark.parametrize(
    ("sampling", "shapes"),
    [
        ("rgb", [(5, 7, 3)]),
        ("gray", [(5, 7)]),
        ("444", [(5, 7)] * 3),
        ("422", [(5, 7), (5, 4), (5, 4)]),
        ("440", [(5, 7), (3, 7), (3, 7)]),
        ("420", [(5, 7), (3, 4), (3, 4)]),
    ],
)
def test_planes_follow_each_other(sampling, shapes):
    batch = YCbCrBatch.of_sizes([(1, 1), (5, 7)], ["444", sampling])
    planes = batch.planes(1)
    assert [tuple(plane.shape) for plane in planes] == shapes
    buffer = batch.image_buffers()[1]
    for plane in planes:
        assert plane.data_ptr() == buffer.data_ptr()
        buffer = buffer[plane.numel() :]
    assert len(buffer) == 0
    assert planes[0].data_ptr() - batch.storage.data_ptr() == 64


def test_sizes_are_those_of_turned_images():
    batch = YCbCrBatch.of_sizes([(2, 3)] * 8, ["420"] * 8, range(1, 9))
    assert batch.sizes.tolist() == [[2, 3]] * 4 + [[3, 2]] * 4
    assert batch.rgb_layout[:, 1:].tolist() == batch.sizes.tolist()


def test_images_share_the_storage_that_was_written():
    batch = YCbCrBatch.of_sizes([(2, 3), (4, 1)], ["420", "rgb"], [5, 1])
    storage = torch.zeros(batch.rgb_bytes, dtype=torch.uint8)
    images = batch.images(storage)
    assert isinstance(images, ImageBatch)
    assert [image.shape for image in images] == [(3, 2, 3), (4, 1, 3)]
    assert images.layout.tolist() == images.host_layout.tolist()
    assert images[1].data_ptr() == storage.data_ptr() + 64
    assert images.nbytes == ImageBatch.of_sizes([(3, 2), (4, 1)], 3).nbytes


def test_a_batch_is_copied_and_pickled_whole():
    batch = YCbCrBatch.of_sizes([(2, 3), (4, 1)], ["420", "rgb"], [5, 1])
    batch.buffer.fill_(7)
    again = pickle.loads(pickle.dumps(batch))
    assert torch.equal(again.storage, batch.storage)
    assert again.sizes.tolist() == batch.sizes.tolist()
    assert batch.to("cpu") is batch
    assert batch.to("meta").device.type == "meta"
    batch.record_stream(None)  # nothing to do on the CPU


def test_a_batch_of_no_images():
    batch = YCbCrBatch.of_sizes([], [])
    assert (len(batch), batch.nbytes, batch.rgb_bytes) == (0, 0, 0)
    assert [table.shape for table in (batch.layout, batch.forms, batch.rgb_layout)] == [
        (0, 3),
        (0, 2),
        (0, 3),
    ]
    assert repr(batch) == "YCbCrBatch(0 images, none, device=cpu)"


def test_the_memory_is_that_which_was_given():
    given = []

    def empty(nbytes):
        given.append(torch.empty(nbytes, dtype=torch.uint8))
        return given[0]

    batch = YCbCrBatch.of_sizes([(2, 3)], ["444"], empty=empty)
    assert batch.storage is given[0]
    assert batch.layout.tolist() == [[0, 2, 3]]


@pytest.mark.parametrize(
    ("samplings", "orientations", "message"),
    [
        (["420"], None, "YCbCrBatch.of_sizes: expected 2 samplings, but got 1"),
        (["420", "420"], [1], "expected 2 orientations, but got 1"),
        (["420", "411"], None, f"expected samplings of {', '.join(SAMPLINGS)}, but got '411'"),
        (["420", "420"], [1, 9], "expected orientations from 1 to 8, but got 9"),
        (["420", "420"], [0, 1], "expected orientations from 1 to 8, but got 0"),
    ],
)
def test_of_sizes_names_the_bad_argument(samplings, orientations, message):
    with pytest.raises(ValueError, match=message):
        YCbCrBatch.of_sizes([(2, 3), (4, 5)], samplings, orientations)
