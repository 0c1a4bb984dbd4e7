"""The argument sets of every transform for the record of draws: all that changes draws or passes."""

import torch

from orbbec import transforms as T
from orbbec.plan.tests.arguments.with_chances import WITH_CHANCES
from orbbec.transforms.tests.examples import our_transforms

FILL = (30.0, 90.0, 200.0)
TEMPLATE = [(4, 5), (17, 4), (11, 12), (6, 19), (15, 21)]
FACE = [(30.2, 40.1), (60.7, 38.0), (44.4, 55.5), (33.3, 70.9), (58.8, 71.2)]
# Interpolations of warps, with fills and padding modes.
WARPS = [
    {"interpolation": "linear"},
    {"interpolation": "cubic", "fill": FILL},
    {"interpolation": "nearest", "padding_mode": "edge"},
    {"interpolation": "nearest_exact", "fill": 77.0},
    {"interpolation": "lanczos4", "padding_mode": "reflect"},
    {"interpolation": "linear", "padding_mode": "symmetric"},
    {"interpolation": "cubic", "padding_mode": "wrap"},
]
# Interpolations of resizes.
RESIZES = [
    {},
    {"interpolation": "cubic"},
    {"interpolation": "lanczos4"},
    {"interpolation": "hamming"},
    {"interpolation": "nearest"},
    {"antialias": False},
    {"interpolation": "nearest", "antialias": False},
    {"interpolation": "nearest_exact", "antialias": False},
    {"interpolation": "cubic", "antialias": False},
    {"interpolation": "area", "antialias": False},
    {"interpolation": "lanczos4", "antialias": False},
    {"interpolation": "linear_exact", "antialias": False},
]
CHANCES = [{}, {"p": 0.0}, {"p": 0.5}, {"p": 1.0}, {"p": 0.03}]
MIX_CHANCES = [{}, {"p": 0.0}, {"p": 0.5}, {"p": 1.0}]


def combined(several, others):
    """The entries of two lists of arguments, in pairs; the shorter list is repeated."""
    count = max(len(several), len(others))
    return [{**several[n % len(several)], **others[n % len(others)]} for n in range(count)]


def of(**options):
    """One set of arguments."""
    return options


