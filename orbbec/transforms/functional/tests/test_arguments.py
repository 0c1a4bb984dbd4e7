"""Wrong arguments are errors that name the function and the argument."""

import math

import pytest
import torch

from orbbec.transforms import RandomRotation
from orbbec.transforms import functional as F

CORNERS = [(0, 0), (7, 0), (7, 7), (0, 7)]
WRONG = [
    ("crop", "top", (object(), 0, 4, 4)),
    ("crop", "left", (0, 0.5, 4, 4)),
    ("affine", "angle", ("a", (0, 0), 1.0, 0.0)),
    ("affine", "angle", (math.nan, (0, 0), 1.0, 0.0)),
    ("affine", "translate", (0, (0, math.inf), 1.0, 0.0)),
    ("affine", "scale", (0, (0, 0), "a", 0.0)),
    ("affine", "scale", (0, (0, 0), 0, 0.0)),
    ("affine", "shear", (0, (0, 0), 1.0, object())),
    ("rotate", "angle", (object(),)),
    ("rotate", "expand", (0, "nearest", object())),
    ("perspective", "startpoints", ("a", CORNERS)),
    ("perspective", "endpoints", (CORNERS, CORNERS[:3])),
    ("perspective", "endpoints", (CORNERS, [*CORNERS[:3], (1, 2, 3)])),
    ("erase", "i", (None, 0, 1, 1, 0)),
    ("erase", "w", (0, 0, 1, 0.5, 0)),
    ("erase", "h", (0, 0, -1, 1, 0)),
    ("erase", "v", (0, 0, 1, 1, "a")),
    ("gaussian_blur", "kernel_size", ((3, 5, 7),)),
    ("gaussian_blur", "sigma", (3, (1.0, 2.0, 3.0))),
    ("adjust_gamma", "gain", (1.0, "a")),
    ("permute_channels", "permutation", (3,)),
    ("permute_channels", "permutation", ([0, 1, "2"],)),
    ("ten_crop", "vertical_flip", (4, object())),
]


@pytest.mark.parametrize(("function", "argument", "values"), WRONG, ids=lambda value: str(value)[:20])
def test_a_wrong_argument_is_named(function, argument, values):
    image = torch.zeros(3, 8, 8, dtype=torch.uint8)
    with pytest.raises((TypeError, ValueError), match=rf"^{function}: expected .*\b{argument}\b"):
        getattr(F, function)(image, *values)


@pytest.mark.parametrize(
    ("function", "arguments"), [("invert", ()), ("horizontal_flip", ()), ("resize", (4,)), ("equalize", ())]
)
def test_wrong_images_are_errors_that_name_the_function(function, arguments):
    with pytest.raises(TypeError, match=rf"^{function}: expected images of .*, but got int16"):
        getattr(F, function)(torch.zeros(3, 8, 8, dtype=torch.int16), *arguments)
    with pytest.raises(ValueError, match=rf"^{function}: expected images of shape .*, but got \[8, 8\]"):
        getattr(F, function)(torch.zeros(8, 8), *arguments)


@pytest.mark.parametrize("size", [20, [20]])
def test_a_single_size_of_a_resized_crop_is_the_shorter_side(size):
    image = torch.arange(768, dtype=torch.int32).remainder(256).to(torch.uint8).reshape(3, 16, 16)
    result = F.resized_crop(image, 1, 2, 10, 12, size)
    assert torch.equal(result, F.resized_crop(image, 1, 2, 10, 12, (20, 24)))


@pytest.mark.parametrize(("height", "width"), [(1, 2), (3, 2), (24, 33), (25, 34), (25, 33)])
@pytest.mark.parametrize("angle", [0, 90, 180, -90, 270])
def test_an_expanded_rotation_by_a_right_angle_is_a_transposition(height, width, angle):
    image = torch.arange(height * width).remainder(256).to(torch.uint8).reshape(1, height, width)
    expected = torch.rot90(image, angle // 90, (1, 2))
    assert torch.equal(F.rotate(image, angle, expand=True), expected)
    assert torch.equal(RandomRotation((angle, angle), expand=True)(image), expected)


def test_numbers_of_other_libraries_are_arguments():
    image = torch.arange(192, dtype=torch.uint8).reshape(3, 8, 8)
    assert torch.equal(F.crop(image, torch.tensor(1), torch.tensor(2), 3, 4), image[:, 1:4, 2:6])
    assert torch.equal(F.permute_channels(image, torch.tensor([2, 0, 1])), image[[2, 0, 1]])
    erased = F.erase(image, 0, 0, 2, 2, torch.tensor([[[1]], [[2]], [[3]]]))
    assert erased[:, 1, 1].tolist() == [1, 2, 3]
    moved = F.perspective(image, torch.tensor(CORNERS), CORNERS)
    assert torch.equal(moved, image)


@pytest.mark.parametrize("shape", [(5, 7), (9, 5, 7), (2, 4, 3, 5, 7), (0, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float64, torch.int64, torch.bool])
def test_a_tensor_of_any_kind_has_a_size(shape, dtype):
    tensor = torch.zeros(shape, dtype=dtype)
    assert F.get_size(tensor) == [5, 7]
    assert F.get_image_size(tensor) == [7, 5]


def test_a_row_of_numbers_has_no_size():
    with pytest.raises(ValueError, match=r"expected images of shape .*, but got \[7\]"):
        F.get_size(torch.zeros(7))


@pytest.mark.parametrize("name", ["top", "left"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_crop_begins_within_32_bits(name, sign):
    image, at = torch.ones(3, 8, 8, dtype=torch.uint8), {"top": 0, "left": 0, "height": 2, "width": 2}
    assert F.crop(image, **{**at, name: sign * 2**31}).sum() == 0
    with pytest.raises(ValueError, match=f"^crop: expected {name} as a whole number"):
        F.crop(image, **{**at, name: sign * (2**31 + 1)})
