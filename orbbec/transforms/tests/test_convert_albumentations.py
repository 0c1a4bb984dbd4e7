"""Chains of Albumentations in ours: stand-ins of its objects, and itself where it is installed."""

import inspect

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.testing import photograph
from orbbec.transforms.convert import ConversionError

NOTHING = T.RandomHorizontalFlip(0.0)
FLOAT = T.ToDtype(torch.float32, scale=True)
SIZE = {"height": 9, "width": 8}
READING = {"interpolation": 1, "area_for_downscale": None}
BORDER = {"interpolation": 1, "border_mode": 0, "fill": 0.0, "fill_mask": 0.0}
UNPADDED = {"pad_if_needed": False}


def ranges(x, y):
    return {"x": x, "y": y}


ONE, NONE = ranges((1.0, 1.0), (1.0, 1.0)), ranges((0.0, 0.0), (0.0, 0.0))
AFFINE = {
    **{"scale": ONE, "translate_percent": None, "translate_px": ranges((0, 0), (0, 0)), "shear": NONE},
    **{"rotate": (0.0, 0.0), "fit_output": False, "keep_ratio": False, "balanced_scale": False, **BORDER},
}


def linear(kind, *arguments):
    return kind(*arguments, interpolation="linear")


# Class, arguments, attributes of Albumentations 2.0.8, and what stands for it.
STEPS = [
    ("Resize", SIZE, {**SIZE, **READING}, [T.Resize((9, 8), antialias=False)]),
    (
        "SmallestMaxSize",
        {"max_size": 9},
        {"max_size": 9, "max_size_hw": None, **READING},
        [T.Resize(9, antialias=False)],
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
    ("NoOp", {}, {"p": 0.5}, []),
]
QUARTERS = [T.RandomRotation((turn, turn), expand=True) for turn in (90, 180, 270)]
MIRRORS = [T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)]
SYMMETRIES = [NOTHING, *QUARTERS, *MIRRORS, *(T.RandomApply([QUARTERS[0], each], 1.0) for each in MIRRORS)]
# The same of AlbumentationsX 2.5.
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


def stand_in(kind, module="albumentations.augmentations", **attributes):
    step = type(kind, (), {"__module__": module})()
    vars(step).update({"p": 1.0, **attributes})
    return step


RENAMED = {
    **{"limit": "angle_range", "scale_limit": "scale_range", "gamma_limit": "gamma_range"},
    **{"blur_limit": "blur_range", "sigma_limit": "sigma_range"},
    **{name: f"{name}_range" for name in ("brightness", "contrast", "saturation", "hue")},
}


def made(library, kind, arguments):
    """A step of Albumentations 2.0 or of AlbumentationsX, which renamed ranges and takes no single number."""
    make = getattr(library, kind)
    known = inspect.signature(make.__init__).parameters
    own = {}
    for name, value in arguments.items():
        if name in known:
            own[name] = value
        else:
            own[RENAMED[name]] = value if isinstance(value, tuple) else (value, value)
    return make(**own)


FLIP = stand_in("HorizontalFlip", p=0.25)


def chain(*steps):
    return T.Compose.from_albumentations(stand_in("Compose", transforms=[FLIP, *steps], processors={}))


def written(transforms, **options):
    return T.Compose([T.RandomHorizontalFlip(0.25), *transforms], **options).to_json()


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS, ids=IDS)
def test_steps_are_converted(kind, _, attributes, expected):
    assert chain(stand_in(kind, **attributes)).to_json() == written(expected)


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS_X, ids=[s[0] for s in STEPS_X])
def test_steps_of_version_x_are_converted(kind, _, attributes, expected):
    assert chain(stand_in(kind, **attributes)).to_json() == written(expected)


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


def test_one_of_applies_what_it_chose():
    flip, blur = stand_in("VerticalFlip", p=0.3), stand_in("MedianBlur", blur_limit=(3, 3), p=0.1)
    both = stand_in("Sequential", transforms=[flip, blur], p=0.5)
    one = stand_in("OneOf", transforms=[flip, both], transforms_ps=[0.375, 0.625], p=0.7)
    pair = [T.RandomVerticalFlip(0.3), T.MedianBlur(3, 0.1)]
    chosen = T.RandomChoice([T.RandomVerticalFlip(1.0), T.RandomApply(pair, 1.0)], (0.375, 0.625))
    assert chain(both, one).to_json() == written([T.RandomApply(pair, 0.5), T.RandomApply([chosen], 0.7)])
    assert flip.p == 0.3


def test_chances_of_a_whole_chain():
    compose = stand_in("Compose", transforms=[FLIP], p=0.5, processors={})
    expected = T.RandomApply([T.RandomHorizontalFlip(0.25)], 0.5)
    assert T.Compose.from_albumentations(compose).transforms == (expected,)


def processors(**values):
    plain = {"format": "coco", "min_area": 0.0, "min_width": 0.0, "min_height": 0.0, "max_accept_ratio": None}
    params = stand_in("BboxParams", min_visibility=0.25, **{**plain, **values})
    return {"bboxes": stand_in("BboxProcessor", params=params)}


