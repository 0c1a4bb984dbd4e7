"""Regions, rotations and perspectives of Albumentations: conversion, and results with the same draws."""

import re
from collections import Counter
from dataclasses import replace
from random import Random
from unittest import mock

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.plan import Stream
from orbbec.transforms.convert import ConversionError
from tests.support import photograph
from tests.support.peers.albumentations import made, stand_in

BORDER = {"interpolation": 1, "mask_interpolation": 0, "border_mode": 0, "fill": 9.0, "fill_mask": 0.0}
BANDS = {"num_masks_x": (1, 2), "num_masks_y": 0, "mask_x_length": (2, 5), "mask_y_length": (0, 3)}
BORDERS = {"crop_left": 0.1, "crop_right": 0.2, "crop_top": 0.3, "crop_bottom": 0.4}
ONE_BAND = {"num_masks_x": 1, "num_masks_y": 0, "mask_x_length": (0, 9), "mask_y_length": 0}
STEPS = [
    ("XYMasking", {**BANDS, "fill": 7}, {"fill_mask": None}, T.XYMasking((1, 2), 0, (2, 5), (0, 3), 7, 1.0)),
    (
        "TimeMasking",
        {"time_mask_param": 9},
        {**ONE_BAND, "fill": 0, "fill_mask": 0},
        T.XYMasking(1, 0, (0, 9), (0, 0), 0, 1.0),
    ),
    (
        "FrequencyMasking",
        {"freq_mask_param": 9},
        {
            **{"num_masks_x": 0, "num_masks_y": 1, "mask_x_length": 0, "mask_y_length": (0, 9)},
            **{"fill": 0, "fill_mask": 0},
        },
        T.XYMasking(0, 1, (0, 0), (0, 9), 0, 1.0),
    ),
    ("TimeReverse", {}, {}, T.RandomHorizontalFlip(1.0)),
    ("RandomGridShuffle", {"grid": (3, 4)}, {}, T.RandomGridShuffle((3, 4), 1.0)),
    ("RandomCropFromBorders", BORDERS, {}, T.RandomCropFromBorders(0.1, 0.2, 0.3, 0.4)),
    (
        "CropNonEmptyMaskIfExists",
        {"height": 20, "width": 30, "ignore_values": [4, 5]},
        {"ignore_channels": None},
        T.CropNonEmptyMaskIfExists((20, 30), (4, 5)),
    ),
    (
        "SafeRotate",
        {"limit": (-20, 50), "fill": 9},
        {**BORDER, "rotate_method": "largest_box"},
        T.SafeRotate((-20, 50), fill=9.0, p=1.0),
    ),
    (
        "Perspective",
        {"scale": (0.1, 0.2), "keep_size": False, "fit_output": True, "fill": 9},
        BORDER,
        T.Perspective((0.1, 0.2), False, True, fill=9.0, p=1.0),
    ),
]
IDS = [name for name, *_ in STEPS]
IMAGE = photograph(60, 80)


def converted(step, **values):
    values = {"transforms": [step], "processors": {}, **values}
    return T.Compose.from_albumentations(stand_in("Compose", **values))


@pytest.mark.parametrize(("kind", "arguments", "more", "expected"), STEPS, ids=IDS)
def test_steps_become_transforms(kind, arguments, more, expected):
    step = stand_in(kind, **{**arguments, **more})
    assert converted(step).to_json() == T.Compose([expected]).to_json()


