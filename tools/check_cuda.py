"""Compiles every kernel for a list of architectures and reads the machine code that results.

    python tools/check_cuda.py                          # all sources, all architectures
    python tools/check_cuda.py orbbec/nms/nms_cuda.cu   # one source
    python tools/check_cuda.py --built                  # what is in the library that was built in place
    python tools/check_cuda.py --update [SOURCE ...]    # write what was found to the table

Fails on a warning, on local memory (spilled registers too), FP64 or approximate functions without a reason in
machine_code/exceptions.tsv, and on a number worse than in machine_code/kernels.tsv. Better ones are listed.
Needs nvcc, unless --built is given; where there is none it says so and ends with 0. Needs no GPU.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.machine_code import cubins, table
from tools.machine_code.table import Measured
from tools.nvcc_flags import shipped_flags, shipped_ptx

ROOT = Path(__file__).resolve().parents[1]
# A toolkit that is named has reports of its own.
REPORTS = ROOT / "build" / "cuda" / Path(os.environ.get("CUDA_HOME", "")).name
LIBRARY = ROOT / "orbbec" / "_C.abi3.so"
# Turing to Blackwell, every one that was sold widely.
ARCHITECTURES = ("75", "80", "86", "89", "90", "100", "120")
FLAGS = ["-fatbin", "-std=c++17", *shipped_flags(), "-Werror", "all-warnings"]


def find_nvcc() -> str | None:
    """The nvcc that setup.py builds with."""
    home = os.environ.get("CUDA_HOME")
    if home:
        return shutil.which("nvcc", path=f"{home}/bin")
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_kernels(nvcc: str, source: Path, archs: list[str]) -> tuple[str, Path]:
    """What nvcc has to complain of, and the fatbin; that of the last run where nothing changed since."""
    name = "_".join(source.relative_to(ROOT / "orbbec").with_suffix("").parts)
    fatbin = REPORTS / f"{name}.{'_'.join(archs)}.fatbin"
    inputs = [*(ROOT / "orbbec").rglob("*.h"), source, Path(__file__)]
    if fatbin.exists() and fatbin.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return "", fatbin
    # Renamed only when nvcc is content.
    partial = fatbin.with_suffix(".partial")
    codes = ",".join(f"sm_{arch}" for arch in archs)
    command = [nvcc, f"-gencode=arch={shipped_ptx()},code=[{codes}]", *FLAGS, str(source), "-o", str(partial)]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != 0 or "warning" in said.lower():
        return said, fatbin
    partial.replace(fatbin)
    return "", fatbin


@dataclass(frozen=True)
class Found:
    """What was compiled: whether nvcc was content, its release, and the kernels. `files`: None for all."""

    content: bool
    release: str
    kernels: Measured
    files: list[str] | None


def measure(nvcc: str, sources: list[Path], options: argparse.Namespace) -> Found:
    """Compiles sources and reads their kernels."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    archs = options.arch or list(ARCHITECTURES)
    kernels: Measured = {}
    content, release = True, ""
    with ThreadPoolExecutor(options.jobs) as pool:
        compiled = pool.map(lambda source: compile_kernels(nvcc, source, archs), sources)
        for source, (complaint, fatbin) in zip(sources, compiled, strict=True):
            if complaint:
                content = False
                print(f"{relative(source)}: nvcc complains\n{complaint}", end="")
            else:
                release = add(kernels, relative(source), fatbin) or release
    return Found(content, release, kernels, [relative(path) for path in sources] if options.files else None)


def read_library() -> Found:
    """The kernels of the library that was built in place."""
    kernels: Measured = {}
    release = add(kernels, relative(LIBRARY), LIBRARY)
    return Found(True, release, kernels, None)


def add(kernels: Measured, file: str, binary: Path) -> str:
    """Adds the kernels that a library or fatbin has for any architecture; returns the release of nvcc."""
    release = ""
    with tempfile.TemporaryDirectory() as folder:
        command = [cubins.tool("cuobjdump"), "-xelf", "all", binary]
        subprocess.run(command, cwd=folder, capture_output=True)  # fails where there are none
        for cubin in sorted(Path(folder).glob("*.cubin")):
            arch = int(re.search(r"\.sm_(\d+)", cubin.name)[1])
            made_by, found = cubins.read(cubin, arch)
            release = made_by or release
            for name, kernel in found.items():
                kernels.setdefault(file, {}).setdefault(name, {})[arch] = kernel
    return release


