from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap

import pytest

MODULES = {"cv2": "import cv2", "torch": "import torch", "orbbec": "import orbbec.opencv"}

CALL_ALL_THREE = """
import cv2, numpy as np, torch
import orbbec.opencv

image = np.random.default_rng(0).integers(0, 256, (97, 131, 3)).astype(np.uint8)
matrix = np.array([[0.8, -0.5, 30.25], [0.45, 0.9, -20.5]])
for _ in range(2):
    expected = cv2.warpAffine(image, matrix, (120, 110))
    assert (orbbec.opencv.warp_affine(image, matrix, (110, 120)) == expected).all()
    red = torch.from_numpy(image[None, None, ..., 0]).float()
    doubled = torch.nn.functional.interpolate(red, scale_factor=2)
    assert (doubled[0, 0, ::2, ::2].numpy() == image[..., 0]).all()
    for fault in (
        lambda: orbbec.opencv.warp_affine(np.zeros((4, 5, 6), "u1"), matrix, (4, 5), interpolation="cubic"),
        lambda: cv2.warpAffine(np.zeros((4, 5, 6), "u1"), matrix, (4, 5), flags=cv2.INTER_CUBIC),
        lambda: torch.zeros(2) + torch.zeros(3),
    ):
        try:
            fault()
        except (ValueError, cv2.error, RuntimeError):
            continue
        raise SystemExit("an error got lost")
print("same")
"""

WITHOUT_THE_BINARY = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "orbbec.opencv._opencv":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import orbbec
try:
    import orbbec.opencv
except ImportError as error:
    print(error)
"""


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)


@pytest.mark.parametrize("order", list(itertools.permutations(MODULES)), ids="-".join)
def test_any_import_order_is_safe(order: tuple[str, ...]) -> None:
    result = run_python("\n".join(MODULES[name] for name in order) + CALL_ALL_THREE)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "same\n"


def test_no_symbol_of_opencv_leaves_the_module() -> None:
    from orbbec.opencv import _opencv

    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", _opencv.__file__], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert "PyInit__opencv" in exported
    assert [name for name in exported if "cv" in name and name != "PyInit__opencv"] == []


def test_only_this_import_fails_when_it_was_not_built() -> None:
    result = run_python(WITHOUT_THE_BINARY)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(
        "orbbec.opencv was not built for this Python: run `python 3rdparty/vendor.py`"
    )
