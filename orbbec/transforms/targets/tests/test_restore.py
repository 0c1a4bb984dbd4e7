"""Boxes of predictions, from the output of a pipeline back to the images."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms import restore_boxes

SIZES = [(120, 80), (50, 90), (64, 64), (1, 1)]


def boxes_within(size, seed, count=5):
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.uniform(0, 1, (count, 2, 2)), 1) * size[::-1]
    return corners.reshape(count, 4)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize(
    "transforms",
    [
        [T.ToImage()],
        [T.Letterbox((96, 160))],
        [T.Letterbox(32, enlarge=False)],
        [T.Resize((33, 47))],
        [T.ResizeToFit(70), T.PadIfNeeded((80, 80)), T.RandomHorizontalFlip(1.0)],
    ],
)
def test_restored_boxes_are_those_that_the_pipeline_moved(transforms, kind):
    options = T.TargetOptions(drop_boxes=False)
    given = [kind(boxes_within(size, seed)) for seed, size in enumerate(SIZES)]
    plan = T.Compose(transforms).plan(SIZES)
    moved = T.transform_targets(plan, [{"boxes": boxes} for boxes in given], options)
    restored = restore_boxes(plan, [target["boxes"] for target in moved])
    assert [type(boxes) for boxes in restored] == [type(boxes) for boxes in given]
    for actual, expected in zip(restored, given, strict=True):
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=1e-9)


def test_restored_boxes_of_a_letterbox_by_hand():
    plan = T.Compose([T.Letterbox((40, 60))]).plan([(20, 20)])  # twice as large, 10 columns on both sides
    boxes = torch.tensor([[10.0, 0, 50, 40], [0, 4, 30, 44]])
    assert restore_boxes(plan, [boxes])[0].tolist() == [[0, 0, 20, 20], [0, 2, 10, 20]]
    assert restore_boxes(plan, [boxes], clip=False)[0].tolist() == [[0, 0, 20, 20], [-5, 2, 10, 22]]


def test_restored_boxes_keep_dtype_and_may_be_none():
    plan = T.Compose([T.Letterbox(40)]).plan([(20, 20)])
    restored = restore_boxes(plan, [torch.zeros(0, 4, dtype=torch.float16)])[0]
    assert (restored.shape, restored.dtype) == ((0, 4), torch.float16)


@pytest.mark.parametrize(
    ("transforms", "boxes", "message"),
    [
        ([T.Letterbox(8)], [torch.zeros(4)], r"expected boxes of shape \[K, 4\], but image 0 has \[4\]"),
        ([T.Mosaic(8)], [torch.zeros(0, 4)], "a plan with mosaic has no matrix"),
    ],
)
def test_restore_boxes_names_what_it_cannot_do(transforms, boxes, message):
    with pytest.raises(ValueError, match=message):
        restore_boxes(T.Compose(transforms).plan([(8, 8)]), boxes)


@pytest.mark.parametrize("name", ["boxes", "points", "masks"])
def test_another_number_of_images_and_a_transform_without_a_matrix_are_named(name):
    restore = getattr(T, f"restore_{name}")
    with pytest.raises(ValueError, match=f"^restore_{name}: expected {name} of 1 images, but got 0"):
        restore(T.Compose([T.Letterbox(8)]).plan([(8, 8)]), [])
    with pytest.raises(ValueError, match=f"^restore_{name}: expected a plan without elastic_transform"):
        restore(T.Compose([T.ElasticTransform()]).plan([(8, 8)]), [torch.zeros(1, 8, 8)])
