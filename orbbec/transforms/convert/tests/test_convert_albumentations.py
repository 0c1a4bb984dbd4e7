"""Conversion of Albumentations steps: stand-ins for its objects, and the library if it is installed."""

import re

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from tests.support.peers.albumentations import made, stand_in

NOTHING = T.RandomHorizontalFlip(0.0)
FLOAT = T.ToDtype(torch.float32, scale=True)
SIZE = {"height": 9, "width": 8}
READING = {"interpolation": 1, "area_for_downscale": None}
BORDER = {"interpolation": 1, "border_mode": 0, "fill": 0.0, "fill_mask": 0.0}
UNPADDED = {"pad_if_needed": False}
UNDIVIDED = {"pad_height_divisor": None, "pad_width_divisor": None}
STRAIGHT = {"allow_shifted": False, "angle_range": (90.0, 90.0), "direction_range": (0.0, 0.0)}
GAUSSIAN = {
    **{"noise_type": "gaussian", "spatial_mode": "per_pixel"},
    "noise_params": {"mean_range": (0.0, 0.1), "std_range": (0.1, 0.2)},
}
QUARTERS = [T.RandomRotation((turn, turn), expand=True) for turn in (90, 180, 270)]
MIRRORS = [T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)]


def ranges(x, y):
    return {"x": x, "y": y}


ONE, NONE = ranges((1.0, 1.0), (1.0, 1.0)), ranges((0.0, 0.0), (0.0, 0.0))
AFFINE = {
    **{"scale": ONE, "translate_percent": None, "translate_px": ranges((0, 0), (0, 0)), "shear": NONE},
    **{"rotate": (0.0, 0.0), "fit_output": False, "keep_ratio": False, "balanced_scale": False, **BORDER},
}


def linear(kind, *arguments, **options):
    return kind(*arguments, interpolation="linear", **options)


