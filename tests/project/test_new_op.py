"""tools/new_op.py writes an operator that builds, passes its tests, and follows the rules of the project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orbbec._library import library_path
from tools import new_op

ROOT = Path(__file__).parents[2]

# The package without other operators, whose C++ would take minutes to build.
KEPT = (
    "orbbec/core",
    "orbbec/executors",
    "orbbec/matrices",
    "orbbec/bridge",
    "tests/support",
    "tests/emulation",
    "tools",
)
INIT = "from orbbec._library import load_library\n\nload_library()\n"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    # Without LD_PRELOAD, so that a sanitizer of this process does not affect others.
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"} | environment
    words = [str(part) for part in command]
    done = subprocess.run(words, capture_output=True, text=True, env=variables, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project whose only operator comes from the template."""
    root = tmp_path_factory.mktemp("project")
    leave_out = shutil.ignore_patterns("*.so", "__pycache__")
    for name in KEPT:
        shutil.copytree(ROOT / name, root / name, ignore=leave_out)
    for name in ("conftest.py", "pyproject.toml", "orbbec/_library.py"):
        shutil.copy(ROOT / name, root / name)
    (root / "orbbec" / "__init__.py").write_text(INIT)
    run(sys.executable, root / "tools" / "new_op.py", "adjust_gamma")
    return root


def test_a_new_operator_has_every_file_and_no_word_of_the_template(project):
    folder = project / "orbbec" / "adjustgamma"
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {str(path.relative_to(folder)) for path in files}
    assert found == {
        "__init__.py",
        "adjustgamma.py",
        "adjustgamma.h",
        "adjustgamma_cpu.cpp",
        "adjustgamma_cuda.cu",
        "binding.cpp",
        "tests/test_adjustgamma.py",
    }
    text = "".join(path.read_text() for path in [*files, project / "benchmarks/ops/adjustgamma.py"])
    assert "adjust_gamma" in text
    assert "AdjustGamma" in text
    assert "scale_offset" not in text.lower()
    assert "scaleoffset" not in text.lower()


def test_a_new_operator_keeps_the_layers(project):
    output = run(sys.executable, project / "tools" / "check_layers.py", project)
    assert output == "check_layers: all in order\n"


def test_a_new_operator_builds_and_passes_its_tests_on_the_cpu_and_as_cuda(project):
    # The flavour of the emulated device without sanitizers, which builds in seconds.
    library = run(sys.executable, project / "tests" / "emulation" / "build.py", "plain").strip()
    pytest_on = (sys.executable, "-m", "pytest", "-q", "--device=cpu", "--device=emulated")
    output = run(*pytest_on, "orbbec/adjustgamma", cwd=project, ORBBEC_LIBRARY=library)
    assert " passed" in output
    assert "skipped" not in output


@pytest.fixture(scope="module")
def in_pipelines(tmp_path_factory):
    """A copy of the package with one more operator, which pipelines can run.

    Its library contains only that operator, for the emulated device; the package's library has the others.
    """
    root = tmp_path_factory.mktemp("in_pipelines")
    leave_out = shutil.ignore_patterns("*.so", "*.cpp", "*.cu", "__pycache__", "tests")
    shutil.copytree(ROOT / "orbbec", root / "orbbec", ignore=leave_out)
    for name in KEPT:
        leave_out = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=leave_out, dirs_exist_ok=True)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=leave_out)
    for path in root.glob("orbbec/*/*.cpp"):
        if "STABLE_TORCH_LIBRARY" in path.read_text():  # operators that the package's library registers
            path.unlink()
    (root / "preload.py").write_text(
        f"import torch\n\ntorch.ops.load_library({str(library_path())!r})  # all other operators\n"
    )
    run(sys.executable, root / "tools" / "new_op.py", "shift_levels", "--transform")
    library = run(sys.executable, root / "tests" / "emulation" / "build.py", "plain").strip()
    return root, {"ORBBEC_LIBRARY": library, "PYTHONPATH": str(root)}


def test_an_operator_with_a_transform_is_exported_and_keeps_the_layers(in_pipelines):
    root, _ = in_pipelines
    exports = (root / "orbbec" / "transforms" / "__init__.py").read_text()
    assert "from orbbec.shiftlevels.transform import RandomShiftLevels\n" in exports
    assert run(sys.executable, root / "tools" / "check_layers.py", root) == "check_layers: all in order\n"
    pytest.importorskip("ruff")
    assert run(sys.executable, "-m", "ruff", "check", root / "orbbec") == "All checks passed!\n"


def test_an_operator_with_a_transform_is_a_pass_on_the_cpu_and_as_cuda(in_pipelines):
    root, environment = in_pipelines
    pytest_on = (sys.executable, "-m", "pytest", "-q", "-p", "preload")
    devices = ("--device=cpu", "--device=emulated")
    output = run(*pytest_on, *devices, "orbbec/shiftlevels", cwd=root, **environment)
    assert " passed" in output
    assert "skipped" not in output


PROFILED = """
import preload, torch
from orbbec import profile, transforms as T
pipeline = T.Compose([T.CenterCrop(8), T.RandomShiftLevels(p=1.0)])
found = profile(pipeline, torch.zeros(2, 3, 16, 16, dtype=torch.uint8))
print([(cost.name, cost.read_bytes, cost.written_bytes) for cost in found.costs[2:4]])
"""

PREVIEWED = """
import preload, numpy as np
from orbbec import transforms as T
from orbbec.cli.preview import draw_rows
pipeline = T.Compose([T.RandomShiftLevels((1.0, 1.0), (0.2, 0.2), p=1.0)])
rows, plan = draw_rows(pipeline, {"gray": np.full((4, 6, 3), 100, np.uint8)}, draws=1)
print([int(shown.image.mean()) for shown in rows[0]], "shift_levels" in plan)
"""

