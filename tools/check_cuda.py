"""Compiles every kernel for a list of architectures; a warning or a register spill is an error.

    python tools/check_cuda.py [--arch 75 --arch 90] [--jobs 2]

Writes build/cuda/ptxas.tsv, a row a kernel and architecture: registers a thread, bytes of stack, of spills
and of static shared memory. Needs nvcc; where there is none it says so and ends with 0. Needs no GPU.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from nvcc_flags import shipped_flags

ROOT = Path(__file__).resolve().parents[1]
# A toolkit that is named has reports of its own.
REPORTS = ROOT / "build" / "cuda" / Path(os.environ.get("CUDA_HOME", "")).name
ARCHITECTURES = (
    "75",
    "80",
    "86",
    "89",
    "90",
    "100",
    "120",
)  # Turing to Blackwell, every one that was sold widely
FLAGS = [
    "-cubin",
    "-std=c++17",
    *shipped_flags(),
    "-Xptxas",
    "-v,-warn-spills",
    "-Werror",
    "all-warnings",
]

KERNEL = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)' for 'sm_\w+'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Usage:
    """What a kernel takes on one architecture."""

    arch: int
    file: str
    registers: int
    stack: int
    spills: int
    shared: int
    kernel: str


def find_nvcc() -> str | None:
    """The nvcc that setup.py builds with."""
    home = os.environ.get("CUDA_HOME")
    if home:
        return shutil.which("nvcc", path=f"{home}/bin")
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_kernels(nvcc: str, source: Path, arch: str) -> tuple[bool, str]:
    """Whether nvcc was content, and all that was said; that of the last run where nothing changed since."""
    report = REPORTS / f"{'_'.join(source.relative_to(ROOT / 'orbbec').with_suffix('').parts)}.sm_{arch}.txt"
    inputs = [*(ROOT / "orbbec").rglob("*.h"), source, Path(__file__)]
    if report.exists() and report.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return True, report.read_text()
    command = [nvcc, f"-arch=sm_{arch}", *FLAGS, str(source), "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    content = done.returncode == 0 and "warning" not in said.lower()
    if content:
        report.write_text(said)
    return content, said


def usages(arch: str, source: Path, said: str) -> list[Usage]:
    """The kernels of ptxas' report."""
    file = str(source.relative_to(ROOT))
    found = []
    for match in KERNEL.finditer(said):
        shared = re.search(r"(\d+) bytes smem", match["rest"])
        found.append(
            Usage(
                int(arch),
                file,
                int(match["registers"]),
                int(match["stack"]),
                int(match["stores"]) + int(match["loads"]),
                int(shared[1]) if shared else 0,
                match["kernel"],
            )
        )
    return found


def write_table(rows: list[Usage], nvcc: str) -> Path:
    lines = ["\t".join(field.name for field in fields(Usage))]
    lines += ["\t".join(map(str, astuple(row))) for row in rows]
    text = "\n".join(lines) + "\n"
    demangler = shutil.which("cu++filt", path=str(Path(nvcc).parent)) or shutil.which("c++filt")
    if demangler:
        text = subprocess.run([demangler], input=text, capture_output=True, text=True, check=True).stdout
    table = REPORTS / "ptxas.tsv"
    table.write_text(text)
    return table


def check(nvcc: str, sources: list[Path], architectures: list[str], jobs: int) -> int:
    """Compile, print what is wrong, write the table; give the exit status."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    tasks = [(source, arch) for arch in architectures for source in sources]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda task: compile_kernels(nvcc, *task), tasks))
    rows: list[Usage] = []
    failures = 0
    for (source, arch), (content, said) in zip(tasks, results, strict=True):
        kernels = usages(arch, source, said)
        rows += kernels
        spilled = [row for row in kernels if row.spills > 0]
        if not content or spilled:
            failures += 1
            reason = f"{len(spilled)} kernels spill" if spilled else "nvcc complains"
            print(f"{source.relative_to(ROOT)} for sm_{arch}: {reason}\n{'' if spilled else said}", end="")
    table = write_table(rows, nvcc)
    most = max((row.registers for row in rows), default=0)
    spilling = sum(row.spills > 0 for row in rows)
    print(
        f"check_cuda: {len(sources)} files for sm_{', sm_'.join(architectures)}: {len(rows)} kernels, "
        f"at most {most} registers, {spilling} with spills; {table.relative_to(ROOT)}"
    )
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", action="append", metavar="XX", help=f"default: {' '.join(ARCHITECTURES)}")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time (2)")
    parser.add_argument("files", nargs="*", type=Path, help="default: every .cu file of orbbec/")
    options = parser.parse_args()
    nvcc = find_nvcc()
    if nvcc is None:
        print("check_cuda: NOT CHECKED: no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda")
        return 0
    sources = [path.resolve() for path in options.files] or sorted(ROOT.glob("orbbec/**/*.cu"))
    return check(nvcc, sources, options.arch or list(ARCHITECTURES), options.jobs)


if __name__ == "__main__":
    sys.exit(main())
