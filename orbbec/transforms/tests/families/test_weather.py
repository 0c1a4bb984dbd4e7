"""Snow, fog, rain and flares: against OpenCV, the same in every batch, and invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.filters import gaussian_blur
from orbbec.transforms.effects.weather import disc_counts, line_pixels
from tests.support import assert_same_bytes, photograph

cv2 = pytest.importorskip("cv2")
WEATHER = [
    T.RandomSnow(p=1.0),
    T.RandomFog(p=1.0),
    T.RandomRain(p=1.0),
    T.RandomSunFlare(src_radius=30, p=1.0),
]
NAMES = [transform.name for transform in WEATHER]


@pytest.mark.parametrize("radius", [1, 2, 3, 7, 20, 41])
def test_discs_are_those_of_opencv(radius):
    discs = np.array([[30, 22, radius], [3, 60, radius], [-4, 9, radius]])
    expected = np.zeros((70, 50), np.int32)
    for x, y, _ in discs.tolist():
        expected += cv2.circle(np.zeros((70, 50), np.uint8), (x, y), radius, 1, -1)
    assert (disc_counts((70, 50), torch.from_numpy(discs)).numpy() == expected).all()


@pytest.mark.parametrize(("size", "side"), [((89, 200), 3), ((200, 150), 5), ((180, 190), 7)])
def test_fog_is_blurred_by_a_thirtieth_of_the_shorter_side(size, side):
    image = torch.from_numpy(photograph(*size)).permute(2, 0, 1)
    assert_same_bytes(T.RandomFog(0.0, p=1.0)(image), gaussian_blur(image, side, 0.0))


def test_lines_are_those_of_opencv():
    for across in range(-20, 21):
        for down in range(25):
            expected = cv2.line(np.zeros((60, 60), np.uint8), (30, 20), (30 + across, 20 + down), 1, 1, 4)
            with np.errstate(divide="raise"):  # one pixel has no slope
                x, y = (line_pixels(across, down) + np.array([30, 20])).T
            result = np.zeros_like(expected)
            result[y, x] = 1
            assert (result == expected).all()


def test_snow_is_that_of_opencv():
    image = photograph(40, 52)
    hls = cv2.cvtColor(image, cv2.COLOR_RGB2HLS)
    light = hls[..., 1].astype(np.float32)
    hls[..., 1] = np.where(light < (0.3 / 2 + 1 / 3) * 255, np.minimum(light * 1.7, 255), light)
    expected = cv2.cvtColor(hls, cv2.COLOR_HLS2RGB)
    assert_same_bytes(T.RandomSnow(1.7, (0.3, 0.3), 1.0)(image), expected)


@pytest.mark.parametrize("transform", WEATHER, ids=NAMES)
def test_each_image_has_its_weather_whatever_the_batch(transform):
    images = [photograph(30, 44), photograph(50, 41, seed=1), photograph(30, 44, seed=2)]
    pipeline = T.Compose([transform], seed=5)
    together = pipeline(ImageBatch.from_images(images), sample_ids=[4, 5, 6], epoch=0)
    stacked = pipeline(np.stack(images[::2]), sample_ids=[4, 6], epoch=0)
    for index, image in enumerate(images):
        alone = np.asarray(pipeline(image, sample_ids=[4 + index], epoch=0))
        assert_same_bytes(together[index].numpy(), alone)
        assert (alone != image).any()
        if index != 1:
            assert_same_bytes(stacked[index // 2], alone)


@pytest.mark.parametrize("transform", WEATHER, ids=NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_floats_are_not_changed_in_place_and_stay_within_their_range(transform, dtype):
    image = torch.from_numpy(photograph(30, 44)).permute(2, 0, 1).to(dtype) / 255
    before = image.clone()
    result = T.Compose([transform], seed=5)(image, epoch=0)
    assert torch.equal(image, before)
    assert result.dtype == dtype
    assert result.min() >= 0
    assert result.max() <= 1
    assert not torch.equal(result, image)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (9, 7)])
@pytest.mark.parametrize("transform", WEATHER, ids=NAMES)
def test_small_images_keep_their_size(transform, size):
    assert transform(torch.zeros(2, 3, *size, dtype=torch.uint8)).shape == (2, 3, *size)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.RandomRain(rain_type="fine"), "RandomRain: expected rain_type as one of drizzle, default"),
        (lambda: T.RandomRain(drop_color=(1, 2)), "expected drop_color as a number or 3 of them"),
        (
            lambda: T.RandomSunFlare((0.5, 0.0, 0.4, 1.0)),
            "RandomSunFlare: expected flare_roi as left, top",
        ),
        (lambda: T.RandomSunFlare(src_radius=9), "src_radius as a whole number of at least 10|from 10"),
        (lambda: T.RandomFog(fog_coef_range=(0.5, 0.2)), "RandomFog: expected fog_coef_range as .* in order"),
        (lambda: T.RandomSnow(-1.0), "RandomSnow: expected brightness_coeff as a number from 0"),
        (lambda: T.RandomSnow(p=1.0)(torch.zeros(1, 4, 4)), "RandomSnow: expected images of 3 channels"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        (T.RandomRain, "drop_color", {}),
        (T.RandomSunFlare, "src_color", {}),
        (T.Spatter, "color", {}),
        (T.Spatter, "color", {"mode": "mud"}),
    ],
)
def test_one_number_is_the_color_of_all_channels(kind, name, arguments):
    one = T.Compose([kind(**{name: 90}, **arguments, p=1.0)], seed=2)
    three = T.Compose([kind(**{name: (90, 90, 90)}, **arguments, p=1.0)], seed=2)
    assert one == three == T.Compose.from_json(one.to_json())
    images = torch.full((2, 3, 40, 50), 120, dtype=torch.uint8)
    assert torch.equal(one(images, epoch=0), three(images, epoch=0))
