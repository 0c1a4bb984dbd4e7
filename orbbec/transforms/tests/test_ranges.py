"""Asymmetric ranges: what is drawn lies in the range, fills it, and shows in images, boxes and points."""

import colorsys

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T

COUNT = 240
SIZES = np.array([[60, 90], [90, 50], [71, 71]])


def sizes_of(count=COUNT):
    return SIZES[np.arange(count) % len(SIZES)]


def plan_of(transform, targets=None):
    return T.Compose([transform], seed=7).plan(sizes_of(), epoch=1, targets=targets)


def assert_fills(values, low, high, slack=0.0):
    """Values lie in a range up to a slack of rounding, and some are near both ends."""
    span = high - low
    assert low - slack <= values.min() < low + 0.1 * span + slack
    assert high + slack >= values.max() > high - 0.1 * span - slack


def regions_of(plan):
    """Width and height of the part of each image that becomes the output."""
    (step,) = plan.passes
    scale = step.matrix[:, [0, 1], [0, 1]]
    return scale * step.sizes[:, ::-1]


def axes_after(transform):
    """The steps (1, 0) and (0, 1) from the center of each image after a transform, `[N, 2, 2]`; its shift."""
    images = ImageBatch.from_images([np.zeros((*size, 3), np.uint8) for size in sizes_of()])
    centers = (sizes_of()[:, ::-1] - 1) / 2
    targets = [{"keypoints": center + np.array([[0.0, 0], [1, 0], [0, 1]])} for center in centers]
    _, moved = T.Compose([transform], seed=7)(images, targets, epoch=1)
    points = np.stack([target["keypoints"] for target in moved])
    return points[:, 1:] - points[:, :1], points[:, 0] - centers


def degrees_of(vectors):
    """Clockwise angles on screen, from the direction of x."""
    return np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0]))


@pytest.mark.parametrize("ratio", [(1.5, 2.5), (0.3, 0.6)])
def test_crops_have_the_areas_and_the_ratios_of_width_to_height(ratio):
    width, height = regions_of(plan_of(T.RandomResizedCrop(20, (0.1, 0.2), ratio, antialias=False))).T
    assert_fills(width / height, *ratio, slack=0.15)
    assert_fills(width * height / sizes_of().prod(1), 0.1, 0.2, slack=0.01)


@pytest.mark.parametrize("ratio", [(1.5, 2.5), (0.3, 0.6)])
def test_erased_regions_have_the_areas_and_the_ratios_of_height_to_width(ratio):
    images = ImageBatch.from_images([np.zeros((*size, 3), np.uint8) for size in sizes_of()])
    erased = T.Compose([T.RandomErasing(1.0, (0.1, 0.2), ratio, 255)], seed=7)(images, epoch=1)
    shapes = [[int((image[..., 0] > 0).any(axis).sum()) for axis in (1, 0)] for image in erased]
    height, width = np.array(shapes).T
    assert_fills(height / width, *ratio, slack=0.15)
    assert_fills(width * height / sizes_of().prod(1), 0.1, 0.2, slack=0.01)


@pytest.mark.parametrize("ratio", [(1.2, 2.0), (0.4, 0.8)])
def test_crops_around_boxes_have_the_scales_and_the_ratios_of_width_to_height(ratio):
    boxes = [{"boxes": np.array([[0.0, 0.0, width, height]])} for height, width in sizes_of()]
    plan = plan_of(T.RandomIoUCrop(0.5, 0.9, *ratio, sampler_options=(0.0,)), boxes)
    assert "holds RandomIoUCrop" in str(plan)
    regions = regions_of(plan)
    sides = sizes_of()[:, ::-1]
    cropped = (regions != sides).any(1)  # images of some shapes have no such region
    assert cropped.mean() > 0.6
    regions, sides = regions[cropped], sides[cropped]
    assert_fills(regions[:, 0] / regions[:, 1], *ratio, slack=0.01)
    for axis in (0, 1):
        assert_fills(regions[:, axis] / sides[:, axis], 0.5, 0.9, slack=0.02)


