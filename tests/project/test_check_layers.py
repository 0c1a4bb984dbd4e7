"""Every rule of tools/check_layers.py finds a planted violation, and the project has none."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# path, text, part of the expected message
PLANTED = {
    "a cycle of imports": (
        "tests/support/a.py",
        "def f():\n    from tests.support import b\n",
        "is in a cycle: tests/support/a.py -> tests/support/b.py -> tests/support/a.py",
    ),
    "a cycle of includes": (
        "orbbec/core/image.h",
        '#pragma once\n#include "dtypes.h"\n',
        "is in a cycle: orbbec/core/dtypes.h -> orbbec/core/image.h -> orbbec/core/dtypes.h",
    ),
    "an operator that imports another": (
        "orbbec/blur/blur.py",
        "x = 1\nfrom orbbec.warp.warp import warp\n",
        "orbbec/blur/blur.py:2: operators never import each other",
    ),
    "a relative import of another": (
        "orbbec/blur/blur.py",
        "from ..warp import warp\n",
        "orbbec/blur/blur.py:1: operators never import each other",
    ),
    "an operator that imports batch": (
        "orbbec/blur/blur.py",
        "def f():\n    import orbbec.batch\n",
        "blur.py:2: blur may not import batch, which is above it",
    ),
    "an operator that imports the package": (
        "orbbec/blur/blur.py",
        "from orbbec import warp_affine\n",
        "blur may not import __init__",
    ),
    "bridge that imports an operator": (
        "orbbec/bridge/warp.py",
        "from orbbec.blur import blur\n",
        "bridge may not import blur",
    ),
    "matrices that import bridge": (
        "orbbec/matrices/matrices.py",
        "from orbbec.bridge.warp import x\n",
        "matrices may not import bridge, which is above it",
    ),
    "batch that imports the oracle": (
        "orbbec/batch/batch.py",
        "import orbbec.opencv.opencv\n",
        "batch may not import opencv",
    ),
    "the oracle that imports orbbec": (
        "orbbec/opencv/opencv.py",
        "from orbbec.batch import ImageBatch\n",
        "opencv may not import batch",
    ),
    "an operator that uses the tests' tools": (
        "orbbec/blur/blur.py",
        "from tests.support import photograph\n",
        "blur may not import tests",
    ),
    "core that includes torch": (
        "orbbec/core/image.h",
        "#pragma once\n#include <torch/csrc/stable/tensor.h>\n",
        "orbbec/core/image.h:2: only binding.cpp and orbbec/bridge may include torch",
    ),
    "core that includes CUDA": (
        "orbbec/core/image.h",
        "#include <cuda_runtime.h>\n",
        "only .cu, *_cuda.h and executors/cuda may include CUDA",
    ),
    "an operator's header that includes the CUDA executor": (
        "orbbec/blur/blur.h",
        '#include "../executors/cuda/tiles.h"\n',
        "only .cu, *_cuda.h and executors/cuda may include CUDA",
    ),
    "a kernel that includes torch": (
        "orbbec/blur/blur_cuda.cu",
        "# include <ATen/ATen.h>\n",
        "only binding.cpp and orbbec/bridge may include torch",
    ),
    "a kernel that includes bridge": (
        "orbbec/blur/blur_cuda.cu",
        '#include "../bridge/check.h"\n',
        "only binding.cpp may include orbbec/bridge",
    ),
    "a CPU file that includes torch": (
        "orbbec/blur/blur_cpu.cpp",
        '#include "torch/csrc/stable/ops.h"\n',
        "only binding.cpp and orbbec/bridge may include torch",
    ),
    "an operator that includes another": (
        "orbbec/blur/binding.cpp",
        '#include "../warp/warp.h"\n',
        "operators never import each other",
    ),
    "core that includes executors": (
        "orbbec/core/border.h",
        '#include "../executors/rows.h"\n',
        "core may not import executors, which is above it",
    ),
    "a functor that includes a header of bindings": (
        "orbbec/blur/blur.h",
        '#include "binding_boxes.h"\n',
        "only binding.cpp may include a binding's header",
    ),
    "a family's folder that imports another family": (
        "orbbec/blur/box/box.py",
        "from orbbec.warp import warp\n",
        "orbbec/blur/box/box.py:1: operators never import each other",
    ),
    "core that includes an operator": (
        "orbbec/core/image.h",
        '#include "../blur/blur.h"\n',
        "core may not import blur",
    ),
    "a header from outside": (
        "orbbec/blur/blur.h",
        '#include "../../tests/blur.h"\n',
        "is outside the package",
    ),
    "a kernel started by hand": (
        "orbbec/blur/blur_cuda.cu",
        "// not <<<1, 1>>> here\nvoid f() { kernel<<<1, 1>>>(); }\n",
        "orbbec/blur/blur_cuda.cu:2: launch kernels with launch()",
    ),
    "a stem for two files": (
        "orbbec/blur/blur_cpu.cu",
        "\n",
        "orbbec/blur/blur_cpu.cu:1: shares its stem with blur_cpu.cpp",
    ),
    "a long file": ("tools/long.py", "x = 1\n" * 501, "tools/long.py:501: has 501 lines"),
}


def write_project(root: Path) -> None:
    """A project with one operator, in which all files follow the rules."""
    files = {
        "orbbec/__init__.py": "from orbbec.blur import blur\n",
        "orbbec/_library.py": "",
        "orbbec/core/image.h": "#pragma once\n",
        "orbbec/core/dtypes.h": '#include "image.h"\n',
        "orbbec/executors/cuda/launch.h": "#include <cuda_runtime.h>\n",
        "orbbec/executors/rows.h": '#include "../core/image.h"\n',
        "orbbec/executors/cuda/tiles.h": '#include "launch.h"\n',
        "orbbec/matrices/matrices.py": "",
        "orbbec/bridge/warp.py": "from orbbec._library import x\nfrom orbbec.matrices import y\n",
        "orbbec/bridge/check.h": "#include <torch/csrc/stable/tensor.h>\n",
        "orbbec/batch/batch.py": "from orbbec.blur import blur\n",
        "orbbec/opencv/opencv.py": "",
        "tests/support/__init__.py": "from orbbec import blur\n",
        "tests/support/b.py": "from tests.support.a import x\n",
        "orbbec/warp/warp.py": "",
        "orbbec/blur/blur.py": "import torch\nfrom . import blur\nfrom orbbec.bridge.warp import x\n",
        "orbbec/blur/blur.h": '#include "../core/image.h"\n',
        "orbbec/blur/blur_cpu.cpp": '#include "blur.h"\n// no kernel<<<1, 1>>>() here\n',
        "orbbec/blur/blur_cuda.cu": '#include "../executors/cuda/tiles.h"\n#include "blur.h"\n',
        "orbbec/blur/binding.cpp": '#include "../bridge/check.h"\n#include "blur.h"\n',
        "orbbec/blur/binding_boxes.h": '#include "../bridge/check.h"\n',
        "orbbec/blur/box/box.h": '#include "../blur.h"\n',
        "orbbec/blur/tests/test_blur.py": "from orbbec.warp import warp\nimport orbbec.opencv\n",
        "tools/long.py": "x = 1\n" * 500,
    }
    for name, text in files.items():
        write(root / name, text)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_project_keeps_its_layers():
    assert check(ROOT) == (0, "check_layers: all in order\n")


def test_a_project_that_keeps_the_rules_passes(tmp_path):
    write_project(tmp_path)
    assert check(tmp_path) == (0, "check_layers: all in order\n")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_found_and_alone(tmp_path, name):
    path, text, expected = PLANTED[name]
    write_project(tmp_path)
    write(tmp_path / path, text)
    status, output = check(tmp_path)
    assert status == 1
    assert expected in output
    assert output.splitlines()[-1] == "check_layers: 1 violations"
