"""Boxes without masks or points need no plan, and move as they do with one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import orbbec.transforms as T
from orbbec import ImageBatch
from orbbec.transforms.base.pipeline import Pipeline
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.targets import transform_targets

SIZES = [(40, 60), (33, 51), (64, 20)]
RESIZE = T.Resize((30, 20), antialias=False)
PIPELINES = {
    "crop, flip, colors": [
        T.RandomResizedCrop(24, antialias=False),
        T.RandomHorizontalFlip(),
        T.ColorJitter(0.4),
    ],
    "antialiased crop": [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToDtype(torch.float32, True)],
    "rotation": [RESIZE, T.RandomAffine(40, (0.2, 0.1), (0.7, 1.6), 10, "linear")],
    "perspective": [RESIZE, T.RandomPerspective(0.6, 1.0)],
    "two passes": [T.RandomResizedCrop(24), T.GaussianBlur(3), T.RandomRotation(30, "linear")],
    "a rotated crop": [T.CenterCrop((24, 18)), T.RandomRotation(30, "linear")],
}
OPTIONS = {
    "xyxy": TargetOptions(),
    "xywh, small boxes dropped": TargetOptions("xywh", min_size=6.0, min_visibility=0.3),
    "cxcywhn, all kept": TargetOptions("cxcywhn", drop_boxes=False, per_box=("names",)),
    "cxcywh, large boxes": TargetOptions("cxcywh", min_area=40.0),
}


def _boxes(rng, box_format, size, count):
    height, width = size
    center = rng.uniform(0, 1, (count, 2)) * (width, height)
    sides = rng.uniform(0, 0.6, (count, 2)) * (width, height)
    if box_format == "xyxy":
        return np.concatenate([center - sides / 2, center + sides / 2], 1)
    if box_format == "xywh":
        return np.concatenate([center - sides / 2, sides], 1)
    boxes = np.concatenate([center, sides], 1)
    return boxes / [width, height, width, height] if box_format.endswith("n") else boxes


def _targets(rng, box_format):
    targets = []
    for index, size in enumerate(SIZES):
        count = (5, 0, 9)[index]
        boxes = _boxes(rng, box_format, size, count)
        if index:
            boxes = torch.from_numpy(boxes).to(torch.float64 if index == 1 else torch.float32)
        targets.append(
            {
                "boxes": boxes,
                "labels": torch.arange(count) if index else np.arange(count),
                "names": [f"object {number}" for number in range(count)] if index else None,
                "scores": tuple(range(count)),
                "image_id": index,
                "matrix": np.eye(3),
            }
        )
    return targets


def _same(one, other):
    assert type(one) is type(other)
    if isinstance(one, (np.ndarray, torch.Tensor)):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    else:
        assert one == other


@pytest.fixture
def without_plans(monkeypatch):
    """Pipelines that make no plan to apply: they fail where one is needed."""
    monkeypatch.delattr(Pipeline, "_plan_for")


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("transforms", PIPELINES.values(), ids=PIPELINES)
def test_boxes_move_as_with_a_plan(transforms, options, without_plans):
    rng = np.random.default_rng(0)
    pipeline, targets = (
        T.Compose(transforms, seed=3, target_options=options),
        _targets(rng, options.box_format),
    )
    images = ImageBatch.from_images([np.zeros((*size, 3), np.uint8) for size in SIZES])
    left = 0
    for epoch in range(8):
        expected = transform_targets(pipeline.plan(SIZES, np.arange(3), epoch), targets, options)
        found = pipeline(images, targets, np.arange(3), epoch)[1]
        assert found.report == expected.report
        left += sum(len(each["boxes"]) for each in found)
        for one, other in zip(found, expected, strict=True):
            assert list(one) == list(other)
            for key, value in one.items():
                _same(value, other[key])
    assert 0 < left <= 8 * 14


@pytest.mark.parametrize("transforms", [PIPELINES["two passes"], [T.GaussianBlur(3)]])
def test_boxes_of_one_image_are_clipped_and_follow_it(transforms, without_plans):
    pipeline = T.Compose(transforms, seed=3)
    target = {"boxes": np.float32([[-5, 3, 30, 90], [50, 0, 70, 9]]), "labels": [1, 2], "image_id": 7}
    for epoch in range(8):
        expected = transform_targets(pipeline.plan([(40, 60)], [0], epoch), [target])[0]
        _, found = pipeline(np.zeros((40, 60, 3), np.uint8), target, [0], epoch)
        assert list(found) == list(target)
        for key, value in found.items():
            _same(value, expected[key])


@pytest.mark.parametrize(
    "other",
    [
        {"masks": np.ones((1, 40, 60), np.uint8)},
        {"keypoints": [[3.0, 4.0]]},
        {"polygons": [[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]]},
        {"area": [600.0]},
        {"size": (40, 60)},
        {"depth": np.ones((40, 60), np.float32)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_else_follows_takes_a_plan(other):
    pipeline = T.Compose([T.CenterCrop(20), T.RandomHorizontalFlip(1.0)])
    target = {"boxes": np.array([[10.0, 0.0, 40.0, 20.0]]), **other}
    _, found = pipeline(np.zeros((40, 60, 3), np.uint8), target)
    assert found["boxes"].tolist() == [[0.0, 0.0, 20.0, 10.0]]
    assert repr(found[next(iter(other))]) != repr(target[next(iter(other))])


def test_other_numbers_of_targets_and_rows_are_refused():
    pipeline, images = T.Compose([T.CenterCrop(20)]), np.zeros((2, 40, 60, 3), np.uint8)
    boxes = np.zeros((3, 4))
    with pytest.raises(ValueError, match="expected 2 targets, one per image, but got 1"):
        pipeline(images, [{"boxes": boxes}])
    with pytest.raises(ValueError, match="expected 3 labels, one per box, but image 1 has 2"):
        pipeline(images, [{"boxes": boxes}, {"boxes": boxes, "labels": [1, 2]}])
    with pytest.raises(ValueError, match="box 1 of image 1 is not finite"):
        pipeline(images, [{"boxes": boxes}, {"boxes": np.array([[0, 0, 1, 1], [0, 0, np.nan, 1]])}])


def _call(**changed):
    program = T.Compose([T.CenterCrop((24, 18)), T.RandomRotation(30, "linear")])._direct_program(
        (torch.uint8, 3, False, True)
    )
    arguments = {
        "code": program.code,
        "program": program.geometry,
        "sizes": torch.tensor([[40, 60], [30, 30]]),
        "sample_ids": torch.arange(2),
        "boxes": torch.tensor([[0.0, 0, 9, 9], [1, 1, 8, 8], [2, 2, 7, 7]], dtype=torch.float64),
        "counts": [1, 2],
        "seed": 0,
        "epoch": 0,
        "frames": 1,
        "limits": [],
    }
    return torch.ops.orbbec.draw_boxes(**{**arguments, **{k: f(arguments[k]) for k, f in changed.items()}})


def test_the_operator_returns_rows_of_boxes():
    assert _call().shape == (3, 7)
    assert _call(boxes=lambda boxes: boxes[:0], counts=lambda _: [0, 0]).shape == (0, 7)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("counts", lambda _: [1, 1], "expected counts of 3 boxes of 2 images"),
        ("counts", lambda _: [3], "expected counts of 3 boxes of 2 images"),
        ("counts", lambda _: [4, -1], "expected counts of 3 boxes"),
        ("boxes", lambda boxes: boxes[:, :3], "expected boxes"),
        ("boxes", torch.Tensor.float, "expected boxes"),
        ("sizes", lambda sizes: sizes * 0, "expected images with pixels"),
        ("sizes", lambda sizes: sizes.t().contiguous().t(), "expected sizes as a contiguous tensor"),
        ("sample_ids", lambda ids: ids[:1], "expected sample_ids of shape"),
        ("frames", lambda _: 3, "expected frames"),
        ("limits", lambda _: [1.0], "expected limits as 0 or 3 numbers"),
        ("program", lambda numbers: numbers[:2], "expected program as the numbers of rules"),
        ("program", lambda numbers: numbers[:-1], "expected program as the numbers of rules"),
        ("program", lambda numbers: [*numbers[:-2], 1, -1], "expected passes with registers of the program"),
        ("program", lambda numbers: [*numbers[:-2], numbers[1] - 18, -1], "expected passes with registers"),
        ("program", lambda numbers: [*numbers[:-1], numbers[2] - 6], "expected crops within the words"),
        ("program", lambda numbers: [*numbers[:-1], 1], "expected crops within the words"),
        ("program", lambda numbers: [*numbers[:-1], -2], "expected crops within the words"),
        (
            "program",
            lambda numbers: [numbers[0], numbers[1], -1, *numbers[3:]],
            "expected from 0 to 2.24 words",
        ),
        ("program", lambda numbers: [10**6, *numbers[1:]], "expected begin and end within the program"),
    ],
)
def test_wrong_arguments_of_the_operator_are_refused(name, change, message):
    with pytest.raises(ValueError, match=f"^draw_boxes: {message}"):
        _call(**{name: change})
