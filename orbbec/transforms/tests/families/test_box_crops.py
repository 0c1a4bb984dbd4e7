"""Crops by boxes: Albumentations' rules written in NumPy, what they promise of boxes, invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.plan import Stream

COUNT, SIZE, SEED = 300, (90, 70), 3
IDS = np.arange(COUNT)


def targets(most=4):
    """Up to `most` boxes per image, some of an edge or a fraction of a pixel."""
    rng = np.random.default_rng(1)
    found = []
    for n in range(COUNT):
        ends = np.sort(rng.uniform(0, 1, (n % (most + 1), 2, 2)), 1) * SIZE[::-1]
        found.append({"boxes": np.round(ends.reshape(-1, 4), n % 3), "labels": np.arange(len(ends))})
    return found


def positions():
    """The position of each pixel, from 1."""
    y, x = np.mgrid[1 : SIZE[0] + 1, 1 : SIZE[1] + 1]
    return torch.from_numpy(np.stack([y, x, 0 * x]).astype(np.uint8)).expand(COUNT, -1, -1, -1)


def cropped(transform, originals):
    """Left, top, right and bottom of the region of each image, and the targets after it."""
    pipeline = T.Compose([transform], seed=SEED, target_options=T.TargetOptions(min_size=0.0))
    results, outcomes = pipeline(list(positions()), originals, epoch=0, sample_ids=IDS)
    if not isinstance(results, torch.Tensor):  # of several sizes: `[H, W, 3]`
        results = [image.permute(2, 0, 1) for image in results]
    ends = [(image[1, 0, 0], image[0, 0, 0], image[1, -1, -1], image[0, -1, -1]) for image in results]
    return [[int(left) - 1, int(top) - 1, int(x), int(y)] for left, top, x, y in ends], outcomes


def widest(boxes):
    return boxes[(boxes[:, 2:] > boxes[:, :2]).all(1)]


def safe_region(boxes, draws, rate):
    """Albumentations' rule; the right and the lower edge are rounded up."""
    height, width = SIZE
    boxes = widest(boxes)
    if len(boxes) == 0 or rate == 1:
        least = max(1, int(height * (1 - rate)))
        rows = least + int(draws[0] * (height - least + 1))
        columns = max(1, int(rows * width / height))
        top, left = int(draws[1] * (height - rows + 1)), int(draws[2] * (width - columns + 1))
        return [left, top, left + columns, top + rows]
    low, high = boxes[:, :2].min(0), boxes[:, 2:].max(0)
    if len(boxes) > 1:
        low, high = low + (high - low) * rate / 2, high - (high - low) * rate / 2
    right, bottom = np.ceil(high + (np.array([width, height]) - high) * draws[2:])
    return [int(low[0] * draws[0]), int(low[1] * draws[1]), int(right), int(bottom)]


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_safe_regions_are_those_of_albumentations(rate):
    originals = targets()
    regions, _ = cropped(T.BBoxSafeRandomCrop(rate), originals)
    draws = Stream(IDS, SEED, 0, 0).uniforms(5)[:, 1:]
    wanted = [safe_region(each["boxes"], row, rate) for each, row in zip(originals, draws, strict=True)]
    assert regions == wanted


def test_safe_regions_have_all_boxes_whole():
    originals = targets()
    _, outcomes = cropped(T.BBoxSafeRandomCrop(), originals)
    for before, after in zip(originals, outcomes, strict=True):
        whole = widest(before["boxes"])
        assert len(after["boxes"]) == len(whole)
        sides = after["boxes"][:, 2:] - after["boxes"][:, :2]
        np.testing.assert_allclose(sides, whole[:, 2:] - whole[:, :2], atol=1e-9)


def allowed(box, size, factor):
    """The range of the first pixel along x and y, as Albumentations has it, before rounding."""
    sides = np.array(size[::-1])
    rest = (box[2:] - box[:2]) * (1 - factor)
    ends = np.stack([box[:2] + rest - sides, box[2:] - rest]).clip(0, np.array(SIZE[::-1]) - sides)
    return np.sort(ends, 0)


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("size", [(40, 30), (12, 66)])
def test_regions_with_a_box_are_those_of_albumentations(size, factor):
    originals = targets()
    regions, _ = cropped(T.AtLeastOneBBoxRandomCrop(size, factor), originals)
    draws = Stream(IDS, SEED, 0, 0).uniforms(4)[:, 1:]
    for each, row, region in zip(originals, draws, regions, strict=True):
        boxes = widest(each["boxes"])
        corner = np.array(region[:2])
        assert region[2:] == (corner + size[::-1]).tolist()
        if len(boxes) == 0:
            spare = np.array(SIZE[::-1]) - size[::-1]
            assert corner.tolist() == np.floor(row[1:] * (spare + 1)).tolist()
            continue
        low, high = allowed(boxes[int(row[0] * len(boxes))], size, factor)
        assert ((corner > low - 1) & (corner < high + 1)).all()


