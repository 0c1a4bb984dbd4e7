"""Builds what is out of date, then runs pytest on the emulated CUDA device, under the sanitizers.

``python tests/emulation/run.py [--flavour asan|races|lazy|ptx|plain] [--order ORDER] [pytest arguments]``

``--order`` (forward, reverse, shuffle:SEED) is the order in which blocks and threads alternate, and
``--streams`` (late, eager, shuffle:SEED) that of the streams of ``lazy``; results may not depend on them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

EMULATION = Path(__file__).resolve().parent
ROOT = EMULATION.parent.parent

ASAN_OPTIONS = {
    "detect_leaks": "0",  # Python keeps memory to its end
    "allocator_may_return_null": "1",  # an output of absurd size is an error to raise, not a crash
    "abort_on_error": "1",  # so that pytest's fault handler names the test
    "redzone": "256",  # bytes around small allocations; large ones have 2048
    "max_malloc_fill_size": str(1 << 20),  # torch.empty gives bytes that show
    "malloc_fill_byte": str(0xCB),
    "quarantine_size_mb": "64",
}


def output_of(*command: str) -> str:
    """What a command prints; what it complains of goes to the terminal."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def environment(flavour: str, order: str) -> dict[str, str]:
    """Builds the library and returns the environment of a process that runs orbbec on the emulated device."""
    chosen = dict(os.environ)
    chosen["ORBBEC_LIBRARY"] = output_of(sys.executable, str(EMULATION / "build.py"), flavour)
    chosen["ORBBEC_EMULATION_ORDER"] = order
    chosen["ORBBEC_EMULATION_LIMITS"] = str(ROOT / "tools" / "machine_code")
    if flavour == "ptx":
        chosen["ORBBEC_PTX"] = output_of(sys.executable, str(ROOT / "tests" / "gpu" / "ptx" / "compile.py"))
    if flavour == "asan":
        # First in the process, or its allocator comes too late; libstdc++ too, whose throw it looks for then.
        compiler = os.environ.get("CXX", "g++")
        names = ("libasan.so", "libstdc++.so")
        libraries = [output_of(compiler, f"-print-file-name={name}") for name in names]
        chosen["LD_PRELOAD"] = " ".join(libraries)
        chosen["ASAN_OPTIONS"] = ":".join(f"{name}={value}" for name, value in ASAN_OPTIONS.items())
        chosen["UBSAN_OPTIONS"] = "print_stacktrace=1"
    return chosen


def main() -> None:
    """Replaces this process by pytest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flavour", choices=("asan", "races", "lazy", "ptx", "plain"), default="asan")
    parser.add_argument("--order", default="forward")
    parser.add_argument("--streams", default="late")
    options, rest = parser.parse_known_args()
    # --capture=sys: reports go to the terminal, not into a file that dies with the process.
    # The tests of this folder bring their own programs and need no device.
    device = "cuda" if options.flavour == "lazy" else "emulated"
    fixed = ["--device", device, "--capture=sys", f"--ignore={EMULATION}"]
    if options.flavour == "lazy":
        fixed += ["-p", "tests.emulation.lazy.plugin"]
    if options.flavour == "ptx":
        fixed += ["-p", "tests.gpu.ptx.plugin"]
    command = [sys.executable, "-m", "pytest", *fixed, *rest]
    chosen = environment(options.flavour, options.order)
    chosen["ORBBEC_EMULATION_STREAMS"] = options.streams
    os.chdir(ROOT)
    os.execve(command[0], command, chosen)


if __name__ == "__main__":
    main()