# Class, arguments, attributes of Albumentations 2.0.8, and the converted transform.
STEPS = [
    ("Resize", SIZE, {**SIZE, **READING}, [T.Resize((9, 8), antialias=False)]),
    (
        "SmallestMaxSize",
        {"max_size": 9},
        {"max_size": 9, "max_size_hw": None, **READING},
        [T.ResizeKeepRatio(9, antialias=False)],
    ),
    ("RandomCrop", SIZE, {**SIZE, **UNPADDED}, [T.RandomCrop((9, 8))]),
    ("CenterCrop", SIZE, {**SIZE, **UNPADDED}, [T.CenterCrop((9, 8))]),
    (
        "RandomResizedCrop",
        {"size": (9, 8), "interpolation": 0},
        {"size": (9, 8), "scale": (0.08, 1.0), "ratio": (0.75, 4 / 3), **READING, "interpolation": 0},
        [T.RandomResizedCrop((9, 8), interpolation="nearest", antialias=False)],
    ),
    (
        "Pad",
        {"padding": (1, 2, 3, 4), "border_mode": 4},
        {"padding": (1, 2, 3, 4), **BORDER, "border_mode": 4},
        [T.Pad((1, 2, 3, 4), padding_mode="reflect")],
    ),
    ("VerticalFlip", {"p": 0.2}, {"p": 0.2}, [T.RandomVerticalFlip(0.2)]),
    (
        "RandomRotate90",
        {"p": 1.0},
        {},
        [
            T.RandomChoice(
                [NOTHING, *(T.RandomRotation((turn, turn), expand=True) for turn in (90, 180, 270))]
            )
        ],
    ),
    (
        "Rotate",
        {"limit": (-9, 20), "p": 0.5},
        {"limit": (-9.0, 20.0), "crop_border": False, **BORDER, "p": 0.5},
        [T.RandomApply([linear(T.RandomRotation, (-9, 20))], 0.5)],
    ),
    (
        "Affine",
        {"rotate": (-9, 20), "fit_output": True, "p": 1.0},
        {**AFFINE, "rotate": (-9.0, 20.0), "fit_output": True},
        [linear(T.RandomAffine, (-20, 9), None, (1, 1), expand=True)],
    ),
    (
        "Affine",
        {
            "scale": (0.5, 2.0),
            "translate_percent": (-0.1, 0.1),
            "rotate": (-9, 20),
            "keep_ratio": True,
            "p": 1.0,
        },
        {
            **{**AFFINE, "scale": ranges((0.5, 2.0), (0.5, 2.0)), "keep_ratio": True},
            **{"translate_percent": ranges((-0.1, 0.1), (-0.1, 0.1)), "rotate": (-9.0, 20.0)},
        },
        [linear(T.RandomAffine, (-20, 9), (0.1, 0.1), (0.5, 2.0))],
    ),
    (
        "Affine",
        {"shear": {"x": (-5, 6), "y": (0, 0)}, "p": 1.0},
        {**AFFINE, "shear": ranges((-5.0, 6.0), (0.0, 0.0))},
        [linear(T.RandomAffine, (-0.0, -0.0), None, (1, 1), (-5, 6, 0, 0))],
    ),
    (
        "ShiftScaleRotate",
        {"scale_limit": 0, "p": 1.0},
        {
            **AFFINE,
            "translate_percent": ranges((-0.0625, 0.0625), (-0.0625, 0.0625)),
            "rotate": (-45.0, 45.0),
        },
        [linear(T.RandomAffine, 45, (0.0625, 0.0625), (1, 1))],
    ),
    (
        "ColorJitter",
        {"p": 1.0},
        {"brightness": (0.8, 1.2), "contrast": (0.8, 1.2), "saturation": (0.8, 1.2), "hue": (-0.5, 0.5)},
        [T.ColorJitter((0.8, 1.2), (0.8, 1.2), (0.8, 1.2), (-0.5, 0.5))],
    ),
    (
        "ToGray",
        {"p": 0.5},
        {"num_output_channels": 3, "method": "weighted_average", "p": 0.5},
        [T.RandomGrayscale(0.5)],
    ),
    ("InvertImg", {"p": 0.5}, {"p": 0.5}, [T.RandomInvert(0.5)]),
    ("Posterize", {"num_bits": (3, 3), "p": 1.0}, {"num_bits": (3, 3)}, [T.RandomPosterize(3, 1.0)]),
    ("Solarize", {"p": 1.0}, {"threshold_range": (0.5, 0.5)}, [T.RandomSolarize(127.5, 1.0)]),
    ("RandomGamma", {"p": 1.0}, {"gamma_limit": (80.0, 120.0)}, [T.Gamma((0.8, 1.2))]),
    ("ChannelShuffle", {"p": 0.3}, {"p": 0.3}, [T.RandomApply([T.RandomChannelPermutation()], 0.3)]),
    (
        "Equalize",
        {"mode": "pil"},
        {"mode": "pil", "by_channels": True, "mask": None, "p": 0.5},
        [T.RandomEqualize()],
    ),
    (
        "AutoContrast",
        {"method": "pil"},
        {"method": "pil", "cutoff": 0.0, "ignore": None, "p": 0.5},
        [T.RandomAutocontrast()],
    ),
    (
        "GaussianBlur",
        {"p": 1.0},
        {"blur_limit": (0, 0), "sigma_limit": (0.5, 3.0)},
        [T.GaussianBlur(21, (0.5, 3.0))],
    ),
    (
        "GaussianBlur",
        {"blur_limit": (5, 5), "p": 1.0},
        {"blur_limit": (5, 5), "sigma_limit": (0.5, 3.0)},
        [T.GaussianBlur(5, (0.5, 3.0))],
    ),
    ("MedianBlur", {"p": 0.5}, {"blur_limit": (3, 7), "p": 0.5}, [T.MedianBlur((3, 7), 0.5)]),
    (
        "GaussNoise",
        {"per_channel": True, "p": 1.0},
        {
            **{"std_range": (0.2, 0.44), "mean_range": (0.0, 0.0)},
            **{"per_channel": True, "noise_scale_factor": 1.0},
        },
        [T.GaussianNoise(0.0, (0.2, 0.44))],
    ),
    (
        "ImageCompression",
        {"quality_range": (20, 50), "p": 1.0},
        {"quality_range": (20, 50), "compression_type": "jpeg"},
        [T.JPEG((20, 50))],
    ),
    (
        "Normalize",
        {"mean": (0.5,), "std": (0.2,)},
        {"mean": (0.5,), "std": (0.2,), "max_pixel_value": 255.0, "normalization": "standard"},
        [FLOAT, T.Normalize((0.5,), (0.2,))],
    ),
    ("ToFloat", {}, {"max_value": None}, [FLOAT]),
    (
        "RandomBrightnessContrast",
        {"brightness_limit": (-0.1, 0.3), "brightness_by_max": True},
        {
            **{"brightness_limit": (-0.1, 0.3), "contrast_limit": (-0.2, 0.2)},
            **{"brightness_by_max": True, "ensure_safe_range": False, "p": 0.5},
        },
        [T.RandomBrightnessContrast((-0.1, 0.3))],
    ),
    ("NoOp", {}, {"p": 0.5}, []),
    (
        "SmallestMaxSize",
        {"max_size": [8, 9]},
        {"max_size": [8, 9], "max_size_hw": None, **READING},
        [T.RandomChoice([T.ResizeKeepRatio(8, antialias=False), T.ResizeKeepRatio(9, antialias=False)])],
    ),
    (
        "LongestMaxSize",
        {"max_size": 9},
        {"max_size": 9, "max_size_hw": None, **READING},
        [T.ResizeToFit(9, antialias=False)],
    ),
    (
        "LongestMaxSize",
        {"max_size_hw": (9, 8)},
        {"max_size": None, "max_size_hw": (9, 8), **READING},
        [T.ResizeToFit((9, 8), antialias=False)],
    ),
    (
        "RandomScale",
        {"scale_limit": (-0.5, 0.25), "p": 1.0},
        {"scale_limit": (-0.5, 0.25), **READING},
        [T.RandomScale((0.5, 1.25), antialias=False)],
    ),
    (
        "PadIfNeeded",
        {"min_height": 9, "min_width": 8, "position": "random"},
        {"min_height": 9, "min_width": 8, **UNDIVIDED, **BORDER, "position": "random"},
        [T.PadIfNeeded((9, 8), position="random")],
    ),
    (
        "CenterCrop",
        {**SIZE, "pad_if_needed": True, "fill": 7},
        {**SIZE, "pad_if_needed": True, **BORDER, "fill": 7.0, "pad_position": "center"},
        [T.PadIfNeeded((9, 8), 7), T.CenterCrop((9, 8))],
    ),
    (
        "RandomCrop",
        {**SIZE, "pad_if_needed": True, "border_mode": 1, "pad_position": "top_left"},
        {**SIZE, "pad_if_needed": True, **BORDER, "border_mode": 1, "pad_position": "top_left"},
        [T.PadIfNeeded((9, 8), 0, "edge", "top_left"), T.RandomCrop((9, 8))],
    ),
    (
        "Crop",
        {"x_min": 1, "y_min": 2, "x_max": 9, "y_max": 11},
        {"x_min": 1, "y_min": 2, "x_max": 9, "y_max": 11, **UNPADDED},
        [T.Crop(2, 1, 9, 8)],
    ),
    ("Transpose", {"p": 0.5}, {"p": 0.5}, [T.RandomApply([QUARTERS[0], MIRRORS[1]], 0.5)]),
    (
        "Posterize",
        {"num_bits": (3, 5), "p": 0.5},
        {"num_bits": (3, 5), "p": 0.5},
        [T.RandomApply([T.RandomChoice([T.RandomPosterize(bits, 1.0) for bits in (3, 4, 5)])], 0.5)],
    ),
    (
        "GaussianBlur",
        {"blur_limit": (3, 7), "p": 1.0},
        {"blur_limit": (3, 7), "sigma_limit": (0.5, 3.0)},
        [T.RandomChoice([T.GaussianBlur(side, (0.5, 3.0)) for side in (3, 5, 7)], (0.2, 0.4, 0.4))],
    ),
    (
        "MotionBlur",
        {"blur_limit": (3, 5), **STRAIGHT, "p": 0.5},
        {"blur_limit": (3, 5), **STRAIGHT, "p": 0.5},
        [T.LineBlur((3, 5), (90.0, 90.0), (0.0, 0.0), False, 0.5)],
    ),
    (
        "AdditiveNoise",
        {**GAUSSIAN, "p": 1.0},
        {**GAUSSIAN, "approximation": 1.0},
        [T.GaussianNoise((0.0, 0.1), (0.1, 0.2))],
    ),
    (
        "Normalize",
        {"mean": (0.5,), "std": (0.2,), "max_pixel_value": 127.5},
        {"mean": (0.5,), "std": (0.2,), "max_pixel_value": 127.5, "normalization": "standard"},
        [FLOAT, T.Normalize((0.25,), (0.1,))],
    ),
    ("FromFloat", {}, {"dtype": "uint8", "max_value": 255.0}, [T.ToDtype(torch.uint8, scale=True)]),
]
SYMMETRIES = [NOTHING, *QUARTERS, *MIRRORS, *(T.RandomApply([QUARTERS[0], each], 1.0) for each in MIRRORS)]
# The same for AlbumentationsX 2.5.
STEPS_X = [
    ("D4", {"p": 1.0}, {"group_element": None}, [T.RandomChoice(SYMMETRIES)]),
    ("SquareSymmetry", {"p": 1.0}, {"group_element": None}, [T.RandomChoice(SYMMETRIES)]),
    (
        "LetterBox",
        {"size": (9, 8), "fill": 114},
        {"size": (9, 8), "fill": 114.0, "fill_mask": 0.0, "position": "center", "interpolation": 1},
        [T.Letterbox((9, 8))],
    ),
    (
        "LetterBox",
        {"size": (9, 8), "position": "random"},
        {"size": (9, 8), "fill": 0.0, "fill_mask": 0.0, "position": "random", "interpolation": 1},
        [T.ResizeToFit((9, 8), antialias=False), T.PadIfNeeded((9, 8), position="random")],
    ),
    (
        "RandomRotate90",
        {"group_elements": ("r90", "e"), "p": 1.0},
        {"group_element": None, "group_elements": ("r90", "e")},
        [T.RandomChoice([QUARTERS[0], NOTHING])],
    ),
    (
        "D4",
        {"group_element": "t", "p": 0.5},
        {"group_element": "t", "p": 0.5},
        [T.RandomApply([QUARTERS[0], MIRRORS[1]], 0.5)],
    ),
    (
        "PhotoMetricDistort",
        {"distort_p": 1.0, "p": 0.5},
        {
            **{"brightness_range": (0.875, 1.125), "contrast_range": (0.5, 1.5)},
            **{"saturation_range": (0.5, 1.5), "hue_range": (-0.05, 0.05), "distort_p": 1.0, "p": 0.5},
        },
        [T.RandomApply([T.RandomPhotometricDistort(p=1.0)], 0.5)],
    ),
    (
        "RandomBrightnessContrast",
        {"contrast_range": (-0.1, 0.3), "p": 0.5},
        {
            **{"brightness_range": (-0.2, 0.2), "contrast_range": (-0.1, 0.3), "brightness_by_max": False},
            **{"ensure_safe_output": False, "p": 0.5},
        },
        [T.RandomApply([T.ColorJitter(contrast=(0.9, 1.3)), T.ColorJitter((0.8, 1.2))], 0.5)],
    ),
]
IDS = [f"{name}-{index}" for index, (name, *_) in enumerate(STEPS)]


