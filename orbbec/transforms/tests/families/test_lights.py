"""Vignettes, illumination and shadows: against NumPy, what they draw, and where they stand."""

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.transforms.lights import _LIGHTS
from tests.support import assert_same_bytes, photograph
from tests.support.registers import Registers

IMAGE = photograph(40, 64)


def result_of(transform, image=IMAGE, exact=False):
    return T.Compose([transform], seed=3, exact=exact)(image, epoch=0)


def gain_of(transform, height, width):
    """The factors of a transform, from a gray image of floats."""
    gray = np.full((height, width, 1), 0.25, np.float32)
    return result_of(transform, gray)[..., 0].astype(np.float64) / 0.25


def grid(height, width):
    y, x = np.mgrid[:height, :width].astype(np.float64)
    return x, y


@pytest.mark.parametrize("size", [(40, 64), (7, 5), (1, 1), (1, 30)])
@pytest.mark.parametrize("center", [0.0, 0.3, 0.5, 1.0])
def test_a_vignette_is_that_of_numpy(size, center):
    x, y = grid(*size)
    height, width = size
    distance = ((x - center * width) / (width / 2)) ** 2 + ((y - center * height) / (height / 2)) ** 2
    expected = 1 - 0.6 * distance / max(distance.max(), 1e-6)
    actual = gain_of(T.Vignetting((0.6, 0.6), (center, center), 1.0), *size)
    assert np.abs(actual - expected).max() < 4e-7  # seen: 9e-8


@pytest.mark.parametrize("angle", [0.0, 90.0, 180.0, 45.0, 225.0, 20.0, 301.0])
@pytest.mark.parametrize(("effect", "sign"), [("brighten", 1), ("darken", -1)])
def test_linear_illumination_is_that_of_numpy(angle, effect, sign):
    x, y = grid(40, 64)
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    along = (2 * x / 63 - 1) * cosine + (2 * y / 39 - 1) * sine
    expected = 1 + sign * 0.4 * along / np.abs(along).max()
    actual = gain_of(T.Illumination("linear", (0.4, 0.4), effect, (angle, angle), p=1.0), 40, 64)
    assert np.abs(actual - expected).max() < 4e-7  # seen: 1.3e-7


@pytest.mark.parametrize("size", [(40, 64), (64, 40), (1, 1)])
def test_gaussian_illumination_is_that_of_numpy(size):
    x, y = grid(*size)
    sigma = 0.3 * max(size)
    squared = (x - 0.2 * size[1]) ** 2 + (y - 0.2 * size[0]) ** 2
    expected = 1 + 0.5 * np.exp(-squared / (2 * sigma**2))
    light = T.Illumination("gaussian", (0.5, 0.5), "brighten", (0, 0), (0.2, 0.2), (0.3, 0.3), 1.0)
    assert np.abs(gain_of(light, *size) - expected).max() < 4e-7  # seen: 1.3e-7


def test_illumination_brightens_as_often_as_it_darkens():
    drawn = Registers(T.Illumination("gaussian", (0.1, 0.3), p=1.0).rules, [(40, 64)] * 4000, seed=3)
    peaks = drawn.of("color", 9)[0, :, 0]
    assert ((np.abs(peaks) >= 0.1) & (np.abs(peaks) <= 0.3)).all()
    assert abs((peaks > 0).mean() - 0.5) < 0.04  # five deviations


def test_shadows_lie_within_their_part_of_the_image():
    shadow = T.RandomShadow((0.25, 0.5, 0.75, 1.0), 3, 3, (1.0, 1.0), 1.0)
    for epoch in range(20):
        result = T.Compose([shadow], seed=3)(IMAGE, epoch=epoch)
        changed = (result != IMAGE).any(-1)
        assert changed.any()
        assert (result[changed] == 0).all()
        assert not changed[:20].any()
        assert not changed[:, :16].any()
        assert not changed[:, 48:].any()


def test_shadows_darken_again_where_they_overlap():
    shadow = T.RandomShadow((0.0, 0.0, 1.0, 1.0), 4, 3, (0.5, 0.5), 1.0)
    levels = np.unique(gain_of(shadow, 40, 64))
    assert set(levels) <= {1.0, 0.5, 0.25, 0.125, 0.0625}
    assert len(levels) > 2


def test_the_number_of_shadows_is_drawn():
    count = 0
    shadow = T.RandomShadow((0.0, 0.0, 1.0, 1.0), (1, 2), 7, (0.5, 0.5), 1.0)
    for epoch in range(200):
        gray = T.Compose([shadow], seed=3)(np.full((40, 64, 1), 0.5, np.float32), epoch=epoch)
        count += bool((gray == 0.125).any())
    assert 60 < count < 120  # two of them overlap in most of 100 images


