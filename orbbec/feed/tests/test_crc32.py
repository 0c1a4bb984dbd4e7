"""The checksum of what is read: by products of polynomials where the CPU has them, else by tables."""

import ctypes
import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from orbbec.data.readers.checksum import crc32, crc32c

ROOT = Path(__file__).parents[3]


def test_the_checksum_is_that_of_zlib():
    for size in (*range(300), 4095, 90_001):
        data = os.urandom(size)
        assert crc32(data) == zlib.crc32(data)
        assert crc32(data, 0xDEADBEEF) == zlib.crc32(data, 0xDEADBEEF)


def test_all_ways_to_compute_it_agree_with_the_definition(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program, source = tmp_path / "crc32", Path(__file__).with_name("crc32.cpp")
    flags = ["-O1", "-std=c++20", "-Wno-psabi", f"-I{ROOT}"]
    subprocess.run([compiler, *flags, source, "-o", program], check=True)
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
    compared, wrong = map(int, done.stdout.split())
    assert compared >= 940
    assert wrong == 0


@pytest.mark.parametrize("checksum", [crc32, crc32c])
@pytest.mark.parametrize("data", ["text", [1, 2], bytearray(b"12")])
def test_only_bytes_have_a_checksum(checksum, data):
    with pytest.raises((ctypes.ArgumentError, TypeError)):
        checksum(data)