def test_formats_of_boxes_become_options():
    given = processors(min_width=3.0, min_height=3.0)
    compose = stand_in("Compose", transforms=[FLIP], processors=given)
    converted = T.Compose.from_albumentations(compose, seed=5, exact=True)
    options = T.TargetOptions("xywh", 3.0, 0.25)
    assert converted == T.Compose([T.RandomHorizontalFlip(0.25)], 5, True, options)
    for name, value in (("format", "yolo"), ("min_area", 1.0), ("min_width", 2.0)):
        wrong = stand_in("Compose", transforms=[FLIP], processors=processors(**{name: value}))
        with pytest.raises(ValueError, match="from_albumentations: expected"):
            T.Compose.from_albumentations(wrong)


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
    assert chain(*steps).to_json() == written(expected)
    boxes = processors(coord_format="pascal_voc", bbox_type="hbb", clip_after_transform=True)
    del boxes["bboxes"].params.format
    points = {
        "keypoints": stand_in("KeypointsProcessor", params=stand_in("KeypointParams", coord_format="xy"))
    }
    compose = stand_in("Compose", transforms=[FLIP], processors={**boxes, **points}, mask_interpolation=None)
    options = T.TargetOptions("xyxy", 0.0, 0.25)
    assert T.Compose.from_albumentations(compose).target_options == options
    for name, value in (("bbox_type", "obb"), ("coord_format", "cxcywh")):
        changed = processors(**{"coord_format": "coco", name: value})
        with pytest.raises(ConversionError, match="from_albumentations: expected"):
            T.Compose.from_albumentations(stand_in("Compose", transforms=[FLIP], processors=changed))


def test_formats_of_albumentations_become_options():
    theirs = pytest.importorskip("albumentations")
    boxes, points = theirs.BboxParams("pascal_voc", min_visibility=0.25), theirs.KeypointParams("xy")
    compose = theirs.Compose([theirs.HorizontalFlip()], bbox_params=boxes, keypoint_params=points)
    assert T.Compose.from_albumentations(compose).target_options == T.TargetOptions("xyxy", 0.0, 0.25)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (stand_in("Perspective", scale=(0.05, 0.1)), "Perspective, has no counterpart"),
        (stand_in("HorizontalFlip", "mine"), "HorizontalFlip, has no counterpart"),
        (
            stand_in("Resize", **SIZE, **{**READING, "interpolation": 7}),
            "Resize: Resize: expected interpolation as one of nearest",
        ),
        (
            stand_in("Resize", **SIZE, **{**READING, "area_for_downscale": "image"}),
            "Resize: expected area_for",
        ),
        (stand_in("RandomCrop", **SIZE, pad_if_needed=True), "RandomCrop: expected pad_if_needed=False"),
        (
            stand_in("Rotate", limit=(1, 2), crop_border=False, **{**BORDER, "border_mode": 4}),
            "Rotate: .* border_mode=0",
        ),
        (
            stand_in("Affine", **{**AFFINE, "scale": ranges((0.5, 2.0), (0.5, 2.0))}),
            "Affine: expected keep_ratio",
        ),
        (
            stand_in("Affine", **{**AFFINE, "shear": ranges((1.0, 2.0), (1.0, 2.0))}),
            "Affine: expected shear along",
        ),
        (
            stand_in("Affine", **{**AFFINE, "translate_percent": ranges((0.0, 0.1), (0.0, 0.0))}),
            "Affine: expected translate_percent about 0",
        ),
        (
            stand_in("GaussianBlur", blur_limit=(3, 7), sigma_limit=(1, 2)),
            "GaussianBlur: expected one blur_limit",
        ),
        (stand_in("Posterize", num_bits=(3, 5)), "Posterize: expected num_bits of one value"),
        (
            stand_in("SmallestMaxSize", max_size=[8, 9], max_size_hw=None),
            "SmallestMaxSize: expected max_size",
        ),
        (stand_in("ColorJitter"), "ColorJitter: .*attribute 'brightness'"),
        (
            stand_in("RandomBrightnessContrast", brightness_limit=(-0.2, 0.2), brightness_by_max=True),
            "RandomBrightnessContrast: expected AlbumentationsX's .* ColorJitter is near",
        ),
    ],
)
def test_steps_without_counterpart_are_named(step, message):
    with pytest.raises(ConversionError, match=f"from_albumentations: step 1, {message}"):
        chain(step)


