"""Boxes, masks and points that follow the draws of one operator move as they do with a plan."""

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
    "nearest": [T.CenterCrop((24, 18)), T.Resize((31, 17), "nearest"), T.RandomRotation(30, "nearest")],
}
OPTIONS = {
    "xyxy": TargetOptions(),
    "xywh, small boxes dropped": TargetOptions("xywh", min_size=6.0, min_visibility=0.3),
    "cxcywhn, all kept": TargetOptions("cxcywhn", drop_boxes=False, per_box=("names",)),
    "cxcywh, large boxes": TargetOptions("cxcywh", min_area=40.0),
    "points dropped, masks filled": TargetOptions(drop_keypoints=True, mask_fill=7.0),
    "depth filled": TargetOptions(depth=("far",), depth_fill=-1.5),
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


def _points(rng, size, shape):
    points = rng.uniform(-5, 70, shape)
    points[..., 2:] = rng.integers(0, 3, points[..., 2:].shape)
    return points


def _targets(rng, box_format):
    targets = []
    for index, size in enumerate(SIZES):
        count = (5, 0, 9)[index]
        boxes = _boxes(rng, box_format, size, count)
        masks = rng.integers(0, 2, (count, *size), dtype=np.uint8)
        if index:
            boxes = torch.from_numpy(boxes).to(torch.float64 if index == 1 else torch.float32)
            masks = torch.from_numpy(masks).bool()
        targets.append(
            {
                "boxes": boxes,
                "labels": torch.arange(count) if index else np.arange(count),
                "names": [f"object {number}" for number in range(count)] if index else None,
                "scores": tuple(range(count)),
                "image_id": index,
                "matrix": np.eye(3),
                "masks": masks,
                "mask": rng.integers(-9, 9, (2, *size)),
                "depth": torch.from_numpy(rng.uniform(0, 9, size)),
                "far": rng.uniform(0, 9, (1, *size)).astype(np.float32),
                "keypoints": _points(rng, size, (count, 4, 3)),
                "landmarks": torch.from_numpy(_points(rng, size, (6, 2))).float(),
                "area": [9.5] * count if index else np.full(count, 7.25),
                "size": torch.tensor(size),
            }
        )
    targets[1]["landmarks"] = np.empty((0, 3), np.float32)
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


def test_targets_without_boxes_keep_their_rows(without_plans):
    rng = np.random.default_rng(1)
    pipeline = T.Compose(PIPELINES["rotation"], seed=5)
    target = {
        "masks": rng.integers(0, 2, (3, 40, 60)),
        "keypoints": rng.uniform(0, 40, (3, 4, 2)),
        "area": [1.0, 2.0],
        "labels": [1],
    }
    for epoch in range(4):
        expected = transform_targets(pipeline.plan([(40, 60)], [0], epoch), [target])[0]
        _, found = pipeline(np.zeros((40, 60, 3), np.uint8), target, [0], epoch)
        assert len(found["masks"]) == len(found["keypoints"]) == 3
        assert (found["area"], found["labels"]) == ([1.0, 2.0], [1])
        for key, value in found.items():
            _same(value, expected[key])


def test_targets_of_samples_need_no_plan(without_plans):
    rng, image = np.random.default_rng(2), np.zeros((40, 60, 3), np.uint8)
    boxes, mask = np.array([[5.0, 4.0, 30.0, 35.0]]), rng.integers(0, 5, (40, 60))
    pipeline = T.Compose(PIPELINES["rotation"], seed=5)
    expected = transform_targets(pipeline.plan([(40, 60)], [3], 1), [{"boxes": boxes, "mask": mask}])[0]
    sample = {"image": image, "boxes": boxes, "mask": mask, "label": 4, "note": ["text"]}
    alone = pipeline({"image": image, "label": 4}, sample_ids=[3], epoch=1)
    found = pipeline(sample, sample_ids=[3], epoch=1)
    _, first, second, label = pipeline(
        (torch.zeros(3, 40, 60, dtype=torch.uint8), {"boxes": boxes}, {"mask": mask}, 4),
        sample_ids=[3],
        epoch=1,
    )
    assert alone["image"].shape == found["image"].shape == (30, 20, 3)
    assert (found["label"], found["note"], alone["label"], label) == (4, ["text"], 4, 4)
    for key, value in expected.items():
        _same(found[key], value)
        _same({**first, **second}[key], value)


@pytest.mark.parametrize("transforms", [PIPELINES["rotation"], [T.GaussianBlur(3)]])
def test_results_share_no_memory_with_targets(transforms):
    target = {
        "boxes": np.array([[0.0, 0.0, 60.0, 40.0]]),
        "masks": np.ones((1, 40, 60)),
        "mask": np.ones((40, 60)),
        "keypoints": np.ones((1, 2)),
        "area": np.ones(1),
    }
    _, found = T.Compose(transforms)(np.zeros((40, 60, 3), np.uint8), target)
    assert found["masks"].shape[1:] == found["mask"].shape
    for key, value in target.items():
        assert not np.shares_memory(found[key], value), key


@pytest.mark.parametrize(
    ("other", "options"),
    [
        ({"masks": [{"size": [40, 60], "counts": [0, 2400]}]}, {}),
        ({"keypoints": [[3.0, 4.0]]}, {}),
        ({"keypoints": np.array([[3.0, 4.0], [5.0, 6.0]])}, {"keypoint_pairs": [(0, 1)]}),
        ({"polygons": [[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]]}, {}),
        ({"depth": np.ones((40, 60), np.float32)}, {"depth_scale": True}),
        ({"flow": np.ones((2, 40, 60), np.float32)}, {}),
    ],
    ids=["runs", "a list of points", "pairs", "polygons", "depth that is scaled", "flow"],
)
def test_what_else_follows_takes_a_plan(other, options, monkeypatch):
    monkeypatch.delattr("orbbec.transforms.targets.direct._draw_targets")
    pipeline = T.Compose(
        [T.CenterCrop(20), T.RandomHorizontalFlip(1.0)], target_options=TargetOptions(**options)
    )
    target = {"boxes": np.array([[10.0, 0.0, 40.0, 20.0]]), **other}
    _, found = pipeline(np.zeros((40, 60, 3), np.uint8), target)
    assert found["boxes"].tolist() == [[0.0, 0.0, 20.0, 10.0]]
    assert repr(found[next(iter(other))]) != repr(target[next(iter(other))])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"mask": np.ones((40, 61))}, "expected mask of 40x60, as image 0 is, but got shape"),
        ({"masks": np.ones((2, 40, 60))}, "expected 1 masks, one per box, but image 0 has 2"),
        ({"keypoints": np.ones((1, 4))}, "expected keypoints of shape"),
        ({"keypoints": np.ones((2, 5, 2))}, "expected 1 keypoints, one per box, but image 0 has 2"),
        ({"keypoints": np.array([["1", "2"]])}, "expected keypoints as numbers"),
        ({"area": ["9"]}, "expected area as numbers"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_targets_are_refused_by_name(other, message):
    pipeline = T.Compose([T.CenterCrop(20), T.RandomHorizontalFlip(1.0)])
    with pytest.raises((TypeError, ValueError), match=message):
        pipeline(np.zeros((40, 60, 3), np.uint8), {"boxes": np.array([[10.0, 0.0, 40.0, 20.0]]), **other})


def test_other_numbers_of_targets_and_rows_are_refused():
    pipeline, images = T.Compose([T.CenterCrop(20)]), np.zeros((2, 40, 60, 3), np.uint8)
    boxes = np.zeros((3, 4))
    with pytest.raises(ValueError, match="expected 2 targets, one per image, but got 1"):
        pipeline(images, [{"boxes": boxes}])
    with pytest.raises(ValueError, match="expected 3 labels, one per box, but image 1 has 2"):
        pipeline(images, [{"boxes": boxes}, {"boxes": boxes, "labels": [1, 2]}])
    with pytest.raises(ValueError, match="box 1 of image 1 is not finite"):
        pipeline(images, [{"boxes": boxes}, {"boxes": np.array([[0, 0, 1, 1], [0, 0, np.nan, 1]])}])


def _arguments():
    program = T.Compose([T.CenterCrop((24, 18)), T.RandomRotation(30, "linear")])._direct_program(
        (torch.uint8, 3, False, True)
    )
    return {
        "code": program.code,
        "samples": torch.tensor([[0, 40, 60, 1, 0], [1, 30, 30, 2, 1]]),
        "boxes": torch.tensor([[0.0, 0, 9, 9], [1, 1, 8, 8], [2, 2, 7, 7]], dtype=torch.float64),
        "changes": torch.empty(3, 2, dtype=torch.float64),
        "points": torch.tensor([[3.0, 4.0, 7.0]], dtype=torch.float64),
        "readings": torch.empty(1, 2, 15, dtype=torch.float64),
        "box_format": "xyxy",
        "seed": 0,
        "epoch": 0,
        "frames": 1,
        "limits": [],
    }


def _call(**changed):
    arguments = _arguments()
    arguments |= {name: change(arguments[name]) for name, change in changed.items()}
    torch.ops.orbbec.draw_targets(**arguments)
    return arguments


def _with(code, row, column, number):
    code = code.clone()
    code[row, column] = number
    return code


def test_the_operator_moves_boxes_that_are_left_to_the_front():
    crop = T.Compose([T.CenterCrop((24, 18))])._direct_program((torch.uint8, 3, False, True)).code
    # Of 40x60 and 30x30 pixels, the crops begin at (21, 8) and (6, 3).
    boxes = torch.tensor([[0.0, 0, 9, 9], [3, 3, 9, 6], [10, 9, 4, 5]], dtype=torch.float64)
    found = _call(
        code=lambda _: crop, boxes=lambda _: boxes, box_format=lambda _: "xywh", limits=lambda _: [0.0, 1, 0]
    )
    assert found["boxes"][:2].tolist() == [[0, 0, 6, 6], [4, 6, 4, 5]]
    assert found["changes"].tolist() == [[0, 0], [36 / 54, 1], [1, 1]]
    assert found["points"].tolist() == [[-3, 1, 0]]
    assert found["samples"].tolist() == [[0, 24, 18, 0, 0], [1, 24, 18, 2, 1]]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("samples", lambda samples: _with(samples, 1, 3, 1), "expected counts of 3 boxes of 2 images"),
        ("samples", lambda samples: _with(samples, 0, 3, 4), "expected counts of 3 boxes"),
        ("samples", lambda samples: _with(samples, 0, 3, -1), "expected counts of 3 boxes"),
        ("samples", lambda samples: _with(samples, 1, 4, 0), "expected counts of 1 points of 2 images"),
        ("samples", lambda samples: samples * 0, "expected images with pixels"),
        ("samples", lambda samples: samples[:, :2], "expected samples of shape"),
        ("samples", torch.Tensor.int, "expected samples as contiguous int64"),
        ("points", lambda points: points[:, :1], "expected points"),
        ("boxes", lambda boxes: boxes[:, :3], "expected boxes"),
        ("boxes", torch.Tensor.float, "expected boxes"),
        ("frames", lambda _: 3, "expected frames"),
        ("limits", lambda _: [1.0], "expected limits as 0 or 3 numbers"),
        ("changes", lambda changes: changes[1:], "expected counts of 2 changes"),
        ("readings", lambda readings: readings[:0], r"expected readings of shape \[1, 2, 15\]"),
        ("box_format", lambda _: "xyxz", "expected box_format to be one of xyxy"),
        ("box_format", lambda _: "xywha", "expected box_format of upright boxes, but got xywha"),
        ("code", lambda code: code[:-1], "expected "),
        ("code", lambda code: _with(code, -1, 0, 10**6), "expected the rows of the passes after the rules"),
        ("code", lambda code: _with(code, -1, 2, -1), "expected the contents of a program in its last row"),
        ("code", lambda code: _with(code, -3, 1, 1), "expected the passes of a program"),
    ],
)
def test_wrong_arguments_of_the_operator_are_refused(name, change, message):
    with pytest.raises(ValueError, match=f"^draw_targets: {message}"):
        _call(**{name: change})
