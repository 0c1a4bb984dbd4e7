"""Left and right: keypoints of pairs are exchanged in mirrored images, and only there."""

import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.data import Loader, Sample
from orbbec.transforms import Compose, TargetOptions, restore_masks, restore_points
from orbbec.transforms.targets.pairs import mirrors, swapped

SIZE = 40, 60
PAIRS = [(1, 2), (3, 4)]
# The middle of a figure, and its left and right parts, which differ in color.
POINTS = np.array([[30.0, 8], [24, 12], [36, 12], [22, 24], [38, 24]])
COLORS = np.array([50, 100, 150, 200, 250], np.uint8)


def figure():
    image = np.zeros((*SIZE, 3), np.uint8)
    for (x, y), color in zip(POINTS.astype(int), COLORS, strict=True):
        image[y - 1 : y + 2, x - 1 : x + 2] = color
    return image


FLIP, UPSIDE_DOWN = T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)
MIRRORED = {
    "flip": [FLIP],
    "vertical flip": [UPSIDE_DOWN],
    "flip and rotation": [FLIP, T.RandomRotation(20)],
    "flip after a blur": [T.RandomRotation(20), T.GaussianBlur(3), FLIP],
    "three flips": [FLIP, T.GaussianBlur(3), UPSIDE_DOWN, T.GaussianBlur(3), FLIP],
    "flip and perspective": [T.RandomPerspective(0.3, 1.0), FLIP],
    "flip and antialiased crop": [T.RandomResizedCrop((32, 48), scale=(0.9, 1.0)), FLIP],
    "flip and letterbox": [FLIP, T.Letterbox((64, 64))],
}
UPRIGHT = {
    "nothing": [T.ToImage()],
    "rotation": [T.RandomRotation((170, 190))],
    "half rotation": [FLIP, UPSIDE_DOWN],
    "two flips": [FLIP, T.GaussianBlur(3), FLIP],
    "affine": [T.RandomAffine(30, (0.1, 0.1), (0.8, 1.2), 10)],
    "perspective": [T.RandomPerspective(0.4, 1.0)],
    "elastic": [T.ElasticTransform(20.0, 6.0)],
    "crop": [T.RandomCrop((38, 56))],
}


def moved(steps, points, seed=1, pairs=PAIRS):
    compose = Compose(steps, seed=seed, target_options=TargetOptions(keypoint_pairs=pairs))
    image, target = compose(figure(), {"keypoints": points}, epoch=0)
    return image, target["keypoints"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*MIRRORED, *UPRIGHT])
def test_pairs_are_exchanged_exactly_where_the_image_is_mirrored(name, seed):
    steps = (MIRRORED | UPRIGHT)[name]
    image, points = moved(steps, POINTS, seed)
    _, plain = moved(steps, POINTS, seed, pairs=())
    order = [0, 2, 1, 4, 3] if name in MIRRORED else [0, 1, 2, 3, 4]
    assert np.array_equal(points, plain[order])
    if name in ("flip", "vertical flip", "half rotation"):
        x, y = points.astype(int).T
        assert np.array_equal(image[y, x, 0], COLORS[order])


def orientation(points):
    """The sign of the angle from the left to the right, seen from the head."""
    left, right = points[1] - points[0], points[2] - points[0]
    return math.copysign(1, left[0] * right[1] - left[1] * right[0])


@pytest.mark.parametrize("name", [*MIRRORED, *UPRIGHT])
def test_a_figure_that_looks_at_you_still_has_its_left_on_the_same_hand(name):
    """Seen from the head, the left part is always on the same side of the right one."""
    _, points = moved((MIRRORED | UPRIGHT)[name], POINTS)
    assert orientation(points) == orientation(POINTS)


