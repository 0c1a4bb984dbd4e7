"""Targets of CopyPaste: masks by NumPy, boxes and areas by pycocotools."""

import numpy as np
import pytest
import torch

coco = pytest.importorskip("pycocotools.mask")

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan
from orbbec.transforms.targets.covered import lies_on
from tests.support import assert_same_bytes

SIZE, COUNT = (20, 24), 6


def ellipses(rng, count):
    """Masks of overlapping ellipses, uint8 `[K, H, W]`."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    centers, radii = rng.uniform((2, 2), (17, 21), (count, 2)), rng.uniform(2, 8, (count, 2))
    pairs = zip(centers, radii, strict=True)
    masks = [((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 <= 1 for (cy, cx), (ry, rx) in pairs]
    return np.array(masks, np.uint8).reshape(count, *SIZE)


def boxes_of(masks):
    """By pycocotools, as xyxy."""
    boxes = coco.toBbox(coco.encode(np.asfortranarray(masks.transpose(1, 2, 0)))).reshape(-1, 4)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)


def areas_of(masks):
    return coco.area(coco.encode(np.asfortranarray(masks.transpose(1, 2, 0)))).astype(float)


def target_of(seed):
    rng = np.random.default_rng(seed)
    masks = ellipses(rng, seed % 4)
    points = np.concatenate(
        [rng.integers(0, SIZE[::-1], (len(masks), 3, 2)), np.full((len(masks), 3, 1), 2)], 2
    )
    return {
        "boxes": torch.from_numpy(boxes_of(masks)),
        "labels": 10 * seed + np.arange(len(masks)),
        "masks": torch.from_numpy(masks),
        "area": areas_of(masks),
        "keypoints": points.astype(float),
        "landmarks": np.column_stack([rng.integers(0, SIZE[::-1], (5, 2)), np.full(5, 2)]).astype(float),
        "mask": torch.from_numpy(rng.integers(0, 99, SIZE) + 100 * seed),
        "image_id": seed,
    }


IMAGES = torch.arange(COUNT, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, *SIZE).contiguous()
TARGETS = [target_of(seed) for seed in range(COUNT)]


def expected_target(one, other, labels):
    """What an image shows once the objects with these labels lie on it, by NumPy and pycocotools."""
    chosen = np.isin(other["labels"], labels)
    cover = other["masks"].numpy()[chosen].any(0)
    left = one["masks"].numpy() * ~cover
    kept = left.any((1, 2))
    masks = np.concatenate([left[kept], other["masks"].numpy()[chosen]])
    points = np.concatenate([one["keypoints"][kept], other["keypoints"][chosen]])
    landmarks = one["landmarks"].copy()
    for table in (points[: kept.sum()].reshape(-1, 3), landmarks):
        table[cover[tuple(table[:, [1, 0]].astype(int).T)], 2] = 0
    return {
        "boxes": boxes_of(masks),
        "labels": np.concatenate([one["labels"][kept], other["labels"][chosen]]),
        "masks": masks,
        "area": areas_of(masks),
        "keypoints": points,
        "landmarks": landmarks,
        "mask": np.where(cover, other["mask"], one["mask"]),
        "image_id": one["image_id"],
        "cover": cover,
    }


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_pasted_objects_bring_their_targets_and_cover_others(p):
    pipeline, numbers = T.Compose([T.CopyPaste(p=p)], seed=3), []
    for epoch in range(30):
        pasted, changed = pipeline(IMAGES, TARGETS, epoch=epoch)
        for n, target in enumerate(changed):
            other = TARGETS[n - 1]
            labels = [label for label in target["labels"] if label in other["labels"]]
            expected = expected_target(TARGETS[n], other, labels)
            cover = expected.pop("cover")
            assert torch.equal(pasted[n, 0], torch.where(torch.from_numpy(cover), (n - 1) % COUNT, n).byte())
            for key, values in expected.items():
                assert np.array_equal(target[key], values), key
            if len(other["labels"]):
                numbers.append((len(labels), len(other["labels"])))
    counts = {pair: numbers.count(pair) for pair in set(numbers)}
    least = 1 if p == 1 else 0
    for total in (1, 2, 3):
        assert {number for number, of in counts if of == total} == set(range(least, total + 1))
    chances = sum(number > 0 for number, _ in numbers) / len(numbers)
    assert abs(chances - p) < 0.12


def test_an_object_of_which_nothing_is_left_has_no_box():
    masks = torch.ones(1, 4, 5, dtype=torch.uint8)
    target = {"boxes": torch.tensor([[0.0, 0, 5, 4]]), "masks": masks}
    options = T.TargetOptions(drop_boxes=False)
    _, changed = T.Compose([T.CopyPaste()], target_options=options)(
        torch.zeros(2, 3, 4, 5, dtype=torch.uint8), [target] * 2, epoch=0
    )
    for each in changed:
        assert each["boxes"].tolist() == [[0, 0, 0, 0], [0, 0, 5, 4]]
        assert each["masks"].sum((1, 2)).tolist() == [0, 20]


def test_at_most_so_many_objects_are_pasted():
    changed = T.Compose([T.CopyPaste(max_objects=1)])(IMAGES, TARGETS, epoch=0)[1]
    for n, target in enumerate(changed):
        assert np.isin(target["labels"], TARGETS[n - 1]["labels"]).sum() == min(
            len(TARGETS[n - 1]["labels"]), 1
        )


def test_each_object_is_pasted_as_often():
    masks = torch.eye(4, dtype=torch.uint8)[:, None]
    target = {"boxes": torch.tensor([[k, 0.0, k + 1, 1] for k in range(4)]), "masks": masks}
    none = {"boxes": torch.zeros(0, 4), "masks": masks[:0]}
    images = torch.tensor([0, 1], dtype=torch.uint8).repeat(150).reshape(-1, 1, 1, 1).expand(-1, 1, 1, 4)
    shown = T.CopyPaste()(images, [none, target] * 150, epoch=0)[0][::2, 0, 0]
    assert (shown.double().mean(0) - 0.625).abs().max() < 0.13  # 1 to 4 of 4 objects
    assert sorted(set(shown.sum(1).tolist())) == [1, 2, 3, 4]


def test_boxes_of_objects_that_lose_nothing_stay_as_annotated():
    """Boxes of annotators are wider than masks."""
    masks = torch.zeros(2, 4, 8, dtype=torch.bool)
    masks[0, 1:3, 1:3] = masks[1, 1:3, 5:7] = True
    loose = torch.tensor([[0.5, 0.5, 3.5, 3.5], [4.5, 0.5, 7.5, 3.5]])
    targets = [{"boxes": loose[:1], "masks": masks[:1]}, {"boxes": loose[1:], "masks": masks[1:]}]
    _, changed = T.CopyPaste()(torch.zeros(2, 3, 4, 8), targets)
    assert [target["boxes"].tolist() for target in changed] == [loose.tolist(), loose.flip(0).tolist()]
    targets = [{"boxes": loose[:1], "masks": masks[:1] & False}, {"boxes": loose[1:], "masks": masks[1:]}]
    _, changed = T.CopyPaste()(torch.zeros(2, 3, 4, 8), targets)
    assert changed[0]["boxes"].tolist() == loose.tolist()


@pytest.mark.parametrize(
    ("options", "is_kept"),
    [
        ({"min_visibility": 0.25}, True),
        ({"min_visibility": 0.26}, False),
        ({"min_size": 2.0}, True),
        ({"min_size": 2.5}, False),
        ({"min_area": 4.0}, True),
        ({"min_area": 5.0}, False),
        ({"min_area": 5.0, "drop_boxes": False}, True),
    ],
)
def test_objects_of_which_too_little_is_left_are_dropped(options, is_kept):
    """2 by 8 pixels, of which 2 by 2 are left."""
    masks = torch.zeros(2, 4, 12, dtype=torch.bool)
    masks[0, 1:3, :8] = masks[1, :, 2:12] = True
    targets = [
        {"boxes": torch.tensor([box]), "masks": masks[[n]]}
        for n, box in enumerate([[0.0, 1, 8, 3], [2.0, 0, 12, 4]])
    ]
    pipeline = T.Compose([T.CopyPaste()], target_options=T.TargetOptions(**options))
    _, changed = pipeline(torch.zeros(2, 3, 4, 12), targets, epoch=0)
    assert changed[0]["boxes"].tolist() == [[0.0, 1, 2, 3]] * is_kept + [[2.0, 0, 12, 4]]
    assert changed.report.dropped[0] == (not is_kept)


def test_visibility_counts_what_earlier_crops_cut_off():
    masks = torch.ones(1, 4, 8, dtype=torch.bool)
    other = {"boxes": torch.tensor([[2.0, 0, 4, 4]]), "masks": masks.clone()}
    other["masks"][..., :2] = other["masks"][..., 4:] = False
    targets = [{"boxes": torch.tensor([[0.0, 0, 8, 4]]), "masks": masks}, other]
    for least, count in ((0.24, 2), (0.26, 1)):  # half is cut off, then half of the rest is covered
        options = T.TargetOptions(min_visibility=least)
        pipeline = T.Compose([T.CenterCrop((4, 4)), T.CopyPaste()], target_options=options)
        changed = pipeline(torch.zeros(2, 3, 4, 8), targets, epoch=0)[1]
        assert len(changed[0]["boxes"]) == count


def test_results_do_not_depend_on_what_images_are(accelerator):
    pipeline = T.Compose([T.CopyPaste(), T.RandomHorizontalFlip()], seed=2)
    expected, _ = pipeline(IMAGES, TARGETS, epoch=4)
    batch = ImageBatch.from_images([image.permute(1, 2, 0) for image in IMAGES])
    where = "cuda" if accelerator.name == "cuda" else "cpu"
    with accelerator.active():
        for images in (batch.to(where), IMAGES.float().to(where), IMAGES.to(where)):
            result, _ = pipeline(images, TARGETS, epoch=4)
            assert_same_bytes(result.cpu().byte(), expected)


def test_a_plan_has_the_masks_once_targets_moved():
    pipeline = T.Compose([T.RandomCrop((16, 16)), T.CopyPaste(p=0.7), T.RandomHorizontalFlip()], seed=7)
    expected, changed = pipeline(IMAGES, TARGETS, epoch=2)
    plan = pipeline.plan([SIZE] * COUNT, epoch=2)
    with pytest.raises(ValueError, match="copy_paste: expected targets with masks; a plan gets them from"):
        pipeline.apply(plan, IMAGES)
    moved = T.transform_targets(plan, TARGETS)
    again = Plan.from_json(plan.to_json())
    for each in (plan, again):
        assert torch.equal(pipeline.apply(each, IMAGES), expected)
    assert np.array_equal(again.mixes[0].table["masks"], plan.mixes[0].table["masks"])
    for one, other, third in zip(moved, changed, T.transform_targets(again, TARGETS), strict=True):
        assert torch.equal(one["masks"], other["masks"])
        assert torch.equal(one["masks"], third["masks"])


def test_what_is_pasted_depends_on_the_sample_id():
    pipeline = T.Compose([T.CopyPaste()], seed=1)
    ids = [40, 41, 42, 43, 44, 45]
    _, changed = pipeline(IMAGES, TARGETS, sample_ids=ids, epoch=1)
    _, fewer = pipeline(IMAGES[2:4], TARGETS[2:4], sample_ids=ids[2:4], epoch=1)
    assert torch.equal(fewer[1]["masks"], changed[3]["masks"])
    others = [
        pipeline(IMAGES, TARGETS, sample_ids=ids, epoch=epoch)[1][4]["labels"].tolist() for epoch in range(9)
    ]
    assert len({tuple(labels) for labels in others}) > 1


def test_exact_pipelines_and_epochs():
    transforms = [T.Resize((10, 12), "nearest"), T.CopyPaste(epochs=(1, 2))]
    plain, exact = (T.Compose(transforms, seed=1, exact=exact) for exact in (False, True))
    for epoch in range(3):
        (one, targets), (other, same) = (each(IMAGES, TARGETS, epoch=epoch) for each in (plain, exact))
        assert torch.equal(one, other)
        has_other = [
            len(target["boxes"]) > len(given["boxes"]) for target, given in zip(targets, TARGETS, strict=True)
        ]
        assert any(has_other) == (epoch == 1)
        for target, again in zip(targets, same, strict=True):
            assert torch.equal(target["masks"], again["masks"])


def without(*keys, index=1):
    targets = [dict(target) for target in TARGETS]
    for key in keys:
        del targets[index][key]
    return targets


FAULTS = {
    "expected boxes and masks in the targets, but no image has masks": [{"label": 1}] * COUNT,
    "expected masks in the target of image 1, one per box, but got none": without("masks"),
    "expected boxes in the target of image 1, one per mask, but got none": without(
        "boxes", "area", "labels", "keypoints"
    ),
    "expected mask in the target of image 1, as other images have, but got none": without("mask"),
    "polygons cannot be cut; use masks, and leave polygons out in the target of image 1": [
        TARGETS[0],
        {**TARGETS[1], "polygons": [np.zeros((4, 2))]},
        *TARGETS[2:],
    ],
}


@pytest.mark.parametrize("text", FAULTS)
def test_targets_that_cannot_be_pasted_are_named(text):
    with pytest.raises(ValueError, match=f"copy_paste: {text}"):
        T.CopyPaste()(IMAGES, FAULTS[text])


def test_images_of_other_sizes_and_rotated_boxes_are_refused():
    masks = [torch.ones(1, height, 5, dtype=torch.bool) for height in (4, 6)]
    targets = [{"boxes": torch.tensor([[0.0, 0, 2, 2]]), "masks": mask} for mask in masks]
    images = [torch.zeros(3, height, 5, dtype=torch.uint8) for height in (4, 6)]
    text = "expected images of one size, but image 0 is 4x5 and image 1 6x5; put a resize or a crop before it"
    with pytest.raises(ValueError, match=f"copy_paste: {text}"):
        T.CopyPaste()(images, targets)
    rotated = T.Compose([T.CopyPaste()], target_options=T.TargetOptions("cxcywha"))
    target = {"boxes": torch.tensor([[1.0, 1, 2, 2, 9]]), "masks": masks[0]}
    with pytest.raises(ValueError, match=r"copy_paste: expected upright boxes, .* but got cxcywha"):
        rotated(torch.zeros(2, 3, 4, 5), [target] * 2, epoch=0)


@pytest.mark.parametrize("most", [0, -1, 1.5, "all"])
def test_a_wrong_number_of_objects_is_named(most):
    with pytest.raises((TypeError, ValueError), match="CopyPaste: expected max_objects"):
        T.CopyPaste(most)


def test_a_point_lies_on_the_pixel_around_it():
    mask = np.random.default_rng(0).random((4, 5)) < 0.5
    mask[[0, -1]], mask[:, [0, -1]] = True, True
    x, y = np.meshgrid(np.arange(-2, 7, 0.25), np.arange(-2, 6, 0.25))
    columns, rows = np.floor(x + 0.5).astype(int), np.floor(y + 0.5).astype(int)
    around = np.pad(mask, 3)[rows + 3, columns + 3]
    assert np.array_equal(lies_on(mask, np.stack([x, y], -1)), around)
    assert not lies_on(
        np.ones((4, 5), bool), np.array([[np.nan, 1.0], [1.0, np.nan], [-1e30, 1], [1, 1e30]])
    ).any()


def test_no_images_have_no_targets():
    plan = T.Compose([T.CopyPaste()]).plan([], epoch=0)
    assert T.transform_targets(plan, []) == []
