"""Crops in which no class prevails, compared with mmsegmentation's rule written in NumPy."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.plan import Stream

COUNT, SIZE, CROP, SEED = 24, (40, 60), (16, 20), 7
RATIO, IGNORED = 0.6, 255
IDS = np.arange(COUNT)


def class_masks(dtype=np.int64):
    """Masks of large and small rectangles of classes, of which 255 is one."""
    rng, masks = np.random.default_rng(3), np.zeros((COUNT, *SIZE), dtype)
    for mask in masks:
        for value in (1, 2, 255, 3):
            top, left = rng.integers(0, SIZE)
            mask[top : top + rng.integers(4, 30), left : left + rng.integers(4, 30)] = value
    return masks


def images_of(masks):
    """Each pixel has its class and its position."""
    y, x = (np.broadcast_to(each, masks.shape) for each in np.ogrid[: SIZE[0], : SIZE[1]])
    return torch.from_numpy(np.stack([masks, y, x], 1).astype(np.uint8))


def expected_crop(mask, draws, size, ratio, ignored):
    """Row and column of mmsegmentation's crop; it draws once more than it looks."""
    spare = np.array(mask.shape) - size + 1
    corners = (draws * spare).astype(int).tolist()
    row, column = corners[0]
    for following in corners[1:]:
        labels, counts = np.unique(mask[row : row + size[0], column : column + size[1]], return_counts=True)
        counts = counts[labels != ignored]
        if len(counts) > 1 and np.max(counts) / np.sum(counts) < ratio:
            break
        row, column = following
    return row, column


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["array", "tensor"])
def test_crops_are_those_of_mmsegmentation(dtype, kind):
    masks = class_masks(dtype)
    pipeline = T.Compose([T.RandomCrop(CROP, max_class_ratio=RATIO)], seed=SEED)
    targets = [{"mask": kind(mask)} for mask in masks]
    crops, cropped = pipeline(images_of(masks), targets, epoch=2, sample_ids=IDS)
    draws = Stream(IDS, SEED, 2, 0).uniforms(22).reshape(COUNT, 11, 2)
    tries = []
    for mask, crop, target, each in zip(masks, crops.numpy(), cropped, draws, strict=True):
        row, column = expected_crop(mask, each, CROP, RATIO, IGNORED)
        assert crop[1:, 0, 0].tolist() == [row, column]
        assert np.array_equal(np.asarray(target["mask"]), crop[0])
        tries.append((int(each[0, 0] * 25), int(each[0, 1] * 41)) == (row, column))
    assert 0 < sum(tries) < COUNT  # some crops are the first ones


def test_the_first_of_its_crops_are_those_of_a_crop_without_a_limit():
    masks = class_masks()
    masks[:, ::2] += 5  # every crop has two classes
    masks[masks >= 255] = 4
    images, targets = images_of(masks), [{"mask": mask} for mask in masks]
    plain, limited = (
        T.Compose([T.RandomCrop(CROP, **options)], seed=SEED)(images, targets, epoch=0)[0]
        for options in ({}, {"max_class_ratio": 1.0})
    )
    assert torch.equal(plain, limited)


def test_masks_are_seen_as_the_steps_before_leave_them():
    """The left half of the images is cut off, and the rest enlarged: only one class is left below."""
    mask = np.zeros((40, 60), np.int64)
    mask[:20, 40:], mask[:, :30] = 1, 2
    before = [T.Crop(0, 30, 40, 30), T.Resize((80, 60), "nearest", antialias=False)]
    pipeline = T.Compose([*before, T.RandomCrop(24, max_class_ratio=0.9), T.RandomVerticalFlip()], seed=SEED)
    _, moved = pipeline(torch.zeros(32, 3, 40, 60, dtype=torch.uint8), [{"mask": mask}] * 32, epoch=0)
    assert sum({0, 1} == set(np.unique(each["mask"])) for each in moved) == 32
    assert len(pipeline.plan([(40, 60)], epoch=0, targets=[{"mask": mask}]).passes) == 1


