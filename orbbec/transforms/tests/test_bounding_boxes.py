"""torchvision's box transforms, with the names used in its presets."""

from enum import Enum

import pytest
import torch

from orbbec import transforms as T
from tests.support import photographs

IMAGE = photographs(1, 3, 40, 50)[0]
TARGET = {
    "boxes": torch.tensor([[2.0, 2.0, 30.0, 30.0], [0.0, 0.0, 3.0, 30.0], [45.0, 35.0, 60.0, 60.0]]),
    "labels": torch.tensor([1, 2, 3]),
}


class Format(Enum):
    """Like torchvision's."""

    XYXY = "XYXY"
    XYWH = "XYWH"


def test_small_boxes_are_dropped_with_their_labels():
    flip = T.RandomHorizontalFlip(0.0)
    pipeline = T.Compose([flip, T.ClampBoundingBoxes(), T.SanitizeBoundingBoxes(min_size=4)])
    image, moved = pipeline(IMAGE, TARGET)
    assert torch.equal(image, IMAGE)
    assert moved["labels"].tolist() == [1, 3]
    assert moved["boxes"].tolist() == [[2.0, 2.0, 30.0, 30.0], [45.0, 35.0, 50.0, 40.0]]
    assert pipeline.target_options == T.TargetOptions(min_size=4, min_area=1)
    assert T.Compose.from_json(pipeline.to_json()) == pipeline
    assert T.Compose([flip])(IMAGE, TARGET)[1]["labels"].tolist() == [1, 2, 3]


def test_boxes_below_an_area_are_dropped():
    pipeline = T.Compose([T.RandomHorizontalFlip(0.0), T.SanitizeBoundingBoxes(min_area=26)])
    assert pipeline(IMAGE, TARGET)[1]["labels"].tolist() == [1, 2]


@pytest.mark.parametrize("format", ["XYXY", "xyxy", Format.XYXY])
def test_boxes_are_xyxy(format):
    pipeline = T.Compose([T.RandomHorizontalFlip(0.0), T.ConvertBoundingBoxFormat(format)])
    assert torch.equal(pipeline(IMAGE, TARGET)[1]["boxes"][:2], TARGET["boxes"][:2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.ConvertBoundingBoxFormat(Format.XYWH), "expected format XYXY, .* but got XYWH"),
        (lambda: T.SanitizeBoundingBoxes(-1), "SanitizeBoundingBoxes: expected min_size"),
        (lambda: T.SanitizeBoundingBoxes(2, -1), "expected min_area"),
        (lambda: T.SanitizeBoundingBoxes(labels_getter="mine"), "expected labels_getter"),
        (lambda: T.RandomResize(9, 9), "RandomResize: expected max_size as a whole number of at least 10"),
    ],
)
def test_what_has_no_counterpart_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_random_resizes_are_of_the_sizes_between():
    pipeline = T.Compose([T.RandomResize(10, 14)])
    sizes = {tuple(size) for size in pipeline.plan([(40, 50)] * 64, epoch=0).output_sizes.tolist()}
    assert sizes == {(shorter, int(shorter * 50 / 40)) for shorter in range(10, 14)}
    assert torch.equal(T.RandomResize(11, 12)(IMAGE), T.Resize(11)(IMAGE))


def test_interpolations_have_torchvisions_names():
    assert T.Resize(9, T.InterpolationMode.BICUBIC).interpolation == "cubic"
    assert T.RandomRotation(9, T.InterpolationMode.NEAREST_EXACT).interpolation == "nearest"
