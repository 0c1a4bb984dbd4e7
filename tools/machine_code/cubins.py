"""Reads cubins with NVIDIA's tools: what each kernel takes, and the instructions that it consists of."""

import ctypes
import re
import shutil
import subprocess
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.machine_code import sass

RESOURCES = re.compile(
    r"Function (?P<kernel>[\w$]+):\s+REG:(?P<registers>\d+) STACK:(?P<stack>\d+) SHARED:(?P<shared>\d+)"
)
INFO = re.compile(r"^\.nv\.info\.([\w$]+)$", re.MULTILINE)
ATTRIBUTE = r"EIATTR_{}\n\s+Format:.*\n\s+Value:\s+((?:0x[0-9a-f]+\s)+)"
PARAMETERS = re.compile(ATTRIBUTE.format("CBANK_PARAM_SIZE"))
RELEASE = re.compile(r"Tool Version: .*V([\d.]+)")
THREADS = re.compile(ATTRIBUTE.format("MAX_THREADS"))
RESERVED = (
    1024  # bytes of shared memory that `cuobjdump` counts from compute capability 9.0 on, and ptxas does not
)


@dataclass(frozen=True)
class Kernel(sass.Code):
    """A kernel on one architecture. `threads`: of its launch bounds, 0 without. Sizes are in bytes."""

    threads: int
    parameters: int
    shared: int
    registers: int
    stack: int


class MissingToolError(RuntimeError):
    """A tool that reads cubins is not installed."""


def tool(name: str) -> str:
    """The path of `cuobjdump` or `nvdisasm`, as the packages of requirements/tests.txt install them.

    Raises:
        MissingToolError: it is not there.
    """
    packages = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
    found = shutil.which(name, path=str(packages)) or shutil.which(name)
    if found is None:
        raise MissingToolError(f"no {name}: pip install nvidia-cuda-{name}")
    return found


def output(name: str, *arguments: str | Path) -> str:
    """What a tool prints.

    Raises:
        subprocess.CalledProcessError: it failed; what it says goes to the terminal.
    """
    return subprocess.run(
        [tool(name), *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def read(cubin: Path, arch: int) -> tuple[str, dict[str, Kernel]]:
    """The release of nvcc that made a cubin, and its kernels by their short names.

    Raises:
        ValueError: two kernels have one short name.
    """
    found = {match["kernel"]: match for match in RESOURCES.finditer(output("cuobjdump", "-res-usage", cubin))}
    if not found:
        return "", {}
    elf = output("cuobjdump", "-elf", cubin)
    parts = INFO.split(elf)
    infos = dict(zip(parts[1::2], parts[2::2], strict=True))
    codes = sass.read(output("nvdisasm", "-c", cubin))
    kernels: dict[str, Kernel] = {}
    for mangled, resources in found.items():
        name = short_name(mangled)
        if name in kernels:
            raise ValueError(f"{cubin.name}: two kernels are called {name}")
        shared = int(resources["shared"])
        kernels[name] = Kernel(
            **asdict(codes[mangled]),
            threads=product(THREADS.search(infos[mangled])),
            parameters=product(PARAMETERS.search(infos[mangled])),
            shared=shared - RESERVED if arch >= 90 and shared >= RESERVED else shared,
            registers=int(resources["registers"]),
            stack=int(resources["stack"]),
        )
    release = RELEASE.search(elf)
    return release[1] if release else "", kernels


def product(values: re.Match[str] | None) -> int:
    """The product of an attribute's values, 0 if it is not there."""
    result = 1 if values else 0
    for value in values[1].split() if values else ():
        result *= int(value, 16)
    return result


def short_name(mangled: str) -> str:
    """A kernel's name without parameters, namespaces of the project and unnamed ones.

    tests/emulation/symbols.cpp shortens names in the same way.

    Example:
        >>> short_name("_ZN6orbbec4fillINS_3BoxILi2EEEEEvT_i")
        'fill<Box<2>>'
    """
    name = demangle(mangled).replace("(anonymous namespace)::", "").replace("orbbec::", "")
    while "> >" in name:
        name = name.replace("> >", ">>")
    depth = 0
    for i, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            name = name[:i]
            break
    return name.removeprefix("void ")


def demangle(mangled: str) -> str:
    """The name as the C++ library of this process demangles it."""
    library = ctypes.CDLL("libstdc++.so.6")
    demangled = library["__cxa_demangle"]
    demangled.restype = ctypes.c_void_p
    status = ctypes.c_int()
    address = demangled(mangled.encode(), None, None, ctypes.byref(status))
    if not address:
        return mangled
    try:
        return ctypes.string_at(address).decode()
    finally:
        free = ctypes.CDLL(None)["free"]
        free.argtypes = [ctypes.c_void_p]
        free(address)
