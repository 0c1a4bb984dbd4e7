"""A product and a fused correction give the bits of a division by a constant."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def count(tmp_path_factory):
    """How many quotients were tried, and how many were wrong."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("divisor") / "constant_divisor"
    flags = ["-O2", "-std=c++20", "-march=native", "-ffp-contract=off", f"-I{ROOT}"]
    subprocess.run([compiler, *flags, ROOT / "tests" / "constant_divisor.cpp", "-o", program], check=True)

    def run(distance: int, corrected: bool) -> list[int]:
        command = [program, str(distance), str(int(corrected))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return [int(number) for number in done.stdout.split()]

    return run


def test_a_constant_divisor_gives_the_bits_of_every_division(count):
    tried, wrong = count(1, corrected=True)
    assert tried > 1 << 23
    assert wrong == 0


def test_a_product_without_the_correction_does_not(count):
    tried, wrong = count(97, corrected=False)
    assert 0 < wrong < tried
