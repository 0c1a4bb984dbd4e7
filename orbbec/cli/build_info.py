"""The compilers of the binary, as recorded in it."""

import re

import torch


def get_compiler_version() -> str:
    """The C++ compiler that the binary was built with.

    Example:
        >>> get_compiler_version().split()[0] in ("gcc", "clang")
        True
    """
    return str(torch.ops.orbbec.compiler_version())


def get_compiling_cuda_version() -> str:
    """The CUDA toolkit that the binary was built with, such as "13.0"; "not available" for a CPU-only build.

    Example:
        >>> get_compiling_cuda_version() != ""
        True
    """
    return str(torch.ops.orbbec.compiled_cuda_version()) or "not available"


def get_compiled_architectures() -> list[str]:
    """The compute capabilities that the CUDA kernels were compiled for, such as "9.0"; empty without CUDA.

    Example:
        >>> all("." in architecture for architecture in get_compiled_architectures())
        True
    """
    names = str(torch.ops.orbbec.compiled_architectures())
    return [".".join(numbers) for numbers in re.findall(r"sm_(\d+)(\d)", names)]