# The largest difference to 2.0.8 with OpenCV 4.14, which is what was seen: OpenCV 4 moves pixels in steps of
# 1/32, Albumentations spreads levels without Pillow's rounding, its gray is 0.299, 0.587, 0.114.
CERTAIN = [
    ("Resize", {"height": 31, "width": 37}, 1),
    ("SmallestMaxSize", {"max_size": 20}, 1),
    ("Rotate", {"limit": (30, 30), "p": 1.0}, 4),
    ("RandomRotate90", {"p": 0.0}, 0),
    ("Affine", {"rotate": (20, 20), "scale": (1.25, 1.25), "p": 1.0}, 4),
    ("Affine", {"shear": {"x": (9, 9), "y": (0, 0)}, "p": 1.0}, 4),
    ("Affine", {"shear": {"x": (0, 0), "y": (-7, -7)}, "scale": (0.75, 0.75), "p": 1.0}, 4),
    ("ToGray", {"p": 1.0}, 1),
    ("InvertImg", {"p": 1.0}, 0),
    ("Posterize", {"num_bits": (3, 3), "p": 1.0}, 0),
    ("Solarize", {"p": 1.0}, 0),
    ("Equalize", {"mode": "pil", "p": 1.0}, 3),
    ("AutoContrast", {"method": "pil", "p": 1.0}, 1),
    ("GaussianBlur", {"sigma_limit": (1.5, 1.5), "p": 1.0}, 1),
    ("RandomBrightnessContrast", {"brightness_range": (0.2, 0.2), "contrast_range": (0.2, 0.2), "p": 1.0}, 2),
    (
        "RandomBrightnessContrast",
        {"brightness_range": (0.1, 0.1), "contrast_range": (-0.2, -0.2), "p": 1.0},
        2,
    ),
    ("LetterBox", {"size": (50, 40), "fill": 114}, 1),
    ("LetterBox", {"size": (31, 64), "fill": 9}, 1),
    ("MedianBlur", {"blur_limit": (5, 5), "p": 1.0}, 0),
    ("Pad", {"padding": (1, 2, 3, 4), "border_mode": 2}, 0),
    ("RandomGamma", {"gamma_limit": (150, 150), "p": 1.0}, 1),
    (
        "ColorJitter",
        {"brightness": (1.3, 1.3), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), "p": 1.0},
        1,
    ),
    ("Normalize", {}, 1e-6),
]


@pytest.mark.parametrize(("kind", "arguments", "tolerance"), CERTAIN)
def test_images_are_albumentations(kind, arguments, tolerance):
    theirs = pytest.importorskip("albumentations")
    is_x = hasattr(theirs, "LetterBox")
    if not is_x and kind in ("LetterBox", "RandomBrightnessContrast"):
        pytest.skip("of AlbumentationsX")
    image = photograph(40, 52)
    compose = theirs.Compose([made(theirs, kind, arguments)])
    expected = compose(image=image)["image"].astype(np.float64)
    result = np.asarray(T.Compose.from_albumentations(compose, exact=True)(image, epoch=0))
    difference = np.abs(result - expected)
    if is_x and kind == "GaussianBlur":  # another arithmetic, and another border: up to 14 levels there
        difference, tolerance = difference[6:-6, 6:-6], 3
    assert difference.max() <= tolerance


def pipelines(a):
    """Ten in Albumentations' own style, by what they are for."""
    boxes = {"bbox_params": a.BboxParams("pascal_voc", label_fields=["labels"], min_visibility=0.1)}
    yield "classification", [a.RandomResizedCrop((224, 224)), a.HorizontalFlip(), a.Normalize()], {}
    steps = [
        a.RandomResizedCrop((224, 224)),
        a.HorizontalFlip(),
        a.ColorJitter(),
        a.Normalize(),
        a.ToTensorV2(),
    ]
    yield "classification with colours", steps, {}
    yield "evaluation", [a.SmallestMaxSize(256), a.CenterCrop(224, 224), a.Normalize(), a.ToTensorV2()], {}
    steps = [a.RandomCrop(256, 256), a.HorizontalFlip(p=0.5), a.RandomBrightnessContrast(p=0.2)]
    yield "the first of the documentation", steps, {}
    yield "detection", [a.HorizontalFlip(), a.RandomBrightnessContrast(p=0.2), a.Resize(640, 640)], boxes
    yield "letterbox", [a.LetterBox((640, 640), fill=114), a.HorizontalFlip(), a.Normalize()], boxes
    steps = [
        a.Affine(scale=(0.8, 1.2), rotate=(-15, 15)),
        a.RandomBrightnessContrast(),
        a.GaussianBlur(p=0.1),
    ]
    yield "segmentation", [a.Resize(512, 512), a.HorizontalFlip(), *steps, a.Normalize()], {}
    yield "aerial", [a.RandomCrop(512, 512), a.D4(), a.RandomGamma(p=0.2), a.Normalize()], {}
    steps = [a.OneOf([a.MedianBlur(), a.GaussianBlur()], p=0.2), a.ImageCompression(quality_range=(40, 90))]
    yield "robustness", [a.RandomResizedCrop((224, 224)), *steps, a.HueSaturationValue(), a.Normalize()], {}
    yield "padded", [a.LongestMaxSize(640), a.PadIfNeeded(640, 640), a.CoarseDropout(), a.Normalize()], boxes


def test_of_ten_pipelines_eight_convert():
    theirs = pytest.importorskip("albumentations", minversion="2.5")
    refused = {}
    for name, steps, options in pipelines(theirs):
        try:
            T.Compose.from_albumentations(theirs.Compose(steps, **options))
        except ConversionError as error:
            refused[name] = str(error).rpartition(": ")[2]
    assert refused == {
        "robustness": "step 3, HueSaturationValue, has no counterpart",
        "padded": "step 0, LongestMaxSize, has no counterpart",
    }
