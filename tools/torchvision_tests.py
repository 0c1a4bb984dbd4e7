"""Runs torchvision's own tests without and with the switch: those that pass without it must pass with it.

    python tools/torchvision_tests.py DIR [arguments of pytest]

DIR is the folder `test` of torchvision's source, which its wheels lack. Both runs work in parallel and print
when they end. Tests that pass only without the switch are listed last; the exit status is 1 if there are any.
"""

import os
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import orbbec.backends.torchvision as ot

SELECTED = (
    *(f"test_transforms{suffix}.py" for suffix in ("", "_tensor", "_v2", "_v2_utils")),
    "test_functional_tensor.py",
    *(f"test_ops.py::Test{name}" for name in ("NMS", "RoIAlign", "RoiPool", "MultiScaleRoIAlign")),
)
THREADS = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // 2))}  # of each of two runs
UNTOUCHED = "affine or rotate or perspective or elastic or bounding or mask or video"  # by the switch


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--switched", action="store_true", help="orbbec does what it can")


def pytest_configure(config: Any) -> None:
    if config.getoption("--switched"):
        ot.set_image_backend("orbbec")
        ot.use_ops()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    # In some tests, warnings are errors, and newer versions of torch warn about torch.jit.
    warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    if config.getoption("--switched"):
        terminalreporter.section("calls")
        terminalreporter.write_line(str(ot.report()))


def outcomes(tests: Path, arguments: list[str]) -> dict[str, str]:
    """The outcome of each test: "passed", "skipped", "failure" or "error"."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "--tb=short", "-p", "no:cacheprovider", "-p", Path(__file__).stem]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *SELECTED, *arguments],
            cwd=tests,
            env={**os.environ, **THREADS, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        print(run.stdout, flush=True)
        return {
            f"{case.get('classname')}.{case.get('name')}": outcome(case)
            for case in ET.parse(report).iter("testcase")
        }


def outcome(case: ET.Element) -> str:
    found = {child.tag for child in case} & {"skipped", "failure", "error"}
    return found.pop() if found else "passed"


def main() -> int:
    tests, arguments = Path(sys.argv[1]), ["-k", f"not ({UNTOUCHED})", *sys.argv[2:]]
    with ThreadPoolExecutor() as pool:
        before, after = pool.map(outcomes, 2 * [tests], (arguments, ["--switched", *arguments]))
    lost = [name for name, result in before.items() if result == "passed" != after.get(name)]
    print(f"without the switch: {dict(Counter(before.values()))}")
    print(f"with the switch: {dict(Counter(after.values()))}")
    for name in lost:
        print(f"passes only without: {name}")
    return int("passed" not in before.values() or bool(lost))


if __name__ == "__main__":
    sys.exit(main())
