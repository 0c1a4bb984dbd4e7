"""Builds orbbec's operators, CPU and CUDA, for the emulated device: every source, with the host's compiler.

``python tests/emulation/build.py [asan|races|lazy|ptx|plain]`` prints the library for ``ORBBEC_LIBRARY``.

- ``asan``: AddressSanitizer and UndefinedBehaviorSanitizer over everything. To be loaded into a process that
  has AddressSanitizer from its start; ``run.py`` sees to that.
- ``races``: the detector of ``races.cpp`` over the kernels.
- ``ptx``: the executor of ``tests/gpu/ptx``; kernels run from the PTX that nvcc emits.
- ``lazy``: the device of ``lazy/``, which torch takes for CUDA.
- ``plain``: none of these; for a debugger.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

EMULATION = Path(__file__).resolve().parent
ROOT = EMULATION.parent.parent
PTX = ROOT / "tests" / "gpu" / "ptx"
TIES = ("allocator.cpp", "hook.cpp")
RUNTIME = ("block.cpp", "fibers.cpp", "limits.cpp", "order.cpp", "runtime.cpp", "symbols.cpp")
SYNCHRONOUS = "synchronous.cpp"
LAZY = EMULATION / "lazy"

# float-cast-overflow: x86 and CUDA disagree on what a float too large for an int becomes. What is left out is
# reported by AddressSanitizer anyhow (null, object-size, pointer-overflow) or cannot happen here, and takes
# half of the build.
# The checks of addresses are calls: inline they take two thirds longer to compile.
SANITIZE = (
    "--param asan-instrumentation-with-call-threshold=0 "
    "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all "
    "-fno-sanitize=null,object-size,pointer-overflow,vptr,nonnull-attribute,returns-nonnull-attribute"
)
FLAVOURS = {
    "asan": SANITIZE,
    "races": "-DORBBEC_EMULATION_RACES",
    "lazy": "",
    "ptx": "-DORBBEC_EMULATION_PTX",
    "plain": "",
}
# -Og: runs as fast as -O1 here and compiles in three quarters of the time. -g1: lines and function names, all
# that a report needs; -g takes a third longer.
# What the executor of PTX adds. -frounding-math: its instructions run in all rounding modes.
EXECUTOR = "-O2 -ftree-vectorize -fvect-cost-model=dynamic -frounding-math -Wall -Wextra"
COMMON = "-std=c++20 -Og -g1 -fPIC -ffp-contract=off -fno-omit-frame-pointer"

RULES = """\
rule compile
  command = $cxx $flags -MMD -MF $out.d -x c++ -c $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = $cxx -Wl,--no-as-needed $in $flags -o $out
"""


def compiler() -> str:
    """The host's C++ compiler: ``CXX``, else g++."""
    return os.environ.get("CXX", "g++")


class Plan:
    """Collects what is to be built in one folder, then lets ninja build what is out of date."""

    def __init__(self, folder: Path, flavour: str) -> None:
        self.folder = folder
        self.flavour = flavour
        self.lines = [f"cxx = {compiler()}", RULES]

    def compile(self, source: Path, flags: str = "") -> Path:
        """Compiles one file: a .cu or .cpp of orbbec, or one of this folder."""
        chosen = FLAVOURS[self.flavour]
        out = self.folder / f"{'_'.join(source.relative_to(ROOT).parts)}.o"
        if source.parent in (
            EMULATION,
            LAZY,
        ):  # the scheduler leaves stacks in ways that no sanitizer follows
            chosen = chosen.replace(SANITIZE, "") + " -O2"
        elif PTX in source.parents:
            chosen += f" {EXECUTOR}"
        elif source.suffix == ".cu" and self.flavour == "races":
            chosen += " -fsanitize=thread -fno-threadsafe-statics"
        elif source.suffix == ".cpp" and self.flavour == "asan":  # x86 loads from any address
            chosen += " -fno-sanitize=alignment"
        every = f"{COMMON} {chosen} -DORBBEC_EMULATION -I{EMULATION / 'include'} -I{ROOT} {flags}"
        self.lines.append(f"build {out}: compile {source}\n  flags = {every}")
        return out

    def runtime(self) -> list[Path]:
        """Compiles the emulator itself."""
        names = (*RUNTIME, *(["races.cpp"] if self.flavour == "races" else []))
        if self.flavour != "lazy":
            names = (*names, SYNCHRONOUS)
        return [self.compile(EMULATION / name) for name in names]

    def lazy_device(self) -> list[Path]:
        """Compiles the lazy device; its allocators and operators are not in torch's stable ABI."""
        flags = torch_flags()[0] + " -UTORCH_TARGET_VERSION"
        return [self.compile(path, flags) for path in sorted(LAZY.glob("*.cpp"))]

    def executor(self) -> list[Path]:
        """Compiles the executor of PTX, without what ties it to torch and to the emulated runtime."""
        sources = sorted(PTX.rglob("*.cpp"))
        return [self.compile(path) for path in sources if path.name not in TIES]

    def link(self, name: str, objects: Iterable[Path], flags: str) -> Path:
        """Links a program, or with ``-shared`` a library."""
        out = self.folder / name
        if self.flavour == "asan":
            flags += f" {SANITIZE}"
        inputs = " ".join(map(str, objects))
        self.lines.append(f"build {out}: link {inputs}\n  flags = {flags} -pthread -ldl")
        return out

    def build(self) -> None:
        """Builds what is out of date.

        Raises:
            RuntimeError: something did not compile; the message is the compiler's.
        """
        run_ninja(self.folder, self.lines)


