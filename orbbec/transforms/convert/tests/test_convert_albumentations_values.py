"""Conversion of Albumentations steps that change values, or crop and resize by drawn sides."""

import re

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from tests.support import photograph
from tests.support.peers.albumentations import made, stand_in

READING = {"interpolation": 1, "mask_interpolation": 0}
BORDER = {"border_mode": 0, "fill": 0.0, "fill_mask": 0.0}
HOLES = {"num_holes_range": (1, 3), "hole_height_range": (0.1, 0.3), "hole_width_range": (5, 9)}
HOLES["hole_height_range"] = (4, 7)
UNIFORM = {"spatial_mode": "constant", "noise_params": {"ranges": [(-0.1, 0.2), (0.0, 0.1), (-0.3, 0.0)]}}
SHIFTS = {"r_shift_limit": (-0.1, 0.2), "g_shift_limit": (0, 0.1), "b_shift_limit": (-0.3, 0)}
PADDED = {**READING, **BORDER, "keep_size": True, "sample_independently": True}

LIGHT = {"intensity_range": (0.05, 0.1), "angle_range": (45, 45)}
LINEAR = {"mode": "linear"}
LIGHT |= {"center_range": (0.2, 0.7), "sigma_range": (0.3, 0.5)}
SHADOW = {"shadow_roi": (0.1, 0.2, 0.9, 0.8), "shadow_dimension": 4, "shadow_intensity_range": (0.3, 0.6)}

COLORED = {"primary_distortion_limit": (-0.1, 0.2), "secondary_distortion_limit": (-0.3, 0.1)}

