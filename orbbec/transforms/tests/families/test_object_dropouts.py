"""MaskDropout, ConstrainedCoarseDropout, and the labels of regions: by hand and by OpenCV."""

import re

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T

label_objects = torch.ops.orbbec.label_objects
MASK = torch.zeros(40, 60, dtype=torch.int64)
MASK[3:9, 4:9], MASK[20:30, 10:40], MASK[30:35, 40:55] = 1, 1, 2
TARGET = {
    "boxes": torch.tensor([[4.0, 3, 9, 9], [10, 20, 40, 30], [40, 30, 55, 35], [5, 15, 35, 35]]),
    "labels": torch.tensor([1, 1, 2, 7]),
    "mask": MASK,
    "keypoints": torch.tensor([[6.0, 5, 1], [50, 32, 1], [1, 1, 1]]),
}
IMAGE = torch.full((3, 40, 60), 100, dtype=torch.uint8)


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (40, 57), (128, 99)])
def test_regions_are_those_of_opencv(size):
    cv2 = pytest.importorskip("cv2")
    mask = np.random.default_rng(0).integers(0, 3, size).astype(np.int32)
    labels, count = label_objects(torch.from_numpy(mask)).numpy(), 0
    for value in (1, 2):
        regions, theirs = cv2.connectedComponents((mask == value).astype(np.uint8), connectivity=8)
        for region in range(1, regions):
            label = labels[theirs == region]
            assert len(set(label.tolist())) == 1
            assert (labels == label[0]).sum() == len(label)
        count += regions - 1
    assert set(labels.ravel().tolist()) | {0} == set(range(count + 1))
    assert ((labels == 0) == (mask == 0)).all()


def test_regions_are_numbered_by_their_first_pixels():
    mask = torch.tensor([[0, 5, 0, 5], [5, 0, 0, 5], [0, 0, 7, 0]], dtype=torch.int32)
    assert label_objects(mask).tolist() == [[0, 1, 0, 2], [1, 0, 0, 2], [0, 0, 3, 0]]
    assert label_objects(mask[:0]).shape == (0, 4)
    assert label_objects(torch.full((2, 2), -1, dtype=torch.int32)).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    "mask", [torch.zeros(2, 3), torch.zeros(2, 3, 4, dtype=torch.int32), torch.zeros(6, dtype=torch.int32)]
)
def test_what_is_no_mask_is_refused(mask):
    with pytest.raises(ValueError, match="label_objects: expected mask as contiguous int32"):
        label_objects(mask)


def test_labels_pass_opcheck():
    torch.library.opcheck(label_objects.default, (MASK.int(),))


def test_all_objects_are_dropped_from_image_and_targets():
    image, target = T.MaskDropout(3, (7.0, 8.0, 9.0), 1.0)(IMAGE, TARGET)
    inside = MASK > 0
    assert all((image[c][inside] == 7 + c).all() and (image[c][~inside] == 100).all() for c in range(3))
    assert target["mask"].sum() == 0
    assert target["boxes"].tolist() == [[5, 15, 35, 35]]  # of others nothing is left
    assert target["labels"].tolist() == [7]
    assert target["keypoints"][:, 2].tolist() == [0, 0, 1]


@pytest.mark.parametrize(("visibility", "kept"), [(0.58, 1), (0.59, 0)])
def test_what_is_left_of_a_box_counts_as_visible(visibility, kept):
    options = T.TargetOptions(min_visibility=visibility)
    _, target = T.Compose([T.MaskDropout(3, p=1.0)], target_options=options)(IMAGE, TARGET)
    assert len(target["boxes"]) == kept  # 250 of 600 pixels are dropped


def test_objects_are_dropped_where_earlier_steps_left_them():
    pipeline = T.Compose([T.RandomHorizontalFlip(1.0), T.MaskDropout(3, 0.0, 1.0)])
    image, target = pipeline(IMAGE, TARGET)
    assert torch.equal(image[0] == 0, MASK.flip(1) > 0)
    assert target["boxes"].tolist() == [[25, 15, 55, 35]]


def test_without_a_mask_objects_are_those_of_masks():
    masks = torch.stack([MASK == 1, (MASK == 1) | (MASK == 2)]).byte()
    target = {"boxes": torch.tensor([[4.0, 3, 40, 30], [4, 3, 55, 35]]), "masks": masks}
    pipeline = T.Compose([T.MaskDropout(1, 0.0, 1.0)], seed=1)
    found = set()
    for sample in range(12):
        image, result = pipeline(IMAGE, target, sample_ids=[sample], epoch=0)
        found.add((int((image[0] == 0).sum()), tuple(map(tuple, result["boxes"].tolist()))))
    # The first lies within the second, whose box then bounds the rest.
    assert found == {(330, ((40, 30, 55, 35),)), (405, ())}


def test_each_object_is_dropped_equally_often():
    batch = ImageBatch.from_images([IMAGE.permute(1, 2, 0)] * 1500)
    images, _ = T.Compose([T.MaskDropout((1, 1), p=0.6)], seed=2)(batch, [{"mask": MASK}] * 1500, epoch=0)
    seen = torch.stack([images[:, 0, y, x] for y, x in ((5, 5), (25, 20), (32, 50))], 1)
    dropped = [tuple(row) for row in (seen == 0).int().tolist()]
    counts = np.array([dropped.count(each) for each in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))])
    expected = np.array([0.4, 0.2, 0.2, 0.2]) * 1500
    assert ((counts - expected) ** 2 / expected).sum() < 21.1  # chi-squared, 3 degrees: once in 10,000


