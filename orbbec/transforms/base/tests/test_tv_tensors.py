"""Images and targets as torchvision's tv_tensors."""

import numpy as np
import pytest
import torch

tv_tensors = pytest.importorskip("torchvision.tv_tensors")

from orbbec import transforms as T
from orbbec.nms.boxes import box_convert
from tests.support import assert_same_bytes, photographs

HEIGHT, WIDTH = 40, 50
BOXES = [[5.0, 6.0, 25.0, 30.0], [0.0, 0.0, 4.0, 4.0]]
PIPELINE = T.Compose([T.RandomHorizontalFlip(1.0), T.CenterCrop((30, 36)), T.Pad((1, 2))])
IMAGE = photographs(1, 3, HEIGHT, WIDTH)[0]
CROP_TO_20 = T.RandomCrop((20, 20))


def boxes(values=BOXES, name="XYXY"):
    return tv_tensors.BoundingBoxes(values, format=name, canvas_size=(HEIGHT, WIDTH))


def target():
    masks = torch.zeros(2, HEIGHT, WIDTH, dtype=torch.bool)
    masks[:, 6:30, 5:25] = True
    return {
        "boxes": boxes(),
        "masks": tv_tensors.Mask(masks),
        "keypoints": tv_tensors.KeyPoints([[[7.0, 8.0]], [[1.0, 1.0]]], canvas_size=(HEIGHT, WIDTH)),
        "labels": torch.tensor([3, 4]),
    }


def as_tensors(values):
    return {key: torch.as_tensor(np.asarray(value)) for key, value in values.items()}


def test_images_and_targets_stay_tv_tensors():
    image, moved = PIPELINE(tv_tensors.Image(IMAGE), target(), epoch=0)
    expected_image, expected = PIPELINE(IMAGE, as_tensors(target()), epoch=0)
    assert type(image) is tv_tensors.Image
    assert_same_bytes(image.as_subclass(torch.Tensor), expected_image)
    assert [type(moved[key]).__name__ for key in moved] == ["BoundingBoxes", "Mask", "KeyPoints", "Tensor"]
    for key, values in moved.items():
        assert_same_bytes(values.as_subclass(torch.Tensor), expected[key])
    assert moved["boxes"].format == tv_tensors.BoundingBoxFormat.XYXY
    assert moved["boxes"].canvas_size == moved["keypoints"].canvas_size == (34, 38)
    assert len(moved["boxes"]) == len(moved["masks"]) == 1


@pytest.mark.parametrize("name", ["XYXY", "XYWH", "CXCYWH"])
def test_tv_tensors_move_without_a_plan_as_with_one(monkeypatch, name):
    entries = {**target(), "boxes": box_convert(boxes(), "xyxy", name.lower())}
    entries["boxes"] = boxes(entries["boxes"], name)
    plan = PIPELINE.plan([(HEIGHT, WIDTH)], epoch=0)
    expected = T.transform_targets(plan, [entries])[0]
    monkeypatch.delattr(T.Compose.__mro__[1], "_plan_for")
    _, found = PIPELINE(tv_tensors.Image(IMAGE), entries, epoch=0)
    _, again = PIPELINE((tv_tensors.Image(IMAGE), entries), epoch=0)
    for key, value in expected.items():
        for other in (found[key], again[key]):
            assert type(other) is type(value)
            assert_same_bytes(other.as_subclass(torch.Tensor), value.as_subclass(torch.Tensor))
    assert (found["boxes"].format.name, found["boxes"].canvas_size) == (name, (34, 38))


def test_batches_of_tv_images():
    images = photographs(3, 3, HEIGHT, WIDTH)
    result = PIPELINE(tv_tensors.Image(images), epoch=0)
    assert type(result) is tv_tensors.Image
    assert_same_bytes(result.as_subclass(torch.Tensor), PIPELINE(images, epoch=0))
    assert type(PIPELINE([tv_tensors.Image(image) for image in images], epoch=0)) is tv_tensors.Image


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_variable_size_tv_images(dtype):
    images = [photographs(1, 3, height, 9, dtype)[0] for height in (8, 11)]
    results = T.Compose([T.RandomVerticalFlip(1.0)])([tv_tensors.Image(image) for image in images], epoch=0)
    assert [type(result) for result in results] == [tv_tensors.Image] * 2
    for result, image in zip(results, images, strict=True):
        assert_same_bytes(result.as_subclass(torch.Tensor).contiguous(), image.flip(1).contiguous())


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        *(("XYXY", "xyxy"), ("XYWH", "xywh"), ("CXCYWH", "cxcywh")),
        *(("XYWHR", "xywha"), ("CXCYWHR", "cxcywha"), ("XYXYXYXY", "xyxyxyxy")),
    ],
)
def test_boxes_keep_their_format(name, ours):
    inside = torch.tensor([[10.0, 8.0, 25.0, 30.0]])
    _, moved = PIPELINE(IMAGE, {"boxes": boxes(box_convert(inside, "xyxy", ours), name)}, epoch=0)
    _, expected = PIPELINE(IMAGE, {"boxes": inside}, epoch=0)
    assert moved["boxes"].format == tv_tensors.BoundingBoxFormat[name]
    corners = box_convert(moved["boxes"].as_subclass(torch.Tensor), ours, "xyxyxyxy").reshape(-1, 4, 2)
    hull = torch.cat([corners.amin(1), corners.amax(1)], 1)
    assert (hull - expected["boxes"]).abs().max() < 1e-5  # seen: 1.9e-6 for corners


