"""resize beside cv::resize and PIL.Image.resize, bit for bit."""

import pytest

from orbbec.testing.resizes import (
    CV2_DTYPES,
    CV2_METHODS,
    PILLOW_DTYPES,
    PILLOW_METHODS,
    different_cases,
)

CASES = 40


@pytest.mark.parametrize("dtype", CV2_DTYPES)
@pytest.mark.parametrize("interpolation", CV2_METHODS)
def test_resize_matches_opencv(dtype, interpolation):
    cv2 = pytest.importorskip("cv2")
    arithmetic = "cv2_5" if int(cv2.__version__.split(".")[0]) >= 5 else "cv2_4"
    assert different_cases(dtype, interpolation, False, arithmetic, CASES) == 0


@pytest.mark.parametrize("dtype", PILLOW_DTYPES)
@pytest.mark.parametrize("interpolation", PILLOW_METHODS)
def test_resize_matches_pillow(dtype, interpolation):
    pillow = pytest.importorskip("PIL")
    arithmetic = "pillow_13" if int(pillow.__version__.split(".")[0]) >= 13 else "pillow_12"
    assert different_cases(dtype, interpolation, True, arithmetic, CASES) == 0
