"""Numbers of targets: areas, sizes, integers, rotated boxes; invalid targets."""

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

from orbbec import transforms as T
from orbbec.plan.points import carried, polygon_area, rotated_boxes, rotated_corners


def outputs(transforms, target, size=(40, 60), **options):
    compose = T.Compose(transforms, target_options=T.TargetOptions(**options))
    return compose(torch.zeros(3, *size, dtype=torch.uint8), target, epoch=0)[1]


@pytest.mark.parametrize(
    ("box_format", "box"),
    [
        ("xyxy", [5.0, 5, 2, 2]),
        ("xyxy", [1.0, 5, 2, 4.5]),
        ("xywh", [5.0, 5, -3, 2]),
        ("cxcywh", [5.0, 5, 3, -2]),
        ("cxcywha", [5.0, 5, -3, 2, 30]),
    ],
)
def test_inverted_boxes_are_refused_by_name(box_format, box):
    good = [1.0, 1, 2, 2, 0][: len(box)]
    message = rf"expected boxes {box_format} with sides of at least 0, but box 1 of image 0 is \["
    for boxes in (torch.tensor([good, box]), np.array([good, box])):
        with pytest.raises(ValueError, match=message):
            outputs([T.RandomHorizontalFlip(1.0)], {"boxes": boxes}, box_format=box_format)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("box_format", ["xyxy", "cxcywh", "xyxyn", "cxcywha", "xyxyxyxy"])
def test_the_first_box_that_is_not_finite_is_named(box_format, value):
    width = {"cxcywha": 5, "xyxyxyxy": 8}.get(box_format, 4)
    boxes = np.tile([0.25, 0.25, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5][:width], (4, 1))
    boxes[2, width - 1] = boxes[3, 0] = value
    with pytest.raises(ValueError, match="transform_targets: box 2 of image 0 is not finite"):
        outputs([T.RandomHorizontalFlip(1.0)], {"boxes": boxes}, box_format=box_format)


def test_boxes_without_a_side_are_no_error():
    boxes = torch.tensor([[5.0, 5, 5, 9], [1, 2, 3, 4]])
    assert outputs([T.RandomHorizontalFlip(1.0)], {"boxes": boxes})["boxes"].tolist() == [[57, 2, 59, 4]]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, np.int64, np.int32])
def test_whole_numbers_are_rounded_once_halves_to_even(dtype):
    make = torch.tensor if isinstance(dtype, torch.dtype) else np.array
    target = {"boxes": make([[1, 2, 13, 20]], dtype=dtype), "keypoints": make([[[1, 2, 2]]], dtype=dtype)}
    steps = [T.Resize((20, 30)), T.Resize((10, 15))]
    result = outputs(steps, target)
    floats = outputs(steps, {"boxes": torch.tensor([[1.0, 2, 13, 20]])})["boxes"]
    assert floats.tolist() == [[0.25, 0.5, 3.25, 5.0]]
    assert result["boxes"].tolist() == [[0, 0, 3, 5]]
    assert result["keypoints"].tolist() == [[[0, 0, 2]]]
    assert result["boxes"].dtype == dtype


def test_whole_numbers_that_a_dtype_lacks_are_refused():
    target = {"boxes": torch.tensor([[10, 10, 50, 30]], dtype=torch.uint8)}
    assert outputs([T.Resize((80, 120))], target)["boxes"].tolist() == [[20, 20, 100, 60]]
    with pytest.raises(ValueError, match="boxes of image 0 do not fit uint8; give them as floats"):
        outputs([T.Resize((400, 600))], target)
    points = {"keypoints": np.array([[0, 0]], np.uint16)}
    with pytest.raises(ValueError, match="keypoints of image 0 do not fit uint16"):
        outputs([T.CenterCrop(20)], points)


def test_areas_are_scaled_with_boxes():
    boxes = torch.tensor([[10.0, 10, 30, 30], [0, 0, 20, 10], [50, 30, 60, 40]])
    target = {"boxes": boxes, "area": torch.tensor([300.0, 200, 60]), "labels": torch.tensor([1, 2, 3])}
    assert outputs([T.Resize((20, 30))], target)["area"].tolist() == [75.0, 50.0, 15.0]
    # A crop of 20 x 20 at (20, 10): half of the first box is left, nothing of the second.
    cropped = outputs([T.CenterCrop(20)], target)
    assert (cropped["labels"].tolist(), cropped["area"].tolist()) == ([1], [150.0])
    resized = outputs([T.CenterCrop(20), T.Resize((40, 40), antialias=False)], target)
    assert resized["area"].tolist() == [600.0]
    turned = outputs([T.RandomRotation((90, 90), expand=True), T.Resize((120, 80))], target)
    assert turned["area"].tolist() == pytest.approx([1200.0, 800.0, 240.0])
    whole = {**target, "area": np.array([300, 201, 60])}
    assert outputs([T.Resize((20, 30))], whole)["area"].tolist() == [75, 50, 15]


