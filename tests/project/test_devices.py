"""Every test that names a device also runs on the emulated one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES_A_DEVICE = re.compile(r"^def test_\w+\([^)]*\b(?:device|accelerator)\b", re.MULTILINE)


def test_each_file_whose_tests_name_a_device_runs_on_the_emulated_one():
    makefile = (ROOT / "Makefile").read_text()
    host_only = re.findall(r"^host_only = (.*)$", makefile, re.MULTILINE)[0]
    left_out = re.findall(r"--ignore=(\S+)", host_only)
    named = set(re.findall(r"^on_device = (.*)$", makefile, re.MULTILINE)[0].split())
    found = {
        str(path.relative_to(ROOT))
        for folder in left_out
        for path in ([ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("test_*.py"))
        if NAMES_A_DEVICE.search(path.read_text())
    }
    assert found == named
