"""Dropouts at objects, references, drawn kernels and layers of Albumentations: conversion, and results."""

import importlib
import re
from unittest import mock

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.effects import kernels, plasma, spatter
from orbbec.transforms.objects import dropouts
from tests.support import photograph
from tests.support.peers.albumentations import made, stand_in

IMAGE = photograph(90, 128)
LAYER = {"mean": (0.5, 0.6), "std": (0.2, 0.3), "gauss_sigma": (1.0, 3.0)}
LAYER |= {"cutout_threshold": (0.6, 0.7), "intensity": (0.4, 0.8), "mode": "mud", "color": [9, 20, 30]}
SHAPE = {"sigma_x_limit": (0.3, 0.9), "sigma_y_limit": (0.4, 1.1), "rotate_limit": (-20, 70)}
SHAPE |= {"beta_limit": (0.6, 4.0), "noise_limit": (0.8, 1.3), "blur_limit": (5, 9)}
LINE = {"angle_range": (20, 80), "direction_range": (-0.5, 0.2), "allow_shifted": False, "blur_limit": (3, 9)}
HOLES = {"num_holes_range": (1, 3), "hole_height_range": (0.2, 0.4), "hole_width_range": (0.1, 0.3)}
GRID = {"ratio": 0.4, "random_offset": True, "fill": 7}
STEPS = [
    ("MaskDropout", {"max_objects": (1, 2), "fill": 9}, T.MaskDropout((1, 2), 9, 1.0)),
    (
        "ConstrainedCoarseDropout",
        {**HOLES, "fill": 9, "mask_indices": [1, 4]},
        T.ConstrainedCoarseDropout((1, 3), (0.2, 0.4), (0.1, 0.3), 9, [1, 4], None, 1.0),
    ),
    (
        "ConstrainedCoarseDropout",
        {**HOLES, "fill": 9, "bbox_labels": ["dog"]},
        T.ConstrainedCoarseDropout((1, 3), (0.2, 0.4), (0.1, 0.3), 9, None, ["dog"], 1.0),
    ),
    (
        "Spatter",
        LAYER,
        T.Spatter((0.5, 0.6), (0.2, 0.3), (1.0, 3.0), (0.6, 0.7), (0.4, 0.8), "mud", (9, 20, 30), 1.0),
    ),
    ("MotionBlur", LINE, T.LineBlur((3, 9), (20, 80), (-0.5, 0.2), False, 1.0)),
    (
        "AdvancedBlur",
        SHAPE,
        T.AdvancedBlur((5, 9), (0.3, 0.9), (0.4, 1.1), (-20, 70), (0.6, 4.0), (0.8, 1.3), 1.0),
    ),
    (
        "PlasmaBrightnessContrast",
        {"brightness_range": (-0.1, 0.4), "contrast_range": (0.1, 0.2), "roughness": 2.0},
        T.PlasmaBrightnessContrast((-0.1, 0.4), (0.1, 0.2), 2.0, 1.0),
    ),
    (
        "PlasmaShadow",
        {"shadow_intensity_range": (0.2, 0.6), "roughness": 2.0},
        T.PlasmaShadow((0.2, 0.6), 2.0, 1.0),
    ),
    ("GridDropout", GRID, T.GridDropout(0.4, None, True, 7, 1.0)),
    ("ToRGB", {"num_output_channels": 3}, T.RGB()),
]
IDS = [f"{index} {name}" for index, (name, *_) in enumerate(STEPS)]
DEFAULTS = {
    "MaskDropout": {"fill_mask": 0},
    "ConstrainedCoarseDropout": {"fill_mask": None, "mask_indices": None, "bbox_labels": None},
    "GridDropout": {"fill_mask": None, "unit_size_range": None, "holes_number_xy": None},
}


def converted(step):
    return T.Compose.from_albumentations(stand_in("Compose", transforms=[step], processors={}))


def module(*names):
    """The first of some modules of Albumentations."""
    pytest.importorskip("albumentations")
    for name in names:
        try:
            return importlib.import_module(f"albumentations.augmentations.{name}")
        except ImportError:
            continue
    raise AssertionError(names)


@pytest.mark.parametrize(("kind", "arguments", "expected"), STEPS, ids=IDS)
def test_steps_become_transforms(kind, arguments, expected):
    step = stand_in(kind, **{**DEFAULTS.get(kind, {}), **arguments})
    assert converted(step).to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(("kind", "arguments", "expected"), STEPS, ids=IDS)
