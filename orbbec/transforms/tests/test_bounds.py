"""Each argument with a bound takes the bound itself and nothing beyond, in the least step beyond."""

import math
from dataclasses import fields, replace

import pytest

from orbbec import transforms as T
from orbbec.transforms.tests.examples import EXAMPLES

CROP = {"top": 1, "left": 1, "height": 2, "width": 2}
FLIP = T.RandomHorizontalFlip()
LARGEST_SEED = 2**63 - 1
SIDE = 2**30


def near(value):
    """The values directly below and above: the next floats, or whole numbers."""
    if isinstance(value, int):
        return value - 1, value + 1
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)


def case(name, make, low, high=None):
    op = make.__code__.co_names[1]
    return pytest.param(make, op, name, low, high, id=f"{op}-{name}")


def shared(name, value, low, high=None):
    """Cases of an argument that many transforms have, whose value `value` gives from one number."""
    for op, (example, *_) in EXAMPLES.items():
        if getattr(example, name, None) is not None and op != "RandomChoice":  # its p are weights

            def make(v, example=example):
                return replace(example, **{name: value(v)})

            yield pytest.param(make, op, name, low, high, id=f"{op}-{name}")


CASES = [
    case("alpha", lambda v: T.MixUp(alpha=v), 1e-6),
    case("alpha", lambda v: T.CutMix(alpha=v), 1e-6),
    case("num_classes", lambda v: T.MixUp(num_classes=v), 1),
    case("center_range", lambda v: T.Mosaic(9, center_range=(v, 0.5)), 0.0),
    case("center_range", lambda v: T.Mosaic(9, center_range=(0.5, v)), 0.5, 1.0),
    case("upper", lambda v: T.RandomHalfBody(upper=(v, 3)), 0),
    case("lower", lambda v: T.RandomHalfBody(lower=(v, 3)), 0),
    case("min_total_keypoints", lambda v: T.RandomHalfBody(min_total_keypoints=v), 1),
    case("min_upper_keypoints", lambda v: T.RandomHalfBody(min_upper_keypoints=v), 1),
    case("min_lower_keypoints", lambda v: T.RandomHalfBody(min_lower_keypoints=v), 1),
    case("padding", lambda v: T.RandomHalfBody(padding=v), 1.0),
    case("upper_prob", lambda v: T.RandomHalfBody(upper_prob=v), 0.0, 1.0),
    case("aspect_ratio", lambda v: T.RandomHalfBody(aspect_ratio=v), 1e-6),
    case("max_class_ratio", lambda v: T.RandomCrop(9, max_class_ratio=v), 0.0, 1.0),
    case("ignore_index", lambda v: T.RandomCrop(9, ignore_index=v), -(2**31), 2**31 - 1),
    case("tiles", lambda v: T.Mosaic(9, tiles=v), 4, 9),
    case("size", lambda v: T.AlignFaces(v), 1, SIDE),
    case("size", lambda v: T.AlignPoints((5, v), [(1, 1), (5, 5)]), 1, SIDE),
    case("min_size", lambda v: T.SanitizeBoundingBoxes(min_size=v), 0.0),
    case("min_area", lambda v: T.SanitizeBoundingBoxes(min_area=v), 0.0),
    case("min_size", lambda v: T.TargetOptions(min_size=v), 0.0),
    case("min_area", lambda v: T.TargetOptions(min_area=v), 0.0),
    case("min_visibility", lambda v: T.TargetOptions(min_visibility=v), 0.0, 1.0),
    case("n", lambda v: T.SomeOf([FLIP, FLIP], v), 1, 2),
    case("n", lambda v: T.SomeOf([FLIP, FLIP], v, replace=True), 1, 64),
    case("max_size", lambda v: T.Resize(None, max_size=v), 1, SIDE),
    case("max_size", lambda v: T.Resize(7, max_size=v), 8, SIDE),
    case("size", lambda v: T.Resize((v, 5)), 1, SIDE),
    case("size", lambda v: T.Resize((5, v)), 1, SIDE),
    case("padding", lambda v: T.Pad(v), 0, SIDE),
    case("padding", lambda v: T.Pad((3, v)), 0, SIDE),
    case("scale", lambda v: T.RandomResizedCrop(9, scale=(v, 2.0)), 0.0, 2.0),
    case("ratio", lambda v: T.RandomResizedCrop(9, ratio=(v, 2.0)), 1e-6, 2.0),
    case("severity", lambda v: T.AugMix(severity=v), 1, 10),
    case("mixture_width", lambda v: T.AugMix(mixture_width=v), 1, 64),
    case("chain_depth", lambda v: T.AugMix(chain_depth=v), -1, 64),
    case("alpha", lambda v: T.AugMix(alpha=v), 1e-6),
    case("brightness", lambda v: T.ColorJitter(v), 0.0),
    case("contrast", lambda v: T.ColorJitter(contrast=(v, 2.0)), 0.0, 2.0),
    case("saturation", lambda v: T.ColorJitter(saturation=(0.5, v)), 0.5),
    case("hue", lambda v: T.ColorJitter(hue=v), 0.0, 0.5),
    case("hue", lambda v: T.ColorJitter(hue=(v, 0.5)), -0.5, 0.5),
    case("gamma", lambda v: T.Gamma(v), 0.0),
    case("gain", lambda v: T.Gamma(1.0, v), 0.0),
    case("brightness", lambda v: T.RandomBrightnessContrast((v, 1.0)), -1.0, 1.0),
    case("brightness", lambda v: T.RandomBrightnessContrast((-1.0, v)), -1.0, 1.0),
    case("contrast", lambda v: T.RandomBrightnessContrast(contrast=(v, 2.0)), -1.0, 2.0),
    case("num_output_channels", lambda v: T.Grayscale(v), 1, 3),
    case("brightness", lambda v: T.RandomPhotometricDistort((v, 2.0)), 0.0, 2.0),
    case("contrast", lambda v: T.RandomPhotometricDistort(contrast=(v, 2.0)), 0.0, 2.0),
    case("saturation", lambda v: T.RandomPhotometricDistort(saturation=(v, 2.0)), 0.0, 2.0),
    case("hue", lambda v: T.RandomPhotometricDistort(hue=(v, 0.5)), -0.5, 0.5),
    case("sigma", lambda v: T.GaussianNoise(sigma=v), 0.0),
    case("amount", lambda v: T.SaltAndPepper((v, 0.5)), 0.0, 0.5),
    case("salt_vs_pepper", lambda v: T.SaltAndPepper(salt_vs_pepper=(0.5, v)), 0.5, 1.0),
    case("dropout_prob", lambda v: T.PixelDropout(v), 0.0, 1.0),
    case("drop_value", lambda v: T.PixelDropout(drop_value=v), 0.0, 255.0),
    case("scale_range", lambda v: T.ShotNoise((v, 0.5)), 1e-6, 0.5),
    case("intensity_range", lambda v: T.Vignetting((v, 0.5)), 0.0, 0.5),
    case("center_range", lambda v: T.Vignetting(center_range=(0.5, v)), 0.5, 1.0),
    case("intensity_range", lambda v: T.Illumination(intensity_range=(0.5, v)), 0.5, 1.0),
    case("center_range", lambda v: T.Illumination(center_range=(v, 0.5)), 0.0, 0.5),
    case("sigma_range", lambda v: T.Illumination(sigma_range=(v, 2.0)), 1e-6, 2.0),
    case("shadow_roi", lambda v: T.RandomShadow((v, 0, 1, 1)), 0.0, 1.0),
    case("num_shadows_range", lambda v: T.RandomShadow(num_shadows_range=v), 1, 16),
    case("shadow_dimension", lambda v: T.RandomShadow(shadow_dimension=v), 3, 7),
    case("shadow_intensity_range", lambda v: T.RandomShadow(shadow_intensity_range=(v, 1.0)), 0.0, 1.0),
    case("bits", lambda v: T.RandomPosterize(v), 0, 8),
    case("threshold", lambda v: T.RandomSolarize(v), 0.0, 255.0),
    case("addition", lambda v: T.SolarizeAdd((0.0, v)), 0.0, 255.0),
    case("threshold", lambda v: T.SolarizeAdd(threshold=v), 0.0, 255.0),
    case("channel_order", lambda v: T.ChannelSwap((1, 2, v)), 0, 0),
    case("kernel_size", lambda v: T.MedianBlur((v, 5)), 1),
    case("length", lambda v: T.MotionBlur((v, 7)), 1, 7),
    case("sigma", lambda v: T.GaussianBlur(3, (v, 2.0)), 1e-6, 2.0),
    case("sharpness_factor", lambda v: T.RandomAdjustSharpness(v), 0.0),
    case("quality", lambda v: T.JPEG((v, 100)), 1, 100),
    case("quality", lambda v: T.JPEG((1, v)), 1, 100),
    case("alpha", lambda v: T.ElasticTransform(alpha=v), 0.0, 1e30),
    case("sigma", lambda v: T.ElasticTransform(sigma=(1.0, v)), 0.0, 4095.0),
    case("seed", lambda v: T.Compose([FLIP], seed=v), 0, LARGEST_SEED),
    case("epoch", lambda v: T.Compose([FLIP]).plan([(4, 4)], epoch=v), 0, LARGEST_SEED),
    case("scale_range", lambda v: T.ScaleJitter(9, (v, 2.0)), 1e-6, 2.0),
    *[case(side, lambda v, side=side: T.Crop(**{**CROP, side: v}), 0, SIDE) for side in ("top", "left")],
    *[case(side, lambda v, side=side: T.Crop(**{**CROP, side: v}), 1, SIDE) for side in ("height", "width")],
    case("translate", lambda v: T.RandomAffine(0, translate=(v, 0.5)), 0.0, 1.0),
    case("translate", lambda v: T.RandomAffine(0, translate=(0.5, v)), 0.0, 1.0),
    case("scale", lambda v: T.RandomAffine(0, scale=(v, 2.0)), 1e-9, 2.0),
    case("degrees", lambda v: T.RandomAffine(v), 0.0),
    case("degrees", lambda v: T.RandomRotation(v), 0.0),
    case("distortion_scale", lambda v: T.RandomPerspective(v), 0.0, 1.0),
    case("scale", lambda v: T.RandomErasing(scale=(v, 1.0)), 0.0, 1.0),
    case("ratio", lambda v: T.RandomErasing(ratio=(v, 2.0)), 1e-6, 2.0),
    case("num_magnitude_bins", lambda v: T.TrivialAugmentWide(v), 2, SIDE),
    case("num_ops", lambda v: T.RandAugment(v), 0, 64),
    case("magnitude_std", lambda v: T.RandAugment(magnitude_std=v), 0.0),
    case("max_objects", lambda v: T.CopyPaste(v), 1),
    case("magnitude", lambda v: T.RandAugment(2, v, 31), 0, 30),
    case("num_magnitude_bins", lambda v: T.RandAugment(2, 1, v), 2, SIDE),
    case("side_range", lambda v: T.RandomZoomOut(side_range=(v, 2.0)), 1.0, 2.0),
    case("scale_range", lambda v: T.RandomScale((v, 2.0)), 1e-6, 2.0),
    case("min_size", lambda v: T.RandomShortestSize([5, v]), 1, SIDE),
    case("max_size", lambda v: T.RandomShortestSize(5, max_size=v), 1, SIDE),
    case("min_size", lambda v: T.RandomResize(v, 9), 1),
    case("max_size", lambda v: T.RandomResize(8, v), 9, SIDE),
    case("min_scale", lambda v: T.RandomIoUCrop(min_scale=v), 1e-6, 1.0),
    case("max_scale", lambda v: T.RandomIoUCrop(max_scale=v), 0.3, 1.0),
    case("min_aspect_ratio", lambda v: T.RandomIoUCrop(min_aspect_ratio=v), 1e-6, 2.0),
    case("sampler_options", lambda v: T.RandomIoUCrop(sampler_options=[0.5, v]), 0.0),
    case("trials", lambda v: T.RandomIoUCrop(trials=v), 1, 2**20),
    case("rounds", lambda v: T.RandomIoUCrop(rounds=v), 1, 2**20),
    case("p", lambda v: T.RandomHorizontalFlip(v), 0.0, 1.0),
    case("hue", lambda v: T.RandomHSV(hue=(v, 0.5)), -0.5, 0.5),
    case("saturation", lambda v: T.RandomHSV(saturation=(v, 2.0)), 0.0, 2.0),
    case("hue_range", lambda v: T.HueSaturationValue((v, 180.0)), -180.0, 180.0),
    case("saturation_range", lambda v: T.HueSaturationValue(saturation_range=(-255.0, v)), -255.0, 255.0),
    case("red_range", lambda v: T.RGBShift((v, 1.0)), -1.0, 1.0),
    case("multiplier_range", lambda v: T.MultiplicativeNoise((v, 2.0)), 0.0, 2.0),
    case("channel_drop_range", lambda v: T.ChannelDropout(v), 1, 2),
    case("fill", lambda v: T.ChannelDropout(fill=v), 0.0, 255.0),
    case("scale", lambda v: T.RandomToneCurve(v), 0.0, 1.0),
    case("temperature_range", lambda v: T.PlanckianJitter(temperature_range=(v, 7e3)), 3e3, 6e3),
    case("temperature_range", lambda v: T.PlanckianJitter(temperature_range=(5e3, v)), 6e3, 1.5e4),
    case("num_holes_range", lambda v: T.CoarseDropout(v), 1, 256),
    case("hole_height_range", lambda v: T.CoarseDropout(hole_height_range=(v, 0.5)), 0.0, 0.5),
    case("ratio", lambda v: T.GridDropout(v), 1e-6, 1.0),
    case("holes_number_xy", lambda v: T.GridDropout(holes_number_xy=(3, v)), 1, 32),
    case("max_shift", lambda v: T.RandomShift((3, v)), 0, SIDE),
    case("percent_range", lambda v: T.CropAndPad((v, 0.5)), -1.0, 0.5),
    case("min_max_height", lambda v: T.RandomSizedCrop((v, 9), 8), 1, 9),
    case("min_max_height", lambda v: T.RandomSizedCrop((3, v), 8), 3, 2**30),
    case("w2h_ratio", lambda v: T.RandomSizedCrop((3, 9), 8, v), 1e-6),
    case("longest", lambda v: T.ResizeKeepRatio(8, v), 0.0, 1.0),
    case("scale_range", lambda v: T.ResizeKeepRatio(8, scale_range=(v, 2.0)), 1e-6, 2.0),
    case("aspect_p", lambda v: T.ResizeKeepRatio(8, aspect_p=v), 0.0, 1.0),
    case("height", lambda v: T.ResizeToHeight(v), 1, 1 << 30),
    case("max_width", lambda v: T.ResizeToHeight(8, v), 1, 1 << 30),
    case("multiple", lambda v: T.ResizeToMultiple(8, v), 1, 1 << 20),
    case("clip_limit", lambda v: T.CLAHE((v, 4.0)), 1.0, 4.0),
    case("sigma", lambda v: T.UnsharpMask(sigma=v), 0.0),
    case("alpha", lambda v: T.UnsharpMask(alpha=v), 0.0, 1.0),
    case("threshold", lambda v: T.UnsharpMask(threshold=v), 0.0, 255.0),
    case("radius", lambda v: T.Defocus(v), 1, 100),
    case("distort_range", lambda v: T.OpticalDistortion((v, 1.0)), -1.0, 1.0),
    case("num_steps", lambda v: T.GridDistortion(v), 1, 64),
    case("distort_range", lambda v: T.GridDistortion(distort_range=(v, 1.0)), -0.999, 1.0),
    case("scale_range", lambda v: T.ThinPlateSpline((v, 1.0)), 0.0, 1.0),
    case("num_control_points", lambda v: T.ThinPlateSpline(num_control_points=v), 2, 8),
    case("radius_range", lambda v: T.PillowBlur((v, 1e3)), 0.0, 1e3),
    case("alias_blur", lambda v: T.Defocus(alias_blur=v), 1e-6),
    case("scale_range", lambda v: T.Downscale((v, 1.0)), 1e-6, 1.0),
    case("tile_grid_size", lambda v: T.CLAHE(tile_grid_size=(v, 2)), 1),
    case("hole_width_range", lambda v: T.CoarseDropout(hole_width_range=(v, 0.5)), 0.0, 0.5),
    case("px_range", lambda v: T.CropAndPad(px_range=(v, 9)), -(2**30), 9),
    case("px_range", lambda v: T.CropAndPad(px_range=(9, v)), 9, 2**30),
    case("kernel_size", lambda v: T.UnsharpMask((v, 3)), 1),
    case("value_range", lambda v: T.HueSaturationValue(value_range=(v, 255.0)), -255.0, 255.0),
    case("green_range", lambda v: T.RGBShift(green_range=(v, 1.0)), -1.0, 1.0),
    case("blue_range", lambda v: T.RGBShift(blue_range=(v, 1.0)), -1.0, 1.0),
    case("value", lambda v: T.RandomHSV(value=(v, 2.0)), 0.0, 2.0),
    case("padding", lambda v: T.RandomCrop(9, (v, 1, 2, 3)), 0, SIDE),
    case("max_aspect_ratio", lambda v: T.RandomIoUCrop(max_aspect_ratio=v), 0.5),
    case("scale_p", lambda v: T.ResizeKeepRatio(8, scale_p=v), 0.0, 1.0),
    case("aspect_range", lambda v: T.ResizeKeepRatio(8, aspect_range=(v, 2.0)), 1e-6, 2.0),
    case("target_size", lambda v: T.ScaleJitter((v, 9)), 1),
    case("num_classes", lambda v: T.CutMix(num_classes=v), 1),
    case("kernel_size", lambda v: T.GaussianBlur((v, 3)), 1, 32767),
    case("erosion_rate", lambda v: T.BBoxSafeRandomCrop(v), 0.0, 1.0),
    case("erosion_factor", lambda v: T.AtLeastOneBBoxRandomCrop(8, v), 0.0, 1.0),
    case("max_factor", lambda v: T.ZoomBlur((v, 1.5)), 1.0, 1.5),
    case("max_factor", lambda v: T.ZoomBlur(v), 1.0, 100.0),
    case("step_factor", lambda v: T.ZoomBlur(step_factor=v), 0.001, 100.0),
    case("sigma", lambda v: T.GlassBlur(v), 0.0, 100.0),
    case("max_delta", lambda v: T.GlassBlur(max_delta=v), 1, 1000),
    case("iterations", lambda v: T.GlassBlur(iterations=v), 1, 100),
    case("alpha", lambda v: T.Emboss(v), 0.0, 1.0),
    case("strength", lambda v: T.Emboss(strength=v), 0.0),
    case("alpha", lambda v: T.Sharpen(v), 0.0, 1.0),
    case("lightness", lambda v: T.Sharpen(lightness=v), 0.0),
    case("kernel_size", lambda v: T.BoxBlur((v, 5)), 1),
    case("kernel_size", lambda v: T.RingingOvershoot((v, 99)), 3, 99),
    case("cutoff", lambda v: T.RingingOvershoot(cutoff=v), 1e-6, math.pi),
    case("primary_range", lambda v: T.ChromaticAberration((v, 1.0)), -1.0, 1.0),
    case("secondary_range", lambda v: T.ChromaticAberration(secondary_range=(-1.0, v)), -1.0, 1.0),
    case("color_shift", lambda v: T.ISONoise(v), 0.0, 1.0),
    case("intensity", lambda v: T.ISONoise(intensity=v), 0.0, 1.0),
    case("alpha", lambda v: T.FancyPCA(v), 0.0),
    case("num_patches_range", lambda v: T.PatchBrightness(v), 1, 16),
    case("patch_height_range", lambda v: T.PatchBrightness(patch_height_range=(v, 0.5)), 0.0, 0.5),
    case("patch_width_range", lambda v: T.PatchBrightness(patch_width_range=(v, 0.5)), 0.0, 0.5),
    case("factor_range", lambda v: T.PatchBrightness(factor_range=(v, 2.0)), 0.0, 2.0),
    case("ignore_values", lambda v: T.CropNonEmptyMaskIfExists(8, (v,)), -(2**31), 2**31),
    case("scale", lambda v: T.Perspective((v, 1.0)), 0.0, 1.0),
    case("crop_left", lambda v: T.RandomCropFromBorders(v, 0.0), 0.0, 1.0),
    case("crop_right", lambda v: T.RandomCropFromBorders(0.0, v), 0.0, 1.0),
    case("crop_top", lambda v: T.RandomCropFromBorders(0.0, 0.0, v, 0.0), 0.0, 1.0),
    case("crop_bottom", lambda v: T.RandomCropFromBorders(0.0, 0.0, 0.0, v), 0.0, 1.0),
    case("kernel_size", lambda v: T.LineBlur(v), 3, 99),
    case("kernel_size", lambda v: T.AdvancedBlur(v), 3, 99),
    case("direction_range", lambda v: T.LineBlur(direction_range=(v, 1.0)), -1.0, 1.0),
    case("sigma_x_range", lambda v: T.AdvancedBlur(sigma_x_range=(v, 1000.0)), 1e-6, 1000.0),
    case("sigma_y_range", lambda v: T.AdvancedBlur(sigma_y_range=(v, 1000.0)), 1e-6, 1000.0),
    case("beta_range", lambda v: T.AdvancedBlur(beta_range=(v, 9.0)), 1e-6, 1.0),
    case("noise_range", lambda v: T.AdvancedBlur(noise_range=(v, 1000.0)), 0.0, 1000.0),
    case("mean_range", lambda v: T.Spatter((v, 1.0)), 0.0, 1.0),
    case("std_range", lambda v: T.Spatter(std_range=(v, 1.0)), 0.0, 1.0),
    case("gauss_sigma_range", lambda v: T.Spatter(gauss_sigma_range=(v, 100.0)), 0.0, 100.0),
    case("cutout_threshold_range", lambda v: T.Spatter(cutout_threshold_range=(v, 1.0)), 0.0, 1.0),
    case("intensity_range", lambda v: T.Spatter(intensity_range=(v, 1.0)), 0.0, 1.0),
    case("color", lambda v: T.Spatter(color=(v, 0, 0)), 0.0, 255.0),
    case("brightness_range", lambda v: T.PlasmaBrightnessContrast((v, 1.0)), -1.0, 1.0),
    case("contrast_range", lambda v: T.PlasmaBrightnessContrast(contrast_range=(v, 1.0)), -1.0, 1.0),
    case("roughness", lambda v: T.PlasmaBrightnessContrast(roughness=v), 1e-6, 1000.0),
    case("shadow_intensity_range", lambda v: T.PlasmaShadow((v, 1.0)), 0.0, 1.0),
    case("roughness", lambda v: T.PlasmaShadow(roughness=v), 1e-6, 1000.0),
    case("beta_range", lambda v: T.FDA(["a.png"], (v, 0.5)), 0.0, 0.5),
    case("blend_ratio", lambda v: T.HistogramMatching(["a.png"], (v, 1.0)), 0.0, 1.0),
    case("blend_ratio", lambda v: T.PixelDistributionAdaptation(["a.png"], (v, 1.0)), 0.0, 1.0),
    case("max_objects_range", lambda v: T.MaskDropout(v), 1),
    case("num_holes_range", lambda v: T.ConstrainedCoarseDropout(v), 1, 256),
    case("hole_height_range", lambda v: T.ConstrainedCoarseDropout(1, (v, 1.0)), 0.0, 1.0),
    case("hole_width_range", lambda v: T.ConstrainedCoarseDropout(1, (0, 1), (v, 1.0)), 0.0, 1.0),
    case("mask_indices", lambda v: T.ConstrainedCoarseDropout(mask_indices=(v,)), 1, 2**31 - 1),
    case("unit_size_range", lambda v: T.GridDropout(0.5, None, unit_size_range=(v, 2**30)), 2),
    case("alpha_coef", lambda v: T.RandomFog(v), 0.0, 1.0),
    case("fog_coef_range", lambda v: T.RandomFog(fog_coef_range=(v, 1.0)), 0.0, 1.0),
    case("grid", lambda v: T.RandomGridShuffle((v, 2)), 1, 16),
    case("slant_range", lambda v: T.RandomRain((v, 20.0)), -20.0, 20.0),
    case("drop_length", lambda v: T.RandomRain(drop_length=v), 0, 1 << 20),
    case("drop_width", lambda v: T.RandomRain(drop_width=v), 1, 100),
    case("drop_color", lambda v: T.RandomRain(drop_color=(v, 0, 0)), 0.0, 255.0),
    case("blur_value", lambda v: T.RandomRain(blur_value=v), 1, 100),
    case("brightness_coefficient", lambda v: T.RandomRain(brightness_coefficient=v), 0.0, 1.0),
    case("brightness_coeff", lambda v: T.RandomSnow(v), 0.0, 1000.0),
    case("snow_point_range", lambda v: T.RandomSnow(snow_point_range=(v, 1.0)), 0.0, 1.0),
    case("flare_roi", lambda v: T.RandomSunFlare((v, 0.0, 1.0, 1.0)), 0.0, 1.0),
    case("src_radius", lambda v: T.RandomSunFlare(src_radius=v), 10, 1 << 20),
    case("src_color", lambda v: T.RandomSunFlare(src_color=(v, 0, 0)), 0.0, 255.0),
    case("angle_range", lambda v: T.RandomSunFlare(angle_range=(v, 1.0)), 0.0, 1.0),
    case("num_flare_circles_range", lambda v: T.RandomSunFlare(num_flare_circles_range=v), 1, 64),
    case("degrees", lambda v: T.SafeRotate(v), 0.0),
    case("num_masks_x_range", lambda v: T.XYMasking(v), 0, 256),
    case("num_masks_y_range", lambda v: T.XYMasking(1, v), 0, 256),
    case("mask_x_length_range", lambda v: T.XYMasking(mask_x_length_range=(v, 0.5)), 0.0, 0.5),
    case("mask_y_length_range", lambda v: T.XYMasking(mask_y_length_range=(v, 0.5)), 0.0, 0.5),
    *shared("p", lambda v: v, 0.0, 1.0),
    *shared("size", lambda v: (v, 9), 1, SIDE),
    *shared("epochs", lambda v: (v, 2**30), 0),
    *shared("epochs", lambda v: (1, v), 2, 2**30),
]
UNBOUNDED = {
    "angle_degrees",
    "rotate_range",
    "angle_range",
    "center",
    "fill",
    "mean",
    "shear",
    "std",
    "template",
    "weights",
}


