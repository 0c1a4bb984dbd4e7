"""Effects of optics, sensors and codecs: against OpenCV, SciPy and NumPy, and invalid arguments."""

import math

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.noise.philox import philox_noise
from orbbec.transforms.effects.artifacts import ellipse_spans, ringing_kernels
from orbbec.transforms.effects.blurs import zoom_count
from orbbec.transforms.effects.sensors import exponentials, lightness_deviations, poisson_functions
from tests.support import assert_same_bytes, photograph

cv2 = pytest.importorskip("cv2")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
IMAGE = photograph(48, 64)
FLOATS = IMAGE.astype(np.float32) / np.float32(255)
KEY = {"seed": 3, "epoch": 0, "transform_index": 0}


def result_of(transform, image=IMAGE):
    return T.Compose([transform], seed=3)(image, epoch=0)


def levels_apart(result, wanted):
    return np.abs(result.astype(np.float64) - wanted)


# ZoomBlur


def mean_of_zooms(image, factors):
    """Albumentations' mean of an image of floats and of its zooms, by slices and `cv2.resize`."""
    height, width = image.shape[:2]
    total = image.astype(np.float64)
    for factor in factors:
        rows, columns = math.ceil(height / factor), math.ceil(width / factor)
        y, x = (height - rows) // 2, (width - columns) // 2
        size = int(columns * factor), int(rows * factor)
        zoomed = cv2.resize(image[y : y + rows, x : x + columns], size, interpolation=cv2.INTER_LINEAR)
        y, x = (zoomed.shape[0] - height) // 2, (zoomed.shape[1] - width) // 2
        total += zoomed[y : y + height, x : x + width]
    return total / (len(factors) + 1)


@pytest.mark.parametrize(("factor", "step"), [(1.0, 0.25), (1.25, 0.05), (1.31, 0.013), (2.0, 0.7)])
def test_zoom_blur_is_the_mean_of_opencvs_zooms(factor, step):
    factors = np.arange(1.0, max(factor, 1 + step), step)
    transform = T.ZoomBlur(factor, step, p=1.0)
    assert len(factors) == zoom_count(factor, step)
    wanted = mean_of_zooms(FLOATS, factors)
    apart = np.abs(result_of(transform, FLOATS) - wanted)
    assert apart[1:-1, 1:-1].max() < 2e-5
    assert apart.max() < 0.06  # seen: 0.0504, since cv2.resize does not read beyond the slices
    apart = levels_apart(result_of(transform), wanted * 255)
    assert apart[1:-1, 1:-1].max() < 0.51  # rounded once


def test_zooms_of_a_batch_are_those_of_each_image():
    images = [photograph(30, 44), photograph(30, 44, seed=1), photograph(30, 44, seed=2)]
    pipeline = T.Compose([T.ZoomBlur((1.0, 1.6), (0.02, 0.2), p=1.0)], seed=5)
    together = pipeline(np.stack(images), sample_ids=[4, 5, 6], epoch=0)
    for index, image in enumerate(images):
        assert_same_bytes(together[index], pipeline(image, sample_ids=[4 + index], epoch=0))


# GlassBlur


def through_glass(image, sigma, delta, iterations):
    """Two blurs by `cv2.GaussianBlur`, and pixels that read others between them."""
    side = round(sigma * (3 if image.dtype == np.uint8 else 4) * 2 + 1) | 1
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width]
    draws = philox_noise([0], 2 * iterations, (height, width), **KEY)[0].numpy().astype(np.float64)
    values = cv2.GaussianBlur(image, (side, side), sigma)
    for step_x, step_y in draws.reshape(iterations, 2, height, width):
        rows = y + np.floor(step_y * (2 * delta + 1)).astype(int) - delta
        columns = x + np.floor(step_x * (2 * delta + 1)).astype(int) - delta
        values = values[rows.clip(0, height - 1), columns.clip(0, width - 1)]
    return cv2.GaussianBlur(values, (side, side), sigma)


