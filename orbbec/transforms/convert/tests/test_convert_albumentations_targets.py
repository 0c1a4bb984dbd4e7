"""Conversion of Albumentations' containers, boxes and keypoints."""

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.convert.albumentations_steps import OnArrays
from tests.support.peers.albumentations import made, stand_in

FLIP = stand_in("HorizontalFlip", p=0.25)
BLUR = stand_in("MedianBlur", blur_limit=(3, 3), p=0.1)
OURS = [T.RandomHorizontalFlip(0.25), T.MedianBlur(3, 0.1)]


def converted(*steps, **values):
    return T.Compose.from_albumentations(
        stand_in("Compose", **{"transforms": steps, "processors": {}, **values})
    )


def test_one_of_applies_what_it_chose():
    flip = stand_in("VerticalFlip", p=0.3)
    both = stand_in("Sequential", transforms=[flip, BLUR], p=0.5)
    one = stand_in("OneOf", transforms=[flip, both], transforms_ps=[0.375, 0.625], p=0.7)
    pair = [T.RandomVerticalFlip(0.3), T.MedianBlur(3, 0.1)]
    chosen = T.RandomChoice([T.RandomVerticalFlip(1.0), T.RandomApply(pair, 1.0)], (0.375, 0.625))
    expected = (T.RandomApply(pair, 0.5), T.RandomApply([chosen], 0.7))
    assert converted(both, one).transforms == expected
    assert flip.p == 0.3


def test_one_or_other_applies_one_of_them():
    step = stand_in("OneOrOther", transforms=[FLIP, BLUR], p=0.75)
    chosen = T.RandomChoice([T.RandomHorizontalFlip(1.0), T.MedianBlur(3, 1.0)], (0.75, 0.25))
    assert converted(step).transforms == (chosen,)
    of_three = stand_in("OneOrOther", transforms=[FLIP, step, BLUR], p=0.75)  # the first or the last
    assert converted(of_three).transforms == (chosen,)
    one = stand_in("OneOf", transforms=[step], transforms_ps=[1.0], p=1.0)
    assert converted(one).transforms == (T.RandomChoice([chosen], (1.0,)),)


@pytest.mark.parametrize(("kind", "shuffle"), [("SomeOf", False), ("RandomOrder", True)])
def test_some_of_keeps_the_chance_of_each(kind, shuffle):
    step = stand_in(kind, transforms=[FLIP, BLUR], n=2, replace=True, p=0.5)
    assert converted(step).transforms == (T.RandomApply([T.SomeOf(OURS, 2, True, shuffle)], 0.5),)


@pytest.mark.parametrize("kind", ["Compose", "ReplayCompose", "Sequential"])
def test_chances_of_nested_pipelines(kind):
    nested = stand_in(kind, transforms=[FLIP, BLUR], p=0.5)
    assert converted(nested).transforms == (T.RandomApply(OURS, 0.5),)
    assert converted(FLIP, p=0.5).transforms == (T.RandomApply(OURS[:1], 0.5),)


def test_steps_within_steps_are_named():
    within = stand_in("SomeOf", transforms=[FLIP, stand_in("ElasticTransform")], n=1, replace=False)
    with pytest.raises(
        ConversionError, match=r"step 1\.1, ElasticTransform, has .*; the nearest is ElasticTra"
    ):
        converted(FLIP, within)


def noop(image, **_):
    return image


def darker(image, shape):
    return image // 2


def functions(**given):
    names = ("image", "mask", "keypoints", "bboxes")
    return stand_in("Lambda", custom_apply_fns={name: given.get(name, noop) for name in names})


