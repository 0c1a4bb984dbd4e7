"""Interpolations and borders by the names and numbers of OpenCV, Pillow and torchvision; public names."""

import itertools
from enum import Enum
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec.transforms import InterpolationMode
from tests.support import photograph
from tests.support.augments import fused

PHOTO = photograph(20, 30)
TURN = np.array([[0.9, 0.3, 4.0], [-0.2, 1.1, -3.0]])
HOMOGRAPHY = np.array([*TURN, [1e-3, 2e-3, 1]])
X, Y = (TURN @ np.stack([*np.mgrid[:20, :30][::-1], np.ones((20, 30))]).reshape(3, -1)).reshape(2, 20, 30)
WARPS = {
    "warp_affine": lambda **how: orbbec.warp_affine(PHOTO, TURN, (20, 30), **how),
    "warp_perspective": lambda **how: orbbec.warp_perspective(PHOTO, HOMOGRAPHY, (20, 30), **how),
    "remap": lambda **how: orbbec.remap(PHOTO, X, Y, **how),
    "elastic_transform": lambda **how: orbbec.elastic_transform(PHOTO, 90.0, 2.0, **how),
}
FUSED = {"augment": lambda **how: fused(PHOTO, HOMOGRAPHY, (20, 30), **how)}
RESIZES = {
    "resize": lambda **how: orbbec.resize(PHOTO, (13, 17), **how),
    "resized_crop": lambda **how: orbbec.resized_crop(PHOTO, torch.tensor([2, 3, 25, 16]), (9, 9), **how),
}
BLURS = {
    "box_blur": lambda **how: orbbec.box_blur(PHOTO, 5, **how),
    "gaussian_blur": lambda **how: orbbec.gaussian_blur(PHOTO, 5, **how),
    "motion_blur": lambda **how: orbbec.motion_blur(PHOTO, 5, 30.0, **how),
    "filter2d": lambda **how: orbbec.filter2d(PHOTO, torch.ones(5, 5) / 25, **how),
}


class Resampling(Enum):
    """Pillow's enumeration, whose numbers differ from OpenCV's."""

    NEAREST, LANCZOS, BILINEAR, BICUBIC = range(4)


SAME = {
    "nearest": [InterpolationMode.NEAREST, Resampling.NEAREST, 0],
    "linear": ["bilinear", InterpolationMode.BILINEAR, Resampling.BILINEAR, 1],
    "cubic": ["bicubic", InterpolationMode.BICUBIC, Resampling.BICUBIC, 2],
    "area": [3],
    "lanczos4": ["lanczos", InterpolationMode.LANCZOS, Resampling.LANCZOS, 4],
}


@pytest.mark.parametrize("op", [*WARPS, *RESIZES, *FUSED])
def test_interpolations(op):
    call = {**WARPS, **RESIZES, **FUSED}[op]
    for name, others in SAME.items():
        if op in FUSED and name in ("area", "lanczos4"):
            continue
        for other in others:
            assert np.array_equal(call(interpolation=other), call(interpolation=name)), (name, other)


@pytest.mark.parametrize("op", RESIZES)
def test_interpolations_of_resizes(op):
    call = RESIZES[op]
    exact = [call(interpolation=one) for one in ("nearest_exact", InterpolationMode.NEAREST_EXACT, 6)]
    assert all(np.array_equal(one, exact[0]) for one in exact)
    assert np.array_equal(call(interpolation=5), call(interpolation="linear_exact"))
    for name in ("linear", "cubic", "lanczos4"):
        results = [call(interpolation=one, antialias=True) for one in (name, *SAME[name])]
        assert all(np.array_equal(one, results[0]) for one in results)


BORDERS = {
    "constant": [0],
    "replicate": ["edge", 1],
    "reflect": ["symmetric", 2],
    "wrap": [3],
    "reflect101": ["reflect_101", 4],
}


@pytest.mark.parametrize("op", [*WARPS, *FUSED, *BLURS])
def test_borders(op):
    call = {**WARPS, **FUSED, **BLURS}[op]
    results = {name: call(border=name) for name in BORDERS}
    for name, others in BORDERS.items():
        for other in others:
            assert np.array_equal(call(border=other), results[name]), (name, other)
    for one, other in itertools.combinations(results, 2):
        assert not np.array_equal(results[one], results[other]), (one, other)


def test_numbers_are_those_of_opencv():
    cv2 = pytest.importorskip("cv2")
    how = {"flags": cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP, "borderMode": cv2.BORDER_REFLECT_101}
    if int(cv2.__version__.split(".")[0]) >= 5:
        expected = cv2.warpAffine(PHOTO, TURN, (30, 20), **how)
        ours = WARPS["warp_affine"](
            interpolation=cv2.INTER_CUBIC, border=cv2.BORDER_REFLECT_101, inverse=True
        )
        assert np.array_equal(ours, expected)
    names = [*SAME, "linear_exact", "nearest_exact"]
    numbers = [getattr(cv2, f"INTER_{name.upper()}") for name in names]
    assert numbers == list(range(7))


@pytest.mark.parametrize("value", [None, True, 1.0, 99, -1, "quintic"])
@pytest.mark.parametrize("op", [*WARPS, *RESIZES, *FUSED])
def test_an_unknown_interpolation_is_named(op, value):
    with pytest.raises((ValueError, TypeError), match=f"^{op}: expected interpolation .*but got"):
        {**WARPS, **RESIZES, **FUSED}[op](interpolation=value)


@pytest.mark.parametrize("value", [None, True, 1.0, 16, -1, "outside"])
@pytest.mark.parametrize("op", [*WARPS, *FUSED, *BLURS])
def test_an_unknown_border_is_named(op, value):
    with pytest.raises((ValueError, TypeError), match=f"^{op}: expected border .*but got"):
        {**WARPS, **FUSED, **BLURS}[op](border=value)


@pytest.mark.parametrize("mode", ["bicubic", InterpolationMode.BICUBIC, 2])
def test_names_compile_as_one_graph(mode):
    def warp(images):
        return orbbec.warp_affine(images, torch.eye(3)[:2], (8, 9), interpolation=mode, border="edge") + 1

    images = torch.rand(1, 3, 20, 30)
    compiled = torch.compile(warp, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(images), warp(images))


FAMILIES = ["augment", "color", "filters", "jpeg", "mix", "nms", "noise", "resize", "roi_align", "warpaffine"]
PACKAGE = Path(orbbec.__file__).parent
FOLDERS = sorted(
    ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    for family in FAMILIES
    for path in (PACKAGE / family).rglob("__init__.py")
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_name_is_the_function_and_imports_reach_the_folder(folder):
    """`orbbec.nms(...)`, `from orbbec.nms import nms` and `from orbbec.nms import soft_nms`."""
    package = import_module(folder)
    assert package.__all__
    for name in package.__all__:
        imported = {}
        exec(f"from {folder} import {name}", imported)
        assert callable(imported[name])
        if name in orbbec.__all__:
            assert getattr(orbbec, name) is imported[name]
    above, _, name = folder.rpartition(".")
    function_or_folder = getattr(package, name) if name in package.__all__ else package
    assert getattr(import_module(above), name) is function_or_folder


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.count(".") > 1])
def test_a_family_exports_what_its_folders_export(folder):
    family = import_module(folder.rpartition(".")[0])
    assert set(import_module(folder).__all__) <= set(family.__all__)
