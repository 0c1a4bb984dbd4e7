"""Builds orbbec: one binary for CPU and CUDA, and the extensions that need packages of `3rdparty/vendor.py`.

Design decisions:

- Sources are found by listing folders, so adding an operator changes nothing here.
- With torch's stable ABI and no Python symbols, `orbbec/_C.abi3.so` works with torch >= 2.10 and CPython
  >= 3.10.
- `CppExtension` also compiles CUDA, because `CUDAExtension` links libraries that a CPU-only torch lacks. The
  `.cu` files only need the CUDA runtime, which is linked statically, so a machine without a GPU builds the
  same binary.
- nvcc translates the kernels to PTX once, for the oldest architecture, and assembles that for each GPU: a
  fifth of the time, and the PTX that `tests/gpu/ptx` executes is what every GPU runs.
- With `-ffp-contract=off` and `-fmad=false`, multiply-adds are fused only where the source says so.
  `-ftz=false -prec-div=true -prec-sqrt=true` keep denormals and round divisions and roots correctly.

Environment variables: `ORBBEC_CUDA=0|1` disables or requires CUDA (default: used if nvcc is found),
`TORCH_CUDA_ARCH_LIST` selects the architectures (default: those of the GPUs present, else
`DEFAULT_ARCHITECTURES`), `MAX_JOBS` limits the number of jobs.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from setuptools import Extension, setup
from torch.utils import cpp_extension

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "3rdparty"))
import extensions  # noqa: E402

TORCH_TARGET = "0x020a000000000000"  # 2.10, the oldest torch supported by the binary
# Turing to Blackwell. The code of a major version's first minor also runs on later minors; PTX covers the
# future.
DEFAULT_ARCHITECTURES = "7.5;8.0;9.0;10.0;12.0+PTX"
PTX = "compute_75"
NVCC_FLAGS = ["-O3", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"]


# torch looks for ninja on PATH; it is next to the interpreter, which may have been called by its path.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def find_cuda() -> Path | None:
    """The CUDA toolkit to build with, or None for a build without CUDA."""
    wanted = os.environ.get("ORBBEC_CUDA", "")
    if wanted not in ("", "0", "1"):
        raise SystemExit(f"ORBBEC_CUDA: expected 0 or 1, but got '{wanted}'")
    home = os.environ.get("CUDA_HOME")
    nvcc = Path(home, "bin", "nvcc") if home else Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    if wanted == "0" or not nvcc.exists():
        if wanted == "1":
            raise SystemExit("ORBBEC_CUDA=1, but no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda")
        return None
    return toolkit_of(nvcc)


def toolkit_of(nvcc: Path) -> Path:
    """The toolkit's folder as nvcc itself reports it: the file on PATH may be a wrapper."""
    report = subprocess.run([nvcc, "--dryrun", "-x", "cu", os.devnull], capture_output=True, text=True).stderr
    tops = [line.split("=", 1)[1] for line in report.splitlines() if line.startswith("#$ TOP=")]
    return Path(tops[0]).resolve() if tops else nvcc.resolve().parent.parent


def release_of(toolkit: Path) -> str:
    """Such as 12.8."""
    report = subprocess.run([toolkit / "bin" / "nvcc", "--version"], capture_output=True, text=True).stdout
    return re.search(r"release ([\d.]+)", report)[1]


def architectures() -> str:
    """What nvcc compiles for, in the notation of TORCH_CUDA_ARCH_LIST."""
    if "TORCH_CUDA_ARCH_LIST" in os.environ:
        return os.environ["TORCH_CUDA_ARCH_LIST"]
    if torch.cuda.is_available():
        present = {torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())}
        return ";".join(f"{major}.{minor}" for major, minor in sorted(present))
    return DEFAULT_ARCHITECTURES