# Class, arguments, attributes of Albumentations 2.0.8, and the converted transform.
STEPS = [
    (
        "HueSaturationValue",
        {"hue_shift_limit": (-5, 9), "sat_shift_limit": (-30, 30), "val_shift_limit": (-20, 20)},
        {"hue_shift_limit": (-5.0, 9.0), "sat_shift_limit": (-30.0, 30.0), "val_shift_limit": (-20.0, 20.0)},
        T.HueSaturationValue((-5, 9), p=1.0),
    ),
    ("RGBShift", SHIFTS, UNIFORM, T.RGBShift((-0.1, 0.2), (0.0, 0.1), (-0.3, 0.0), 1.0)),
    (
        "MultiplicativeNoise",
        {"multiplier": (0.5, 1.5), "per_channel": True},
        {"multiplier": (0.5, 1.5), "per_channel": True, "elementwise": False},
        T.MultiplicativeNoise((0.5, 1.5), True, 1.0),
    ),
    (
        "PlanckianJitter",
        {"mode": "cied", "temperature_limit": (5000, 9000)},
        {"mode": "cied", "temperature_limit": (5000, 9000), "sampling_method": "uniform"},
        T.PlanckianJitter("cied", (5000, 9000), 1.0),
    ),
    (
        "RandomToneCurve",
        {"scale": 0.2, "per_channel": True},
        {"scale": 0.2, "per_channel": True},
        T.RandomToneCurve(0.2, True, 1.0),
    ),
    (
        "SaltAndPepper",
        {"amount": (0.1, 0.3), "salt_vs_pepper": (0.2, 0.9)},
        {"amount": (0.1, 0.3), "salt_vs_pepper": (0.2, 0.9)},
        T.SaltAndPepper((0.1, 0.3), (0.2, 0.9), 1.0),
    ),
    (
        "ShotNoise",
        {"scale_range": (0.05, 0.2)},
        {"scale_range": (0.05, 0.2)},
        T.ShotNoise((0.05, 0.2), 1.0),
    ),
    ("ToSepia", {}, {}, T.ToSepia(1.0)),
    (
        "PixelDropout",
        {"dropout_prob": 0.2, "drop_value": 9},
        {"dropout_prob": 0.2, "drop_value": 9.0, "per_channel": False, "mask_drop_value": None},
        T.PixelDropout(0.2, 9.0, 1.0),
    ),
    (
        "Illumination",
        {**LIGHT, "mode": "gaussian", "effect_type": "darken"},
        {**LIGHT, "mode": "gaussian", "effect_type": "darken"},
        T.Illumination("gaussian", (0.05, 0.1), "darken", (45, 45), (0.2, 0.7), (0.3, 0.5), 1.0),
    ),
    (
        "RandomShadow",
        {**SHADOW, "num_shadows_limit": (2, 3)},
        {**SHADOW, "num_shadows_limit": (2, 3)},
        T.RandomShadow((0.1, 0.2, 0.9, 0.8), (2, 3), 4, (0.3, 0.6), 1.0),
    ),
    (
        "ChannelDropout",
        {"channel_drop_range": (1, 2), "fill": 9},
        {"channel_drop_range": (1, 2), "fill": 9.0},
        T.ChannelDropout((1, 2), 9.0, 1.0),
    ),
    (
        "CoarseDropout",
        {**HOLES, "fill": (1, 2, 3)},
        {**HOLES, "fill": (1.0, 2.0, 3.0), "fill_mask": None},
        T.CoarseDropout((1, 3), (4, 7), (5, 9), (1, 2, 3), 1.0),
    ),
    (
        "GridDropout",
        {"ratio": 0.3, "holes_number_xy": (4, 7), "random_offset": False, "fill": "random_uniform"},
        {
            **{"ratio": 0.3, "holes_number_xy": (4, 7), "random_offset": False, "fill": "random_uniform"},
            **{"fill_mask": None, "unit_size_range": None, "shift_xy": (0, 0)},
        },
        T.GridDropout(0.3, (7, 4), False, "random_uniform", 1.0),
    ),
    (
        "Downscale",
        {"scale_range": (0.3, 0.6), "interpolation_pair": {"downscale": 3, "upscale": 1}},
        {"scale_range": (0.3, 0.6), "interpolation_pair": {"downscale": 3, "upscale": 1}},
        T.Downscale((0.3, 0.6), "area", "linear", 1.0),
    ),
    (
        "CLAHE",
        {"clip_limit": (2, 3), "tile_grid_size": (4, 6)},
        {"clip_limit": (2.0, 3.0), "tile_grid_size": (4, 6)},
        T.CLAHE((2, 3), (6, 4), 1.0),
    ),
    (
        "UnsharpMask",
        {"blur_limit": (3, 7), "sigma_limit": (0.5, 1), "alpha": (0.1, 0.2), "threshold": 4},
        {"blur_limit": (3, 7), "sigma_limit": (0.5, 1.0), "alpha": (0.1, 0.2), "threshold": 4},
        T.UnsharpMask((3, 7), (0.5, 1), (0.1, 0.2), 4, 1.0),
    ),
    (
        "Defocus",
        {"radius": (2, 5), "alias_blur": (0.2, 0.3)},
        {"radius": (2, 5), "alias_blur": (0.2, 0.3)},
        T.Defocus((2, 5), (0.2, 0.3), 1.0),
    ),
    (
        "ZoomBlur",
        {"max_factor": (1.1, 1.3), "step_factor": (0.02, 0.03)},
        {"max_factor": (1.1, 1.3), "step_factor": (0.02, 0.03)},
        T.ZoomBlur((1.1, 1.3), (0.02, 0.03), 1.0),
    ),
    (
        "GlassBlur",
        {"sigma": 0.9, "max_delta": 3, "iterations": 1},
        {"sigma": 0.9, "max_delta": 3, "iterations": 1, "mode": "fast"},
        T.GlassBlur(0.9, 3, 1, 1.0),
    ),
    (
        "Emboss",
        {"alpha": (0.1, 0.4), "strength": (0.3, 0.9)},
        {"alpha": (0.1, 0.4), "strength": (0.3, 0.9)},
        T.Emboss((0.1, 0.4), (0.3, 0.9), 1.0),
    ),
    (
        "Sharpen",
        {"alpha": (0.1, 0.4), "lightness": (0.3, 0.9)},
        {"alpha": (0.1, 0.4), "lightness": (0.3, 0.9), "method": "kernel"},
        T.Sharpen((0.1, 0.4), (0.3, 0.9), 1.0),
    ),
    ("Blur", {"blur_limit": (3, 9)}, {"blur_limit": (3, 9)}, T.BoxBlur((3, 9), 1.0)),
    (
        "RingingOvershoot",
        {"blur_limit": (5, 9), "cutoff": (0.7, 1.1)},
        {"blur_limit": (5, 9), "cutoff": (0.7, 1.1)},
        T.RingingOvershoot((5, 9), (0.7, 1.1), 1.0),
    ),
    (
        "ChromaticAberration",
        {**COLORED, "mode": "red_blue", "interpolation": 2},
        {**COLORED, "mode": "red_blue", "interpolation": 2},
        T.ChromaticAberration((-0.1, 0.2), (-0.3, 0.1), "red_blue", "cubic", 1.0),
    ),
    (
        "Morphological",
        {"scale": (2, 5), "operation": "erosion"},
        {"scale": (2, 5), "operation": "erosion"},
        T.Morphological((5, 2), "erosion", 1.0),
    ),
    ("BBoxSafeRandomCrop", {"erosion_rate": 0.2}, {"erosion_rate": 0.2}, T.BBoxSafeRandomCrop(0.2)),
    (
        "AtLeastOneBBoxRandomCrop",
        {"height": 20, "width": 30, "erosion_factor": 0.2},
        {"height": 20, "width": 30, "erosion_factor": 0.2},
        T.AtLeastOneBBoxRandomCrop((20, 30), 0.2),
    ),
    (
        "RandomSizedCrop",
        {"min_max_height": (9, 20), "size": (16, 24), "w2h_ratio": 1.5},
        {
            "min_max_height": (9, 20),
            "size": (16, 24),
            "w2h_ratio": 1.5,
            "area_for_downscale": None,
            **READING,
        },
        T.RandomSizedCrop((9, 20), (16, 24), 1.5, antialias=False),
    ),
    (
        "CropAndPad",
        {"percent": (-0.1, 0.2)},
        {"px": None, "percent": (-0.1, 0.2), **PADDED},
        T.CropAndPad((-0.1, 0.2), p=1.0),
    ),
    (
        "CropAndPad",
        {"px": 3, "keep_size": False, "border_mode": 1},
        {"px": 3, "percent": None, **PADDED, "keep_size": False, "border_mode": 1},
        T.CropAndPad(px_range=(3, 3), keep_size=False, padding_mode="edge", p=1.0),
    ),
    (
        "CropAndPad",
        {"px": ((1, 4), (2, 5), (3, 6), (-4, 1))},
        {"px": ((1, 4), (2, 5), (3, 6), (-4, 1)), "percent": None, **PADDED},
        T.CropAndPad(px_range=((-4, 0), (1, 3), (2, 4), (3, 5)), p=1.0),
    ),
]
IDS = [f"{name}-{index}" for index, (name, *_) in enumerate(STEPS)]
ATTRIBUTES = {kind: attributes for kind, _, attributes, _ in STEPS}


