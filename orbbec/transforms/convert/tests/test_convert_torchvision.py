"""Conversion of torchvision pipelines: stand-ins for its objects, and torchvision if it is installed."""

from collections import defaultdict
from enum import Enum

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from tests.support import photographs

BILINEAR = Enum("InterpolationMode", {"BILINEAR": "bilinear"}).BILINEAR
EXACT = Enum("InterpolationMode", {"NEAREST_EXACT": "nearest-exact"}).NEAREST_EXACT
BICUBIC = Enum("InterpolationMode", {"BICUBIC": "bicubic"}).BICUBIC
IMAGENET = Enum("AutoAugmentPolicy", {"IMAGENET": "imagenet"}).IMAGENET
READING = {"interpolation": BILINEAR, "antialias": True}
FILL = {"fill": 0, "_fill": {"others": 0}}
NOTHING = T.RandomHorizontalFlip(0.0)
FLOAT = T.ToDtype(torch.float32, scale=True)

# Class, arguments, attributes of torchvision 0.25's v2, and the converted transform.
STEPS = [
    (
        "Resize",
        {"size": 9, "max_size": 20},
        {"size": [9], "max_size": 20, **READING},
        [T.Resize(9, max_size=20)],
    ),
    (
        "Resize",
        {"size": None, "max_size": 20},
        {"size": None, "max_size": 20, **READING},
        [T.Resize(None, max_size=20)],
    ),
    ("RGB", {}, {}, [T.RGB()]),
    ("CenterCrop", {"size": 9}, {"size": (9, 9)}, [T.CenterCrop(9)]),
    (
        "Resize",
        {"size": 9, "interpolation": 0, "antialias": False},
        {"size": [9], "max_size": None, "interpolation": 0, "antialias": False},
        [T.Resize(9, "nearest", antialias=False)],
    ),
    (
        "RandomCrop",
        {"size": 9, "padding": 4, "padding_mode": "reflect"},
        {"size": (9, 9), "padding": [4, 4, 4, 4], "pad_if_needed": False, **FILL, "padding_mode": "reflect"},
        [T.RandomCrop(9, 4, padding_mode="reflect")],
    ),
    (
        "RandomResizedCrop",
        {"size": 9, "scale": (0.2, 1.0), "antialias": False},
        {"size": (9, 9), "scale": (0.2, 1.0), "ratio": (0.75, 4 / 3), **READING, "antialias": False},
        [T.RandomResizedCrop(9, (0.2, 1.0), antialias=False)],
    ),
    ("RandomVerticalFlip", {"p": 0.2}, {"p": 0.2}, [T.RandomVerticalFlip(0.2)]),
    (
        "ElasticTransform",
        {"alpha": [40, 9.0], "sigma": 3.0},
        {"alpha": [40.0, 9.0], "sigma": [3.0, 3.0], "interpolation": BILINEAR, **FILL},
        [T.ElasticTransform((20.0, 4.5), (3.0, 3.0))],
    ),
    (
        "ColorJitter",
        {"brightness": 0.5, "hue": 0.25},
        {"brightness": (0.5, 1.5), "contrast": None, "saturation": None, "hue": (-0.25, 0.25)},
        [T.ColorJitter((0.5, 1.5), hue=(-0.25, 0.25))],
    ),
    ("RandomGrayscale", {}, {"p": 0.1}, [T.RandomGrayscale(0.1)]),
    ("GaussianBlur", {"kernel_size": 5}, {"kernel_size": (5, 5), "sigma": [0.1, 2.0]}, [T.GaussianBlur(5)]),
    (
        "RandomErasing",
        {"value": "random"},
        {"p": 0.5, "scale": (0.02, 0.33), "ratio": (0.3, 3.3), "value": None, "inplace": False},
        [T.RandomErasing(value="random")],
    ),
    (
        "RandomErasing",
        {"value": [1, 2, 3]},
        {"p": 0.5, "scale": (0.02, 0.33), "ratio": (0.3, 3.3), "value": [1.0, 2.0, 3.0], "inplace": False},
        [T.RandomErasing(value=(1, 2, 3))],
    ),
    (
        "RandomAffine",
        {"degrees": 10, "translate": (0.1, 0.2), "scale": (0.5, 2), "shear": 3},
        {
            **{"degrees": [-10.0, 10.0], "translate": (0.1, 0.2), "scale": (0.5, 2), "shear": [-3.0, 3.0]},
            **{"interpolation": EXACT, "fill": {"others": 0}, "center": None},
        },
        [T.RandomAffine(10, (0.1, 0.2), (0.5, 2), 3)],
    ),
    (
        "RandomRotation",
        {"degrees": 30, "expand": True},
        {"degrees": [-30.0, 30.0], "interpolation": EXACT, "expand": True, **FILL, "center": None},
        [T.RandomRotation(30, expand=True)],
    ),
    (
        "RandomPerspective",
        {"p": 1.0},
        {"p": 1.0, "distortion_scale": 0.5, "interpolation": BILINEAR, **FILL},
        [T.RandomPerspective(p=1.0)],
    ),
    (
        "RandomPerspective",
        {"p": 1.0, "interpolation": 3},
        {"p": 1.0, "distortion_scale": 0.5, "interpolation": 3, "fill": 0},
        [T.RandomPerspective(p=1.0, interpolation="cubic")],
    ),
    (
        "Pad",
        {"padding": [1, 2], "fill": (1, 2, 3)},
        {"padding": [1, 2], "fill": (1, 2, 3), "padding_mode": "constant"},
        [T.Pad((1, 2), (1, 2, 3))],
    ),
    (
        "RandAugment",
        {},
        {"num_ops": 2, "magnitude": 9, "num_magnitude_bins": 31, "fill": None},
        [T.RandAugment()],
    ),
    (
        "AugMix",
        {"severity": 5, "all_ops": False},
        {
            **{"severity": 5, "mixture_width": 3, "chain_depth": -1, "alpha": 1.0, "all_ops": False},
            **{"interpolation": BILINEAR, "fill": None},
        },
        [T.AugMix(5, all_ops=False)],
    ),
    ("AutoAugment", {}, {"policy": IMAGENET, "fill": None}, [T.AutoAugment()]),
    (
        "RandomIoUCrop",
        {"sampler_options": [0.5, 1.0]},
        {
            **{"min_scale": 0.3, "max_scale": 1.0, "min_aspect_ratio": 0.5, "max_aspect_ratio": 2.0},
            **{"options": [0.5, 1.0], "trials": 40},
        },
        [T.RandomIoUCrop(sampler_options=(0.5, 1.0))],
    ),
    ("RandomZoomOut", {}, {"p": 0.5, **FILL, "side_range": (1.0, 4.0)}, [T.RandomZoomOut()]),
    ("MixUp", {"num_classes": 9}, {"alpha": 1.0, "num_classes": 9}, [T.MixUp(num_classes=9)]),
    ("GaussianNoise", {}, {"mean": 0.0, "sigma": 0.1, "clip": True}, [T.GaussianNoise()]),
    ("JPEG", {"quality": (20, 50)}, {"quality": (20, 50)}, [T.JPEG((20, 50))]),
    ("ConvertBoundingBoxFormat", {"format": "XYXY"}, {"format": "XYXY"}, []),
    ("SetClampingMode", {"clamping_mode": "hard"}, {"clamping_mode": "hard"}, []),
    (
        "RandomResize",
        {"min_size": 4, "max_size": 7},
        {"min_size": 4, "max_size": 7, "interpolation": "bilinear", "antialias": True},
        [T.RandomResize(4, 7)],
    ),
    ("ToTensor", {}, {}, [T.ToTensor()]),
    ("ToImage", {}, {}, [T.ToImage()]),
    ("ConvertImageDtype", {}, {"dtype": torch.float32}, [FLOAT]),
    (
        "ToDtype",
        {"dtype": torch.float32},
        {"dtype": torch.float32, "scale": False},
        [T.ToDtype(torch.float32)],
    ),
    (
        "ToDtype",
        {"dtype": {torch.Tensor: torch.float32, "others": None}, "scale": True},
        {"dtype": {torch.Tensor: torch.float32, "others": None}, "scale": True},
        [FLOAT],
    ),
    (
        "Normalize",
        {"mean": [0.5], "std": [0.2]},
        {"mean": [0.5], "std": [0.2]},
        [T.Normalize((0.5,), (0.2,))],
    ),
]
IDS = [f"{name}-{index}" for index, (name, *_) in enumerate(STEPS)]


