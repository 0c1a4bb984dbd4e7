"""Targets of a mosaic compared with brute force, with images whose pixels are all distinct."""

from functools import partial

import numpy as np
import pytest
import torch

from orbbec import box_convert
from orbbec import transforms as T
from tests.support import assert_same_bytes, photograph

SIZES = [(30, 41), (25, 20), (44, 33), (17, 52), (38, 38)]
RANGES = {"inside": (0.25, 0.75), "anywhere": (0.0, 1.0), "first corner": (0.0, 0.0), "last": (1.0, 1.0)}
CANVAS = (48, 60)


def numbered(times=1):
    """Variable-size images whose pixels are numbered from 1, in three bytes."""
    sizes = SIZES * times
    count = sum(height * width for height, width in sizes)
    values = np.random.default_rng(0).permutation(count) + 1
    images, begin = [], 0
    for height, width in sizes:
        own = values[begin : begin + height * width].reshape(height, width)
        images.append(np.stack([own % 256, own // 256, 0 * own], -1).astype(np.uint8))
        begin += height * width
    return images


def numbers_of(image):
    low, high, _ = image.astype(np.int64).transpose(2, 0, 1)
    return low + 256 * high


def random_target(rng, image):
    """Rectangles of whole pixels as boxes, masks and polygons; points at pixels."""
    height, width = image.shape[:2]
    low = rng.integers(0, (width - 2, height - 2), (6, 2))
    high = np.minimum(low + rng.integers(1, 20, (6, 2)), (width, height))
    masks = np.zeros((6, height, width), bool)
    for mask, (left, top), (right, bottom) in zip(masks, low, high, strict=True):
        mask[top:bottom, left:right] = True
    boxes = np.concatenate([low, high], 1).astype(float)
    points = rng.integers(0, (width, height), (7, 2)).astype(float)
    return {
        "boxes": boxes,
        "masks": masks,
        "mask": numbers_of(image),
        "polygons": [box[[0, 1, 2, 1, 2, 3, 0, 3]].reshape(4, 2) for box in boxes],
        "keypoints": np.column_stack([points, np.full(7, 2.0)]),
        "numbers": [numbers_of(image)[mask] for mask in masks],
        "image_id": 3,
    }


def laid(name, seed, images, targets, tiles=4, **options):
    chosen = T.TargetOptions(**options, per_box=["numbers"])
    mosaic = T.Mosaic(CANVAS, RANGES[name], fill=0, tiles=tiles)
    pipeline = T.Compose([mosaic], seed=seed, target_options=chosen)
    result, moved = pipeline(images, targets, epoch=0)
    return [numbers_of(image.permute(1, 2, 0).numpy()) for image in result], moved


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("tiles", [4, 9])
def test_targets_lie_where_the_pixels_do(name, seed, tiles):
    rng, images = np.random.default_rng(seed), numbered(2 if tiles == 9 else 1)
    targets = [random_target(rng, image) for image in images]
    results, moved = laid(name, seed, images, targets, tiles)
    for n, (result, target) in enumerate(zip(results, moved, strict=True)):
        assert "image_id" not in target
        assert (target["mask"] == result).all()
        own = [targets[(n - turn) % len(images)] for turn in range(tiles)]
        everything = [pixels for part in own for pixels in part["numbers"]]
        kept = [pixels for pixels in everything if np.isin(pixels, result).any()]
        seen = [np.isin(result, pixels) for pixels in kept]
        assert moved.report.dropped[n] == len(everything) - len(seen)
        assert (target["masks"] == seen).all()
        assert all(np.array_equal(*pair) for pair in zip(target["numbers"], kept, strict=True))
        for mask, box, polygon in zip(seen, target["boxes"], target["polygons"], strict=True):
            y, x = np.nonzero(mask)
            assert box.tolist() == [x.min(), y.min(), x.max() + 1, y.max() + 1]
            assert [*polygon.min(0), *polygon.max(0)] == box.tolist()
        assert_points_lie_on_their_pixels(result, target["keypoints"], own)
    assert moved.report.boxes == tiles * sum(len(target["boxes"]) for target in targets)


def assert_points_lie_on_their_pixels(result, points, own):
    given = np.concatenate([part["keypoints"] for part in own])
    numbers = np.concatenate([part["mask"][tuple(part["keypoints"][:, 1::-1].astype(int).T)] for part in own])
    assert len(points) == len(given)
    for (x, y, visibility), number in zip(points, numbers, strict=True):
        found = np.argwhere(result == number)
        assert visibility == (2 if len(found) else 0)
        assert not len(found) or found.tolist() == [[y, x]]


@pytest.mark.parametrize("box_format", ["xywh", "cxcywh", "cxcywha", "xyxyxyxy"])
def test_boxes_of_every_format_follow(box_format):
    images = numbered()
    boxes = np.array([[3.0, 4, 9, 8], [1, 2, 4, 9]])
    converted = box_convert(boxes, "xyxy", box_format)
    _, expected = laid("inside", 1, images, [{"boxes": boxes}] * len(images), min_visibility=1.0)
    options = {"box_format": box_format, "min_visibility": 1.0}
    _, moved = laid("inside", 1, images, [{"boxes": converted}] * len(images), **options)
    assert sum(len(target["boxes"]) for target in expected) == 22  # of 40
    for one, other in zip(moved, expected, strict=True):
        assert np.allclose(one["boxes"], box_convert(other["boxes"], "xyxy", box_format), rtol=0, atol=1e-12)


def test_a_mosaic_is_filled_where_no_mask_lies():
    images = [np.zeros((9, 9, 3), np.uint8)] * 4
    targets = [{"mask": torch.ones(9, 9, dtype=torch.int64)}, {}, {"mask": torch.full((9, 9), 2)}, {}]
    _, (first, second, *_) = laid("inside", 1, images, targets, mask_fill=7)
    for target, values in ((first, {1, 2, 7}), (second, {1, 2, 7})):
        assert set(target["mask"].unique().tolist()) == values
        assert (target["mask"] != 7).sum() == 2 * 81


def test_small_remains_are_dropped_with_what_belongs_to_them():
    images = numbered()
    targets = [random_target(np.random.default_rng(5), image) for image in images]
    _, every = laid("anywhere", 2, images, targets)
    _, large = laid("anywhere", 2, images, targets, min_size=4.0)
    for all_of_it, kept in zip(every, large, strict=True):
        sides = all_of_it["boxes"][:, 2:] - all_of_it["boxes"][:, :2]
        rows = (sides >= 4).all(1)
        for key in ("boxes", "masks"):
            assert_same_bytes(kept[key], all_of_it[key][rows])
        assert len(kept["polygons"]) == len(kept["numbers"]) == rows.sum()
    assert sum(large.report.dropped) > sum(every.report.dropped)


# A crop leaves 0.6 of the first box. Of what it leaves of both, the quarters of a mosaic show 0.75 and 0.25;
# a crop after it leaves 0.8 of 0.75.
CUT, WHOLE = [25.0, 5, 50, 25], [25.0, 5, 35, 25]
LOWER = T.Crop(0, 0, 36, 40)
LEFT = [(0.1, [], [0, 0, 1, 1]), (0.4, [], [0, 1]), (0.5, [], [1]), (0.4, [LOWER], [1]), (0.7, [LOWER], [])]


@pytest.mark.parametrize("box_format", ["xyxy", "cxcywha", "xyxyxyxy"])
def test_a_mosaic_remembers_what_other_passes_leave_of_boxes(box_format):
    target = {"boxes": box_convert(np.array([CUT, WHOLE]), "xyxy", box_format), "labels": [0, 1]}
    images = [np.zeros((40, 60, 3), np.uint8)] * 4
    for least, after, labels in LEFT:
        steps = [T.Crop(0, 0, 40, 40), T.Mosaic((40, 40), (0.5, 0.5)), *after]
        options = T.TargetOptions(box_format, min_visibility=least)
        _, moved = T.Compose(steps, seed=1, target_options=options)(images, [target] * 4, epoch=0)
        assert [sorted(each["labels"]) for each in moved] == [labels] * 4


@pytest.mark.parametrize("p", [0.0, 1.0])
@pytest.mark.parametrize("mix", [T.MixUp, T.CutMix, T.CopyPaste, partial(T.Mosaic, (40, 40), (0.5, 0.5))])
def test_the_boxes_that_a_crop_before_a_mix_dropped_are_reported(mix, p):
    boxes = np.array([[5.0, 5, 35, 35], [45, 5, 55, 15]])  # the crop drops the second
    masks = np.zeros((2, 40, 60), bool)
    masks[0, 5:35, 5:35] = masks[1, 5:15, 45:55] = True
    images, targets = [np.zeros((40, 60, 3), np.uint8)] * 4, [{"boxes": boxes, "masks": masks}] * 4
    pipeline = T.Compose([T.Crop(0, 0, 40, 40), mix(p=p)], seed=1)
    _, moved = pipeline(images, targets if mix is T.CopyPaste else [{"boxes": boxes}] * 4, epoch=0)
    covered = mix is T.CopyPaste and p == 1.0  # by the object of another image, at the same pixels
    assert moved.report.dropped == (1 + covered,) * 4


def test_whole_numbers_are_rounded_once():
    """Between the mosaic and the passes around it boxes keep their fractions."""
    images = [photograph(30, 40, seed=n) for n in range(4)]
    boxes = np.array([[3.0, 5.0, 20.0, 22.0], [9.0, 1.0, 33.0, 28.0]])
    affine = T.RandomAffine(0.0, (0.1, 0.1), (1.1, 1.9))
    pipeline = T.Compose([affine, T.Mosaic(CANVAS, fill=0), affine], seed=2)
    as_floats, as_integers = (
        pipeline(images, [{"boxes": boxes.astype(dtype)}] * 4, epoch=0)[1] for dtype in (np.float64, np.int64)
    )
    assert any((each["boxes"] % 1 != 0).any() for each in as_floats)
    for one, other in zip(as_floats, as_integers, strict=True):
        assert_same_bytes(np.rint(one["boxes"]).astype(np.int64), other["boxes"])


def test_a_mosaic_of_images_without_boxes_has_none():
    plan = T.Compose([T.Mosaic((40, 50), p=1.0), T.Pad(3)]).plan([(40, 50)] * 4, epoch=0)
    moved = T.transform_targets(plan, [{"keypoints": np.ones((1, 2, 2))}] * 4)
    assert (moved.report.boxes, moved.report.dropped) == (0, (0,) * 4)


@pytest.mark.parametrize("mix", [T.MixUp(), T.CutMix(), T.Mosaic((40, 50), p=1.0)])
def test_a_mix_of_no_images_has_no_targets(mix):
    moved = T.transform_targets(T.Compose([mix]).plan(np.zeros((0, 2), np.int64), epoch=0), [])
    assert (list(moved), moved.report.boxes, moved.report.dropped) == ([], 0, ())