def machine_code_flags(wanted: str) -> list[str]:
    """The flags of nvcc that assemble one PTX for architectures in the notation of TORCH_CUDA_ARCH_LIST.

    nvcc names only the architecture of the PTX in ``__CUDA_ARCH_LIST__``, so the others are defined here.
    """
    codes = []
    for architecture in re.split(r"[; ]+", wanted.strip("; ")):
        found = re.fullmatch(r"(\d+)\.(\d+)(\+PTX)?", architecture)
        if not found or (int(found[1]), int(found[2])) < (7, 5):
            raise SystemExit(
                f"TORCH_CUDA_ARCH_LIST: expected numbers from 7.5, as in '8.0;9.0+PTX', but got '{wanted}'"
            )
        codes += [f"sm_{found[1]}{found[2]}"] + ([PTX] if found[3] else [])
    names = "+".join(code for code in codes if code != PTX)
    return [f"-gencode=arch={PTX},code=[{','.join(codes)}]", f"-DORBBEC_ARCHITECTURES={names}"]


LEFT_OUT = {"opencv", "data", "tests"}


def sources(pattern: str) -> list[str]:
    found = sorted((ROOT / "orbbec").rglob(pattern))
    return [str(path.relative_to(ROOT)) for path in found if not LEFT_OUT & set(path.parts)]


def operators() -> cpp_extension.CppExtension:
    cuda = find_cuda()
    cxx_flags = ["-O3", "-g0", "-Wno-psabi", "-ffp-contract=off", "-fvisibility=hidden"]
    cxx_flags += [f"-DTORCH_TARGET_VERSION={TORCH_TARGET}"]
    if cuda is None:
        print("orbbec: building for the CPU only (no nvcc, or ORBBEC_CUDA=0)")
        return cpp_extension.CppExtension(
            "orbbec._C", sources("*.cpp"), extra_compile_args={"cxx": cxx_flags}, py_limited_api=True
        )
    wanted = architectures()
    print(f"orbbec: building for CPU and CUDA ({cuda}, architectures {wanted})")
    cpp_extension.CUDA_HOME = str(cuda)
    # torch refuses a CUDA other than its own, which the binary does not need; without one torch tracks no
    # headers of .cu files.
    torch.version.cuda = release_of(cuda)
    return cpp_extension.CppExtension(
        "orbbec._C",
        sources("*.cpp") + sources("*.cu"),
        include_dirs=[str(cuda / "include")],
        library_dirs=[str(cuda / "lib64")],
        libraries=["cudart_static", "dl", "rt", "pthread"],
        extra_compile_args={
            "cxx": cxx_flags,
            "nvcc": [*machine_code_flags(wanted), *NVCC_FLAGS, "--threads=2"],
        },
        py_limited_api=True,
    )


def vendored() -> list[object]:
    """The extensions that need packages of `3rdparty/vendor.py`. Wheels have no `orbbec.opencv`."""
    found = {
        "orbbec.data's JPEG decoder": extensions.jpeg(),
        "orbbec.data's PNG decoder": extensions.png(),
        "orbbec.data's WebP decoder": extensions.webp(),
    }
    if "bdist_wheel" not in sys.argv:
        found["orbbec.opencv"] = extensions.opencv()
    for name, extension in found.items():
        print(f"orbbec: {'building' if extension else 'nothing in 3rdparty for'} {name}")
    return [extension for extension in found.values() if extension]


def jpeg_check() -> object:
    """The library ``orbbec/data/decode/_jpeg_check.abi3.so``, not a module."""
    return Extension(
        "orbbec.data.decode._jpeg_check",
        sources=["orbbec/data/decode/jpeg_check.cpp"],
        depends=["orbbec/data/decode/jpeg_bits.h"],
        extra_compile_args=["-std=c++17", "-O2", "-g0", "-fvisibility=hidden"],
        extra_link_args=["-Wl,-s"],
        language="c++",
        py_limited_api=True,
    )


def print_jpeg_advice() -> None:
    """How to make progressive JPEGs decode faster; nothing if they already do."""
    if advice := extensions.jpeg_advice():
        print(f"orbbec: {advice}", flush=True)


print_jpeg_advice()
setup(
    ext_modules=[operators(), jpeg_check(), *vendored()],
    cmdclass={"build_ext": cpp_extension.BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
print_jpeg_advice()
