"""What is wrong with an installation, and the line that fixes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from .facts import Facts, Gpu

OLDEST_TORCH = "2.10"
NAMES = {"avx2": "AVX2", "avx512": "AVX-512"}
NASM = "sudo apt install nasm && "
VENDOR = "pip install cmake ninja && python 3rdparty/vendor.py"
JPEG_LIBRARY = f"{VENDOR} libjpeg_turbo && "


@dataclass(frozen=True)
class Advice:
    """A problem in a sentence, and the line that fixes it: a command or Python; empty if there is none."""

    problem: str
    line: str = ""


def advise(facts: Facts) -> list[Advice]:
    """Advice, the most urgent first; empty if there is no problem."""
    return [advice for check in CHECKS for advice in check(facts)]


def torch_advice(facts: Facts) -> Iterator[Advice]:
    install = f"pip install --upgrade 'torch>={OLDEST_TORCH}'"
    if not facts.torch:
        yield Advice(f"torch is not importable ({facts.torch_failure}).", install)
    elif version_numbers(facts.torch) < version_numbers(OLDEST_TORCH):
        yield Advice(f"torch {facts.torch} is too old: orbbec needs {OLDEST_TORCH} or newer.", install)


def binary_advice(facts: Facts) -> Iterator[Advice]:
    if facts.binary_failure and facts.torch:
        yield Advice(f"orbbec is not importable ({facts.binary_failure}).", build(facts))
    if facts.newer_sources:
        files = "1 source file is" if facts.newer_sources == 1 else f"{facts.newer_sources} source files are"
        yield Advice(f"The binary is out of date: {files} newer.", build(facts))


def package_advice(facts: Facts) -> Iterator[Advice]:
    """Required packages that are missing, and packages that are too old."""
    for package in facts.packages:
        install = f"pip install --upgrade '{package.name}>={package.oldest}'"
        if not package.version and package.required:
            yield Advice(f"{package.name} is not installed.", install)
        elif package.version and version_numbers(package.version) < version_numbers(package.oldest):
            needs = f"orbbec needs {package.oldest} or newer"
            yield Advice(f"{package.name} {package.version} is out of date: {needs}.", install)


def variable_advice(facts: Facts) -> Iterator[Advice]:
    if facts.library_variable:
        names = f"ORBBEC_LIBRARY names {facts.library_variable}"
        yield Advice(f"{names}, which is used instead of the package's own binary.", "unset ORBBEC_LIBRARY")
    if facts.simd_variable:
        target = NAMES.get(facts.cpu_target, facts.cpu_target)
        set_to = f"ORBBEC_SIMD is {facts.simd_variable}"
        yield Advice(f"{set_to}: CPU kernels use at most {target} code.", "unset ORBBEC_SIMD")


def cuda_advice(facts: Facts) -> Iterator[Advice]:
    """The first reason why nothing runs on the GPU."""
    if not facts.gpus and facts.nvidia_device:
        yield Advice(
            "There is an NVIDIA GPU without a driver, so everything runs on the CPU: install the driver, or "
            "start the container with `--gpus all`.",
            install_driver(facts),
        )
    elif not facts.gpus:
        yield Advice("There is no NVIDIA GPU: everything runs on the CPU, with the same results.")
    elif driver_is_too_old(facts):
        yield driver_advice(facts)
    elif facts.torch and not facts.torch_cuda:
        only = f"torch {facts.torch} has no CUDA, so it cannot use the {facts.gpus[0].name}."
        yield Advice(only, "pip install --force-reinstall torch")
    elif facts.torch and not any(gpu.seen_by_torch for gpu in facts.gpus):
        yield Advice(
            f"torch sees no GPU although the driver ({facts.driver}) does: CUDA_VISIBLE_DEVICES is empty, or "
            f"the driver is too old for CUDA {facts.torch_cuda}.",
            "unset CUDA_VISIBLE_DEVICES",
        )
    elif facts.orbbec and not facts.binary_cuda:
        where = "" if facts.nvcc else ", and nvcc was not found: install the CUDA toolkit first"
        yield Advice(f"The binary was built without CUDA{where}.", build(facts, "ORBBEC_CUDA=1 "))


def driver_is_too_old(facts: Facts) -> bool:
    """Whether the binary's CUDA has a newer major version than the driver's."""
    known = facts.binary_cuda and facts.driver_cuda
    return bool(known) and version_numbers(facts.driver_cuda)[0] < version_numbers(facts.binary_cuda)[0]


def oldest_driver(facts: Facts) -> int:
    """The oldest driver for the CUDA of the binary, or of torch if the binary has none.

    Source: CUDA compatibility guide, minor version compatibility.
    """
    return 580 if version_numbers(facts.binary_cuda or facts.torch_cuda)[0] >= 13 else 525


def install_driver(facts: Facts) -> str:
    return f"sudo apt install nvidia-driver-{oldest_driver(facts)}"


def driver_advice(facts: Facts) -> Advice:
    rebuild = ""
    if version_numbers(facts.driver_cuda)[0] == 12:
        older = build(facts, "CUDA_HOME=/usr/local/cuda-12.8 ORBBEC_CUDA=1 ")
        rebuild = f", or build with CUDA 12.8: `{older}`"
    return Advice(
        f"The driver ({facts.driver or 'of unknown version'}) supports CUDA up to {facts.driver_cuda}, but "
        f"the binary has the runtime of CUDA {facts.binary_cuda}: install driver {oldest_driver(facts)} or "
        f"newer{rebuild}.",
        install_driver(facts),
    )


def gpu_advice(facts: Facts) -> Iterator[Advice]:
    for gpu in facts.gpus:
        if gpu.self_test and facts.binary_cuda and not driver_is_too_old(facts):
            yield from advice_on(gpu, facts)


def advice_on(gpu: Gpu, facts: Facts) -> Iterator[Advice]:
    if is_native(gpu.capability, facts.architectures):
        if gpu.self_test != "passed":
            failed = f"CUDA does not work on the {gpu.name} ({gpu.self_test})"
            yield Advice(f"{failed}: check that the driver supports CUDA {facts.binary_cuda}.", "nvidia-smi")
        return
    rebuild = build(facts, f"TORCH_CUDA_ARCH_LIST={gpu.capability} ")
    binary = f"The binary ({', '.join(facts.architectures)})"
    if gpu.self_test == "passed":
        yield Advice(f"{binary} is compiled for the {gpu.name} at first use, which takes time.", rebuild)
    else:
        yield Advice(f"{binary} has no code for the {gpu.name} ({gpu.self_test}).", rebuild)


def is_native(capability: str, architectures: tuple[str, ...]) -> bool:
    """Whether code for one of the architectures runs natively: same major version, no newer minor version."""
    major, minor = version_numbers(capability)
    return any(version_numbers(one)[0] == major and version_numbers(one)[1] <= minor for one in architectures)


def opencv_advice(facts: Facts) -> Iterator[Advice]:
    if facts.orbbec and facts.source and facts.opencv_failure:
        line = build(facts, before=f"{VENDOR} && ")
        yield Advice("orbbec.opencv, which only tests need, is not built.", line)


def jpeg_advice(facts: Facts) -> Iterator[Advice]:
    if facts.orbbec and not facts.jpeg_decoder:
        yield Advice(
            "libjpeg-turbo is not built in: other libraries decode progressive JPEGs, always the whole "
            "image, even if a crop needs only a part.",
            build(facts, before=("" if facts.nasm else NASM) + JPEG_LIBRARY),
        )
    if facts.jpeg_decoder.endswith("without SIMD"):
        # 3rdparty/vendor.py says where this was measured.
        slower = "progressive JPEGs decode in about 1.5 times the time"
        line = build(facts, before=NASM + JPEG_LIBRARY)
        yield Advice(f"libjpeg-turbo was built without nasm, so without SIMD: {slower}.", line)


def codec_advice(facts: Facts) -> Iterator[Advice]:
    packages = {"png": "libspng", "webp": "libwebp"}
    missing = [packages[name] for name in packages if name not in facts.codecs]
    if facts.orbbec and missing:
        yield Advice(
            f"{' and '.join(missing)} not built in: Pillow decodes such files, and holds Python's lock.",
            build(facts, before=f"{VENDOR} {' '.join(missing)} && "),
        )


def cv2_advice(facts: Facts) -> Iterator[Advice]:
    name = {4: "cv2_4", 5: "cv2_5"}.get(version_numbers(facts.cv2)[0] if facts.cv2 else 0)
    if facts.arithmetic and name and facts.arithmetic != name:
        differs = f"orbbec's default is {facts.arithmetic}, which differs by up to 7 levels"
        yield Advice(
            f"cv2 is {facts.cv2}, but {differs}.", f'import orbbec; orbbec.set_default_arithmetic("{name}")'
        )


CHECKS = (
    torch_advice,
    binary_advice,
    package_advice,
    variable_advice,
    cuda_advice,
    gpu_advice,
    jpeg_advice,
    codec_advice,
    cv2_advice,
    opencv_advice,
)


def build(facts: Facts, variables: str = "", before: str = "") -> str:
    """The command that builds the source tree again, and installs it the way it is installed."""
    if facts.orbbec and not facts.binary_cuda and not facts.gpus:
        variables = variables or "ORBBEC_CUDA=0 "
    folder = facts.source or facts.installed_from or "SOURCE_OF_ORBBEC"
    return f"cd {shlex.quote(folder)} && {before}{variables}pip install {'-e ' if facts.source else ''}."


def version_numbers(version: str) -> tuple[int, int]:
    """(2, 13) for "2.13.0+cpu", (13, 0) for "13"; (0, 0) without numbers."""
    match = re.match(r"(\d+)(?:\.(\d+))?", version)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
