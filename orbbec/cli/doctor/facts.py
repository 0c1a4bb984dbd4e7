"""Collects facts about an installation. Nothing here raises: missing values are empty."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE = Path(__file__).parents[2]
# The oldest version of each package that orbbec imports, as in pyproject.toml.
REQUIRED = {"numpy": "1.24", "typer": "0.12", "rich": "13", "pillow": "10.1", "pyyaml": "6"}
OPTIONAL = {"webdataset": "1.0", "lmdb": "1.6", "h5py": "3.10", "ray": "2.51", "torchcodec": "0.17"}
OTHER_BINARIES = {"opencv", "data", "tests"}  # folders whose sources are not in `_C.abi3.so`
SIMD_FLAGS = (
    "sse4_2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vbmi",
    "avx512_vnni",
    "asimd",
    "sve",
)


@dataclass(frozen=True)
class Gpu:
    """A GPU, and the result of running a kernel of the binary on it."""

    name: str
    capability: str  # "9.0"
    memory_gib: float
    seen_by_torch: bool
    self_test: str  # "passed", or the error; empty: not tried


@dataclass(frozen=True)
class Package:
    """A package that orbbec imports. The version is empty if it is not installed."""

    name: str
    version: str
    oldest: str
    required: bool


@dataclass(frozen=True)
class Facts:
    """Facts about an installation. Strings of missing components are empty."""

    orbbec: str
    python: str
    system: str
    cpu: str
    cpu_flags: tuple[str, ...]
    cores: int
    cpu_targets: tuple[str, ...]  # the binary's CPU code: "scalar", "avx2", "avx512"
    cpu_target: str  # the one that runs
    simd_variable: str  # value of ORBBEC_SIMD
    packages: tuple[Package, ...]
    numpy: str
    cv2: str
    simplejpeg: str
    torchvision: str
    torch: str
    torch_failure: str  # why torch is not importable
    torch_cuda: str  # the CUDA that torch was built for
    arithmetic: str
    source: str  # the source tree that orbbec is imported from
    installed_from: str  # the source tree that pip built the package from
    newer_sources: int  # C++ and CUDA files of the source tree that are newer than the binary
    binary: str  # its path
    library_variable: str  # value of ORBBEC_LIBRARY
    binary_failure: str  # why it does not load
    compiler: str
    binary_cuda: str
    architectures: tuple[str, ...]
    opencv: str  # version of OpenCV in orbbec.opencv
    opencv_failure: str
    jpeg_decoder: str  # orbbec.data's decoder for non-baseline JPEGs
    codecs: tuple[str, ...]  # of "png" and "webp", those that Pillow need not decode
    nasm: str  # its path
    nvimgcodec: str  # version of nvImageCodec
    gpus: tuple[Gpu, ...]
    nvidia_device: bool  # whether the PCI bus has a device of NVIDIA, with or without a driver
    driver: str  # such as "580.65.06"
    driver_cuda: str  # the newest CUDA that the driver supports
    nvcc: str


def collect() -> Facts:
    """Examine this machine and environment; runs a small kernel on every GPU."""
    torch, torch_failure = try_import("torch")
    orbbec, binary_failure = try_import("orbbec") if torch else (None, "torch is missing")
    build = importlib.import_module("orbbec.cli.build_info") if orbbec else None
    opencv, opencv_failure = try_import("orbbec.opencv") if orbbec else (None, "orbbec is not importable")
    variable = os.environ.get("ORBBEC_LIBRARY", "")
    return Facts(
        orbbec=version_of(orbbec),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        system=system(),
        cpu=cpu_model(),
        cpu_flags=cpu_flags(),
        cores=os.cpu_count() or 0,
        cpu_targets=tuple(filter(None, answer_of(torch, "cpu_targets").split(","))),
        cpu_target=answer_of(torch, "cpu_target"),
        simd_variable=os.environ.get("ORBBEC_SIMD", ""),
        packages=packages(),
        numpy=version_of(try_import("numpy")[0]),
        cv2=version_of(try_import("cv2")[0]),
        simplejpeg=distribution_version("simplejpeg"),
        torchvision=version_of(try_import("torchvision")[0]),
        torch=version_of(torch),
        torch_failure=torch_failure,
        torch_cuda=(torch.version.cuda or "") if torch else "",
        arithmetic=orbbec.default_arithmetic() if orbbec else "",
        source=source_tree(),
        installed_from=installed_from(),
        newer_sources=0 if variable else newer_sources(PACKAGE, PACKAGE / "_C.abi3.so"),
        binary=variable or str(PACKAGE / "_C.abi3.so"),
        library_variable=variable,
        binary_failure=binary_failure,
        compiler=build.get_compiler_version() if build else "",
        binary_cuda=build.get_compiling_cuda_version().replace("not available", "") if build else "",
        architectures=tuple(build.get_compiled_architectures()) if build else (),
        opencv=opencv.version() if opencv else "",
        opencv_failure=opencv_failure,
        jpeg_decoder=jpeg_decoder(PACKAGE / "data" / "decode" / "_jpeg.abi3.so"),
        codecs=tuple(name for name in ("png", "webp") if has_codec(name)),
        nasm=shutil.which("nasm") or "",
        nvimgcodec=first_version(f"nvidia-nvimgcodec-cu{major}" for major in (13, 12)),
        gpus=gpus(torch, orbbec),
        nvidia_device=has_nvidia_device(Path("/sys/bus/pci/devices")),
        driver="".join(nvidia_smi("driver_version")[:1]),
        driver_cuda=answer_of(torch, "cuda_driver_version"),
        nvcc=nvcc(),
    )


def try_import(name: str) -> tuple[Any, str]:
    """A module and "", or None and the reason. Broken packages raise many kinds of errors."""
    try:
        return importlib.import_module(name), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def version_of(module: Any) -> str:
    return str(getattr(module, "__version__", ""))


def answer_of(torch: Any, operator: str) -> str:
    """What an operator of the binary returns; empty if the binary lacks it, or refuses the environment."""
    try:
        return str(getattr(torch.ops.orbbec, operator)())
    except (AttributeError, ValueError):
        return ""


def packages() -> tuple[Package, ...]:
    return tuple(
        Package(name, distribution_version(name), oldest, is_required)
        for table, is_required in ((REQUIRED, True), (OPTIONAL, False))
        for name, oldest in table.items()
    )


def distribution_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def first_version(names: Iterable[str]) -> str:
    """The version of the first of these packages that is installed."""
    return next(filter(None, map(distribution_version, names)), "")


def source_tree() -> str:
    """The folder of setup.py; empty for an installed wheel."""
    return str(PACKAGE.parent) if (PACKAGE.parent / "setup.py").exists() else ""


def installed_from() -> str:
    """The folder that `pip install FOLDER` was called with; empty if it is gone, or was not the source."""
    try:
        recorded = importlib.metadata.distribution("orbbec").read_text("direct_url.json")
        folder = Path(unquote(urlsplit(json.loads(recorded or "{}").get("url", "")).path))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""
    return str(folder) if (folder / "setup.py").exists() and folder.is_absolute() else ""


def newer_sources(package: Path, binary: Path) -> int:
    """The number of C++ and CUDA files that changed after the binary was built."""
    if not binary.exists():
        return 0
    built = binary.stat().st_mtime
    found = (path for path in package.rglob("*") if path.suffix in (".cpp", ".cu", ".h"))
    sources = (path for path in found if not OTHER_BINARIES & set(path.relative_to(package).parts))
    return sum(path.stat().st_mtime > built for path in sources)


def jpeg_decoder(path: Path) -> str:
    """The decoder in the library at a path."""
    try:
        has_simd = ctypes.CDLL(str(path)).orbbec_jpeg_has_simd()
    except (OSError, AttributeError):
        return ""
    return "libjpeg-turbo" if has_simd else "libjpeg-turbo without SIMD"


def has_codec(name: str) -> bool:
    return (PACKAGE / "data" / "decode" / f"_{name}.abi3.so").exists()


def system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except (OSError, AttributeError):
        name = ""
    return ", ".join(filter(None, [name or platform.system(), f"{platform.release()} {platform.machine()}"]))


def cpu_info(field: str) -> str:
    """The first value of a field of /proc/cpuinfo."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    match = re.search(rf"^{field}\s*:\s*(.*)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def cpu_model() -> str:
    return cpu_info("model name") or platform.processor() or platform.machine()


