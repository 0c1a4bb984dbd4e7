"""Images, boxes and points compared with torchvision's for the same parameters (torchvision.npz)."""

from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.plan import apply
from orbbec.plan.steps import Operator
from orbbec.transforms.affine import add_affine
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.targets.targets import transform_targets
from orbbec.transforms.tests.record_torchvision import sample_image
from orbbec.transforms.warps import reading_of, warp
from tests.support import assert_same_bytes, photographs
from tests.support.by_rules import by_rules

RECORDED = np.load(Path(__file__).with_name("torchvision.npz"))
HEIGHT, WIDTH = 17, 23
BOXES = np.array([[2.0, 3.0, 12.0, 9.0], [10.0, 8.0, 22.0, 16.0]])
POINTS = np.array([[4.0, 5.0], [15.0, 11.0]])
QUARTER = 0.25


def skewed(interpolation, center=None):
    """An affine warp: degrees, shift along x and y, scale along x and y, shear along x and y."""

    def add(build):
        numbers = build.constants([20.0, 2, -1, 1.3, 1.3, 5.0, -4.0])
        add_affine(build, numbers, (interpolation, "constant", (QUARTER,)), center)

    return by_rules(add)


class _Distorted(T.RandomPerspective):
    """A perspective of certain corners."""

    def rules(self, build):
        ends = np.array([[2.0, 3], [20, 1], [18, 15], [4, 12]])
        right, bottom = WIDTH - 1.0, HEIGHT - 1.0
        starts = np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]])
        half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        matrix = np.linalg.inv(half) @ orbbec.get_perspective_matrix(ends, starts) @ half
        warp(build, "matrix_warp", tuple(matrix.ravel().tolist()), reading=reading_of(self))


class _CutAndResized(Transform):
    """A box, resized with antialias."""

    def steps(self, params, state):
        box, options = np.array([[3.0, 2, 18, 14]]), {"interpolation": "linear", "antialias": True}
        sizes = np.array([[6, 9]])
        return [Operator("resized_crop", {"boxes": box}, options, matrix=np.eye(3)[None], sizes=sizes)]


def pad(mode):
    return T.Pad((1, 2, 3, 4), fill=QUARTER, padding_mode=mode)


def rotation(degrees, **how):
    return T.RandomRotation((degrees, degrees), "linear", **how)


# The transforms, and the largest allowed difference from torchvision, for values from 0 to 1. The largest
# seen are 7.7e-7 for warps (perspective) and 1.8e-7 for colors (saturation).
WARPS = {
    "affine": (skewed("linear"), 1e-6),
    "affine_center": (skewed("linear", center=(3.0, 4.0)), 1e-6),
    "affine_nearest": (skewed("nearest"), 0),
    "rotate": (rotation(33.0, fill=QUARTER), 1e-6),
    "rotate_expand": (rotation(33.0, expand=True, fill=QUARTER), 1e-6),
    "rotate_90_expand": (rotation(90.0, expand=True), 0),
    "perspective": (_Distorted(p=1.0, fill=QUARTER), 1e-6),
    "horizontal_flip": (T.RandomHorizontalFlip(1.0), 0),
    "vertical_flip": (T.RandomVerticalFlip(1.0), 0),
    "resize": (T.Resize((31, 11), antialias=False), 1e-6),
    "resize_antialias": (T.Resize((9, 11)), 1e-6),
    "center_crop": (T.CenterCrop((8, 12)), 0),
    "pad": (pad("constant"), 0),
    "pad_edge": (pad("edge"), 0),
    "pad_reflect": (pad("reflect"), 0),
    "pad_symmetric": (pad("symmetric"), 0),
}
COLORS = {
    "brightness": (T.ColorJitter(brightness=(1.3, 1.3)), 0),
    "contrast": (T.ColorJitter(contrast=(0.6, 0.6)), 3e-7),
    "saturation": (T.ColorJitter(saturation=(1.7, 1.7)), 3e-7),
    "hue": (T.ColorJitter(hue=(0.2, 0.2)), 0),
    "gamma": (T.Gamma((1.7, 1.7), 0.9), 3e-7),
    "grayscale": (T.Grayscale(3), 0),
    "invert": (T.RandomInvert(1.0), 0),
    "posterize": (T.RandomPosterize(3, 1.0), 0),
    "solarize": (T.RandomSolarize(0.6, 1.0), 0),
    "permute_channels": (
        by_rules(lambda build: build.colors("color_swap", build.constants([2, 0, 1]))),
        0,
    ),
    "erase": (by_rules(lambda build: build.erase(build.constants([5, 3, 12, 9, 0.1, 0.2, 0.3, 0]))), 0),
    "normalize": (T.Normalize(), 0),
}
STEPS = WARPS | COLORS


def plan_of(transform):
    return T.Compose([transform]).plan([(HEIGHT, WIDTH)], dtype="float32", epoch=0)


@pytest.mark.parametrize("name", STEPS)
def test_image_is_torchvisions(name):
    transform, tolerance = STEPS[name]
    result = apply(plan_of(transform), sample_image()[None])[0].numpy()
    expected = RECORDED[f"call.{name}.image"]
    assert result.shape == expected.shape
    difference = np.abs(result - expected)
    if name in WARPS:
        difference = difference[:, is_whole(transform)]
    assert difference.max() <= tolerance


def is_whole(transform):
    """The pixels that do not blend image and fill, which torchvision blends differently: bool `[H, W]`."""
    seen = apply(plan_of(transform), torch.ones(1, 3, HEIGHT, WIDTH))[0, 0].numpy()
    return (seen == 1) | (seen == QUARTER) | (seen == 0)


def test_crop_with_antialias_is_torchvisions_inside():
    # torchvision crops before it resizes; Pillow, whose filter this is, reads beyond the box.
    result = apply(plan_of(_CutAndResized()), sample_image()[None])[0].numpy()
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
