"""Snow, fog, rain and flares of Albumentations: conversion, and results with the same draws."""

import importlib
import re
from unittest import mock

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.effects import flares, weather
from tests.support import photograph
from tests.support.peers.albumentations import made, stand_in

RAIN = {"slant_range": (-9, 12), "drop_length": 9, "drop_width": 2, "drop_color": (150, 180, 200)}
RAIN |= {"blur_value": 5, "brightness_coefficient": 0.8, "rain_type": "heavy"}
FLARE = {"flare_roi": (0.1, 0.2, 0.9, 0.6), "src_radius": 60, "src_color": (250, 240, 200)}
FLARE |= {"angle_range": (0.2, 0.7), "num_flare_circles_range": (3, 5)}
STEPS = [
    (
        "RandomSnow",
        {"brightness_coeff": 2.0, "snow_point_range": (0.2, 0.4)},
        {"method": "bleach"},
        T.RandomSnow(2.0, (0.2, 0.4), 1.0),
    ),
    ("RandomFog", {"alpha_coef": 0.1, "fog_coef_range": (0.2, 0.6)}, {}, T.RandomFog(0.1, (0.2, 0.6), 1.0)),
    ("RandomRain", RAIN, {}, T.RandomRain((-9, 12), 9, 2, (150, 180, 200), 5, 0.8, "heavy", 1.0)),
    (
        "RandomSunFlare",
        FLARE,
        {"method": "overlay"},
        T.RandomSunFlare((0.1, 0.2, 0.9, 0.6), 60, (250, 240, 200), (0.2, 0.7), (3, 5), 1.0),
    ),
]
IDS = [name for name, *_ in STEPS]
IMAGE = photograph(90, 128)


def converted(step):
    return T.Compose.from_albumentations(stand_in("Compose", transforms=[step], processors={}))


def functions():
    """Albumentations' functions of weather, of either version."""
    pytest.importorskip("albumentations")
    try:
        return importlib.import_module("albumentations.augmentations.pixel._functional_weather")
    except ImportError:
        return importlib.import_module("albumentations.augmentations.pixel.functional")


@pytest.mark.parametrize(("kind", "arguments", "more", "expected"), STEPS, ids=IDS)
def test_steps_become_transforms(kind, arguments, more, expected):
    assert converted(stand_in(kind, **{**arguments, **more})).to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(("kind", "arguments", "more", "expected"), STEPS, ids=IDS)
def test_steps_of_the_library_become_transforms(kind, arguments, more, expected):
    theirs = pytest.importorskip("albumentations")
    step = made(theirs, kind, {**arguments, "p": 1.0})
    pipeline = T.Compose.from_albumentations(theirs.Compose([step]))
    assert pipeline.to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("RandomSnow", {"method": "texture"}, "expected method='bleach', but got 'texture'"),
        ("RandomSunFlare", {"method": "physics_based"}, "expected method='overlay'"),
    ],
)
def test_attributes_without_counterpart_are_refused(kind, change, message):
    (attributes,) = ({**options, **more} for name, options, more, _ in STEPS if name == kind)
    with pytest.raises(ConversionError, match=re.escape(f"step 0, {kind}: {message}")):
        converted(stand_in(kind, **{**attributes, **change}))


# RGB to HLS of bytes differs by 1 for 3 of 50 million values, which a factor makes larger.
@pytest.mark.parametrize("snow_point", [0.0, 0.13, 0.3, 1.0])
def test_snow_is_that_of_albumentations(snow_point):
    expected = functions().add_snow_bleach(IMAGE, snow_point, 2.5)
    result = T.RandomSnow(2.5, (snow_point, snow_point), 1.0)(IMAGE)
    assert (np.asarray(result) == expected).all()


@pytest.mark.parametrize("intensity", [0.2, 0.55, 1.0])
def test_fog_is_that_of_albumentations(intensity, monkeypatch):
    rng = np.random.default_rng(3)
    count = sum(region[0] for region in weather.fog_regions(IMAGE.shape[:2], intensity))
    draws = rng.random((count, 3))
    monkeypatch.setattr(weather, "_draws", lambda *_: draws)
    particles = weather.fog_particles(IMAGE.shape[:2], intensity, draws)
    positions, radii = [tuple(map(int, each[:2])) for each in particles], particles[:, 2].tolist()
    expected = functions().add_fog(IMAGE, intensity, 0.08, positions, radii)
    result = np.asarray(T.RandomFog(0.08, (intensity, intensity), 1.0)(IMAGE))
    assert (result == expected).all()
    assert (result != IMAGE).mean() > 0.5


