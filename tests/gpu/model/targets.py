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
