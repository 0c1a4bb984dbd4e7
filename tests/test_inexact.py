"""Python around the kernels calls nothing of torch whose bits differ between the CPU and CUDA."""

import doctest
import importlib
import inspect
import itertools
from contextlib import nullcontext

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.augment.augment import Sampling, Values
from orbbec.transforms.tests.examples import EXAMPLES, needs_masks
from tests.support.augments import CONTRAST, GAMMA, HUE, MATRIX, POSTERIZE, SOLARIZE
from tests.support.inexact import Inexact

# docs/reference/conventions.md lists them: torch sums over the pairs.
OVERLAPS = ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou")
EXCEPTIONS = {f"gradient of {name}": {"aten.sum.dim_IntList of 3"} for name in OVERLAPS}
FUNCTIONS = [
    name for name in orbbec.__all__ if inspect.isroutine(getattr(orbbec, name)) and name != "profile"
]
MATRIX_ROW = [MATRIX, 0.5, 0.3, 0.2, 0.1, 0.7, 0.2, 0.3, 0.3, 0.4, 0.1, 0.0, 0.1]
COLORS = {
    "matrix": MATRIX_ROW,
    "hue": [HUE, 0.2],
    "gamma": [GAMMA, 2.2, 0.9],
    "posterize": [POSTERIZE, 3],
    "solarize": [SOLARIZE, 0.5],
    "contrast": [CONTRAST, 0.7],
}
FACTORS = {
    "adjust_brightness": 0.8,
    "adjust_contrast": 0.7,
    "adjust_saturation": 0.6,
    "adjust_hue": 0.2,
    "adjust_sharpness": 1.5,
    "posterize": 3,
    "solarize": 0.5,
}
ROIS = torch.tensor([[0.0, 1, 1, 6, 7], [1, 0, 2, 5, 5]])
BOXES = torch.tensor([[0.0, 0, 4, 5], [1, 2, 5, 6], [1, 1, 3, 3]])
MAP = torch.arange(2 * 4 * 5, dtype=torch.float32).view(2, 4, 5) / 7
SHIFT = torch.tensor([[1.0, 0.1, 0.5], [0.0, 0.9, 0.25]]).expand(2, 2, 3)
PERSPECTIVE = torch.tensor([[1.0, 0.1, 0.5], [0.0, 0.9, 0.25], [0.01, 0.02, 1.0]]).expand(2, 3, 3)
PAIRS = torch.tensor([1, 0])


def augmented(row):
    """`augment` with one color step and an antialiased position, so that every gradient is taken."""
    colors = torch.zeros(2, 1, 16)
    colors[:, 0, : len(row)] = torch.tensor(row, dtype=torch.float32)
    values = Values(colors=colors, mean=(0.5,), std=(0.3,))
    return lambda x: orbbec.augment(x, PERSPECTIVE, (4, 5), Sampling(), values)


GRADIENTS = {
    **{f"augment {name}": augmented(row) for name, row in COLORS.items()},
    **{
        name: lambda x, name=name, factor=factor: getattr(orbbec, name)(x, factor)
        for name, factor in FACTORS.items()
    },
    "adjust_gamma": lambda x: orbbec.adjust_gamma(x, torch.tensor([0.5, 2.2]), 0.9),
    "box_blur": lambda x: orbbec.box_blur(x, 3),
    "cutmix": lambda x: orbbec.cutmix(x, PAIRS, torch.tensor([[1, 1, 4, 5], [0, 0, 3, 3]])),
    "cvt_color": lambda x: orbbec.cvt_color(x, "RGB", "YCrCb"),
    "elastic_transform": lambda x: orbbec.elastic_transform(x, 5.0, 1.0, sample_ids=PAIRS),
    "erase": lambda x: orbbec.erase(x, torch.tensor([1, 1, 3, 3])),
    "filter2d": lambda x: orbbec.filter2d(x, torch.full((3, 3), 0.1)),
    "gaussian_blur": lambda x: orbbec.gaussian_blur(x, 3, torch.tensor([1.0, 2.0])),
    "gaussian_noise": lambda x: orbbec.gaussian_noise(x, 0.0, 0.1),
    "invert": orbbec.invert,
    "mixup": lambda x: orbbec.mixup(x, PAIRS, 0.3),
    "motion_blur": lambda x: orbbec.motion_blur(x, 3, 30.0),
    "normalize": lambda x: orbbec.normalize(x, (0.5, 0.4, 0.3), (0.3, 0.2, 0.1)),
    "remap": lambda x: orbbec.remap(x, MAP.clone().requires_grad_(), MAP),
    "resize": lambda x: orbbec.resize(x, (4, 5)),
    "resize antialias": lambda x: orbbec.resize(x, (4, 5), antialias=True),
    "salt_and_pepper": lambda x: orbbec.salt_and_pepper(x, 0.3),
    "shot_noise": lambda x: orbbec.shot_noise(x, 0.3),
    "roi_align": lambda x: orbbec.roi_align(x, ROIS, 2),
    "roi_align_rotated": lambda x: orbbec.roi_align_rotated(x, ROIS[:, [0, 1, 2, 3, 4, 0]], 2),
    "roi_pool": lambda x: orbbec.roi_pool(x, ROIS, 2),
    "sharpen": lambda x: orbbec.sharpen(x, 0.5),
    "warp_affine": lambda x: orbbec.warp_affine(x, SHIFT.clone().requires_grad_(), (4, 5)),
    "warp_perspective": lambda x: orbbec.warp_perspective(x, PERSPECTIVE.clone().requires_grad_(), (4, 5)),
}


