"""tools/sample_kernels.py on each accelerator: every kernel gives the bits of the CPU."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from tests.support import Device

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
    "draws",
    "augments",
    "crops",
    "planes",
    "scans",
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


def test_a_family_stops_at_its_end_and_names_every_wrong_result(sample_kernels):
    seen = []

    def family(device):
        for number in range(3):
            seen.append(number)
            yield f"call {number}", torch.tensor([number if device.name == "cpu" else 7])

    assert sample_kernels.check(family, Device("cpu"), end=0) == 1
    assert seen == [0, 0]
    with pytest.raises(AssertionError, match=r"(?s)call 0: .*call 1: .*call 2: "):
        sample_kernels.check(family, Device("cuda"))


def test_a_family_that_fails_does_not_stop_the_others(sample_kernels, monkeypatch, capsys):
    def broken(device):
        raise RuntimeError("no kernel")

    def sound(device):
        yield "call", torch.ones(1)

    monkeypatch.setattr(sample_kernels, "FAMILIES", (broken, sound))
    monkeypatch.setattr("sys.argv", ["sample_kernels", "--device", "cpu"])
    with pytest.raises(SystemExit, match="1"):
        sample_kernels.main()
    assert capsys.readouterr().out == "broken: FAILED: RuntimeError: no kernel\nsound: 1 calls\n"