FLIP = stand_in("HorizontalFlip", p=0.25)


def pipeline(*steps):
    return T.Compose.from_albumentations(stand_in("Compose", transforms=[FLIP, *steps], processors={}))


def written(transforms, **options):
    return T.Compose([T.RandomHorizontalFlip(0.25), *transforms], **options).to_json()


def test_one_step_is_converted_with_its_chance():
    some = stand_in("OneOf", transforms=[FLIP], transforms_ps=[1.0], p=0.5)
    assert T.Compose.from_albumentations(FLIP) == T.Compose([T.RandomHorizontalFlip(0.25)])
    assert T.Compose.from_albumentations(some) == T.Compose.from_albumentations([some])


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS, ids=IDS)
def test_steps_are_converted(kind, _, attributes, expected):
    assert pipeline(stand_in(kind, **attributes)).to_json() == written(expected)


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS_X, ids=[s[0] for s in STEPS_X])
def test_steps_of_version_x_are_converted(kind, _, attributes, expected):
    assert pipeline(stand_in(kind, **attributes)).to_json() == written(expected)


ATTRIBUTES = {kind: attributes for kind, _, attributes, _ in (*STEPS, *STEPS_X)}
# Attributes without a counterpart: class, name, a value that is refused, and the one that is expected.
FIXED = [
    ("Resize", "area_for_downscale", "image", None),
    ("Resize", "mask_interpolation", 1, 0),
    ("SmallestMaxSize", "max_size_hw", (9, 8), None),
    *[("LetterBox", *each) for each in (("area_for_downscale", "image", None), ("mask_interpolation", 1, 0))],
    ("RandomResizedCrop", "sampling_method", "uniform", "standard"),
    *[("PadIfNeeded", name, 32, None) for name in ("pad_height_divisor", "pad_width_divisor")],
    ("Crop", "pad_if_needed", True, False),
    ("Rotate", "crop_border", True, False),
    ("Rotate", "mask_interpolation", 1, 0),
    ("Affine", "balanced_scale", True, False),
    ("Affine", "translate_px", ranges((0, 1), (0, 0)), ranges((0, 0), (0, 0))),
    ("RandomBrightnessContrast", "ensure_safe_range", True, False),
    ("RandomBrightnessContrast", "ensure_safe_output", True, False),
    ("ChannelShuffle", "channel_order", (2, 1, 0), None),
    ("ToGray", "method", "max", "weighted_average"),
    ("Equalize", "mode", "cv", "pil"),
    ("Equalize", "by_channels", False, True),
    ("Equalize", "mask", 1, None),
    ("AutoContrast", "method", "cdf", "pil"),
    ("AutoContrast", "cutoff", 1.0, 0),
    ("AutoContrast", "ignore", 9, None),
    ("GaussianBlur", "volume_mode", "volume", "slice"),
    ("GaussNoise", "per_channel", False, True),
    ("GaussNoise", "noise_scale_factor", 0.5, 1.0),
    ("AdditiveNoise", "noise_type", "uniform", "gaussian"),
    ("AdditiveNoise", "spatial_mode", "shared", "per_pixel"),
    ("AdditiveNoise", "approximation", 0.5, 1.0),
    ("ImageCompression", "compression_type", "webp", "jpeg"),
    ("Normalize", "normalization", "image", "standard"),
    ("Normalize", "clip_range", (0.0, 1.0), None),
    ("FromFloat", "dtype", "uint16", "uint8"),
    ("FromFloat", "max_value", 65535.0, 255.0),
    *[
        (kind, "fill_mask", 7, 0.0)
        for kind, _, attributes, _ in (*STEPS, *STEPS_X)
        if "fill_mask" in attributes
    ],
]
ATTRIBUTES = {kind: attributes for kind, _, attributes, _ in (*STEPS, *STEPS_X)}