def converted(*steps, **processors):
    return T.Compose.from_albumentations(stand_in("Compose", transforms=steps, processors=processors))


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS, ids=IDS)
def test_steps_are_converted(kind, _, attributes, expected):
    step = stand_in(kind, **attributes)
    assert converted(step).to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(("kind", "arguments", "_", "expected"), STEPS, ids=IDS)
def test_steps_of_albumentations_are_converted(kind, arguments, _, expected):
    theirs = pytest.importorskip("albumentations")
    compose = theirs.Compose([made(theirs, kind, {**arguments, "p": 1.0})])
    assert T.Compose.from_albumentations(compose).to_json() == T.Compose([expected]).to_json()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("RGBShift", {"spatial_mode": "shared"}, "expected spatial_mode='constant', but got 'shared'"),
        ("MultiplicativeNoise", {"elementwise": True}, "expected elementwise=False"),
        ("PlanckianJitter", {"sampling_method": "gaussian"}, "expected sampling_method='uniform'"),
        ("Illumination", {"mode": "corner"}, "expected mode as one of linear, gaussian, but got 'corner'"),
        ("Illumination", {"num_spots_range": (1, 2)}, "expected num_spots_range=(1, 1)"),
        ("Illumination", {**LINEAR, "angle_range": (0, 360)}, "expected angle_range of one value"),
        ("Illumination", {**LINEAR, "angle_range": (30, 30)}, "expected angle_range of one multiple of 45"),
        ("Illumination", {**LINEAR, "num_spots_range": (1, 1)}, "expected mode='gaussian'"),
        ("RandomShadow", {"shadow_dimension": 8}, "expected shadow_dimension as a whole number from 3 to 7"),
        ("ChannelDropout", {"channel_drop_range": (1, 3)}, "expected channel_drop_range"),
        ("CoarseDropout", {"fill_mask": 0.0}, "expected fill_mask=None, but got 0.0"),
        ("CoarseDropout", {"fill": "inpaint_ns"}, "expected fill as one of random_uniform"),
        ("GridDropout", {"shift_xy": (1, 0)}, "expected shift_xy=(0, 0), but got (1, 0)"),
        ("RandomSizedCrop", {"area_for_downscale": "image"}, "expected area_for_downscale=None"),
        ("CropAndPad", {"px": ([1, 2, 3],) * 4}, "expected px as a number, (low, high) or four of these"),
        ("Sharpen", {"method": "gaussian"}, "expected method='kernel', but got 'gaussian'"),
        ("CropAndPad", {"mask_interpolation": 1}, "expected mask_interpolation=0"),
    ],
)
def test_attributes_without_counterpart_are_refused(kind, change, message):
    with pytest.raises(ConversionError, match=re.escape(f"step 0, {kind}: ") + f".*{re.escape(message)}"):
        converted(stand_in(kind, **{**ATTRIBUTES[kind], **change}))


