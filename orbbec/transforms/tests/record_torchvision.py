"""Writes torchvision.npz: torchvision's draws, and its results for an image and its boxes.

    python orbbec/transforms/tests/record_torchvision.py     (with torchvision 0.25, torch 2.10, CPU)

For each drawn number: up to 200 values, and the fraction of 20,000 draws not above them: `draw.<name>`, `[2,
K]`. For each call: the resulting image float32 `[C, H, W]`, boxes xyxy and points: `call.<name>.*`.
"""

from pathlib import Path

import numpy as np
import torch

try:
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F
except ImportError:  # read by the tests for its constants
    tv_tensors = v2 = F = None

DRAWS, HEIGHT, WIDTH = 20000, 375, 500
AUGMIX_SIZE = 9, 12
AUGMIX_OPERATIONS = (
    *("AutoContrast", "Brightness", "Color", "Contrast", "Equalize", "Posterize", "Rotate", "Sharpness"),
    *("ShearX", "ShearY", "Solarize", "TranslateX", "TranslateY"),
)
AUGMIX_WEIGHTS = 0.375, 0.25, 0.125, 0.25
AUGMIX_CHAINS = (
    [("ShearX", 0.2), ("Equalize", 0.0), ("Brightness", -0.3)],
    [("Solarize", 0.75), ("TranslateY", -2.0)],
    [("AutoContrast", 0.0), ("Posterize", 3), ("Color", 0.5)],
)
BOXES = [[10.0, 20.0, 200.0, 300.0], [250.0, 100.0, 480.0, 350.0]]


def numbers(kind, **arguments):
    """The drawn numbers of a transform, as lists by name."""
    transform = getattr(v2, kind)(**arguments)
    image = torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8)
    boxes = tv_tensors.BoundingBoxes(BOXES, format="XYXY", canvas_size=(HEIGHT, WIDTH))
    rows = {}
    for _ in range(DRAWS if kind != "RandomIoUCrop" else 4000):
        params = transform.make_params([image, boxes])
        for name, value in params.items():
            if name in ("v", "is_within_crop_area"):
                continue
            values = np.ravel(np.asarray(0 if value is None else value, np.float64))
            for i, number in enumerate(values):
                rows.setdefault(f"{kind}.{name}{i if len(values) > 1 else ''}", []).append(number)
    return rows