def test_functions_of_images_are_applied():
    assert converted(FLIP, functions()).transforms == tuple(OURS[:1])
    pipeline = converted(functions(image=darker))
    assert pipeline.transforms == (T.Lambda(OnArrays(darker)),)
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    assert (pipeline(image) == image // 2).all()
    with pytest.raises(ConversionError, match="step 0, Lambda: expected mask=None"):
        converted(functions(image=darker, mask=darker))


BOXES = {
    **{"format": "coco", "min_area": 0.0, "min_width": 0.0, "min_height": 0.0, "min_visibility": 0.0},
    **{"check_each_transform": True, "clip": False, "filter_invalid_bboxes": False, "max_accept_ratio": None},
}
POINTS = {"format": "xy", "label_fields": None, "remove_invisible": True, "check_each_transform": True}


def options_of(boxes=None, points=None):
    given = {}
    if boxes is not None:
        given["bboxes"] = stand_in("BboxProcessor", params=stand_in("BboxParams", **{**BOXES, **boxes}))
    if points is not None:
        given["keypoints"] = stand_in(
            "KeypointsProcessor", params=stand_in("KeypointParams", **{**POINTS, **points})
        )
    return converted(FLIP, processors=given).target_options


@pytest.mark.parametrize(
    ("boxes", "options"),
    [
        ({}, {"box_format": "xywh"}),
        (
            {"format": "pascal_voc", "min_width": 3.0, "min_height": 3.0},
            {"box_format": "xyxy", "min_size": 3.0},
        ),
        (
            {"format": "albumentations", "min_visibility": 0.25},
            {"box_format": "xyxyn", "min_visibility": 0.25},
        ),
        ({"format": "yolo", "min_area": 9.0}, {"box_format": "cxcywhn", "min_area": 9.0}),
        ({"format": "cxcywh", "clip": True}, {"box_format": "cxcywh"}),
        ({"label_fields": None}, {"box_format": "xywh"}),
        ({"label_fields": ["labels", "names"]}, {"box_format": "xywh", "per_box": ("names",)}),
    ],
)
def test_box_params_become_options(boxes, options):
    assert options_of(boxes) == T.TargetOptions(**{"min_size": 0.0, **options})


def test_keypoint_params_become_options():
    assert options_of(points={}) == T.TargetOptions(drop_keypoints=True)
    assert options_of(points={"remove_invisible": False, "label_fields": ["labels"]}) == T.TargetOptions()


@pytest.mark.parametrize(
    ("boxes", "points", "message"),
    [
        (
            {"format": "polar"},
            None,
            "bbox_params: expected format as one of pascal_voc, coco, .*, but got 'polar'",
        ),
        ({"min_width": 2.0}, None, "bbox_params: expected min_height=2.0, but got 0.0"),
        ({"max_accept_ratio": 5.0}, None, "bbox_params: expected max_accept_ratio=None"),
        ({"filter_invalid_bboxes": True}, None, "bbox_params: expected filter_invalid_bboxes=False"),
        ({"check_each_transform": False}, None, "bbox_params: expected check_each_transform=True"),
        ({"clip": True, "min_visibility": 0.1}, None, "bbox_params: expected clip=False"),
        ({"bbox_type": "obb"}, None, "bbox_params: expected bbox_type='hbb'"),
        ({"clip_after_transform": False}, None, "bbox_params: expected clip_after_transform=True"),
        *(
            (None, {"format": name}, "keypoint_params: expected format='xy'")
            for name in ("yx", "xya", "xys", "xyas")
        ),
        (
            None,
            {"label_fields": ["labels"]},
            "keypoint_params: expected remove_invisible=False with label_fields",
        ),
        (None, {"label_mapping": {"HorizontalFlip": {}}}, "keypoint_params: expected label_mapping={}"),
    ],
)
def test_params_without_counterpart_are_named(boxes, points, message):
    with pytest.raises(ConversionError, match=f"from_albumentations: {message}"):
        options_of(boxes, points)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"additional_targets": {"image2": "image"}}, "expected additional_targets={}"),
        ({"mask_interpolation": 1}, "expected mask_interpolation as one of None, 0, but got 1"),
    ],
)
def test_other_targets_are_refused(values, message):
    with pytest.raises(ConversionError, match=f"from_albumentations: {message}"):
        converted(FLIP, **values)
    nested = stand_in("Sequential", transforms=[FLIP], **values)
    with pytest.raises(ConversionError, match=f"from_albumentations: step 0, Sequential: {message}"):
        converted(nested)


def certain(a):
    yield [a.HorizontalFlip(p=1)]
    yield [a.CenterCrop(30, 40), a.Transpose(p=1)]
    yield [a.Resize(33, 77), a.PadIfNeeded(60, 90, position="top_right")]
    yield [a.LongestMaxSize(50), a.PadIfNeeded(50, 50), a.VerticalFlip(p=1)]
    yield [a.Crop(5, 6, 45, 37)]


TABLE = np.array(
    [[3.0, 4.0, 30.0, 20.0], [20.0, 10.0, 50.0, 39.0], [1.0, 1.0, 6.0, 8.0], [30.0, 20.0, 33.0, 24.0]]
)
FORMATS = {
    "pascal_voc": lambda x1, y1, x2, y2: (x1, y1, x2, y2),
    "coco": lambda x1, y1, x2, y2: (x1, y1, x2 - x1, y2 - y1),
    "albumentations": lambda x1, y1, x2, y2: (x1 / 60, y1 / 40, x2 / 60, y2 / 40),
    "yolo": lambda x1, y1, x2, y2: ((x1 + x2) / 120, (y1 + y2) / 80, (x2 - x1) / 60, (y2 - y1) / 40),
}


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("box_format", FORMATS)
@pytest.mark.parametrize(
    "limits", [{}, {"min_area": 30}, {"min_width": 6, "min_height": 6}, {"min_visibility": 0.8}]
)
def test_boxes_and_keypoints_are_albumentations(index, box_format, limits):
    theirs = pytest.importorskip("albumentations")
    boxes = np.stack(FORMATS[box_format](*TABLE.T), 1)
    params = made(theirs, "BboxParams", {"format": box_format, "label_fields": ["labels"], **limits})
    points = made(theirs, "KeypointParams", {"format": "xy"})
    compose = theirs.Compose(list(certain(theirs))[index], bbox_params=params, keypoint_params=points)
    image, points = np.zeros((40, 60, 3), np.uint8), TABLE[:, :2]
    expected = compose(image=image, bboxes=boxes, keypoints=points, labels=[0, 1, 2, 3])
    given = {"boxes": boxes, "labels": np.arange(4), "keypoints": points}
    _, target = T.Compose.from_albumentations(compose)(image, given, epoch=0)
    assert target["labels"].tolist() == [int(label) for label in expected["labels"]]
    # theirs are relative float32 in between: 2e-5 of 90 pixels
    assert np.abs(target["boxes"] - np.asarray(expected["bboxes"])[:, :4]).max(initial=0) < 2e-5
    difference = np.abs(target["keypoints"] - np.asarray(expected["keypoints"])[:, :2]).max(initial=0)
    # 2.0.8 scales keypoints about the corner of a pixel, not its center: 0.254 pixels here
    resizes = index in (2, 3) and not hasattr(theirs, "LetterBox")
    assert difference < (0.26 if resizes else 2e-5)
