"""tools/sample_kernels.py on each accelerator: every kernel gives the bits of the CPU."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "sample_kernels.py"
FAMILIES = (
    "resizes",
    "filters",
    "colors",
    "tables",
    "detections",
    "warps",
    "mixes",
    "noises",
    "augments",
    "planes",
    "regions",
)


@pytest.fixture(scope="module")
def sample_kernels():
    spec = importlib.util.spec_from_file_location("sample_kernels", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sample_kernels"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kernel_gives_the_bits_of_the_cpu(sample_kernels, accelerator, family):
    assert sample_kernels.check(getattr(sample_kernels, family), accelerator) > 0


def test_every_family_is_here(sample_kernels):
    assert {family.__name__ for family in sample_kernels.FAMILIES} == set(FAMILIES)
