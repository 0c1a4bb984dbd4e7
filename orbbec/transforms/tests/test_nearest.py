"""Nearest resizes: the pixels that they read, compared with torch and OpenCV; masks read the same."""

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate

cv2 = pytest.importorskip("cv2")

from orbbec import transforms as T
from orbbec.data.decode.region import Regions, plan_for, regions_of
from orbbec.plan import apply

TORCH = {"nearest": "nearest", "nearest_exact": "nearest-exact"}
SIDES = [1, 2, 3, 4, 5, 7, 8, 12, 31, 32, 41, 45, 64, 75, 97, 100, 128, 150, 224, 225, 256, 300, 333, 375]
SIDES += [448, 500, 512, 640]
# torch computes positions in float32 and rounds some integers down, but no others: 1,839 of nearest-exact and
# 2,162 of nearest among the 8,720,530 positions for all sides below 260.
ROUNDED_DOWN = 2e-3


def numbered(height, width):
    """An image whose channels are the row and the column: float32 `[2, H, W]`."""
    return torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")).float()


def resized(interpolation, before, after, *more, exact=False):
    resize = T.Resize(after, interpolation, antialias=False)
    return T.Compose([resize, *more], exact=exact)(numbered(*before), epoch=0).long().numpy()


def rule(interpolation, before, after):
    """The pixel that is read, computed in integers."""
    at = np.arange(after)
    return at * before // after if interpolation == "nearest" else (2 * at + 1) * before // (2 * after)


def pairs():
    """Input and output sizes in which every pair of SIDES occurs along an axis."""
    count = len(SIDES)
    for shift in range(0, count, 4):
        for n in range(0, count, 2):
            after = SIDES[(n + shift) % count], SIDES[(n + 1 + shift) % count]
            yield (SIDES[n], SIDES[n + 1]), after


def test_halving_reads_as_torch():
    image = torch.arange(8, dtype=torch.uint8).reshape(1, 1, 8)
    for interpolation, expected in (("nearest_exact", [1, 3, 5, 7]), ("nearest", [0, 2, 4, 6])):
        for exact in (False, True):
            compose = T.Compose([T.Resize((1, 4), interpolation, antialias=False)], exact=exact)
            assert compose(image, epoch=0).flatten().tolist() == expected
        assert interpolate(image[None], (1, 4), mode=TORCH[interpolation]).flatten().tolist() == expected


@pytest.mark.parametrize("interpolation", TORCH)
def test_nearest_is_the_rule_that_is_stated(interpolation):
    for before, after in pairs():
        rows, columns = (rule(interpolation, *sides) for sides in zip(before, after, strict=True))
        result = resized(interpolation, before, after)
        assert (result[0] == rows[:, None]).all(), (before, after)
        assert (result[1] == columns).all(), (before, after)


@pytest.mark.parametrize("interpolation", TORCH)
def test_nearest_is_torchs_but_for_what_float32_rounds_down(interpolation):
    wrong = total = 0
    for before, after in pairs():
        result = resized(interpolation, before, after)
        expected = interpolate(numbered(*before)[None], after, mode=TORCH[interpolation])[0].long().numpy()
        difference = result - expected
        assert difference.min() >= 0
        assert difference.max() <= 1
        for axis, (side, end) in enumerate(zip(before, after, strict=True)):
            at = np.arange(end)
            top, bottom = (at * side, end) if interpolation == "nearest" else ((2 * at + 1) * side, 2 * end)
            own = difference[axis].max(1 - axis)
            assert (top % bottom == 0)[own > 0].all()
            wrong, total = wrong + int((own > 0).sum()), total + end
    assert wrong / total < ROUNDED_DOWN


@pytest.mark.parametrize("side", [8, 300, 720, 1080, 1920, 2160, 3000, 4000, 6000])
@pytest.mark.parametrize("interpolation", TORCH)
def test_whole_factors_are_torchs_at_any_size(interpolation, side):
    for factor in (2, 3, 4, 5, 8):
        after = side // factor
        before = after * factor
        expected = interpolate(numbered(1, before)[None], (1, after), mode=TORCH[interpolation])[0].long()
        assert (resized(interpolation, (1, before), (1, after)) == expected.numpy()).all()
        expected = interpolate(numbered(1, after)[None], (1, before), mode=TORCH[interpolation])[0].long()
        assert (resized(interpolation, (1, after), (1, before)) == expected.numpy()).all()


def test_exact_nearest_is_opencvs():
    for before, after in pairs():
        result = resized("nearest", before, after, exact=True)
        image = numbered(*before).permute(1, 2, 0).numpy()
        expected = cv2.resize(image, after[::-1], interpolation=cv2.INTER_NEAREST).reshape(*after, 2)
        assert (result == expected.transpose(2, 0, 1)).all(), (before, after)


