"""`scale_offset` as a pass of a pipeline."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, apply
from orbbec.scaleoffset import scale_offset
from orbbec.scaleoffset.transform import RandomScaleOffset
from tests.support import assert_same_bytes, photograph, photographs

PIPELINE = T.Compose([T.CenterCrop((9, 7)), RandomScaleOffset(p=0.5), T.RandomHorizontalFlip()], seed=3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_scale_offset_changes_the_images_that_are_drawn(device, dtype):
    images = photographs(8, 3, 9, 7, dtype)
    plan = T.Compose([RandomScaleOffset(p=0.5)]).plan([(9, 7)] * 8, epoch=1, dtype=dtype)
    (step,) = plan.passes
    assert step.draws == "some"
    table = (device.put(torch.from_numpy(step.table[name])) for name in ("scale", "offset"))
    changed = scale_offset(device.put(images), *table)
    expected = torch.where(torch.from_numpy(step.drawn)[:, None, None, None], changed.cpu(), images)
    assert_same_bytes(apply(plan, device.put(images)), device.put(expected))


def test_scale_offset_takes_variable_size_images(device):
    arrays = [photograph(12 + n, 20 - n, seed=n) for n in range(6)]
    pipeline = T.Compose([RandomScaleOffset(p=0.5)])
    together = pipeline(ImageBatch.from_images(arrays), epoch=2)
    plan = pipeline.plan([array.shape[:2] for array in arrays], epoch=2)
    assert plan.passes[0].draws == "some"
    for n, array in enumerate(arrays):
        alone = pipeline(array, sample_ids=[n], epoch=2)
        np.testing.assert_array_equal(together[n].numpy(), alone)


def test_scale_offset_is_the_same_alone_in_a_batch_and_from_text(device):
    images = photographs(5, 3, 20, 30)
    together = PIPELINE(device.put(images), epoch=0)
    for n in range(5):
        assert_same_bytes(PIPELINE(device.put(images[n]), sample_ids=[n], epoch=0), together[n])
    plan = PIPELINE.plan([(20, 30)] * 5, epoch=0)
    assert_same_bytes(PIPELINE.apply(Plan.from_json(plan.to_json()), device.put(images)), together)


def test_scale_offset_leaves_targets_in_place():
    boxes = np.array([[2.0, 3.0, 6.0, 8.0]])
    mask = np.arange(63).reshape(9, 7) % 5
    pipeline = T.Compose([RandomScaleOffset(p=1.0)])
    _, moved = pipeline(photographs(1, 3, 9, 7), [{"boxes": boxes, "mask": mask}], epoch=0)
    np.testing.assert_array_equal(moved[0]["boxes"], boxes)
    np.testing.assert_array_equal(moved[0]["mask"], mask)


def test_scale_offset_refuses_other_dtypes():
    with pytest.raises(
        ValueError, match="RandomScaleOffset: expected images of uint8 or float32, but got float16"
    ):
        T.Compose([RandomScaleOffset()])(photographs(1, 3, 4, 5, torch.float16))