def stand_in(kind, module="torchvision.transforms.v2", **attributes):
    step = type(kind, (), {"__module__": module})()
    vars(step).update(attributes)
    return step


def pipeline(*steps):
    return T.Compose.from_torchvision(stand_in("Compose", transforms=[stand_in("Identity"), FLIP, *steps]))


FLIP = stand_in("RandomHorizontalFlip", p=0.25)


def written(transforms):
    return T.Compose([T.RandomHorizontalFlip(0.25), *transforms]).to_json()


@pytest.mark.parametrize(("kind", "_", "attributes", "expected"), STEPS, ids=IDS)
def test_steps_are_converted(kind, _, attributes, expected):
    assert pipeline(stand_in(kind, **attributes)).to_json() == written(expected)


@pytest.mark.parametrize(("kind", "arguments", "_", "expected"), STEPS, ids=IDS)
def test_steps_of_torchvision_are_converted(kind, arguments, _, expected):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    step = getattr(v2, kind)(**arguments)
    compose = v2.Compose([v2.RandomHorizontalFlip(0.25), step])
    assert T.Compose.from_torchvision(compose).to_json() == written(expected)


def test_containers_are_converted():
    blur = stand_in("GaussianBlur", kernel_size=(3, 3), sigma=[0.1, 2.0])
    some = stand_in("RandomApply", transforms=[blur, FLIP], p=0.3)
    empty = stand_in("RandomApply", transforms=[stand_in("Identity")], p=0.3)
    both = stand_in("Compose", transforms=[blur, FLIP])
    one = stand_in("RandomChoice", transforms=[both, stand_in("Identity")], p=[0.25, 0.75])
    order = stand_in("RandomOrder", transforms=[blur, FLIP])
    within = torch.nn.Sequential(torch.nn.Identity())
    pair = [T.GaussianBlur(3), T.RandomHorizontalFlip(0.25)]
    expected = [
        T.RandomApply(pair, 0.3),
        T.RandomChoice([T.RandomApply(pair, 1.0), NOTHING], (0.25, 0.75)),
        T.RandomOrder(pair),
        *pair,
    ]
    assert pipeline(some, empty, one, order, within, both).to_json() == written(expected)