TRANSFORMS = {
    "resize": lambda mode, size: T.Resize(size, mode, antialias=False),
    "crop": lambda mode, size: T.RandomResizedCrop(size, (0.1, 0.9), interpolation=mode, antialias=False),
    "letterbox": lambda mode, size: T.Letterbox(size, 0, mode),
    "jitter": lambda mode, size: T.ScaleJitter(size, (0.4, 1.7), mode, False),
    "shortest": lambda mode, size: T.RandomShortestSize(size[0], 200, mode, False),
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("mode", TORCH)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_masks_take_the_pixels_of_a_nearest_image(name, mode, exact):
    rng = np.random.default_rng(2)
    flip = T.RandomHorizontalFlip()
    for n in range(20):
        height, width = rng.integers(8, 200, 2).tolist()
        size = tuple(rng.integers(8, 200, 2).tolist())
        image = torch.from_numpy(rng.integers(1, 256, (1, height, width), dtype=np.uint8))
        target = {"mask": image[0].long(), "masks": image.repeat(2, 1, 1)}
        compose = T.Compose([TRANSFORMS[name](mode, size), flip], seed=n, exact=exact)
        result, moved = compose(image, target, epoch=0)
        assert torch.equal(moved["mask"], result[0].long())
        assert torch.equal(moved["masks"], result.repeat(2, 1, 1))


@pytest.mark.parametrize("mode", TORCH)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_flips_join_a_nearest_resize_without_another_pixel(name, mode):
    rng = np.random.default_rng(3)
    for n in range(20):
        height, width = (2 * rng.integers(4, 100, 2)).tolist()
        size = (height // 2, width // 2) if n % 2 else tuple(rng.integers(8, 200, 2).tolist())
        image = torch.from_numpy(rng.integers(0, 256, (3, height, width), dtype=np.uint8))
        steps = [T.RandomHorizontalFlip(1.0), TRANSFORMS[name](mode, size), T.RandomVerticalFlip(1.0)]
        fused = T.Compose(steps, seed=n)
        assert len(fused.plan([(height, width)], epoch=0).passes) == 1
        by_steps = image.flip(2)
        resized = T.Compose([T.RandomHorizontalFlip(0.0), steps[1]], seed=n)(by_steps, epoch=0)
        assert torch.equal(fused(image, epoch=0), resized.flip(1))


def test_boxes_and_points_do_not_know_the_rule():
    targets = {"boxes": torch.tensor([[2.0, 2, 6, 6]]), "keypoints": torch.tensor([[3.5, 3.5]])}
    for mode in TORCH:
        for transform in (T.Resize((4, 4), mode, antialias=False), T.Letterbox(4, 0, mode)):
            _, moved = T.Compose([transform])(torch.zeros(3, 8, 8, dtype=torch.uint8), targets, epoch=0)
            assert moved["boxes"].tolist() == [[1.0, 1.0, 3.0, 3.0]]
            assert moved["keypoints"].tolist() == [[1.5, 1.5]]


def test_some_images_alone_are_resized():
    images = torch.arange(8, dtype=torch.uint8).reshape(1, 1, 1, 8).repeat(16, 1, 1, 1)
    half = T.RandomApply([T.Resize((1, 4), "nearest_exact", antialias=False)], 0.5)
    results = T.Compose([half], seed=3)(images, epoch=0)
    found = {tuple(image.flatten().tolist()) for image in results}
    assert found == {tuple(range(8)), (1, 3, 5, 7)}


@pytest.mark.parametrize("mode", TORCH)
def test_a_part_that_was_decoded_alone_gives_the_same_pixels(mode):
    rng = np.random.default_rng(4)
    image = rng.integers(0, 256, (60, 90, 3), dtype=np.uint8)
    for n in range(20):
        crop = T.RandomResizedCrop((15, 20), (0.1, 0.9), interpolation=mode, antialias=False)
        plan = T.Compose([crop], seed=n).plan([(60, 90)], epoch=0)
        regions = regions_of(plan)
        left, top, right, bottom = regions.boxes[0].tolist()
        part = np.ascontiguousarray(image[top:bottom, left:right])
        assert np.array_equal(apply(plan_for(plan, regions), part), apply(plan, image))
        halved = Regions(np.array([[0, 0, 45, 30]]), np.array([2]))
        half, whole = plan_for(plan, halved).passes[0], plan.passes[0]
        assert np.allclose(half.offset, whole.offset / 2, rtol=0, atol=1e-12)