@pytest.mark.parametrize(("kind", "name", "value", "expected"), FIXED)
def test_an_attribute_without_counterpart_is_refused(kind, name, value, expected):
    message = f"from_albumentations: step 1, {kind}: expected {name}={expected!r}, but got {value!r}"
    with pytest.raises(ConversionError, match=re.escape(message)):
        pipeline(stand_in(kind, **{**ATTRIBUTES[kind], name: value}))


@pytest.mark.parametrize(("kind", "arguments", "_", "expected"), STEPS_X, ids=[s[0] for s in STEPS_X])
def test_steps_of_albumentationsx_are_converted(kind, arguments, _, expected):
    theirs = pytest.importorskip("albumentations", minversion="2.5")
    compose = theirs.Compose([theirs.HorizontalFlip(p=0.25), made(theirs, kind, arguments)])
    assert T.Compose.from_albumentations(compose).to_json() == written(expected)


@pytest.mark.filterwarnings("ignore:ShiftScaleRotate is a special case")
@pytest.mark.parametrize(("kind", "arguments", "_", "expected"), STEPS, ids=IDS)
def test_steps_of_albumentations_are_converted(kind, arguments, _, expected):
    theirs = pytest.importorskip("albumentations")
    compose = theirs.Compose([theirs.HorizontalFlip(p=0.25), made(theirs, kind, arguments)])
    assert T.Compose.from_albumentations(compose).to_json() == written(expected)