@pytest.mark.filterwarnings("ignore:Time:UserWarning", "ignore:Frequency:UserWarning")
@pytest.mark.parametrize(("kind", "arguments", "more", "expected"), STEPS, ids=IDS)
def test_steps_of_the_library_become_transforms(kind, arguments, more, expected):
    theirs = pytest.importorskip("albumentations")
    step = made(theirs, kind, {**arguments, "p": 1.0})
    pipeline = T.Compose.from_albumentations(theirs.Compose([step]))
    if kind in ("TimeMasking", "FrequencyMasking") and not hasattr(theirs, "LetterBox"):
        counts = ("num_masks_x_range", "num_masks_y_range")  # 2.0.8 takes one band as none or one
        expected = replace(expected, **{name: (0, max(getattr(expected, name))) for name in counts})
    assert pipeline.to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("XYMasking", {"fill_mask": 0}, "expected fill_mask=None, but got 0"),
        ("XYMasking", {"mask_x_length": (0.0, 1.0)}, "expected fractions below 1 as lengths"),
        ("CropNonEmptyMaskIfExists", {"ignore_channels": [1]}, "expected ignore_channels=None"),
        ("SafeRotate", {"rotate_method": "ellipse"}, "expected rotate_method='largest_box'"),
        ("Perspective", {"fill_mask": 3.0}, "expected fill_mask=0.0, but got 3.0"),
    ],
)
def test_attributes_without_counterpart_are_refused(kind, change, message):
    (attributes,) = ({**options, **more} for name, options, more, _ in STEPS if name == kind)
    with pytest.raises(ConversionError, match=re.escape(f"step 0, {kind}: {message}")):
        converted(stand_in(kind, **{**attributes, **change}))


def test_cells_of_images_with_boxes_are_refused():
    step = stand_in("RandomGridShuffle", grid=(3, 3))
    boxes = {"bboxes": stand_in("BboxProcessor", params=None)}
    with pytest.raises(ConversionError, match="RandomGridShuffle makes boxes of all parts of a box"):
        converted(step, processors=boxes)
    points = stand_in("KeypointParams", format="xy", remove_invisible=False)
    pipeline = converted(step, processors={"keypoints": stand_in("KeypointsProcessor", params=points)})
    assert pipeline.transforms == (T.RandomGridShuffle(p=1.0),)


# Largest differences seen: 6 levels from 2.0.8, since OpenCV 4 rounds positions to 1/32 pixel; 1 from 2.5.1.
@pytest.mark.parametrize("keep_size", [True, False])
@pytest.mark.parametrize("fit_output", [True, False])
def test_perspectives_of_the_same_points_are_albumentations(keep_size, fit_output):
    theirs = pytest.importorskip("albumentations")
    functions = pytest.importorskip("albumentations.augmentations.geometric.functional")
    options = {"scale": (0.05, 0.2), "keep_size": keep_size, "fit_output": fit_output, "p": 1.0}
    transform = T.Perspective(**options)
    pipeline, step = T.Compose([transform], seed=3, exact=True), theirs.Perspective(**options)
    for sample in range(8):
        _, (points,) = transform.sample(np.array([IMAGE.shape[:2]]), Stream(np.array([sample]), 3))
        with mock.patch.object(functions, "generate_perspective_points", lambda *_, p=points: p.copy()):
            expected = step(image=IMAGE)["image"]
        result = np.asarray(pipeline(IMAGE, sample_ids=[sample], epoch=0))
        assert result.shape == expected.shape
        difference = np.abs(result.astype(int) - expected)
        assert difference.max() <= 6
        assert (difference > 1).mean() < 0.08


def test_points_of_perspectives_are_drawn_as_those_of_albumentations():
    functions = pytest.importorskip("albumentations.augmentations.geometric.functional")
    rng, size, count = np.random.default_rng(1), (60, 80), 4000
    stream = Stream(np.arange(count), 3)
    _, points = T.Perspective((0.2, 0.2), p=1.0).sample(np.array([size] * count), stream)
    other = np.stack([functions.generate_perspective_points(size, 0.2, rng) for _ in range(count)])
    for mine, each in zip(points.reshape(count, 8).T, other.reshape(count, 8).T, strict=True):
        ends = np.sort(np.concatenate([mine, each]))
        mine, each = np.sort(mine), np.sort(each)
        gap = np.searchsorted(mine, ends, "right") - np.searchsorted(each, ends, "right")
        assert np.abs(gap).max() / count < 1.95 * (2 / count) ** 0.5  # Smirnov's test at 1 in 1,000


