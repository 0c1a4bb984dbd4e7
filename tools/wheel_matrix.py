"""Install a wheel into new environments, one per CPython and torch, and check it in each.

    python tools/wheel_matrix.py dist/*.whl [--python 3.10 ...] [--torch 2.10 ...] [--output FILE]

Default: CPython 3.10 to 3.14, and every minor version of torch from 2.10 that pip finds. Prints the
combinations that passed, failed, or could not run here because there is no such interpreter or no such torch
for it. Where `uv` is installed, its interpreters are used too. pip's settings (PIP_INDEX_URL,
PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS) choose where torch comes from: a CPU build takes 1 GB of disk at a time,
one with CUDA 5 GB. The exit status is 1 if a combination failed, or if none ran.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CHECK = Path(__file__).resolve().with_name("check_wheel.py")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
OLDEST_TORCH = (2, 10)


@dataclass(frozen=True)
class Outcome:
    """What became of a combination."""

    python: str
    torch: str
    state: str  # "passed", "failed" or "not run"
    detail: str

    def __str__(self) -> str:
        return f"{self.state:<8} CPython {self.python:<5} torch {self.torch:<7} {self.detail}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check a wheel with each CPython and torch.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="3.N")
    parser.add_argument("--torch", nargs="+", default=[], metavar="2.N", help="default: all that pip finds")
    parser.add_argument("--output", type=Path, help="also write the lines to a file")
    options = parser.parse_args(arguments)
    outcomes = []
    for outcome in run_all(options.wheel.resolve(), options.python, options.torch):
        print(outcome, flush=True)
        outcomes.append(outcome)
    if options.output:
        options.output.write_text("".join(f"{outcome}\n" for outcome in outcomes))
    states = [outcome.state for outcome in outcomes]
    print(
        f"{states.count('passed')} passed, {states.count('failed')} failed, {states.count('not run')} not run"
    )
    return int("failed" in states or "passed" not in states)


def run_all(wheel: Path, pythons: Sequence[str], torches: Sequence[str]) -> Iterator[Outcome]:
    for python in pythons:
        interpreter = find_python(python)
        if not interpreter:
            yield Outcome(python, "any", "not run", "no such interpreter on this machine")
            continue
        versions = torches or torch_versions(interpreter)
        if not versions:
            yield Outcome(python, "any", "not run", "pip finds no torch for this interpreter")
        for torch in versions:
            yield run_one(wheel, python, interpreter, torch)


def find_python(version: str) -> str:
    """The path of an interpreter of a version such as 3.12; empty if there is none."""
    for command in (f"python{version}", "python3", sys.executable):
        path = shutil.which(command)
        if path and version_of(path) == version:
            return path
    if shutil.which("uv"):
        found = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True)
        return found.stdout.strip() if found.returncode == 0 else ""
    return ""


def version_of(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def torch_versions(python: str) -> list[str]:
    """The minor versions of torch that pip finds for an interpreter, from the oldest that orbbec takes."""
    command = [python, "-m", "pip", "index", "versions", "torch"]
    done = subprocess.run(command, capture_output=True, text=True)
    return minor_versions(done.stdout)


def minor_versions(listing: str) -> list[str]:
    r"""The minor versions in the output of `pip index versions torch`.

    Example:
        >>> minor_versions("torch (2.11.0)\nAvailable versions: 2.11.0, 2.10.1, 2.10.0, 2.9.1")
        ['2.10', '2.11']
    """
    line = re.search(r"Available versions: (.*)", listing)
    found = {(int(a), int(b)) for a, b in re.findall(r"(\d+)\.(\d+)\.\d+", line[1])} if line else set()
    return [f"{major}.{minor}" for major, minor in sorted(found) if (major, minor) >= OLDEST_TORCH]


def run_one(wheel: Path, python: str, interpreter: str, torch: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="orbbec-wheel-") as folder:
        environment = Path(folder) / "venv"
        try:
            new_environment(interpreter, environment)
            pip(environment, f"torch=={torch}.*")
        except subprocess.CalledProcessError as error:
            return Outcome(python, torch, "not run", last_line(error))
        try:
            pip(environment, str(wheel))
            done = call([environment / "bin" / "python", CHECK], folder)
        except subprocess.CalledProcessError as error:
            return Outcome(python, torch, "failed", last_line(error))
        return Outcome(python, torch, "passed", done.stdout.strip().splitlines()[-1])


def new_environment(interpreter: str, path: Path) -> None:
    """A venv with pip, also where Debian's package of ensurepip is missing."""
    try:
        call([interpreter, "-m", "venv", path])
    except subprocess.CalledProcessError:
        call([sys.executable, "-m", "pip", "install", "--quiet", "virtualenv"])
        call([sys.executable, "-m", "virtualenv", "--python", interpreter, path])


def pip(environment: Path, requirement: str) -> None:
    python = environment / "bin" / "python"
    call([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", requirement])


def call(command: Sequence[object], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=True)


def last_line(error: subprocess.CalledProcessError) -> str:
    lines = (error.stderr or error.stdout or "").strip().splitlines()
    wanted = [line for line in lines if line.startswith("ERROR")] or lines
    return wanted[-1][:160] if wanted else f"exit status {error.returncode}"


if __name__ == "__main__":
    sys.exit(main())