def test_a_sized_crop_that_keeps_boxes_is_a_crop_and_a_resize():
    values = {"height": 24, "width": 32, "erosion_rate": 0.1, "interpolation": 1, "mask_interpolation": 0}
    expected = [T.BBoxSafeRandomCrop(0.1), T.Resize((24, 32), antialias=False)]
    assert converted(stand_in("RandomSizedBBoxSafeCrop", **values)).transforms == tuple(expected)
    with pytest.raises(ConversionError, match="BBoxSafeRandomCrop reads targets and must be placed directly"):
        converted(stand_in("RandomSizedBBoxSafeCrop", **values, p=0.4))


def test_shapes_of_images_with_boxes_are_refused():
    boxes = {"bboxes": stand_in("BboxProcessor", params=None)}
    step = stand_in("Morphological", **ATTRIBUTES["Morphological"])
    with pytest.raises(ConversionError, match="Morphological changes boxes, but orbbec keeps them"):
        converted(step, **boxes)


@pytest.mark.parametrize("kind", ["CoarseDropout", "GridDropout"])
def test_dropouts_of_images_with_boxes_are_refused(kind):
    theirs = pytest.importorskip("albumentations")
    arguments = {"holes_number_xy": (4, 7)} if kind == "GridDropout" else {}
    steps = [theirs.OneOf([getattr(theirs, kind)(**arguments), theirs.HorizontalFlip()])]
    compose = theirs.Compose(steps, bbox_params=theirs.BboxParams("pascal_voc", label_fields=["labels"]))
    with pytest.raises(ConversionError, match=f"{kind} drops boxes and keypoints in holes"):
        T.Compose.from_albumentations(compose)


SPOT = {"intensity_range": 0.2, "center_range": 0.3, "sigma_range": 0.25}

