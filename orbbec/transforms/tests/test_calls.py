"""Images, boxes and points compared with torchvision's for the same parameters (torchvision.npz)."""

from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.plan import Fusion, Plan, apply
from orbbec.plan.steps import (
    BatchState,
    Colors,
    Erase,
    Operator,
    Warp,
    color_row,
    matrix_row,
)
from orbbec.transforms.adjustments import BRIGHTNESS_OF, GRAY, SATURATION_OF, adjustment_row
from orbbec.transforms.affine import Affine, Corners
from orbbec.transforms.base.transform import Chosen
from orbbec.transforms.cuts import Boxes
from orbbec.transforms.targets.targets import transform_targets
from orbbec.transforms.tests.record_torchvision import sample_image
from tests.support import assert_same_bytes, photographs

RECORDED = np.load(Path(__file__).with_name("torchvision.npz"))
HEIGHT, WIDTH = 17, 23
SIZES = np.array([[HEIGHT, WIDTH]])
STATE = BatchState(SIZES, 3, 1.0)
YES = Chosen(np.array([True]))
BOXES = np.array([[2.0, 3.0, 12.0, 9.0], [10.0, 8.0, 22.0, 16.0]])
POINTS = np.array([[4.0, 5.0], [15.0, 11.0]])


def affine(angle, translate=(0, 0), scale=1.0, shear=(0.0, 0.0)):
    return Affine(np.array([angle]), np.array([translate], float), np.array([scale]), np.array([shear]))


def box(left, top, width, height, size):
    return Boxes(*(np.array([float(value)]) for value in (left, top, width, height)), np.array([size]))


SKEWED = affine(20.0, (2, -1), 1.3, (5.0, -4.0))
ENDS = np.array([[[2, 3], [20, 1], [18, 15], [4, 12]]], float)
QUARTER = 0.25


def pad(mode):
    transform = T.Pad((1, 2, 3, 4), fill=QUARTER, padding_mode=mode)
    return transform.steps(transform.sample(SIZES, None), STATE)


def drawn(transform, params):
    return transform.steps(params, STATE)


def colors(rows):
    return [Colors(rows, contrast=True)]


ONE = np.array([1.0])
# The steps, and the largest allowed difference from torchvision, for values from 0 to 1. The largest seen are
# 7.7e-7 for warps (perspective) and 1.8e-7 for colors (saturation).
STEPS = {
    "affine": (drawn(T.RandomAffine(0, interpolation="linear", fill=QUARTER), SKEWED), 1e-6),
    "affine_center": (
        drawn(T.RandomAffine(0, interpolation="linear", fill=QUARTER, center=(3.0, 4.0)), SKEWED),
        1e-6,
    ),
    "affine_nearest": (drawn(T.RandomAffine(0, fill=QUARTER), SKEWED), 0),
    "rotate": (drawn(T.RandomRotation(0, "linear", fill=QUARTER), affine(-33.0)), 1e-6),
    "rotate_expand": (drawn(T.RandomRotation(0, "linear", expand=True, fill=QUARTER), affine(-33.0)), 1e-6),
    "rotate_90_expand": (drawn(T.RandomRotation(0, "linear", expand=True), affine(-90.0)), 0),
    "perspective": (drawn(T.RandomPerspective(fill=QUARTER), Corners(YES.chosen, ENDS)), 1e-6),
    "horizontal_flip": (drawn(T.RandomHorizontalFlip(), YES), 0),
    "vertical_flip": (drawn(T.RandomVerticalFlip(), YES), 0),
    "resize": (drawn(T.Resize((31, 11), antialias=False), box(0, 0, WIDTH, HEIGHT, (31, 11))), 1e-6),
    "resize_antialias": (drawn(T.Resize((9, 11)), box(0, 0, WIDTH, HEIGHT, (9, 11))), 1e-6),
    "center_crop": (drawn(T.CenterCrop((8, 12)), T.CenterCrop((8, 12)).sample(SIZES, None)), 0),
    "pad": (pad("constant"), 0),
    "pad_edge": (pad("edge"), 0),
    "pad_reflect": (pad("reflect"), 0),
    "pad_symmetric": (pad("symmetric"), 0),
    "brightness": (colors(adjustment_row(BRIGHTNESS_OF, 1.3 * ONE)), 0),
    "contrast": (colors(color_row("contrast", 0.6, count=1)), 3e-7),
    "saturation": (colors(adjustment_row(SATURATION_OF, 1.7 * ONE)), 3e-7),
    "hue": (colors(color_row("hue", 0.2, count=1)), 0),
    "gamma": (colors(color_row("gamma", 1.7, 0.9, count=1)), 3e-7),
    "grayscale": (colors(matrix_row(np.tile(GRAY, (3, 1)), 0.0, 1)), 0),
    "invert": (drawn(T.RandomInvert(), YES), 0),
    "posterize": (drawn(T.RandomPosterize(3), YES), 0),
    "solarize": (drawn(T.RandomSolarize(0.6), YES), 0),
    "permute_channels": (drawn(T.RandomChannelPermutation(), np.array([[2, 0, 1]])), 0),
    "erase": ([Erase(np.array([[[5.0, 3, 12, 9, 0.1, 0.2, 0.3, 0]]]))], 0),
    "normalize": (drawn(T.Normalize(), None), 0),
}


