"""A launch that one of the supported architectures would refuse is refused by the emulated device."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.emulation.test_emulation import HERE, load_build

TABLES = HERE.parent.parent / "tools" / "machine_code"
COLUMNS = "# architectures 75/80/86/89/90/100/120\nkernel\tthreads\tparameters\tshared\tregisters\n"
SMALL = "fill<Box<4>>"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """kernels/limits.cu."""
    plan = load_build().Plan(tmp_path_factory.mktemp("plain"), "plain")
    built = plan.link("limits", [plan.compile(HERE / "kernels" / "limits.cu"), *plan.runtime()], "")
    plan.build()
    return built


@pytest.fixture
def launch(program, tmp_path):
    """Runs the program with a table of one row: its output and what it complains of."""

    def run(row: str, kernel: str, threads: int, shared: int, opt_in: int = 64 * 1024) -> tuple[str, str]:
        shutil.copy(TABLES / "limits.tsv", tmp_path)
        (tmp_path / "kernels.tsv").write_text(f"{COLUMNS}[orbbec/x_cuda.cu]\n{row}\n")
        environment = os.environ | {
            "ORBBEC_EMULATION_LIMITS": str(tmp_path),
            "ORBBEC_EMULATION_SHARED": str(opt_in),
        }
        command = [program, kernel, str(threads), str(shared)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip(), done.stderr.strip()

    return run


def row(threads: int = 0, parameters: int = 12, shared: int = 0, registers: str = "32") -> str:
    return f"{SMALL}\t{threads}\t{parameters}\t{shared}\t{registers}"


@pytest.mark.parametrize(
    ("registers", "threads", "expected"),
    [
        ("64", 1024, ""),  # all 65,536 of them
        ("128", 1024, "sm_75 refuses fill<Box<4>>: 128 registers in 1024 threads"),
        ("128", 512, ""),
        # 65 x 32 is rounded to 2,304 a warp; 32 warps take 73,728.
        ("64/65/64/64/64/64/64", 1024, "sm_80 refuses fill<Box<4>>: 65 registers in 1024 threads"),
        # 7,168 a warp: 9 warps would fit, but are counted as 12.
        ("224", 256, ""),
        ("224", 288, "sm_75 refuses fill<Box<4>>: 224 registers in 288 threads"),
    ],
)
def test_registers_of_a_block(launch, registers, threads, expected):
    assert launch(row(registers=registers), "small", threads, 0) == (expected or "no error", "")


def test_launch_bounds(launch):
    assert launch(row(threads=256), "small", 256, 0) == ("no error", "")
    expected = "sm_75 refuses fill<Box<4>>: 257 threads, launch bounds of 256"
    assert launch(row(threads=256), "small", 257, 0) == (expected, "")


def test_static_and_dynamic_shared_memory_without_asking(launch):
    """The launcher asks beyond 48 KiB of dynamic memory; the static bytes count too."""
    assert launch(row(shared=1024), "small", 1, 47 * 1024) == ("no error", "")
    expected = "sm_75 refuses fill<Box<4>>: 1024 + 49152 bytes of shared memory, more than without asking"
    assert launch(row(shared=1024), "small", 1, 48 * 1024) == (expected, "")


def test_shared_memory_that_the_kernel_asks_for(launch):
    assert launch(row(shared=1024), "small", 1, 63 * 1024) == ("no error", "")
    expected = "sm_75 refuses fill<Box<4>>: 1024 + 65536 of 65536 bytes of shared memory"
    assert launch(row(shared=1024), "small", 1, 64 * 1024) == (expected, "")


def test_a_device_with_more_shared_memory_stands_for_those_that_have_as_much(launch):
    """On sm_75, sm_86, sm_89 and sm_120 the code would have found less and asked for less."""
    assert launch(row(shared=1024), "small", 1, 98 * 1024, 99 * 1024) == ("no error", "")
    expected = "sm_86 refuses fill<Box<4>>: 1024 + 101376 of 101376 bytes of shared memory"
    assert launch(row(shared=1024), "small", 1, 99 * 1024, 99 * 1024) == (expected, "")
    assert launch(row(shared=1024), "small", 1, 99 * 1024, 163 * 1024) == ("no error", "")


def test_parameters(launch):
    assert launch(row(parameters=32764), "small", 1, 0) == ("no error", "")
    expected = "sm_75 refuses fill<Box<4>>: 32765 bytes of parameters"
    assert launch(row(parameters=32765), "small", 1, 0) == (expected, "")


def test_what_is_known_of_a_kernel_without_a_row_is_checked(launch):
    status, complaint = launch(row(), "large", 1, 0)
    assert status == "sm_75 refuses fill<Box<32768>>: 32776 bytes of parameters"
    assert complaint.startswith("fill<Box<32768>>: not in kernels.tsv; its registers, launch bounds")
    status, complaint = launch("other\t0\t12\t0\t32", "small", 1024, 0)
    assert (status, complaint.partition(":")[0]) == ("no error", SMALL)