def test_one_step_is_converted_with_its_chance():
    some = stand_in("RandomApply", transforms=[FLIP], p=0.3)
    for given in (some, [some], stand_in("Compose", transforms=[some])):
        assert T.Compose.from_torchvision(given) == T.Compose(
            [T.RandomApply([T.RandomHorizontalFlip(0.25)], 0.3)]
        )
    assert T.Compose.from_torchvision(FLIP) == T.Compose([T.RandomHorizontalFlip(0.25)])
    own = type("Own", (type(stand_in("Compose")),), {"__module__": "mine"})()
    own.transforms = [FLIP]
    assert T.Compose.from_torchvision(own) == T.Compose([T.RandomHorizontalFlip(0.25)])
    with pytest.raises(ConversionError, match="step 0, int, has no counterpart"):
        T.Compose.from_torchvision(3)


def test_v1_is_converted():
    v1 = {"module": "torchvision.transforms.transforms"}
    resize = stand_in("Resize", **v1, size=9, max_size=None, **READING)
    erase = stand_in(
        "RandomErasing", **v1, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False
    )
    convert = stand_in("ConvertImageDtype", **v1, dtype=torch.float16)
    expected = [T.Resize(9), T.RandomErasing(), T.ToDtype(torch.float16, scale=True)]
    assert pipeline(resize, erase, convert).to_json() == written(expected)


def test_fills_of_kinds_are_those_of_images_and_masks():
    kinds = {name: type(name, (), {}) for name in ("Image", "Mask")}
    crop = {"size": (9, 9), "padding": None, "pad_if_needed": True, "padding_mode": "constant"}
    table = {kinds["Image"]: 7, kinds["Mask"]: 255, "others": 0}
    by_default = defaultdict(lambda: (1.0, 2.0, 3.0), {kinds["Mask"]: 255})
    steps = [stand_in("RandomCrop", fill=table, **crop)]
    steps += [stand_in("RandomZoomOut", fill=by_default, p=0.5, side_range=(1.0, 4.0))]
    converted = T.Compose.from_torchvision(steps)
    expected = [T.RandomCrop(9, pad_if_needed=True, fill=7), T.RandomZoomOut((1, 2, 3))]
    assert converted == T.Compose(expected, target_options=T.TargetOptions(mask_fill=255.0))
    other = stand_in("RandomCrop", fill={kinds["Mask"]: 1, "others": 0}, **crop)
    with pytest.raises(ConversionError, match=r"expected one fill for masks, but got \[1, 255\]"):
        T.Compose.from_torchvision([*steps, other])


