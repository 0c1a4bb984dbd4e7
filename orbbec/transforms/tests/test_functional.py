"""The functional form: against torchvision's functions of the same names and arguments. Needs torchvision."""

import inspect

import numpy as np
import pytest
import torch

torchvision = pytest.importorskip("torchvision")
Image = pytest.importorskip("PIL.Image")

from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as theirs

from orbbec.testing import photograph
from orbbec.transforms import functional as ours

ARRAY = photograph(40, 50)
TENSOR = torch.from_numpy(ARRAY).permute(2, 0, 1).contiguous()
PIL = Image.fromarray(ARRAY)
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
CORNERS = [[0, 0], [49, 0], [49, 39], [0, 39]], [[3, 2], [44, 5], [49, 36], [1, 39]]

# Of bytes: calls, and how many levels their results may lie from torchvision's, which is what was measured.
CALLS = [
    ("resize", (20,), {}, 1),
    ("resize", ([30, 70],), {}, 1),
    ("resize", ([20, 25],), {"interpolation": InterpolationMode.NEAREST}, 0),
    ("crop", (3, 5, 20, 30), {}, 0),
    ("crop", (-3, 30, 20, 30), {}, 0),
    ("center_crop", ([21, 33],), {}, 0),
    ("center_crop", (60,), {}, 0),
    ("horizontal_flip", (), {}, 0),
    ("vertical_flip", (), {}, 0),
    ("hflip", (), {}, 0),
    ("vflip", (), {}, 0),
    ("pad", ([1, 2, 3, 4],), {"fill": 9}, 0),
    ("pad", (3,), {"padding_mode": "reflect"}, 0),
    ("affine", (20.0, [3, 4], 1.2, [5.0, 0.0]), {"fill": 7}, 0),
    ("rotate", (30.0,), {"expand": True}, 0),
    ("rotate", (30.0,), {"interpolation": InterpolationMode.BILINEAR}, 2),
    ("perspective", CORNERS, {"interpolation": InterpolationMode.NEAREST}, 0),
    ("adjust_brightness", (1.3,), {}, 0),
    ("adjust_contrast", (0.6,), {}, 0),
    ("adjust_saturation", (1.5,), {}, 0),
    ("adjust_hue", (0.1,), {}, 0),
    ("adjust_gamma", (1.7,), {"gain": 0.9}, 0),
    ("adjust_sharpness", (2.0,), {}, 0),
    ("invert", (), {}, 0),
    ("posterize", (3,), {}, 0),
    ("solarize", (100,), {}, 0),
    ("autocontrast", (), {}, 0),
    ("equalize", (), {}, 0),
    ("rgb_to_grayscale", (), {}, 1),
    ("rgb_to_grayscale", (3,), {}, 0),
    ("permute_channels", ([2, 0, 1],), {}, 0),
    ("gaussian_blur", ([5, 3],), {"sigma": [1.0, 0.7]}, 3),
    ("erase", (3, 4, 10, 12, torch.tensor([[[9]], [[8]], [[7]]], dtype=torch.uint8)), {}, 0),
    ("jpeg", (40,), {}, 0),
]


def levels(one, other):
    return np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int)).max()


@pytest.mark.parametrize(("name", "arguments", "options", "tolerance"), CALLS)
def test_calls_give_what_torchvisions_give(name, arguments, options, tolerance):
    result = getattr(ours, name)(TENSOR, *arguments, **options)
    expected = getattr(theirs, name)(TENSOR, *arguments, **options)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    difference = levels(result, expected)
    # Nearest warps may take the neighbour where a position lies between two pixels, to the last bit.
    shared = (result == expected).float().mean() if tolerance == 0 else 1.0
    assert difference <= tolerance or (name in ("affine", "rotate", "perspective") and shared > 0.999)


def test_channels_of_variable_size_images_are_not_permuted():
    with pytest.raises(TypeError, match="permute_channels: expected a tensor, an array or a PIL image"):
        ours.permute_channels([ARRAY, ARRAY[:20]], [2, 1, 0])


@pytest.mark.parametrize("name", ["resize", "crop", "horizontal_flip", "pad", "adjust_hue", "gaussian_blur"])
def test_pil_images_and_arrays_have_the_bytes_of_tensors(name):
    arguments = {"resize": (20,), "crop": (1, 2, 20, 30), "pad": (3,), "adjust_hue": (0.1,)}.get(name, ())
    arguments = (3,) if name == "gaussian_blur" else arguments
    function = getattr(ours, name)
    array, image = function(ARRAY, *arguments), function(PIL, *arguments)
    assert isinstance(image, Image.Image)
    assert np.array_equal(np.asarray(image), array)
    assert np.array_equal(array, function(TENSOR, *arguments).permute(1, 2, 0).numpy())


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos", "box", "hamming"])
def test_resizes_of_pil_images_have_torchvisions_bytes(name):
    mode = InterpolationMode(name)
    for size in ([20, 33], [70, 90]):
        result, expected = (each.resize(PIL, size, mode) for each in (ours, theirs))
        assert np.array_equal(np.asarray(result), np.asarray(expected))
        box = (3, 5, 30, 22)
        result, expected = (
            each.resized_crop(PIL.crop((5, 3, 27, 33)), 0, 0, 30, 22, size, mode) for each in (ours, theirs)
        )
        assert np.array_equal(np.asarray(result), np.asarray(expected)), box


def test_floats_and_types():
    floats = ours.to_dtype(TENSOR, torch.float32, scale=True)
    assert torch.equal(floats, theirs.to_dtype(TENSOR, torch.float32, scale=True))
    assert torch.allclose(
        ours.normalize(floats, MEAN, STD), theirs.normalize(floats, list(MEAN), list(STD)), atol=1e-6
    )
    for given in (PIL, ARRAY):
        assert torch.equal(ours.to_image(given), TENSOR)
        assert torch.allclose(
            ours.to_tensor(given), torchvision.transforms.functional.to_tensor(given), atol=6e-8
        )
    assert torch.equal(ours.pil_to_tensor(PIL), theirs.pil_to_tensor(PIL))


@pytest.mark.parametrize("image", [TENSOR, PIL, TENSOR[None]], ids=["tensor", "PIL", "batch"])
def test_sizes(image):
    assert ours.get_size(image) == theirs.get_size(image)
    assert ours.get_dimensions(image) == theirs.get_dimensions(image)


@pytest.mark.parametrize("name", [name for name in ours.__all__ if hasattr(theirs, name)])
def test_signatures_are_torchvisions(name):
    own = inspect.signature(getattr(ours, name)).parameters
    known = inspect.signature(getattr(theirs, name)).parameters
    assert list(own) == [
        {"image": "inpt"}.get(parameter, parameter) if "inpt" in own else parameter for parameter in known
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.resized_crop(TENSOR, 30, 0, 20, 20, 9), "expected a part inside of the image"),
        (lambda: ours.affine(TENSOR, 0, [0, 0], 0.0, 0), "affine: expected a scale above 0"),
        (lambda: ours.rotate(TENSOR, float("nan")), "rotate: expected finite numbers"),
        (lambda: ours.perspective(TENSOR, [[0, 0]] * 4, [[0, 0]] * 4), "no three lie on a line"),
        (lambda: ours.permute_channels(TENSOR, [0, 0, 1]), "expected an order of 3 channels"),
        (lambda: ours.normalize(TENSOR / 255, MEAN, STD, inplace=True), "expected inplace=False"),
        (lambda: ours.erase(TENSOR, 0, 0, 3, 3, [1, 2]), "expected 1 or 3 numbers as v, but got 2"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
