import re

import torch

from orbbec.cli import build_info


def test_compiler_version_names_a_compiler_and_its_version():
    assert re.fullmatch(r"(gcc|clang) \d+\.\d+\.\d+.*", build_info.get_compiler_version())


def test_architectures_are_there_if_the_binary_has_cuda():
    if build_info.get_compiling_cuda_version() == "not available":
        assert build_info.get_compiled_architectures() == []
        assert torch.ops.orbbec.cuda_self_test(0) == "orbbec was built without CUDA"
    else:
        assert re.fullmatch(r"\d+\.\d+", build_info.get_compiling_cuda_version())
        emulated = hasattr(torch.ops.orbbec, "set_emulation")
        assert emulated or build_info.get_compiled_architectures()


def test_self_test_of_a_device_that_is_not_there_says_so():
    assert torch.ops.orbbec.cuda_self_test(1000) != ""