@pytest.mark.parametrize("case", [(0.7, 4, 2), (1.6, 1, 1), (0.4, 9, 3)])
def test_glass_blur_reads_within_reach_between_opencvs_blurs(case):
    transform = T.GlassBlur(*case, p=1.0)
    assert_same_bytes(result_of(transform), through_glass(IMAGE, *case))
    assert np.abs(result_of(transform, FLOATS) - through_glass(FLOATS, *case)).max() < 1e-6


def test_positions_behind_glass_are_uniform():
    image = np.arange(2**14, dtype=np.float32).reshape(1, 128, 128) / 2**14
    result = T.Compose([T.GlassBlur(0.0, 1, 1, p=1.0)], seed=3)(torch.from_numpy(image), epoch=0)
    read = (result[0, 1:-1, 1:-1] * 2**14).long()
    steps = torch.stack([read // 128, read % 128]) - torch.stack(
        torch.meshgrid(torch.arange(1, 127), torch.arange(1, 127), indexing="ij")
    )
    counts = torch.bincount((3 * steps[0] + steps[1] + 4).flatten(), minlength=9)
    expected = 126 * 126 / 9
    assert ((counts - expected) ** 2 / expected).sum() < 35.6  # chi-squared of 8 degrees, 2 in 100,000


# Emboss, RingingOvershoot, ChromaticAberration, Morphological


@pytest.mark.parametrize(("alpha", "strength"), [(0.3, 0.4), (1.0, 1.5), (0.0, 0.7)])
def test_reliefs_are_opencvs_filters(alpha, strength):
    relief = np.array([[-1 - strength, -strength, 0], [-strength, 1, strength], [0, strength, 1 + strength]])
    kernel = ((1 - alpha) * np.diag([0, 1, 0]) + alpha * relief).astype(np.float32)
    transform = T.Emboss(alpha, strength, p=1.0)
    assert levels_apart(result_of(transform), cv2.filter2D(IMAGE, -1, kernel)).max() == 0
    wanted = np.clip(cv2.filter2D(FLOATS, -1, kernel), 0, 1)
    assert np.abs(result_of(transform, FLOATS) - wanted).max() < 1e-6


@pytest.mark.parametrize(("alpha", "lightness"), [(0.3, 0.4), (1.0, 1.5), (0.0, 0.7)])
def test_sharpening_is_opencvs_filter(alpha, lightness):
    effect = np.array([[-1, -1, -1], [-1, 8 + lightness, -1], [-1, -1, -1]])
    kernel = ((1 - alpha) * np.diag([0, 1, 0]) + alpha * effect).astype(np.float32)
    transform = T.Sharpen(alpha, lightness, p=1.0)
    assert levels_apart(result_of(transform), cv2.filter2D(IMAGE, -1, kernel)).max() == 0
    wanted = np.clip(cv2.filter2D(FLOATS, -1, kernel), 0, 1)
    assert np.abs(result_of(transform, FLOATS) - wanted).max() < 2e-6


@pytest.mark.parametrize("side", [1, 3, 9])
def test_box_blurs_are_opencvs(side):
    assert_same_bytes(result_of(T.BoxBlur(side, p=1.0)), cv2.blur(IMAGE, (side, side)))


def low_pass(side, cutoff):
    """A circular low-pass filter by SciPy's Bessel function."""
    steps = np.arange(side) - side // 2
    radius = np.hypot(steps[:, None], steps)
    radius[side // 2, side // 2] = 1
    kernel = cutoff * special.j1(cutoff * radius) / (2 * np.pi * radius)
    kernel[side // 2, side // 2] = cutoff**2 / (4 * np.pi)
    return kernel / kernel.sum()


@pytest.mark.parametrize("side", [3, 7, 15])
@pytest.mark.parametrize("cutoff", [0.6, math.pi / 2, math.pi])
def test_ringing_is_opencvs_filter_with_scipys_kernel(side, cutoff):
    kernel = low_pass(side, cutoff)
    ours = ringing_kernels(torch.tensor([side]), torch.tensor([cutoff], dtype=torch.float64), 9)[0].numpy()
    reach = side // 2
    assert np.abs(ours[9 - reach : 10 + reach, 9 - reach : 10 + reach] - kernel).max() < 2e-7  # seen: 8.7e-8
    assert np.count_nonzero(ours) <= side**2
    wanted = cv2.filter2D(IMAGE, -1, kernel.astype(np.float32))
    apart = levels_apart(result_of(T.RingingOvershoot(side, cutoff, p=1.0)), wanted)
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.01  # OpenCV filters by Fourier transforms from 11 x 11 on


@pytest.mark.parametrize("mode", ["green_purple", "red_blue", "random"])
def test_colored_edges_are_opencvs_undistorted_channels(mode):
    transform = T.ChromaticAberration((-0.3, 0.3), (-0.2, 0.2), mode, p=1.0)
    pipeline = T.Compose([transform], seed=3)
    height, width = IMAGE.shape[:2]
    camera = np.array([[width, 0, width / 2], [0, height, height / 2], [0, 0, 1]])
    signs = set()
    for sample in range(12):
        (step,) = pipeline.plan([(height, width)], [sample], epoch=0).passes
        wanted = IMAGE.copy()
        for channel, name in ((0, "red"), (2, "blue")):
            lens = np.array([*step.table[name][0], 0, 0])
            assert lens[0] * lens[1] > 0
            maps = cv2.initUndistortRectifyMap(camera, lens, None, camera, (width, height), cv2.CV_32FC1)
            how = cv2.INTER_LINEAR, cv2.BORDER_REPLICATE
            wanted[..., channel] = cv2.remap(IMAGE[..., channel], *maps, how[0], borderMode=how[1])
        signs.add(bool(step.table["red"][0, 0] * step.table["blue"][0, 0] > 0))
        apart = levels_apart(pipeline(IMAGE, sample_ids=[sample], epoch=0), wanted)
        assert apart.max() <= 3  # positions that differ by the last bit of float32
        assert (apart > 0).mean() < 0.01
    assert signs == {"green_purple": {True}, "red_blue": {False}, "random": {True, False}}[mode]


@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 6, 11])
def test_shapes_are_dilated_and_eroded_as_by_opencv(height, width):
    ellipse = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, height))
    ours = np.zeros((height, width), np.uint8)
    for row, columns in zip(ours, ellipse_spans(width, height), strict=True):
        row[columns] = 1
    assert_same_bytes(ours, ellipse)
    for operation, change in (("dilation", cv2.dilate), ("erosion", cv2.erode)):
        transform = T.Morphological((height, width), operation, p=1.0)
        assert_same_bytes(result_of(transform), change(IMAGE, ellipse))
        assert_same_bytes(result_of(transform, FLOATS), change(FLOATS, ellipse))


