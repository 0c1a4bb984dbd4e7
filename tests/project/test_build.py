"""What setup.py gives to the compilers, and with which CUDA toolkits it builds."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.ptx.compile import load

ROOT = Path(__file__).parents[2]
EXACT = {"-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"}
# Configures the build, lets torch compare the toolkit's CUDA with its own, and prints nvcc's flags.
CONFIGURE = """
import runpy, setuptools
from torch.utils import cpp_extension
setuptools.setup = lambda **given: extensions.extend(given["ext_modules"])
extensions = []
runpy.run_path("setup.py")
cpp_extension._check_cuda_version("g++", cpp_extension.TorchVersion("12.2.0"))
print(extensions[0].extra_compile_args["nvcc"])
"""
NVCC = """#!/bin/sh
case "$*" in
  *--dryrun*) echo "#$ TOP={home}" >&2 ;;
  *) echo "Cuda compilation tools, release {release}, V{release}.0" ;;
esac
"""


def test_flags_of_nvcc_keep_every_bit():
    assert set(load(ROOT / "tools" / "nvcc_flags.py").shipped_flags()) >= EXACT


def test_the_check_of_every_architecture_has_the_flags_of_the_build():
    found = subprocess.run(
        [sys.executable, "-c", "import check_cuda; print(check_cuda.FLAGS)"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(ast.literal_eval(found.stdout)) >= EXACT


def configured(architectures, **environment):
    environment = {**os.environ, "ORBBEC_CUDA": "1", "TORCH_CUDA_ARCH_LIST": architectures, **environment}
    command = [sys.executable, "-c", CONFIGURE]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("release", ["12.8", "13.0"])
def test_the_build_accepts_a_toolkit_whatever_the_cuda_of_torch(tmp_path, release):
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(NVCC.format(home=tmp_path, release=release))
    nvcc.chmod(0o755)
    done = configured("9.0", CUDA_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    flags = ast.literal_eval(done.stdout.splitlines()[-1])
    assert set(flags) >= EXACT


@pytest.mark.parametrize(
    ("wanted", "code", "named"),
    [
        ("7.5+PTX", "[sm_75,compute_75]", "sm_75"),
        ("8.6;9.0", "[sm_86,sm_90]", "sm_86+sm_90"),
        ("8.0 12.0+PTX", "[sm_80,sm_120,compute_75]", "sm_80+sm_120"),
    ],
)
def test_one_ptx_is_assembled_for_every_architecture(wanted, code, named):
    done = configured(wanted)
    assert f"'-gencode=arch=compute_75,code={code}'" in done.stdout, done.stderr
    assert f"'-DORBBEC_ARCHITECTURES={named}'" in done.stdout


@pytest.mark.parametrize("wanted", ["7.0", "Hopper", "90"])
def test_an_architecture_that_is_none_is_named(wanted):
    assert f"but got '{wanted}'" in configured(wanted).stderr