def test_rotated_boxes_convert_as_in_torchvision():
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    rotated = boxes(torch.tensor([[20.0, 18, 9, 5, 33], [30, 20, 4, 12, -140]]), "XYWHR")
    for name in ("CXCYWHR", "XYXYXYXY"):
        there = functional.convert_bounding_box_format(rotated, new_format=name)
        for source, target in ((rotated, there), (there, rotated)):
            actual = T.functional.convert_bounding_box_format(source, new_format=target.format)
            assert actual.format == target.format
            assert (actual - target).abs().max() < 1e-4  # seen: 0 and 7.6e-6


FLIPS = {
    "horizontal": ([T.RandomHorizontalFlip(1.0)], ["horizontal_flip"]),
    "vertical": ([T.RandomVerticalFlip(1.0)], ["vertical_flip"]),
    "both": ([T.RandomVerticalFlip(1.0), T.RandomHorizontalFlip(1.0)], ["vertical_flip", "horizontal_flip"]),
}


@pytest.mark.parametrize("name", FLIPS)
def test_corners_keep_their_way_round_as_in_torchvision(name):
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    rng = np.random.default_rng(0)
    turned = np.column_stack(
        [rng.uniform(20, 30, (50, 2)), rng.uniform(4, 12, (50, 2)), rng.uniform(0, 360, 50)]
    )
    corners = torch.from_numpy(box_convert(turned, "cxcywha", "xyxyxyxy"))
    given = boxes(corners, "XYXYXYXY")
    transforms, calls = FLIPS[name]
    _, moved = T.Compose(transforms)(IMAGE, {"boxes": given}, epoch=0)
    for call in calls:
        given = getattr(functional, call)(given)
    assert_same_bytes(moved["boxes"].as_subclass(torch.Tensor), given.as_subclass(torch.Tensor))


def test_transforms_that_read_boxes_know_their_format():
    pipeline = T.Compose([T.RandomIoUCrop(sampler_options=(0.5,))], seed=2)
    corner = {"boxes": boxes([[20.0, 15.0, 40.0, 30.0]])}
    sized = {"boxes": boxes([[20.0, 15.0, 20.0, 15.0]], "XYWH")}
    plans = [pipeline.plan([(HEIGHT, WIDTH)], targets=[each], epoch=0).to_json() for each in (corner, sized)]
    assert plans[0] == plans[1]
    assert pipeline.plan([(HEIGHT, WIDTH)], targets=[corner], epoch=0).output_sizes.tolist() != [
        [HEIGHT, WIDTH]
    ]


def test_tv_tensors_follow_a_mosaic():
    images = tv_tensors.Image(photographs(4, 3, HEIGHT, WIDTH))
    pipeline = T.Compose([T.Mosaic((HEIGHT, WIDTH))])
    _, moved = pipeline(images, [{"boxes": boxes(), "labels": torch.tensor([1, 2])}] * 4, epoch=0)
    _, expected = pipeline(
        images, [{"boxes": torch.tensor(BOXES), "labels": torch.tensor([1, 2])}] * 4, epoch=0
    )
    for one, other in zip(moved, expected, strict=True):
        assert type(one["boxes"]) is tv_tensors.BoundingBoxes
        assert_same_bytes(one["boxes"].as_subclass(torch.Tensor), other["boxes"])
    with pytest.raises(ValueError, match="expected boxes of one format, but got xywh and xyxy"):
        pipeline(images, [{"boxes": boxes()}] * 3 + [{"boxes": boxes(name="XYWH")}], epoch=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: {"truth": boxes()}, "expected BoundingBoxes under boxes, but image 1 has it under truth"),
        (lambda: {"scene": target()["masks"]}, "expected Mask under mask or masks or depth, but image 1"),
        (lambda: {"boxes": tv_tensors.Image(IMAGE)}, "expected Image under no name, but image 1"),
        (
            lambda: {"boxes": tv_tensors.wrap(boxes(), like=boxes(), canvas_size=(10, 10))},
            r"expected BoundingBoxes with canvas_size .*, as image 1 is, but got \[10, 10\]",
        ),
    ],
)
def test_wrong_tv_tensors_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        PIPELINE(torch.stack([IMAGE, IMAGE]), [target(), make()], epoch=0)


def test_tv_tensors_of_a_sample_follow_wherever_they_stand():
    crop, mask = CROP_TO_20, tv_tensors.Mask(target()["masks"][0])
    image, box, (found, label) = crop(
        (tv_tensors.Image(IMAGE), boxes(), [{"segmentation": mask}, 5]), epoch=0
    )
    expected_image, expected = crop(tv_tensors.Image(IMAGE), {"boxes": boxes(), "mask": mask}, epoch=0)
    assert torch.equal(image, expected_image)
    assert torch.equal(found["segmentation"], expected["mask"])
    assert label == 5
    kept = [row for row in box.tolist() if row[2] > row[0] and row[3] > row[1]]
    assert kept == expected["boxes"].tolist()
    assert len(box) == 2  # labels elsewhere keep their rows
    assert box.canvas_size == (20, 20)