@pytest.mark.parametrize("size", [(40, 70), (90, 60), (200, 200), (9, 7)])
def test_fog_has_as_many_particles_as_that_of_albumentations(size):
    theirs = pytest.importorskip("albumentations")
    step, seen = theirs.RandomFog(fog_coef_range=(0.4, 0.4), p=1.0), []
    module = importlib.import_module(type(step).__module__)
    with mock.patch.object(module.fpixel, "add_fog", lambda image, *numbers: seen.append(numbers) or image):
        step(image=np.zeros((*size, 3), np.uint8))
    intensity, alpha, positions, radii = seen[0]
    particles = weather.fog_particles(size, 0.4, np.random.default_rng(0).random((len(positions), 3)))
    assert (intensity, alpha) == (0.4, 0.08)
    assert len(radii) == sum(region[0] for region in weather.fog_regions(size, 0.4))
    if len(radii) > 500:
        assert set(particles[:, 2].tolist()) == set(map(int, radii))
        spread = np.abs(np.array(positions).mean(0) - particles[:, :2].mean(0))
        assert (spread < np.array(positions).std(0) * 5 * (2 / len(radii)) ** 0.5).all()


@pytest.mark.parametrize("slant", [-8.0, 0.0, 5.4])
def test_rain_is_that_of_albumentations(slant, monkeypatch):
    (height, width), length = IMAGE.shape[:2], 11
    count = height // 3
    draws = np.random.default_rng(1).random((count, 2))
    monkeypatch.setattr(weather, "_draws", lambda *_: draws)
    drops = np.floor(draws * (width, height - length)).astype(np.int32)
    away = (drops[:, 0] > 12) & (drops[:, 0] < width - 12)  # OpenCV cuts lines before it draws them
    draws[~away], drops[~away] = draws[away][0], drops[away][0]
    color = (200, 190, 170)
    expected = functions().add_rain(IMAGE, slant, length, 1, color, 7, 0.7, drops)
    result = np.asarray(T.RandomRain((slant, slant), length, 1, color, 7, 0.7, p=1.0)(IMAGE))
    assert (result == expected).all()
    assert (result != np.rint(IMAGE * 0.7)).mean() > 0.1


def test_flares_are_those_of_albumentations():
    rng = np.random.default_rng(0)
    transform = T.RandomSunFlare((0.2, 0.2, 0.8, 0.7), 50, (255, 230, 200), (0.0, 1.0), (2, 6), 1.0)
    pipeline = T.Compose([transform], seed=int(rng.integers(9)))
    for sample in range(12):
        (step,) = pipeline.plan([IMAGE.shape[:2]], [sample], epoch=0).passes
        row = {name: values[0] for name, values in step.table.items()}
        height, width = IMAGE.shape[:2]
        center = int(width * row["position"][0]), int(height * row["position"][1])
        draws = row["circles"][: int(row["count"])]
        circles = flares.flare_circles((height, width), center, row["revolutions"], (255, 230, 200), draws)
        numbers = [(each.weight, (each.x, each.y), each.radius, tuple(each.color)) for each in circles]
        expected = functions().add_sun_flare_overlay(IMAGE, center, 50, (255, 230, 200), numbers)
        result = np.asarray(pipeline(IMAGE, sample_ids=[sample], epoch=0))
        assert np.abs(result.astype(int) - expected).max() <= 2  # halves may be rounded otherwise
        assert (result != IMAGE).mean() > 0.1


@pytest.mark.parametrize("name", IDS)
def test_floats_are_close_to_bytes(name):
    (transform,) = (expected for kind, *_, expected in STEPS if kind == name)
    pipeline = T.Compose([transform], seed=3)
    image = torch.from_numpy(IMAGE).permute(2, 0, 1)
    bytes_of, floats = pipeline(image, epoch=0), pipeline(image / 255, epoch=0)
    assert (bytes_of.float() / 255 - floats).abs().mean() < 0.02
