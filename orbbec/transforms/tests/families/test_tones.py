"""Color transforms of detectors and robots: against OpenCV and NumPy, their draws, and invalid arguments."""

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.transforms.lights import _LIGHTS
from tests.support import assert_same_bytes, photograph
from tests.support.registers import Registers

cv2 = pytest.importorskip("cv2")
IMAGE = photograph(40, 64)
LEVELS = np.arange(256.0)


def result_of(transform, image=IMAGE, exact=False):
    return T.Compose([transform], seed=3, exact=exact)(image, epoch=0)


def by_tables(hue, saturation, value):
    """The photograph through tables of hue, saturation and value."""
    tables = [np.clip(table, 0, 255).astype(np.uint8) for table in (hue % 180, saturation, value)]
    tables[1][0] = 0
    channels = cv2.split(cv2.cvtColor(IMAGE, cv2.COLOR_RGB2HSV))
    hsv = cv2.merge([cv2.LUT(*pair) for pair in zip(channels, tables, strict=True)])
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("gains", [(0.015, 1.7, 0.6), (-0.4, 0.31, 1.41), (0.5, 1.0, 1.0)])
def test_random_hsv_has_the_bytes_of_opencv(gains, exact):
    hue, saturation, value = gains
    actual = result_of(T.RandomHSV(*((gain, gain) for gain in gains)), exact=exact)
    assert_same_bytes(actual, by_tables(LEVELS + hue * 180, LEVELS * saturation, LEVELS * value))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("shifts", [(-20, 30, 20), (17.5, -45.5, -20.25), (0, 0, 0), (180, 255, -255)])
def test_hue_saturation_value_has_the_bytes_of_opencv(shifts, exact):
    actual = result_of(T.HueSaturationValue(*((shift, shift) for shift in shifts), p=1.0), exact=exact)
    assert_same_bytes(actual, by_tables(*(LEVELS + shift for shift in shifts)))


def test_gray_pixels_stay_gray():
    gray = np.repeat(IMAGE[..., :1], 3, axis=2)
    changed = result_of(T.RandomHSV((0.2, 0.2), (2.0, 2.0), (1.0, 1.0)), gray)
    assert_same_bytes(changed, gray)


def scales_of(transform, count=1):
    """The drawn factors and summands: float64 `[count, 3]` each."""
    drawn = Registers(transform.rules, [IMAGE.shape[:2]] * count, seed=3)
    return drawn.of("color_scale", 2, 3)[0], drawn.of("color_scale", 3, 3)[0]


SCALED = [
    T.RGBShift((-0.3, 0.2), (0.1, 0.5), (-0.6, 0.0), 1.0),
    T.MultiplicativeNoise((0.5, 1.5), False, 1.0),
    T.MultiplicativeNoise((0.5, 1.5), True, 1.0),
    T.ChannelDropout((1, 2), 77.0, 1.0),
    T.PlanckianJitter(p=1.0),
    T.FancyPCA(0.8, 1.0),
]


@pytest.mark.parametrize("transform", SCALED, ids=lambda transform: transform.name)
def test_channels_are_scaled_and_shifted_as_by_numpy(transform):
    (factors,), (summands,) = scales_of(transform)
    expected = np.clip(np.rint(IMAGE * factors + 255 * summands), 0, 255).astype(np.uint8)
    assert_same_bytes(result_of(transform), expected)