@pytest.mark.parametrize("degrees", [(10.0, 40.0), (-80.0, -30.0)])
def test_rotations_are_counter_clockwise_and_affine_ones_clockwise(degrees):
    x, y = axes_after(T.RandomAffine(degrees))[0].transpose(1, 0, 2)
    assert_fills(degrees_of(x), *degrees)
    assert_fills(degrees_of(y) - 90, *degrees)
    x, y = axes_after(T.RandomRotation(degrees))[0].transpose(1, 0, 2)
    assert_fills(-degrees_of(x), *degrees)
    assert_fills(90 - degrees_of(y), *degrees)


def test_scales_are_those_of_their_axes():
    x, y = axes_after(T.RandomAffine(0, scale=(0.5, 0.8)))[0].transpose(1, 0, 2)
    assert_fills(x[:, 0], 0.5, 0.8)
    assert np.allclose(x[:, 0], y[:, 1])
    x, y = axes_after(T.RandomAffine(0, scale=(0.5, 0.8, 1.1, 1.6)))[0].transpose(1, 0, 2)
    assert_fills(x[:, 0], 0.5, 0.8)
    assert_fills(y[:, 1], 1.1, 1.6)
    assert abs(np.corrcoef(x[:, 0], y[:, 1])[0, 1]) < 0.2


def test_shears_lean_along_their_axes():
    x, y = axes_after(T.RandomAffine(0, shear=(5, 20, -40, -30)))[0].transpose(1, 0, 2)
    # torchvision's forward matrix without rotation: [[1, -tan(along x)], [-tan(along y), 1 + both tangents]].
    assert_fills(-np.degrees(np.arctan(x[:, 1])), -40, -30)
    assert np.allclose(x[:, 0], 1)
    assert_fills(-np.degrees(np.arctan(y[:, 0])), 5, 20)
    x, y = axes_after(T.RandomAffine(0, shear=(5, 20)))[0].transpose(1, 0, 2)
    assert_fills(-np.degrees(np.arctan(y[:, 0])), 5, 20)
    assert np.allclose(x, [1, 0])


def test_shifts_are_fractions_of_the_side_along_them():
    _, shift = axes_after(T.RandomAffine(0, translate=(0.3, 0.1)))
    fractions = shift / sizes_of()[:, ::-1]
    assert np.allclose(shift, np.rint(shift))
    assert_fills(fractions[:, 0], -0.3, 0.3, slack=0.01)
    assert_fills(fractions[:, 1], -0.1, 0.1, slack=0.01)


def test_canvases_are_larger_by_the_range_and_hold_the_whole_image():
    (step,) = plan_of(T.RandomZoomOut(side_range=(1.2, 2.0), p=1.0)).passes
    assert_fills(step.sizes / sizes_of(), 1.2, 2.0, slack=0.02)
    left, top = -step.matrix[:, :2, 2].T
    margin = step.sizes - sizes_of()
    for begin, most in ((left, margin[:, 1]), (top, margin[:, 0])):
        assert (begin >= 0).all()
        assert (begin <= most).all()
        assert_fills(begin / most, 0, 1)


def test_random_sizes_are_those_of_their_own_image():
    sizes = sizes_of()
    scaled = plan_of(T.RandomScale((0.4, 0.8))).passes[0].sizes
    assert_fills(scaled / sizes, 0.4, 0.8, slack=0.02)
    jittered = plan_of(T.ScaleJitter((60, 40), (0.4, 0.9))).passes[0].sizes
    # torchvision's ratio is that of the target's width to the height, or of its height to the width.
    fit = np.minimum(40 / sizes[:, 0], 60 / sizes[:, 1])[:, None]
    assert_fills(jittered / (sizes * fit), 0.4, 0.9, slack=0.05)
    resized = plan_of(T.RandomResize(20, 33)).passes[0].sizes
    assert sorted(set(resized.min(1))) == list(range(20, 33))
    shortest = plan_of(T.RandomShortestSize((18, 30, 41), 44)).passes[0].sizes
    factors = np.minimum(np.array([[18], [30], [41]]) / sizes.min(1), 44 / sizes.max(1))
    expected = [{tuple(size) for size in (factors[:, n, None] * sizes[n]).astype(int)} for n in range(3)]
    for n in range(3):
        assert set(map(tuple, shortest[n::3])) == expected[n]


