"""`scale_offset` as a color step: fused into the augment pass, alone, and its gradient."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.augment import Values, augment
from orbbec.augment.codes import COLOR_WIDTH, STEPS
from orbbec.scaleoffset.transform import RandomScaleOffset
from tests.support import assert_same_bytes, photograph, photographs

MEAN, STD = (0.5, 0.4, 0.3), (0.25, 0.2, 0.3)
CODE = STEPS["scale_offset"]


def by_numpy(values, row, maximum):
    """The step on float32 values; `row` of a color program."""
    scale, offset = row[1], row[2] * np.float32(maximum)
    return values if row[0] == 0 else (values * scale + offset).clip(0, maximum)


def pipeline(exact=False):
    first, last = [T.RandomCrop((9, 37)), RandomScaleOffset((0.5, 2.0))], T.Normalize(MEAN, STD)
    return T.Compose([*first, T.ToDtype(torch.float32, scale=True), last], seed=3, exact=exact)


@pytest.mark.parametrize("exact", [False, True])
def test_scale_offset_is_fused_and_gives_the_bits_of_numpy(device, exact):
    images = photographs(8, 3, 20, 50)
    plan = pipeline(exact).plan([(20, 50)] * 8, epoch=1, dtype=torch.uint8)
    assert [step.name for step in plan.passes] == ["augment"] * (4 if exact else 1)
    colored = plan.passes[int(exact)]  # with exact=True each transform is a pass, which rounds to bytes
    rows = colored.colors[:, 0]
    assert set(rows[:, 0]) == {0, CODE}
    expected = []
    for image, matrix, row in zip(images.numpy(), plan.passes[0].matrix, rows, strict=True):
        left, top = matrix[:2, 2].astype(int)
        values = by_numpy(image[:, top : top + 9, left : left + 37].astype(np.float32), row, 255)
        values = (values.round() if exact else values) * np.float32(1 / 255)
        mean, std = (np.array(numbers, np.float32)[:, None, None] for numbers in (MEAN, STD))
        expected.append((values - mean) / std)
    actual = pipeline(exact)(device.put(images), epoch=1)
    assert_same_bytes(actual, torch.from_numpy(np.array(expected)))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_scale_offset_alone(device, dtype):
    images = photographs(6, 3, 9, 7, dtype)
    alone = T.Compose([RandomScaleOffset(p=0.5)])
    rows = alone.plan([(9, 7)] * 6, epoch=1, dtype=dtype).passes[0].colors[:, 0]
    maximum = 255 if dtype == torch.uint8 else 1
    pairs = zip(images.numpy().astype(np.float32), rows, strict=True)
    expected = torch.from_numpy(np.array([by_numpy(image, row, maximum) for image, row in pairs]))
    expected = expected.round() if dtype == torch.uint8 else expected
    assert_same_bytes(alone(device.put(images), epoch=1), expected.to(dtype))


def test_scale_offset_takes_variable_size_images():
    arrays = [photograph(12 + n, 20 - n, seed=n) for n in range(6)]
    alone = T.Compose([RandomScaleOffset(p=0.5)])
    together = alone(ImageBatch.from_images(arrays), epoch=2)
    for n, array in enumerate(arrays):
        np.testing.assert_array_equal(together[n].numpy(), alone(array, sample_ids=[n], epoch=2))


def test_scale_offset_has_the_gradient_of_the_formula(device):
    images = photographs(2, 3, 9, 37, torch.float32).contiguous()
    rows = torch.zeros(2, 1, COLOR_WIDTH)
    rows[:, 0, 0], rows[:, 0, 1], rows[:, 0, 2] = CODE, torch.tensor([0.5, 2.0]), torch.tensor([0.2, -0.1])
    weights = torch.rand(2, 3, 9, 37, generator=torch.Generator().manual_seed(0))

    def gradient(function, x):
        x = x.requires_grad_()
        (function(x) * weights.to(x.device)).sum().backward()
        return x.grad.cpu()

    def formula(x):
        scale, offset = rows[:, 0, 1:3, None, None, None].unbind(1)
        return (x * scale + offset).clamp(0, 1)

    whole, values = torch.eye(2, 3), Values(colors=device.put(rows))
    actual = gradient(lambda x: augment(x, whole, (9, 37), values=values), device.put(images.clone()))
    torch.testing.assert_close(actual, gradient(formula, images.clone()))
