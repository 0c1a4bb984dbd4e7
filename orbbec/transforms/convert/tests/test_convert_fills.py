"""What masks are filled with in pipelines of torchvision."""

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert.tests.test_convert_torchvision import stand_in
from tests.support import photographs


def test_a_number_fills_masks_too():
    crop = {"size": (9, 9), "pad_if_needed": False, "padding_mode": "constant"}
    rotation = {"degrees": [-9.0, 9.0], "interpolation": "nearest", "expand": False, "center": None}
    rotated = stand_in("RandomRotation", fill=255, **rotation)
    unpadded = stand_in("RandomCrop", padding=None, fill=0, **crop)
    padded = stand_in("RandomCrop", padding=[4, 4, 4, 4], fill=None, **crop)

    def fill_of(*steps):
        return T.Compose.from_torchvision(steps).target_options.mask_fill

    assert fill_of(rotated, unpadded) == 255
    assert fill_of(padded) == 0
    assert fill_of(rotated, padded) == 0  # no number for all
    table = {type("Mask", (), {}): 7, "others": 0}
    assert fill_of(rotated, stand_in("RandomRotation", fill=table, **rotation)) == 7
    v1 = stand_in("RandomRotation", module="torchvision.transforms.transforms", fill=255, **rotation)
    assert fill_of(v1) == 0  # has no masks


def test_masks_are_filled_as_by_torchvision():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    image, mask = photographs(1, 3, 6, 8)[0], torch.ones(6, 8, dtype=torch.uint8)
    theirs = v2.Compose([v2.Pad((1, 2, 3, 4), fill=255), v2.RandomRotation((90, 90), fill=255)])
    expected = theirs(tv_tensors.Image(image), {"mask": tv_tensors.Mask(mask)})[1]["mask"]
    assert torch.equal(T.Compose.from_torchvision(theirs)(image, {"mask": mask})[1]["mask"], expected)