FORMATS = ("xyxy", "cxcywha", "xyxyxyxy", "cxcywha", "xywh", "cxcywh", "xyxyxyxy", "xyxy")
OF_BOXES = {
    **{name: lambda x, name=name: getattr(orbbec, name)(x, BOXES) for name in OVERLAPS},
    "box_area": orbbec.box_area,
    "box_convert": lambda x: through(
        x, "xyxy", "cxcywha", "xyxyxyxy", "cxcywha", "xywh", "cxcywh", "xyxyxyxy"
    ),
    "clip_boxes_to_image": lambda x: orbbec.clip_boxes_to_image(x, (4, 4)),
}


def through(boxes, *formats):
    """Boxes converted from each format to the next."""
    for source, target in itertools.pairwise(formats):
        boxes = orbbec.box_convert(boxes, source, target)
    return boxes


def unexpected(name, found):
    return set(found) - EXCEPTIONS.get(name, set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_calls_nothing_inexact(name):
    function = getattr(orbbec, name)
    names = {"np": np, "torch": torch, **vars(importlib.import_module(function.__module__))}
    examples = doctest.DocTestFinder(recurse=False).find(function, name, globs=names)
    assert any(example.examples for example in examples)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with Inexact() as watch:
        for example in examples:
            runner.run(example)
    assert runner.summarize().failed == 0
    assert unexpected(name, watch.found) == set()


@pytest.mark.parametrize("name", [*GRADIENTS, *OF_BOXES])
def test_a_gradient_calls_nothing_inexact(name):
    images = torch.rand(2, 3, 8, 7, generator=torch.Generator().manual_seed(0))
    call, given = (GRADIENTS[name], images) if name in GRADIENTS else (OF_BOXES[name], BOXES.clone())
    given.requires_grad_()
    with Inexact() as watch:
        result = call(given)
        torch.autograd.grad(result, given, torch.ones_like(result))
    assert unexpected(f"gradient of {name}", watch.found) == set()


class OfImages(Inexact):
    """The calls that give images; tables are computed on the host for both devices."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if not (isinstance(result, torch.Tensor) and result.dim() == 4):
            self.found = [each for each in self.found if not each.startswith(str(func))]
        return result


# Their examples take bytes alone, or have numbers of bytes.
BYTES = {
    *("AugMix", "AutoAugment", "CLAHE", "JPEG", "PillowBlur", "PixelDropout", "RandAugment"),
    *("RandomAutocontrast", "RandomEqualize", "RandomSolarize", "SolarizeAdd", "TrivialAugmentWide"),
}
TARGET = {"boxes": torch.tensor([[1.0, 2, 30, 30]]), "points": MAP.view(-1, 8)[:, :2]}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("name", sorted({*EXAMPLES} - {"Normalize", "RandomHalfBody"}))
def test_a_transform_computes_no_image_by_what_is_inexact(name, dtype):
    images = torch.arange(2 * 3 * 40 * 37).view(2, 3, 40, 37).remainder(251).to(dtype)
    images = images / 256 if dtype.is_floating_point else images
    for transform in EXAMPLES[name]:
        pipeline = T.Compose([transform])
        if needs_masks(transform):
            continue
        takes_bytes_alone = dtype.is_floating_point and name in BYTES
        expected = pytest.raises(ValueError, match=name) if takes_bytes_alone else nullcontext()
        with OfImages() as watch, expected:
            pipeline(images, [TARGET] * 2, sample_ids=[0, 1], epoch=0)
        assert watch.found == []


def test_what_depends_on_the_device_is_found():
    x = torch.full((4,), 0.5)
    calls = {
        "aten.sin.default": lambda: x.sin(),
        "aten.sqrt.default": lambda: x.sqrt(),
        "aten.pow.Tensor_Scalar": lambda: x**0.5,
        "aten.pow.Tensor_Tensor": lambda: x.pow(x),
        "aten.ldexp.Tensor": lambda: torch.ldexp(x, torch.ones(4)),
        "aten.bmm.default": lambda: torch.einsum("ij,jk->ik", x.view(2, 2), x.view(2, 2)),
        "aten.sum.default of 4": lambda: x.sum(),
        "aten.div.Tensor by 3": lambda: x / 3,
        "aten.add.Tensor with alpha 3": lambda: torch.add(x, x, alpha=3),
    }
    for expected, call in calls.items():
        with Inexact() as watch:
            call()
        assert expected in watch.found, (expected, watch.found)


def test_what_is_exact_everywhere_is_not_found():
    x = torch.full((4,), 0.5)
    with Inexact() as watch:
        x.pow(2), x / 4, x / x, x + x, torch.ones(4, dtype=torch.int64).sum(), x[:2].sum()
    assert watch.found == []
