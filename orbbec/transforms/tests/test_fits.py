"""ResizeToFit, RandomScale, PadIfNeeded and Crop, on images of several sizes."""

import numpy as np
import pytest

from orbbec import ImageBatch
from orbbec import transforms as T
from tests.support import assert_same_bytes, photograph

IMAGES = [photograph(40, 60), photograph(60, 40), photograph(7, 90), photograph(1, 1)]


def arrays(transform, images=IMAGES):
    return [T.Compose([transform], seed=3)(image, epoch=0) for image in images]


@pytest.mark.parametrize("size", [30, (30, 50)])
def test_images_are_as_large_as_fits(size):
    height, width = (size, size) if isinstance(size, int) else size
    for given, result in zip(IMAGES, arrays(T.ResizeToFit(size, antialias=False)), strict=True):
        scale = min(height / given.shape[0], width / given.shape[1])
        rows, columns = (max(1, round(side * scale)) for side in given.shape[:2])
        assert result.shape == (rows, columns, 3)
        expected = T.Resize((rows, columns), antialias=False)(given, epoch=0)
        assert_same_bytes(result, expected)


def test_both_sides_are_scaled_by_one_factor():
    sizes = np.tile([[400, 600]], (4000, 1))
    drawn = T.Compose([T.RandomScale((0.5, 1.5))]).plan(sizes, epoch=0).output_sizes
    assert (np.abs(drawn[:, 0] / 400 - drawn[:, 1] / 600) <= 1 / 400).all()
    counts = np.histogram(drawn[:, 0], bins=10, range=(200, 600))[0]
    # Chi-squared of 9 degrees of freedom exceeds 27.9 once in 1,000.
    assert ((counts - 400) ** 2 / 400).sum() < 27.9
    assert [image.shape[:2] for image in arrays(T.RandomScale((0.5, 0.5)))] == [
        (20, 30),
        (30, 20),
        (3, 45),
        (1, 1),
    ]


POSITIONS = {"center": (4, 6), "top_left": (0, 0), "top_right": (0, 13), "bottom_left": (9, 0)}
POSITIONS["bottom_right"] = (9, 13)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_padding_worked_by_hand(mode):
    given = photograph(21, 27)
    for position, (top, left) in POSITIONS.items():
        (result,) = arrays(T.PadIfNeeded((30, 40), 0, mode, position), [given])
        rows, columns = (top, 9 - top), (left, 13 - left)
        assert_same_bytes(result, np.pad(given, (rows, columns, (0, 0)), mode))
        (wide,) = arrays(T.PadIfNeeded((30, 5), 0, mode, position), [given])
        assert_same_bytes(wide, np.pad(given, (rows, (0, 0), (0, 0)), mode))


def test_positions_of_padded_images_are_even():
    sizes = np.tile([[5, 40]], (4000, 1))
    plan = T.Compose([T.PadIfNeeded((8, 30), position="random")]).plan(sizes, epoch=0)
    left, top = plan.matrix[:, :2, 2].T
    assert not left.any()
    counts = np.bincount((-top).astype(int), minlength=4)
    # Chi-squared of 3 degrees of freedom exceeds 16.3 once in 1,000.
    assert len(counts) == 4
    assert ((counts - 1000) ** 2 / 1000).sum() < 16.3


def test_a_part_is_cut_out():
    for given, result in zip(IMAGES[:2], arrays(T.Crop(3, 5, 30, 20), IMAGES[:2]), strict=True):
        assert_same_bytes(result, given[3:33, 5:25])
    with pytest.raises(ValueError, match="Crop: expected images of at least 33x25, but image 2 is 7x90"):
        T.Crop(3, 5, 30, 20)(ImageBatch.from_images(IMAGES))
    some = T.Compose([T.RandomApply([T.Crop(3, 5, 30, 20)], 0.0)])
    assert_same_bytes(some(IMAGES[3], epoch=0), IMAGES[3])


def test_boxes_follow():
    options = T.TargetOptions("xyxyn")
    pipeline = T.Compose([T.ResizeToFit(30), T.PadIfNeeded(30)], target_options=options)
    _, target = pipeline(IMAGES[0], {"boxes": np.array([[0.0, 0.0, 1.0, 1.0]])}, epoch=0)
    assert np.allclose(target["boxes"], [[0, 5 / 30, 1, 25 / 30]], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.ResizeToFit(0), "ResizeToFit: expected size"),
        (lambda: T.RandomScale((0.0, 1.0)), "RandomScale: expected scale_range"),
        (lambda: T.PadIfNeeded(8, position="left"), "PadIfNeeded: expected position as one of center"),
        (lambda: T.PadIfNeeded(8, padding_mode="mirror"), "PadIfNeeded: expected padding_mode"),
        (lambda: T.Crop(-1, 0, 2, 2), "Crop: expected top as a whole number from 0 to 1073741824"),
        (lambda: T.Crop(0, 0, 0, 2), "Crop: expected height as a whole number from 1 to 1073741824"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_they_survive_as_text():
    pipeline = T.Compose(
        [T.Crop(1, 2, 3, 4), T.PadIfNeeded((5, 6)), T.SomeOf([T.ResizeToFit(7), T.RandomScale()])]
    )
    assert T.Compose.from_json(pipeline.to_json()) == pipeline
