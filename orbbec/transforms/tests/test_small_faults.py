"""What `make mutate` found no test for."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.auto import NARROW, OPERATIONS


def test_the_least_values_are_accepted():
    assert T.JPEG(1).quality == T.JPEG((1, 1)).quality
    assert T.MixUp(alpha=1e-6).alpha == T.CutMix(alpha=1e-6).alpha == 1e-6


def test_each_axis_is_shifted_by_a_share_of_its_own_side():
    along = np.array([OPERATIONS.index("TranslateX"), OPERATIONS.index("TranslateY")])
    heights_and_widths = np.array([[331, 662], [331, 662]])
    magnitudes = NARROW.magnitudes(along, np.array([1.0, 1.0]), heights_and_widths)
    assert magnitudes == pytest.approx([300.0, 150.0])


def test_an_image_that_no_operator_takes_is_named_as_one_of_composes():
    with pytest.raises(TypeError, match=r"^Compose: expected images"):
        T.Compose([T.CenterCrop(2)])([torch.zeros(3, 4, 4, dtype=torch.complex64)])


def test_boxes_follow_those_images_alone_that_are_cropped_by_chance():
    images = torch.zeros(16, 3, 40, 40, dtype=torch.uint8)
    images[:, :, 12:28, 8:30] = 255
    targets = [{"boxes": torch.tensor([[8.0, 12.0, 30.0, 28.0]])} for _ in range(16)]
    chain = T.Compose([T.RandomApply([T.RandomResizedCrop(40, scale=(0.5, 0.8))], 0.5)], seed=3)
    moved, boxes = chain(images, targets, sample_ids=list(range(16)))
    for image, target in zip(moved, boxes, strict=True):
        rows, columns = (image[0] > 127).nonzero().T
        seen = torch.stack([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert (seen - target["boxes"][0]).abs().max() <= 1
    changed = [not torch.equal(a, b) for a, b in zip(moved, images, strict=True)]
    assert 4 < sum(changed) < 12
