"""What holds for the targets of every transform."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.tests.examples import EXAMPLES, always

COUNT, SIZE = 3, (40, 52)
IMAGES = torch.zeros(COUNT, 3, *SIZE, dtype=torch.uint8)
BOXES = np.array([[3.0, 4.0, 30.0, 33.0], [-6.0, -9.0, 70.0, 8.0], [44.0, 20.0, 61.0, 50.0]])
POINTS = np.array([[4.0, 5], [17, 4], [11, 12], [6, 19], [15, 21]])
TRANSFORMS = [
    pytest.param(one, id=f"{name}-{number}")
    for name, examples in EXAMPLES.items()
    for number, one in enumerate(examples)
    if name != "Normalize"  # floats alone
]


def target_of(columns=3):
    masks = np.zeros((3, *SIZE), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, BOXES.clip(0).astype(int).tolist(), strict=True):
        mask[top:bottom, left:right] = 1
    points = np.concatenate([POINTS, np.full((5, 1), 2.0)], 1)[:, :columns]
    return {
        "boxes": BOXES,
        "labels": np.arange(3),
        "masks": masks,
        "keypoints": np.stack([points, points + 9, points - 20]),
        "landmarks": points,
        "points": points,
        "mask": masks[0],
    }


def outputs(transform, target, **options):
    pipeline = T.Compose([always(transform)], seed=3, target_options=T.TargetOptions(**options))
    if isinstance(transform, T.MixUp):
        del target["mask"]  # classes are not blended
    return pipeline(IMAGES, [target] * COUNT, epoch=1)[1]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_points_with_and_without_visibility_go_to_the_same_positions(transform):
    results = [outputs(transform, target_of(columns), drop_boxes=False) for columns in (2, 3)]
    for without, target in zip(*results, strict=True):
        assert list(without) == list(target)
        for key in ("keypoints", "landmarks"):
            assert np.array_equal(without[key], target[key][..., :2], equal_nan=True)


@pytest.mark.parametrize("drops", [True, False])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_boxes_end_within_the_image(transform, drops):
    for target in outputs(transform, target_of(), drop_boxes=drops, min_size=0.0):
        boxes, (height, width) = target["boxes"], target["masks"].shape[1:]
        assert (boxes[:, :2] >= 0).all()
        assert (boxes[:, :2] <= boxes[:, 2:]).all()
        assert (boxes[:, 2:] <= (width, height)).all()
        assert len(boxes) == len(target["labels"]) == len(target["keypoints"])