def test_lighting_is_drawn_along_the_directions_of_imagenet():
    """AlexNet's: eigenvectors times normal weights times the deviations."""
    deviations = np.array([0.2175, 0.0188, 0.0045])
    directions = np.array(
        [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
    )
    factors, summands = scales_of(T.FancyPCA(0.1, 1.0), 4000)
    assert (factors == 1).all()
    weights = summands @ np.linalg.inv(directions).T / deviations
    # The deviation of a deviation of 4000 numbers is 1/sqrt(8000) of it; 4.5 of them are 5 %.
    assert np.abs(weights.std(0) / 0.1 - 1).max() < 0.05
    assert np.abs(weights.mean(0)).max() < 4.5 * 0.1 / 4000**0.5
    assert np.abs(np.corrcoef(weights.T) - np.eye(3)).max() < 4.5 / 4000**0.5


def test_gray_images_get_the_mean_of_the_lighting():
    (_, (summands,)), gray = scales_of(T.FancyPCA(0.8, 1.0)), IMAGE[..., :1]
    expected = np.clip(np.rint(gray + 255 * summands.mean()), 0, 255).astype(np.uint8)
    assert_same_bytes(result_of(T.FancyPCA(0.8, 1.0), gray), expected)


def test_shifts_and_factors_are_drawn_evenly():
    factors, summands = scales_of(SCALED[0], 4000)
    assert (factors == 1).all()
    for values, ends in zip(summands.T, ((-0.3, 0.2), (0.1, 0.5), (-0.6, 0.0)), strict=True):
        assert_even(values, *ends)
    one, _ = scales_of(SCALED[1], 4000)
    assert (one == one[:, :1]).all()
    several, summands = scales_of(SCALED[2], 4000)
    assert (summands == 0).all()
    assert np.abs(np.corrcoef(several.T) - np.eye(3)).max() < 0.06
    for values in (one[:, 0], *several.T):
        assert_even(values, 0.5, 1.5)


def assert_even(values, low, high):
    counts = np.histogram(values, bins=10, range=(low, high))[0]
    # Chi-squared of 9 degrees of freedom exceeds 27.9 once in 1,000.
    assert ((counts - len(values) / 10) ** 2 / (len(values) / 10)).sum() < 27.9


def test_one_or_two_of_the_channels_are_dropped_equally_often():
    factors, summands = scales_of(SCALED[3], 6000)
    dropped = factors == 0
    assert (np.isin(factors, (0, 1))).all()
    assert np.array_equal(summands, dropped * (77 / 255))
    kinds = np.unique(dropped, axis=0, return_counts=True)
    assert kinds[0].tolist() == sorted(map(list, {*map(tuple, kinds[0].tolist())}))
    assert len(kinds[1]) == 6
    assert np.abs(kinds[1] - 1000).max() < 150  # five deviations


def test_a_dropped_channel_is_filled_in_pixel_units():
    for image, fill in (
        (np.full((4, 5, 3), 200, np.uint8), 9),
        (np.full((4, 5, 3), 0.5, np.float32), 9 / 255),
    ):
        result = result_of(T.ChannelDropout(2, 9.0 if image.dtype == np.uint8 else fill, 1.0), image)
        assert (np.isclose(result, fill).all((0, 1))).sum() == 2


@pytest.mark.parametrize("mode", ["blackbody", "cied"])
def test_planckian_factors_are_those_of_the_table(mode):
    coldest, lights = _LIGHTS[mode]
    kelvins = coldest + 500 * np.arange(len(lights[0]))
    red, green, blue = (np.array(light) for light in lights)
    factors, _ = scales_of(T.PlanckianJitter(mode, p=1.0), 3000)
    # The ratio of red to blue falls with the temperature, so it tells the temperature.
    fine = np.arange(coldest, 15001)
    ratios = [np.interp(fine, kelvins, light) / np.interp(fine, kelvins, green) for light in (red, blue)]
    at = np.abs(ratios[0][None] - factors[:, :1]).argmin(1)
    np.testing.assert_allclose(factors[:, 0], ratios[0][at], atol=1e-12)
    np.testing.assert_allclose(factors[:, 2], ratios[1][at], atol=1e-3)
    assert (factors[:, 1] == 1).all()
    assert abs((fine[at] < 6000).mean() - 0.4) < 0.04


def test_tone_curves_are_drawn_about_a_quarter_and_three_quarters():
    one, several = (
        Registers(T.RandomToneCurve(0.1, per_channel, 1.0).rules, [(8, 8)] * 3000, seed=3)
        for per_channel in (False, True)
    )
    for drawn, is_equal in ((one, True), (several, False)):
        points = np.stack([drawn.of("color", 4 + number)[0, :, 0] for number in range(6)], 1)
        assert ((points >= 0) & (points <= 1)).all()
        np.testing.assert_allclose(points.mean(0), [0.25] * 3 + [0.75] * 3, atol=0.01)
        np.testing.assert_allclose(points.std(0), 0.1, atol=0.01)
        assert (points[:, :3] == points[:, :1]).all() == is_equal


def test_a_tone_curve_without_scale_is_worked_by_hand():
    image = np.array([0, 51, 128, 204, 255], np.uint8).reshape(1, 5, 1)
    t = image / 255
    expected = t**3 + 3 * t**2 * (1 - t) * 0.75 + 3 * t * (1 - t) ** 2 * 0.25
    assert_same_bytes(
        result_of(T.RandomToneCurve(0.0, p=1.0), image), np.rint(expected * 255).astype(np.uint8)
    )


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("addition", "threshold"), [(0, 128), (60, 128), (200, 31), (255, 255), (7, 0)])
def test_additions_are_those_of_numpy(addition, threshold, exact):
    levels = np.arange(256)
    table = np.where(levels < threshold, np.minimum(levels + addition, 255), levels).astype(np.uint8)
    transform = T.SolarizeAdd((addition, addition), threshold, 1.0)
    assert_same_bytes(result_of(transform, exact=exact), table[IMAGE])


def test_additions_are_those_of_timm():
    auto = pytest.importorskip("timm.data.auto_augment", reason="`make test-loops` installs it")
    picture = pytest.importorskip("PIL.Image").fromarray(IMAGE)
    for level in range(11):
        (addition,) = auto.LEVEL_TO_ARG["SolarizeAdd"](level, {})
        expected = np.asarray(auto.solarize_add(picture, addition))
        assert_same_bytes(result_of(T.SolarizeAdd((addition, addition), p=1.0)), expected)