@pytest.mark.parametrize(("make", "op", "name", "low", "high"), CASES)
def test_a_bound_is_accepted_and_what_is_beyond_it_is_not(make, op, name, low, high):
    for side, bound in enumerate((low, high)):
        if bound is not None:
            make(bound)
            with pytest.raises(ValueError, match=f"^{op}: expected .*{name}"):
                make(near(bound)[side])


def has_number(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or (isinstance(value, tuple) and any(map(has_number, value)))


def test_every_argument_with_a_bound_is_here():
    cases = {case.id for case in CASES} | {"RandomChoice-p", "RandomErasing-value"}
    for op, examples in EXAMPLES.items():
        for name in {field.name for field in fields(examples[0])} - UNBOUNDED:
            values = [getattr(example, name) for example in examples]
            assert not any(map(has_number, values)) or f"{op}-{name}" in cases, f"{op}: {name}"


BELOW_1 = math.nextafter(1.0, 0.0)
ENDS = {  # the largest second number of a range; of those that are not here any
    ("ColorJitter", "hue"): 0.5,
    ("RandomHSV", "hue"): 0.5,
    ("RandomPhotometricDistort", "hue"): 0.5,
    ("ChannelDropout", "channel_drop_range"): 2,
    ("CoarseDropout", "num_holes_range"): 256,
    ("GridDropout", "holes_number_xy"): 32,
    ("CropAndPad", "px_range"): SIDE,
    ("RandomSizedCrop", "min_max_height"): SIDE,
    **{(op, "size"): SIDE for op, (example, *_) in EXAMPLES.items() if hasattr(example, "size")},
    **{
        ("CLAHE", "tile_grid_size"): SIDE,
        ("ScaleJitter", "target_size"): SIDE,
        ("RandomShift", "max_shift"): SIDE,
    },
    ("ElasticTransform", "alpha"): 1e30,
    ("ElasticTransform", "sigma"): 4095.0,
    ("Defocus", "radius"): 100,
    ("JPEG", "quality"): 100,
    ("PatchBrightness", "num_patches_range"): 16,
    ("RandomShadow", "num_shadows_range"): 16,
    ("PillowBlur", "radius_range"): 1000.0,
    ("PlanckianJitter", "temperature_range"): 15000.0,
    ("RingingOvershoot", "cutoff"): math.pi,
    ("SolarizeAdd", "addition"): 255.0,
    ("HueSaturationValue", "hue_range"): 180.0,
    **{("HueSaturationValue", f"{name}_range"): 255.0 for name in ("saturation", "value")},
    **{("ZoomBlur", name): 100.0 for name in ("max_factor", "step_factor")},
    **{("ChromaticAberration", f"{name}_range"): 1.0 for name in ("primary", "secondary")},
    **{("CoarseDropout", f"hole_{name}_range"): BELOW_1 for name in ("height", "width")},
    **{("PatchBrightness", f"patch_{name}_range"): BELOW_1 for name in ("height", "width")},
    **{("ISONoise", name): 1.0 for name in ("color_shift", "intensity")},
    **{("RGBShift", f"{name}_range"): 1.0 for name in ("red", "green", "blue")},
    **{
        (op, f"{name}_range"): 1.0
        for op in ("Illumination", "Vignetting")
        for name in ("intensity", "center")
    },
    **{("SaltAndPepper", name): 1.0 for name in ("amount", "salt_vs_pepper")},
    **{(op, "alpha"): 1.0 for op in ("Emboss", "Sharpen", "UnsharpMask")},
    **{(op, "epochs"): 2**30 for op in ("CopyPaste", "CutMix", "MixUp", "Mosaic", "RandomApply")},
    **{("Downscale", "scale_range"): 1.0, ("Mosaic", "center_range"): 1.0, ("RandomErasing", "scale"): 1.0},
    **{("OpticalDistortion", "distort_range"): 1.0, ("ThinPlateSpline", "scale_range"): 1.0},
    ("RandomAffine", "translate"): 1.0,
    **{("RandomBrightnessContrast", "brightness"): 1.0, ("RandomShadow", "shadow_intensity_range"): 1.0},
    **{("RandomIoUCrop", "epochs"): 2**30, ("RandomFog", "fog_coef_range"): 1.0},
    **{("RandomGridShuffle", "grid"): 16, ("RandomRain", "slant_range"): 20.0},
    **{("RandomSnow", "snow_point_range"): 1.0, ("RandomSunFlare", "num_flare_circles_range"): 64},
    **{("XYMasking", f"num_masks_{axis}_range"): 256 for axis in "xy"},
    ("CropNonEmptyMaskIfExists", "ignore_values"): 2**31,
    ("LineBlur", "direction_range"): 1.0,
    **{("AdvancedBlur", f"{name}_range"): 1000.0 for name in ("sigma_x", "sigma_y", "beta", "noise")},
    **{("Spatter", f"{name}_range"): 1.0 for name in ("mean", "std", "cutout_threshold", "intensity")},
    ("Spatter", "gauss_sigma_range"): 100.0,
    **{("PlasmaBrightnessContrast", f"{name}_range"): 1.0 for name in ("brightness", "contrast")},
    **{("PlasmaShadow", "shadow_intensity_range"): 1.0, ("FDA", "beta_range"): 0.5},
    **{(op, "blend_ratio"): 1.0 for op in ("HistogramMatching", "PixelDistributionAdaptation")},
    ("ConstrainedCoarseDropout", "num_holes_range"): 256,
    **{("ConstrainedCoarseDropout", f"hole_{name}_range"): 1.0 for name in ("height", "width")},
    ("ConstrainedCoarseDropout", "mask_indices"): 2**31 - 1,
}
ODD = {"kernel_size"}
FRACTIONS_OR_PIXELS = {"mask_x_length_range", "mask_y_length_range"}  # see the cases above
RANGES = [
    pytest.param(example, field.name, id=f"{op}-{field.name}")
    for op, (example, *_) in EXAMPLES.items()
    for field in fields(example)
    if field.name not in UNBOUNDED | ODD | FRACTIONS_OR_PIXELS
    for values in [getattr(example, field.name)]
    if isinstance(values, tuple) and len(values) == 2 and all(type(each) in (int, float) for each in values)
]


@pytest.mark.parametrize(("example", "name"), RANGES)
def test_the_end_of_a_range_is_bounded_as_listed(example, name):
    first, last = getattr(example, name)
    bound = ENDS.get((example.name, name))
    if bound is None:
        replace(example, **{name: (first, type(last)(1e15))})
        return
    replace(example, **{name: (first, bound)})
    with pytest.raises(ValueError, match=f"^{example.name}: expected .*{name}"):
        replace(example, **{name: (first, near(bound)[1])})


def test_a_kernel_without_pixels_is_too_small_and_not_even():
    with pytest.raises(ValueError, match="expected kernel_size as a whole number from 1 to 32767, but got 0"):
        T.GaussianBlur((0, 3))
    for make in (T.GaussianBlur, T.MedianBlur, T.BoxBlur):
        with pytest.raises(ValueError, match="expected kernel_size as an odd number, but got 2"):
            make((1, 2))
