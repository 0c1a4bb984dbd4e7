"""Every transform with illustrative arguments, and a photograph with targets."""

from typing import Any

import cv2
import numpy as np
import torch
from photographs import Image, load_photograph

from orbbec import transforms as T
from orbbec.transforms.mixing import CutMix, MixUp


def references() -> list[Image]:
    """What transforms adapt images to."""
    return [load_photograph("coffee"), load_photograph("rocket")]


# Transforms that need arguments, or do little by default. Sizes refer to `portrait`.
EXAMPLES: dict[str, T.Transform] = {
    "AdvancedBlur": T.AdvancedBlur((5, 9), (0.5, 3.0), (0.5, 3.0), p=1.0),
    "ConstrainedCoarseDropout": T.ConstrainedCoarseDropout((3, 6), (0.2, 0.4), (0.2, 0.4), p=1.0),
    "FDA": T.FDA(references, (0.02, 0.1), p=1.0),
    "HistogramMatching": T.HistogramMatching(references, p=1.0),
    "LineBlur": T.LineBlur((7, 15), p=1.0),
    "MaskDropout": T.MaskDropout(p=1.0),
    "PixelDistributionAdaptation": T.PixelDistributionAdaptation(references, p=1.0),
    "PlasmaBrightnessContrast": T.PlasmaBrightnessContrast((-0.5, 0.5), (-0.5, 0.5), p=1.0),
    "PlasmaShadow": T.PlasmaShadow((0.5, 0.9), p=1.0),
    "Spatter": T.Spatter(p=1.0),
    "AlignFaces": T.AlignFaces(size=112),
    "AlignPoints": T.AlignPoints(128, [(60, 40), (84, 56), (66, 64), (48, 68), (70, 82)], "landmarks"),
    "AtLeastOneBBoxRandomCrop": T.AtLeastOneBBoxRandomCrop((100, 96)),
    "BoxBlur": T.BoxBlur(p=1.0),
    "CLAHE": T.CLAHE(p=1.0),
    "CenterCrop": T.CenterCrop((120, 96)),
    "ChannelDropout": T.ChannelDropout(p=1.0),
    "ChannelSwap": T.ChannelSwap(p=1.0),
    "ChromaticAberration": T.ChromaticAberration((-0.1, 0.1), (-0.3, 0.3), "red_blue", p=1.0),
    "CoarseDropout": T.CoarseDropout((2, 6), fill="random_uniform", p=1.0),
    "ColorJitter": T.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "Crop": T.Crop(24, 16, 112, 96),
    "CopyPaste": T.CopyPaste(),
    "CropNonEmptyMaskIfExists": T.CropNonEmptyMaskIfExists((100, 96)),
    "CropAndPad": T.CropAndPad((-0.2, 0.2), fill=114, p=1.0),
    "CutMix": T.CutMix(),
    "Defocus": T.Defocus((2, 6), p=1.0),
    "Downscale": T.Downscale((0.2, 0.5), p=1.0),
    "ElasticTransform": T.ElasticTransform(40.0, 4.0),
    "Emboss": T.Emboss((0.5, 1.0), p=1.0),
    "FancyPCA": T.FancyPCA(0.6, p=1.0),
    "Gamma": T.Gamma((0.4, 2.5)),
    "GaussianBlur": T.GaussianBlur(9, (0.5, 3.0)),
    "GlassBlur": T.GlassBlur(max_delta=2, p=1.0),
    "GridDistortion": T.GridDistortion(p=1.0),
    "GridDropout": T.GridDropout(p=1.0),
    "HueSaturationValue": T.HueSaturationValue((-40, 40), (-60, 60), (-40, 40), p=1.0),
    "ISONoise": T.ISONoise((0.05, 0.2), (0.4, 1.0), p=1.0),
    "Illumination": T.Illumination(intensity_range=(0.4, 0.7), p=1.0),
    "JPEG": T.JPEG((3, 20)),
    "Lambda": T.Lambda(lambda image: image.flip(0)),
    "Letterbox": T.Letterbox(128),
    "MedianBlur": T.MedianBlur((3, 9), p=1.0),
    "Morphological": T.Morphological(4, p=1.0),
    "Mosaic": T.Mosaic((160, 128)),
    "MotionBlur": T.MotionBlur((5, 15), p=1.0),
    "MultiplicativeNoise": T.MultiplicativeNoise((0.6, 1.4), per_channel=True, p=1.0),
    "OpticalDistortion": T.OpticalDistortion((-0.5, 0.5), p=1.0),
    "ThinPlateSpline": T.ThinPlateSpline(p=1.0),
    "Pad": T.Pad((8, 16), fill=114),
    "PadIfNeeded": T.PadIfNeeded((180, 144), fill=114, position="random"),
    "PatchBrightness": T.PatchBrightness((2, 4), factor_range=(0.3, 1.8), p=1.0),
    "PerFrame": T.PerFrame([T.RandomInvert(1.0)]),
    "Perspective": T.Perspective((0.1, 0.2), fill=114, p=1.0),
    "PillowBlur": T.PillowBlur((0.5, 4.0), p=1.0),
    "PixelDropout": T.PixelDropout(0.1, p=1.0),
    "PlanckianJitter": T.PlanckianJitter(p=1.0),
    "RGBShift": T.RGBShift((-0.2, 0.2), (-0.2, 0.2), (-0.2, 0.2), p=1.0),
    "RandomAdjustSharpness": T.RandomAdjustSharpness(4.0, p=1.0),
    "RandomAffine": T.RandomAffine(25, (0.1, 0.1), (0.7, 1.2), 10, "linear", 114),
    "RandomApply": T.RandomApply([T.RandomInvert(1.0)], p=0.5),
    "RandomAutocontrast": T.RandomAutocontrast(1.0),
    "RandomBrightnessContrast": T.RandomBrightnessContrast((-0.3, 0.3), (-0.4, 0.4), 1.0),
    "RandomChoice": T.RandomChoice([T.RandomInvert(1.0), T.RandomVerticalFlip(1.0)]),
    "RandomCrop": T.RandomCrop((112, 96), padding=8, fill=114),
    "RandomCropFromBorders": T.RandomCropFromBorders(0.3, 0.3, 0.3, 0.3),
    "RandomEqualize": T.RandomEqualize(1.0),
    "RandomErasing": T.RandomErasing(1.0, value=(124, 116, 104)),
    "RandomFog": T.RandomFog(p=1.0),
    "RandomGridShuffle": T.RandomGridShuffle(p=1.0),
    "RandomGrayscale": T.RandomGrayscale(0.5),
    "RandomHalfBody": T.RandomHalfBody((0, 1, 2), (3, 4), 3, 2, 2, 3.0, 0.7, 0.8, "landmarks", p=1.0),
    "RandomOrder": T.RandomOrder([T.RandomInvert(1.0), T.RandomSolarize(128, 1.0)]),
    "RandomPerspective": T.RandomPerspective(0.5, 1.0, fill=114),
    "RandomPosterize": T.RandomPosterize(2, 1.0),
    "RandomRain": T.RandomRain(blur_value=3, p=1.0),
    "RandomResizedCrop": T.RandomResizedCrop((128, 112), (0.2, 1.0)),
    "RandomRotation": T.RandomRotation(40, "linear", expand=True, fill=114),
    "RandomScale": T.RandomScale((0.5, 1.5)),
    "RandomShadow": T.RandomShadow((0.0, 0.0, 1.0, 1.0), p=1.0),
    "RandomShortestSize": T.RandomShortestSize([64, 96, 128]),
    "RandomResize": T.RandomResize(64, 129),
    "RandomShift": T.RandomShift(24),
    "RandomSizedCrop": T.RandomSizedCrop((60, 110), (128, 112)),
    "RandomSnow": T.RandomSnow(p=1.0),
    "RandomSunFlare": T.RandomSunFlare(src_radius=80, p=1.0),
    "RandomSolarize": T.RandomSolarize(128, 1.0),
    "RandomToneCurve": T.RandomToneCurve(0.3, p=1.0),
    "RandomZoomOut": T.RandomZoomOut(114, (1.0, 2.0), 1.0),
    "Resize": T.Resize((96, 128)),
    "ResizeKeepRatio": T.ResizeKeepRatio(128, scale_p=1.0),
    "ResizeToFit": T.ResizeToFit(128),
    "ResizeToHeight": T.ResizeToHeight(90, 120),
    "ResizeToMultiple": T.ResizeToMultiple(98, 14),
    "RingingOvershoot": T.RingingOvershoot(cutoff=(0.6, 1.0), p=1.0),
    "SafeRotate": T.SafeRotate(40, fill=114, p=1.0),
    "SaltAndPepper": T.SaltAndPepper((0.02, 0.2), p=1.0),
    "Sharpen": T.Sharpen((0.5, 1.0), p=1.0),
    "ShotNoise": T.ShotNoise((0.02, 0.2), p=1.0),
    "SolarizeAdd": T.SolarizeAdd(p=1.0),
    "ScaleJitter": T.ScaleJitter((160, 128), (0.4, 1.2)),
    "SomeOf": T.SomeOf([T.RandomInvert(1.0), T.RandomVerticalFlip(1.0), T.RandomGrayscale(1.0)], n=2),
    "ToSepia": T.ToSepia(1.0),
    "UnsharpMask": T.UnsharpMask(alpha=1.0, p=1.0),
    "ZoomBlur": T.ZoomBlur((1.1, 1.4), p=1.0),
    "Vignetting": T.Vignetting((0.6, 0.9), p=1.0),
    "XYMasking": T.XYMasking((1, 2), (1, 2), fill="random_uniform", p=1.0),
    "ToDtype": T.ToDtype(torch.float32, scale=True),
}
SHRUNK = 160 / 512  # pixels of the portrait to pixels of the photograph


