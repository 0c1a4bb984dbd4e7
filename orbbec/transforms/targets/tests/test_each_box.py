"""Each box, and what belongs to it, goes as it does in an image of its own."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.targets.boxes import Boxes
from orbbec.transforms.targets.tests.test_formats import FORMATS, HEIGHT, WIDTH, corners_of_boxes, in_format

IMAGE = torch.zeros(1, 3, HEIGHT, WIDTH, dtype=torch.uint8)
COUNT = 8
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
PIPELINES = {
    "rotation": [T.RandomRotation((20, 40), "linear")],
    "perspective": [T.RandomPerspective(0.6, p=1.0), T.RandomVerticalFlip(1.0)],
    "passes": [T.RandomAffine(30, (0.1, 0.1), shear=(5, 20)), T.GaussianBlur(3), T.CenterCrop((44, 60))],
    "field": [T.ElasticTransform(60.0, 3.0), T.RandomHorizontalFlip(1.0)],
    "shift": [T.CenterCrop((47, 61)), T.Pad((3, 9)), T.Resize((33, 90), antialias=False)],
}


def targets_of(box_format):
    rng = np.random.default_rng(7)
    corners = corners_of_boxes(COUNT)
    masks = np.zeros((COUNT, HEIGHT, WIDTH), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, corners.clip(0).astype(int), strict=True):
        mask[top:bottom, left:right] = 1
    return {
        "boxes": in_format(corners, box_format),
        "labels": np.arange(COUNT),
        "area": rng.uniform(1, 900, COUNT),
        "keypoints": rng.uniform(0, HEIGHT, (COUNT, 3, 3)),
        "polygons": [rng.uniform(0, WIDTH, (int(rng.integers(3, 7)), 2)) for _ in range(COUNT)],
        "masks": masks,
    }


@pytest.mark.parametrize("drops", [True, False])
@pytest.mark.parametrize("box_format", FORMATS)
@pytest.mark.parametrize("name", PIPELINES)
def test_a_box_goes_as_it_does_alone(name, box_format, drops):
    options = T.TargetOptions(box_format, drop_boxes=drops, min_visibility=0.2 * drops)
    pipeline = T.Compose(PIPELINES[name], seed=5, target_options=options)
    whole = targets_of(box_format)
    if box_format in ("xyxyn", "cxcywha"):
        del whole["masks"]  # areas follow boxes then

    def moved(target):
        _, (result,) = pipeline(IMAGE, [target], sample_ids=[3], epoch=1)
        return result

    together = moved(whole)
    alone = [moved({key: values[n : n + 1] for key, values in whole.items()}) for n in range(COUNT)]
    assert 1 < len(together["labels"]) <= COUNT
    assert (len(together["labels"]) < COUNT) == drops
    assert list(together) == list(whole)
    for key, values in together.items():
        each = [row for target in alone for row in target[key]]
        assert len(each) == len(values)
        for row, expected in zip(values, each, strict=True):
            assert np.allclose(row, expected, rtol=0, atol=1e-9), key


@pytest.mark.parametrize("limits", [{"min_area": 300.0}, {"min_visibility": 0.6}])
@pytest.mark.parametrize(
    "steps",
    [
        [T.RandomResizedCrop((90, 130), (0.2, 0.6))],
        [T.RandomCrop((29, 40)), T.RandomAffine(0, scale=(1.5, 2.5))],  # that reads beyond the crop
    ],
)
def test_rotated_boxes_without_an_angle_are_dropped_as_boxes_are(steps, limits):
    rng, ids = np.random.default_rng(4), np.arange(8)
    centers, sides = rng.uniform(0, [WIDTH, HEIGHT], (40, 2)), rng.uniform(2, 30, (40, 2))
    rows = {
        "xyxy": np.concatenate([centers - sides / 2, centers + sides / 2], 1),
        "cxcywha": np.concatenate([centers, sides, np.zeros((40, 1))], 1),
    }
    left = []
    for box_format, boxes in rows.items():
        pipeline = T.Compose(steps, 3, target_options=T.TargetOptions(box_format, **limits))
        targets = [{"boxes": boxes, "labels": np.arange(40)}] * len(ids)
        _, results = pipeline(IMAGE.expand(len(ids), -1, -1, -1), targets, sample_ids=ids, epoch=0)
        left.append([target["labels"].tolist() for target in results])
    assert 0 < sum(map(len, left[0])) < 40 * len(ids)
    assert left[0] == left[1]


def test_a_box_without_area_is_as_visible_as_it_was():
    boxes = Boxes.of(np.array([[3.0, 3, 3, 9], [3, 3, 4, 4]]))
    hidden = boxes.hidden(np.array([0, 0, 20, 5]), T.TargetOptions(min_size=0.0))
    assert hidden.table[:, -3:].tolist() == [[1, 1, 1], [0, 0, 0]]