def test_pixels_outside_a_small_image_do_not_count():
    """Of 36 pixels, 32 are padding; three of the others have one class, so the first crop is taken."""
    images, target = images_of(class_masks())[:, :, :2, :2], {"mask": np.array([[1, 1], [1, 2]], np.uint8)}
    plain, limited = (
        T.Compose([T.RandomCrop(6, pad_if_needed=True, **options)], seed=SEED)(
            images, [target] * COUNT, epoch=0
        )
        for options in ({}, {"max_class_ratio": 0.8})
    )
    assert torch.equal(plain[0], limited[0])
    for one, other in zip(plain[1], limited[1], strict=True):
        assert np.array_equal(one["mask"], other["mask"])


def test_no_images_have_the_size_of_crops():
    none = torch.zeros(0, 3, 40, 60, dtype=torch.uint8)
    images, targets = T.RandomCrop(16, max_class_ratio=0.7)(none, [])
    assert (images.shape, list(targets)) == ((0, 3, 16, 16), [])


def test_crops_are_replayed_and_do_not_depend_on_the_batch():
    masks = class_masks()
    images, targets = images_of(masks), [{"mask": mask} for mask in masks]
    pipeline = T.Compose([T.RandomCrop(CROP, max_class_ratio=RATIO)], seed=SEED)
    together, _ = pipeline(images, targets, epoch=1, sample_ids=IDS)
    alone, _ = pipeline(images[5:6], targets[5:6], epoch=1, sample_ids=IDS[5:6])
    assert torch.equal(together[5:6], alone)
    plan = pipeline.plan([SIZE] * COUNT, IDS, epoch=1, targets=targets)
    assert torch.equal(pipeline.apply(plan, images), together)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (None, "expected mask in the target of image 0, as max_class_ratio needs"),
        ([{"mask": torch.zeros(40, 60).long()}, {"boxes": []}], "expected mask in the target of image 1"),
        (
            [{"mask": torch.zeros(40, 60)}] * 2,
            "expected mask of whole numbers, but image 0 has torch.float32",
        ),
    ],
)
def test_a_limited_crop_names_a_target_without_classes(targets, message):
    images = torch.zeros(2, 3, 40, 60, dtype=torch.uint8)
    with pytest.raises((TypeError, ValueError), match=f"RandomCrop: {message}"):
        T.RandomCrop(16, max_class_ratio=0.7)(images, targets)


@pytest.mark.parametrize("value", ["road", 3, 0.5, [[1, 2]], np.array([["road"]])])
@pytest.mark.parametrize(
    ("transform", "keys"),
    [
        (T.RandomCrop(16, max_class_ratio=0.7), ("mask",)),
        (T.CropNonEmptyMaskIfExists((15, 12)), ("mask", "masks")),
        (T.MaskDropout(p=1.0), ("mask", "masks")),
        (T.ConstrainedCoarseDropout(mask_indices=(1, 3), p=1.0), ("mask",)),
    ],
)
def test_masks_that_are_none_are_named(transform, keys, value):
    images = torch.zeros(2, 3, 40, 60, dtype=torch.uint8)
    for key in keys:
        with pytest.raises(TypeError, match=f"^{transform.name}: expected masks? "):
            transform(images, [{key: value}] * 2)


def test_a_limited_crop_names_a_small_image_and_refuses_containers():
    images, target = torch.zeros(2, 3, 40, 60, dtype=torch.uint8), {"mask": torch.zeros(40, 60).long()}
    with pytest.raises(
        ValueError, match="RandomCrop: expected images of at least 50x50, but image 0 is 40x60"
    ):
        T.RandomCrop(50, max_class_ratio=0.7)(images, [target] * 2)
    with pytest.raises(ValueError, match="RandomCrop reads targets"):
        T.RandomApply([T.RandomCrop(16, max_class_ratio=0.7)])
    with pytest.raises(ValueError, match="expected a position before images are mixed"):
        T.Compose([T.Mosaic(40), T.RandomCrop(16, max_class_ratio=0.7)])(images, [target] * 2)


def test_crops_lie_anywhere_on_a_padded_image():
    crop = T.RandomCrop((9, 8), (1, 5, 2, 3), max_class_ratio=1.0)
    targets = [{"mask": np.zeros((12, 10), np.int64)}] * 400
    (step,) = T.Compose([crop]).plan([(12, 10)] * 400, targets=targets, epoch=0).passes
    assert set(step.matrix[:, 1, 2].tolist()) == set(range(-5, 12 + 3 - 9 + 1))
    assert set(step.matrix[:, 0, 2].tolist()) == set(range(-1, 10 + 2 - 8 + 1))