@pytest.mark.parametrize("shape", [(5, 2), (5, 3), (2, 5, 2), (2, 5, 3)])
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_points_of_images_and_boxes_of_any_kind_are_paired(shape, kind, dtype):
    points = np.zeros(shape, dtype)
    points[..., :2] = POINTS
    points[..., 2:] = np.arange(5)[:, None] + 1  # the visibility goes with the point
    boxes = np.float32([[20, 6, 40, 26]] * 2)
    target = {"keypoints": kind(points), "landmarks": kind(points), "boxes": kind(boxes)}
    compose = Compose([FLIP], target_options=TargetOptions(keypoint_pairs=PAIRS))
    _, result = compose(figure(), target)
    expected = points[..., [0, 2, 1, 4, 3], :].copy()
    expected[..., 0] = SIZE[1] - 1 - expected[..., 0]
    for key in ("keypoints", "landmarks"):
        assert type(result[key]) is type(target[key])
        assert result[key].dtype == target[key].dtype
        assert np.array_equal(np.asarray(result[key]), expected)


def test_pairs_of_coco_are_the_left_and_right_of_its_names():
    parts = ["eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle"]
    names = [
        "nose",
        *(f"{side}_{part}" for part in parts for side in ("left", "right")),
    ]  # of the files of 2017
    pairs = TargetOptions(keypoint_pairs="coco").keypoint_pairs
    assert [(names[one], names[other]) for one, other in pairs] == [
        (name, name.replace("left", "right")) for name in names if name.startswith("left")
    ]


def test_pairs_survive_a_file_and_no_draw_depends_on_them():
    compose = Compose(
        [T.RandomHorizontalFlip(0.5)], seed=3, target_options=TargetOptions(keypoint_pairs="coco")
    )
    again = Compose.from_yaml(compose.to_yaml())
    assert again.target_options == compose.target_options
    target = {"keypoints": np.random.default_rng(0).uniform(0, 40, (17, 3))}
    for sample_id in range(8):
        image, one = compose(figure(), target, sample_ids=[sample_id], epoch=0)
        other_image, other = again(figure(), target, sample_ids=[sample_id], epoch=0)
        plain_image, _ = Compose([T.RandomHorizontalFlip(0.5)], seed=3)(
            figure(), target, sample_ids=[sample_id], epoch=0
        )
        assert np.array_equal(one["keypoints"], other["keypoints"])
        assert np.array_equal(image, other_image)
        assert np.array_equal(image, plain_image)


def test_a_loader_swaps_pairs():
    source = [Sample(figure(), {"keypoints": POINTS.astype(np.float32)}, n) for n in range(6)]
    compose = Compose(
        [T.RandomHorizontalFlip(0.5)], seed=1, target_options=TargetOptions(keypoint_pairs=PAIRS)
    )
    seen = set()
    with Loader(source, 3, compose) as loader:
        for images, targets, _ in loader:
            for image, points in zip(images, targets["keypoints"], strict=True):
                colors = [int(image[0, int(y), int(x)]) for x, y in points.tolist()]
                seen.add(tuple(colors))
    assert seen == {tuple(COLORS.tolist()), tuple(COLORS[[0, 2, 1, 4, 3]].tolist())}


@pytest.mark.parametrize(
    ("pairs", "kind", "message"),
    [
        ("mpii", ValueError, "keypoint_pairs as one of coco, but got 'mpii'|keypoint_pairs"),
        ([1, 2], TypeError, r"keypoint_pairs as pairs of indices or a name, but got \[1, 2\]"),
        ([(1, 2, 3)], TypeError, "keypoint_pairs as pairs of indices"),
        ([(1, -2)], ValueError, "an index of keypoint_pairs as a whole number of at least 0, but got -2"),
        ([(1, 1)], ValueError, "keypoint_pairs with each index once"),
        ([(1, 2), (2, 3)], ValueError, "keypoint_pairs with each index once"),
    ],
)
def test_bad_pairs_are_named(pairs, kind, message):
    with pytest.raises(kind, match=f"TargetOptions: expected ({message})"):
        TargetOptions(keypoint_pairs=pairs)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (0, 17, 3), (3, 0, 2)])
def test_no_points_have_no_pairs(shape):
    points = np.zeros(shape)
    assert swapped(points, ((0, 1),), "points") is points


