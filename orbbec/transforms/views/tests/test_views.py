"""Several views of each image."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T

CROP = [T.RandomResizedCrop((12, 10)), T.RandomHorizontalFlip()]
JITTER = [T.RandomApply([T.ColorJitter(0.4, 0.4)], 0.8), T.ToDtype("float32", scale=True)]


def photographs(count=6):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*rng.integers(20, 40, 2), 3), np.uint8) for _ in range(count)]


def test_the_first_view_is_that_of_compose():
    batch = ImageBatch.from_images(photographs())
    views = T.MultiView([JITTER, JITTER], shared=CROP, seed=5)
    first, second = views(batch, sample_ids=np.arange(6), epoch=3)
    assert torch.equal(first, T.Compose([*CROP, *JITTER], seed=5)(batch, sample_ids=np.arange(6), epoch=3))
    assert not torch.equal(first, second)


def test_shared_transforms_draw_once_and_others_for_each_view():
    batch = ImageBatch.from_images(photographs())
    views = T.MultiView([[T.RandomInvert()]] * 8, shared=CROP)(batch, epoch=0)
    crops = T.Compose(CROP)(batch, epoch=0)
    inverted = torch.stack([(view == 255 - crops).flatten(1).all(1) for view in views])
    same = torch.stack([(view == crops).flatten(1).all(1) for view in views])
    assert bool((inverted ^ same).all())
    assert len({tuple(row) for row in inverted.tolist()}) > 4
    assert 10 < int(inverted.sum()) < 38


def test_a_view_does_not_depend_on_those_after_it():
    batch = ImageBatch.from_images(photographs())
    three, five = (T.MultiView([[*CROP, *JITTER]] * n, seed=2)(batch, epoch=1) for n in (3, 5))
    for one, other in zip(three, five, strict=False):
        assert torch.equal(one, other)
    for one, other in pairwise(five):
        assert not torch.equal(one, other)


def test_views_without_ids_are_new_and_follow_the_generator():
    views = T.MultiView([CROP, CROP])
    image = photographs(1)[0]
    results = [views(image, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2, 1)]
    assert np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[1])
    assert not np.array_equal(views(image), views(image))


def test_targets_follow_each_view():
    image = np.zeros((20, 30, 3), np.uint8)
    image[5:9, 2:8] = 255
    target = {"boxes": torch.tensor([[2.0, 5.0, 8.0, 9.0]])}
    for view, moved in T.MultiView([[T.RandomHorizontalFlip()]] * 6)(image, target, epoch=0):
        columns = np.flatnonzero(view[6, :, 0])
        assert moved["boxes"].tolist() == [[columns[0], 5.0, columns[-1] + 1, 9.0]]


def test_structures_go_through_every_view():
    images, labels = torch.rand(3, 3, 16, 16), torch.tensor([1, 2, 3])
    for view, same in T.MultiView([CROP, CROP])((images, labels)):
        assert view.shape == (3, 3, 12, 10)
        assert torch.equal(same, labels)


def test_crops_cover_the_areas_of_dino():
    batch = torch.arange(10000, dtype=torch.float32).reshape(1, 1, 100, 100).expand(32, -1, -1, -1)
    views = T.MultiCrop(global_=2, local=4, global_size=32, local_size=16)(batch.contiguous(), epoch=0)
    assert [tuple(view.shape) for view in views] == [(32, 1, 32, 32)] * 2 + [(32, 1, 16, 16)] * 4
    rows = [(view.amax((1, 2, 3)) - view.amin((1, 2, 3))) / 100 for view in views]
    assert min(float(each.mean()) for each in rows[:2]) > max(float(each.mean()) for each in rows[2:])


@pytest.mark.parametrize("views", [[], [[]], [[3]], T.RandomInvert(), "ab", None])
def test_wrong_views_are_refused(views):
    with pytest.raises((TypeError, ValueError)):
        T.MultiView(views)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="MultiView: expected a generator only without"):
        T.MultiView([CROP])(photographs(1)[0], sample_ids=[0], generator=torch.Generator())
    with pytest.raises(ValueError, match="MultiCrop: expected local"):
        T.MultiCrop(local=-1)
    with pytest.raises(ValueError, match="MultiView: expected views"):
        T.MultiCrop(global_=0, local=0)


def test_crops_are_those_of_dinov2_unless_others_are_asked_for():
    large = T.RandomResizedCrop(224, (0.32, 1.0), interpolation="cubic")
    small = T.RandomResizedCrop(98, (0.05, 0.32), interpolation="cubic")
    assert T.MultiCrop().views == ((large,),) * 2 + ((small,),) * 8
    flip = T.RandomHorizontalFlip()
    other = T.MultiCrop(global_=1, local=0, then=[flip], seed=4)
    assert (other.views, other.seed) == (((large, flip),), 4)


def slices_of(image, height, width):
    """The corners and the center of an array by slices, in torchvision's order."""
    rows, columns = image.shape[:2]
    top, left = round((rows - height) / 2), round((columns - width) / 2)
    corners = [(0, 0), (0, columns - width), (rows - height, 0), (rows - height, columns - width)]
    return [image[y : y + height, x : x + width] for y, x in [*corners, (top, left)]]