def test_steps_of_the_library_become_transforms(kind, arguments, expected):
    theirs = pytest.importorskip("albumentations")
    step = made(theirs, kind, {**arguments, "p": 1.0})
    pipeline = T.Compose.from_albumentations(theirs.Compose([step]))
    assert pipeline.to_json() == T.Compose([expected]).to_json()


def test_2_0_draws_sides_of_cells_below_the_upper_end():
    step = stand_in("GridDropout", **{**DEFAULTS["GridDropout"], **GRID, "unit_size_range": (4, 9)})
    assert converted(step).transforms[0].unit_size_range == (4, 8)
    step.sample_parameters = None  # as AlbumentationsX's steps have
    assert converted(step).transforms[0].unit_size_range == (4, 9)


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("MaskDropout", {"max_objects": (1, 1), "fill": "inpaint_ns"}, "expected fill as numbers"),
        (
            "MaskDropout",
            {"max_objects": (1, 1), "fill": 0, "fill_mask": 3},
            "expected fill_mask=0, but got 3",
        ),
        ("ConstrainedCoarseDropout", {**HOLES, "fill": 0}, "expected mask_indices or bbox_labels"),
        ("FDA", {"beta_limit": (0, 0.1)}, "expected reference_images, since orbbec's FDA has"),
        ("HistogramMatching", {"blend_ratio": (0, 1)}, "expected reference_images"),
        ("ToRGB", {"num_output_channels": 5}, "expected num_output_channels=3, but got 5"),
    ],
)
def test_what_has_no_counterpart_is_refused(kind, arguments, message):
    step = stand_in(kind, **{**DEFAULTS.get(kind, {}), **arguments})
    with pytest.raises(ConversionError, match=re.escape(f"step 0, {kind}: {message}")):
        converted(step)


def test_references_are_read_by_the_function_of_a_step():
    reference = photograph(30, 40)
    step = stand_in("FDA", reference_images=["a"], read_fn=lambda _: reference, beta_limit=(0.1, 0.2))
    (transform,) = converted(step).transforms
    assert transform.beta_range == (0.1, 0.2)
    assert torch.equal(
        transform.references.resized(0, 3, (30, 40)), torch.from_numpy(reference).permute(2, 0, 1)
    )


def test_paths_that_the_library_reads_stay_paths():
    def read(path):
        raise AssertionError(path)

    read.__module__ = "albumentations.core.utils"
    step = stand_in("HistogramMatching", reference_images=["a.png"], read_fn=read, blend_ratio=(0.5, 1.0))
    assert converted(step).transforms[0].references.paths == ["a.png"]


@pytest.mark.parametrize("keys", [("bboxes",), ("keypoints",)])
def test_holes_that_drop_targets_are_refused(keys):
    by_mask = stand_in(
        "ConstrainedCoarseDropout",
        **{**DEFAULTS["ConstrainedCoarseDropout"], **HOLES, "fill": 0, "mask_indices": [1]},
    )
    compose = stand_in("Compose", transforms=[by_mask], processors=dict.fromkeys(keys))
    with pytest.raises(ConversionError, match="ConstrainedCoarseDropout drops boxes and keypoints in holes"):
        T.Compose.from_albumentations(compose)


# Theirs, with the same numbers.


def test_lines_are_those_of_albumentations():
    theirs, rng = module("blur.functional").create_motion_kernel, np.random.default_rng(0)
    for _ in range(300):
        side, angle, direction = 2 * rng.integers(1, 20) + 1, rng.uniform(0, 360), rng.uniform(-1, 1)
        shift = rng.uniform(-1, 1, 2).tolist()
        source = mock.Mock(uniform=mock.Mock(side_effect=shift))
        expected = theirs(int(side), angle, direction, True, source)
        actual = kernels.line_kernel(int(side), angle, direction, shift)
        assert np.abs(actual - expected / expected.sum()).max() < 1e-7


def test_shapes_are_those_of_albumentations():
    theirs = pytest.importorskip("albumentations")
    fixed = {"blur_limit": (7, 7), "sigma_x_limit": (0.6, 0.6), "sigma_y_limit": (2.0, 2.0)}
    fixed |= {"rotate_limit": (33, 33), "beta_limit": (0.9999, 1.0001), "noise_limit": (1.0, 1.0)}
    step = made(theirs, "AdvancedBlur", {**fixed, "p": 1.0})
    expected = step(image=IMAGE)["image"]
    result = np.asarray(converted(step)(IMAGE))
    assert np.abs(result.astype(int) - expected).max() <= 1
    assert (result != IMAGE).mean() > 0.5