def test_pairs_beyond_the_points_and_dropped_points_are_refused():
    compose = Compose([FLIP], target_options=TargetOptions(keypoint_pairs="coco"))
    with pytest.raises(
        ValueError, match="at least 17 points, as keypoint_pairs has, but keypoints of image 0 are 5"
    ):
        compose(figure(), {"keypoints": POINTS})
    compose(figure(), {"keypoints": np.zeros((0, 17, 3)), "boxes": np.zeros((0, 4))})
    with pytest.raises(ValueError, match="expected keypoint_pairs or drop_keypoints, but got both"):
        TargetOptions(keypoint_pairs="coco", drop_keypoints=True)


RESTORABLE = {name: steps for name, steps in (MIRRORED | UPRIGHT).items() if name != "elastic"}


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("name", RESTORABLE)
def test_restored_points_are_those_that_the_pipeline_moved(name, kind):
    options = TargetOptions(keypoint_pairs=PAIRS)
    points = [kind(np.concatenate([POINTS, np.full((5, 1), 0.5)], 1)), kind(np.stack([POINTS, POINTS + 1]))]
    plan = Compose(RESTORABLE[name], seed=2).plan([SIZE] * 2, [4, 5], 0)
    targets = [{"keypoints": points[0]}, {"keypoints": points[1], "boxes": np.float32([[0, 0, 60, 40]] * 2)}]
    moved_targets = T.transform_targets(plan, targets, options)
    restored = restore_points(plan, [target["keypoints"] for target in moved_targets], keypoint_pairs=PAIRS)
    for actual, expected in zip(restored, points, strict=True):
        assert type(actual) is type(expected)
        np.testing.assert_allclose(
            np.asarray(actual)[..., :2], np.asarray(expected)[..., :2], rtol=0, atol=1e-8
        )


@pytest.mark.parametrize(
    "steps",
    [[FLIP], [T.Pad(3), UPSIDE_DOWN], [T.Letterbox((80, 120))], [T.RandomRotation((90, 90), expand=True)]],
)
def test_restored_masks_are_those_that_the_pipeline_moved(steps):
    masks = torch.from_numpy(np.random.default_rng(0).integers(0, 5, (2, *SIZE)))
    plan = Compose(steps, seed=2).plan([SIZE])
    [target] = T.transform_targets(plan, [{"masks": masks, "boxes": np.float32([[0, 0, 60, 40]] * 2)}])
    assert torch.equal(restore_masks(plan, [target["masks"]])[0], masks)


def test_pixels_that_the_output_does_not_show_are_filled():
    plan = Compose([T.CenterCrop((2, 2))]).plan([(4, 4)])
    restored = restore_masks(plan, [torch.ones(1, 2, 2, dtype=torch.uint8)], fill=7)
    assert restored[0][0].tolist() == [[7, 7, 7, 7], [7, 1, 1, 7], [7, 1, 1, 7], [7, 7, 7, 7]]


@pytest.mark.parametrize("restore", [restore_points, restore_masks])
@pytest.mark.parametrize(
    ("steps", "values", "message"),
    [
        ([FLIP], [], "^{}: .* of 1 images, but got 0"),
        ([FLIP], [torch.zeros(3)], r"^{}: .* but image 0 has \[3\]"),
        ([T.ElasticTransform()], [torch.zeros(0, 2)], "^{}: expected a plan without elastic_transform"),
        ([T.Mosaic(8)], [torch.zeros(8, 8)], "a plan with mosaic has no matrix"),
    ],
)
def test_what_cannot_be_restored_is_named(restore, steps, values, message):
    with pytest.raises(ValueError, match=message.format(restore.__name__)):
        restore(Compose(steps).plan([(8, 8)]), values)


def test_no_image_is_mirrored_whose_center_is_on_the_horizon():
    forward = np.array([[-1.0, 0.0, 9.0], [0.0, 1.0, 0.0], [1.0, 0.0, -4.5]])
    assert [mirrors(forward, (8, width)) for width in (8, 10, 12)] == [False, False, True]
