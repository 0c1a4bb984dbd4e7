"""Measures how Kornia's functions differ from orbbec's on the CPU: the table of docs/how-to/moving/kornia.md.

    python scripts/parity/compare_kornia.py

Needs kornia in the version that the page names.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import kornia
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[2]))
import orbbec
from orbbec.transforms import RandomBrightnessContrast
from tests.support import photograph

color, enhance, filters, geometry = kornia.color, kornia.enhance, kornia.filters, kornia.geometry.transform

SIZE = (224, 224)
AFFINE = torch.tensor([[[0.8, -0.3, 60.0], [0.3, 0.8, -40.0]]])  # source pixel to output pixel
HOMOGRAPHY = torch.tensor([[[0.9, 0.1, 3.0], [0.05, 1.1, -2.0], [0.0004, 0.0002, 1.0]]])
MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
IMAGES = [
    torch.from_numpy(photograph(height, width)).permute(2, 0, 1)[None].float() / 255
    for height, width in ((375, 500), (333, 500), (480, 640))
]
WIDE = (5, 5)

# Floats from 0 to 1: Kornia's function, and orbbec's.
COMPARED: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "warp_affine": (
        lambda x: geometry.warp_affine(x, AFFINE, SIZE),
        lambda x: orbbec.warp_affine(x, AFFINE, SIZE),
    ),
    "warp_perspective": (
        lambda x: geometry.warp_perspective(x, HOMOGRAPHY, SIZE),
        lambda x: orbbec.warp_perspective(x, HOMOGRAPHY, SIZE),
    ),
    "resize": (lambda x: geometry.resize(x, SIZE), lambda x: orbbec.resize(x, SIZE)),
    "resize, antialias=True": (
        lambda x: geometry.resize(x, SIZE, antialias=True),
        lambda x: orbbec.resize(x, SIZE, antialias=True),
    ),
    "hflip": (geometry.hflip, lambda x: x.flip(-1)),
    "adjust_brightness": (
        lambda x: enhance.adjust_brightness(x, 0.2),
        RandomBrightnessContrast((0.2, 0.2), (0.0, 0.0), p=1.0),
    ),
    "adjust_contrast": (
        lambda x: enhance.adjust_contrast(x, 1.3),
        lambda x: orbbec.adjust_brightness(x, 1.3),
    ),
    "adjust_contrast_with_mean_subtraction": (
        lambda x: enhance.adjust_contrast_with_mean_subtraction(x, 1.3),
        lambda x: orbbec.adjust_contrast(x, 1.3),
    ),
    "adjust_saturation": (
        lambda x: enhance.adjust_saturation(x, 1.3),
        lambda x: orbbec.adjust_saturation(x, 1.3),
    ),
    "adjust_saturation_with_gray_subtraction": (
        lambda x: enhance.adjust_saturation_with_gray_subtraction(x, 1.3),
        lambda x: orbbec.adjust_saturation(x, 1.3),
    ),
    "adjust_hue": (
        lambda x: enhance.adjust_hue(x, 0.1 * 2 * torch.pi),
        lambda x: orbbec.adjust_hue(x, 0.1),
    ),
    "adjust_gamma": (lambda x: enhance.adjust_gamma(x, 1.5), lambda x: orbbec.adjust_gamma(x, 1.5)),
    "invert": (enhance.invert, orbbec.invert),
    "solarize": (lambda x: enhance.solarize(x, 0.5), lambda x: orbbec.solarize(x, 0.5)),
    "equalize": (enhance.equalize, lambda x: orbbec.equalize(rounded(x)).float() / 255),
    "sharpness": (lambda x: enhance.sharpness(x, 1.5), lambda x: orbbec.adjust_sharpness(x, 1.5)),
    "normalize": (lambda x: enhance.normalize(x, MEAN, STD), lambda x: orbbec.normalize(x, MEAN, STD)),
    "jpeg_codec_differentiable": (
        lambda x: enhance.jpeg_codec_differentiable(x, torch.tensor([50.0])),
        lambda x: orbbec.jpeg_compression(rounded(x), 50).float() / 255,
    ),
    "gaussian_blur2d": (
        lambda x: filters.gaussian_blur2d(x, WIDE, (1.5, 1.5)),
        lambda x: orbbec.gaussian_blur(x, WIDE, 1.5),
    ),
    "box_blur": (lambda x: filters.box_blur(x, WIDE), lambda x: orbbec.box_blur(x, WIDE)),
    "median_blur": (lambda x: filters.median_blur(x, WIDE), lambda x: orbbec.median_blur(x, 5)),
    "rgb_to_grayscale": (color.rgb_to_grayscale, lambda x: orbbec.cvt_color(x, "RGB", "GRAY")),
    "rgb_to_hsv": (
        lambda x: color.rgb_to_hsv(x) * torch.tensor([180 / torch.pi, 1, 1])[:, None, None],
        lambda x: orbbec.cvt_color(x, "RGB", "HSV"),
    ),
}


def rounded(image: Tensor) -> Tensor:
    return (image * 255).round().byte()


def main() -> None:
    """Print one row per function: the largest difference, and the fraction of values that differ visibly."""
    print(f"kornia {kornia.__version__}")
    for name, (theirs, ours) in COMPARED.items():
        pairs = [(theirs(image).double(), ours(image).double()) for image in IMAGES]
        differences = torch.cat([(a - b).abs().flatten() for a, b in pairs])
        visible = (differences > 1 / 255).double().mean()
        print(f"{name:40} {differences.max():.2g}, more than 1/255 in {visible:.3%}")


if __name__ == "__main__":
    main()