def test_colors_change_in_the_direction_of_their_ranges():
    gray = torch.full((COUNT, 3, 2, 2), 100, dtype=torch.uint8)
    red = gray.clone()
    red[:, 1:] = 0
    brighter = T.Compose([T.ColorJitter(brightness=(1.2, 1.6))])(gray, epoch=1)[:, 0, 0, 0]
    assert_fills(brighter.numpy(), 120, 160)
    pale = T.Compose([T.ColorJitter(saturation=(0.2, 0.5))])(red, epoch=1).float()
    # The gray of red is 0.2989 of it; a factor f leaves f of the difference.
    assert_fills(((pale[:, 0] - pale[:, 1]) / 100)[:, 0, 0].numpy(), 0.2, 0.5, slack=0.02)
    shifted = T.Compose([T.ColorJitter(hue=(0.1, 0.3))])(red, epoch=1)[:, :, 0, 0] / 100
    hues = np.array([colorsys.rgb_to_hsv(*color)[0] for color in shifted.tolist()])
    assert_fills(hues, 0.1, 0.3, slack=0.01)
    darker = T.Compose([T.Gamma((1.4, 2.5))])(gray, epoch=1)[:, 0, 0, 0].numpy()
    assert_fills(np.log(darker / 255) / np.log(100 / 255), 1.4, 2.5, slack=0.02)
    lighter = T.Compose([T.RandomBrightnessContrast((0.1, 0.3), (0.0, 0.0), 1.0)])(gray, epoch=1)
    assert_fills((lighter[:, 0, 0, 0].numpy() - 100.0) / 255, 0.1, 0.3, slack=0.005)


def test_points_are_aligned_where_a_perspective_left_them():
    template = [(5.0, 6.0), (20.0, 17.0)]
    images = ImageBatch.from_images([np.zeros((*size, 3), np.uint8) for size in SIZES])
    targets = [{"keypoints": size[::-1] * np.array([[0.3, 0.4], [0.6, 0.7]])} for size in SIZES]
    pipeline = T.Compose([T.RandomPerspective(0.8, 1.0), T.AlignPoints(30, template)], seed=7)
    for epoch in range(5):
        _, moved = pipeline(images, targets, epoch=epoch)
        # A similarity aligns two points exactly.
        assert np.stack([target["keypoints"] for target in moved]) == pytest.approx(
            np.array([template] * 3), abs=1e-6
        )


def test_images_without_points_are_resized_along_both_sides():
    images = ImageBatch.from_images([np.zeros((*size, 3), np.uint8) for size in SIZES])
    targets = [{"keypoints": np.array([[10.0, 30.0]])} for _ in SIZES]
    _, resized = T.AlignPoints((20, 50), [(1, 2), (9, 4)], "landmarks")(images, targets)
    expected = np.array([10.0, 30.0]) * [50, 20] / SIZES[:, ::-1]
    assert np.concatenate([target["keypoints"] for target in resized]) == pytest.approx(expected)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_images_with_points_are_aligned_whichever_others_have_none(order):
    points = [{"keypoints": np.array([[9.0, 8], [30, 35]])}, {}, {"keypoints": np.full((2, 2), np.nan)}]
    targets = [points[index] for index in order]
    images = ImageBatch.from_images([np.zeros((*SIZES[index], 3), np.uint8) for index in order])
    template = [(5.0, 6.0), (20.0, 17.0)]
    plan = T.Compose([T.AlignPoints(30, template)]).plan(images.sizes, targets=targets, epoch=0)
    matrices = plan.passes[0].matrix[np.argsort(order)]
    assert matrices[0, :2] @ [5, 6, 1] == pytest.approx([9, 8])
    assert matrices[0, :2] @ [20, 17, 1] == pytest.approx([30, 35])
    for index in (1, 2):
        height, width = SIZES[index]
        assert np.diag(matrices[index]) == pytest.approx([width / 30, height / 30, 1])


def test_faces_are_aligned_to_the_template_of_arcface():
    # InsightFace, recognition: eyes, nose, corners of the mouth for 112 x 112 pixels.
    template = [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
    rotated = np.array(template) @ [[0.6, 0.8], [-0.8, 0.6]] * 1.5 + [80, -20]
    image = torch.zeros(3, 200, 200, dtype=torch.uint8)
    _, moved = T.AlignFaces()(image, {"landmarks": rotated})
    assert moved["landmarks"] == pytest.approx(np.array(template))