@pytest.mark.parametrize("size", [(1, 1), (13, 8), (20, 20)])
def test_five_crops_are_slices(size):
    images = photographs()
    views = T.FiveCrop(size)(ImageBatch.from_images(images))
    for n, image in enumerate(images):
        for view, expected in zip(views, slices_of(image, *size), strict=True):
            assert np.array_equal(view[n].permute(1, 2, 0), expected)


@pytest.mark.parametrize("is_vertical", [False, True])
def test_ten_crops_are_those_of_an_image_and_its_mirror(is_vertical):
    (image,) = photographs(1)
    mirror = image[::-1] if is_vertical else image[:, ::-1]
    expected = [*slices_of(image, 9, 12), *slices_of(mirror, 9, 12)]
    for view, wanted in zip(T.TenCrop((9, 12), is_vertical)(image), expected, strict=True):
        assert np.array_equal(view, wanted)


def test_targets_follow_each_crop():
    image = np.zeros((20, 30, 3), np.uint8)
    target = {"boxes": torch.tensor([[2.0, 5.0, 8.0, 9.0]]), "keypoints": torch.tensor([[25.0, 18.0]])}
    views = T.TenCrop((12, 16))(image, target)
    assert [moved["boxes"].tolist() for _, moved in views[:5]] == [
        [[2.0, 5.0, 8.0, 9.0]],
        [],
        [[2.0, 0.0, 8.0, 1.0]],
        [],
        [[0.0, 1.0, 1.0, 5.0]],
    ]
    assert views[6][1]["boxes"].tolist() == [[8.0, 5.0, 14.0, 9.0]]
    assert views[3][1]["keypoints"].tolist() == [[11.0, 10.0]]


def test_transforms_stand_before_and_after_crops():
    (image,) = photographs(1)
    flip, cast = T.RandomVerticalFlip(1.0), T.ToDtype("float32", scale=True)
    views = T.FiveCrop(8, shared=[flip], then=[cast], seed=4)
    assert views.seed == 4
    for view, expected in zip(views(image), slices_of(image[::-1], 8, 8), strict=True):
        np.testing.assert_allclose(view, expected.astype(np.float32) / 255, atol=1e-7)


def test_crops_of_images_that_are_too_small_are_refused():
    with pytest.raises(ValueError, match="Crop: expected images of at least 9x5, but image 0 is 8x30"):
        T.FiveCrop((9, 5))(np.zeros((8, 30, 3), np.uint8))
    with pytest.raises(ValueError, match="FiveCrop: expected size"):
        T.FiveCrop(0)
    with pytest.raises(ValueError, match="TenCrop: expected vertical_flip"):
        T.TenCrop(3, "up")