def judge(found: Found) -> bool:
    """Prints what is wrong and what is better; whether nothing is wrong."""
    known = table.read(table.TABLE.read_text())
    exceptions = table.Exceptions.read(table.EXCEPTIONS.read_text())
    wrong = list(exceptions.violations(found.kernels))
    if found.files is None:
        wrong += exceptions.unused(known)
    for arch in sorted(set(architectures_of(found)) - set(known.architectures)):
        print(f"check_cuda: NOT COMPARED: sm_{arch} is not in the table")
    if found.release == known.release:
        wrong += table.missing(known, found.kernels, found.files)
        changes = list(table.changes(known, found.kernels))
        wrong += [str(change) for change in changes if change.is_worse]
        print("".join(f"better: {change}\n" for change in changes if not change.is_worse), end="")
    else:
        print(f"check_cuda: NOT COMPARED: made by nvcc {found.release or '?'}, the table by {known.release}")
    print("".join(f"{line}\n" for line in wrong), end="")
    if wrong:
        print("check_cuda: if this is intended: python tools/check_cuda.py --update [SOURCE ...]")
    return not wrong


def update(found: Found) -> None:
    """Writes what was found to the table."""
    known = table.Table(found.release, architectures_of(found), {})
    if found.files is not None:
        known = table.read(table.TABLE.read_text())
        if known.release != found.release:
            raise SystemExit(f"check_cuda: the table is of nvcc {known.release}: update all sources")
    table.TABLE.write_text(table.write(table.updated(known, found.release, found.kernels, found.files)))


def architectures_of(found: Found) -> tuple[int, ...]:
    return tuple(sorted({arch for _, arch, _ in table.each(found.kernels)}))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def summary(found: Found) -> str:
    kernels = [kernel for _, _, kernel in table.each(found.kernels)]
    return (
        f"check_cuda: {len(kernels)} kernels for sm_{', sm_'.join(map(str, architectures_of(found)))}: "
        f"at most {max((kernel.registers for kernel in kernels), default=0)} registers, "
        f"{sum(kernel.stack > 0 for kernel in kernels)} with local memory, "
        f"{sum(kernel.float64 > 0 for kernel in kernels)} with FP64"
    )


def find(options: argparse.Namespace) -> Found | str:
    """Compiles, or reads the library; or says why that cannot be."""
    if options.built:
        found = read_library()
        return found if found.kernels else f"no kernels in {relative(LIBRARY)}"
    nvcc = find_nvcc()
    if nvcc is None:
        return "no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda"
    sources = [path.resolve() for path in options.files] or sorted(ROOT.glob("orbbec/**/*.cu"))
    if options.update and options.files:
        options.arch = [str(arch) for arch in table.read(table.TABLE.read_text()).architectures]
    return measure(nvcc, sources, options)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", action="append", metavar="XX", help=f"default: {' '.join(ARCHITECTURES)}")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time (2)")
    parser.add_argument("--built", action="store_true", help="read the library instead of compiling")
    parser.add_argument("--update", action="store_true", help="write the table")
    parser.add_argument("files", nargs="*", type=Path, help="default: every .cu file of orbbec/")
    options = parser.parse_args()
    if options.update and (options.built or (options.arch and options.files)):
        parser.error("--update compiles, and sources for the architectures of the table")
    try:
        found = find(options)
    except cubins.MissingToolError as error:
        raise SystemExit(f"check_cuda: {error}") from None
    if isinstance(found, str):
        print(f"check_cuda: NOT CHECKED: {found}")
        return 0
    if options.update and found.content:
        update(found)
    holds = judge(found)
    print(summary(found))
    return 0 if holds and found.content else 1


if __name__ == "__main__":
    sys.exit(main())