# ISONoise


@pytest.mark.parametrize("rate", [0.0, 0.03, 1.7, 30.0, 127.5])
def test_counts_of_photons_are_scipys(rate):
    rates = torch.tensor([rate], dtype=torch.float64)
    assert abs(exponentials(rates).item() / math.exp(-rate) - 1) < 1e-10  # seen: 2.3e-11
    functions = poisson_functions(rates)[0].numpy()
    assert np.abs(functions - stats.poisson.cdf(np.arange(256), rate)).max() < 1e-10
    assert functions[-1] > 1 - 1e-9


@pytest.mark.parametrize("image", [IMAGE, FLOATS], ids=["bytes", "floats"])
def test_deviations_of_lightness_are_opencvs(image):
    lightness = cv2.cvtColor(FLOATS, cv2.COLOR_RGB2HLS)[..., 1]
    ours = lightness_deviations(torch.from_numpy(image).permute(2, 0, 1)[None])
    assert abs(ours.item() - cv2.meanStdDev(lightness)[1].item()) < 1e-6


def with_iso_noise(image, color_shift, intensity):
    """The rule of Albumentations 1.4, with our random numbers and SciPy's quantiles."""
    size = image.shape[:2]
    uniform = philox_noise([0], 1, size, **KEY)[0, 0].numpy().astype(np.float64)
    normal = philox_noise([0], 2, size, kind="normal", **KEY)[0, 1].numpy()
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    rate = cv2.meanStdDev(hls)[1][1].item() * intensity * 255
    counts = stats.poisson.ppf(np.nextafter(uniform, 1), rate)
    hls[..., 0] = (hls[..., 0] + normal * (color_shift * 360 * intensity)) % 360
    hls[..., 1] += (counts / 255) * (1 - hls[..., 1])
    return np.clip(cv2.cvtColor(hls, cv2.COLOR_HLS2RGB), 0, 1)