LIGHTS = [
    T.Vignetting((0.8, 0.8), (0.1, 0.2), 1.0),
    T.Illumination("linear", (0.6, 0.6), "brighten", (10.0, 80.0), p=1.0),
    T.Illumination("gaussian", (0.6, 0.6), "darken", (0, 0), (0.1, 0.3), (0.2, 0.2), 1.0),
    T.RandomShadow((0.0, 0.0, 0.5, 0.9), (2, 3), 5, (0.6, 0.6), 1.0),
]


@pytest.mark.parametrize("light", LIGHTS, ids=lambda light: light.name)
def test_lights_move_with_what_follows_them(light):
    """A flip after a light flips the light too, in a pass of its own."""
    flip = T.RandomHorizontalFlip(1.0)
    both = T.Compose([light, flip], seed=3)
    alone = result_of(light)
    assert_same_bytes(both(IMAGE, epoch=0), np.ascontiguousarray(alone[:, ::-1]))
    assert len(both.plan([(40, 64)], epoch=0).passes) == 2
    before = T.Compose([flip, light], seed=3)
    assert len(before.plan([(40, 64)], epoch=0).passes) == 1
    assert not np.array_equal(before(IMAGE, epoch=0), both(IMAGE, epoch=0))


@pytest.mark.parametrize("light", LIGHTS, ids=lambda light: light.name)
def test_lights_are_the_same_fused_and_alone(light):
    resize = T.Resize((30, 50), antialias=False)
    fused = T.Compose([resize, light], seed=3)(IMAGE, epoch=0)
    exact = T.Compose([resize, light], seed=3, exact=True)(IMAGE, epoch=0)
    assert np.abs(fused.astype(int) - exact).max() <= 1


@pytest.mark.parametrize("light", LIGHTS, ids=lambda light: light.name)
def test_lights_leave_targets_as_they_are(light):
    boxes = np.array([[3.0, 4, 30, 20]])
    _, targets = T.Compose([light], seed=3)(IMAGE, {"boxes": boxes}, epoch=0)
    assert np.array_equal(targets["boxes"], boxes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.Vignetting((0.2, 1.2)), "Vignetting: expected intensity_range as .* from 0 to 1"),
        (lambda: T.Vignetting(center_range=(-0.1, 0.2)), "expected center_range as .* from 0 to 1"),
        (lambda: T.Illumination("corner"), "expected mode as one of linear, gaussian"),
        (lambda: T.Illumination(effect_type="none"), "expected effect_type as one of brighten, darken, both"),
        (lambda: T.Illumination(sigma_range=(0.0, 0.1)), "expected sigma_range as .* at least 1e-06"),
        (lambda: T.RandomShadow((0.5, 0, 0.4, 1)), "expected shadow_roi as left, top, right, bottom"),
        (lambda: T.RandomShadow((0.0, 0, 1)), "expected shadow_roi as left, top, right, bottom"),
        (lambda: T.RandomShadow((0.0, 0, 1, 2)), "expected shadow_roi as a number from 0 to 1"),
        (lambda: T.RandomShadow(num_shadows_range=17), "expected num_shadows_range as .* from 1 to 16"),
        (lambda: T.RandomShadow(shadow_dimension=2), "expected shadow_dimension as .* from 3 to 7"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("mode", _LIGHTS)
def test_lights_are_those_of_albumentations(mode):
    functional = pytest.importorskip("albumentations.augmentations.pixel.functional")
    coldest, (red, green, blue) = _LIGHTS[mode]
    gray = np.full((1, 1, 3), 0.1, np.float32)
    for index in range(len(red)):
        [[factors]] = functional.planckian_jitter(gray, int(coldest + 500 * index), mode) / 0.1
        expected = [red[index] / green[index], 1, blue[index] / green[index]]
        assert factors == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("mode", _LIGHTS)
def test_lights_between_those_of_the_table_are_interpolated(mode):
    coldest, table = _LIGHTS[mode]
    kelvins = np.arange(coldest, 15001)
    known = coldest + 500 * np.arange(len(table[0]))
    red, green, blue = (np.interp(kelvins, known, light) for light in table)
    curve = np.stack([red / green, np.ones(len(kelvins)), blue / green], 1)
    gray = np.full((200, 1, 1, 3), 0.25, np.float32)
    factors = T.Compose([T.PlanckianJitter(mode, p=1.0)], seed=1)(gray, epoch=0).reshape(-1, 3) / 0.25
    nearest = np.abs(factors[:, None] - curve).max(2).min(1)
    assert nearest.max() < 1.2e-7  # 6e-8: rounded to float32