@pytest.mark.parametrize("size", [(40, 60), (129, 100), (5, 5), (33, 31)])
def test_clouds_are_those_of_albumentations(size):
    theirs = module("pixel._functional_illumination", "pixel.functional").generate_plasma_pattern
    draws = np.random.default_rng(0).random(plasma.draw_count(size)).astype(np.float32)
    rest = iter(draws.tolist())

    def uniform(low, high, shape):
        numbers = [next(rest) for _ in range(int(np.prod(shape)))]
        return low + np.array(numbers).reshape(shape) * (high - low)

    expected = theirs(size, 3.0, mock.Mock(uniform=uniform))
    assert next(rest, None) is None
    assert np.abs(plasma.plasma(size, 3.0, torch.from_numpy(draws)).numpy() - expected).max() < 1e-6


CLOUDS = plasma.plasma(
    (90, 128),
    3.0,
    torch.from_numpy(np.random.default_rng(5).random(plasma.draw_count((90, 128)), np.float32)),
)


@pytest.mark.parametrize(("brightness", "contrast"), [(0.3, -0.3), (-0.5, 0.6), (0.0, 0.4), (0.2, 0.0)])
def test_uneven_light_is_that_of_albumentations(brightness, contrast, monkeypatch):
    functions = module("pixel._functional_illumination", "pixel.functional")
    if not hasattr(functions, "_normalize_minmax_float32"):
        pytest.skip("2.0.8 clips between brightness and contrast")
    monkeypatch.setattr(plasma, "_clouds", lambda *_: [CLOUDS])
    expected = functions.apply_plasma_brightness_contrast(IMAGE, brightness, contrast, CLOUDS.numpy())
    transform = T.PlasmaBrightnessContrast((brightness, brightness), (contrast, contrast), p=1.0)
    assert np.abs(np.asarray(transform(IMAGE)).astype(int) - expected).max() <= 1


def test_uneven_shadows_are_those_of_albumentations(monkeypatch):
    functions = module("pixel._functional_illumination", "pixel.functional")
    monkeypatch.setattr(plasma, "_clouds", lambda *_: [CLOUDS])
    expected = functions.apply_plasma_shadow(IMAGE, 0.6, CLOUDS.numpy())  # rounded down
    result = np.asarray(T.PlasmaShadow((0.6, 0.6), p=1.0)(IMAGE))
    assert np.abs(result.astype(int) - expected).max() <= 1
    assert (result != IMAGE).mean() > 0.9


NOISE = np.random.default_rng(2).normal(size=(70, 90)).astype(np.float32)


# 20.0 where OpenCV has 20.00002, or the reverse, is another byte: one pixel of 3,000 differs by two levels.
def test_rain_on_the_lens_is_that_of_albumentations():
    functions = module("pixel._functional_weather", "pixel.functional")
    if functions.__name__.endswith("pixel.functional"):
        pytest.skip("2.0.8 scales distances of 0 to 20 pixels by 255")
    layer = spatter.liquid(torch.from_numpy(NOISE), 0.65, 0.3, 2.0, 0.68)
    expected = functions.get_rain_params(layer.numpy().copy(), np.ones(3, np.float32), 1.0)["drops"]
    difference = np.abs(spatter.rain_cover(layer).numpy()[..., None] * 0.9 - expected)
    assert difference.max() < 0.01
    assert (difference > 1e-5).mean() < 1e-3
    assert expected.max() > 0.8


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.3])
def test_mud_is_that_of_albumentations(sigma):
    functions = module("pixel._functional_weather", "pixel.functional")
    layer = spatter.liquid(torch.from_numpy(NOISE), 0.65, 0.3, sigma, 0.66)
    color, rng = np.array([20, 42, 63], np.float32) / 255, np.random.default_rng(0)
    expected = functions.get_mud_params(layer.numpy().copy(), color, 0.66, sigma, 0.6, rng)
    cover = spatter.mud_cover(layer, 0.66, sigma).numpy()[..., None] * 0.6
    assert np.abs(cover * color - expected["mud"]).max() < 1e-6
    assert np.abs(1 - cover - expected["non_mud"]).max() < 1e-5


