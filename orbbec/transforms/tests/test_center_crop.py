"""CenterCrop compared with torchvision's rule, including smaller images."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.transforms.tests.test_compose import ALL
from tests.support import photograph

SIZES = [(1, 1), (5, 9), (6, 10), (9, 5), (7, 7), (8, 8), (12, 3), (30, 41)]


def center_crop(image, size):
    """The result by torchvision's documented rule.

    Smaller images are padded with zeros, an odd row or column below or to the right; then the crop begins at
    `round((side - size) / 2)`, rounded half to even.
    """
    lacks = [max(want - have, 0) for want, have in zip(size, image.shape[:2], strict=True)]
    before, after = [lack // 2 for lack in lacks], [(lack + 1) // 2 for lack in lacks]
    image = np.pad(image, [*zip(before, after, strict=True), (0, 0)])
    top, left = (round((have - want) / 2.0) for want, have in zip(size, image.shape[:2], strict=True))
    return image[top : top + size[0], left : left + size[1]]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_center_crop_is_torchvisions(size, exact):
    crop = T.Compose([T.CenterCrop(size)], exact=exact)
    images = [photograph(*other, seed=n) for n, other in enumerate(SIZES)]
    expected = np.stack([center_crop(image, size) for image in images])
    assert np.array_equal(crop(ImageBatch.from_images(images), epoch=0).permute(0, 2, 3, 1).numpy(), expected)
    for image, own in zip(images, expected, strict=True):
        assert np.array_equal(crop(image, epoch=0), own)
        floats = torch.from_numpy(image).permute(2, 0, 1) / 255
        assert torch.equal(crop(floats, epoch=0), torch.from_numpy(own).permute(2, 0, 1) / 255)


def test_center_crop_of_torchvision():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    for n, size in enumerate(SIZES):
        for other in SIZES:
            image = torch.from_numpy(photograph(*other, seed=n)).permute(2, 0, 1)
            assert torch.equal(T.Compose([T.CenterCrop(size)])(image, epoch=0), v2.CenterCrop(size)(image))


@pytest.mark.parametrize("other", SIZES)
def test_targets_follow_a_center_crop(other):
    height, width = other
    mask = np.random.default_rng(1).integers(1, 9, other)
    target = {"mask": mask, "keypoints": np.array([[0.0, 0.0]]), "boxes": np.array([[0.0, 0, width, height]])}
    _, moved = T.Compose([T.CenterCrop(8)])(photograph(*other), target, epoch=0)
    assert np.array_equal(moved["mask"], center_crop(mask[..., None], (8, 8))[..., 0])
    corner = [round((side - 8) / -2.0) if side > 8 else (8 - side) // 2 for side in other]
    assert moved["keypoints"].tolist() == [corner[::-1]]
    top, left = corner
    inside = [max(left, 0), max(top, 0), min(left + width, 8), min(top + height, 8)]
    assert moved["boxes"].tolist() == [inside]


def test_what_pads_is_told_by_the_pipeline_alone():
    large = T.Compose([T.ColorJitter(0.5), T.Resize(256), T.CenterCrop(224)])
    either = T.Compose([T.ColorJitter(0.5), T.CenterCrop(224)])
    last = large.plan([(300, 400)], epoch=0).passes[-1]
    assert (last.border, last.reads_beyond) == ("replicate", False)
    assert (
        len(either.plan([(300, 400)], epoch=0).passes) == len(either.plan([(100, 400)], epoch=0).passes) == 2
    )
    together = [photograph(100, 400), photograph(300, 400)]
    batch = either(ImageBatch.from_images(together), sample_ids=[3, 4])
    assert np.array_equal(batch[1].permute(1, 2, 0), either(together[1], sample_ids=[4]))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize(
    "resize", [T.Resize(5, max_size=9), T.Resize(None, max_size=9), T.RandomScale((0.5, 1.0))]
)
def test_only_a_crop_of_one_pixel_fits_into_any_resized_image(resize, antialias):
    assert_only_these_sides_fit([replace(resize, antialias=antialias)], 1, 1)


def test_only_a_crop_of_one_pixel_fits_into_any_image_rotated_by_lanczos():
    assert_only_these_sides_fit([T.RandomRotation(9, "lanczos", expand=True)], 1, 1)


@pytest.mark.parametrize("sizes", [((8, 6), (5, 9)), ((5, 9), (8, 6))])
def test_a_crop_of_the_smaller_sides_fits_into_an_image_that_may_be_resized_again(sizes):
    first, other = map(T.Resize, sizes)
    assert_only_these_sides_fit([first, T.RandomApply([other])], 5, 6)


def assert_only_these_sides_fit(steps, height, width):
    """A crop of these sides never pads, and one of a row or a column more may."""
    for more, border in [((0, 0), "replicate"), ((0, 1), "constant"), ((1, 0), "constant")]:
        crop = T.CenterCrop((height + more[0], width + more[1]))
        plan = T.Compose([*steps, crop]).plan([(40, 50)], epoch=0)
        assert plan.passes[-1].border == border


def test_a_crop_of_a_mosaic_fuses_with_the_warp_before_it():
    rest = [T.RandomAffine(10, interpolation="linear", fill=114), T.CenterCrop(20)]
    sizes = [(40, 40)] * 4
    assert len(T.Compose([T.Mosaic(40), *rest]).plan(sizes, epoch=0).passes) == 2
    assert len(T.Compose([T.Mosaic(40, p=0.5), *rest]).plan(sizes, epoch=0).passes) == 2
    assert len(T.Compose([T.Resize((40, 40)), T.Mosaic(40, p=0.5), *rest]).plan(sizes, epoch=0).passes) == 3


def test_what_is_cut_off_after_a_random_resize_may_be_padded():
    some = T.Compose([T.RandomApply([T.Resize((30, 30))], 0.5), T.CenterCrop(20)], seed=3)
    images = [photograph(10, 12, seed=n) for n in range(12)]
    padded = [not some(image, sample_ids=[n])[0].any() for n, image in enumerate(images)]
    assert 0 < sum(padded) < 12


@pytest.mark.parametrize(
    ("size", "side", "longest", "expected"),
    [
        ((375, 500), 99, 117, (87, 117)),  # 117 * 99 / 132 = 87.75
        ((500, 375), 99, 117, (117, 87)),
        ((300, 401), 70, 80, (60, 80)),  # 80 * 70 / 93 = 60.2
        ((100, 1000), 50, 60, (6, 60)),
        ((333, 500), 99, 149, (99, 148)),  # the longer side, 148.6, is within the limit
    ],
)
def test_a_largest_side_cuts_fractions_off(size, side, longest, expected):
    resize = T.Resize(side, max_size=longest)
    assert T.Compose([resize]).plan([size], epoch=0).output_sizes.tolist() == [list(expected)]


@pytest.mark.parametrize("transform", ALL, ids=lambda t: t.name)
def test_a_crop_of_whole_results_of_one_size_takes_no_pass(transform):
    steps, sizes = [T.RandomRotation(9, "linear", padding_mode="edge"), transform], [(40, 52), (50, 41)]
    plan = T.Compose(steps).plan(sizes, epoch=0)
    first, second = plan.output_sizes.tolist()
    moves = transform.name in ("RandomResizedCrop", "RandomSizedCrop", "ResizeToHeight")  # the last one fills
    if first == second and not moves:
        cropped = T.Compose([*steps, T.CenterCrop(first)]).plan(sizes, epoch=0)
        assert len(cropped.passes) == len(plan.passes)