LISTED = """
import preload, sys
sys.path.insert(0, "scripts")
from list_transforms import tables
print(next(line for line in tables() if "RandomShiftLevels" in line))
"""


@pytest.mark.parametrize(
    ("program", "needed", "expected"),
    [
        (PROFILED, (), "[('1. augment', 384, 384), ('2. shift_levels', 384, 384)]"),
        (PREVIEWED, ("PIL",), "[100, 151] True"),
        (
            LISTED,
            ("cv2", "PIL", "typer"),
            "| `RandomShiftLevels` | Scale the pixels of images and add an offset | 1: `shift_levels` | none "
            "| clip(rint(pixel * scale + offset)) |",
        ),
    ],
    ids=["profile", "preview", "list of transforms and their parity"],
)
def test_an_operator_with_a_transform_is_known_to(in_pipelines, program, needed, expected):
    for module in needed:
        pytest.importorskip(module)
    root, environment = in_pipelines
    assert run(sys.executable, "-c", program, cwd=root, **environment).strip() == expected


@pytest.mark.parametrize("name", ["affine_cut", "shift_levels", "vignette", "zoom_2"])
def test_a_transform_of_any_name_is_exported_in_order(tmp_path, name):
    pytest.importorskip("ruff")
    exports = tmp_path / "orbbec" / "transforms" / "__init__.py"
    exports.parent.mkdir(parents=True)
    shutil.copy(ROOT / "orbbec" / "transforms" / "__init__.py", exports)
    folder = new_op.write_operator(name, tmp_path / "orbbec", transform=True)
    assert f"from orbbec.{folder.name}.transform import Random" in exports.read_text()
    run(sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", exports)


def test_a_transform_is_added_to_an_operator_that_is_there(tmp_path):
    exports = tmp_path / "orbbec" / "transforms" / "__init__.py"
    exports.parent.mkdir(parents=True)
    shutil.copy(ROOT / "orbbec" / "transforms" / "__init__.py", exports)
    folder = new_op.write_operator("soft_gain", tmp_path / "orbbec")
    binding = folder / "binding.cpp"
    binding.write_text("changed")
    new_op.write_operator("soft_gain", tmp_path / "orbbec", transform=True)
    assert binding.read_text() == "changed"
    assert (folder / "transform.py").exists()
    with pytest.raises(ValueError, match="exists already"):
        new_op.write_operator("soft_gain", tmp_path / "orbbec", transform=True)


@pytest.mark.parametrize("name", ["AdjustGamma", "adjust-gamma", "2fast", "for", "../x", "a__b"])
def test_a_name_that_is_no_identifier_is_refused(project, name):
    command = [sys.executable, str(project / "tools" / "new_op.py"), name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"new_op: expected a name in snake_case, but got '{name}'\n"


def test_an_operator_that_is_there_is_left_alone(project):
    command = [sys.executable, str(project / "tools" / "new_op.py"), "adjust_gamma"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "adjustgamma exists already" in done.stderr


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """A copy of the package with one more color step."""
    root = tmp_path_factory.mktemp("stepped")
    leave_out = shutil.ignore_patterns("*.so", "__pycache__")
    for name in ("orbbec", "tools"):
        shutil.copytree(ROOT / name, root / name, ignore=leave_out)
    for name in (".clang-format", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    written = run(sys.executable, root / "tools" / "new_op.py", "soft_gain", "--fusable")
    return root, written.splitlines()


def test_a_color_step_is_in_order(stepped):
    root, written = stepped
    assert "orbbec/augment/steps/softgain.h" in written
    text = "".join((root / path).read_text() for path in written)
    assert "scale_offset" not in text.lower()
    assert "scaleoffset" not in text.lower()
    assert run(sys.executable, root / "tools" / "check_layers.py", root) == "check_layers: all in order\n"
    again = [sys.executable, str(root / "tools" / "new_op.py"), "soft_gain", "--fusable"]
    done = subprocess.run(again, capture_output=True, text=True)
    assert (done.returncode, "softgain.h exists already" in done.stderr) == (1, True)
    pytest.importorskip("ruff")
    files = [root / path for path in written if path.endswith(".py")]
    for check in (("check",), ("format", "--check")):
        run(sys.executable, "-m", "ruff", *check, "--config", root / "pyproject.toml", *files)
    formatter = shutil.which("clang-format", path=Path(sys.executable).parent)
    if formatter is not None:
        run(formatter, "--dry-run", "-Werror", *(root / path for path in written if path.endswith(".h")))


# The program of an image runs the step; the package is too large to build here.
RUN = """
#include <cstdio>
#include "orbbec/augment/program.h"
using namespace orbbec;
int main() {
  const float rows[2 * kStepNumbers] = {kStepCodes - 1, 0.5f, 0.25f};
  const Program program({rows, 0, 2, 255.0f}, 0, 0, 1);
  float rgb[3] = {0, 100, 255};
  for (int s = 0; s < 2; ++s) program.with_step(s, [&](const auto& step) { run_step(step, 0, 0, rgb); });
  std::printf("%s %g %g %g\\n", kStepNames[kStepCodes - 1], rgb[0], rgb[1], rgb[2]);
}
"""


def test_a_color_step_is_run_by_programs(stepped):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    root, _ = stepped
    (root / "run.cpp").write_text(RUN)
    run("g++", "-std=c++17", "-ffp-contract=off", f"-I{root}", root / "run.cpp", "-o", root / "run")
    assert run(root / "run") == "soft_gain 63.75 113.75 191.25\n"