def test_additions_are_drawn_evenly():
    transform = T.SolarizeAdd((20.0, 110.0), 99.0, 0.7)
    rows = Registers(transform.rules, [IMAGE.shape[:2]] * 4000, seed=3)
    thresholds, adds, additions = (rows.of("color", 4 + number)[0, :, 0] for number in range(3))
    assert (thresholds == 99 / 255).all()
    assert (adds == 1).all()
    levels = additions * 255
    assert ((levels >= 20) & (levels <= 110)).all()
    assert abs(levels.mean() - 65) < 2.1  # five deviations
    assert abs(levels.std() - 90 / 12**0.5) < 1.2


def test_sepia_is_that_of_numpy():
    matrix = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])
    brown = np.clip(IMAGE.astype(np.float64) @ matrix.T, 0, 255)
    # Sums in float32 and float64 differ where they end near one half.
    assert np.abs(result_of(T.ToSepia(1.0)) - brown).max() <= 0.5001
    assert_same_bytes(result_of(T.ToSepia(1.0), IMAGE[..., :1]), IMAGE[..., :1])


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 1, 2), (0, 2, 1)])
def test_channels_are_swapped_as_by_numpy(order):
    assert_same_bytes(result_of(T.ChannelSwap(order, 1.0)), np.ascontiguousarray(IMAGE[..., list(order)]))


@pytest.mark.parametrize(
    "transform", [T.SolarizeAdd((90, 90), p=0.4), T.ToSepia(0.4), T.ChannelSwap((1, 2, 0), 0.4)]
)
def test_colors_change_with_their_probability_and_targets_stay(transform):
    boxes = [{"boxes": np.array([[3.0, 4, 30, 20]])} for _ in range(400)]
    results, targets = T.Compose([transform], seed=3)(np.repeat(IMAGE[None], 400, 0), boxes, epoch=0)
    assert abs((results != IMAGE).any((1, 2, 3)).mean() - 0.4) < 0.12
    assert all(np.array_equal(one["boxes"], [[3.0, 4, 30, 20]]) for one in targets)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.RandomHSV(hue=0.6), "RandomHSV: expected hue as"),
        (lambda: T.RandomHSV(saturation=(-1.0, 1.0)), "RandomHSV: expected saturation as .* at least 0"),
        (lambda: T.HueSaturationValue((-200, 0)), "expected hue_range as .* from -180 to 180"),
        (lambda: T.HueSaturationValue(value_range=3), "expected value_range as"),
        (lambda: T.RGBShift(blue_range=(0, 2)), "expected blue_range as .* from -1 to 1"),
        (lambda: T.MultiplicativeNoise((-1, 2)), "expected multiplier_range as .* at least 0"),
        (lambda: T.ChannelDropout(3), "expected channel_drop_range as .* from 1 to 2"),
        (lambda: T.SolarizeAdd((-1, 9)), "SolarizeAdd: expected addition as .* from 0 to 255"),
        (lambda: T.SolarizeAdd(threshold=256), "expected threshold as a number from 0 to 255"),
        (lambda: T.ChannelSwap((0, 1)), "ChannelSwap: expected channel_order as a permutation of 0, 1, 2"),
        (lambda: T.ChannelSwap((0, 1, 1)), "expected channel_order as a permutation of 0, 1, 2"),
        (lambda: T.ChannelSwap(3), "expected channel_order as a list"),
        (lambda: T.FancyPCA(-0.1), "FancyPCA: expected alpha as a number of at least 0"),
        (lambda: T.RandomToneCurve(2.0), "expected scale as a number from 0 to 1"),
        (lambda: T.PlanckianJitter("sun"), "expected mode as one of blackbody, cied"),
        (lambda: T.PlanckianJitter(temperature_range=(7000, 8000)), "with 6000 within"),
        (lambda: T.PlanckianJitter("cied", (3000, 8000)), "from 4000 to 15000"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_channels_are_not_dropped_from_gray_images():
    with pytest.raises(ValueError, match="ChannelDropout: expected images of 3 channels, but got 1"):
        result_of(T.ChannelDropout(), IMAGE[..., :1])
    with pytest.raises(ValueError, match="ChannelSwap: expected images of 3 channels, but got 1"):
        result_of(T.ChannelSwap(), IMAGE[..., :1])


@pytest.mark.parametrize("bad", [{"addition": (0.1, 1.5), "threshold": 0.5}, {"addition": (0.1, 0.5)}])
def test_additions_beyond_the_range_of_floats_are_named(bad):
    name = "threshold" if len(bad) == 1 else "addition"
    with pytest.raises(ValueError, match=f"SolarizeAdd: expected {name} of at most 1"):
        result_of(T.SolarizeAdd(**bad), IMAGE.astype(np.float32) / 255)