def test_images_of_a_video_share_the_draws():
    crop = T.Compose([T.RandomResizedCrop(20, antialias=False), T.GaussianNoise(per_frame=False)])
    video = tv_tensors.Video(IMAGE.expand(3, -1, -1, -1))
    for result in (crop(video), crop((video, "a walk"))[0]):
        assert type(result) is tv_tensors.Video
        assert torch.equal(result[0], result[1])
        assert torch.equal(result[0], result[2])
    assert torch.equal(crop(video, sample_ids=[7])[2], crop(IMAGE, sample_ids=[7]))


def test_pure_tensors_of_tv_tensors():
    pipeline = T.Compose([CROP_TO_20, T.ToPureTensor()])
    image, moved, box = pipeline((tv_tensors.Image(IMAGE), target(), boxes()), epoch=0)
    assert {type(value) for value in (image, box, *moved.values())} == {torch.Tensor}
    assert type(pipeline(tv_tensors.Image(IMAGE), epoch=0)) is torch.Tensor
    _, moved = pipeline(tv_tensors.Image(IMAGE), target(), epoch=0)
    assert {type(value) for value in moved.values()} == {torch.Tensor}


def test_sixteen_bits_become_the_floats_of_torchvision():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    image = pytest.importorskip("PIL.Image").fromarray(np.arange(65536, dtype=np.uint16).reshape(256, 256))
    expected = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])(image)
    actual = T.Compose([T.ToImage(), T.ToDtype(torch.float32, scale=True)])(image)
    assert torch.equal(actual, expected.as_subclass(torch.Tensor))


@pytest.mark.parametrize("kind", ["Image", "Video"])
def test_images_of_a_batch_draw_for_themselves_and_frames_of_a_video_together(kind):
    images = IMAGE.expand(16, 3, HEIGHT, WIDTH)
    results = T.Compose([T.RandomCrop(9)])(getattr(tv_tensors, kind)(images), epoch=0)
    alike = [torch.equal(result, results[0]) for result in results]
    assert all(alike) == (kind == "Video")


def test_targets_of_different_types_are_listed():
    images = torch.zeros(2, 3, HEIGHT, WIDTH, dtype=torch.uint8)
    keypoints = [torch.zeros(1, 2), np.zeros((1, 2), np.float32)]
    _, target = T.Compose([T.RandomHorizontalFlip(1.0)])(images, {"keypoints": keypoints}, epoch=0)
    assert [type(each) for each in target["keypoints"]] == [torch.Tensor, np.ndarray]


@pytest.mark.parametrize("form", ["batch", "list"])
def test_each_video_of_a_batch_draws_for_itself(form):
    crop, ids = T.Compose([T.RandomResizedCrop(20, antialias=False)]), [3, 8]
    videos = torch.stack([IMAGE, IMAGE.flip(0)])[:, None].expand(-1, 3, -1, -1, -1)
    batch = tv_tensors.Video(videos) if form == "batch" else [tv_tensors.Video(video) for video in videos]
    result = crop(batch, sample_ids=ids)
    assert_same_bytes(torch.stack([*result]).as_subclass(torch.Tensor), crop(videos, sample_ids=ids))
    if form == "batch":
        assert type(result) is tv_tensors.Video


def test_videos_of_unequal_length_are_refused():
    videos = [tv_tensors.Video(IMAGE.expand(length, -1, -1, -1)) for length in (3, 2)]
    with pytest.raises(ValueError, match=r"expected clips \[3, C, H, W\].*but clip 1 has shape \[2, 3,"):
        T.RandomHorizontalFlip()(videos)


def test_targets_of_a_video_follow_its_frames():
    video, boxes = tv_tensors.Video(IMAGE.expand(3, -1, -1, -1)), [torch.tensor([[1.0, 2, 5, 6]])] * 3
    pipeline = T.Compose([T.RandomHorizontalFlip(1.0)])
    _, moved = pipeline(video, {"boxes": boxes, "label": 4}, epoch=0)
    assert [box.tolist() for box in moved["boxes"]] == [[[WIDTH - 5, 2, WIDTH - 1, 6]]] * 3
    assert moved["label"] == 4


def test_boxes_and_masks_under_other_names_follow_too():
    mask = target()["masks"]
    flip = T.Compose([T.RandomHorizontalFlip(1.0)])
    _, moved = flip((IMAGE, {"boxes": boxes(), "truth": boxes(), "masks": mask, "scene": mask}), epoch=0)
    flipped = [[WIDTH - right, top, WIDTH - left, bottom] for left, top, right, bottom in BOXES]
    assert moved["boxes"].tolist() == moved["truth"].tolist() == flipped
    for key in ("masks", "scene"):
        assert_same_bytes(moved[key].as_subclass(torch.Tensor), mask.as_subclass(torch.Tensor).flip(-1))
