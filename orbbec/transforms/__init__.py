"""Augmentations, drawn for each image by its own id and fused to few passes. Names are torchvision's."""

from orbbec.transforms.affine import AlignFaces, AlignPoints, RandomAffine, RandomPerspective, RandomRotation
from orbbec.transforms.color import (
    ColorJitter,
    Gamma,
    Grayscale,
    RandomChannelPermutation,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from orbbec.transforms.compose import Compose
from orbbec.transforms.containers import RandomApply, RandomChoice, RandomOrder
from orbbec.transforms.erasing import RandomErasing
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
from orbbec.transforms.neighborhood import (
    JPEG,
    ElasticTransform,
    GaussianBlur,
    MedianBlur,
    MotionBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
)
from orbbec.transforms.output import Normalize, ToDtype
from orbbec.transforms.targets import TargetOptions, TargetReport, Targets, transform_targets
from orbbec.transforms.transform import Transform

__all__ = [
    "JPEG",
    "AlignFaces",
    "AlignPoints",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ElasticTransform",
    "Gamma",
    "GaussianBlur",
    "Grayscale",
    "Letterbox",
    "MedianBlur",
    "MotionBlur",
    "Normalize",
    "Pad",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "TargetOptions",
    "TargetReport",
    "Targets",
    "ToDtype",
    "Transform",
    "transform_targets",
]
