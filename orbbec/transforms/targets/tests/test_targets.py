"""Boxes, masks, points and polygons compared with their pixels."""

import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.nms.boxes import box_convert
from orbbec.plan.points import carried, forward_of, rotated_boxes, rotated_corners

HEIGHT, WIDTH = 60, 80
BOX = np.array([[22.0, 16.0, 50.0, 44.0]])
MAPS = {
    "flip": [T.RandomHorizontalFlip(1.0)],
    "crop": [T.RandomCrop((50, 60))],
    "resized crop": [T.RandomResizedCrop((70, 50), scale=(0.7, 1.0), antialias=False)],
    "antialias": [T.RandomResizedCrop((70, 50), scale=(0.7, 1.0))],
    "rotation": [T.RandomRotation(25, "linear")],
    "expand": [T.RandomRotation(45, "linear", expand=True)],
    "affine": [T.RandomAffine(20, (0.1, 0.1), (0.8, 1.3), 10, "linear")],
    "perspective": [T.RandomPerspective(0.4, 1.0)],
    "pad": [T.Pad((5, 6, 7, 8))],
    "letterbox": [T.Letterbox((100, 90), fill=0)],
    "zoom out": [T.RandomZoomOut(p=1.0)],
    "elastic": [T.ElasticTransform(60.0, 6.0)],
    "second elastic": [T.RandomHorizontalFlip(0.0), T.ElasticTransform(15.0, 6.0)],
    "two passes": [T.RandomAffine(20, interpolation="linear"), T.GaussianBlur(3), T.RandomVerticalFlip(1.0)],
    "apply": [T.RandomApply([T.RandomAffine(20, (0.1, 0.1), interpolation="linear")], p=0.5)],
}
SEEDS = range(6)
SIZES = [[HEIGHT, WIDTH]] * 2


def box_image(box):
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    left, top, right, bottom = box.astype(int)
    image[top:bottom, left:right] = 255
    return image


def seen_box(image):
    rows, columns = (np.flatnonzero((image[..., 0] > 127).any(axis)) for axis in (1, 0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MAPS)
def test_box_is_where_its_pixels_are(name, seed):
    image, target = T.Compose(MAPS[name], seed=seed)(box_image(BOX[0]), {"boxes": BOX}, epoch=0)
    # A rotated box touches its bounding box in points, where half a pixel or more is not visible.
    allowed = {"flip": 0, "crop": 0, "pad": 0, "zoom out": 0, "elastic": 4.0}.get(name, 2.0)
    assert np.abs(target["boxes"][0] - seen_box(image)).max() <= allowed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MAPS)
def test_mask_is_where_its_pixels_are(name, seed):
    image = box_image(BOX[0])
    mask = (image[..., 0] > 0).astype(np.int64) * 7
    result, target = T.Compose(MAPS[name], seed=seed)(image, {"mask": mask, "masks": mask[None] > 0}, epoch=0)
    moved = target["mask"]
    assert moved.dtype == np.int64
    assert target["masks"].dtype == bool
    assert (target["masks"][0] == (moved == 7)).all()
    assert set(np.unique(moved)) == {0, 7}
    differ = (moved == 7) != (result[..., 0] > 127)
    border = np.abs(np.diff(np.pad(moved == 7, 1).astype(int), axis=0)).sum() * 4
    # A mask of a resized crop takes one side where the image blends both: 0.22 seen.
    assert differ.sum() <= {"antialias": 0.5, "resized crop": 0.25}.get(name, 0.2) * border


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MAPS)
def test_points_are_where_their_pixels_are(name, seed):
    points = np.array([[30.0, 25.0, 2.0], [44.0, 35.0, 2.0]])
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for point in points:  # a peak around the point; its center of mass is the point
        hill = 255 * np.exp(-((x - point[0]) ** 2 + (y - point[1]) ** 2) / 30)
        image = np.repeat(hill[..., None], 3, 2).astype(np.uint8)
        result, target = T.Compose(MAPS[name], seed=seed)(image, {"keypoints": point[None]}, epoch=0)
        weights = np.where(result[..., 0] > 60, result[..., 0], 0).astype(float)
        rows, columns = np.mgrid[: result.shape[0], : result.shape[1]]
        middle = np.array([(weights * columns).sum(), (weights * rows).sum()]) / weights.sum()
        moved = target["keypoints"][0]
        if moved[2] and 6 < moved[0] < result.shape[1] - 7 and 6 < moved[1] < result.shape[0] - 7:
            assert np.abs(middle - moved[:2]).max() < {"perspective": 0.7, "elastic": 1.2}.get(name, 0.35)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in MAPS if name != "elastic"])