def distribution(values):
    values = np.sort(np.array(values))
    points = np.unique(values[:: max(1, len(values) // 200)])
    return np.stack([points, np.searchsorted(values, points, side="right") / len(values)]).astype(np.float32)


def draws():
    cases = [
        ("RandomResizedCrop", {"size": 224}),
        ("RandomCrop", {"size": (200, 300)}),
        ("RandomRotation", {"degrees": 30}),
        (
            "RandomAffine",
            {"degrees": 10, "translate": (0.1, 0.2), "scale": (0.5, 2), "shear": (-5, 5, -8, 8)},
        ),
        ("RandomPerspective", {}),
        ("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
        ("RandomPhotometricDistort", {}),
        ("RandomErasing", {}),
        ("GaussianBlur", {"kernel_size": 23}),
        ("RandomZoomOut", {}),
        ("ScaleJitter", {"target_size": (300, 400)}),
        ("RandomShortestSize", {"min_size": [200, 300, 400], "max_size": 600}),
        ("RandomIoUCrop", {}),
        ("MixUp", {"alpha": 0.4, "num_classes": 10}),
        ("CutMix", {"alpha": 1.0, "num_classes": 10}),
    ]
    for kind, arguments in cases:
        for name, values in numbers(kind, **arguments).items():
            yield name, distribution(values)


if v2 is not None:

    class RecordedAugMix(v2.AugMix):
        """Records its draws and leaves images unchanged."""

        def _sample_dirichlet(self, params):
            drawn = super()._sample_dirichlet(params)
            self.weights.append(drawn[0].double().numpy())
            return drawn

        def _apply_image_or_video_transform(self, image, transform_id, magnitude, **_):
            self.operations.append((AUGMIX_OPERATIONS.index(transform_id), magnitude))
            return image


def augmix_draws():
    image, rows = torch.zeros(3, *AUGMIX_SIZE, dtype=torch.uint8), {}
    transform = RecordedAugMix()
    for _ in range(DRAWS):
        transform.weights, transform.operations = [], []
        transform(image)
        (own, rest), weights = transform.weights
        for i, weight in enumerate([own, *(weights * rest)]):
            rows.setdefault(f"AugMix.weight{i}", []).append(weight)
        rows.setdefault("AugMix.length", []).append(len(transform.operations))
        rows.setdefault("AugMix.operation", []).extend(index for index, _ in transform.operations)
        rows.setdefault("AugMix.magnitude", []).extend(magnitude for _, magnitude in transform.operations)
    return rows


def mix_by_torchvision(image):
    """The result of AugMix for bytes with the chains AUGMIX_CHAINS."""
    transform = v2.AugMix()
    mix = AUGMIX_WEIGHTS[0] * image
    for weight, pipeline in zip(AUGMIX_WEIGHTS[1:], AUGMIX_CHAINS, strict=True):
        copy = image
        for name, magnitude in pipeline:
            copy = transform._apply_image_or_video_transform(
                copy, name, magnitude, transform.interpolation, transform._fill
            )
        mix += weight * copy
    return mix.numpy()


def sample_image(height=17, width=23):
    y, x = np.mgrid[:height, :width]
    waves = [
        0.5 + 0.5 * np.sin(0.3 * x * (c + 1) / 2 + 0.2 * y + c) * np.cos(0.25 * y - 0.1 * c * x)
        for c in range(3)
    ]
    return torch.from_numpy(np.stack(waves).astype(np.float32))


def calls():
    linear = v2.InterpolationMode.BILINEAR
    affine = {"angle": 20.0, "translate": [2, -1], "scale": 1.3, "shear": [5.0, -4.0]}
    yield "affine", lambda x: F.affine(x, **affine, interpolation=linear, fill=0.25)
    yield "affine_center", lambda x: F.affine(x, **affine, interpolation=linear, center=[3.0, 4.0], fill=0.25)
    yield "affine_nearest", lambda x: F.affine(x, **affine, fill=0.25)
    yield "rotate", lambda x: F.rotate(x, 33.0, interpolation=linear, fill=0.25)
    yield "rotate_expand", lambda x: F.rotate(x, 33.0, interpolation=linear, expand=True, fill=0.25)
    yield "rotate_90_expand", lambda x: F.rotate(x, 90.0, interpolation=linear, expand=True)
    starts, ends = [[0, 0], [22, 0], [22, 16], [0, 16]], [[2, 3], [20, 1], [18, 15], [4, 12]]
    yield "perspective", lambda x: F.perspective(x, starts, ends, interpolation=linear, fill=0.25)
    yield "horizontal_flip", F.horizontal_flip
    yield "vertical_flip", F.vertical_flip
    yield "resize", lambda x: F.resize(x, [31, 11], antialias=False)
    yield "resize_antialias", lambda x: F.resize(x, [9, 11], antialias=True)
    yield "resized_crop_antialias", lambda x: F.resized_crop(x, 2, 3, 12, 15, [6, 9], antialias=True)
    yield "center_crop", lambda x: F.center_crop(x, [8, 12])
    yield "pad", lambda x: F.pad(x, [1, 2, 3, 4], fill=0.25)
    yield "pad_edge", lambda x: F.pad(x, [1, 2, 3, 4], padding_mode="edge")
    yield "pad_reflect", lambda x: F.pad(x, [1, 2, 3, 4], padding_mode="reflect")
    yield "pad_symmetric", lambda x: F.pad(x, [1, 2, 3, 4], padding_mode="symmetric")
    yield "brightness", lambda x: F.adjust_brightness(x, 1.3)
    yield "contrast", lambda x: F.adjust_contrast(x, 0.6)
    yield "saturation", lambda x: F.adjust_saturation(x, 1.7)
    yield "hue", lambda x: F.adjust_hue(x, 0.2)
    yield "gamma", lambda x: F.adjust_gamma(x, 1.7, 0.9)
    yield "grayscale", lambda x: F.rgb_to_grayscale(x, 3)
    yield "invert", F.invert
    yield "posterize", lambda x: F.posterize(x, 3)
    yield "solarize", lambda x: F.solarize(x, 0.6)
    yield "permute_channels", lambda x: F.permute_channels(x, [2, 0, 1])
    yield "erase", lambda x: F.erase(x, 3, 5, 6, 7, torch.tensor([0.1, 0.2, 0.3])[:, None, None])
    yield "normalize", lambda x: F.normalize(x, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


GEOMETRY = ("affine", "rotate", "perspective", "flip", "resize", "crop", "pad")


def main():
    torch.manual_seed(0)
    table = {f"draw.{name}": values for name, values in draws()}
    image = sample_image()
    size = tuple(image.shape[-2:])
    boxes = tv_tensors.BoundingBoxes(
        [[2.0, 3.0, 12.0, 9.0], [10.0, 8.0, 22.0, 16.0]], format="XYXY", canvas_size=size
    )
    points = tv_tensors.KeyPoints([[4.0, 5.0], [15.0, 11.0]], canvas_size=size)
    for name, call in calls():
        table[f"call.{name}.image"] = call(image).numpy()
        if any(word in name for word in GEOMETRY) and "pad_" not in name:
            table[f"call.{name}.boxes"] = np.asarray(call(boxes))
            table[f"call.{name}.points"] = np.asarray(call(points))
    for name, values in augmix_draws().items():
        table[f"draw.{name}"] = distribution(values)
    table["call.augmix.image"] = mix_by_torchvision((image * 255).round().to(torch.uint8))
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **table)


if __name__ == "__main__":
    main()
