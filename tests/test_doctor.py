"""The doctor's advice for simulated installations, and its report on this one."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("typer")
from typer.testing import CliRunner

import orbbec
from orbbec.__main__ import app
from orbbec.cli.doctor import Facts, Gpu, advise, collect, facts, report
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
    numpy="2.4.0",
    cv2="5.0.0",
    torchvision="",
    torch="2.13.0+cu130",
    torch_failure="",
    torch_cuda="13.0",
    arithmetic="cv2_5",
    binary="orbbec/_C.abi3.so",
    library_variable="",
    binary_failure="",
    compiler="gcc 12.2.0",
    binary_cuda="13.0",
    architectures=("8.0", "9.0"),
    opencv="5.0.0",
    opencv_failure="",
    jpeg_decoder="libjpeg-turbo",
    gpus=(H200,),
    driver="580.1",
    driver_cuda="13.0",
    nvcc="13.0",
)
OLD_GPU = replace(H200, name="Tesla T4", capability="7.5")


def test_a_healthy_installation_gets_no_advice():
    assert advise(HEALTHY) == []
    assert report(HEALTHY, []).endswith("No problems found.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"torch": "", "torch_failure": "ModuleNotFoundError", "orbbec": ""}, "install torch 2.10 or newer"),
        ({"torch": "2.9.1"}, "torch 2.9.1 is too old"),
        ({"orbbec": "", "binary_failure": "ImportError: no binary"}, "orbbec is not importable (ImportError"),
        ({"library_variable": "/some/_C.so"}, "ORBBEC_LIBRARY names /some/_C.so"),
        ({"gpus": ()}, "There is no GPU or no driver for it"),
        ({"torch": "2.13.0+cpu", "torch_cuda": ""}, "torch 2.13.0+cpu has no CUDA"),
        (
            {"gpus": (replace(H200, seen_by_torch=False, self_test=""),)},
            "torch sees no GPU although the driver",
        ),
        ({"binary_cuda": "", "architectures": ()}, "built without CUDA"),
        ({"binary_cuda": "", "architectures": (), "nvcc": ""}, "nvcc was not found"),
        ({"gpus": (replace(OLD_GPU, self_test="no kernel image"),)}, "has no code for the Tesla T4"),
        ({"gpus": (replace(OLD_GPU, self_test="no kernel image"),)}, "TORCH_CUDA_ARCH_LIST=7.5"),
        ({"gpus": (replace(H200, capability="12.0"),)}, "compiled for the NVIDIA H200 at first use"),
        (
            {"gpus": (replace(H200, self_test="driver is insufficient"),)},
            "check that the driver supports CUDA 13.0",
        ),
        (
            {"driver": "550.54", "driver_cuda": "12.4", "gpus": (replace(H200, self_test="insufficient"),)},
            "The driver (550.54) supports CUDA up to 12.4, but the binary has the runtime of CUDA 13.0: "
            "install driver 580 or newer, on Ubuntu with `sudo apt install nvidia-driver-580`, or build with "
            "CUDA 12.8: `CUDA_HOME=/usr/local/cuda-12.8 ORBBEC_CUDA=1 pip install -e . --no-build-isolation`",
        ),
        ({"driver_cuda": "11.4", "binary_cuda": "12.8"}, "with `sudo apt install nvidia-driver-525`."),
        (
            {"opencv": "", "opencv_failure": "ImportError"},
            "orbbec.opencv (needed by tests only) is not built",
        ),
        ({"jpeg_decoder": ""}, "orbbec.data decodes JPEGs that are not baseline with cv2"),
        ({"jpeg_decoder": "libjpeg-turbo without SIMD"}, "built without SIMD: install nasm"),
        ({"cv2": "4.12.0"}, 'orbbec.set_default_arithmetic("cv2_4")'),
        ({"arithmetic": "cv2_4"}, 'orbbec.set_default_arithmetic("cv2_5")'),
    ],
)
def test_one_thing_that_is_off_gets_one_sentence(changes, words):
    (sentence,) = advise(replace(HEALTHY, **changes))
    assert words in sentence
    assert sentence.endswith(".")


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
    assert any("supports CUDA up to 12.4" in sentence for sentence in advise(found))


def test_advice_on_each_gpu_names_that_gpu():
    failing = replace(OLD_GPU, self_test="no kernel image")
    (sentence,) = advise(replace(HEALTHY, gpus=(H200, failing)))
    assert "Tesla T4" in sentence


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
    assert len([gpu for gpu in found.gpus if gpu.seen_by_torch]) == torch.cuda.device_count()


def test_the_jpeg_decoder_that_was_built_is_named(tmp_path):
    assert bool(collect().jpeg_decoder) == has_native()
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
    assert any("ORBBEC_LIBRARY names" in sentence for sentence in found["advice"])
    assert any("orbbec is not importable" in sentence for sentence in found["advice"])
