"""The arctangent that the CPU and CUDA share, compared with 200 bits."""

import math
import shutil
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
LARGEST_ERROR = 1.6  # ulp; in 30,000 points of each range 1.54, and 0.93 where x is 1


@pytest.fixture(scope="module")
def arctangent(tmp_path_factory):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("arctangent") / "arctangent"
    flags = ["-O2", "-std=c++20", "-ffp-contract=off", f"-I{ROOT}"]
    subprocess.run([compiler, *flags, ROOT / "tests" / "arctangent.cpp", "-o", program], check=True)

    def run(points):
        points = np.ascontiguousarray(points, np.float64)
        done = subprocess.run([program], input=points.tobytes(), stdout=subprocess.PIPE, check=True)
        return np.frombuffer(done.stdout)

    return run


def error_in_ulp(actual, y, x):
    with mpmath.workprec(200):
        exact = mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))
        return float(abs(mpmath.mpf(actual) - exact) / mpmath.mpf(math.ulp(float(exact))))


def points_of_many_ranges(count=400):
    draw = np.random.default_rng(0)
    signs = draw.choice([-1.0, 1.0], (count, 2))
    ranges = {
        "ordinary": draw.uniform(0, 1, (count, 2)),
        "quotients": np.stack([draw.uniform(0, 8, count), np.ones(count)], 1),
        "float32": draw.uniform(0, 1, (count, 2)).astype(np.float32),
        "any exponent": 2.0 ** draw.uniform(-1074, 1023, (count, 2)),
        "huge": draw.uniform(0.1, 1, (count, 2)) * 1.7e308,
        "subnormal": draw.integers(1, 100, (count, 2)) * 5e-324,
        "where intervals meet": np.stack(
            [
                (draw.integers(0, 3, count) / 2 + 1 / 4) * (1 + draw.uniform(-1, 1, count) * 1e-15),
                np.ones(count),
            ],
            1,
        ),
    }
    return {name: points * signs for name, points in ranges.items()}


@pytest.mark.parametrize(("name", "points"), points_of_many_ranges().items())
def test_the_error_is_below_the_bound(arctangent, name, points):
    errors = [error_in_ulp(angle, *point) for angle, point in zip(arctangent(points), points, strict=True)]
    assert max(errors) < LARGEST_ERROR


def test_special_cases_are_those_of_atan2(arctangent):
    numbers = [0.0, 1.0, 5e-324, 1.7976931348623157e308, math.inf, math.nan]
    signed = [sign * number for number in numbers for sign in (1, -1)]
    points = [(y, x) for y in signed for x in signed]
    expected = np.array([math.atan2(*point) for point in points])
    actual = arctangent(points)
    np.testing.assert_allclose(actual, expected, rtol=4e-16, atol=0)
    assert np.array_equal(np.signbit(actual)[~np.isnan(expected)], np.signbit(expected)[~np.isnan(expected)])
