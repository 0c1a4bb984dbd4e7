"""A hue shift in fewer operations gives the bits of the formula."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_a_hue_shift_in_range_gives_the_bits_of_the_formula(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program = tmp_path / "hue"
    flags = ["-O2", "-std=c++20", "-ffp-contract=off", f"-I{ROOT}"]
    subprocess.run([compiler, *flags, ROOT / "tests" / "hue.cpp", "-o", program], check=True)
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
    tried, wrong = (int(number) for number in done.stdout.split())
    assert tried > 1 << 21
    assert wrong == 0
