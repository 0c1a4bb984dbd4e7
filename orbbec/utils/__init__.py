"""What the binary was built with."""

from orbbec.utils.build_info import (
    get_compiled_architectures,
    get_compiler_version,
    get_compiling_cuda_version,
)

__all__ = ["get_compiled_architectures", "get_compiler_version", "get_compiling_cuda_version"]
