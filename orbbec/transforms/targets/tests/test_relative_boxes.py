"""Relative boxes, the minimum area of boxes, and dropped keypoints."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.nms.boxes import box_convert
from tests.support import photograph

WIDE = np.zeros((100, 200, 3), np.uint8)


def moved(transforms, target, image=WIDE, **options):
    pipeline = T.Compose(transforms, target_options=T.TargetOptions(**options))
    return pipeline(image, target, epoch=0)[1]


@pytest.mark.parametrize("kind", [np.array, torch.DoubleTensor])
def test_boxes_of_yolo_worked_by_hand(kind):
    # 20x20 pixels around (60, 50) of 200x100; flipped around (140, 50); the crop of 100x50 begins at (50,
    # 25).
    boxes = kind([[0.3, 0.5, 0.1, 0.2]])
    result = moved(
        [T.RandomHorizontalFlip(1.0), T.CenterCrop((50, 100))], {"boxes": boxes}, box_format="cxcywhn"
    )
    assert type(result["boxes"]) is type(boxes)
    assert np.allclose(result["boxes"], [[0.9, 0.5, 0.2, 0.4]], rtol=0, atol=1e-12)


def test_boxes_of_albumentations_worked_by_hand():
    # 50..150 x 10..90 of 200x100; the crop keeps x from 50 and y from 25 to 75.
    boxes = np.array([[0.25, 0.1, 0.75, 0.9], [0.0, 0.0, 0.2, 0.2]])
    target = {"boxes": boxes, "labels": [3, 4]}
    result = moved([T.CenterCrop((50, 100))], target, box_format="xyxyn")
    assert result["boxes"].tolist() == [[0.0, 0.0, 1.0, 1.0]]
    assert result["labels"] == [3]


def test_a_resize_leaves_relative_boxes_as_they_are():
    boxes = np.array([[0.25, 0.5, 0.5, 0.75]])
    for box_format in ("xyxyn", "cxcywhn"):
        result = moved([T.Resize((30, 70))], {"boxes": boxes}, box_format=box_format)
        assert np.allclose(result["boxes"], boxes, rtol=0, atol=1e-12)


@pytest.mark.parametrize("box_format", ["xyxyn", "cxcywhn"])
@pytest.mark.parametrize(
    "steps",
    [
        [],
        [T.RandomAffine(30, (0.2, 0.2), (0.7, 1.3), 10)],
        [T.RandomIoUCrop(), T.Resize((64, 48)), T.ElasticTransform()],
        [T.Mosaic((60, 90)), T.RandomResizedCrop((32, 40))],
    ],
)
def test_relative_boxes_are_those_in_pixels_by_the_size_of_the_output(box_format, steps):
    images = [photograph(40, 60), photograph(50, 30), photograph(40, 60), photograph(24, 32)]
    batch = ImageBatch.from_images(images)
    boxes = np.array([[3.0, 4.0, 20.0, 21.0], [10.0, 8.0, 28.0, 22.0]])

    def run(form, given):
        pipeline = T.Compose([*steps, T.Resize((64, 48))], 3, target_options=T.TargetOptions(form))
        return pipeline(batch, [{"boxes": each} for each in given], epoch=2)[1]

    sides = [np.array([image.shape[1], image.shape[0]] * 2) for image in images]
    relative = [box_convert(boxes / side, "xyxy", box_format[:-1]) for side in sides]
    expected = run("xyxy", [boxes] * 4)
    actual = run(box_format, relative)
    assert actual.report == expected.report
    for one, other in zip(actual, expected, strict=True):
        corners = box_convert(one["boxes"], box_format[:-1], "xyxy") * [48, 64, 48, 64]
        assert np.allclose(corners, other["boxes"], rtol=0, atol=1e-9)


def test_relative_boxes_are_floats():
    with pytest.raises(TypeError, match="expected boxes cxcywhn as floats, but image 0 has whole numbers"):
        moved([T.CenterCrop(9)], {"boxes": np.array([[1, 1, 1, 1]])}, box_format="cxcywhn")
    assert moved([T.CenterCrop(9)], {"boxes": np.zeros((0, 4), int)}, box_format="cxcywhn")[
        "boxes"
    ].shape == (0, 4)


def test_boxes_below_the_smallest_area_are_dropped():
    # The crop leaves 10x20 = 200 and 20x20 = 400 square pixels of them.
    boxes = np.array([[40.0, 30.0, 60.0, 50.0], [60.0, 30.0, 80.0, 50.0]])
    for area, left in ((200, 2), (201, 1), (400, 1), (401, 0)):
        result = moved([T.CenterCrop((50, 100))], {"boxes": boxes, "labels": [1, 2]}, min_area=area)
        assert result["labels"] == [1, 2][2 - left :]


def test_keypoints_that_leave_the_image_are_dropped_on_request():
    # The crop keeps x from 50 to 149 and y from 25 to 74.
    points = np.array([[50.0, 25.0], [49.0, 30.0], [149.0, 74.0], [100.0, 75.0]])
    kept = moved([T.CenterCrop((50, 100))], {"keypoints": points})["keypoints"]
    assert kept.tolist() == [[0, 0], [-1, 5], [99, 49], [50, 50]]
    seen = np.concatenate([points, np.full((4, 1), 2.0)], 1)
    for given in (points, seen):
        result = moved([T.CenterCrop((50, 100))], {"keypoints": given}, drop_keypoints=True)["keypoints"]
        assert result[:, :2].tolist() == [[0, 0], [99, 49]]
    of_boxes = {"boxes": np.array([[0.0, 0, 200, 100]]), "keypoints": points[None]}
    result = moved([T.CenterCrop((50, 100))], of_boxes, drop_keypoints=True)["keypoints"]
    assert result.shape == (1, 4, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"box_format": "yolo"}, "expected box_format as one of .*xyxyn, cxcywhn"),
        ({"min_area": -1.0}, "expected min_area as a number of at least 0"),
        ({"drop_keypoints": 1}, "expected drop_keypoints as True or False"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises((TypeError, ValueError), match=f"TargetOptions: {message}"):
        T.TargetOptions(**options)


def test_options_survive_as_text():
    options = T.TargetOptions("cxcywhn", min_area=4.0, drop_keypoints=True)
    pipeline = T.Compose([T.CenterCrop(9)], target_options=options)
    assert T.Compose.from_json(pipeline.to_json()).target_options == options