def test_rotations_that_fit_are_those_of_albumentations():
    theirs = pytest.importorskip("albumentations")
    functions = pytest.importorskip("albumentations.augmentations.geometric.functional")
    cv2 = pytest.importorskip("cv2")
    for angle in (0, 17, 90, 135, 213.7):
        step = made(theirs, "SafeRotate", {"limit": (angle, angle), "p": 1.0})
        center = functions.center_bbox(IMAGE.shape[:2])
        edges, _ = step._create_safe_rotate_matrix(angle, center, IMAGE.shape[:2])
        half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        matrix = np.linalg.inv(half) @ edges @ half
        expected = cv2.warpAffine(IMAGE, matrix[:2], (80, 60), flags=cv2.INTER_LINEAR)
        pipeline = T.Compose([T.SafeRotate((angle, angle), p=1.0)])
        result, target = pipeline(IMAGE, {"boxes": np.array([[20.0, 10, 50, 40]])})
        assert np.abs(np.asarray(result).astype(int) - expected).max() <= 6
        boxes = theirs.BboxParams("pascal_voc", label_fields=["labels"])
        reference = theirs.Compose([step], bbox_params=boxes)(
            image=IMAGE, bboxes=np.array([[20.0, 10, 50, 40]]), labels=[1]
        )
        assert np.abs(target["boxes"] - reference["bboxes"]).max() < 1e-3


MASK = np.zeros((7, 7), np.uint8)
MASK[0, 5], MASK[3, 1], MASK[6, 6] = 1, 2, 3


@pytest.mark.parametrize("mask", [MASK, np.zeros_like(MASK)], ids=["some", "empty"])
def test_crops_with_mask_pixels_are_drawn_as_those_of_albumentations(mask):
    theirs = pytest.importorskip("albumentations")
    image, count = photograph(7, 7), 3000
    compose = theirs.Compose([theirs.CropNonEmptyMaskIfExists(3, 2, ignore_values=[2])], seed=5)
    if not hasattr(theirs, "LetterBox"):
        compose.set_random_state(np.random.default_rng(5), Random(5))
    other = Counter(compose(image=image, mask=mask)["image"].tobytes() for _ in range(count))
    pipeline = T.Compose.from_albumentations(compose, seed=3)
    images, _ = pipeline(np.stack([image] * count), [{"mask": mask}] * count, epoch=0)
    ours = Counter(np.ascontiguousarray(each).tobytes() for each in images)
    assert ours.keys() == other.keys()
    for key in ours:  # five deviations of the difference of two counts
        assert abs(ours[key] - other[key]) <= 5 * (ours[key] + other[key]) ** 0.5


def test_keypoints_move_with_their_cells_as_in_albumentations():
    functions = pytest.importorskip("albumentations.augmentations.geometric.functional")
    points = np.random.default_rng(2).integers(0, (80, 60), (40, 2)).astype(np.float64)
    pipeline = T.Compose([T.RandomGridShuffle((3, 4), 1.0)], seed=3)
    for sample in range(5):
        (step,) = pipeline.plan([(60, 80)], [sample], epoch=0).passes
        table = step.spec.pieces(size=(60, 80), **{name: rows[0] for name, rows in step.table.items()})
        tiles = table[:, [1, 0, 3, 2]]
        mapping = [int(np.flatnonzero((tiles[:, 1::-1] == corner).all(1))[0]) for corner in table[:, 4:]]
        image, target = pipeline(IMAGE, {"keypoints": points, "mask": IMAGE[..., 0]}, sample_ids=[sample])
        expected = functions.swap_tiles_on_image(IMAGE, tiles, mapping)
        assert (np.asarray(image) == expected).all()
        assert (target["mask"] == expected[..., 0]).all()
        assert (target["keypoints"] == functions.swap_tiles_on_keypoints(points, tiles, mapping)).all()
