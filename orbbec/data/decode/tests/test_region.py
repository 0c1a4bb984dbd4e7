"""Only the region that the plan reads is decoded, and the result equals that of the whole image."""

import io

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from orbbec import ImageBatch
from orbbec.data.decode.decode import decode_image, decode_region, region_header
from orbbec.data.decode.native import has_native
from orbbec.data.decode.region import _shrinks, plan_for, regions_of
from orbbec.plan import Plan
from orbbec.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    GaussianBlur,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    Resize,
    ToDtype,
)

SIZES = [(120, 160), (160, 120), (90, 200), (101, 133)]


def jpegs():
    """One image of each size, one of them rotated by EXIF."""
    files = []
    for seed, (height, width) in enumerate(SIZES):
        noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
        image = cv2.GaussianBlur(noise, (0, 0), 2.0)
        buffer, exif = io.BytesIO(), Image.Exif()
        exif[0x0112] = 8 if seed == 2 else 1
        Image.fromarray(image).save(buffer, "JPEG", quality=90, exif=exif)
        files.append(buffer.getvalue())
    return files


def whole_and_regions(transforms, epoch, shrink=False):
    """The results of a pipeline for whole images and for regions; and the regions."""
    files, pipeline = jpegs(), Compose(transforms, seed=3)
    whole = [decode_image(data) for data in files]
    plan = pipeline.plan([image.shape[:2] for image in whole], epoch=epoch)
    expected = pipeline.apply(plan, ImageBatch.from_images(whole))
    regions = regions_of(plan, np.full(len(files), True) if shrink else None)
    assert regions is not None
    parts = [
        decode_region(data, region_header(data, "RGB", 10**6), regions[row][0], shrink=regions[row][1])
        for row, data in enumerate(files)
    ]
    actual = pipeline.apply(plan_for(plan, regions), ImageBatch.from_images(parts))
    return expected, actual, regions


EXACT = {
    # Pillow 13 resizes rows or columns first, depending on the size of the whole image.
    "antialiased crop": [RandomResizedCrop(48)],
    "large antialiased crop": [RandomResizedCrop((100, 70)), RandomHorizontalFlip()],
    "wide antialiased crop": [RandomResizedCrop((30, 150), interpolation="cubic")],
    "random resized crop": [RandomResizedCrop(48, antialias=False), RandomHorizontalFlip()],
    "crop": [RandomCrop(64), ColorJitter(0.4, 0.4, 0.4, 0.1)],
    "center crop": [CenterCrop((50, 60)), ToDtype(torch.float32, scale=True), Normalize()],
    "crop, then blur": [RandomResizedCrop(48, antialias=False), GaussianBlur(5)],
}


@pytest.mark.parametrize("transforms", EXACT.values(), ids=EXACT)
def test_parts_give_the_bytes_of_whole_images(transforms):
    for epoch in range(8):
        expected, actual, _ = whole_and_regions(transforms, epoch)
        assert torch.equal(actual, expected)


@pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in")
@pytest.mark.parametrize(
    ("transforms", "least"),  # dB per image; measured: 45.6, 46.4, 46.7, 36.7, 37.1
    [
        ([Resize((24, 30))], 44.0),
        ([RandomResizedCrop(20, scale=(0.5, 1.0)), RandomHorizontalFlip()], 44.0),
        ([RandomResizedCrop(10, scale=(0.9, 1.0))], 44.0),
        ([Resize((24, 30), antialias=False)], 36.0),
        ([RandomResizedCrop(20, scale=(0.5, 1.0), antialias=False), RandomHorizontalFlip()], 36.0),
    ],
)
def test_shrunk_parts_are_near_to_whole_images(transforms, least):
    expected, actual, regions = whole_and_regions(transforms, 0, shrink=True)
    assert (regions.shrinks > 1).any()
    error = (expected.double() - actual.double()).square().mean(dim=(1, 2, 3))
    assert (10 * torch.log10(255**2 / error)).min() > least


def test_regions_are_the_parts_that_are_cut_out():
    plan = Compose([CenterCrop(4)]).plan([(8, 6), (10, 30)], epoch=0)
    assert regions_of(plan).boxes.tolist() == [[1, 2, 5, 6], [13, 3, 17, 7]]
    assert plan_for(plan, regions_of(plan)).sizes.tolist() == [[4, 4], [4, 4]]


def test_regions_shrink_where_the_plan_does():
    plan = Compose([Resize((20, 20))]).plan([(39, 100), (40, 100), (100, 100), (400, 160)], epoch=0)
    assert regions_of(plan) is None
    assert regions_of(plan, np.full(4, True)).shrinks.tolist() == [1, 2, 4, 8]
    only_last = regions_of(plan, np.array([False, False, False, True]))
    assert only_last.shrinks.tolist() == [1, 1, 1, 8]
    assert only_last.boxes[3].tolist() == [0, 0, 20, 50]


@pytest.mark.parametrize(
    "transforms", [[RandomRotation(10)], [GaussianBlur(3), CenterCrop(4)], [ColorJitter(0.4)]]
)
def test_whole_images_are_read_by_other_plans(transforms):
    assert regions_of(Compose(transforms).plan([(8, 6)], epoch=0), np.array([True])) is None


def test_regions_of_a_plan_without_images():
    plan = Compose([RandomResizedCrop(4)]).plan([], epoch=0)
    assert isinstance(plan, Plan)
    assert regions_of(plan, np.zeros(0, bool)) is None


def test_each_image_is_shrunk_by_its_own_matrix():
    matrices = np.stack([np.diag([scale, scale, 1.0]) for scale in (4.0, 1.9, 2.0, 9.0, 4.0, 8.0)])
    matrices[0, 2, 0] = 1e-3  # a perspective
    can_shrink = np.array([True, True, True, True, False, True])
    assert _shrinks(matrices, can_shrink).tolist() == [1, 1, 2, 8, 1, 8]
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert _shrinks(matrices @ turn, np.ones(6, bool)).tolist() == [1, 1, 2, 8, 4, 8]
    assert _shrinks(np.stack([np.eye(3), matrices[4] @ turn]), np.ones(2, bool)).tolist() == [1, 4]
