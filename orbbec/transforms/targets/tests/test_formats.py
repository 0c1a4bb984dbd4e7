"""Boxes of every format are moved, dropped and counted alike."""

import re
from functools import cache

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.nms.boxes import box_convert
from orbbec.plan.points import rotated_boxes
from orbbec.transforms import transform_targets
from orbbec.transforms.targets.options import ROTATED

HEIGHT, WIDTH = 60, 80
SIDES = np.array([WIDTH, HEIGHT] * 2)
PIPELINES = {
    "nothing": [T.RandomInvert(1.0)],
    "crop": [T.CenterCrop((40, 50))],
    "crops": [T.CenterCrop((50, 60)), T.Pad((7, 3)), T.CenterCrop((30, 44))],
    "shift": [T.RandomAffine(0, (0.4, 0.4))],
    "flip": [T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.CenterCrop((33, 41))],
    "uneven": [T.Resize((30, 100), antialias=False), T.CenterCrop((20, 60))],
    "passes": [T.GaussianBlur(3), T.RandomCrop((40, 50)), T.GaussianBlur(3), T.RandomCrop((30, 30))],
    "mosaic": [T.Mosaic((50, 60), p=1.0)],
    "cutmix": [T.CutMix(3.0)],
    "small cutmix": [T.CutMix(0.3)],
}
FORMATS = ("xyxy", "xywh", "cxcywh", "cxcywha", "xywha", "xyxyxyxy", "xyxyn", "cxcywhn")


def corners_of_boxes(count=12):
    rng = np.random.default_rng(5)
    low = rng.uniform(-20, 70, (count, 2))
    return np.concatenate([low, low + rng.uniform(1, 40, (count, 2))], 1)


def rotated_in_format(polygons, name):
    boxes = rotated_boxes(polygons.reshape(-1, 4, 2))
    return polygons if name == "xyxyxyxy" else box_convert(boxes, "cxcywha", name)


def in_format(corners, name):
    if name in ROTATED:
        left, top, right, bottom = corners.T
        return rotated_in_format(np.stack([left, top, right, top, right, bottom, left, bottom], 1), name)
    relative = name.endswith("n")
    return np.asarray(box_convert(corners / SIDES if relative else corners, "xyxy", name.removesuffix("n")))


@cache
def plan_of(pipeline):
    return T.Compose(PIPELINES[pipeline], seed=0).plan([(HEIGHT, WIDTH)] * 4, epoch=2)


def outputs(name, pipeline, as_tensor, **options):
    """The targets after a pipeline, of a batch with boxes in all images but one."""
    corners = corners_of_boxes()
    target = {"boxes": in_format(corners, name), "labels": np.arange(len(corners)), "area": corners[:, 0]}
    empty = {key: values[:0] for key, values in target.items()}
    targets = [target, empty, {key: values[::-1].copy() for key, values in target.items()}, target]
    if as_tensor:
        targets = [{key: torch.from_numpy(values) for key, values in each.items()} for each in targets]
    return transform_targets(plan_of(pipeline), targets, T.TargetOptions(name, 0.0, **options))


@pytest.mark.parametrize("options", [{}, {"min_visibility": 0.45}, {"min_area": 90.0}], ids=str)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_same_boxes_are_left_in_every_format(pipeline, options):
    expected = outputs("xyxy", pipeline, False, **options)
    for name in FORMATS:
        results = outputs(name, pipeline, True, **options)
        assert str(results.report) == str(expected.report)
        assert results.report.dropped == expected.report.dropped
        for result, known in zip(results, expected, strict=True):
            assert result["labels"].tolist() == known["labels"].tolist()
            assert np.allclose(result["area"], known["area"])
            assert result["boxes"].dtype == torch.float64
            if name in ("xywh", "cxcywh"):
                assert np.allclose(box_convert(result["boxes"], name, "xyxy"), known["boxes"])


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", ["cxcywha", "xywha", "xyxyxyxy"])
def test_a_rotated_box_is_as_visible_as_its_polygon(name, pipeline):
    """Rotated by 90 degrees, a box has the visibility and the area of the upright box of these corners."""
    corners = corners_of_boxes()
    left, top, right, bottom = corners.T
    boxes = rotated_in_format(np.stack([right, top, right, bottom, left, bottom, left, top], 1), name)
    labels = np.arange(len(corners))
    rotated, upright = (
        transform_targets(
            plan_of(pipeline),
            [{"boxes": values, "labels": labels, "area": np.ones(len(labels))}] * 4,
            T.TargetOptions(each, 0.0, 0.3),
        )
        for each, values in ((name, boxes), ("xyxy", corners))
    )
    for result, known in zip(rotated, upright, strict=True):
        assert result["labels"].tolist() == known["labels"].tolist()
        assert np.allclose(result["area"], known["area"])


def left_of(name, corners, least):
    """The indices of the boxes that are left of an image that stays in place."""
    target = {"boxes": in_format(np.array(corners), name), "labels": np.arange(len(corners))}
    (result, *_) = transform_targets(plan_of("nothing"), [target, {}, {}, {}], T.TargetOptions(name, least))
    assert len(result["boxes"]) == len(result["labels"])
    return result["labels"].tolist()


@pytest.mark.parametrize("name", FORMATS)
def test_a_box_at_the_edge_is_left_if_any_of_it_is_inside(name):
    corners = [[low, 10.0, low + 2.0, 20.0] for low in (0.0, 77.0, 80.0, -2.0, 79.5, -1.5)]
    assert left_of(name, corners, 0.0) == [0, 1, 4, 5]


