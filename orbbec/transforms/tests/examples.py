"""Transforms with every argument off its default, and ranges that are not symmetric."""

from dataclasses import fields, replace
from pathlib import Path

import torch

from orbbec import transforms as T
from orbbec.transforms.base.registry import known_transforms

READING = {"interpolation": "cubic", "fill": (30.0, 90.0, 200.0)}
EDGES = {"interpolation": "linear", "padding_mode": "symmetric"}
TEMPLATE = [(4, 5), (17, 4), (11, 12), (6, 19), (15, 21)]
POLICY = {"interpolation": "linear", "fill": (30.0, 90.0, 200.0)}
CHANCES = ("p", "scale_p", "aspect_p")
TWO = [T.RandomInvert(1.0), T.RandomRotation((10, 50), **READING)]
REFERENCES = [str(Path(__file__).with_name(name)) for name in ("reference_one.png", "reference_two.png")]
EXAMPLES = {
    "AdvancedBlur": [
        T.AdvancedBlur((5, 9), (0.4, 0.9), (1.0, 2.0), (10, 60), (0.7, 3.0), (0.5, 1.2), 0.6, per_frame=True)
    ],
    "AlignFaces": [T.AlignFaces((26, 20), TEMPLATE, "points", **reading) for reading in (READING, EDGES)],
    "AlignPoints": [
        T.AlignPoints((26, 20), TEMPLATE, "points", **{**reading, "interpolation": "nearest"})
        for reading in (READING, EDGES)
    ],
    "AtLeastOneBBoxRandomCrop": [T.AtLeastOneBBoxRandomCrop((15, 12), 0.3, 0.6)],
    "AugMix": [T.AugMix(7, 2, 2, 0.6, False, "nearest", 40.0)],
    "AutoAugment": [T.AutoAugment("cifar10", **POLICY), T.AutoAugment("svhn", **POLICY)],
    "BBoxSafeRandomCrop": [T.BBoxSafeRandomCrop(0.3, 0.6)],
    "BoxBlur": [T.BoxBlur((5, 9), 0.6)],
    "CLAHE": [T.CLAHE((2.0, 3.0), (3, 5), 0.6)],
    "CenterCrop": [T.CenterCrop((23, 18)), T.CenterCrop((60, 20))],
    "ChannelDropout": [T.ChannelDropout(2, 9.0, 0.6)],
    "ChannelSwap": [T.ChannelSwap((1, 2, 0), 0.6)],
    "ChromaticAberration": [
        T.ChromaticAberration((-0.3, 0.1), (-0.2, 0.4), "random", "cubic", 0.6),
        T.ChromaticAberration((0.1, 0.3), (0.1, 0.2), "red_blue", p=0.6),
    ],
    "ClampBoundingBoxes": [T.ClampBoundingBoxes()],
    "CoarseDropout": [
        T.CoarseDropout((2, 4), (0.2, 0.4), (0.3, 0.6), (9.0, 99.0, 200.0), 0.6),
        T.CoarseDropout(3, (0.1, 0.3), (0.2, 0.3), "random_uniform", 0.6),
    ],
    "ColorJitter": [T.ColorJitter((1.2, 1.6), (0.4, 0.7), (1.3, 1.9), (0.1, 0.3))],
    "ConvertBoundingBoxFormat": [T.ConvertBoundingBoxFormat("xyxy")],
    "Crop": [T.Crop(3, 1, 20, 17)],
    "CropNonEmptyMaskIfExists": [T.CropNonEmptyMaskIfExists((15, 12), (2, 3), 0.6)],
    "CropAndPad": [
        T.CropAndPad((-0.2, 0.1), None, False, False, "cubic", False, READING["fill"], p=0.6),
        T.CropAndPad(px_range=(-4, 6), antialias=True, padding_mode="edge"),
    ],
    "ConstrainedCoarseDropout": [
        T.ConstrainedCoarseDropout((2, 3), (0.3, 0.6), (0.2, 0.5), 9.0, None, ("dog", "cat"), 0.6),
        T.ConstrainedCoarseDropout((2, 3), (0.3, 0.6), (0.2, 0.5), 9.0, (1, 3), p=0.6),
    ],
    "CopyPaste": [T.CopyPaste(3, p=0.4, epochs=(0, 9))],
    "CutMix": [T.CutMix(0.7, 5, p=0.4, epochs=(0, 9))],
    "Defocus": [T.Defocus((2, 4), (0.2, 0.7), 0.6)],
    "Downscale": [T.Downscale((0.3, 0.6), "area", "linear", 0.6)],
    "ElasticTransform": [
        T.ElasticTransform((20.0, 40.0), (3.0, 5.0), **reading)
        for reading in ({**READING, "interpolation": "nearest"}, EDGES)
    ],
    "Emboss": [T.Emboss((0.3, 0.9), (0.4, 1.2), 0.6)],
    "FDA": [T.FDA(REFERENCES, (0.1, 0.3), 0.6)],
    "FancyPCA": [T.FancyPCA(0.7, 0.6)],
    "Gamma": [T.Gamma((1.4, 2.5), 0.8, 0.6)],
    "GaussianBlur": [T.GaussianBlur((3, 7), (0.8, 1.7))],
    "GaussianNoise": [T.GaussianNoise((0.1, 0.3), (0.05, 0.2), False, per_frame=False)],
    "GlassBlur": [T.GlassBlur(1.2, 2, 3, 0.6, per_frame=False)],
    "Grayscale": [T.Grayscale(3)],
    "GridDistortion": [
        T.GridDistortion(3, (-0.5, 0.2), False, "cubic", READING["fill"], p=0.6),
        T.GridDistortion(padding_mode="symmetric", p=0.6),
    ],
    "GridDropout": [
        T.GridDropout(0.4, (3, 2), False, (9.0, 99.0, 200.0), 0.6),
        T.GridDropout(0.4, None, True, "random_uniform", 0.6, unit_size_range=(4, 7)),
    ],
    "HistogramMatching": [T.HistogramMatching(REFERENCES, (0.3, 0.8), 0.6)],
    "HueSaturationValue": [T.HueSaturationValue((10, 40), (-60, -20), (5, 30), 0.6)],
    "ISONoise": [T.ISONoise((0.1, 0.4), (0.6, 0.9), 0.6, per_frame=False)],
    "Illumination": [
        T.Illumination("linear", (0.3, 0.6), "darken", (20.0, 130.0), p=0.6),
        T.Illumination("gaussian", (0.3, 0.6), "brighten", center_range=(0.2, 0.5), sigma_range=(0.3, 0.7)),
    ],
    "JPEG": [T.JPEG((5, 60))],
    "Lambda": [T.Lambda(lambda image: torch.cat([image[..., 1:], image[..., :1]], -1))],
    "Letterbox": [T.Letterbox((30, 52), 60.0, "cubic", False)],
    "LineBlur": [T.LineBlur((5, 9), (20.0, 60.0), (-0.5, 0.2), False, 0.6)],
    "MaskDropout": [T.MaskDropout((1, 2), (9.0, 99.0, 200.0), 0.6)],
    "MedianBlur": [T.MedianBlur((3, 7), 0.6)],
    "MixUp": [T.MixUp(0.7, 5, p=0.4, epochs=(0, 9))],
    "Morphological": [T.Morphological((3, 5), "erosion", 0.6)],
    "Mosaic": [T.Mosaic((30, 20), (0.2, 0.4), 60.0, tiles=9, p=0.4, epochs=(0, 9))],
    "MotionBlur": [T.MotionBlur((5, 9), (10.0, 60.0), 0.6)],
    "MultiplicativeNoise": [T.MultiplicativeNoise((0.6, 0.9), True, 0.6)],
    "Normalize": [T.Normalize((0.2, 0.3, 0.6), (0.4, 0.2, 0.3))],
    "OpticalDistortion": [
        T.OpticalDistortion((0.1, 0.3), "cubic", READING["fill"], p=0.6),
        T.OpticalDistortion((-0.3, -0.1), padding_mode="symmetric", p=0.6),
    ],
    "PILToTensor": [T.PILToTensor()],
    "Pad": [T.Pad((1, 5, 2, 3), READING["fill"]), T.Pad((1, 5, 2, 3), padding_mode="reflect")],
    "Perspective": [
        T.Perspective((0.1, 0.2), False, True, "cubic", READING["fill"], p=0.6),
        T.Perspective((0.1, 0.2), padding_mode="symmetric", p=0.6),
    ],
    "PillowBlur": [T.PillowBlur((1.0, 3.0), 0.6)],
    "PixelDistributionAdaptation": [
        T.PixelDistributionAdaptation(REFERENCES, (0.3, 0.8), "standard", 0.6),
        T.PixelDistributionAdaptation(REFERENCES, (0.3, 0.8), "pca", 0.6),
    ],
    "PixelDropout": [T.PixelDropout(0.3, 99.0, 0.6, per_frame=False)],
    "PlanckianJitter": [T.PlanckianJitter("cied", (4500, 9000), 0.6)],
    "PlasmaBrightnessContrast": [
        T.PlasmaBrightnessContrast((0.1, 0.4), (-0.5, -0.2), 2.0, 0.6, per_frame=True)
    ],
    "PlasmaShadow": [T.PlasmaShadow((0.2, 0.5), 2.0, 0.6, per_frame=True)],
    "PatchBrightness": [T.PatchBrightness((2, 4), (0.2, 0.4), (0.3, 0.6), (0.3, 0.8), 0.6)],
    "RGB": [T.RGB()],
    "PadIfNeeded": [
        T.PadIfNeeded((40, 50), READING["fill"], position="random"),
        T.PadIfNeeded((40, 50), padding_mode="edge", position="bottom_left"),
    ],
    "RGBShift": [T.RGBShift((0.05, 0.2), (-0.2, -0.1), (0.0, 0.3), 0.6)],
    "RandAugment": [T.RandAugment(3, 6, 11, **POLICY, magnitude_std=0.7, p=0.6, operations="timm")],
    "RandomAdjustSharpness": [T.RandomAdjustSharpness(2.5, 0.6)],
    "RandomAffine": [
        T.RandomAffine((10, 40), (0.3, 0.1), (0.5, 0.8), (5, 20), **READING, center=(9.0, 4.0)),
        T.RandomAffine((-50, 5), (0.1, 0.4), (0.5, 0.8, 1.1, 1.6), (5, 20, -30, -10), **EDGES),
        T.RandomAffine((-50, 5), None, (0.5, 0.8, 1.1, 1.6), (5, 20), **EDGES, expand=True),
    ],
    "RandomApply": [T.RandomApply(TWO, 0.6, epochs=(0, 9))],
    "RandomAutocontrast": [T.RandomAutocontrast(0.6)],
    "RandomBrightnessContrast": [T.RandomBrightnessContrast((0.1, 0.4), (-0.5, -0.2), 0.6)],
    "RandomChannelPermutation": [T.RandomChannelPermutation()],
    "RandomChoice": [T.RandomChoice(TWO, (0.3, 0.7))],
    "RandomCrop": [
        T.RandomCrop((29, 22), (1, 5, 2, 3), True, READING["fill"]),
        T.RandomCrop((29, 22), (1, 5, 2, 3), padding_mode="reflect"),
        T.RandomCrop((29, 22), (1, 5, 2, 3), max_class_ratio=0.9, ignore_index=3),
    ],
    "RandomCropFromBorders": [T.RandomCropFromBorders(0.3, 0.2, 0.4, 0.5, 0.6)],
    "RandomEqualize": [T.RandomEqualize(0.6)],
    "RandomHalfBody": [
        T.RandomHalfBody((0, 1), (2, 3, 4), 3, 1, 2, 2.5, 0.4, 0.8, "points", READING["fill"], p=0.6),
        T.RandomHalfBody((0, 1), (2, 3, 4), 3, 1, 2, 2.5, 0.4, 0.8, "points", padding_mode="edge", p=0.6),
    ],
    "RandomErasing": [
        T.RandomErasing(0.6, (0.1, 0.2), (1.5, 2.5), (9.0, 99.0, 200.0)),
        T.RandomErasing(0.6, (0.1, 0.2), (0.3, 0.6), "random"),
    ],
    "RandomFog": [T.RandomFog(0.2, (0.3, 0.5), 0.6, per_frame=True)],
    "RandomGridShuffle": [T.RandomGridShuffle((2, 4), 0.6)],
    "RandomGrayscale": [T.RandomGrayscale(0.6)],
    "RandomHSV": [T.RandomHSV((0.1, 0.3), (0.4, 0.7), (1.1, 1.4), 0.6)],
    "RandomHorizontalFlip": [T.RandomHorizontalFlip(0.6)],
    "RandomInvert": [T.RandomInvert(0.6)],
    "RandomIoUCrop": [T.RandomIoUCrop(0.4, 0.9, 0.6, 0.9, (0.1, 0.3), 30, 8, epochs=(0, 40))],
    "RandomOrder": [T.RandomOrder(TWO)],
    "PerFrame": [T.PerFrame(TWO)],
    "RandomPerspective": [
        T.RandomPerspective(0.7, 0.6, **READING),
        T.RandomPerspective(0.3, 0.6, **{**EDGES, "interpolation": "nearest"}),
    ],
    "RandomPhotometricDistort": [
        T.RandomPhotometricDistort((1.1, 1.4), (0.4, 0.7), (1.3, 1.9), (0.1, 0.3), 0.6)
    ],
    "RandomPosterize": [T.RandomPosterize(2, 0.6)],
    "RandomRain": [
        T.RandomRain((2, 9), 7, 2, (90, 99, 200), 5, 0.6, "heavy", 0.6, per_frame=False),
        T.RandomRain(drop_length=3, rain_type="torrential", p=0.6),
    ],
    "RandomResize": [T.RandomResize(20, 33, "cubic", False), T.RandomResize(20, 33)],
    "RandomResizedCrop": [
        T.RandomResizedCrop((21, 30), (0.2, 0.5), (1.4, 2.1), "cubic", False),
        T.RandomResizedCrop((21, 30), (0.2, 0.5), (0.4, 0.7), ("linear", "cubic")),
    ],
    "RandomRotation": [
        T.RandomRotation((10, 50), **READING, center=(9.0, 4.0)),
        T.RandomRotation((-70, -20), **EDGES, expand=True),
    ],
    "RandomScale": [T.RandomScale((0.4, 0.8), "cubic", False), T.RandomScale((1.1, 1.7))],
    "RandomShadow": [T.RandomShadow((0.1, 0.2, 0.8, 0.9), (2, 3), 4, (0.3, 0.8), 0.6)],
    "RandomShift": [T.RandomShift((3, 5), READING["fill"], "constant")],
    "RandomShortestSize": [
        T.RandomShortestSize((18, 30, 41), 44, "cubic", False),
        T.RandomShortestSize((18, 30, 41), 36),
    ],
    "RandomSizedCrop": [T.RandomSizedCrop((12, 25), (21, 30), 1.3, "cubic", False)],
    "RandomSnow": [T.RandomSnow(1.5, (0.4, 0.9), 0.6)],
    "RandomSunFlare": [T.RandomSunFlare((0.2, 0.3, 0.7, 0.8), 40, (250, 240, 200), (0.2, 0.4), (2, 3), 0.6)],
    "RandomSolarize": [T.RandomSolarize(99.0, 0.6)],
    "RandomToneCurve": [T.RandomToneCurve(0.3, True, 0.6)],
    "RandomVerticalFlip": [T.RandomVerticalFlip(0.6)],
    "RandomZoomOut": [T.RandomZoomOut(READING["fill"], (1.2, 2.0), 0.6)],
    "Resize": [T.Resize((21, 30), "cubic", antialias=False), T.Resize(21, max_size=33)],
    "ResizeKeepRatio": [T.ResizeKeepRatio((21, 30), 0.3, (0.7, 0.9), 0.6, (0.5, 0.8), 0.7, "cubic", False)],
    "ResizeToFit": [T.ResizeToFit((21, 30), "cubic", False), T.ResizeToFit((30, 21))],
    "ResizeToHeight": [
        T.ResizeToHeight(23, 31, "cubic", False),
        T.ResizeToHeight(23, 310, antialias=False, fill=9.0),
    ],
    "ResizeToMultiple": [T.ResizeToMultiple((21, 30), 5, "upper_bound", "linear", True)],
    "RingingOvershoot": [T.RingingOvershoot((5, 11), (0.9, 1.2), 0.6)],
    "SafeRotate": [
        T.SafeRotate((10, 50), "cubic", READING["fill"], p=0.6),
        T.SafeRotate((-50, -10), padding_mode="symmetric", p=0.6),
    ],
    "SaltAndPepper": [T.SaltAndPepper((0.1, 0.3), (0.5, 0.9), 0.6, per_frame=False)],
    "SanitizeBoundingBoxes": [T.SanitizeBoundingBoxes(3.0, 20.0, None)],
    "ScaleJitter": [T.ScaleJitter((60, 40), (0.4, 0.9), "cubic", False), T.ScaleJitter((30, 50), (1.1, 1.4))],
    "Sharpen": [T.Sharpen((0.3, 0.9), (1.2, 1.7), 0.6)],
    "ShotNoise": [T.ShotNoise((0.1, 0.4), 0.6, per_frame=False)],
    "SolarizeAdd": [T.SolarizeAdd((20.0, 90.0), 99.0, 0.6)],
    "SomeOf": [T.SomeOf(TWO, 2, True, True), T.SomeOf(TWO, 1, weights=(0.3, 0.7))],
    "Spatter": [
        T.Spatter((0.5, 0.6), (0.2, 0.4), (1.0, 1.5), (0.55, 0.6), (0.7, 0.9), "rain", p=0.6),
        T.Spatter((0.5, 0.6), (0.2, 0.4), mode="mud", color=(9, 20, 30), p=0.6, per_frame=True),
    ],
    "ThinPlateSpline": [
        T.ThinPlateSpline((0.3, 0.5), 3, "cubic", READING["fill"], p=0.6),
        T.ThinPlateSpline(num_control_points=2, padding_mode="symmetric", p=0.6),
    ],
    "ToDtype": [T.ToDtype(torch.float16, True, True)],
    "ToImage": [T.ToImage()],
    "ToPureTensor": [T.ToPureTensor()],
    "ToSepia": [T.ToSepia(0.6)],
    "ToTensor": [T.ToTensor()],
    "TrivialAugmentWide": [T.TrivialAugmentWide(11, **POLICY)],
    "Vignetting": [T.Vignetting((0.3, 0.9), (0.1, 0.6), 0.6)],
    "XYMasking": [
        T.XYMasking((1, 2), (2, 3), (0.1, 0.3), (0.1, 0.2), (9.0, 99.0, 200.0), 0.6),
        T.XYMasking(2, 0, (2, 5), (1, 4), "random_uniform", 0.6),
    ],
    "ZoomBlur": [T.ZoomBlur((1.2, 1.6), (0.05, 0.1), 0.6), T.ZoomBlur((2.5, 3.5), (0.4, 0.7), 0.6)],
    "UnsharpMask": [T.UnsharpMask((5, 9), (0.5, 1.5), (0.3, 0.8), 4.0, 0.6)],
}


def our_transforms():
    """The transforms of the package by name, without those that tests define."""
    return {
        name: kind
        for name, kind in known_transforms().items()
        if kind.__module__.startswith("orbbec.transforms.") and ".tests." not in kind.__module__
    }


def always(transform):
    """The transform with each of its chances at 1."""
    chances = [field.name for field in fields(transform) if field.name in CHANCES]
    numbers = [name for name in chances if isinstance(getattr(transform, name), float)]
    return replace(transform, **dict.fromkeys(numbers, 1.0))


def needs_masks(transform):
    """Whether it refuses targets without masks."""
    return transform.name == "CopyPaste" or getattr(transform, "max_class_ratio", None) is not None