def test_regions_have_the_chosen_box_and_reach_both_ends():
    box = np.array([20.0, 30.0, 40.0, 50.0])
    originals = [{"boxes": box[None]}] * COUNT
    regions, outcomes = cropped(T.AtLeastOneBBoxRandomCrop((40, 30)), originals)
    corners = np.array(regions)[:, :2]
    assert corners.min(0).tolist() == [10, 10]
    assert corners.max(0).tolist() == [20, 30]
    for after in outcomes:
        np.testing.assert_allclose(after["boxes"][0, 2:] - after["boxes"][0, :2], [20, 20])


def test_regions_have_a_pixel_of_the_mask_where_earlier_steps_left_it():
    masks = np.zeros((COUNT, *SIZE), np.int64)
    rng = np.random.default_rng(4)
    masks[np.arange(COUNT), rng.integers(0, 90, COUNT), rng.integers(0, 70, COUNT)] = 1 + np.arange(COUNT) % 3
    originals = [{"mask": mask} for mask in masks]
    crop = T.CropNonEmptyMaskIfExists((30, 20), ignore_values=(3,))
    for before in ([], [T.RandomHorizontalFlip(1.0)], [T.Resize((180, 140), "nearest")]):
        pipeline = T.Compose([*before, crop], seed=SEED)
        results, outcomes = pipeline(positions(), originals, epoch=0, sample_ids=IDS)
        assert results.shape == (COUNT, 3, 30, 20)
        seen = np.array([outcome["mask"].max() for outcome in outcomes])
        assert (seen[masks.max((1, 2)) != 3] > 0).all()
        assert (seen[masks.max((1, 2)) == 3] == 0).any()


@pytest.mark.parametrize("transform", [T.BBoxSafeRandomCrop(0.4), T.AtLeastOneBBoxRandomCrop((40, 30))])
def test_without_targets_images_have_no_boxes(transform):
    pipeline = T.Compose([transform], seed=SEED)
    results = pipeline(list(positions()), epoch=0, sample_ids=IDS)
    expected, _ = pipeline(list(positions()), [{}] * COUNT, epoch=0, sample_ids=IDS)
    assert len({tuple(result.shape) for result in results} | {tuple(result[0, 0]) for result in results}) > 9
    for one, other in zip(results, expected, strict=True):
        assert torch.equal(one, other)


def test_boxes_are_those_that_earlier_steps_left():
    originals = [{"boxes": np.array([[5.0, 8.0, 15.0, 20.0]])}] * COUNT
    flip = T.RandomHorizontalFlip(1.0)
    pipeline = T.Compose([flip, T.AtLeastOneBBoxRandomCrop((30, 20))], seed=SEED)
    results, outcomes = pipeline(positions(), originals, epoch=0, sample_ids=IDS)
    assert results.shape == (COUNT, 3, 30, 20)
    for after in outcomes:
        np.testing.assert_allclose(after["boxes"][0, 2:] - after["boxes"][0, :2], [10, 12])


@pytest.mark.parametrize("kind", [T.BBoxSafeRandomCrop, lambda p: T.AtLeastOneBBoxRandomCrop(20, p=p)])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_the_fraction_of_cropped_images_is_the_probability(kind, p):
    originals = [{"boxes": np.array([[25.0, 28.0, 35.0, 40.0]])}] * COUNT
    transform = kind(p=p)
    regions, _ = cropped(transform, originals)
    changed = np.mean([region != [0, 0, *SIZE[::-1]] for region in regions])
    assert abs(changed - p) <= 4.5 * (p * (1 - p) / COUNT) ** 0.5  # 4.5 deviations: 7 times in a million


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.BBoxSafeRandomCrop(2.0), "BBoxSafeRandomCrop: expected erosion_rate as a number from 0"),
        (lambda: T.CropNonEmptyMaskIfExists(3, (0.5,)), "expected ignore_values as a whole number"),
        (
            lambda: T.CropNonEmptyMaskIfExists((91, 3))(positions()[0], {"mask": np.zeros(SIZE, np.uint8)}),
            "CropNonEmptyMaskIfExists: expected images of at least 91x3, but image 0 is 90x70",
        ),
        (lambda: T.AtLeastOneBBoxRandomCrop(0), "AtLeastOneBBoxRandomCrop: expected size"),
        (lambda: T.AtLeastOneBBoxRandomCrop(5, -1), "expected erosion_factor as a number from 0 to 1"),
        (
            lambda: T.Compose([T.Resize(9), T.MixUp(), T.BBoxSafeRandomCrop()])(positions(), targets()),
            "BBoxSafeRandomCrop: ",
        ),
        (
            lambda: T.AtLeastOneBBoxRandomCrop((91, 3))(positions()[0], targets()[1]),
            "AtLeastOneBBoxRandomCrop: expected images of at least 91x3, but image 0 is 90x70",
        ),
        (
            lambda: T.BBoxSafeRandomCrop()(positions()[0], {"boxes": np.zeros((2, 5))}),
            r"BBoxSafeRandomCrop: expected boxes .*\[2, 5\]",
        ),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_overlap_of_1_asks_for_the_whole_image():
    crop = T.RandomIoUCrop(0.5, 0.5, sampler_options=(1.0,))
    targets = [{"boxes": np.array([[0.0, 0.0, 1.0, 1.0]])}] * 40  # what a crop of one pixel may overlap by 1
    assert (T.Compose([crop]).plan([(2, 2)] * 40, targets=targets, epoch=0).output_sizes == 2).all()
