"""Batches of each kind, a tensor, an ImageBatch or a list, have the same images after each step."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec.plan.batches import as_list, blended, chosen_of, merged, one_by_one, repeated, rows_of
from tests.support import assert_same_bytes, photograph

SAME = [torch.from_numpy(photograph(5, 7, seed=n)).permute(2, 0, 1).contiguous() for n in range(2)]
SEVERAL = [SAME[0], torch.from_numpy(photograph(6, 4)).permute(2, 0, 1).contiguous()]
WORK = {
    "tensor": (torch.stack(SAME), SAME),
    "ImageBatch": (ImageBatch.from_images([image.permute(1, 2, 0) for image in SEVERAL]), SEVERAL),
    "list": (SEVERAL, SEVERAL),
}
KINDS = pytest.mark.parametrize(("work", "images"), WORK.values(), ids=WORK)


def assert_images(actual, expected):
    for one, other in zip(as_list(actual), expected, strict=True):
        assert_same_bytes(one.contiguous(), other)


def pixels_of(rows):
    """The images of rows in a buffer, and tensors as they are."""
    if isinstance(rows, torch.Tensor):
        return list(rows)
    shapes = ((int(start), int(h), int(w)) for start, h, w in rows.layout.tolist())
    return [rows.buffer[at : at + h * w * 3].view(h, w, 3).permute(2, 0, 1) for at, h, w in shapes]


@KINDS
def test_a_batch_is_repeated_as_a_whole(work, images):
    again = repeated(work, 3)
    found = again if isinstance(again, list) else pixels_of(again)
    assert_images(found, images * 3)


@KINDS
def test_images_one_by_one_are_those_of_the_batch(work, images):
    assert_images([pixels_of(one)[0] for one in one_by_one(work)], images)


def test_rows_are_chosen_in_any_order():
    work, images = WORK["ImageBatch"]
    assert_images(pixels_of(rows_of(work, np.array([1, 0, 1]))), [images[1], images[0], images[1]])
    assert_same_bytes(rows_of(WORK["tensor"][0], np.array([1])), torch.stack(SAME[1:]))
    assert_same_bytes(rows_of(SAME, np.array([1, 0])), torch.stack(SAME[::-1]))


@KINDS
def test_a_blend_adds_each_image_and_its_own_copies(work, images):
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.5, 0.125]])
    copies = [255 - image for image in images] + [image // 2 for image in images]
    expected = [
        sum(weights[n, k] * image for k, image in enumerate((images[n], copies[n], copies[2 + n])))
        for n in range(2)
    ]
    copied = torch.stack(copies) if isinstance(work, torch.Tensor) else merged(copies)
    assert_images(blended(work, copied, weights), [image.to(torch.uint8) for image in expected])


def test_images_are_merged_into_one_buffer_where_that_is_possible():
    assert_same_bytes(merged(SAME), torch.stack(SAME))
    assert isinstance(merged(SEVERAL), ImageBatch)
    assert_images(merged(SEVERAL), SEVERAL)
    floats = [image.float() for image in SEVERAL]
    assert merged(floats) is floats


def test_images_that_are_not_chosen_are_the_unchanged_ones():
    changed = torch.stack([255 - image for image in SAME])
    chosen = chosen_of(np.array([False, True]), changed, torch.stack(SAME))
    assert_images(chosen, [SAME[0], changed[1]])