@pytest.mark.parametrize("case", [(0.03, 0.4), (0.0, 1.0), (0.3, 0.1)])
def test_noise_of_sensors_is_albumentations_with_our_numbers(case):
    transform = T.ISONoise(*case, p=1.0)
    wanted = with_iso_noise(FLOATS, *case)
    assert np.abs(result_of(transform, FLOATS) - wanted).max() < 2e-5
    apart = levels_apart(result_of(transform), np.rint(wanted * 255))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 1e-3


# All of them

EVERY = [
    *(T.ZoomBlur(p=1.0), T.GlassBlur(p=1.0), T.Emboss(p=1.0), T.RingingOvershoot(p=1.0)),
    *(T.BoxBlur(p=1.0), T.Sharpen(p=1.0)),
    *(T.ChromaticAberration(p=1.0), T.Morphological(p=1.0), T.ISONoise(p=1.0)),
]


@pytest.mark.parametrize("transform", EVERY, ids=lambda transform: transform.name)
def test_each_image_is_changed_alone_and_targets_stay(transform):
    images = [photograph(30, 44), photograph(50, 41, seed=1), photograph(1, 1, seed=2)]
    pipeline = T.Compose([transform], seed=5)
    target = {"boxes": np.array([[0.0, 0.0, 1.0, 1.0]])}
    together, moved = pipeline(ImageBatch.from_images(images), [target] * 3, sample_ids=[4, 5, 6], epoch=0)
    for index, image in enumerate(images):
        alone = pipeline(image, sample_ids=[4 + index], epoch=0)
        assert_same_bytes(together[index].numpy(), alone)
        assert moved[index]["boxes"].tolist() == target["boxes"].tolist()
    assert (together[0].numpy() != images[0]).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("transform", EVERY, ids=lambda transform: transform.name)
def test_halves_are_near_floats(transform, dtype):
    images = torch.from_numpy(FLOATS).permute(2, 0, 1)[None]
    pipeline = T.Compose([transform], seed=5)
    result = pipeline(images.to(dtype), epoch=0)
    assert result.dtype == dtype
    exact = pipeline(images.to(dtype).float(), epoch=0)
    assert (result.float() - exact).abs().max() < (0.02 if dtype == torch.bfloat16 else 0.003)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.ZoomBlur(0.5), "ZoomBlur: expected max_factor as .* from 1"),
        (lambda: T.ZoomBlur(step_factor=0.0), "expected step_factor as .* from 0.001"),
        (lambda: T.GlassBlur(-1.0), "GlassBlur: expected sigma as a number from 0"),
        (lambda: T.GlassBlur(max_delta=0), "max_delta as a whole number"),
        (lambda: T.Emboss((0.1, 2.0)), "Emboss: expected alpha as .* from 0 to 1"),
        (lambda: T.Sharpen(2.0), "Sharpen: expected alpha as .* from 0 to 1"),
        (lambda: T.BoxBlur((3, 6)), "BoxBlur: expected kernel_size as an odd number, but got 6"),
        (lambda: T.RingingOvershoot(4), "RingingOvershoot: expected kernel_size as odd numbers, but got 4"),
        (lambda: T.RingingOvershoot(cutoff=4.0), "expected cutoff as"),
        (lambda: T.ChromaticAberration(mode="pink"), "mode as one of green_purple, red_blue, random"),
        (lambda: T.Morphological(operation="opening"), "operation as one of dilation, erosion"),
        (lambda: T.Morphological(0), "Morphological: expected size"),
        (lambda: T.ISONoise(intensity=2.0), "ISONoise: expected intensity as .* from 0 to 1"),
        (lambda: result_of(T.ISONoise(), IMAGE[..., :1]), "ISONoise: expected images of 3 channels"),
        (lambda: result_of(T.ChromaticAberration(), IMAGE[..., :1]), "expected images of 3 channels"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