MASK = np.zeros((90, 128), np.uint8)
MASK[5:20, 10:30], MASK[30:70, 40:60], MASK[70:80, 60:90], MASK[50:80, 100:120] = 1, 2, 2, 1


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_objects_are_dropped_as_by_albumentations(count):
    theirs = pytest.importorskip("albumentations")
    step = made(theirs, "MaskDropout", {"max_objects": (count, count), "fill": 7, "p": 1.0})
    pipeline = converted(step)
    results, expected = set(), set()
    for seed in range(40):
        step.set_random_seed(seed)
        given = theirs.Compose([step])(image=IMAGE, mask=MASK)
        expected.add((given["image"].tobytes(), given["mask"].tobytes()))
        image, target = pipeline(IMAGE, {"mask": MASK}, sample_ids=[seed], epoch=0)
        results.add((np.asarray(image).tobytes(), np.asarray(target["mask"]).tobytes()))
    assert results == expected
    assert len(results) == {1: 3, 2: 3, 3: 1, 9: 1}[count]  # of three objects; corners touch


@pytest.mark.parametrize("index", [0, 40, 250])
def test_holes_at_objects_are_those_of_albumentations(index):
    theirs = module("dropout.functional")
    source = mock.Mock(
        uniform=lambda low, high, size: np.full(size, low),
        integers=lambda low, high, size: np.full(size, index),
        choice=lambda count, size, replace: np.full(size, index),
    )
    expected = theirs.get_holes_from_mask(MASK[..., None], 1, [1], (0.5, 0.5), (0.3, 0.3), source)
    pixels = np.flatnonzero(MASK[:40] == 1)
    hole = dropouts._hole_in_region(pixels, 128)(
        np.array([0.3, 0.5]), np.array([(index + 0.5) / len(pixels), 0])
    )
    assert hole.clip(0).astype(int).tolist() == expected[0].tolist()
    boxes, draw = np.array([[3.5, 4.0, 40.0, 33.3], [50.0, 2, 90, 60]]), np.array([index, index]) / 300
    source.uniform = lambda low, high, size: np.full(size, low + index / 300 * (high - low))
    expected = theirs.get_holes_from_boxes(boxes, 1, (0.2, 0.5), (0.1, 0.3), source)
    part = np.array([0.1, 0.2]) + draw * np.array([0.2, 0.3])
    holes = [np.trunc(dropouts._hole_in_box(box)(part, draw)).astype(int).tolist() for box in boxes]
    assert holes == expected.tolist()


# Of references.


def adapted(transform):
    return np.asarray(transform(IMAGE)).astype(int)


REFERENCE = np.ascontiguousarray(photograph(90, 128)[::-1, ::-1] // 2 + 40)


@pytest.mark.parametrize("ratio", [0.0, 0.35, 1.0])
def test_histograms_are_matched_as_by_albumentations(ratio):
    theirs = module("mixing.domain_adaptation_functional").apply_histogram
    result = adapted(T.HistogramMatching([REFERENCE], (ratio, ratio), 1.0))
    assert np.abs(result - theirs(IMAGE, REFERENCE, ratio)).max() <= (0 < ratio < 1)  # halves
    floats, other = (each.astype(np.float32) / 255 for each in (IMAGE, REFERENCE))
    expected = theirs(floats, other, ratio)
    assert np.abs(T.HistogramMatching([REFERENCE], (ratio, ratio), 1.0)(floats) - expected).max() < 1e-6


@pytest.mark.parametrize("beta", [0.0, 0.03, 0.2, 0.5])
@pytest.mark.parametrize("size", [(90, 128), (89, 127), (8, 9)])
def test_frequencies_are_replaced_as_by_albumentations(beta, size):
    theirs = module("mixing.domain_adaptation_functional").fourier_domain_adaptation
    image, reference = (np.ascontiguousarray(each[: size[0], : size[1]]) for each in (IMAGE, REFERENCE))
    expected = theirs(image, reference, beta).astype(int)  # rounded down
    result = np.asarray(T.FDA([reference], (beta, beta), 1.0)(image)).astype(int)
    assert np.abs(result - expected).max() <= 1
    assert int(min(size) * beta) == 0 or (result != image).mean() > 0.5


# The adapter's own images are rounded to 0 and 1; here they are those of qudida, before it rounds down.
@pytest.mark.parametrize("kind", ["pca", "standard", "minmax"])
def test_distributions_are_those_of_the_adapter(kind):
    theirs = module("mixing.domain_adaptation_functional")
    kinds = {"pca": theirs.PCA, "standard": theirs.StandardScaler, "minmax": theirs.MinMaxScaler}
    adapter = theirs.DomainAdapter(kinds[kind](), REFERENCE)
    adapter.reconstruct = lambda pixels, height, width: pixels.clip(0, 1).reshape(height, width, 3) * 255
    result = adapted(T.PixelDistributionAdaptation([REFERENCE], (1.0, 1.0), kind, 1.0))
    assert np.abs(result - adapter(IMAGE)).max() < 0.51
    assert (result != IMAGE).mean() > 0.5