@pytest.mark.parametrize("name", ["xyxy", "xywh", "cxcywh", "cxcywha", "xywha", "xyxyxyxy"])
def test_the_least_size_is_enough(name):
    corners = [[20.0, 10.0, 24.0, 20.0], [20.0, 10.0, 30.0, 14.0], [20.0, 10.0, 30.0, 20.0]]
    assert left_of(name, corners, 4.0) == [0, 1, 2]
    assert left_of(name, corners, np.nextafter(4.0, 5.0)) == [2]


@pytest.mark.parametrize("name", ["xyxy", "xywh", "cxcywh", "cxcywha", "xywha", "xyxyxyxy"])
def test_a_size_is_that_after_a_crop_was_enlarged(name):
    corners = np.array([[2.0, 3.0, 5.0, 6.0], [2.0, 3.0, 3.0, 4.0]])
    target = {"boxes": in_format(corners, name), "labels": np.arange(2)}
    steps = [T.Crop(0, 0, 10, 10), T.Resize((40, 40), antialias=False)]
    zoom = T.Compose(steps, target_options=T.TargetOptions(name, min_size=8.0))
    _, result = zoom(np.zeros((20, 30, 3), np.uint8), target, epoch=0)
    assert result["labels"].tolist() == [0]


@pytest.mark.parametrize(("name", "value"), [("min_visibility", 0.5), ("min_size", 4.0), ("min_area", 24.0)])
@pytest.mark.parametrize("box_format", ["xyxy", "xywh", "cxcywh"])
def test_a_box_that_just_suffices_is_kept(box_format, name, value):
    """Of 6 x 8 pixels, a crop leaves 6 x 4."""
    box = {"xyxy": [2, 1, 8, 9], "xywh": [2, 1, 6, 8], "cxcywh": [5, 5, 6, 8]}[box_format]
    for least, count in ((value, 1), (value * (1 + 1e-6), 0)):
        options = T.TargetOptions(box_format, **{name: least})
        crop = T.Compose([T.Crop(5, 0, 15, 30)], target_options=options)
        _, target = crop(np.zeros((20, 30, 3), np.uint8), {"boxes": np.array([box], np.float64)}, epoch=0)
        assert len(target["boxes"]) == count


FORMATTED = {
    "xyxy": [2.0, 3.0, 12.0, 9.0],
    "xywh": [2.0, 3.0, 10.0, 6.0],
    "cxcywh": [7.0, 6.0, 10.0, 6.0],
    "xyxyn": [0.1, 0.3, 0.6, 0.9],
    "cxcywhn": [0.35, 0.6, 0.5, 0.6],
}


@pytest.mark.parametrize(("name", "row"), FORMATTED.items())
def test_the_operators_convert_boxes_in_place(name, row):
    boxes, sizes = torch.tensor([row] * 2, dtype=torch.float64), torch.tensor([[7, 7], [10, 20]])
    torch.ops.orbbec.read_boxes(boxes, [0, 2], [0, 5], name, sizes)
    np.testing.assert_allclose(boxes, [FORMATTED["xyxy"]] * 2, rtol=1e-15)
    torch.ops.orbbec.write_boxes(boxes, [0, 2], name, sizes)
    np.testing.assert_allclose(boxes, [row] * 2, rtol=1e-15)


@pytest.mark.parametrize("name", ["xywh", "cxcywh"])
def test_the_operators_have_the_bits_of_box_convert(name):
    corners = torch.from_numpy(corners_of_boxes(500))
    boxes, sizes = corners.clone(), torch.ones(1, 2).long()
    torch.ops.orbbec.write_boxes(boxes, [500], name, sizes)
    assert torch.equal(boxes, box_convert(corners, "xyxy", name))
    expected = box_convert(boxes, name, "xyxy")
    torch.ops.orbbec.read_boxes(boxes, [500], [0], name, sizes)
    assert torch.equal(boxes, expected)


@pytest.mark.parametrize(
    ("name", "row", "fault"),
    [
        ("xyxy", [0.0, 0, -1e-5, 1e16], "is [0.0, 0.0, -1e-05, 1e+16]"),
        ("xywh", [100000.0, 1 / 3, 2, -1e-4], "is [100000.0, 0.3333333333333333, 2.0, -0.0001]"),
        ("cxcywha", [1.0, 2, 3, -4.5, 30], "is [1.0, 2.0, 3.0, -4.5, 30.0]"),
        ("xyxyxyxy", [0.0] * 7 + [np.inf], "is not finite"),
        ("cxcywhn", [np.nan] * 4, "is not finite"),
    ],
)
def test_the_first_faulty_box_is_named(name, row, fault):
    boxes, sizes = (
        torch.tensor([[1.0] * len(row)] * 3 + [row] * 2, dtype=torch.float64),
        torch.ones(2, 2).long(),
    )
    with pytest.raises(ValueError, match=r"^transform_targets: .*box 1 of image 7 " + re.escape(fault) + "$"):
        torch.ops.orbbec.read_boxes(boxes, [2, 3], [4, 7], name, sizes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": torch.zeros(2, 5).double()}, "expected boxes of shape [2, 4]"),
        ({"boxes": torch.zeros(2, 4)}, "expected boxes as contiguous float64"),
        ({"counts": [1]}, "expected counts of 2 boxes"),
        ({"sizes": torch.ones(2, 2).long()}, "expected sizes of shape [1, 2]"),
        ({"indices": [0, 1]}, "expected indices of 1 images, but got 2"),
        ({"box_format": "yxyx"}, "expected box_format to be one of"),
    ],
)
def test_wrong_arguments_of_the_operators_are_refused(change, message):
    arguments = {"boxes": torch.zeros(2, 4).double(), "counts": [2], "indices": [0]}
    arguments |= {"box_format": "xywh", "sizes": torch.ones(1, 2).long(), **change}
    with pytest.raises(ValueError, match="^read_boxes: " + re.escape(message)):
        torch.ops.orbbec.read_boxes(**arguments)
