"""Resizes of every interpolation: the bytes of the operators, and of cv2 and Pillow."""

from enum import Enum

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")

import orbbec
from orbbec import transforms as T
from orbbec.data.region import plan_for, regions_of
from orbbec.plan import apply
from orbbec.testing import photograph

PHOTO = photograph(60, 80)
SMALL, LARGE = (23, 31), (90, 101)
OPENCV = {"cubic": cv2.INTER_CUBIC, "area": cv2.INTER_AREA, "lanczos4": cv2.INTER_LANCZOS4}
PILLOW = {
    **{"linear": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos4": Image.LANCZOS},
    **{"box": Image.BOX, "hamming": Image.HAMMING},
}


class InterpolationMode(Enum):
    """torchvision's."""

    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", OPENCV)
def test_without_antialias_they_are_opencvs(name, size):
    result = T.Resize(size, name, antialias=False)(PHOTO)
    assert np.array_equal(result, orbbec.resize(PHOTO, size, interpolation=name))
    if name == "area":
        assert np.array_equal(result, cv2.resize(PHOTO, size[::-1], interpolation=cv2.INTER_AREA))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", PILLOW)
def test_with_antialias_they_are_pillows(name, size):
    result = T.Resize(size, name)(Image.fromarray(PHOTO))
    expected = Image.fromarray(PHOTO).resize(size[::-1], PILLOW[name])
    assert np.array_equal(np.asarray(result), np.asarray(expected))


@pytest.mark.parametrize("name", [*PILLOW, "area"])
def test_crops_are_those_of_pillow_and_opencv(name):
    plan = T.Compose([T.RandomResizedCrop(24, interpolation=name)]).plan([PHOTO.shape[:2]], epoch=4)
    box = plan.passes[0].table["boxes"][0].tolist()
    result = apply(plan, PHOTO)
    if name == "area":
        left, top, right, bottom = map(int, box)
        expected = cv2.resize(PHOTO[top:bottom, left:right], (24, 24), interpolation=cv2.INTER_AREA)
    else:
        expected = np.asarray(Image.fromarray(PHOTO).resize((24, 24), PILLOW[name], box=box))
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("name", PILLOW)
def test_parts_that_are_decoded_alone_hold_all_that_a_filter_reads(name):
    crop = T.Compose([T.RandomResizedCrop(9, (0.05, 0.1), interpolation=name)])
    for epoch in range(20):
        plan = crop.plan([PHOTO.shape[:2]], epoch=epoch)
        regions = regions_of(plan)
        if regions is None:
            continue
        (left, top, right, bottom), _ = regions[0]
        part = np.ascontiguousarray(PHOTO[top:bottom, left:right])
        assert np.array_equal(apply(plan_for(plan, regions), part), apply(plan, PHOTO))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *[("bicubic", "cubic"), ("lanczos", "lanczos4"), ("bilinear", "linear")],
        *[(InterpolationMode.BICUBIC, "cubic"), (InterpolationMode.LANCZOS, "lanczos4")],
        *[(Image.Resampling.BICUBIC, "cubic"), (Image.Resampling.LANCZOS, "lanczos4")],
        *[(Image.Resampling.BOX, "box"), (Image.Resampling.NEAREST, "nearest")],
        *[(cv2.INTER_CUBIC, "cubic"), (cv2.INTER_AREA, "area"), (cv2.INTER_LANCZOS4, "lanczos4")],
        *[(cv2.INTER_LINEAR, "linear"), (cv2.INTER_NEAREST_EXACT, "nearest_exact")],
    ],
)
def test_names_of_other_libraries(given, name):
    for transform in (
        T.Resize(9, given),
        T.RandomResizedCrop(9, interpolation=given),
        T.ScaleJitter((9, 9), (1, 2), given),
    ):
        assert transform.interpolation == name


@pytest.mark.parametrize("interpolation", ["cubic hermite", 5, 17, None, True, 1.0])
def test_an_unknown_interpolation_is_named(interpolation):
    with pytest.raises(
        (ValueError, TypeError), match="Resize: expected interpolation as one of nearest, linear"
    ):
        T.Resize(9, interpolation)


def test_a_filter_of_pillows_needs_antialias():
    with pytest.raises(ValueError, match="expected antialias=True with interpolation hamming"):
        T.Resize(9, "hamming", antialias=False)


@pytest.mark.parametrize("name", ["cubic", "area", "lanczos4"])
def test_letterboxes_resize_in_a_pass_of_their_own(name):
    result = T.Letterbox((40, 60), fill=7, interpolation=name)(PHOTO)
    inner = orbbec.resize(PHOTO, (40, 53), interpolation=name)
    assert np.array_equal(result[:, 3:56], inner)
    assert (result[:, :3] == 7).all()
    assert (result[:, 56:] == 7).all()


def test_the_plan_says_why_a_resize_is_not_fused():
    pipeline = T.Compose([T.Resize(SMALL, "cubic", antialias=False), T.ToDtype(torch.float32, scale=True)])
    assert "because Resize: resized_crop reads 16 pixels" in str(pipeline.plan([(60, 80)], epoch=0))