def plan_of(steps):
    fusion = Fusion(SIZES, 3, "float32")
    for step in steps:
        fusion.add(step, "Step")
    return Plan(SIZES, np.array([0]), fusion.finish(), dtype="float32")


@pytest.mark.parametrize("name", STEPS)
def test_image_is_torchvisions(name):
    steps, tolerance = STEPS[name]
    result = apply(plan_of(steps), sample_image()[None])[0].numpy()
    expected = RECORDED[f"call.{name}.image"]
    assert result.shape == expected.shape
    assert np.abs(result - expected)[:, is_whole(steps)].max() <= tolerance


def is_whole(steps):
    """The pixels that do not blend image and fill, which torchvision blends differently: bool `[H, W]`."""
    plan = plan_of([step for step in steps if isinstance(step, (Warp, Operator))])
    seen = apply(plan, torch.ones(1, 3, HEIGHT, WIDTH))[0, 0].numpy()
    return (seen == 1) | (seen == QUARTER) | (seen == 0)


def test_crop_with_antialias_is_torchvisions_inside():
    # torchvision crops before it resizes; Pillow, whose filter this is, reads beyond the box.
    step = box(3, 2, 15, 12, (6, 9)).resized("linear", True, True)
    result = apply(plan_of([step]), sample_image()[None])[0].numpy()
    expected = RECORDED["call.resized_crop_antialias.image"]
    assert np.abs(result - expected)[:, 1:-1, 1:-1].max() < 1e-6


@pytest.mark.parametrize("name", [name for name in STEPS if f"call.{name}.boxes" in RECORDED])
def test_boxes_and_points_are_torchvisions(name):
    target = {"boxes": BOXES, "keypoints": POINTS}
    (moved,) = transform_targets(plan_of(STEPS[name][0]), [target], T.TargetOptions(min_size=0.0))
    # torchvision rotates points about the center as if they were edges, half a pixel off (0.42 seen), and
    # shifts boxes and points of an expanded image differently from the image (0.23 and 1 seen).
    expanded = "expand" in name
    assert np.abs(moved["boxes"] - RECORDED[f"call.{name}.boxes"]).max() < (0.3 if expanded else 3e-6)
    assert np.abs(moved["keypoints"] - RECORDED[f"call.{name}.points"]).max() < (1.01 if expanded else 0.5)


def test_crops_are_those_of_resized_crop():
    # cv2 rounds its weights to 11 bits; the largest difference seen is one level, in 13 % of the values.
    images = photographs(4, 3, 60, 80)
    pipeline = T.Compose([T.RandomResizedCrop(32, antialias=False)], seed=1)
    plan = pipeline.plan([(60, 80)] * 4, epoch=0)
    boxes = torch.from_numpy(plan.passes[0].regions)
    difference = (
        pipeline.apply(plan, images).int() - orbbec.resized_crop(images, boxes, (32, 32)).int()
    ).abs()
    assert difference.max() <= 1
    assert (difference > 0).float().mean() < 0.2
    smooth = T.Compose([T.RandomResizedCrop(32)], seed=1)
    assert_same_bytes(smooth(images, epoch=0), orbbec.resized_crop(images, boxes, (32, 32), antialias=True))
