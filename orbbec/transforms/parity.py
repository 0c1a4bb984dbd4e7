"""The reference of each transform, applied alone to uint8 with `exact=True`."""

from __future__ import annotations

from typing import NamedTuple


class Parity(NamedTuple):
    """The reference of a transform.

    Args:
        author: "OpenCV", "Pillow", "torchvision" or "NumPy"; "" if it is made of other transforms.
        reference: the reference function, called with the parameters that the transform drew.
        difference: "identical" to the last bit, or the size and frequency of differences; the measured
            figures are in docs/project/parity_cells.md.
    """

    author: str
    reference: str
    difference: str = "identical"


_WARP = Parity("OpenCV", "cv2.warpAffine")
_CROP = Parity("OpenCV", "slices of cv2.copyMakeBorder")
_BOX = Parity("Pillow", "Image.resize(box=...)")
_RESIZE = Parity("OpenCV", "cv2.resize, without antialias")
_BORDER = "last bits inside, blends with the fill at the border"
_POLICY = "another pixel where a position is halfway between two"


def _functional(name: str, difference: str = "identical") -> Parity:
    return Parity("torchvision", f"functional.{name}", difference)


_NOTHING = (Parity("", "does not change pixels"),)
HELD = (Parity("", "its transforms in order"),)
PARITY: dict[str, tuple[Parity, ...]] = {
    "Resize": (_BOX, _RESIZE, _functional("resize", "1 level")),
    "RandomResizedCrop": (
        _BOX,
        _RESIZE,
        _functional("resized_crop", "reads beyond the crop; torchvision crops first"),
    ),
    "ScaleJitter": (_BOX,),
    "RandomShortestSize": (_BOX,),
    "RandomResize": (Parity("", "as Resize"),),
    "ResizeToFit": (Parity("", "as Resize"),),
    "RandomScale": (Parity("", "as Resize"),),
    "Crop": (Parity("", "as RandomCrop"),),
    "RandomSizedCrop": (Parity("", "as Crop, then Resize"),),
    "CropAndPad": (Parity("", "as Crop and Pad, then Resize"),),
    "RandomShift": (_CROP,),
    "ResizeKeepRatio": (Parity("", "as Resize"),),
    "ResizeToHeight": (Parity("", "as Resize"),),
    "ResizeToMultiple": (Parity("", "as Resize"),),
    "CenterCrop": (_CROP,),
    "RandomCrop": (_CROP,),
    "RandomHalfBody": (Parity("", "as RandomCrop"),),
    "RandomIoUCrop": (_CROP,),
    "BBoxSafeRandomCrop": (_CROP,),
    "AtLeastOneBBoxRandomCrop": (_CROP,),
    "CropNonEmptyMaskIfExists": (_CROP,),
    "RandomCropFromBorders": (_CROP,),
    "Pad": (_CROP,),
    "PadIfNeeded": (Parity("", "as Pad"),),
    "RandomZoomOut": (_CROP,),
    "Letterbox": (Parity("OpenCV", "cv2.resize, cv2.copyMakeBorder"),),
    "RandomHorizontalFlip": (Parity("OpenCV", "cv2.flip"),),
    "RandomVerticalFlip": (Parity("OpenCV", "cv2.flip"),),
    "RandomRotation": (_WARP, _functional("rotate", _BORDER)),
    "RandomAffine": (_WARP, _functional("affine", _BORDER)),
    "RandomPerspective": (Parity("OpenCV", "cv2.warpPerspective"), _functional("perspective", _BORDER)),
    "SafeRotate": (_WARP,),
    "Perspective": (Parity("OpenCV", "cv2.warpPerspective"),),
    "RandomGridShuffle": (Parity("NumPy", "slices"),),
    "AlignPoints": (_WARP,),
    "AlignFaces": (_WARP,),
    "OpticalDistortion": (Parity("", "by cv2.initUndistortRectifyMap, cv2.remap"),),
    "GridDistortion": (Parity("", "by cv2.remap"),),
    "ElasticTransform": (Parity("OpenCV", "cv2.remap with the same field"),),
    "ColorJitter": (_functional("adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue"),),
    "RandomPhotometricDistort": (_functional("adjust_brightness, ..., permute_channels"),),
    "RandomGrayscale": (_functional("rgb_to_grayscale"),),
    "Grayscale": (
        _functional("rgb_to_grayscale, 3 channels"),
        Parity("OpenCV", "cv2.cvtColor, 1 channel"),
        _functional("rgb_to_grayscale, 1 channel", "1 level"),
    ),
    "RGB": (Parity("", "the channel of the image, three times"),),
    "RandomInvert": (_functional("invert"),),
    "RandomPosterize": (_functional("posterize"),),
    "RandomSolarize": (_functional("solarize"),),
    "SolarizeAdd": (Parity("", "timm's solarize_add: identical"),),
    "ToSepia": (Parity("", "clip(rint(matrix * pixel))"),),
    "ChannelSwap": (Parity("", "NumPy indices: identical"),),
    "Gamma": (_functional("adjust_gamma"),),
    "RandomBrightnessContrast": (Parity("", "clip(rint(pixel * factor + summand))"),),
    "RandomHSV": (Parity("OpenCV", "cv2.cvtColor, cv2.LUT"),),
    "HueSaturationValue": (Parity("OpenCV", "cv2.cvtColor, cv2.LUT"),),
    "RGBShift": (Parity("", "clip(rint(pixel + summand))"),),
    "MultiplicativeNoise": (Parity("", "clip(rint(pixel * factor))"),),
    "FancyPCA": (Parity("", "clip(rint(pixel + summand))"),),
    "PlanckianJitter": (Parity("", "clip(rint(pixel * factor))"),),
    "ChannelDropout": (Parity("NumPy", "slices"),),
    "RandomToneCurve": (Parity("", "rint(255 * curve(pixel / 255))"),),
    "Vignetting": (Parity("", "by NumPy: 1 level"),),
    "Illumination": (Parity("", "by NumPy: 1 level"),),
    "RandomShadow": (Parity("", "inside the border, cv2.fillPoly of the same corners"),),
    "RandomChannelPermutation": (_functional("permute_channels"),),
    "RandomAdjustSharpness": (_functional("adjust_sharpness"),),
    "RandomAutocontrast": (_functional("autocontrast"),),
    "RandomEqualize": (_functional("equalize"),),
    "GaussianBlur": (Parity("OpenCV", "cv2.GaussianBlur"), _functional("gaussian_blur", "2 levels")),
    "BoxBlur": (Parity("OpenCV", "cv2.blur"),),
    "MedianBlur": (Parity("OpenCV", "cv2.medianBlur"),),
    "MotionBlur": (Parity("OpenCV", "cv2.filter2D", "1 level where a sum ends in one half"),),
    "CLAHE": (Parity("OpenCV", "cv2.cvtColor, cv2.createCLAHE"),),
    "UnsharpMask": (Parity("", "by cv2.GaussianBlur of floats: 1 level"),),
    "Defocus": (Parity("", "cv2.filter2D with the same disk: 1 level"),),
    "ZoomBlur": (Parity("", "by slices and cv2.resize of floats: 1 level; more in the outermost pixels"),),
    "GlassBlur": (Parity("", "by cv2.GaussianBlur, with philox_noise: identical"),),
    "Emboss": (Parity("OpenCV", "cv2.filter2D with the same kernel"),),
    "Sharpen": (Parity("OpenCV", "cv2.filter2D with the same kernel"),),
    "RingingOvershoot": (Parity("", "cv2.filter2D with the kernel of SciPy's j1: 1 level"),),
    "ChromaticAberration": (Parity("", "by cv2.initUndistortRectifyMap, cv2.remap"),),
    "Morphological": (Parity("OpenCV", "cv2.dilate, cv2.erode"),),
    "ISONoise": (Parity("", "by cv2.cvtColor and SciPy's Poisson quantiles, with philox_noise"),),
    "RandomSnow": (Parity("", "by cv2.cvtColor"),),
    "RandomFog": (Parity("", "by cv2.circle, cv2.addWeighted, cv2.GaussianBlur, with philox_noise"),),
    "RandomRain": (Parity("", "by cv2.polylines, cv2.blur, with philox_noise"),),
    "RandomSunFlare": (Parity("", "by cv2.circle, cv2.addWeighted: 2 levels"),),
    "Spatter": (
        Parity("", "by cv2.GaussianBlur, cv2.Canny, cv2.distanceTransform, with philox_noise: 2 levels"),
    ),
    "LineBlur": (Parity("", "by cv2.filter2D with the same kernel"),),
    "AdvancedBlur": (Parity("", "by cv2.filter2D with the same kernel, with philox_noise"),),
    "PlasmaBrightnessContrast": (Parity("", "by NumPy, with philox_noise: 1 level"),),
    "PlasmaShadow": (Parity("", "by NumPy, with philox_noise: 1 level"),),
    "HistogramMatching": (Parity("", "by cv2.resize and numpy.interp: 1 level"),),
    "PixelDistributionAdaptation": (Parity("", "by cv2.resize and numpy.linalg.eigh: 1 level"),),
    "FDA": (Parity("", "by cv2.resize and numpy.fft: 1 level; close on CUDA"),),
    "PillowBlur": (Parity("Pillow", "ImageFilter.GaussianBlur"),),
    "Downscale": (Parity("OpenCV", "cv2.resize, twice"),),
    "GaussianNoise": (Parity("NumPy", "clip(rint(pixel + maximum * noise)), with philox_noise"),),
    "SaltAndPepper": (Parity("", "by NumPy, with philox_noise"),),
    "PixelDropout": (Parity("", "by NumPy, with philox_noise"),),
    "ShotNoise": (Parity("", "by SciPy's Poisson quantiles, with philox_noise"),),
    "JPEG": (Parity("Pillow", "Image.save, Image.open"),),
    "RandomErasing": (_functional("erase"),),
    "CoarseDropout": (Parity("NumPy", "slices"),),
    "GridDropout": (Parity("NumPy", "slices"),),
    "XYMasking": (Parity("NumPy", "slices"),),
    "MaskDropout": (Parity("", "the fill where cv2.connectedComponents has the objects"),),
    "ConstrainedCoarseDropout": (Parity("", "slices"),),
    "PatchBrightness": (Parity("NumPy", "clip(rint(pixel * factor)) of slices"),),
    "Normalize": (_functional("normalize"),),
    "ToDtype": (_functional("to_dtype"), _functional("to_dtype, float to uint8", "1 level")),
    "ToTensor": (Parity("", "as ToDtype"),),
    "ToImage": _NOTHING,
    "PILToTensor": _NOTHING,
    "ToPureTensor": _NOTHING,
    "SanitizeBoundingBoxes": _NOTHING,
    "ClampBoundingBoxes": _NOTHING,
    "ConvertBoundingBoxFormat": _NOTHING,
    "Lambda": (Parity("", "the result of the function"),),
    "MixUp": (Parity("OpenCV", "cv2.addWeighted"),),
    "CutMix": (Parity("NumPy", "slices"),),
    "CopyPaste": (Parity("", "the pixels of the other image under its masks"),),
    "Mosaic": (Parity("NumPy", "slices"),),
    "TrivialAugmentWide": (Parity("torchvision", "each operation of functional", _POLICY),),
    "RandAugment": (Parity("torchvision", "each operation of functional", _POLICY),),
    "AutoAugment": (Parity("torchvision", "each operation of functional", _POLICY),),
    "AugMix": (Parity("torchvision", "each operation of functional, blended", _BORDER),),
    "RandomApply": HELD,
    "RandomChoice": HELD,
    "RandomOrder": HELD,
    "SomeOf": HELD,
    "PerFrame": HELD,
}
