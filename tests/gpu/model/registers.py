"""Registers per thread of the kernels, from ptxas; kept in ``build/ptx/registers``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.gpu.ptx.compile import ROOT, compile_ptx, load
from tests.gpu.ptx.launched import kernels_of

RULE = """\
rule ptxas
  command = $ptxas -arch=$architecture -v $in -o $out.cubin 2> $out
"""
_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)
# Of an unnamed namespace: it depends on the flags of the compilation.
_UNNAMED = re.compile(r"\d+_GLOBAL__N__\w{8}_\d+_\w+?_cuda_cu_\w{8}(?:_\d+)?")


def common_name(kernel: str) -> str:
    """A kernel's name without what differs between architectures."""
    return _UNNAMED.sub("_", kernel)


def source_of(ptx: Path) -> Path:
    """The ``.cu`` file that a PTX file was compiled from."""
    names = {
        "_".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.glob("orbbec/**/*.cu")
    }
    return names[ptx.stem]


def sources_of(kernels: Iterable[str], folder: Path) -> list[Path]:
    """The ``.cu`` files whose PTX in `folder` has these kernels."""
    wanted = set(kernels)
    return [
        source_of(path) for path in sorted(folder.glob("*.ptx")) if wanted & set(kernels_of(path.read_text()))
    ]


def registers_of(files: Iterable[Path], architecture: str) -> dict[str, int]:
    """Registers by the common name of each kernel in these PTX files.

    Raises:
        RuntimeError: ptxas failed, or there is none.
    """
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    folder = ROOT / "build" / "ptx" / "registers" / architecture
    lines, reports = [f"ptxas = {ptxas}", f"architecture = {architecture}", RULE], []
    for path in files:
        reports.append(folder / f"{path.stem}.txt")
        lines.append(f"build {reports[-1]}: ptxas {path}")
    load(ROOT / "tests" / "emulation" / "build.py").run_ninja(folder, lines)
    found = [match for report in reports for match in _ENTRY.findall(report.read_text())]
    return {common_name(kernel): int(registers) for kernel, registers in found}


def registers_for(kernels: Iterable[str], folder: Path, capability: int) -> dict[str, int]:
    """Registers by common name of kernels whose PTX lies in `folder`, on a compute capability such as 75."""
    sources = sources_of(kernels, folder)
    compiled = compile_ptx([], sources, architecture=f"compute_{capability}")
    stems = {"_".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources}
    return registers_of(
        [path for path in sorted(compiled.glob("*.ptx")) if path.stem in stems], f"sm_{capability}"
    )
