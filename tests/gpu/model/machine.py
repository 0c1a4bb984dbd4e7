"""Registers and machine instructions of kernels, from ptxas; cached in ``build/ptx/machine``.

The machine code says of each of its instructions from which line of PTX it comes, and the executor how many
warps ran each line. Together they give the machine instructions that a launch executes, by pipe.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.gpu.model.pipes import pipe_of
from tests.gpu.ptx.compile import ROOT, load
from tests.gpu.ptx.launched import kernels_of
from tools.machine_code import cubins, sass

RULE = """\
rule ptxas
  command = $ptxas -arch=$architecture -lineinfo -v $in -o $out.cubin 2> $out || (cat $out; false)
"""
_REPORT = re.compile(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", re.DOTALL)
_ENTRY = re.compile(r"^(?:\.visible |\.weak )?\.entry (\w+)\(.*?^\}\n", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\t//## File .*?, line (\d+)", re.MULTILINE)
_STATEMENT = re.compile(r"\s+(?:@!?%\w+\s+)?[a-z]")

Lines = dict[int, Counter[str]]


@dataclass(frozen=True)
class Machine:
    """A kernel on one architecture: registers per thread, and by line of PTX its opcodes."""

    registers: int
    lines: Lines

    def executed(self, warps: Mapping[str, int]) -> Counter[str]:
        """Warp instructions by pipe, where so many warps ran each line of PTX."""
        found: Counter[str] = Counter()
        for line, opcodes in self.lines.items():
            for opcode, count in opcodes.items():
                found[pipe_of(opcode)] += count * warps.get(str(line), 0)
        return found


def located(ptx: str) -> str:
    """PTX whose instructions name their own line of it, instead of a line of C++.

    Example:
        >>> text = chr(10).join([".address_size 64", "{", " .local .b8 a[4];", " .loc 9 5 0", " ret;", "}"])
        >>> located(text).splitlines()
        ['.address_size 64', '.file 1 "ptx"', '{', ' .local .b8 a[4];', '.loc 1 5 0', ' ret;', '}']
    """

    def lines() -> Iterator[str]:
        for number, line in enumerate(ptx.splitlines(), 1):
            if line.lstrip().startswith((".loc ", ".loc\t", ".file")):
                continue
            if _STATEMENT.match(line):
                yield f".loc 1 {number} 0"
            yield line
            if line.startswith(".address_size"):
                yield '.file 1 "ptx"'

    return "\n".join(lines()) + "\n"


def only(kernels: Collection[str], ptx: str, architecture: str) -> str:
    """PTX of some of its kernels, for another architecture.

    Example:
        >>> text = chr(10).join([".target sm_90", ".entry a(", "){", "}", ".entry b(", "){", "}", ""])
        >>> only(["b"], text, "sm_75").split()
        ['.target', 'sm_75', '.entry', 'b(', '){', '}']
    """
    chosen = _ENTRY.sub(lambda match: match[0] if match[1] in kernels else "", ptx)
    return re.sub(r"^\.target sm_\d+", f".target {architecture}", chosen, count=1, flags=re.MULTILINE)


def machines_of(kernels: Collection[str], folder: Path, capability: int) -> dict[str, Machine]:
    """Kernels whose located PTX lies in `folder`, on a compute capability such as 75.

    Raises:
        RuntimeError: ptxas failed, or there is none.
    """
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    architecture = f"sm_{capability}"
    target = ROOT / "build" / "ptx" / "machine" / architecture
    target.mkdir(parents=True, exist_ok=True)
    lines, reports = [f"ptxas = {ptxas}", f"architecture = {architecture}", RULE], []
    for path in sorted(folder.glob("*.ptx")):
        text = path.read_text()
        if set(kernels).isdisjoint(kernels_of(text)):
            continue
        source, report = target / path.name, target / f"{path.stem}.txt"
        wanted = only(kernels, text, architecture)
        if not source.exists() or source.read_text() != wanted:
            source.write_text(wanted)
        reports.append(report)
        lines.append(f"build {report}: ptxas {source}")
    load(ROOT / "tests" / "emulation" / "build.py").run_ninja(target, lines)
    return {name: machine for report in reports for name, machine in _read(report)}


def _read(report: Path) -> Iterator[tuple[str, Machine]]:
    registers = dict(_REPORT.findall(report.read_text()))
    listing = cubins.output("nvdisasm", "-c", "-g", report.with_name(f"{report.name}.cubin"))
    parts = sass.KERNEL.split(listing)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        yield name, Machine(int(registers[name]), lines_of(body))


def lines_of(body: str) -> Lines:
    """By line of PTX, the opcodes of a listing of nvdisasm."""
    lines: Lines = defaultdict(Counter)
    parts = _LINE.split(body)
    for line, text in zip(parts[1::2], parts[2::2], strict=True):
        for opcode, _, _ in sass.instructions(text):
            lines[int(line)][opcode] += opcode != "NOP"
    return lines