@pytest.mark.parametrize("seed", range(4))
def test_areas_of_a_perspective_are_those_of_small_boxes(seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform((20, 20), (40, 20.5), (6, 2))
    boxes = np.concatenate([low, low + 0.01], 1)
    target = {"boxes": boxes.astype(np.float64), "area": np.full(6, 1e-4)}
    compose = T.Compose(
        [T.RandomPerspective(0.4, 1.0)], seed=seed, target_options=T.TargetOptions(min_size=0)
    )
    plan = compose.plan([(40, 60)], epoch=0)
    (result,) = T.transform_targets(plan, [target], compose.target_options)
    forward = np.linalg.inv(plan.matrix[0])
    corners = rotated_corners(np.concatenate([low + 0.005, np.full((6, 2), 0.01), np.zeros((6, 1))], 1)) - 0.5
    there = cv2.perspectiveTransform(corners, forward)
    expected = [polygon_area(part) for part in there]
    assert len(result["area"]) == 6
    assert np.allclose(result["area"], expected, rtol=1e-4, atol=0)


def test_areas_are_scaled_with_masks_where_there_are_any():
    masks = torch.zeros(2, 40, 60, dtype=torch.uint8)
    masks[0, 10:20, 10:20], masks[1, 0:10, 0:20] = 1, 1
    boxes = torch.tensor([[10.0, 10, 30, 30], [0, 0, 20, 10]])
    target = {"boxes": boxes, "area": torch.tensor([90.0, 200.0]), "masks": masks}
    assert outputs([T.Resize((20, 30))], target)["area"].tolist() == [22.5, 50.0]
    assert outputs([T.RandomCrop(40, padding=(0, 0, 0, 0), pad_if_needed=True)], {**target})[
        "area"
    ].shape == (2,)
    # Half of the box is left, and nothing of its mask.
    assert outputs([T.CenterCrop((40, 20))], target)["area"].tolist() == [0.0]


def test_areas_of_a_mosaic_are_those_of_what_is_left():
    boxes, area = torch.tensor([[0.0, 0, 60, 40]]), torch.tensor([2400.0])
    compose = T.Compose([T.Mosaic((40, 60))], seed=2)
    targets = [{"boxes": boxes, "area": area} for _ in range(4)]
    _, results = compose(torch.zeros(4, 3, 40, 60, dtype=torch.uint8), targets, epoch=0)
    for target in results:
        sides = target["boxes"][:, 2:] - target["boxes"][:, :2]
        assert torch.allclose(target["area"], sides.prod(1))


@pytest.mark.parametrize("make", [torch.tensor, np.array, list])
def test_size_becomes_that_of_the_image(make):
    entry = make([40, 60])
    target = {"size": entry, "orig_size": make([400, 600]), "boxes": torch.zeros(2, 4)}
    result = outputs([T.Resize((20, 33)), T.Pad(1)], target)
    assert type(result["size"]) is type(entry)
    assert list(map(int, result["size"])) == [22, 35]
    assert list(map(int, result["orig_size"])) == [400, 600]
    assert outputs([T.Resize((20, 33))], {"size": 7})["size"] == 7


def overlap(one, other):
    """Intersection over union of two convex polygons `[4, 2]`."""
    one, other = (np.float32(cv2.convexHull(np.float32(each)).squeeze(1)) for each in (one, other))
    both = cv2.intersectConvexConvex(one, other)[0]
    return both / (polygon_area(one) + polygon_area(other) - both)


def sheared(rng, degrees):
    x, y = np.tan(np.radians(rng.uniform(-degrees, degrees, 2)))
    return np.array([[1, x], [y, 1]])


# The smallest overlap of 4,000 boxes with their transformed shapes; it was 0 when the first side set the
# angle.
SHAPES = {
    "shear of 15 degrees": (lambda rng: sheared(rng, 15), 0.78),
    "shear of 30 degrees": (lambda rng: sheared(rng, 30), 0.57),
    "half along x": (lambda rng: np.diag([rng.uniform(0.5, 1), 1]), 0.72),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rotated_boxes_stay_near_what_they_become(name):
    draw, least = SHAPES[name]
    rng = np.random.default_rng(0)
    for _ in range(1000):
        width, height = np.exp(rng.uniform(np.log(8), np.log(120), 2))
        corners = rotated_corners(np.array([[100.0, 100, width, height, rng.uniform(-180, 180)]]))
        there = corners @ draw(rng).T
        box = rotated_boxes(there)
        assert overlap(rotated_corners(box)[0], there[0]) > least
        assert box[0, 2] * box[0, 3] == pytest.approx(polygon_area(there[0]))


def test_rotated_boxes_of_rectangles_are_exact():
    rng = np.random.default_rng(1)
    for _ in range(500):
        turn, flip = np.radians(rng.uniform(-180, 180)), rng.choice([-1, 1])
        linear = rng.uniform(0.2, 4) * np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        width, height = rng.uniform(1, 90, 2)
        corners = rotated_corners(np.array([[9.0, 8, width, height, rng.uniform(-180, 180)]]))
        there = corners @ (linear @ np.diag([flip, 1])).T
        back = rotated_corners(rotated_boxes(there))
        expected = there if flip > 0 else there[:, [1, 0, 3, 2]]
        assert np.abs(back - expected).max() < 1e-9


def test_what_is_left_of_a_box_is_that_of_all_passes_together():
    # 0.8 of the height are left, then 0.8 of the width: 0.64 of the box.
    boxes, labels = torch.tensor([[10.0, 0, 20, 10]]), torch.tensor([7])
    crops = [T.CenterCrop((36, 60)), T.GaussianBlur(3), T.CenterCrop((36, 36))]
    inside = {"boxes": boxes, "labels": labels}
    assert len(T.Compose(crops).plan([(40, 60)], epoch=0).passes) == 3
    result = outputs(crops, inside)
    assert result["boxes"].tolist() == [[0.0, 0.0, 8.0, 8.0]]
    for least, kept in ((0.63, [7]), (0.65, []), (0.7, []), (0.79, [])):
        assert outputs(crops, inside, min_visibility=least)["labels"].tolist() == kept
    for one in (T.CenterCrop((36, 60)), T.CenterCrop((40, 36))):
        assert outputs([one], inside, min_visibility=0.79)["labels"].tolist() == [7]


def test_what_lies_behind_the_viewer_is_nowhere():
    forward = np.array([[1.0, 0, 0], [0, 1, 0], [-0.1, 0, 1]])  # the horizon is x = 10
    points = np.array([[5.0, 2], [9.9, 3], [10, 4], [10.1, 5], [20, 6]])
    there = carried(forward, points)
    assert np.isfinite(there).all(1).tolist() == [True, True, False, False, False]
    assert np.allclose(there[0], [10, 4])
    assert np.isnan(carried(-forward, points)).all(1).tolist() == [False, False, True, True, True]


def test_a_point_at_the_edge_of_an_image_is_inside():
    low, high = np.array([-0.5, -0.5]), np.array([29.5, 19.5])
    beyond = np.nextafter(low, -1.0), np.nextafter(high, 40.0)
    sides = [low, high, (low[0], high[1]), (5, low[1]), (low[0], 5), (5, high[1]), (high[0], 5)]
    outside = [(beyond[0][0], 5), (5, beyond[0][1]), (beyond[1][0], 5), (5, beyond[1][1])]
    points = np.array([(*point, 2.0) for point in (*sides, *outside)])
    _, target = T.Compose([T.Pad(0)])(np.zeros((20, 30, 3), np.uint8), {"keypoints": points}, epoch=0)
    assert target["keypoints"].tolist() == [*points[:7].tolist(), *(points[7:] * [1, 1, 0]).tolist()]


def test_a_box_without_area_is_as_large_where_another_image_covers_it():
    positions = np.random.default_rng(0).uniform(0, 20, (40, 2))
    target = {"boxes": np.tile(positions, 2), "area": np.full(40, 7.0), "label": 1}
    options = T.TargetOptions(drop_boxes=False)
    for transform in (T.CutMix(num_classes=2), T.Mosaic((20, 20))):
        compose = T.Compose([transform], seed=1, target_options=options)
        _, results = compose(torch.zeros(2, 3, 20, 20, dtype=torch.uint8), [target] * 2, epoch=0)
        assert all(result["area"].max() <= 7.0 for result in results)


NO_NUMBERS = [[["1", "2", "3", "4"]], [[True, False, True, True]], [[1, 2, 3, 4j]], [[1, 2, 3, None]]]


@pytest.mark.parametrize("values", NO_NUMBERS, ids=["texts", "truth values", "complex", "None"])
@pytest.mark.parametrize("key", ["boxes", "keypoints", "landmarks", "area"])
@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_what_is_no_number_is_refused(values, key, kind):
    if kind is torch.tensor and type(values[0][-1]) in (str, type(None)):
        pytest.skip("no dtype of torch has them")
    target = {"boxes": [[0, 0, 2, 2]]}
    rows = values if key == "boxes" else [row[-2:] for row in values] if key != "area" else values[0][-1:]
    with pytest.raises(TypeError, match=f"expected {key} as numbers, but image 0 has"):
        outputs([T.RandomHorizontalFlip(1.0)], target | {key: kind(rows)})


@pytest.mark.parametrize("shape", [(6,), (1, 51), (2, 4), (2, 1), (1, 2, 3, 2)])
@pytest.mark.parametrize("key", ["keypoints", "landmarks"])
def test_points_of_another_shape_are_refused(key, shape):
    message = rf"expected {key} of shape \[P, 2\], .*, but image 0 has \[{', '.join(map(str, shape))}\]"
    with pytest.raises(ValueError, match=message):
        outputs([T.RandomHorizontalFlip(1.0)], {key: np.zeros(shape)})
    result = outputs([T.RandomHorizontalFlip(1.0)], {key: []})
    assert len(result[key]) == 0


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"boxes as rows of one length, but image 0 has \[\[0, 0, 2\], \[0"):
        outputs([T.RandomHorizontalFlip(1.0)], {"boxes": [[0, 0, 2], [0, 0, 2, 2]]})
