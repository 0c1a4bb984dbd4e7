"""Registers per thread of kernels, from ptxas; kept in ``build/ptx/registers``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from tests.gpu.ptx.compile import ROOT, load
from tests.gpu.ptx.launched import kernels_of

RULE = """\
rule ptxas
  command = $ptxas -arch=$architecture -v $in -o $out.cubin 2> $out || (cat $out; false)
"""
_REPORT = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)
_ENTRY = re.compile(r"^(?:\.visible |\.weak )?\.entry (\w+)\(.*?^\}\n", re.MULTILINE | re.DOTALL)


def only(kernels: Collection[str], ptx: str, architecture: str) -> str:
    """PTX of some of its kernels, for another architecture.

    Example:
        >>> text = chr(10).join([".target sm_90", ".entry a(", "){", "}", ".entry b(", "){", "}", ""])
        >>> only(["b"], text, "sm_75").split()
        ['.target', 'sm_75', '.entry', 'b(', '){', '}']
    """
    kept = _ENTRY.sub(lambda match: match[0] if match[1] in kernels else "", ptx)
    return re.sub(r"^\.target sm_\d+", f".target {architecture}", kept, count=1, flags=re.MULTILINE)


def registers_for(kernels: Collection[str], folder: Path, capability: int) -> dict[str, int]:
    """Registers of kernels whose PTX lies in `folder`, on a compute capability such as 75.

    Raises:
        RuntimeError: ptxas failed, or there is none.
    """
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    architecture = f"sm_{capability}"
    target = ROOT / "build" / "ptx" / "registers" / architecture
    target.mkdir(parents=True, exist_ok=True)
    lines, reports = [f"ptxas = {ptxas}", f"architecture = {architecture}", RULE], []
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_text()
        if set(kernels).isdisjoint(kernels_of(text)):
            continue
        own, report = target / path.name, target / f"{path.stem}.txt"
        wanted = only(kernels, text, architecture)
        if not own.exists() or own.read_text() != wanted:
            own.write_text(wanted)
        reports.append(report)
        lines.append(f"build {report}: ptxas {own}")
    load(ROOT / "tests" / "emulation" / "build.py").run_ninja(target, lines)
    return {
        kernel: int(registers)
        for report in reports
        for kernel, registers in _REPORT.findall(report.read_text())
    }