def test_plan_and_back_returns_points(name, seed):
    plan = T.Compose(MAPS[name], seed=seed).plan([(HEIGHT, WIDTH)], epoch=0)
    points = np.random.default_rng(seed).uniform(0, 60, (20, 2))
    there = carried(forward_of(plan.matrix)[0], points)
    back = carried(plan.matrix[0], there)
    assert np.nanmax(np.abs(back - points)) < 1e-9


@pytest.mark.parametrize("box_format", ["xyxy", "xywh", "cxcywh", "cxcywha", "xyxyxyxy"])
def test_formats_say_the_same(box_format):
    options = T.TargetOptions(box_format)
    pipeline = [
        T.RandomHorizontalFlip(1.0),
        T.RandomVerticalFlip(1.0),
        T.Pad((3, 4)),
        T.Resize((50, 40), antialias=False),
    ]
    boxes = box_convert(BOX, "xyxy", box_format)
    _, target = T.Compose(pipeline, target_options=options)(box_image(BOX[0]), {"boxes": boxes}, epoch=0)
    _, expected = T.Compose(pipeline)(box_image(BOX[0]), {"boxes": BOX}, epoch=0)
    assert np.abs(box_convert(target["boxes"], box_format, "xyxy") - expected["boxes"]).max() < 1e-9


@pytest.mark.parametrize("angle", [0.0, 30.0, -75.0, 160.0])
def test_rotated_boxes_stay_exact(angle):
    box = np.array([[40.0, 30.0, 20.0, 8.0, angle]])
    options = T.TargetOptions("cxcywha")
    turn = T.Compose([T.RandomRotation((25, 25))], target_options=options)
    _, target = turn(box_image(BOX[0]), {"boxes": box}, epoch=0)
    turned = target["boxes"][0]
    assert np.abs(turned[:4] - box[0, :4]).max() < 1e-9
    assert abs((turned[4] - angle - 25 + 180) % 360 - 180) < 1e-9
    flip = T.Compose([T.RandomHorizontalFlip(1.0)], target_options=options)
    _, target = flip(box_image(BOX[0]), {"boxes": box}, epoch=0)
    corners = rotated_corners(target["boxes"])[0]
    expected = rotated_corners(box)[0] * [-1, 1] + [WIDTH, 0]
    assert np.abs(np.sort(corners, 0) - np.sort(expected, 0)).max() < 1e-9
    assert np.abs(target["boxes"][0, 2:4] - box[0, 2:4]).max() < 1e-9
    assert np.abs(rotated_boxes(rotated_corners(box))[0] - box[0]).max() < 1e-9


def test_polygons_are_moved_and_clipped():
    square = np.array([[2.0, 2.0], [22.0, 2.0], [22.0, 22.0], [2.0, 22.0]])
    pipeline = T.Compose([T.CenterCrop((40, 60))])  # removes 10 pixels on each side
    _, target = pipeline(box_image(BOX[0]), {"polygons": [square, square - 30]}, epoch=0)
    moved, gone = target["polygons"]
    assert moved.min() == 0
    assert moved.max(0).tolist() == [12.0, 12.0]
    assert gone.shape == (0, 2)


