"""What functions do by default: fills outside of the image, interpolations, and sigmas of kernels."""

import pytest
import torch

from orbbec.transforms import functional as F

IMAGE = torch.full((3, 4, 6), 200, dtype=torch.uint8)
CORNERS = [[0, 0], [5, 0], [5, 3], [0, 3]]
AWAY = [[x + 100, y] for x, y in CORNERS]
OUTSIDE = {
    "pad": lambda image, **how: F.pad(image, [6, 0, 0, 0], **how)[..., :6],
    "affine": lambda image, **how: F.affine(image, 0.0, [100, 0], 1.0, [0.0, 0.0], **how),
    "rotate": lambda image, **how: F.rotate(image, 90.0, center=[100, 0], **how),
    "perspective": lambda image, **how: F.perspective(image, CORNERS, AWAY, **how),
    "elastic": lambda image, **how: F.elastic(image, torch.full((1, 4, 6, 2), 9.0), **how),
}


@pytest.mark.parametrize(("fill", "expected"), [(None, [0, 0, 0]), (7, [7, 7, 7]), ([1, 2, 3], [1, 2, 3])])
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_lies_outside_is_the_fill(name, fill, expected):
    result = OUTSIDE[name](IMAGE, fill=fill)
    assert torch.equal(result, torch.tensor(expected, dtype=torch.uint8)[:, None, None].expand(3, 4, 6))


HALF = [[x + 0.5, y] for x, y in CORNERS]
BETWEEN = {
    "affine": lambda image, how: F.affine(image, 0.0, [0.5, 0], 1.0, [0.0, 0.0], how),
    "perspective": lambda image, how: F.perspective(image, CORNERS, HALF, how),
    "elastic": lambda image, how: F.elastic(image, torch.tensor([1 / 6, 0.0]).expand(1, 4, 6, 2), how),
}


@pytest.mark.parametrize("name", BETWEEN)
def test_pixels_are_mixed_by_bilinear_alone(name):
    image = torch.tensor([0, 100, 0, 100, 0, 100], dtype=torch.uint8).expand(1, 4, 6)
    assert BETWEEN[name](image, "bilinear")[..., 1:5].unique().tolist() == [50]
    assert set(BETWEEN[name](image, "nearest")[..., 1:5].unique().tolist()) <= {0, 100}


@pytest.mark.parametrize("sides", [3, 5, (3, 7), (9, 1)])
def test_a_blur_without_sigma_has_that_of_its_kernel(sides):
    image = torch.arange(3 * 20 * 20, dtype=torch.uint8).reshape(3, 20, 20)
    width, height = sides if isinstance(sides, tuple) else (sides, sides)
    sigma = [width * 0.15 + 0.35, height * 0.15 + 0.35]  # torchvision's rule
    assert torch.equal(F.gaussian_blur(image, sides), F.gaussian_blur(image, [width, height], sigma))
