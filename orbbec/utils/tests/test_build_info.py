import re

import torch

from orbbec import utils


def test_compiler_version_names_a_compiler_and_its_version():
    assert re.fullmatch(r"(gcc|clang) \d+\.\d+\.\d+.*", utils.get_compiler_version())


def test_architectures_are_there_if_the_binary_has_cuda():
    if utils.get_compiling_cuda_version() == "not available":
        assert utils.get_compiled_architectures() == []
        assert torch.ops.orbbec.cuda_self_test(0) == "orbbec was built without CUDA"
    else:
        assert re.fullmatch(r"\d+\.\d+", utils.get_compiling_cuda_version())
        emulated = hasattr(torch.ops.orbbec, "set_emulation")
        assert emulated or utils.get_compiled_architectures()


def test_self_test_of_a_device_that_is_not_there_says_so():
    assert torch.ops.orbbec.cuda_self_test(1000) != ""