def test_what_belongs_to_a_dropped_box_goes_with_it():
    boxes = torch.tensor([[0.0, 0.0, 8.0, 8.0], [20.0, 20.0, 40.0, 40.0], [5.0, 20.0, 25.0, 40.0]])
    target = {
        "boxes": boxes,
        "labels": torch.tensor([1, 2, 3]),
        "names": ["a", "b", "c"],
        "masks": torch.ones(3, HEIGHT, WIDTH, dtype=torch.bool),
        "keypoints": torch.zeros(3, 2, 3),
        "polygons": [np.zeros((4, 2))] * 3,
        "landmarks": torch.tensor([[30.0, 30.0], [0.0, 0.0], [1.0, 1.0]]),
        "mask": torch.zeros(HEIGHT, WIDTH, dtype=torch.uint8),
        "image_id": 7,
    }
    options = T.TargetOptions(min_visibility=0.6, per_box=["names"])
    pipeline = T.Compose([T.CenterCrop((40, 60))], target_options=options)
    _, results = pipeline([box_image(BOX[0])] * 2, [target, {"boxes": np.zeros((0, 4))}], epoch=0)
    result = results[0]
    assert result["boxes"].tolist() == [[10.0, 10.0, 30.0, 30.0], [0.0, 10.0, 15.0, 30.0]]
    assert result["labels"].tolist() == [2, 3]
    assert result["names"] == ["b", "c"]
    assert result["masks"].shape == (2, 40, 60)
    assert result["keypoints"].shape == (2, 2, 3)
    assert len(result["polygons"]) == 2
    assert result["landmarks"].shape == (3, 2)
    assert result["mask"].shape == (40, 60)
    assert result["image_id"] == 7
    assert results[1]["boxes"].shape == (0, 4)
    assert str(results.report) == "1 of 3 boxes dropped, in 1 of 2 images"
    assert target["boxes"] is boxes  # the input is unchanged
    assert torch.is_tensor(result["boxes"])


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_of_the_image_is_kept_whole(count):
    of_image = {
        "image_id": torch.tensor([7]),
        "orig_size": torch.tensor([HEIGHT, WIDTH]),
        "size": [HEIGHT, WIDTH],
    }
    boxes = torch.tensor([[0.0, 0.0, 0.5, 0.5], [20.0, 20.0, 40.0, 40.0]])[:count]
    target = {"boxes": boxes, "area": torch.ones(count), **of_image}
    _, moved = T.Compose([T.RandomHorizontalFlip(1.0)])(box_image(BOX[0]), target, epoch=0)
    assert len(moved["boxes"]) == len(moved["area"]) == count - 1
    for key, value in of_image.items():
        assert list(moved[key]) == list(value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
def test_polygons_stay_what_they_are(dtype):
    corners = [[2.0, 3.0], [40.0, 3.0], [40.0, 30.0]]
    given = torch.tensor(corners, dtype=dtype)
    target = {"boxes": BOX.repeat(2, 0) * [[0], [1]], "polygons": [given + 1, given]}
    _, moved = T.Compose([T.RandomHorizontalFlip(1.0)])(box_image(BOX[0]), target, epoch=0)
    (polygon,) = moved["polygons"]
    assert polygon.dtype == dtype
    assert polygon.tolist() == [[WIDTH - x, y] for x, y in corners]
    as_arrays = {"polygons": [given.numpy(), corners]}
    _, moved = T.Compose([T.RandomHorizontalFlip(1.0)])(box_image(BOX[0]), as_arrays, epoch=0)
    assert [polygon.dtype for polygon in moved["polygons"]] == [given.numpy().dtype, np.float64]


def test_rounding_never_raises():
    box = np.array([[0.0, 0.0, WIDTH + 1e-4, HEIGHT + 1e-4], [-1e-6, 3.0, 5.0, 9.0]])
    _, target = T.Compose([T.RandomHorizontalFlip(1.0)])(box_image(BOX[0]), {"boxes": box}, epoch=0)
    assert target["boxes"].min() >= 0
    assert target["boxes"][:, 2].max() <= WIDTH


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([{"boxes": BOX}, {"boxes": np.array([[0, 0, math.nan, 4]])}], "box 0 of image 1 is not finite"),
        ([{"boxes": BOX}, {"boxes": np.zeros((2, 5))}], "image 1 has"),
        ([{"boxes": BOX}], "expected 2 targets"),
        ([{"boxes": BOX}, 3], "target 1 is a int"),
    ],
)
def test_wrong_targets_are_named(targets, message):
    images = [box_image(BOX[0])] * 2
    with pytest.raises((ValueError, TypeError), match=message):
        T.Compose([T.RandomHorizontalFlip()])(images, targets, epoch=0)


def test_an_iou_crop_looks_at_what_is_left_of_boxes():
    gone, cut = np.array([[0.0, 0, 19, 60]]), np.array([[0.0, 0, 50, 60]])
    left = np.array([[20.0, 10, 50, 50]])  # for the second, after the crop
    for seed in range(20):
        pipeline = T.Compose([T.CenterCrop(40), T.RandomIoUCrop(sampler_options=(0.5,))], seed=seed)
        plans = [
            pipeline.plan([(60, 80)], targets=[{"boxes": boxes}], epoch=0) for boxes in (gone, cut, left)
        ]
        assert plans[0].output_sizes.tolist() == [[40, 40]]
        assert plans[1].to_json() == plans[2].to_json()


def test_iou_crop_keeps_enough_of_a_box():
    pipeline = T.Compose([T.RandomIoUCrop(sampler_options=(0.5,))])
    cropped = 0
    for sample in range(20):
        plan = pipeline.plan([(HEIGHT, WIDTH)], [sample], targets=[{"boxes": BOX}])
        (step,) = plan.passes
        height, width = step.sizes[0]
        left, top = step.matrix[0, :2, 2]
        overlap = np.clip(BOX[0], [left, top] * 2, [left + width, top + height] * 2)
        both = np.prod(overlap[2:] - overlap[:2])
        union = np.prod(BOX[0, 2:] - BOX[0, :2]) + height * width - both
        cropped += (height, width) != (HEIGHT, WIDTH)
        assert (height, width) == (HEIGHT, WIDTH) or both / union >= 0.5
    assert cropped > 5
    assert pipeline.plan([(HEIGHT, WIDTH)], epoch=0).passes[0].sizes.tolist() == [[HEIGHT, WIDTH]]


