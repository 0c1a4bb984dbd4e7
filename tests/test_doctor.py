"""The doctor's advice for simulated installations, and its report on this one."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("typer")
from typer.testing import CliRunner

import orbbec
from orbbec.__main__ import app
from orbbec.cli.doctor import Facts, Gpu, Package, advise, collect, facts, report
from orbbec.cli.doctor.advice import OLDEST_TORCH
from orbbec.data.decode.codecs import codec
from orbbec.data.decode.native import has_native
from tests.support import Device

ROOT = Path(__file__).parents[1]
H200 = Gpu("NVIDIA H200", "9.0", 139.8, seen_by_torch=True, self_test="passed")
HEALTHY = Facts(
    orbbec="0.1.0",
    python="3.12.1 (CPython)",
    system="Debian",
    cpu="Some CPU",
    cpu_flags=("avx2",),
    cores=2,
    cpu_targets=("scalar", "avx2", "avx512"),
    cpu_target="avx2",
    simd_variable="",
    packages=(
        Package("pillow", "13.0.0", "10.1", required=True),
        Package("h5py", "", "3.10", required=False),
    ),
    numpy="2.4.0",
    cv2="5.0.0",
    simplejpeg="",
    torchvision="",
    torch="2.13.0+cu130",
    torch_failure="",
    torch_cuda="13.0",
    arithmetic="cv2_5",
    source="/src/orbbec",
    installed_from="",
    newer_sources=0,
    binary="orbbec/_C.abi3.so",
    library_variable="",
    binary_failure="",
    compiler="gcc 12.2.0",
    binary_cuda="13.0",
    architectures=("8.0", "9.0"),
    opencv="5.0.0",
    opencv_failure="",
    jpeg_decoder="libjpeg-turbo",
    codecs=("png", "webp"),
    nasm="/usr/bin/nasm",
    nvimgcodec="0.9.0",
    gpus=(H200,),
    nvidia_device=True,
    driver="580.1",
    driver_cuda="13.0",
    nvcc="13.0",
)
OLD_GPU = replace(H200, name="Tesla T4", capability="7.5")


def test_a_healthy_installation_gets_no_advice():
    assert advise(HEALTHY) == []
    assert report(HEALTHY, []).endswith("No problems found.")


BUILD = "cd /src/orbbec && pip install -e ."


@pytest.mark.parametrize(
    ("changes", "words", "line"),
    [
        (
            {"torch": "", "torch_failure": "ModuleNotFoundError", "orbbec": ""},
            "torch is not importable (ModuleNotFoundError)",
            "pip install --upgrade 'torch>=2.10'",
        ),
        ({"torch": "2.9.1"}, "torch 2.9.1 is too old", "pip install --upgrade 'torch>=2.10'"),
        (
            {"orbbec": "", "binary_failure": "ImportError: no binary"},
            "orbbec is not importable (ImportError",
            BUILD,
        ),
        ({"newer_sources": 1}, "The binary is out of date: 1 source file is newer", BUILD),
        ({"newer_sources": 3}, "The binary is out of date: 3 source files are newer", BUILD),
        (
            {"packages": (Package("pillow", "9.5.0", "10.1", required=True),)},
            "pillow 9.5.0 is out of date: orbbec needs 10.1 or newer",
            "pip install --upgrade 'pillow>=10.1'",
        ),
        (
            {"packages": (Package("h5py", "3.9.0", "3.10", required=False),)},
            "h5py 3.9.0 is out of date: orbbec needs 3.10 or newer",
            "pip install --upgrade 'h5py>=3.10'",
        ),
        (
            {"packages": (Package("pyyaml", "", "6", required=True),)},
            "pyyaml is not installed",
            "pip install --upgrade 'pyyaml>=6'",
        ),
        ({"library_variable": "/some/_C.so"}, "ORBBEC_LIBRARY names /some/_C.so", "unset ORBBEC_LIBRARY"),
        (
            {"simd_variable": "avx2"},
            "ORBBEC_SIMD is avx2: CPU kernels use at most AVX2 code",
            "unset ORBBEC_SIMD",
        ),
        ({"gpus": (), "nvidia_device": False}, "There is no NVIDIA GPU: everything runs on the CPU", ""),
        ({"gpus": ()}, "There is an NVIDIA GPU without a driver", "sudo apt install nvidia-driver-580"),
        (
            {"gpus": (), "binary_cuda": "", "torch_cuda": "12.8"},
            "There is an NVIDIA GPU without a driver",
            "sudo apt install nvidia-driver-525",
        ),
        (
            {"torch": "2.13.0+cpu", "torch_cuda": ""},
            "torch 2.13.0+cpu has no CUDA, so it cannot use the NVIDIA H200",
            "pip install --force-reinstall torch",
        ),
        (
            {"gpus": (replace(H200, seen_by_torch=False, self_test=""),)},
            "torch sees no GPU although the driver",
            "unset CUDA_VISIBLE_DEVICES",
        ),
        (
            {"binary_cuda": "", "architectures": ()},
            "The binary was built without CUDA.",
            "cd /src/orbbec && ORBBEC_CUDA=1 pip install -e .",
        ),
        (
            {"binary_cuda": "", "architectures": (), "nvcc": ""},
            "nvcc was not found: install the CUDA toolkit first",
            "cd /src/orbbec && ORBBEC_CUDA=1 pip install -e .",
        ),
        (
            {"gpus": (replace(OLD_GPU, self_test="no kernel image"),)},
            "The binary (8.0, 9.0) has no code for the Tesla T4",
            "cd /src/orbbec && TORCH_CUDA_ARCH_LIST=7.5 pip install -e .",
        ),
        (
            {"gpus": (replace(H200, capability="12.0"),)},
            "compiled for the NVIDIA H200 at first use",
            "cd /src/orbbec && TORCH_CUDA_ARCH_LIST=12.0 pip install -e .",
        ),
        (
            {"gpus": (replace(H200, self_test="driver is insufficient"),)},
            "check that the driver supports CUDA 13.0",
            "nvidia-smi",
        ),
        (
            {"driver": "550.54", "driver_cuda": "12.4", "gpus": (replace(H200, self_test="insufficient"),)},
            "The driver (550.54) supports CUDA up to 12.4, but the binary has the runtime of CUDA 13.0: "
            "install driver 580 or newer, or build with CUDA 12.8: `cd /src/orbbec && "
            "CUDA_HOME=/usr/local/cuda-12.8 ORBBEC_CUDA=1 pip install -e .`.",
            "sudo apt install nvidia-driver-580",
        ),
        (
            {"driver_cuda": "11.4", "binary_cuda": "12.8"},
            "install driver 525 or newer.",
            "sudo apt install nvidia-driver-525",
        ),
        (
            {"opencv": "", "opencv_failure": "ImportError"},
            "orbbec.opencv, which only tests need, is not built",
            "cd /src/orbbec && pip install cmake ninja && python 3rdparty/vendor.py && pip install -e .",
        ),
        (
            {"jpeg_decoder": ""},
            "libjpeg-turbo is not built in",
            "cd /src/orbbec && pip install cmake ninja && "
            "python 3rdparty/vendor.py libjpeg_turbo && pip install -e .",
        ),
        (
            {"jpeg_decoder": "", "nasm": ""},
            "libjpeg-turbo is not built in",
            "cd /src/orbbec && sudo apt install nasm && pip install cmake ninja && "
            "python 3rdparty/vendor.py libjpeg_turbo && pip install -e .",
        ),
        (
            {"jpeg_decoder": "libjpeg-turbo without SIMD", "nasm": ""},
            "without SIMD: progressive JPEGs decode in about 1.5 times the time",
            "cd /src/orbbec && sudo apt install nasm && pip install cmake ninja && "
            "python 3rdparty/vendor.py libjpeg_turbo && pip install -e .",
        ),
        (
            {"codecs": ()},
            "libspng and libwebp not built in: Pillow decodes such files, and holds Python's lock.",
            "cd /src/orbbec && pip install cmake ninja && "
            "python 3rdparty/vendor.py libspng libwebp && pip install -e .",
        ),
        (
            {"codecs": ("png",)},
            "libwebp not built in",
            "cd /src/orbbec && pip install cmake ninja && "
            "python 3rdparty/vendor.py libwebp && pip install -e .",
        ),
        ({"cv2": "4.12.0"}, "cv2 is 4.12.0", 'import orbbec; orbbec.set_default_arithmetic("cv2_4")'),
        (
            {"arithmetic": "cv2_4"},
            "default is cv2_4",
            'import orbbec; orbbec.set_default_arithmetic("cv2_5")',
        ),
    ],
)
def test_one_thing_that_is_off_gets_one_sentence_and_one_line(changes, words, line):
    found = replace(HEALTHY, **changes)
    (advice,) = advise(found)
    assert words in advice.problem
    assert advice.problem.endswith(".")
    assert advice.line == line
    text = report(found, [advice])
    assert text.endswith(f"\n- {advice.problem}" + (f"\n    {line}" if line else ""))


def test_a_copy_that_pip_built_is_built_again_from_its_source():
    copied = replace(HEALTHY, source="", installed_from="/src/orbbec", jpeg_decoder="")
    (advice,) = advise(copied)
    assert advice.line.startswith("cd /src/orbbec && ")
    assert advice.line.endswith(" && pip install .")


def test_a_build_without_cuda_stays_one_where_there_is_no_gpu():
    alone = replace(HEALTHY, binary_cuda="", architectures=(), gpus=(), nvidia_device=False, jpeg_decoder="")
    no_gpu, jpeg = advise(alone)
    assert no_gpu.line == ""
    assert jpeg.line.endswith("libjpeg_turbo && ORBBEC_CUDA=0 pip install -e .")
    without, jpeg = advise(replace(alone, gpus=(H200,)))
    assert without.line.endswith("ORBBEC_CUDA=1 pip install -e .")
    assert jpeg.line.endswith("libjpeg_turbo && pip install -e .")


def test_the_source_of_a_copy_is_the_folder_that_pip_recorded(tmp_path, monkeypatch):
    source, record = tmp_path / "my source", tmp_path / "site" / "orbbec-0.1.0.dist-info"
    source.mkdir()
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Name: orbbec\nVersion: 0.1.0\n")
    (record / "direct_url.json").write_text(json.dumps({"url": source.as_uri(), "dir_info": {}}))
    monkeypatch.syspath_prepend(record.parent)
    assert facts.installed_from() == ""  # no setup.py
    (source / "setup.py").touch()
    assert facts.installed_from() == str(source)


def test_a_gpu_without_a_driver_is_found_on_the_bus(tmp_path):
    for name, vendor in (("0", "0x8086"), ("1", "0x10de")):
        assert not facts.has_nvidia_device(tmp_path)
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
    assert facts.has_nvidia_device(tmp_path)


def test_a_wheel_gets_no_advice_about_what_only_tests_need():
    wheel = replace(HEALTHY, source="", opencv="", opencv_failure="ImportError")
    assert advise(wheel) == []
    assert "orbbec.opencv" not in report(wheel, [])


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "  kernels        AVX2 (built: scalar, AVX2, AVX-512)"),
        ({"cpu_target": "avx512"}, "  kernels        AVX-512 (built: scalar, AVX2, AVX-512)"),
        ({"cpu_target": "scalar", "cpu_targets": ("scalar",)}, "  kernels        scalar (built: scalar)"),
        ({}, "JPEG, baseline   orbbec, whole or a region"),
        ({}, "JPEG, other      libjpeg-turbo with SIMD, whole or a region"),
        (
            {"jpeg_decoder": "libjpeg-turbo without SIMD"},
            "JPEG, other      libjpeg-turbo without SIMD, whole or a region",
        ),
        (
            {"jpeg_decoder": "", "simplejpeg": "1.8.2"},
            "JPEG, other      simplejpeg, whole: libjpeg-turbo is not built in",
        ),
        ({"jpeg_decoder": ""}, "JPEG, other      cv2, whole: libjpeg-turbo is not built in"),
        ({"jpeg_decoder": "", "cv2": ""}, "JPEG, other      Pillow, whole: libjpeg-turbo is not built in"),
        ({}, "JPEG, on a GPU   orbbec, baseline, nvImageCodec 0.9.0"),
        ({"jpeg_decoder": ""}, "JPEG, on a GPU   nvImageCodec 0.9.0"),
        (
            {"nvimgcodec": "", "torch_cuda": "12.8", "binary_cuda": ""},
            "JPEG, on a GPU   nvImageCodec is not installed (pip install 'nvidia-nvimgcodec-cu12[nvjpeg]')",
        ),
        ({}, "PNG              libspng"),
        ({"codecs": ("png",)}, "WebP             Pillow: libwebp is not built in"),
        ({}, "packages         pillow 13.0.0"),
    ],
)
def test_a_fact_has_a_line(changes, line):
    assert line in report(replace(HEALTHY, **changes), []).splitlines()


def test_the_oldest_versions_are_those_of_the_package():
    text = (ROOT / "pyproject.toml").read_text()
    for name, oldest in {"torch": OLDEST_TORCH, **facts.REQUIRED}.items():
        assert f'"{name}>={oldest}"' in re.search(r"^dependencies = (.*)", text, re.MULTILINE)[1]
        assert f"{name}>={oldest}" in (ROOT / "requirements" / "runtime.txt").read_text().splitlines()
    for name, oldest in facts.OPTIONAL.items():
        assert re.search(rf'"{name}(\[data\])?>={oldest}"', text)


def test_sources_that_are_newer_than_the_binary_are_counted(tmp_path):
    binary = tmp_path / "_C.abi3.so"
    assert facts.newer_sources(tmp_path, binary) == 0
    binary.touch()
    for name, age in (("nms/a.cpp", -9), ("nms/b.cu", 9), ("c.h", 9), ("d.py", 9), ("opencv/e.cpp", 9)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, binary.stat().st_mtime + age))
    assert facts.newer_sources(tmp_path, binary) == 2


@pytest.mark.parametrize("cv2", ["", "5.1.0", "6.0.0"])
def test_cv2_that_is_absent_or_unknown_gets_no_advice(cv2):
    assert advise(replace(HEALTHY, cv2=cv2)) == []


def test_the_older_minor_version_of_an_architecture_serves_a_gpu():
    ampere = replace(H200, name="NVIDIA RTX A4000", capability="8.6")
    assert advise(replace(HEALTHY, gpus=(ampere,))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "580.1, CUDA 13.0; the binary's CUDA 13.0 needs 580 or newer"),
        ({"driver_cuda": "12.4"}, "580.1, CUDA 12.4; the binary's CUDA 13.0 needs 580 or newer"),
        ({"binary_cuda": "12.8"}, "580.1, CUDA 13.0; the binary's CUDA 12.8 needs 525 or newer"),
        ({"driver": "", "driver_cuda": ""}, "none; the binary's CUDA 13.0 needs 580 or newer"),
        ({"driver": "", "driver_cuda": "", "binary_cuda": ""}, "none"),
    ],
)
def test_the_driver_is_compared_with_what_the_binary_needs(changes, words):
    assert f"\ndriver           {words}\n" in report(replace(HEALTHY, **changes), [])


@pytest.mark.parametrize(("driver", "binary"), [("12.0", "12.8"), ("13.0", "12.8"), ("13.0", "13.1")])
def test_a_driver_runs_every_runtime_of_its_major_version(driver, binary):
    assert advise(replace(HEALTHY, driver_cuda=driver, binary_cuda=binary)) == []


@pytest.mark.skipif(not hasattr(torch.ops.orbbec, "set_emulation"), reason="needs the emulated device")
@pytest.mark.sanitized
@pytest.mark.parametrize(
    ("driver", "words"),
    [("12040", "the NVIDIA driver supports CUDA up to 12.4"), ("0", "there is no NVIDIA driver")],
)
def test_a_launch_names_the_driver_and_what_it_lacks(monkeypatch, driver, words):
    monkeypatch.setenv("ORBBEC_EMULATION_DRIVER", driver)
    device = Device("emulated")
    needs = "but this build has the runtime of CUDA 13.0, which needs driver 580 or newer"
    with device.active(), pytest.raises(RuntimeError, match=f"^invert: CUDA: .*: {words}, {needs}"):
        orbbec.invert(torch.zeros(1, 3, 4, 4))
    assert f"{words}, {needs}" in torch.ops.orbbec.cuda_self_test(0)
    monkeypatch.delenv("ORBBEC_EMULATION_DRIVER")
    with device.active():
        assert orbbec.invert(torch.zeros(1, 3, 4, 4)).eq(1).all()


@pytest.mark.skipif(not hasattr(torch.ops.orbbec, "set_emulation"), reason="needs the emulated device")
@pytest.mark.sanitized
def test_doctor_says_that_the_driver_of_the_emulated_device_is_too_old(monkeypatch):
    monkeypatch.setenv("ORBBEC_EMULATION_DRIVER", "12040")
    found = replace(collect(), gpus=(replace(H200, self_test=torch.ops.orbbec.cuda_self_test(0)),))
    assert found.driver_cuda == "12.4"
    assert any("supports CUDA up to 12.4" in advice.problem for advice in advise(found))


def test_advice_on_each_gpu_names_that_gpu():
    failing = replace(OLD_GPU, self_test="no kernel image")
    (advice,) = advise(replace(HEALTHY, gpus=(H200, failing)))
    assert "Tesla T4" in advice.problem


def test_gpus_that_torch_cannot_see_come_from_the_driver(monkeypatch):
    monkeypatch.setattr(facts, "nvidia_smi", lambda fields: ["NVIDIA H200, 9.0, 143771"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (gpu,) = facts.gpus(torch, orbbec)
    assert gpu == Gpu("NVIDIA H200", "9.0", 140.4, seen_by_torch=False, self_test="")


def test_a_program_that_is_missing_or_fails_prints_nothing():
    assert facts.output_of("no-such-program-of-anyone") == ""
    assert facts.output_of(sys.executable, "-c", "print('out'); raise SystemExit(3)") == ""
    assert facts.output_of(sys.executable, "-c", "print('out')") == "out"


def test_facts_of_this_installation_are_true():
    found = collect()
    assert found.orbbec == orbbec.__version__
    assert found.torch == torch.__version__
    assert Path(found.binary).exists()
    assert found.binary_failure == ""
    assert found.numpy == np.__version__
    assert {"numpy", "typer", "rich"} <= {package.name for package in found.packages if package.version}
    assert len([gpu for gpu in found.gpus if gpu.seen_by_torch]) == torch.cuda.device_count()


@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_the_target_of_the_cpu_kernels_is_that_of_the_variable_at_most(monkeypatch, level):
    targets = facts.answer_of(torch, "cpu_targets").split(",")
    best = facts.answer_of(torch, "cpu_target")
    monkeypatch.setenv("ORBBEC_SIMD", level)
    expected = min(level, best, key=["scalar", "avx2", "avx512"].index)
    assert collect().cpu_target == expected
    assert expected in targets


def test_an_operator_that_an_older_binary_lacks_answers_nothing():
    assert facts.answer_of(torch, "operator_of_the_future") == ""


def test_the_decoders_that_were_built_are_named(tmp_path):
    assert bool(collect().jpeg_decoder) == has_native()
    assert collect().codecs == tuple(name for name in ("png", "webp") if codec(name))
    assert facts.jpeg_decoder(tmp_path / "missing.so") == ""


def test_cuda_self_test_tells_why_there_is_no_cuda_or_passes():
    said = torch.ops.orbbec.cuda_self_test(0)
    if torch.cuda.is_available() or hasattr(torch.ops.orbbec, "set_emulation"):
        assert said == ""
    else:
        assert "CUDA" in said


def test_doctor_prints_facts_and_advice():
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert f"torch            {torch.__version__}" in result.stdout
    assert "\n- " in result.stdout


def test_doctor_prints_json():
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert json.loads(result.stdout)["torch"] == torch.__version__


def test_collect_env_runs_where_the_binary_does_not_load(tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "collect_env.py", "--json"],
        env={"PATH": "/usr/bin:/bin", "ORBBEC_LIBRARY": str(broken)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(result.stdout)
    assert "broken.so" in found["binary_failure"]
    assert any("ORBBEC_LIBRARY names" in advice["problem"] for advice in found["advice"])
    assert any("orbbec is not importable" in advice["problem"] for advice in found["advice"])