def cpu_flags() -> tuple[str, ...]:
    """The `SIMD_FLAGS` that the CPU supports."""
    present = set((cpu_info("flags") or cpu_info("Features")).split())
    return tuple(flag for flag in SIMD_FLAGS if flag in present)


def gpus(torch: Any, orbbec: Any) -> tuple[Gpu, ...]:
    """The GPUs that torch sees, tested; if it sees none, those listed by the driver."""
    if torch and torch.cuda.is_available():
        return tuple(torch_gpu(torch, orbbec, index) for index in range(torch.cuda.device_count()))
    rows = [row.split(", ") for row in nvidia_smi("name,compute_cap,memory.total")]
    return tuple(Gpu(name, capability, gib(float(mib) * 2**20), False, "") for name, capability, mib in rows)


def has_nvidia_device(devices: Path) -> bool:
    """Whether one of the devices, a folder each, has NVIDIA's number."""
    return any(vendor.read_text().strip() == "0x10de" for vendor in devices.glob("*/vendor"))


def torch_gpu(torch: Any, orbbec: Any, index: int) -> Gpu:
    found = torch.cuda.get_device_properties(index)
    self_test = (torch.ops.orbbec.cuda_self_test(index) or "passed") if orbbec else ""
    return Gpu(found.name, f"{found.major}.{found.minor}", gib(found.total_memory), True, self_test)


def gib(size: float) -> float:
    return round(size / 2**30, 1)


def nvidia_smi(fields: str) -> list[str]:
    """One line per GPU; empty without a driver."""
    return output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits").splitlines()


def nvcc() -> str:
    """Release and path of the nvcc that the build finds: in CUDA_HOME, else on PATH or in /usr/local/cuda."""
    home = os.environ.get("CUDA_HOME")
    installed = None if home else shutil.which("nvcc")
    path = installed or shutil.which("nvcc", path=f"{home or '/usr/local/cuda'}/bin")
    release = re.search(r"release ([\d.]+)", output_of(path, "--version")) if path else None
    return f"{release[1]} ({path})" if release else ""


def output_of(*command: str) -> str:
    """The output of a program; "" if it is missing, fails or takes longer than 20 s."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