def first_of(results):
    """The first image `[H, W, C]`."""
    return results.images()[0] if isinstance(results, ImageBatch) else results[0].permute(1, 2, 0)


def test_results_do_not_depend_on_the_batch():
    small = torch.zeros(8, 9, dtype=torch.int64)
    small[2:5, 3:6] = 1
    holes = T.ConstrainedCoarseDropout((1, 3), (0.2, 0.9), (0.2, 0.9), p=0.7)
    grid = T.GridDropout(0.5, None, True, "random_uniform", p=0.7)
    pipeline = T.Compose([T.MaskDropout((1, 2), p=0.7), holes, grid], seed=4)
    images = [IMAGE.permute(1, 2, 0), IMAGE[:, :8, :9].permute(1, 2, 0)]
    targets = [TARGET, {"mask": small, "boxes": torch.tensor([[1.0, 1, 7, 7]])}]
    for sample in range(20):
        together, _ = pipeline(ImageBatch.from_images(images), targets, sample_ids=[sample, 5], epoch=0)
        alone, _ = pipeline(ImageBatch.from_images(images[:1]), targets[:1], sample_ids=[sample], epoch=0)
        assert torch.equal(first_of(together), first_of(alone))


@pytest.mark.parametrize("labels", [None, (2,), (1, 7), (9,)])
def test_rectangles_lie_within_boxes_of_some_labels(labels):
    dropout = T.ConstrainedCoarseDropout(4, (0.3, 0.9), (0.3, 0.9), 0.0, bbox_labels=labels, p=1.0)
    image, target = T.Compose([dropout], seed=3)(IMAGE, TARGET, epoch=0)
    allowed = torch.zeros(40, 60, dtype=torch.bool)
    for box, label in zip(TARGET["boxes"].int().tolist(), TARGET["labels"].tolist(), strict=True):
        if labels is None or label in labels:
            allowed[box[1] : box[3], box[0] : box[2]] = True
    filled = image[0] == 0
    assert not (filled & ~allowed).any()
    assert filled.any() == (labels != (9,))
    assert all(torch.equal(target[key], TARGET[key]) for key in TARGET)


def test_rectangles_lie_about_regions_of_some_values():
    dropout = T.ConstrainedCoarseDropout(2, (0.9, 0.9), (0.5, 0.5), 0.0, [2], p=1.0)
    image, _ = T.Compose([dropout], seed=3)(IMAGE, TARGET, epoch=0)
    y, x = np.nonzero((image[0] == 0).numpy())
    # Of 75 pixels: half sides of 3 and 2, from pixels of rows 30 to 34 and columns 40 to 54.
    assert 27 <= y.min() <= y.max() < 38
    assert 38 <= x.min() <= x.max() < 57
    assert 24 <= len(y) <= 48


def test_boxes_without_labels_and_masks_of_other_shapes_are_refused():
    dropout = T.ConstrainedCoarseDropout(bbox_labels=[1], p=1.0)
    with pytest.raises(ValueError, match="expected labels of the boxes, but image 0 has none"):
        dropout(IMAGE, {"boxes": TARGET["boxes"]})
    message = "MaskDropout: expected mask [H, W], but image 0 has [2, 40, 60]"
    with pytest.raises(ValueError, match=re.escape(message)):
        T.MaskDropout(p=1.0)(IMAGE, {"mask": torch.stack([MASK, MASK])})
    with pytest.raises(TypeError, match="expected bbox_labels as numbers or texts"):
        T.ConstrainedCoarseDropout(bbox_labels=[None])


@pytest.mark.parametrize(
    ("unit", "cells"), [((7, 7), 5 * 8), ((8, 8), 5 * 7), (None, 10 * 10), ((25, 25), 1 * 2), ((50, 50), 1)]
)
@pytest.mark.parametrize("fill", [0.0, "random_uniform"])
def test_grids_have_as_many_rectangles_as_an_image_has_units(unit, cells, fill):
    dropout = T.GridDropout(0.5, None, True, fill, 1.0, unit_size_range=unit)
    (step,) = T.Compose([dropout], seed=5).plan([(40, 60)], epoch=0).passes
    holes = step.table["boxes"][0]
    assert len(holes) == cells
    assert (holes[:, 2:] > holes[:, :2]).all()
    result = T.Compose([dropout], seed=5)(IMAGE, epoch=0)
    expected = IMAGE.clone()
    for n, (left, top, right, bottom) in enumerate(holes.tolist()):
        color = step.table["fill"][0, n] if "fill" in step.table else np.zeros(3)
        expected[:, top:bottom, left:right] = torch.from_numpy(color).byte()[:, None, None]
    assert torch.equal(result, expected)


def test_rectangles_of_units_begin_at_their_corners_without_an_offset():
    dropout = T.GridDropout(0.5, None, False, 0.0, 1.0, unit_size_range=(4, 4))
    row = dropout(torch.ones(1, 4, 9))[0, 0]
    assert row.tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 1]  # units of 4 and 5