def test_tv_tensors_become_pure_tensors():
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    image = tv_tensors.Image(torch.zeros(3, 8, 9, dtype=torch.uint8))
    boxes = tv_tensors.BoundingBoxes([[1.0, 2, 5, 7]], format="XYXY", canvas_size=(8, 9))
    for steps in ([v2.ToPureTensor()], [v2.RandomHorizontalFlip(0.0), v2.ToPureTensor()]):
        results = T.Compose.from_torchvision(v2.Compose(steps))(image, {"boxes": boxes})
        assert [type(results[0]), type(results[1]["boxes"])] == [torch.Tensor] * 2


def presets(v2, tv_tensors):
    """Pipelines of torchvision's references: five detection, one segmentation, one classification."""
    last = [v2.ToDtype(torch.float32, scale=True), v2.ConvertBoundingBoxFormat("XYXY")]
    last += [v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]
    mean, flip = (123.0, 117.0, 104.0), v2.RandomHorizontalFlip(0.5)
    fills = defaultdict(lambda: mean, {tv_tensors.Mask: 0})
    short = tuple(range(480, 801, 32))
    crop = v2.RandomCrop(
        (1024, 1024), pad_if_needed=True, fill=defaultdict(lambda: mean, {tv_tensors.Mask: 0})
    )
    yield "hflip", [v2.ToImage(), flip, *last]
    yield "lsj", [v2.ToImage(), v2.ScaleJitter((1024, 1024)), crop, flip, *last]
    yield "multiscale", [v2.ToImage(), v2.RandomShortestSize(short, 1333), flip, *last]
    zoom = v2.RandomZoomOut(fill=fills)
    yield "ssd", [v2.ToImage(), v2.RandomPhotometricDistort(), zoom, v2.RandomIoUCrop(), flip, *last]
    yield "ssdlite", [v2.ToImage(), v2.RandomIoUCrop(), flip, *last]
    fills = {tv_tensors.Image: 0, tv_tensors.Mask: 255, "others": 0}
    crop = v2.RandomCrop((480, 480), pad_if_needed=True, fill=fills)
    kinds = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    normalize = v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    steps = [v2.ToImage(), v2.RandomResize(260, 1040), flip, crop, v2.ToDtype(kinds, scale=True), normalize]
    yield "segmentation", steps
    erase = [v2.ToDtype(torch.float32, scale=True), normalize, v2.RandomErasing(0.1)]
    yield (
        "classification",
        [v2.RandomResizedCrop(224), flip, v2.TrivialAugmentWide(), v2.PILToTensor(), *erase],
    )


def test_presets_of_torchvision_are_converted():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    image = photographs(1, 3, 300, 400)[0]
    mask = torch.zeros(1, 300, 400, dtype=torch.uint8)
    for name, steps in presets(v2, tv_tensors):
        target = {"boxes": torch.tensor([[9.0, 9, 200, 250]]), "labels": torch.tensor([1]), "masks": mask}
        compose = T.Compose.from_torchvision(v2.Compose(steps), seed=1)
        result, moved = compose(image, target, epoch=0)
        assert (result.dtype, result.dim()) == (torch.float32, 3)
        assert moved["masks"].shape[1:] == result.shape[1:]
        assert compose.target_options.mask_fill == (255 if name == "segmentation" else 0)


def test_crops_of_corners_are_converted_to_views():
    flip, cast = stand_in("RandomVerticalFlip", p=1.0), stand_in("ToDtype", dtype=torch.float32, scale=True)
    images = photographs(2, 3, 30, 40)
    ours = [T.RandomVerticalFlip(1.0)], [T.ToDtype(torch.float32, True)]
    for crop, expected in (
        (stand_in("FiveCrop", size=(9, 12)), T.FiveCrop((9, 12), shared=ours[0], then=ours[1])),
        (
            stand_in("TenCrop", size=(9, 12), vertical_flip=True),
            T.TenCrop((9, 12), True, shared=ours[0], then=ours[1]),
        ),
    ):
        views = T.MultiView.from_torchvision([flip, crop, cast], seed=7)
        assert (views.shared, views.seed) == (tuple(ours[0]), 7)
        for one, other in zip(views(images), expected(images), strict=True):
            assert torch.equal(one, other)


