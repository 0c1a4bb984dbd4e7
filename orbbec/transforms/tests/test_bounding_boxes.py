"""torchvision's box transforms, with the names used in its presets."""

from enum import Enum

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms import functional
from tests.support import assert_same_bytes, photographs

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
        (
            lambda: T.RandomResize(9, 9),
            "RandomResize: expected max_size as a whole number from 10 to 1073741824",
        ),
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


ALONE = {
    "sanitize": [T.SanitizeBoundingBoxes(4)],
    "clamp": [T.ClampBoundingBoxes(), T.SanitizeBoundingBoxes(4)],
    "colors": [T.ColorJitter(0.3), T.SanitizeBoundingBoxes(4), T.RandomGrayscale()],
    "blur": [T.GaussianBlur(3), T.SanitizeBoundingBoxes(4)],
    "normalized": [T.SanitizeBoundingBoxes(4), T.ToDtype(torch.float32, scale=True), T.Normalize()],
    "elastic": [T.RandomApply([T.ElasticTransform()], 0.0), T.SanitizeBoundingBoxes(4)],
}
SIZES = [(40, 50), (30, 20), (60, 64)]


def objects(size):
    """Boxes inside, across and outside the border, and one of 2 pixels, with all that may belong to a box."""
    height, width = size
    boxes = [[2, 2, 12, 14], [-5, 3, 9, height + 4]]
    boxes += [[width - 2, 5, width + 30, 20], [width + 1, 1, width + 9, 9]]
    masks = torch.zeros(4, height, width, dtype=torch.bool)
    for mask, (left, top, right, bottom) in zip(masks, boxes, strict=True):
        mask[top:bottom, max(left, 0) : right] = True
    return {
        "boxes": torch.tensor(boxes, dtype=torch.float32),
        "labels": torch.arange(4),
        "masks": masks,
        "mask": masks.any(0).to(torch.uint8),
        "keypoints": torch.tensor([[[3.0, 4.0, 2.0], [width + 1.0, 4.0, 2.0]]]).repeat(4, 1, 1),
        "polygons": [numbers_of_box(box) for box in boxes],
    }


def numbers_of_box(box):
    return torch.tensor(box, dtype=torch.float32)[[0, 1, 2, 1, 2, 3, 0, 3]].reshape(4, 2)


@pytest.mark.parametrize("name", ALONE)
def test_boxes_are_clipped_and_dropped_where_no_transform_moves_pixels(name):
    images = [torch.zeros(3, *size, dtype=torch.uint8) for size in SIZES]
    given = [objects(size) for size in SIZES]
    _, moved = T.Compose(ALONE[name])(images, given)
    assert moved.report.dropped == (2, 2, 2)
    for (height, width), target, before in zip(SIZES, moved, given, strict=True):
        assert target["boxes"].tolist() == [[2, 2, 12, 14], [0, 3, 9, height]]
        assert target["labels"].tolist() == [0, 1]
        assert torch.equal(target["masks"], before["masks"][:2])
        assert torch.equal(target["mask"], before["mask"])
        assert target["keypoints"].tolist() == [[[3, 4, 2], [width + 1, 4, 0]]] * 2
        for polygon, box in zip(target["polygons"], target["boxes"], strict=True):
            assert [*polygon.amin(0), *polygon.amax(0)] == box.tolist()


def test_boxes_of_each_format_are_clipped_by_their_image():
    for box_format, box, clipped in (
        ("xywh", [-5.0, 3, 14, 60], [0.0, 3, 9, 37]),
        ("cxcywhn", [0.0, 0.5, 0.5, 2.0], [0.125, 0.5, 0.25, 1.0]),
    ):
        pipeline = T.Compose([T.ClampBoundingBoxes()], target_options=T.TargetOptions(box_format))
        assert pipeline(IMAGE, {"boxes": torch.tensor([box])})[1]["boxes"].tolist() == [clipped]


def test_a_transform_alone_and_one_in_a_container_have_their_sizes():
    sanitize = T.SanitizeBoundingBoxes(4)
    kept_all = T.TargetOptions(drop_boxes=False)
    for pipeline in (
        sanitize,
        T.RandomApply([sanitize], 0.0),
        T.Compose([T.RandomOrder([sanitize, T.RandomGrayscale()])]),
        T.Compose([sanitize], target_options=kept_all),
    ):
        assert pipeline(IMAGE, TARGET)[1]["labels"].tolist() == [1, 3]


def test_boxes_without_a_dict_are_clipped_in_tuples_of_an_image_and_its_target():
    image, target, name = T.Compose([T.ClampBoundingBoxes()])((IMAGE, TARGET, "a.jpg"))
    assert torch.equal(image, IMAGE)
    assert name == "a.jpg"
    assert target["boxes"][2].tolist() == [45, 35, 50, 40]


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.float32])
def test_boxes_of_any_dtype_are_clamped_in_exact_numbers(dtype):
    boxes = torch.tensor([[5, 5, 3, 3], [1, 2, 2, 2]], dtype=dtype)
    clamped = functional.clamp_bounding_boxes(boxes, "cxcywh", (6, 6))
    assert_same_bytes(clamped, torch.tensor([[4.75, 4.75, 2.5, 2.5], [1, 2, 2, 2]]).to(dtype))


def test_boxes_of_floats_are_clamped_in_their_own_arithmetic_and_whole_numbers_in_doubles():
    boxes = torch.rand(50, 4, generator=torch.Generator().manual_seed(1)) * 30
    x0, y0, w, h = boxes.unbind(1)
    left, right, top, bottom = x0.clamp(0, 20), (x0 + w).clamp(0, 20), y0.clamp(0, 25), (y0 + h).clamp(0, 25)
    expected = torch.stack([left, top, right - left, bottom - top], 1)
    assert_same_bytes(functional.clamp_bounding_boxes(boxes, "xywh", (25, 20)), expected)
    far = torch.tensor([[2**25 + 1, 5, 2, 2]])  # no float32
    assert_same_bytes(functional.clamp_bounding_boxes(far, "cxcywh", (10, 2**26)), far)