def test_attributes_of_albumentationsx_are_read():
    affine = {"border_mode": 0, "fill": 0.0, "interpolation": 1}
    steps = [
        stand_in("Rotate", angle_range=(-9.0, 20.0), crop_border=False, fill_mask=None, **affine),
        stand_in("GaussianBlur", blur_range=(5, 5), sigma_range=(0.5, 3.0), volume_mode="slice"),
        stand_in("MedianBlur", blur_range=(3, 7)),
        stand_in("RandomGamma", gamma_range=(80.0, 120.0)),
        stand_in("GaussNoise", mean_range=(0.0, 0.0), std_range=(0.2, 0.44), per_channel=True),
        stand_in(
            "ColorJitter",
            **{"brightness_range": (0.8, 1.2), "contrast_range": (0.7, 1.2)},
            **{"saturation_range": (0.6, 1.2), "hue_range": (-0.5, 0.5)},
        ),
    ]
    expected = [
        linear(T.RandomRotation, (-9, 20)),
        T.GaussianBlur(5, (0.5, 3.0)),
        T.MedianBlur((3, 7), 1.0),
        T.Gamma((0.8, 1.2)),
        T.GaussianNoise(0.0, (0.2, 0.44)),
        T.ColorJitter((0.8, 1.2), (0.7, 1.2), (0.6, 1.2), (-0.5, 0.5)),
    ]
    assert pipeline(*steps).to_json() == written(expected)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (stand_in("Erasing"), "Erasing, has no counterpart; the nearest is RandomErasing"),
        (stand_in("RandomGravel"), "RandomGravel, has no counterpart$"),
        (stand_in("HorizontalFlip", "mine"), "HorizontalFlip, has no counterpart"),
        (
            stand_in("Resize", **SIZE, **{**READING, "interpolation": 7}),
            "Resize: Resize: expected interpolation as one of nearest",
        ),
        (
            stand_in(
                "RandomCrop",
                **SIZE,
                pad_if_needed=True,
                pad_position="center",
                **{**BORDER, "border_mode": 5},
            ),
            "RandomCrop: expected border_mode as one of 0, 1, 2, 3, 4, but got 5",
        ),
        (
            stand_in("LongestMaxSize", max_size=None, max_size_hw=(9, None)),
            "LongestMaxSize: expected max_size_hw as two numbers",
        ),
        (
            stand_in("RandomScale", scale_range={"x": (0, 1), "y": (0, 1)}),
            "RandomScale: expected one scale_range",
        ),
        (stand_in("ToFloat", max_value=65535.0), "ToFloat: expected max_value as one of None, 255.0"),
        (stand_in("Solarize", threshold_range=(0.2, 0.5)), "Solarize: expected threshold_range of one value"),
        (stand_in("Posterize", num_bits=[(3, 5)] * 3), "Posterize: expected one num_bits for all channels"),
        (
            stand_in("Rotate", limit=(1, 2), crop_border=False, **{**BORDER, "border_mode": 5}),
            "Rotate: expected border_mode as one of 0, 1, 2, 3, 4, but got 5",
        ),
        (
            stand_in("Affine", **{**AFFINE, "shear": ranges((1.0, 2.0), (1.0, 2.0))}),
            "Affine: expected shear along",
        ),
        (
            stand_in("Affine", **{**AFFINE, "translate_percent": ranges((0.0, 0.1), (0.0, 0.0))}),
            "Affine: expected translate_percent symmetric about 0",
        ),
        (stand_in("ColorJitter"), "ColorJitter: .*attribute 'brightness'"),
        (
            stand_in(
                "RandomBrightnessContrast",
                **{"brightness_limit": (-0.2, 0.2), "contrast_limit": (0.0, 0.0), "brightness_by_max": False},
            ),
            "RandomBrightnessContrast: expected brightness_by_max=True",
        ),
    ],
)
def test_steps_without_counterpart_are_named(step, message):
    with pytest.raises(ConversionError, match=f"from_albumentations: step 1, {message}"):
        pipeline(step)