def test_views_of_torchvision_are_those_of_its_crops():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    image = pytest.importorskip("torchvision.tv_tensors").Image(photographs(1, 3, 31, 44)[0])
    for crop in (v2.FiveCrop((9, 12)), v2.TenCrop(8, vertical_flip=True)):
        compose = v2.Compose([v2.RandomHorizontalFlip(1.0), crop, v2.RandomInvert(1.0)])
        views = T.MultiView.from_torchvision(compose)(image)
        for one, other in zip(views, compose(image), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([FLIP], "MultiView: expected a pipeline with one FiveCrop or TenCrop, but got 0"),
        ([stand_in("FiveCrop", size=8)] * 2, "but got 2"),
        ([stand_in("FiveCrop", size=8), stand_in("Lambda", lambd=torch.neg)], "Lambda, has no counterpart"),
    ],
)
def test_pipelines_without_views_are_refused(steps, message):
    with pytest.raises(ValueError, match=message):
        T.MultiView.from_torchvision(steps)


def test_functions_are_converted():
    pipeline = T.Compose.from_torchvision([stand_in("Lambda", lambd=torch.neg), FLIP])
    assert pipeline.transforms[0] == T.Lambda(torch.neg)
    assert pipeline(torch.ones(1, 2, 2)).tolist() == [[[-1, -1], [-1, -1]]]


def test_sizes_of_boxes_become_options():
    sanitize = stand_in("SanitizeBoundingBoxes", min_size=3, min_area=10.0)
    converted = T.Compose.from_torchvision([FLIP, sanitize], seed=5, exact=True)
    options = T.TargetOptions(min_size=3.0, min_area=10.0)
    assert converted == T.Compose([T.RandomHorizontalFlip(0.25)], 5, True, options)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            stand_in("FiveCrop", size=8),
            "step 2, FiveCrop, .*; the nearest is MultiView.from_torchvision",
        ),
        (
            stand_in("SetClampingMode", clamping_mode=None),
            "step 2, SetClampingMode: .* clamping_mode",
        ),
        (stand_in("Resize", size=None, max_size=None, **READING), "step 2, Resize: .* expected max_size"),
        (stand_in("Resize", "mine", size=[9]), "step 2, Resize, has no counterpart"),
        (torch.nn.ReLU(), "step 2, ReLU, has no counterpart"),
        (
            stand_in("ConvertBoundingBoxFormat", format=Enum("BoundingBoxFormat", "XYWH").XYWH),
            "step 2, ConvertBoundingBoxFormat: ConvertBoundingBoxFormat: "
            "expected format XYXY, .* but got XYWH",
        ),
        (stand_in("RandomOrder", transforms=[FLIP, stand_in("FiveCrop")]), r"step 2\.1, FiveCrop, has no"),
        (stand_in("CenterCrop", size=(9, 0)), "step 2, CenterCrop: CenterCrop: expected size"),
        (
            stand_in("Resize", size=[9], interpolation="cubic hermite"),
            "step 2, Resize: Resize: expected interpolation",
        ),
        (stand_in("RandomChoice", transforms=[FLIP]), "step 2, RandomChoice: .*attribute 'p'"),
        (stand_in("ToDtype", dtype=torch.int32, scale=True), "step 2, ToDtype: ToDtype: expected dtype"),
    ],
)
def test_steps_without_counterpart_are_named(step, message):
    with pytest.raises(ConversionError, match=f"from_torchvision: {message}"):
        pipeline(step)


