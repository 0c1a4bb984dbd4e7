"""One sentence of advice per problem."""

from __future__ import annotations

import re

from .facts import Facts, Gpu

OLDEST_TORCH = (2, 10)
BUILD = "`pip install -e . --no-build-isolation` in the source tree"


def advise(facts: Facts) -> list[str]:
    """Advice, the most urgent first; empty if there is no problem."""
    found = [
        check(facts) for check in (torch_advice, binary_advice, library_advice, cuda_advice, opencv_advice)
    ]
    found += [gpu_advice(facts, gpu) for gpu in facts.gpus]
    found += [jpeg_advice(facts), cv2_advice(facts)]
    return [sentence for sentence in found if sentence]


def torch_advice(facts: Facts) -> str:
    if not facts.torch:
        return f"torch is not importable ({facts.torch_failure}): install torch 2.10 or newer."
    if version_numbers(facts.torch) < OLDEST_TORCH:
        return f"torch {facts.torch} is too old for the binary: install torch 2.10 or newer."
    return ""


def binary_advice(facts: Facts) -> str:
    if facts.binary_failure and facts.torch:
        return f"orbbec is not importable ({facts.binary_failure}): build it with {BUILD}."
    return ""


def library_advice(facts: Facts) -> str:
    if facts.library_variable:
        return f"ORBBEC_LIBRARY names {facts.library_variable}: unset it to use the package's own binary."
    return ""


def cuda_advice(facts: Facts) -> str:
    """The first reason why nothing runs on the GPU."""
    if not facts.gpus:
        return "There is no GPU or no driver for it: everything runs on the CPU, with the same results."
    if driver_is_too_old(facts):
        return driver_advice(facts)
    if facts.torch and not facts.torch_cuda:
        return (
            f"torch {facts.torch} has no CUDA: install a CUDA build of torch to use the {facts.gpus[0].name}."
        )
    if facts.torch and not any(gpu.seen_by_torch for gpu in facts.gpus):
        return (
            f"torch sees no GPU although the driver ({facts.driver}) does: check that CUDA_VISIBLE_DEVICES "
            f"is not empty, and that the driver is new enough for CUDA {facts.torch_cuda}."
        )
    if facts.orbbec and not facts.binary_cuda:
        where = "" if facts.nvcc else ", after installing the CUDA toolkit (nvcc was not found)"
        return f"The binary was built without CUDA: rebuild it with {BUILD}{where}."
    return ""


def driver_is_too_old(facts: Facts) -> bool:
    """Whether the binary's CUDA has a newer major version than the driver's."""
    known = facts.binary_cuda and facts.driver_cuda
    return bool(known) and version_numbers(facts.driver_cuda)[0] < version_numbers(facts.binary_cuda)[0]


def oldest_driver(facts: Facts) -> int:
    """The oldest driver for the binary's CUDA (CUDA compatibility guide, minor version compatibility)."""
    return 580 if version_numbers(facts.binary_cuda)[0] >= 13 else 525


def driver_advice(facts: Facts) -> str:
    older = "CUDA_HOME=/usr/local/cuda-12.8 ORBBEC_CUDA=1 pip install -e . --no-build-isolation"
    rebuild = f", or build with CUDA 12.8: `{older}`" if version_numbers(facts.driver_cuda)[0] == 12 else ""
    oldest = oldest_driver(facts)
    return (
        f"The driver ({facts.driver or 'of unknown version'}) supports CUDA up to {facts.driver_cuda}, but "
        f"the binary has the runtime of CUDA {facts.binary_cuda}: install driver {oldest} or newer, on "
        f"Ubuntu with `sudo apt install nvidia-driver-{oldest}`{rebuild}."
    )


def gpu_advice(facts: Facts, gpu: Gpu) -> str:
    if not (gpu.self_test and facts.binary_cuda) or driver_is_too_old(facts):
        return ""
    build = f"build with TORCH_CUDA_ARCH_LIST={gpu.capability}"
    if is_native(gpu.capability, facts.architectures):
        failed = f"CUDA does not work on the {gpu.name} ({gpu.self_test})"
        advice = f"{failed}: check that the driver supports CUDA {facts.binary_cuda}."
        return "" if gpu.self_test == "passed" else advice
    held = ", ".join(facts.architectures)
    if gpu.self_test == "passed":
        return f"The binary ({held}) is compiled for the {gpu.name} at first use: {build} to avoid the delay."
    return f"The binary ({held}) has no code for the {gpu.name} ({gpu.self_test}): {build}."


def is_native(capability: str, architectures: tuple[str, ...]) -> bool:
    """Whether code for one of the architectures runs natively: same major version, no newer minor version."""
    major, minor = version_numbers(capability)
    return any(version_numbers(one)[0] == major and version_numbers(one)[1] <= minor for one in architectures)


def opencv_advice(facts: Facts) -> str:
    if facts.orbbec and facts.opencv_failure:
        return (
            f"orbbec.opencv (needed by tests only) is not built: `python 3rdparty/vendor.py`, then {BUILD}."
        )
    return ""


def jpeg_advice(facts: Facts) -> str:
    vendor = "`python 3rdparty/vendor.py libjpeg_turbo`"
    if facts.orbbec and not facts.jpeg_decoder:
        return (
            f"orbbec.data decodes JPEGs that are not baseline with cv2 or Pillow: run {vendor}, then {BUILD}."
        )
    if facts.jpeg_decoder.endswith("without SIMD"):
        found = "libjpeg-turbo, for JPEGs that are not baseline, was built without SIMD"
        return f"{found}: install nasm, then {vendor} and {BUILD}."
    return ""


def cv2_advice(facts: Facts) -> str:
    wanted = {4: "cv2_4", 5: "cv2_5"}.get(version_numbers(facts.cv2)[0] if facts.cv2 else 0)
    if not (facts.arithmetic and wanted) or facts.arithmetic == wanted:
        return ""
    return (
        f"cv2 is {facts.cv2}, but orbbec's default is {facts.arithmetic}, which differs by up to 7 levels: "
        f'call orbbec.set_default_arithmetic("{wanted}") to match it.'
    )


def version_numbers(version: str) -> tuple[int, ...]:
    """(2, 13) for "2.13.0+cpu"; (0, 0) without numbers."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)