def names() -> list[str]:
    """The names of the transforms of `orbbec.transforms`, in order."""
    kinds = {name: getattr(T, name) for name in T.__all__}
    return sorted(
        name
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, T.Transform) and kind is not T.Transform
    )


def example(name: str) -> T.Transform:
    """The transform of a name, from EXAMPLES or with its defaults."""
    made: T.Transform = EXAMPLES[name] if name in EXAMPLES else getattr(T, name)()
    return made


def pipeline_of(name: str, seed: int = 5) -> T.Compose:
    """The transform, after the transforms that it requires."""
    transform = example(name)
    before = [T.ToDtype(torch.float32, scale=True)] if isinstance(transform, T.Normalize) else []
    options = T.TargetOptions(min_visibility=0.1)
    return T.Compose([*before, transform], seed=seed, target_options=options)


def portrait() -> tuple[Image, dict[str, Any]]:
    """The astronaut, uint8 `[160, 128, 3]`, with boxes, masks, landmarks and a polygon."""
    image = load_photograph("astronaut")[:, 32:442]
    small = cv2.resize(image, (128, 160), interpolation=cv2.INTER_AREA)
    corner = np.array([32.0, 0.0])
    head, badge = np.array([[154, 30], [302, 190]]) - corner, np.array([[226, 360], [296, 428]]) - corner
    boxes = np.stack([head.reshape(4), badge.reshape(4)]) * SHRUNK
    points = np.array([[203.8, 100.8], [246.2, 103.2], [224.5, 127.5], [205, 140], [242, 142]]) - corner
    y, x = np.mgrid[:160, :128] + 0.5
    masks = [
        ((2 * x - left - right) / (right - left)) ** 2 + ((2 * y - top - bottom) / (bottom - top)) ** 2 <= 1
        for left, top, right, bottom in boxes
    ]
    targets = {"boxes": boxes, "masks": np.stack(masks), "landmarks": points * SHRUNK}
    return small, targets


def targets_for(transform: T.Transform, targets: dict[str, Any]) -> dict[str, Any]:
    """The targets that the transform supports: boxes cannot follow if images are blended."""
    return {} if isinstance(transform, (MixUp, CutMix)) else targets
