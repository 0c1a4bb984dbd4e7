"""CLAHE, UnsharpMask, Defocus and Downscale: against OpenCV, and invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.transforms.degradations import disk_kernels
from tests.support import assert_same_bytes, photograph

cv2 = pytest.importorskip("cv2")
IMAGE = photograph(48, 64)


def result_of(transform, image=IMAGE):
    return T.Compose([transform], seed=3)(image, epoch=0)


@pytest.mark.parametrize("limit", [1.0, 2.7])
@pytest.mark.parametrize("grid", [(8, 8), (3, 5)])
def test_clahe_has_the_bytes_of_opencv(limit, grid):
    equalizer = cv2.createCLAHE(limit, grid[::-1])
    lab = cv2.cvtColor(IMAGE, cv2.COLOR_RGB2LAB)
    lab[..., 0] = equalizer.apply(np.ascontiguousarray(lab[..., 0]))
    transform = T.CLAHE(limit, grid, p=1.0)
    assert_same_bytes(result_of(transform), cv2.cvtColor(lab, cv2.COLOR_LAB2RGB))
    gray = np.ascontiguousarray(IMAGE[..., :1])
    assert_same_bytes(result_of(transform, gray)[..., 0], equalizer.apply(gray[..., 0]))


def unsharp(image, side, sigma, alpha, threshold):
    """The rule of Albumentations, by `cv2.GaussianBlur`."""
    values = image.astype(np.float32) / np.float32(255)
    residual = values - cv2.GaussianBlur(values, (side, side), sigma)
    mask = (np.abs(residual) * 255 > threshold).astype(np.float32)
    soft = cv2.GaussianBlur(mask, (side, side), sigma)
    sharp = np.clip(values + alpha * residual, 0, 1)
    return sharp * soft + values * (1 - soft)


@pytest.mark.parametrize("case", [(3, 0.0, 0.5, 10.0), (7, 1.3, 1.0, 0.0), (5, 0.7, 0.2, 40.0)])
def test_unsharp_masks_are_those_of_opencv(case):
    transform = T.UnsharpMask(*case, p=1.0)
    wanted = unsharp(IMAGE, *case)
    floats = IMAGE.astype(np.float32) / np.float32(255)
    assert np.abs(result_of(transform, floats) - wanted).max() < 2e-6
    apart = np.abs(result_of(transform).astype(int) - np.rint(wanted * 255))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 1e-3  # halves


def kernel_by_opencv(radius, blur):
    reach = max(8, radius)
    x, y = np.meshgrid(*[np.arange(-reach, reach + 1)] * 2)
    disk = (x**2 + y**2 <= radius**2).astype(np.float32)
    side = 3 if radius <= 8 else 5
    return cv2.GaussianBlur(disk / disk.sum(), (side, side), blur)


@pytest.mark.parametrize("radius", [1, 3, 8, 9, 14])
@pytest.mark.parametrize("blur", [0.1, 0.5, 1.7])
def test_disks_are_those_of_opencv(radius, blur):
    assert (
        np.abs(disk_kernels(radius, torch.tensor([blur]))[0].numpy() - kernel_by_opencv(radius, blur)).max()
        < 2e-8
    )


@pytest.mark.parametrize("radius", [2, 5, 12])
def test_defocused_images_are_those_of_opencv(radius):
    image = photograph(60, 70)
    actual = result_of(T.Defocus(radius, 0.4, 1.0), image)
    apart = np.abs(actual.astype(int) - cv2.filter2D(image, -1, kernel_by_opencv(radius, 0.4)))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.01  # OpenCV filters by Fourier transforms here


def test_each_image_has_its_disk_whatever_the_batch():
    images = [photograph(30, 44), photograph(50, 41, seed=1), photograph(33, 60, seed=2)]
    pipeline = T.Compose([T.Defocus((1, 12), (0.2, 0.9), 1.0)], seed=5)
    together = pipeline(ImageBatch.from_images(images), sample_ids=[4, 5, 6], epoch=0)
    for index, image in enumerate(images):
        (alone,) = pipeline(ImageBatch.from_images([image]), sample_ids=[4 + index], epoch=0)
        assert_same_bytes(together[index].contiguous(), alone.permute(1, 2, 0).contiguous())
        assert (together[index].numpy() != image).any()


FLAGS = {"nearest": cv2.INTER_NEAREST, "linear": cv2.INTER_LINEAR, "area": cv2.INTER_AREA}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("scale", [0.5, 0.3, 0.01])
@pytest.mark.parametrize(("down", "up"), [("nearest", "nearest"), ("area", "linear"), ("linear", "nearest")])
def test_downscaling_is_two_resizes_of_opencv(down, up, scale, exact):
    height, width = IMAGE.shape[:2]
    small = max(1, round(width * scale)), max(1, round(height * scale))
    wanted = cv2.resize(IMAGE, small, interpolation=FLAGS[down])
    wanted = cv2.resize(wanted, (width, height), interpolation=FLAGS[up])
    pipeline = T.Compose([T.Downscale((scale, scale), down, up, 1.0)], exact=exact)
    result = pipeline(IMAGE, epoch=0)
    if exact or "linear" not in (down, up):
        assert_same_bytes(result, wanted)
    assert np.abs(result.astype(int) - wanted).max() <= 1  # a fused warp does not round twice


def test_what_follows_a_downscaling_does_not_undo_it():
    transform = T.Downscale((0.25, 0.25), p=1.0)
    pipeline = T.Compose([T.RandomHorizontalFlip(1.0), transform, T.RandomVerticalFlip(1.0), T.Normalize()])
    steps = [T.RandomHorizontalFlip(1.0), transform, T.RandomVerticalFlip(1.0), T.Normalize()]
    images = torch.from_numpy(IMAGE).permute(2, 0, 1).float()[None] / 255
    expected = images
    for step in steps:
        expected = step(expected)
    assert_same_bytes(pipeline(images, epoch=0), expected)


def test_boxes_stay_where_they_are():
    target = {"boxes": np.array([[20.0, 15.0, 30.0, 25.0]])}
    image, (moved,) = T.Compose([T.Downscale((0.3, 0.7), p=1.0)])(IMAGE[None], [target], epoch=0)
    assert image.shape == (1, *IMAGE.shape)
    np.testing.assert_allclose(moved["boxes"], target["boxes"], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.CLAHE(0.5), "CLAHE: expected clip_limit as .* of at least 1"),
        (lambda: T.CLAHE(tile_grid_size=0), "tile_grid_size as"),
        (lambda: T.UnsharpMask((3, 6)), "UnsharpMask: expected kernel_size as odd numbers"),
        (lambda: T.UnsharpMask(alpha=2.0), "alpha as .* from 0 to 1"),
        (lambda: T.UnsharpMask(threshold=300), "threshold as a number from 0 to 255"),
        (lambda: T.Defocus(0), "Defocus: expected radius as .* from 1 to 100"),
        (lambda: T.Defocus(3, 0.0), "alias_blur as"),
        (lambda: T.Downscale((0.5, 2.0)), "Downscale: expected scale_range as"),
        (
            lambda: T.Downscale(down_interpolation="box"),
            "expected antialias=True with down_interpolation box",
        ),
        (lambda: result_of(T.CLAHE(p=1.0), IMAGE / np.float32(255)), "CLAHE: expected images of uint8"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
