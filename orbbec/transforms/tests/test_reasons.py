"""A plan gives the true reason for each pass of its own."""

import pytest

from orbbec import transforms as T
from orbbec.transforms.tests.test_compose import ALL

ROUNDS, STATISTICS = "rounds its own result", "takes a histogram of the whole image"
NEIGHBORS = "reads neighboring pixels"
ANTIALIASES = "with antialiasing reads a varying number of pixels per output pixel"
FORMULA = "moves each pixel by a formula of its own"
CHANNELS = "changes the number of channels"
REASONS = {
    **dict.fromkeys(("brightness", "contrast", "saturation", "hue", "gamma"), ROUNDS),
    **dict.fromkeys(("invert", "posterize", "solarize"), ROUNDS),
    **dict.fromkeys(("autocontrast", "equalize"), STATISTICS),
    **dict.fromkeys(("gaussian_blur", "median_blur", "motion_blur", "sharpness"), NEIGHBORS),
    **dict.fromkeys(("unsharp_mask", "defocus", "pillow_blur", "box_blur"), NEIGHBORS),
    **dict.fromkeys(("emboss", "ringing", "morphology", "sharpening"), NEIGHBORS),
    **dict.fromkeys(("grid_distortion", "optical_distortion", "thin_plate_spline"), FORMULA),
    "chromatic_aberration": FORMULA,
    **dict.fromkeys(("cvt_color", "gray_to_rgb"), CHANNELS),
    "clahe": "takes a histogram of each tile",
    "elastic_transform": "displaces each pixel by noise",
    "gaussian_noise": "draws noise per image",
    "salt_and_pepper": "draws noise per image",
    "shot_noise": "draws noise per image",
    "iso_noise": "draws noise per image",
    "patch_brightness": "brightens rectangles",
    "glass_blur": "draws positions per image",
    "zoom_blur": "averages zooms of the whole image",
    "grid_shuffle": "exchanges cells of a grid",
    "snow": "changes lightness in HLS",
    "fog": "draws discs",
    "rain": "draws drops",
    "sun_flare": "draws circles",
    "spatter": "draws drops",
    "line_blur": "reads neighboring pixels",
    "advanced_blur": "reads neighboring pixels",
    "plasma_brightness_contrast": "draws clouds",
    "plasma_shadow": "draws clouds",
    "histogram_matching": "reads a reference image",
    "pixel_distribution": "reads a reference image",
    "fourier_adaptation": "reads a reference image",
    "object_dropout": "fills objects of the mask",
    "jpeg_compression": "works on blocks of pixels",
}


def reasons(transform, exact, channels=3):
    """The operators of a transform, with the reasons why they are passes of their own."""
    size = (40, 50)
    targets = [{"boxes": [[1.0, 1.0, 20.0, 20.0]]}] if transform.needs_targets else None
    pipeline = T.Compose([T.RandomHorizontalFlip(), transform], exact=exact)
    plan = pipeline.plan([size], channels=channels, targets=targets, epoch=0)
    return {(step.name, step.why) for step in plan.passes if step.why.startswith(f"{step.name} ")}


@pytest.mark.parametrize("exact", [True, False])
def test_operators_say_why_they_are_not_fused(exact):
    found = set()
    for transform in (*ALL, T.Resize(9, "cubic", antialias=False)):
        found |= reasons(transform, exact)
    found |= reasons(T.RGB(), exact, channels=1)
    crops = {why for name, why in found if name == "resized_crop"}
    assert crops >= {f"resized_crop {ANTIALIASES}", "resized_crop reads 16 pixels"}
    erased = {why for name, why in found if name == "erase"}
    assert erased == {"erase fills with noise per image", "erase fills rectangles, whose number varies"}
    others = {name: why for name, why in found if name not in ("resized_crop", "erase")}
    assert len(found) == len(others) + len(crops) + len(erased)  # each has one reason
    for name, why in others.items():
        assert why == f"{name} {REASONS[name.removeprefix('adjust_')]}"
    fused = {"brightness", "contrast", "saturation", "hue", "gamma", "invert", "posterize", "solarize"}
    missing = REASONS.keys() - {name.removeprefix("adjust_") for name in others}
    assert missing == (set() if exact else fused)


@pytest.mark.parametrize(
    ("transform", "why"),
    [
        (T.Resize(9, "linear"), f"resized_crop {ANTIALIASES}"),
        (T.Resize(9, "linear", antialias=False), f"resized_crop {ROUNDS}"),
        (
            T.Resize(9, "area", antialias=False),
            "resized_crop reads a varying number of pixels per output pixel",
        ),
        (T.Resize(9, "cubic", antialias=False), "resized_crop reads 16 pixels"),
        (T.Resize(9, "lanczos4", antialias=False), "resized_crop reads 64 pixels"),
        (T.RandomRotation(9, "lanczos4"), "warp_affine reads 64 pixels"),
        (T.RandomPerspective(interpolation="lanczos4"), "warp_perspective reads 64 pixels"),
        (
            T.RandomResizedCrop(9, interpolation=["linear", "cubic"], antialias=False),
            "resized_crop draws linear or cubic per image, with one call for each",
        ),
        (T.Lambda(abs), "lambda is a function in Python"),
    ],
)
def test_an_operator_says_how_many_pixels_it_reads(transform, why):
    assert [told for _, told in reasons(transform, exact=True)] == [why]
