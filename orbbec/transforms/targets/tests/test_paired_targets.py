"""Targets of MixUp and CutMix: those of both images, as far as they are visible."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T

SIZE = (20, 24)


def rectangles(rng, count):
    corner = rng.integers(0, (SIZE[1] - 3, SIZE[0] - 3), (count, 2))
    side = rng.integers(2, 12, (count, 2))
    return np.concatenate([corner, np.minimum(corner + side, SIZE[::-1])], 1)


def masks_of(boxes):
    masks = torch.zeros(len(boxes), *SIZE, dtype=torch.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.tolist(), strict=True):
        mask[top:bottom, left:right] = 1
    return masks


def target_of(seed, count=4):
    rng = np.random.default_rng(seed)
    boxes = rectangles(rng, count)
    points = np.concatenate([boxes[:, :2], np.full((count, 1), 2.0)], 1)[:, None]
    return {
        "boxes": torch.from_numpy(boxes).float(),
        "labels": torch.arange(count) + 10 * seed,
        "masks": masks_of(boxes),
        "keypoints": torch.from_numpy(points),
        "id": seed,
    }


def batch(count=6):
    images = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, *SIZE).contiguous()
    return images, [target_of(n) for n in range(count)]


def bounds(mask):
    rows, columns = np.nonzero(mask)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


def test_a_mixup_has_the_targets_of_both_images():
    images, targets = batch()
    _, mixed = T.Compose([T.MixUp()])(images, targets, epoch=0)
    for n, target in enumerate(mixed):
        pair = targets[n], targets[n - 1]
        for key in ("boxes", "labels", "masks", "keypoints"):
            assert torch.equal(target[key], torch.cat([each[key] for each in pair])), key
        assert target["id"] == n


def test_boxes_of_a_cutmix_bound_what_is_visible():
    """Rectangular objects: the masks say what each image shows of them, and the boxes bound it."""
    images, targets = batch()
    pipeline, seen = T.Compose([T.CutMix(alpha=3.0)]), 0
    for epoch in range(40):
        mixed, changed = pipeline(images, targets, epoch=epoch)
        for n, target in enumerate(changed):
            shows_other = (mixed[n, 0] != n).numpy()
            expected = []
            for index, hidden in ((n, shows_other), ((n - 1) % 6, ~shows_other)):
                for label, mask in zip(targets[index]["labels"], targets[index]["masks"], strict=True):
                    rest = mask.numpy() * ~hidden
                    if rest.any():
                        expected.append((int(label), rest))
            assert target["labels"].tolist() == [label for label, _ in expected]
            assert np.array_equal(target["masks"].numpy(), np.stack([mask for _, mask in expected]))
            assert target["boxes"].tolist() == [bounds(mask) for _, mask in expected]
            seen += len(expected)
    assert seen > 1000


def test_points_under_the_rectangle_of_a_cutmix_are_invisible():
    images, targets = batch()
    options = T.TargetOptions(drop_boxes=False)
    mixed, changed = T.Compose([T.CutMix(alpha=3.0)], target_options=options)(images, targets, epoch=1)
    for n, target in enumerate(changed):
        for k, (x, y, visible) in enumerate(target["keypoints"][:, 0].tolist()):
            shown = int(mixed[n, 0, int(y), int(x)]) == (n if k < 4 else (n - 1) % 6)
            assert (visible == 2.0) == shown


def test_a_point_belongs_to_the_pixel_around_it():
    """Points half a pixel apart; those at edges belong to the next pixel."""
    images, targets = batch(3)
    y, x = np.mgrid[0 : SIZE[0] - 0.5 : 0.5, 0 : SIZE[1] - 0.5 : 0.5].reshape(2, -1)
    points = np.stack([x, y, np.ones_like(x)], 1)[None].repeat(4, 0)
    options = T.TargetOptions(drop_boxes=False)
    mixed, changed = T.Compose([T.CutMix(alpha=3.0)], target_options=options)(
        images, [{**target, "keypoints": points} for target in targets], epoch=1
    )
    rows, columns = (np.floor(along + 0.5).astype(int) for along in (y, x))
    for n, target in enumerate(changed):
        shown = mixed[n, 0].numpy()[rows, columns] == n
        assert 0 < shown.sum() < len(shown)
        assert (target["keypoints"][:4, :, 2] == shown).all()
        assert (target["keypoints"][4:, :, 2] >= ~shown).all()  # an image shows the points at its end, too


@pytest.mark.parametrize("mix", [T.MixUp(), T.CutMix(), T.CopyPaste(), T.Mosaic(SIZE)], ids=lambda t: t.name)
def test_boxes_of_both_images_are_clipped_and_dropped_as_without_a_mix(mix):
    images, targets = torch.zeros(4, 3, *SIZE, dtype=torch.uint8), []
    for n in range(4):
        boxes = np.array([[-4.0, 3, 9, 40], [-9, -9, 0.25, 0.5], [18, -5, 30, 6]])
        masks = masks_of(boxes.clip(0, (*SIZE[::-1], *SIZE[::-1])).round().astype(int))
        targets.append({"boxes": boxes, "labels": np.arange(3) + 10 * n, "masks": masks})
    for target in T.Compose([mix])(images, targets, epoch=0)[1]:
        assert not any(label % 10 == 1 for label in target["labels"])
        assert (target["boxes"] >= 0).all()
        assert (target["boxes"][:, 2:] <= SIZE[::-1]).all()


def test_a_mask_of_classes_is_cut_but_not_blended():
    images, _ = batch()
    targets = [{"mask": torch.full(SIZE, n)} for n in range(6)]
    mixed, changed = T.Compose([T.CutMix(alpha=3.0)])(images, targets, epoch=0)
    for image, target in zip(mixed, changed, strict=True):
        assert torch.equal(image[0], target["mask"].to(torch.uint8))
    with pytest.raises(ValueError, match=r"mixup: a mask of classes cannot be blended; .* of image 0"):
        T.Compose([T.MixUp()])(images, targets, epoch=0)


def test_visibility_counts_what_a_cutmix_hides():
    images, boxes = torch.zeros(2, 3, *SIZE, dtype=torch.uint8), torch.tensor([[0.0, 0, 24, 20]])
    targets, fractions = [{"boxes": boxes}] * 2, []
    for least in (0.0, 0.6):
        options = T.TargetOptions(min_visibility=least)
        pipeline = T.Compose([T.CutMix(alpha=2.0)], target_options=options)
        for epoch in range(20):
            plan = pipeline.plan([SIZE] * 2, epoch=epoch)
            left, top, right, bottom = plan.mixes[0].table["boxes"][0]
            visible = 1 - (right - left) * (bottom - top) / 480
            if least:
                _, changed = pipeline(images, targets, epoch=epoch)
                expected = [part for part in (visible, 1 - visible) if part >= least]
                assert len(changed[0]["boxes"]) == len(expected)
            fractions.append(visible)
    assert min(fractions) < 0.6 < max(fractions)


def test_targets_without_a_meaning_are_refused():
    images, targets = batch(2)
    polygons = [{"boxes": t["boxes"], "polygons": [np.zeros((3, 2))] * 4} for t in targets]
    with pytest.raises(ValueError, match="cutmix: polygons cannot be cut; use masks"):
        T.Compose([T.CutMix(alpha=3.0)])(images, polygons, epoch=0)
    some = [{"boxes": targets[0]["boxes"]}, {"polygons": [np.zeros((3, 2))] * 4}]
    with pytest.raises(ValueError, match=r"cutmix: polygons cannot be cut; .* of image 1"):
        T.Compose([T.CutMix(alpha=3.0)])(images, some, epoch=0)
    with pytest.raises(ValueError, match=r"mixup: expected labels, one per box, .* image 1 has none"):
        T.Compose([T.MixUp()])(images, [targets[0], {"boxes": targets[1]["boxes"]}], epoch=0)


def test_labels_of_targets_may_be_vectors_next_to_numbers():
    vectors = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    targets = [{"label": vectors[0]}, {"label": torch.tensor(2)}]
    images = torch.tensor([0.0, 1.0]).reshape(2, 1, 1, 1).expand(2, 3, 4, 4).contiguous()
    mixed, labels = T.Compose([T.MixUp(num_classes=3)], seed=3)(images, targets, epoch=0)
    assert not torch.equal(mixed, images)
    for image, target in zip(mixed[:, 0, 0, :1], labels, strict=True):
        assert torch.allclose(target["label"], (1 - image) * vectors[0] + image * vectors[1])


@pytest.mark.parametrize("kind", ["tensors", "arrays", "both"])
@pytest.mark.parametrize("mix", [T.CutMix(alpha=3.0), T.CopyPaste(), T.Mosaic(SIZE, (0.5, 0.5))])
def test_masks_of_several_dtypes_have_one_that_holds_all_values(mix, kind):
    images, targets = batch(8)
    for n, target in enumerate(targets):
        values = torch.full(SIZE, 7, dtype=torch.uint8) if n % 2 else torch.full(SIZE, 300)
        target["mask"] = values.numpy() if kind == "arrays" or (kind == "both" and n % 3) else values
    _, mixed = T.Compose([mix])(images, targets, epoch=0)
    classes = [set(np.unique(target["mask"])) for target in mixed]
    assert set.union(*classes) == {7, 300}
    assert [type(target["mask"]) for target in mixed] == [type(target["mask"]) for target in targets]


@pytest.mark.parametrize("mix", [T.MixUp(num_classes=4), T.CutMix(num_classes=4)])
@pytest.mark.parametrize(
    ("label", "error", "message"),
    [
        ("cat", TypeError, "expected label as a number or a vector, but image 1 has 'cat'"),
        (None, TypeError, "expected label as a number or a vector, but image 1 has None"),
        (0.5, ValueError, "expected label from 0 to 3, but image 1 has 0.5"),
        (float("nan"), ValueError, "expected label from 0 to 3, but image 1 has nan"),
    ],
)
def test_labels_that_are_no_classes_are_named(mix, label, error, message):
    images, _ = batch(2)
    with pytest.raises(error, match=f"^{mix.name.lower()}: {message}"):
        T.Compose([mix])(images, [{"label": 2}, {"label": label}], epoch=0)