ARGUMENTS = {
    "AlignFaces": combined([of(), of(size=64), of(size=(26, 20)), of(template=FACE)], WARPS),
    "AlignPoints": combined([of(size=(26, 20), template=TEMPLATE), of(size=64, template=FACE)], WARPS),
    "AugMix": [
        of(),
        of(severity=7, mixture_width=2, chain_depth=2, alpha=0.6, all_ops=False, interpolation="nearest"),
        of(fill=FILL, mixture_width=1),
        of(severity=10, chain_depth=1),
        of(alpha=0.1, all_ops=False),
        of(alpha=5.0, interpolation="cubic", fill=40.0),
    ],
    "AutoAugment": [
        of(),
        of(policy="cifar10"),
        of(policy="svhn"),
        of(policy="cifar10", interpolation="linear", fill=FILL),
        of(policy="svhn", interpolation="cubic", fill=12.0),
        of(policy="imagenet", interpolation="linear"),
    ],
    "CenterCrop": [of(size=size) for size in (1, 23, (23, 18), (60, 20), 224, (1, 900), (1000, 3))],
    "ClampBoundingBoxes": [of()],
    "ColorJitter": [
        of(),
        of(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1),
        of(brightness=(1.2, 1.6), contrast=(0.4, 0.7), saturation=(1.3, 1.9), hue=(0.1, 0.3)),
        of(brightness=1.5),
        of(contrast=0.5),
        of(saturation=0.0),
        of(hue=0.5),
        of(hue=(-0.3, -0.1), brightness=0.2),
        of(contrast=(1.0, 1.0), saturation=2.0),
    ],
    "ConvertBoundingBoxFormat": [of(), of(format="xyxy")],
    "Crop": [of(top=top, left=left, height=20, width=17) for top, left in ((0, 0), (3, 1), (9, 14))],
    "CutMix": combined([of(), of(alpha=0.7), of(alpha=3.0, num_classes=5), of(alpha=0.05)], MIX_CHANCES),
    "ElasticTransform": combined(
        [
            of(),
            of(alpha=(20.0, 40.0), sigma=(3.0, 5.0)),
            of(alpha=10.0),
            of(sigma=0.0),
            of(alpha=(0.0, 90.0)),
        ],
        WARPS,
    ),
    "Gamma": combined(
        [of(), of(gamma=2.2), of(gamma=(1.4, 2.5), gain=0.8), of(gamma=(0.1, 0.9)), of(gain=1.5)], CHANCES
    ),
    "GaussianBlur": [
        of(kernel_size=3),
        of(kernel_size=23),
        of(kernel_size=(3, 7)),
        of(kernel_size=5, sigma=1.3),
        of(kernel_size=(5, 1), sigma=(0.8, 1.7)),
        of(kernel_size=9, sigma=(0.1, 0.1)),
    ],
    "GaussianNoise": [
        of(),
        of(mean=(0.1, 0.3)),
        of(sigma=(0.05, 0.2)),
        of(mean=(-0.1, 0.3), sigma=(0.0, 0.2), clip=False),
        of(mean=0.2, sigma=0.0),
        of(clip=False),
    ],
    "Grayscale": [of(), of(num_output_channels=3)],
    "Illumination": combined(
        [
            of(),
            of(angle_range=(20.0, 130.0), effect_type="darken"),
            of(mode="gaussian"),
            of(mode="gaussian", center_range=(0.2, 0.5), sigma_range=(0.3, 0.7), effect_type="brighten"),
        ],
        CHANCES,
    ),
    "JPEG": [of(quality=50), of(quality=(5, 60)), of(quality=1), of(quality=100), of(quality=(1, 100))],
    "Lambda": [of(lambd=torch.relu)],
    "Letterbox": [
        of(size=640),
        of(size=(30, 52), fill=60.0),
        of(size=(30, 52), fill=FILL, interpolation="cubic"),
        of(size=(640, 32), enlarge=False),
        of(size=64, enlarge=False, interpolation="nearest"),
        of(size=64, interpolation="area"),
        of(size=1, interpolation="lanczos4"),
        of(size=(90, 91), interpolation="nearest_exact"),
    ],
    "MedianBlur": combined([of(), of(kernel_size=5), of(kernel_size=(3, 7)), of(kernel_size=3)], CHANCES),
    "MixUp": combined([of(), of(alpha=0.7), of(alpha=3.0, num_classes=5), of(alpha=0.05)], MIX_CHANCES),
    "Mosaic": combined(
        [
            of(size=(48, 64)),
            of(size=(48, 64), center_range=(0.2, 0.4), fill=60.0),
            of(size=(48, 64), fill=FILL),
        ],
        MIX_CHANCES,
    ),
    "MotionBlur": combined(
        [of(), of(length=7), of(length=(5, 9), angle_degrees=(10.0, 60.0)), of(angle_degrees=(90.0, 90.0))],
        CHANCES,
    ),
    "Normalize": [of(), of(mean=(0.2, 0.3, 0.6), std=(0.4, 0.2, 0.3)), of(mean=0.5, std=0.25), of(std=0.3)],
    "PILToTensor": [of()],
    "Pad": [
        of(padding=3),
        of(padding=(1, 5)),
        of(padding=(1, 5, 2, 3), fill=FILL),
        of(padding=(0, 0, 0, 9), fill=255.0),
        of(padding=0),
        *(of(padding=(1, 5, 2, 3), padding_mode=mode) for mode in ("reflect", "edge", "symmetric", "wrap")),
    ],
    "PadIfNeeded": [
        of(size=64),
        of(size=(40, 50), fill=FILL, position="random"),
        of(size=(400, 50), padding_mode="edge", position="bottom_left"),
        of(size=(40, 500), padding_mode="reflect", position="top_right"),
        of(size=1000, position="random"),
        of(size=1000, position="top_left", padding_mode="symmetric"),
        of(size=(7, 901), position="bottom_right", fill=9.0),
        of(size=(7, 901), position="random", padding_mode="wrap"),
    ],
    "RGB": [of()],
    "RandAugment": [
        of(),
        of(num_ops=3, magnitude=6, num_magnitude_bins=11, interpolation="linear", fill=FILL),
        of(num_ops=1),
        of(num_ops=5, magnitude=30),
        of(magnitude=0),
        of(num_ops=2, magnitude=15, interpolation="cubic"),
        of(num_ops=0),
    ],
    "RandomAdjustSharpness": combined([of(sharpness_factor=f) for f in (2.5, 0.0, 1.0)], CHANCES),
    "RandomAffine": combined(
        [
            of(degrees=30),
            of(degrees=(10, 40), translate=(0.3, 0.1), scale=(0.5, 0.8), shear=(5, 20), center=(9.0, 4.0)),
            of(degrees=(-50, 5), translate=(0.1, 0.4), scale=(0.5, 0.8, 1.1, 1.6), shear=(5, 20, -30, -10)),
            of(degrees=0, shear=10),
            of(degrees=0, translate=(1.0, 1.0)),
            of(degrees=(90, 90), scale=(2.0, 2.0)),
            of(degrees=180, scale=(0.01, 0.02)),
            of(degrees=0),
            of(degrees=(-70, 30), scale=(0.5, 0.8, 1.1, 1.6), shear=(5, 20), expand=True),
        ],
        [{}, *WARPS],
    ),
    "RandomApply": [
        of(transforms=[T.RandomInvert(1.0), T.RandomRotation((10, 50))], p=0.6),
        of(transforms=[T.Pad(3), T.GaussianBlur(3)]),
        of(transforms=[T.RandomResizedCrop(20), T.RandomHorizontalFlip()], p=0.3),
        of(transforms=[T.RandomHorizontalFlip()], p=0.0),
        of(transforms=[T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.3)], p=1.0),
    ],
    "RandomAutocontrast": CHANCES,
    "RandomBrightnessContrast": combined(
        [
            of(),
            of(brightness=(0.1, 0.4), contrast=(-0.5, -0.2)),
            of(brightness=(0.0, 0.0)),
            of(contrast=(0, 0)),
        ],
        CHANCES,
    ),
    "RandomChannelPermutation": [of()],
    "RandomChoice": [
        of(transforms=[T.RandomInvert(1.0), T.RandomRotation((10, 50))], p=(0.3, 0.7)),
        of(transforms=[T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.Pad(2)]),
        of(transforms=[T.GaussianBlur(3), T.MedianBlur(p=1.0), T.MotionBlur(p=1.0)], p=(1, 0, 3)),
        of(transforms=[T.RandomGrayscale(), T.Gamma(), T.ColorJitter(hue=0.2)], p=(0, 2, 1)),
        of(transforms=[T.Resize((20, 30), antialias=False), T.RandomCrop((20, 30), pad_if_needed=True)]),
    ],
    "RandomCrop": [
        of(size=1),
        of(size=(29, 22), pad_if_needed=True),
        of(size=(29, 22), padding=(1, 5, 2, 3), pad_if_needed=True, fill=FILL),
        of(size=(29, 22), padding=(1, 5), pad_if_needed=True, padding_mode="reflect"),
        of(size=16, padding=4),
        of(size=32, padding=40, padding_mode="edge"),
        of(size=(224, 224), pad_if_needed=True, padding_mode="symmetric"),
        of(size=(500, 3), pad_if_needed=True, fill=8.0),
    ],
    "RandomEqualize": CHANCES,
    "RandomErasing": combined(
        [
            of(),
            of(scale=(0.1, 0.2), ratio=(1.5, 2.5), value=(9.0, 99.0, 200.0)),
            of(scale=(0.1, 0.2), ratio=(0.3, 0.6), value="random"),
            of(scale=(0.9, 1.0)),
            of(value=127.0, ratio=(1.0, 1.0)),
        ],
        [{}, {"p": 1.0}, {"p": 0.0}],
    )
    + combined([of(p=1.0, scale=(0.9, 1.0), ratio=(0.1, 0.1)), of(p=1.0, value="random")], [{}]),
    "RandomGrayscale": CHANCES,
    "RandomHorizontalFlip": CHANCES,
    "RandomInvert": CHANCES,
    "RandomIoUCrop": [
        of(),
        of(min_scale=0.4, max_scale=0.9, min_aspect_ratio=0.6, max_aspect_ratio=0.9),
        of(sampler_options=(0.1, 0.3), trials=30, rounds=8),
        of(sampler_options=(1.0,)),
        of(sampler_options=(0.9,), trials=1, rounds=3),
        of(min_scale=1.0, max_scale=1.0),
    ],
    "PerFrame": [
        of(transforms=[T.RandomRotation(30), T.ColorJitter(0.4)]),
    ],
    "RandomOrder": [
        of(transforms=[T.RandomInvert(1.0), T.RandomRotation((10, 50))]),
        of(transforms=[T.ColorJitter(0.4, 0.4), T.RandomSolarize(99.0), T.RandomPosterize(3)]),
        of(transforms=[T.GaussianBlur(3), T.RandomAffine(10, (0.1, 0.1), interpolation="linear")]),
        of(transforms=[T.Pad(2), T.Pad((1, 0)), T.RandomHorizontalFlip()]),
    ],
    "RandomPerspective": [
        *combined([of(), of(distortion_scale=0.7, p=0.6), of(distortion_scale=1.0, p=1.0)], [{}, *WARPS]),
        of(p=0.0),
        of(distortion_scale=0.0, p=1.0),
    ],
    "RandomPhotometricDistort": combined(
        [
            of(),
            of(brightness=(1.1, 1.4), contrast=(0.4, 0.7), saturation=(1.3, 1.9), hue=(0.1, 0.3)),
            of(contrast=(1.0, 1.0)),
            of(hue=(0.0, 0.0)),
        ],
        CHANCES,
    ),
    "RandomPosterize": combined([of(bits=bits) for bits in (2, 0, 8, 5)], CHANCES),
    "RandomResize": combined([of(min_size=20, max_size=33), of(min_size=7, max_size=200)], RESIZES),
    "RandomResizedCrop": combined(
        [
            of(size=224),
            of(size=(21, 30), scale=(0.2, 0.5), ratio=(1.4, 2.1)),
            of(size=(21, 30), scale=(0.2, 0.5), ratio=(0.4, 0.7)),
            of(size=7, scale=(1.0, 1.0)),
            of(size=64, ratio=(1.0, 1.0)),
        ],
        [
            *RESIZES,
            {"interpolation": ("linear", "cubic")},
            {"interpolation": "random"},
            {"interpolation": ("linear", "cubic", "lanczos4", "box")},
            {"interpolation": ("nearest", "linear", "cubic"), "antialias": False},
        ],
    ),
    "RandomRotation": combined(
        [
            of(degrees=30),
            of(degrees=(10, 50), center=(9.0, 4.0)),
            of(degrees=(-70, -20), expand=True),
            of(degrees=(90, 90), expand=True),
            of(degrees=180),
            of(degrees=0),
        ],
        [{}, *WARPS],
    ),
    "RandomScale": combined([of(), of(scale_range=(0.4, 0.8)), of(scale_range=(1.1, 1.7))], RESIZES),
    "RandomShortestSize": combined(
        [of(min_size=20), of(min_size=(18, 30, 41), max_size=44), of(min_size=[18, 30], max_size=36)], RESIZES
    ),
    "RandomSolarize": combined([of(threshold=t) for t in (99.0, 0.0, 255.0)], CHANCES),
    "RandomVerticalFlip": CHANCES,
    "RandomZoomOut": combined(
        [of(), of(fill=FILL, side_range=(1.2, 2.0)), of(side_range=(1.0, 1.0)), of(fill=5.0)], CHANCES
    ),
    "Resize": [
        *combined([of(size=(21, 30)), of(size=21, max_size=33), of(size=50), of(size=1)], RESIZES),
        of(size=None, max_size=40),
        of(size=(900, 900)),
    ],
    "ResizeToFit": combined([of(size=(21, 30)), of(size=30), of(size=(300, 21))], RESIZES),
    "SaltAndPepper": combined(
        [of(), of(amount=(0.1, 0.3)), of(salt_vs_pepper=(0.5, 0.9)), of(amount=(0.2, 0.2), per_frame=False)],
        CHANCES,
    ),
    "PixelDropout": combined([of(), of(dropout_prob=0.3, drop_value=9.0, per_frame=False)], CHANCES),
    "ShotNoise": combined([of(), of(scale_range=(0.01, 0.4), per_frame=False)], CHANCES),
    "SolarizeAdd": combined([of(), of(addition=(20.0, 90.0), threshold=99.0)], CHANCES),
    "ToSepia": CHANCES,
    "SanitizeBoundingBoxes": [of(), of(min_size=3.0, min_area=20.0, labels_getter=None)],
    "ScaleJitter": combined(
        [
            of(target_size=(60, 40), scale_range=(0.4, 0.9)),
            of(target_size=(30, 50)),
            of(target_size=(640, 640)),
        ],
        RESIZES,
    ),
    "SomeOf": combined(
        [
            of(transforms=[T.RandomInvert(1.0), T.RandomRotation((10, 50)), T.RandomVerticalFlip()]),
            of(transforms=[T.ColorJitter(0.4), T.RandomSolarize(99.0), T.GaussianBlur(3)]),
            of(transforms=[T.Pad(2), T.RandomHorizontalFlip(), T.RandomErasing()]),
        ],
        [
            {"n": 1},
            {"n": 2},
            {"n": 3, "shuffle": True},
            {"n": 2, "replace": True},
            {"n": 4, "replace": True, "shuffle": True},
            {"n": 3},
        ],
    ),
    "ToDtype": [
        *(of(dtype=torch.float32, scale=scale) for scale in (True, False)),
        of(dtype=torch.float16, scale=True, channels_last=True),
        of(dtype=torch.bfloat16, scale=True, channels_last=False),
        of(dtype=torch.uint8),
        of(dtype=torch.uint8, channels_last=True),
        of(dtype=torch.float16),
    ],
    "ToImage": [of()],
    "ToPureTensor": [of()],
    "ToTensor": [of()],
    "TrivialAugmentWide": [
        of(),
        of(num_magnitude_bins=11, interpolation="linear", fill=FILL),
        of(num_magnitude_bins=2, fill=7.0),
        of(interpolation="cubic"),
    ],
}
PICKED = {name: len(several) for name, several in ARGUMENTS.items()}  # by the random pipelines of the record
ADDED = {
    "AtLeastOneBBoxRandomCrop": combined(
        [of(size=20), of(size=(30, 22), erosion_factor=0.4), of(size=(9, 16), erosion_factor=1.0)], CHANCES
    ),
    "BoxBlur": combined([of(), of(kernel_size=5), of(kernel_size=(1, 11))], CHANCES),
    "BBoxSafeRandomCrop": combined([of(), of(erosion_rate=0.4), of(erosion_rate=1.0)], CHANCES),
    "CLAHE": combined([of(), of(clip_limit=3.0, tile_grid_size=(2, 5))], CHANCES),
    "ChannelDropout": combined([of(), of(channel_drop_range=(1, 2), fill=60.0)], CHANCES),
    "ChannelSwap": combined([of(), of(channel_order=(1, 2, 0))], CHANCES),
    "ChromaticAberration": combined(
        [
            of(),
            of(primary_range=(-0.3, 0.1), mode="random", interpolation="cubic"),
            of(secondary_range=(0.1, 0.3), mode="red_blue"),
        ],
        CHANCES,
    ),
    "CoarseDropout": combined(
        [
            of(),
            of(num_holes_range=3, hole_height_range=(0.0, 0.5), hole_width_range=(0.1, 0.9), fill=FILL),
            of(num_holes_range=(1, 5), hole_height_range=(2, 9), hole_width_range=(8, 40)),
            of(fill="random_uniform"),
        ],
        CHANCES,
    ),
    "CopyPaste": combined([of(), of(max_objects=2)], MIX_CHANCES),
    "CropAndPad": combined(
        [
            of(),
            of(percent_range=(-0.4, 0.2), keep_size=False),
            of(px_range=(-3, 5), sample_independently=False, fill=FILL),
            of(px_range=(2, 9), keep_size=False, padding_mode="reflect"),
            of(percent_range=(-1.0, -0.3), interpolation="cubic"),
            of(antialias=True, padding_mode="edge"),
        ],
        CHANCES,
    ),
    "Defocus": combined([of(), of(radius=2, alias_blur=0.4), of(radius=(1, 20))], CHANCES),
    "Downscale": combined(
        [of(), of(scale_range=(0.3, 0.9), down_interpolation="area"), of(up_interpolation="linear")], CHANCES
    ),
    "Emboss": combined([of(), of(alpha=0.4, strength=(0.1, 1.5))], CHANCES),
    "FancyPCA": combined([of(), of(alpha=0.6)], CHANCES),
    "GlassBlur": combined([of(), of(sigma=1.3, max_delta=2, iterations=3, per_frame=False)], CHANCES),
    "GridDistortion": combined([of(), of(num_steps=2, distort_range=(-0.5, 0.1), normalized=False)], CHANCES),
    "GridDropout": combined(
        [
            of(holes_number_xy=(3, 4)),
            of(ratio=0.2, holes_number_xy=(2, 7), random_offset=False, fill=FILL),
            of(holes_number_xy=(1, 2), fill="random_uniform"),
        ],
        CHANCES,
    ),
    "HueSaturationValue": combined(
        [of(), of(hue_range=(10, 40), saturation_range=(-60, -20), value_range=(5, 30))], CHANCES
    ),
    "MultiplicativeNoise": combined([of(), of(multiplier_range=(0.6, 0.9), per_channel=True)], CHANCES),
    "ISONoise": combined([of(), of(color_shift=0.2, intensity=(0.3, 0.9), per_frame=False)], CHANCES),
    "Morphological": combined([of(), of(size=5, operation="erosion")], CHANCES),
    "OpticalDistortion": combined([of(), of(distort_range=(0.1, 0.4)), *WARPS], CHANCES),
    "ThinPlateSpline": combined([of(), of(scale_range=(0.5, 0.9), num_control_points=2)], CHANCES),
    "PatchBrightness": combined(
        [of(), of(num_patches_range=3, patch_height_range=(2, 9), patch_width_range=(4, 20))], CHANCES
    ),
    "PillowBlur": combined([of(), of(radius_range=(1.0, 9.0))], CHANCES),
    "PlanckianJitter": combined([of(), of(mode="cied"), of(temperature_range=(4500, 9000))], CHANCES),
    "RGBShift": combined([of(), of(red_range=(0.1, 0.2), blue_range=(-0.5, 0.5))], CHANCES),
    "RandomHSV": combined([of(), of(hue=(0.1, 0.3), saturation=(0.4, 0.7), value=0.0)], CHANCES),
    "RandomHalfBody": combined(
        [
            of(upper=(0, 1, 2), lower=(3, 4), min_total_keypoints=3, min_lower_keypoints=2),
            of(
                **{"upper": (0, 1), "lower": (2, 3, 4), "min_total_keypoints": 1, "fill": FILL},
                **{"padding": 2.5, "aspect_ratio": 0.75},
            ),
        ],
        CHANCES,
    ),
    "RandomShadow": combined(
        [
            of(),
            of(shadow_roi=(0.1, 0.2, 0.8, 0.9), num_shadows_range=(2, 3), shadow_dimension=4),
            of(shadow_intensity_range=(0.3, 0.8)),
        ],
        CHANCES,
    ),
    "RandomShift": [of(), of(max_shift=(3, 0)), of(max_shift=40, padding_mode="constant", fill=FILL)],
    "RandomSizedCrop": combined(
        [of(min_max_height=(8, 20), size=(21, 30)), of(min_max_height=(100, 300), size=32, w2h_ratio=1.6)],
        RESIZES,
    ),
    "RandomToneCurve": combined([of(), of(scale=0.3, per_channel=True)], CHANCES),
    "ResizeKeepRatio": combined(
        [
            of(size=(21, 30)),
            of(size=64, longest=0.4, scale_p=0.6, scale_range=(0.5, 0.8)),
            of(size=(40, 30), longest=1.0, aspect_p=0.7, aspect_range=(0.5, 1.5)),
        ],
        RESIZES,
    ),
    "ResizeToHeight": combined(
        [of(height=20), of(height=48, max_width=64), of(height=20, max_width=90, fill=3.0)],
        [{}, {"antialias": False}, {"interpolation": "cubic"}, {"interpolation": "nearest"}],
    ),
    "ResizeToMultiple": combined(
        [of(size=56), of(size=(21, 30), multiple=5, mode="upper_bound"), of(size=(40, 518))],
        [{}, {"interpolation": "linear"}, {"antialias": True}, {"interpolation": "nearest"}],
    ),
}
ADDED_SETS = {
    "Mosaic": [of(size=(48, 64), tiles=9), of(size=(47, 63), tiles=9, p=0.5)],
    "RandomCrop": [
        of(size=(30, 22), max_class_ratio=0.6),
        of(size=40, padding=(1, 2, 3, 4), pad_if_needed=True, fill=FILL, max_class_ratio=0.3, ignore_index=2),
    ],
}
ARGUMENTS |= ADDED | {name: combined(several, CHANCES) for name, several in WITH_CHANCES.items()}
for name, several in ADDED_SETS.items():
    ARGUMENTS[name] = [*ARGUMENTS[name], *several]


def transform_of(name, number):
    """The transform `name` with its argument set `number`."""
    return our_transforms()[name](**ARGUMENTS[name][number])
