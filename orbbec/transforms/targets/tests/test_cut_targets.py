"""Targets of a crop that shares its pass with a warp that reads beyond it: clipped parts stay clipped."""

from itertools import product

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.nms.boxes import box_convert

HEIGHT, WIDTH = 40, 56
CROPS = {
    "center": T.CenterCrop((24, 30)),
    "random": T.RandomCrop((30, 21)),
    "iou": T.RandomIoUCrop(0.3, 0.7, sampler_options=(0.0, 0.1)),
    "resized": T.RandomResizedCrop((32, 28), (0.2, 0.6), interpolation="nearest", antialias=False),
    "applied": T.RandomApply([T.CenterCrop((24, 30))]),
}
FILLS = {
    "pad": T.Pad((3, 9, 12, 2)),
    "edge": T.Pad((3, 9, 12, 2), padding_mode="edge"),
    "reflect": T.Pad((3, 9, 12, 2), padding_mode="reflect"),
    "symmetric": T.Pad((3, 9, 12, 2), padding_mode="symmetric"),
    "letterbox": T.Letterbox((50, 45), fill=0, interpolation="nearest"),
    "rotation": T.RandomRotation(40),
    "affine": T.RandomAffine(20, (0.3, 0.3), (0.5, 1.4)),
    "perspective": T.RandomPerspective(0.5, 1.0, interpolation="nearest"),
    "zoom out": T.RandomZoomOut(p=1.0, side_range=(1.2, 2.0)),
    "nothing": T.RandomVerticalFlip(),
}
PAIRS = list(product(CROPS, FILLS))
SEEDS = range(3)
FORMATS = [("xyxy", 0.4), ("xyxy", 0.0), ("xywh", 0.4), ("cxcywha", 0.4), ("xyxyxyxy", 0.4)]


def random_image(seed):
    return np.random.default_rng(seed).integers(1, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)


def random_target(seed, box_format="xyxy"):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, (WIDTH - 2, HEIGHT - 2), (8, 2))
    high = np.minimum(low + rng.integers(2, 30, (8, 2)), (WIDTH, HEIGHT))
    boxes = np.concatenate([low, high], 1).astype(float)
    points = np.concatenate([rng.uniform(0, (WIDTH - 1, HEIGHT - 1), (8, 5, 2)), np.full((8, 5, 1), 2.0)], 2)
    return {
        "boxes": box_convert(boxes, "xyxy", box_format),
        "labels": np.arange(8),
        "keypoints": points,
        "polygons": [box[[0, 1, 2, 1, 2, 3, 0, 3]].reshape(4, 2) for box in boxes],
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("crop", "fill"), PAIRS)
def test_masks_show_what_the_image_shows(crop, fill, seed):
    image = random_image(seed)
    target = {"boxes": np.array([[9.0, 9, 30, 30]]), "mask": image[..., 0], "masks": image[None, ..., 1]}
    pipeline = T.Compose([CROPS[crop], T.RandomHorizontalFlip(), FILLS[fill]], seed=seed)
    plan = pipeline.plan([(HEIGHT, WIDTH)], targets=[target], epoch=0)
    # A center crop pads smaller images with zeros, a different border.
    borders_differ = crop in ("center", "applied") and fill in ("edge", "reflect", "symmetric")
    assert len(plan.passes) == 1 + borders_differ
    result = pipeline.apply(plan, image)
    (moved,) = T.transform_targets(plan, [{"mask": target["mask"], "masks": target["masks"]}])
    assert (moved["mask"] == result[..., 0]).all()
    assert (moved["masks"][0] == result[..., 1]).all()


@pytest.mark.parametrize(("box_format", "min_visibility"), FORMATS)
@pytest.mark.parametrize(("crop", "fill"), PAIRS)
def test_targets_are_those_of_two_passes(crop, fill, box_format, min_visibility):
    if crop == "iou" and box_format in ("cxcywha", "xyxyxyxy"):
        return  # reads upright boxes
    options = T.TargetOptions(box_format, min_size=1e-6, min_visibility=min_visibility)
    for seed in SEEDS:
        target, results = random_target(seed, box_format), []
        for exact in (False, True):
            pipeline = T.Compose([CROPS[crop], FILLS[fill]], seed=seed, exact=exact, target_options=options)
            plan = pipeline.plan([(HEIGHT, WIDTH)], targets=[target], epoch=0)
            results.append(T.transform_targets(plan, [target], options))
        assert_same_targets(*results)


def assert_same_targets(results, expected):
    assert results.report == expected.report
    for one, other in zip(results, expected, strict=True):
        assert one["labels"].tolist() == other["labels"].tolist()
        assert np.allclose(one["boxes"], other["boxes"], rtol=0, atol=1e-9)
        assert np.allclose(one["keypoints"], other["keypoints"], rtol=0, atol=1e-9)
        for own, same in zip(one["polygons"], other["polygons"], strict=True):
            assert_same_outline(own, same)


def assert_same_outline(polygon, expected):
    """Whether polygons are equal, ignoring repeated corners."""
    assert (len(polygon) == 0) == (len(expected) == 0)
    if len(polygon):
        distance = np.abs(polygon[:, None] - expected).max(-1)
        assert distance.min(0).max() < 1e-9
        assert distance.min(1).max() < 1e-9


def test_a_mosaic_of_what_was_cut_and_padded():
    pipeline = [T.RandomCrop((20, 24)), T.Pad(6), T.Mosaic((40, 40), fill=0)]
    images, targets = [random_image(n) for n in range(4)], [random_target(n) for n in range(4)]
    for target, image in zip(targets, images, strict=True):
        target["mask"] = image[..., 0]
    options = T.TargetOptions(min_visibility=0.3)
    (result, fused), (_, expected) = (
        T.Compose(pipeline, exact=exact, target_options=options)(images, targets, epoch=0)
        for exact in (False, True)
    )
    assert_same_targets(fused, expected)
    for image, target in zip(result, fused, strict=True):
        assert (target["mask"] == image[0].numpy()).all()


def test_small_parts_are_those_of_the_result():
    """Sides are measured at the end of the pass: a sliver that grows is kept, as without `Pad`."""
    grow = T.RandomResizedCrop(64, (0.25, 0.25), (1.0, 1.0), antialias=False)
    (left, _, _, _) = T.Compose([grow]).plan([(32, 32)], epoch=0).passes[0].regions[0].tolist()
    target = {"boxes": np.array([[0.0, 0.0, left + 0.5, 32.0]])}
    for pipeline in ([grow], [grow, T.Pad(4)]):
        (moved,) = T.transform_targets(T.Compose(pipeline).plan([(32, 32)], epoch=0), [target])
        assert np.ptp(moved["boxes"][0, ::2]) == 2.0


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("box_format", ["xyxy", "cxcywha", "xyxyxyxy"])
def test_what_was_cut_off_is_counted_once(box_format, exact):
    """Three quarters are left after the crop, and after the flips that follow."""
    boxes = box_convert(np.array([[10.0, 20.0, 30.0, 40.0]]), "xyxy", box_format)
    pipeline = [T.CenterCrop((40, 30)), T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)]
    for least, count in ((0.74, 1), (0.76, 0)):
        options = T.TargetOptions(box_format, min_visibility=least)
        pipelineed = T.Compose(pipeline, exact=exact, target_options=options)
        (moved,) = T.transform_targets(pipelineed.plan([(60, 60)], epoch=0), [{"boxes": boxes}], options)
        assert len(moved["boxes"]) == count
