from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec.opencv import _opencv, affine_opencv, resize, warp_affine, warp_perspective

IMAGE = np.zeros((4, 5, 3), dtype=np.uint8)
IDENTITY = [[1.0, 0, 0], [0, 1, 0]]
TRIANGLE = [[0, 0], [1, 0], [0, 1]]


BAD_IMAGES: list[tuple[Any, type[Exception], str]] = [
    ([[1, 2]], TypeError, "expected image to be a numpy array, but got list"),
    (None, TypeError, "expected image to be a numpy array, but got NoneType"),
    (IMAGE.astype(np.int32), TypeError, "uint8, uint16, float32 or float64, but got int32"),
    (IMAGE.astype(np.float16), TypeError, "but got float16"),
    (IMAGE.astype(bool), TypeError, "but got bool"),
    (IMAGE.astype(">u2"), TypeError, "but got >u2"),
    (IMAGE.astype(object), TypeError, "but got object"),
    (IMAGE[0, 0], ValueError, "expected image of shape [H, W] or [H, W, C], but got [3]"),
    (IMAGE[None], ValueError, "but got [1, 4, 5, 3]"),
    (np.zeros((0, 5), np.uint8), ValueError, "expected image to hold a pixel, but got shape [0, 5]"),
    (np.zeros((4, 0, 3), np.uint8), ValueError, "shape [4, 0, 3]"),
    (np.zeros((4, 5, 0), np.uint8), ValueError, "shape [4, 5, 0]"),
    (np.zeros((2, 2, 129), np.uint8), ValueError, "of 1 to 128 channels"),
    (np.broadcast_to(np.uint8(0), (1 << 16, 1 << 16)), ValueError, "less than 2 GiB, but got 4294967296"),
]
BAD_SIZES: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "expected size to be two whole numbers (height, width), but got NoneType"),
    (4, TypeError, "but got int"),
    ("45", TypeError, "but got str"),
    ((4.0, 5.0), TypeError, "but got float"),
    ((4,), ValueError, "but got 1 values"),
    ((4, 5, 3), ValueError, "but got 3 values"),
    ((0, 5), ValueError, "from 1 to 2147483647 on each side, but got (0, 5)"),
    ((4, -1), ValueError, "but got (4, -1)"),
    ((1 << 31, 5), ValueError, "but got (2147483648, 5)"),
    ((4, 1 << 70), ValueError, "from 1 to 2147483647"),
    ((1, 1 << 30), ValueError, "rows of less than 2 GiB, but got 3221225472 bytes"),
]
BAD_MATRICES: list[tuple[Any, type[Exception], str]] = [
    (None, TypeError, "matrix"),
    ("matrix", TypeError, "expected matrix to hold real numbers"),
    ([[1, 2, 3], [4, 5]], TypeError, "matrix"),
    (np.eye(2, 3) * 1j, TypeError, "but got dtype complex128"),
    (np.eye(2, 3).astype(bool), TypeError, "but got dtype bool"),
    (np.eye(3), ValueError, "expected matrix of shape [2, 3], but got [3, 3]"),
    (np.zeros(6), ValueError, "of shape [2, 3], but got [6]"),
    ([[1, 0, np.nan], [0, 1, 0]], ValueError, "expected matrix to be finite, but got nan"),
    ([[1, 0, 0], [0, np.inf, 0]], ValueError, "but got inf"),
]
BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"interpolation": 1}, TypeError, "expected interpolation to be a string, but got int"),
    (
        {"interpolation": "linaer"},
        ValueError,
        "one of nearest, linear, cubic, area, lanczos4, but got 'linaer'",
    ),
    ({"border": None}, TypeError, "expected border to be a string, but got NoneType"),
    (
        {"border": "mirror"},
        ValueError,
        "one of constant, replicate, reflect, reflect101, wrap, but got 'mirror'",
    ),
    ({"fill": "red"}, TypeError, "fill"),
    ({"fill": [1, 2]}, ValueError, "expected fill to be one number or 3 numbers, but got shape [2]"),
    ({"fill": [[1, 2, 3]]}, ValueError, "but got shape [1, 3]"),
    ({"inverse": 1}, TypeError, "expected inverse to be True or False, but got int"),
]


@pytest.mark.parametrize(("image", "error", "message"), BAD_IMAGES)
def test_a_bad_image_is_named(image: Any, error: type[Exception], message: str) -> None:
    calls = {
        "warp_affine": lambda: warp_affine(image, IDENTITY, (4, 5)),
        "warp_perspective": lambda: warp_perspective(image, np.eye(3), (4, 5)),
        "resize": lambda: resize(image, (4, 5)),
        "affine_opencv": lambda: affine_opencv(image, TRIANGLE, TRIANGLE),
    }
    for name, call in calls.items():
        with pytest.raises(error, match=f"^{name}: .*{re.escape(message)}"):
            call()


@pytest.mark.parametrize(("size", "error", "message"), BAD_SIZES)
def test_a_bad_size_is_named(size: Any, error: type[Exception], message: str) -> None:
    calls = {
        "warp_affine": lambda: warp_affine(IMAGE, IDENTITY, size),
        "warp_perspective": lambda: warp_perspective(IMAGE, np.eye(3), size),
        "resize": lambda: resize(IMAGE, size),
        "affine_opencv": lambda: affine_opencv(IMAGE, TRIANGLE, TRIANGLE, size),
    }
    if size is None:
        del calls["affine_opencv"]  # there it means the size of the image
    for name, call in calls.items():
        with pytest.raises(error, match=f"^{name}: .*{re.escape(message)}"):
            call()