# Largest differences seen from torchvision 0.25; 0: identical.
CERTAIN = [
    ("Resize", {"size": (12, 15)}, 0),
    ("Resize", {"size": (13, 17), "antialias": False}, 1),
    ("Resize", {"size": None, "max_size": 17}, 1),
    ("RGB", {}, 0),
    ("CenterCrop", {"size": (11, 14)}, 0),
    ("Pad", {"padding": [1, 2, 3, 4], "fill": 9}, 0),
    ("RandomRotation", {"degrees": (90, 90), "expand": True}, 0),
    ("RandomHorizontalFlip", {"p": 1.0}, 0),
    ("RandomInvert", {"p": 1.0}, 0),
    ("RandomPosterize", {"bits": 3, "p": 1.0}, 0),
    ("RandomSolarize", {"threshold": 128, "p": 1.0}, 0),
    ("RandomEqualize", {"p": 1.0}, 0),
    ("RandomAutocontrast", {"p": 1.0}, 0),
    ("RandomAdjustSharpness", {"sharpness_factor": 2.0, "p": 1.0}, 0),
    ("ColorJitter", {"brightness": (1.3, 1.3)}, 0),
    ("ColorJitter", {"saturation": (0.5, 0.5)}, 0),
    ("GaussianBlur", {"kernel_size": 5, "sigma": (1.5, 1.5)}, 1),
]


@pytest.mark.parametrize(("kind", "arguments", "tolerance"), CERTAIN)
def test_bytes_are_torchvisions(kind, arguments, tolerance):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    images = photographs(2, 3, 24, 30)
    compose = v2.Compose([getattr(v2, kind)(**arguments)])
    result = T.Compose.from_torchvision(compose, exact=True)(images, epoch=0)
    difference = (result.int() - compose(images).int()).abs()
    assert difference.max() <= tolerance
    assert (difference > 0).float().mean() <= 0.26 * tolerance  # 0.253 of Resize without antialias


@pytest.mark.parametrize("longer", [7, 17, 24, 30, 61])
def test_the_longer_side_is_torchvisions(longer):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    for height, width in ((24, 30), (30, 24), (7, 29), (16, 16), (50, 3)):
        image = torch.zeros(3, height, width, dtype=torch.uint8)
        compose = v2.Compose([v2.Resize(None, max_size=longer)])
        if longer * min(height, width) >= max(height, width):  # torchvision makes the shorter side 0
            assert T.Compose.from_torchvision(compose)(image).shape == compose(image).shape


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_gray_images_become_rgb_as_torchvisions(channels):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    for images in (photographs(2, channels, 9, 11), photographs(1, channels, 9, 11)[0].float() / 255):
        assert torch.equal(T.Compose.from_torchvision([v2.RGB()])(images), v2.RGB()(images))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("mode", ["NEAREST_EXACT", "NEAREST"])
def test_nearest_pixels_are_torchvisions(mode, exact):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    images = photographs(2, 3, 24, 30)
    for size in ((15, 30), (12, 15), (8, 10), (48, 45)):
        compose = v2.Compose([v2.Resize(size, v2.InterpolationMode[mode])])
        assert torch.equal(T.Compose.from_torchvision(compose, exact=exact)(images, epoch=0), compose(images))


def test_pillows_numbers_are_interpolations():
    names = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's Resampling
    for number, name in enumerate(names):
        resizes = [
            stand_in("Resize", size=[9], interpolation=each, antialias=True) for each in (number, name)
        ]
        assert pipeline(resizes[0]) == pipeline(resizes[1])


def test_images_of_pillow_as_a_result_have_no_counterpart():
    to_pillow, to_tensor = stand_in("ToPILImage"), stand_in("PILToTensor")
    passing = T.Compose.from_torchvision([to_pillow, stand_in("CenterCrop", size=9), to_tensor])
    assert passing == T.Compose([T.CenterCrop(9), T.PILToTensor()])
    within = stand_in("RandomApply", transforms=[to_pillow], p=1)
    for steps in ([to_pillow], [to_tensor, to_pillow], [within]):
        with pytest.raises(ConversionError, match="ToPILImage has no counterpart, unless one of ToTensor"):
            T.Compose.from_torchvision(steps)


def test_a_function_of_other_entries_than_images_has_no_counterpart():
    for kind in (object, torch.Tensor):
        step = stand_in("Lambda", lambd=torch.neg, types=(kind,))
        assert T.Compose.from_torchvision([step]) == T.Compose([T.Lambda(torch.neg)])
    step = stand_in("Lambda", lambd=torch.neg, types=(type("Mask", (), {}),))
    with pytest.raises(ConversionError, match=r"step 0, Lambda: expected a function of images, .* Mask"):
        T.Compose.from_torchvision([step])