def executor_plan() -> Plan:
    """The plan of the executor of PTX, which the flavour ``ptx`` and ``tests/gpu/ptx/executor.py`` share."""
    return Plan(ROOT / "build" / "ptx", "plain")


def run_ninja(folder: Path, lines: Iterable[str]) -> None:
    """Runs ninja on these lines; its output is shown only when it fails.

    Raises:
        RuntimeError: a command failed; the message is its output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ninja = shutil.which("ninja", path=path)
    if ninja is None:
        raise RuntimeError("the emulated device is built with ninja: pip install ninja")
    # Without LD_PRELOAD: a sanitizer preloaded into this process is not for the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    jobs = os.environ.get("MAX_JOBS")
    command = [ninja, "-C", str(folder), *(["-j", jobs] if jobs else [])]
    with open(folder / "lock", "w") as lock:  # flavours share folders and may be built at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "build.ninja").write_text("\n".join(lines) + "\n")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)


def torch_flags() -> tuple[str, str]:
    """Flags to compile and to link against torch's stable ABI, as ``setup.py`` has them."""
    from torch.utils.cpp_extension import include_paths, library_paths

    compile_flags = "-DTORCH_TARGET_VERSION=0x020a000000000000 "
    compile_flags += " ".join(f"-isystem {path}" for path in include_paths())
    link_flags = " ".join(f"-L{path}" for path in library_paths()) + " -ltorch -ltorch_cpu -lc10"
    return compile_flags, link_flags


def build_lazy_device() -> Path:
    """Builds the lazy device without orbbec, with the kernel of its own tests."""
    plan = Plan(ROOT / "build" / "emulation" / "lazy", "lazy")
    objects = [*plan.runtime(), *plan.lazy_device(), plan.compile(LAZY / "kernels.cu")]
    library = plan.link("lazy_device.so", objects, f"-shared {torch_flags()[1]}")
    plan.build()
    return library


def includes_of(source: Path, seen: set[Path]) -> set[Path]:
    """The file and what it includes of orbbec, directly or not, added to `seen`."""
    if source not in seen and source.is_file():
        seen.add(source)
        for name in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE):
            includes_of((source.parent / name).resolve(), seen)
    return seen


def built_object(source: Path) -> Path | None:
    """The object that ``setup.py`` has built of a file of orbbec; None if it is out of date."""
    name = source.relative_to(ROOT).with_suffix(".o")
    found = [path for folder in ROOT.glob("build/temp.*") if (path := folder / name).exists()]
    needed = {*includes_of(source, set()), ROOT / "setup.py"}
    if len(found) != 1 or found[0].stat().st_mtime <= max(path.stat().st_mtime for path in needed):
        return None
    return found[0]


def shipped_object(source: Path) -> Path | None:
    """The object of a .cpp file that ``setup.py`` has built; it saves 70 % of a build without sanitizers.

    None if it is out of date, or if the source depends on the emulated device.
    """
    on_device = ROOT / "orbbec" / "bridge" / "device.h" in includes_of(source, set())
    return None if on_device else built_object(source)


def build_library(flavour: str = "asan") -> Path:
    """Builds the library of a flavour in ``build/emulation`` and returns its path.

    ``asan`` has sanitizers in every file and ``races`` in the kernels; the others differ only in the device.
    What flavours share is compiled once, and the objects of ``setup.py`` are used where they exist.
    """
    folder = ROOT / "build" / "emulation" / flavour
    plan = Plan(folder, flavour)
    compile_flags, link_flags = torch_flags()
    host_plan = plan if flavour == "asan" else Plan(folder.parent / "plain", "plain")
    found = sorted(ROOT.glob("orbbec/**/*.cpp"))
    host = [path for path in found if not {"opencv", "data", "tests"} & set(path.relative_to(ROOT).parts)]
    if flavour != "lazy":
        host.append(EMULATION / "switch.cpp")
    shipped = {} if flavour == "asan" else {path: shipped_object(path) for path in host}
    host_objects = [shipped.get(path) or host_plan.compile(path, compile_flags) for path in host]
    kernel_plan = plan if flavour == "races" else host_plan
    kernels = [kernel_plan.compile(path) for path in sorted(ROOT.glob("orbbec/**/*.cu"))]
    if host_plan is not plan:
        host_plan.build()
    kernels += plan.runtime()
    if flavour == "ptx":
        unstable = f"{compile_flags} -UTORCH_TARGET_VERSION"  # allocators are not in the stable ABI
        executor = executor_plan()
        kernels += [*executor.executor(), *(plan.compile(PTX / name, unstable) for name in TIES)]
        executor.build()
    if flavour == "lazy":
        kernels += plan.lazy_device()
        link_flags += " -Wl,-soname,libtorch_cuda.so"  # where orbbec looks for torch's current stream
    if flavour == "races":
        # A library of their own: its thread-local storage is then shared memory and nothing else.
        name = "libkernels_emulated.so"
        kernels = [plan.link(name, kernels, f"-shared -Wl,-soname,{name}")]
        link_flags += " '-Wl,-rpath,$$ORIGIN'"
    library = plan.link("_C_emulated.so", [*host_objects, *kernels], f"-shared {link_flags}")
    plan.build()
    return library


if __name__ == "__main__":
    try:
        print(build_library(*sys.argv[1:]))
    except RuntimeError as error:
        sys.exit(str(error))
