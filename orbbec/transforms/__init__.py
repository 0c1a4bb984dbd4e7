"""Random augmentations with torchvision's names, drawn per image and fused into few passes.

Begin with base/pipeline.py, `Compose`, and base/transform.py, the base class of transforms. Each module of
this folder holds one kind of transforms. `targets` moves boxes, masks and points along with the pixels,
`convert` reads pipelines of other libraries, `functional` has torchvision's functions.
"""

from orbbec.transforms import functional
from orbbec.transforms.adaptation import FDA, HistogramMatching, PixelDistributionAdaptation
from orbbec.transforms.affine import (
    AlignFaces,
    AlignPoints,
    RandomAffine,
    RandomRotation,
    SafeRotate,
)
from orbbec.transforms.augmix import AugMix
from orbbec.transforms.auto import AutoAugment, RandAugment, TrivialAugmentWide
from orbbec.transforms.base.checks import InterpolationMode
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.bounding_boxes import (
    ClampBoundingBoxes,
    ConvertBoundingBoxFormat,
    SanitizeBoundingBoxes,
)
from orbbec.transforms.box_crops import (
    AtLeastOneBBoxRandomCrop,
    BBoxSafeRandomCrop,
    CropNonEmptyMaskIfExists,
    RandomIoUCrop,
)
from orbbec.transforms.color import (
    RGB,
    ColorJitter,
    Gamma,
    Grayscale,
    RandomBrightnessContrast,
    RandomChannelPermutation,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
    SolarizeAdd,
)
from orbbec.transforms.compose import Compose
from orbbec.transforms.containers import PerFrame, RandomApply, RandomChoice, RandomOrder, SomeOf
from orbbec.transforms.degradations import CLAHE, Defocus, Downscale, UnsharpMask
from orbbec.transforms.distortions import (
    GridDistortion,
    OpticalDistortion,
    Perspective,
    RandomGridShuffle,
    RandomPerspective,
    ThinPlateSpline,
)
from orbbec.transforms.effects.artifacts import (
    ChromaticAberration,
    Emboss,
    Morphological,
    RingingOvershoot,
    Sharpen,
)
from orbbec.transforms.effects.blurs import GlassBlur, ZoomBlur
from orbbec.transforms.effects.flares import RandomSunFlare
from orbbec.transforms.effects.kernels import AdvancedBlur, LineBlur
from orbbec.transforms.effects.plasma import PlasmaBrightnessContrast, PlasmaShadow
from orbbec.transforms.effects.sensors import ISONoise
from orbbec.transforms.effects.spatter import Spatter
from orbbec.transforms.effects.weather import RandomFog, RandomRain, RandomSnow
from orbbec.transforms.erasing import (
    CoarseDropout,
    GridDropout,
    PatchBrightness,
    RandomErasing,
    XYMasking,
)
from orbbec.transforms.fits import Crop, PadIfNeeded, RandomScale, ResizeToFit
from orbbec.transforms.function import Lambda
from orbbec.transforms.geometry import (
    CenterCrop,
    Letterbox,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from orbbec.transforms.half_body import RandomHalfBody
from orbbec.transforms.lights import Illumination, PlanckianJitter, RandomShadow, Vignetting
from orbbec.transforms.mixing import CopyPaste, CutMix, MixUp, Mosaic
from orbbec.transforms.neighborhood import (
    JPEG,
    BoxBlur,
    ElasticTransform,
    GaussianBlur,
    MedianBlur,
    MotionBlur,
    PillowBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
)
from orbbec.transforms.noise import GaussianNoise, PixelDropout, SaltAndPepper, ShotNoise
from orbbec.transforms.objects import ConstrainedCoarseDropout, MaskDropout
from orbbec.transforms.output import Normalize, PILToTensor, ToDtype, ToImage, ToPureTensor, ToTensor
from orbbec.transforms.scales import RandomResize, RandomShortestSize, RandomZoomOut, ScaleJitter
from orbbec.transforms.shapes import (
    CropAndPad,
    RandomCropFromBorders,
    RandomShift,
    RandomSizedCrop,
    ResizeKeepRatio,
    ResizeToHeight,
    ResizeToMultiple,
)
from orbbec.transforms.targets.heatmaps import keypoint_heatmaps, simcc_targets
from orbbec.transforms.targets.options import TargetOptions
from orbbec.transforms.targets.restore import restore_boxes, restore_masks, restore_points
from orbbec.transforms.targets.targets import TargetReport, Targets, transform_targets
from orbbec.transforms.tones import (
    ChannelDropout,
    ChannelSwap,
    FancyPCA,
    HueSaturationValue,
    MultiplicativeNoise,
    RandomHSV,
    RandomToneCurve,
    RGBShift,
    ToSepia,
)
from orbbec.transforms.views import FiveCrop, MultiCrop, MultiView, TenCrop

__all__ = [
    "CLAHE",
    "FDA",
    "JPEG",
    "RGB",
    "AdvancedBlur",
    "AlignFaces",
    "AlignPoints",
    "AtLeastOneBBoxRandomCrop",
    "AugMix",
    "AutoAugment",
    "BBoxSafeRandomCrop",
    "BoxBlur",
    "CenterCrop",
    "ChannelDropout",
    "ChannelSwap",
    "ChromaticAberration",
    "ClampBoundingBoxes",
    "CoarseDropout",
    "ColorJitter",
    "Compose",
    "ConstrainedCoarseDropout",
    "ConvertBoundingBoxFormat",
    "CopyPaste",
    "Crop",
    "CropAndPad",
    "CropNonEmptyMaskIfExists",
    "CutMix",
    "Defocus",
    "Downscale",
    "ElasticTransform",
    "Emboss",
    "FancyPCA",
    "FiveCrop",
    "Gamma",
    "GaussianBlur",
    "GaussianNoise",
    "GlassBlur",
    "Grayscale",
    "GridDistortion",
    "GridDropout",
    "HistogramMatching",
    "HueSaturationValue",
    "ISONoise",
    "Illumination",
    "InterpolationMode",
    "Lambda",
    "Letterbox",
    "LineBlur",
    "MaskDropout",
    "MedianBlur",
    "MixUp",
    "Morphological",
    "Mosaic",
    "MotionBlur",
    "MultiCrop",
    "MultiView",
    "MultiplicativeNoise",
    "Normalize",
    "OpticalDistortion",
    "PILToTensor",
    "Pad",
    "PadIfNeeded",
    "PatchBrightness",
    "PerFrame",
    "Perspective",
    "PillowBlur",
    "PixelDistributionAdaptation",
    "PixelDropout",
    "PlanckianJitter",
    "PlasmaBrightnessContrast",
    "PlasmaShadow",
    "RGBShift",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomBrightnessContrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomCropFromBorders",
    "RandomEqualize",
    "RandomErasing",
    "RandomFog",
    "RandomGrayscale",
    "RandomGridShuffle",
    "RandomHSV",
    "RandomHalfBody",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomRain",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomScale",
    "RandomShadow",
    "RandomShift",
    "RandomShortestSize",
    "RandomSizedCrop",
    "RandomSnow",
    "RandomSolarize",
    "RandomSunFlare",
    "RandomToneCurve",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ResizeKeepRatio",
    "ResizeToFit",
    "ResizeToHeight",
    "ResizeToMultiple",
    "RingingOvershoot",
    "SafeRotate",
    "SaltAndPepper",
    "SanitizeBoundingBoxes",
    "ScaleJitter",
    "Sharpen",
    "ShotNoise",
    "SolarizeAdd",
    "SomeOf",
    "Spatter",
    "TargetOptions",
    "TargetReport",
    "Targets",
    "TenCrop",
    "ThinPlateSpline",
    "ToDtype",
    "ToImage",
    "ToPureTensor",
    "ToSepia",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "UnsharpMask",
    "Vignetting",
    "XYMasking",
    "ZoomBlur",
    "functional",
    "keypoint_heatmaps",
    "restore_boxes",
    "restore_masks",
    "restore_points",
    "simcc_targets",
    "transform_targets",
]
