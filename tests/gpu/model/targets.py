"""The targets of the cases on an H200, at the modelled batch."""

from tests.gpu.model.page_tables import number, percent
from tests.gpu.model.report import Row

# Fractions of the floor.
SHARES = {
    "warp_affine_u8_hwc": 0.6,
    "warp_affine_u8_nchw": 0.6,
    "warp_affine_f32_nchw": 0.75,
    "warp_affine_u8_cubic": 0.3,
    "warp_affine_u8_lanczos4": 0.1,
    "warp_perspective_u8_hwc": 0.6,
    "remap_u8": 0.6,
    "resize_u8_linear": 0.6,
    "resize_u8_area": 0.6,
    "resize_u8_antialias": 0.6,
    "resize_u8_cubic": 0.3,
    "augment_f32": 0.7,
    "augment_f32_color4": 0.45,
    "adjust_u8": 0.8,
    "adjust_u8_ragged": 0.8,
    "convert_u8": 0.8,
    "lut_u8": 0.8,
    "normalize_u8_f32": 0.8,
    "mixup_u8": 0.8,
    "equalize_u8": 0.6,
    "clahe_u8": 0.6,
    "statistics_f32": 0.6,
    "gaussian5_u8": 0.6,
    "gaussian23_u8": 0.4,
    "median3_u8": 0.5,
    "median5_u8": 0.25,
    "roi_align": 0.5,
    "roi_align_backward": 0.5,
}
# Of tasks that bytes do not limit.
MICROSECONDS = {"nms_20k": 250.0, "soft_nms_80x250": 500.0}
# Why a target is missed.
REASONS = {
    "augment_f32_color4": "Contrast needs the mean of the image, so that two passes blend all pixels;"
    " that takes 2 x 50 of these instructions, the hue 90.",
    "equalize_u8": "Two passes read the image: 67% would be possible.",
    "clahe_u8": "Two passes read the image, so that 67% would be possible; a value blends four tables.",
    "gaussian23_u8": "The dot products alone are 76 of them.",
    "median3_u8": "The sorting network alone is 44 of them: a minimum of two packed values takes two"
    " instructions, since one PTX serves compute capability 7.5 too.",
    "roi_align": "Reading 16 taps per value from shared memory takes 28 us without bank conflicts; there are"
    " few only with 32 channels side by side, whose bands fit no other GPU.",
    "roi_align_backward": "The 16 terms of a value, each added to a sum in shared memory in the order of"
    " regions, are 48 of them without loads and stores.",
    "median5_u8": "The sorting network alone is 135 of them, for the same reason as of `median3_u8`.",
}
# What needs double precision in every pixel, value or box.
FLOAT64 = {
    "warp_affine_u8_lanczos4": "positions, as OpenCV computes them",
    "warp_affine_backward": "what is added in fixed point, so that its order does not matter",
    "statistics_f32": "sums of values and of squares",
    "soft_nms_80x250": "scores",
}


def verdict(total: Row) -> str:
    """The target of a case and whether its prediction meets it; empty without a target."""
    case = total["case"]
    if case in SHARES:
        goal, met = percent(SHARES[case]), total["share_of_floor"] >= SHARES[case]
    elif case in MICROSECONDS:
        goal, met = f"{number(MICROSECONDS[case])} us", total["microseconds"] <= MICROSECONDS[case]
    else:
        return ""
    return f" Target: {goal}, {'met' if met else 'missed'}."


def why_missed(total: Row) -> str:
    """The reason for a missed target; empty if it is met."""
    return f" {REASONS[total['case']]}" if verdict(total).endswith("missed.") else ""