# Largest differences seen from 2.0.8 and 2.5.1: Albumentations truncates numbers that it multiplies or adds.
CERTAIN = [
    ("HueSaturationValue", {"hue_shift_limit": 9, "sat_shift_limit": -20, "val_shift_limit": 30}, 0),
    ("HueSaturationValue", {"hue_shift_limit": -70, "sat_shift_limit": 0, "val_shift_limit": 0}, 0),
    ("RGBShift", {"r_shift_limit": 20, "g_shift_limit": -7, "b_shift_limit": 3}, 1),
    ("MultiplicativeNoise", {"multiplier": 0.83}, 1),
    ("MultiplicativeNoise", {"multiplier": 1.31, "per_channel": True}, 1),
    ("PlanckianJitter", {"temperature_limit": 6000}, 1),
    ("PlanckianJitter", {"mode": "cied", "temperature_limit": 6000}, 1),
    ("RandomToneCurve", {"scale": 0.0}, 0),
    ("RandomToneCurve", {"scale": 0.0, "per_channel": True}, 0),
    ("Illumination", {"mode": "gaussian", **SPOT, "effect_type": "brighten"}, 1),
    ("Illumination", {"mode": "gaussian", **SPOT, "effect_type": "darken"}, 1),
    ("Downscale", {"scale_range": 0.5}, 0),
    ("Downscale", {"scale_range": 0.25, "interpolation_pair": {"downscale": 3, "upscale": 1}}, 1),
    ("CLAHE", {"clip_limit": 2.5, "tile_grid_size": (4, 5)}, 0),
    ("UnsharpMask", {"blur_limit": 5, "sigma_limit": 1.1, "alpha": 0.6, "threshold": 5}, 1),
    ("Defocus", {"radius": 4, "alias_blur": 0.3}, 1),
    ("ZoomBlur", {"max_factor": 1.2, "step_factor": 0.04}, 4),
    ("Emboss", {"alpha": 0.4, "strength": 0.6}, 1),
    ("Sharpen", {"alpha": 0.4, "lightness": 0.6}, 1),
    ("Blur", {"blur_limit": 5}, 0),
    ("RingingOvershoot", {"blur_limit": 7, "cutoff": 0.9}, 1),
    ("ChromaticAberration", {"primary_distortion_limit": 0.1, "secondary_distortion_limit": 0.2}, 1),
    ("Morphological", {"scale": (3, 2), "operation": "dilation"}, 0),
    ("CropAndPad", {"px": 5, "keep_size": False}, 0),
    ("CropAndPad", {"percent": -0.1, "keep_size": False}, 0),
    ("CropAndPad", {"px": 4, "border_mode": 2}, 1),
]


def ends_of(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return (value, value) if is_number else value


@pytest.mark.parametrize(("kind", "arguments", "tolerance"), CERTAIN)
def test_images_are_albumentations(kind, arguments, tolerance):
    theirs = pytest.importorskip("albumentations")
    single = {"scale": 0, "threshold": 0, "px": 0, "percent": 0, "border_mode": 0}
    given = {name: value if name in single else ends_of(value) for name, value in arguments.items()}
    compose = theirs.Compose([made(theirs, kind, {**given, "p": 1.0})])
    image = photograph(40, 64)
    expected = compose(image=image)["image"].astype(np.float64)
    result = np.asarray(T.Compose.from_albumentations(compose, exact=True)(image, epoch=0))
    if kind == "UnsharpMask" and hasattr(theirs, "LetterBox"):  # it blurs with another arithmetic
        tolerance = 15
    assert np.abs(result - expected).max() <= tolerance


@pytest.mark.parametrize("effect", ["brighten", "darken"])
@pytest.mark.parametrize("angle", range(0, 360, 45))
def test_linear_illumination_is_that_of_albumentations(angle, effect):
    ends = {"intensity_range": (0.17, 0.17), "angle_range": (angle, angle)}
    step = stand_in("Illumination", **{**LIGHT, **LINEAR, **ends, "effect_type": effect})
    light = converted(step)
    others = (angle, angle), LIGHT["center_range"], LIGHT["sigma_range"]
    expected = T.Illumination("linear", (0.17, 0.17), effect, *others, 1.0)
    assert light.to_json() == T.Compose([expected]).to_json()
    theirs = pytest.importorskip("albumentations")
    image = photograph(40, 64)
    if not hasattr(theirs, "LetterBox"):  # AlbumentationsX adds its gradient
        step = theirs.Illumination("linear", (0.17, 0.17), effect, (angle, angle), p=1.0)
        wanted = step(image=image)["image"]
        assert np.abs(np.asarray(light(image, epoch=0)) - wanted.astype(np.float64)).max() <= 1


def test_vignettes_are_those_of_albumentationsx():
    ends = {"intensity_range": (0.6, 0.6), "center_range": (0.3, 0.3)}
    expected = T.Compose([T.Vignetting((0.6, 0.6), (0.3, 0.3), 1.0)])
    assert converted(stand_in("Vignetting", **ends)).to_json() == expected.to_json()
    theirs = pytest.importorskip("albumentations")
    if hasattr(theirs, "Vignetting"):
        image = photograph(40, 64)
        wanted = theirs.Vignetting(**ends, p=1.0)(image=image)["image"].astype(np.float64)
        assert np.abs(np.asarray(expected(image, epoch=0)) - wanted).max() <= 1