@pytest.mark.parametrize(("matrix", "error", "message"), BAD_MATRICES)
def test_a_bad_matrix_is_named(matrix: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^warp_affine: .*{re.escape(message)}"):
        warp_affine(IMAGE, matrix, (4, 5))


@pytest.mark.parametrize(("options", "error", "message"), BAD_OPTIONS)
def test_a_bad_option_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^warp_affine: .*{re.escape(message)}"):
        warp_affine(IMAGE, IDENTITY, (4, 5), **options)
    with pytest.raises(error, match=f"^warp_perspective: .*{re.escape(message)}"):
        warp_perspective(IMAGE, np.eye(3), (4, 5), **options)


def test_bad_points_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"^affine_opencv: expected src_points of shape \[3, 2\], but got \[2, 2\]"
    ):
        affine_opencv(IMAGE, TRIANGLE[:2], TRIANGLE)
    with pytest.raises(ValueError, match=r"^affine_opencv: expected dst_points to be finite, but got nan"):
        affine_opencv(IMAGE, TRIANGLE, [[0, 0], [1, 0], [0, np.nan]])
    with pytest.raises(ValueError, match=r"^affine_opencv: expected dst_points to be finite in float32"):
        affine_opencv(IMAGE, TRIANGLE, [[0, 0], [1, 0], [0, 1e300]])
    with pytest.raises(ValueError, match=r"^affine_opencv: expected src_points to span a triangle"):
        affine_opencv(IMAGE, [[0, 0], [1, 1], [3, 3]], TRIANGLE)
    with pytest.raises(TypeError, match=r"^affine_opencv: expected dst_points"):
        affine_opencv(IMAGE, TRIANGLE, "points")


def test_what_opencv_refuses_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^warp_affine: OpenCV does not take this: .*channels"):
        warp_affine(np.zeros((4, 5, 6), np.uint8), IDENTITY, (4, 5), interpolation="cubic")
    with pytest.raises(
        ValueError, match=r"^warp_affine: expected fill to be one number, but got shape \[6\]"
    ):
        warp_affine(np.zeros((4, 5, 6), np.uint8), IDENTITY, (4, 5), fill=[1] * 6)


@pytest.mark.parametrize("border", ["reflect", "reflect101", "wrap"])
def test_endless_cases_are_refused(border: str) -> None:
    far = [[1.0, 0, 1e12], [0, 1, 0]]
    horizon = [[1.0, 0, 0], [0, 1, 0], [1, 0, -2]]
    message = f"expected border constant or replicate where .* 2\\^24 pixels away, but got '{border}'"
    with pytest.raises(ValueError, match=f"^warp_affine: {message}"):
        warp_affine(IMAGE, far, (4, 5), border=border)
    with pytest.raises(ValueError, match=f"^warp_perspective: {message}"):
        warp_perspective(IMAGE, horizon, (4, 5), border=border, inverse=True)
    with pytest.raises(ValueError, match=f"^warp_affine: {message}"):
        warp_affine(IMAGE, [[1e-310, 0, 0], [0, 1e-5, 1]], (4, 5), border=border)


def test_endless_cubic_is_refused() -> None:
    message = r"^warp_affine: expected border other than reflect101 for cubic .*, but got 'reflect101'"
    with pytest.raises(ValueError, match=message):
        warp_affine(IMAGE[:1], IDENTITY, (4, 5), interpolation="cubic", border="reflect101")


def test_a_size_beyond_memory_is_an_error() -> None:
    with pytest.raises((MemoryError, ValueError)):
        resize(IMAGE.astype(np.float64), ((1 << 31) - 1, 1 << 26))


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5)
) | st.lists(st.integers() | st.floats(), max_size=4)
NUMBERS = st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=2, max_size=3)
SIDES = st.tuples(st.integers(-2, 9), st.integers(-2, 9))
METHODS = st.sampled_from(["nearest", "linear", "cubic", "area", "lanczos4"])
BORDERS = st.sampled_from(["constant", "replicate", "reflect", "reflect101", "wrap"])
SHAPES = st.lists(st.integers(0, 6), min_size=1, max_size=4)
DTYPES = st.sampled_from(["u1", "u2", "f4", "f8", "i4", "O"])


def sometimes(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(lambda chance: ANYTHING if chance == 0 else good)


@settings(max_examples=1500, deadline=None)
@given(
    function=st.sampled_from(["warp_affine", "warp_perspective"]),
    image=sometimes(st.builds(np.zeros, SHAPES, DTYPES)),
    matrix=sometimes(NUMBERS),
    size=sometimes(SIDES),
    options=st.tuples(
        sometimes(METHODS), sometimes(BORDERS), sometimes(st.just(3)), sometimes(st.booleans())
    ),
)
def test_no_argument_crashes_the_binding(
    function: str, image: Any, matrix: Any, size: Any, options: tuple[Any, ...]
) -> None:
    try:
        answer = getattr(_opencv, function)(image, matrix, size, *options)
    except (TypeError, ValueError) as error:
        message = str(error)
    else:
        message = f"{function}: {list(answer.shape[:2])}"
        assert list(answer.shape[:2]) == list(size)
    assert message.startswith(f"{function}: ")