@pytest.mark.parametrize("box_format", ["xywh", "cxcywh"])
def test_iou_crop_reads_boxes_of_any_upright_format(box_format):
    plans = []
    for each in ("xyxy", box_format):
        pipeline = T.Compose(
            [T.RandomIoUCrop(sampler_options=(0.5,))], 2, target_options=T.TargetOptions(each)
        )
        plans.append(pipeline.plan(SIZES, targets=[{"boxes": box_convert(BOX, "xyxy", each)}, {}], epoch=0))
    assert plans[0].to_json() == plans[1].to_json()
    assert plans[0].output_sizes[0].tolist() != SIZES[0]


def test_faces_are_aligned_to_the_template():
    template = np.array(T.AlignFaces().template)
    angle = math.radians(20)
    turn = 0.3 * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    landmarks = template @ turn.T + [20, 10]
    image, target = T.Compose([T.AlignFaces()])(box_image(BOX[0]), {"landmarks": landmarks}, epoch=0)
    assert image.shape == (112, 112, 3)
    assert np.abs(target["landmarks"] - template).max() < 1e-9
    flipped = T.Compose([T.RandomHorizontalFlip(1.0), T.RandomHorizontalFlip(1.0), T.AlignFaces()])
    assert (
        np.abs(flipped(box_image(BOX[0]), {"landmarks": landmarks}, epoch=0)[0].astype(int) - image).max()
        <= 1
    )
    with pytest.raises(ValueError, match=r"landmarks of shape \[5, 2\], but image 0"):
        T.Compose([T.AlignFaces()])(box_image(BOX[0]), {"landmarks": landmarks[:4]}, epoch=0)


def test_a_mirror_keeps_the_way_round_of_corners():
    corners = np.array([[1.0, 2, 5, 1, 6, 4, 2, 5]])
    options = T.TargetOptions(box_format="xyxyxyxy")
    for flips, expected in (
        ([T.RandomHorizontalFlip(1.0)], [[3.0, 1, 7, 2, 6, 5, 2, 4]]),
        ([T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)], [[7.0, 6, 3, 7, 2, 4, 6, 3]]),
    ):
        plan = T.Compose(flips).plan([(8, 8)], epoch=0)
        (moved,) = T.transform_targets(plan, [{"boxes": corners}], options)
        assert moved["boxes"].tolist() == expected


def test_the_size_of_aligned_faces_comes_first():
    assert T.AlignFaces(96) == T.AlignFaces(size=96)
    assert T.AlignPoints(8, [(1, 1), (5, 5)]) == T.AlignPoints(template=[(1, 1), (5, 5)], size=8)


def test_labels_are_mixed():
    images = torch.rand(3, 3, 8, 8)
    targets = [{"label": n} for n in range(3)]
    for mix in (T.MixUp(num_classes=3), T.CutMix(num_classes=3)):
        _, results = T.Compose([mix])(images, targets, epoch=0)
        labels = torch.stack([result["label"] for result in results])
        weights = torch.from_numpy(T.Compose([mix]).plan([(8, 8)] * 3, epoch=0).passes[0].table["weights"])
        assert torch.allclose(labels.diagonal().double(), weights)
        assert torch.allclose(labels.sum(1), torch.ones(3))


def test_boxes_follow_a_mosaic():
    images = [box_image(BOX[0])] * 4
    targets = [{"boxes": BOX, "labels": np.array([n])} for n in range(4)]
    result, moved = T.Compose([T.Mosaic((HEIGHT, WIDTH), (0.5, 0.5), fill=0)], seed=1)(
        images, targets, epoch=0
    )
    for n, target in enumerate(moved):
        seen = np.zeros((HEIGHT, WIDTH), bool)
        for left, top, right, bottom in np.rint(target["boxes"]).astype(int):
            seen[top:bottom, left:right] = True
        assert (seen == (result[n, 0].numpy() > 0)).all()
        assert len(target["labels"]) == len(target["boxes"])


def test_a_polygon_that_reaches_the_horizon_of_a_perspective_is_empty():
    target = {"boxes": BOX, "polygons": [np.array([[10.0, 10], [5000, 10], [10, 20]])]}
    pipeline, sizes = T.Compose([T.RandomPerspective(0.9, 1.0)], seed=1), set()
    for epoch in range(6):
        _, moved = pipeline(box_image(BOX[0]), target, epoch=epoch)
        for polygon in moved["polygons"]:
            assert np.isfinite(polygon).all()
            sizes.add(len(polygon))
    assert 0 in sizes
    assert max(sizes) > 2
