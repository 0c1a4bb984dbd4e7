"""Convert between color spaces as OpenCV does."""

from orbbec.color.convert.convert import cvt_color

__all__ = ["cvt_color"]
