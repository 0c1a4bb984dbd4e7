"""The emulated device itself: it runs right kernels right, and names the fault of wrong ones."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ORDERS = ("forward", "reverse", "shuffle:1", "shuffle:2")


def load_build():
    """Imports build.py by its path: `build` is also the name of a package."""
    spec = importlib.util.spec_from_file_location("orbbec_emulation_build", HERE / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The kernels of this folder as programs: programs[kernels, flavour]."""
    build = load_build()
    built = {}
    for flavour in ("asan", "races"):
        plan = build.Plan(tmp_path_factory.mktemp(flavour), flavour)
        runtime = plan.runtime()
        kernels = {name: plan.compile(HERE / "kernels" / f"{name}.cu") for name in ("works", "breaks")}
        for name, compiled in kernels.items():
            built[name, flavour] = plan.link(name, [compiled, *runtime], "")
        if flavour == "races":
            built["library", flavour] = plan.link("breaks.so", [kernels["breaks"], *runtime], "-shared")
        plan.build()
    return built


def run(program: Path, *arguments: str, order: str = "forward") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    environment |= {"ORBBEC_EMULATION_ORDER": order, "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def line_of(comment: str) -> str:
    """`breaks.cu:LINE` of the line that ends with `// fault: comment`."""
    lines = (HERE / "kernels" / "breaks.cu").read_text().splitlines()
    (number,) = (i for i, line in enumerate(lines, 1) if line.endswith(f"// fault: {comment}"))
    return f"breaks.cu:{number}"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("flavour", ["asan", "races"])
def test_right_kernels_agree_with_the_host_in_every_order(programs, flavour, order):
    done = run(programs["works", flavour], order=order)
    assert done.stdout == "all agree\n", done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("kernel", "report", "fault"),
    [
        ("write_past_the_end", "AddressSanitizer: heap-buffer-overflow", "global write"),
        ("read_past_the_end", "AddressSanitizer: heap-buffer-overflow", "global read"),
        ("overflow_dynamic_shared", "AddressSanitizer: heap-buffer-overflow", "dynamic shared write"),
        ("overflow_static_shared", "AddressSanitizer: global-buffer-overflow", "static shared write"),
        ("load_misaligned", "load of misaligned address", "misaligned"),
        ("cast_too_large", "3e+09 is outside the range of representable values", "float cast"),
    ],
)
def test_sanitizers_name_the_line_of_a_bad_access(programs, kernel, report, fault):
    done = run(programs["breaks", "asan"], kernel)
    assert done.returncode != 0
    assert report in done.stderr
    assert line_of(fault) in done.stderr


@pytest.mark.parametrize(
    ("kernel", "report", "faults"),
    [
        ("reverse_without_barrier", "race in shared memory", ("race, write", "race, read")),
        ("reverse_static_without_barrier", "race in shared memory", ("static race",)),
        ("write_after_read", "race in shared memory", ("write after read",)),
        ("shuffle_is_no_barrier", "race in shared memory", ("shuffle orders no memory",)),
        ("vote_is_no_barrier", "race in global memory", ("vote orders no memory",)),
        ("read_unwritten_shared", "that no thread of the block has written", ("never written",)),
        ("write_same_output", "race in global memory", ("global race",)),
        ("write_between_blocks", "race in global memory", ("race of blocks",)),
    ],
)
@pytest.mark.parametrize("order", ORDERS)
def test_races_are_named_with_their_lines_in_every_order(programs, kernel, report, faults, order):
    done = run(programs["breaks", "races"], kernel, order=order)
    assert done.returncode != 0
    no_value_yet = "that no thread of the block has written"  # the read came before the write
    assert report in done.stderr or no_value_yet in done.stderr
    if report in done.stderr:
        for fault in faults:
            assert line_of(fault) in done.stderr


@pytest.mark.parametrize(
    ("kernel", "report"),
    [
        ("reverse_static_without_barrier", "that no thread of the block has written"),
        ("write_after_read", "race in shared memory"),
    ],
)
def test_races_are_named_in_a_library_that_python_loads(programs, kernel, report):
    library = programs["library", "races"]
    call = f"import ctypes; ctypes.CDLL('{library}').main(2, (ctypes.c_char_p * 2)(b'', b'{kernel}'))"
    done = run(Path(sys.executable), "-c", call)
    assert done.returncode != 0
    assert report in done.stderr
    assert "breaks.cu:" in done.stderr


def test_a_missing_barrier_changes_results_without_the_detector(programs):
    expected = " ".join(str(31 - i) for i in range(32)) + " "
    for order in ORDERS:
        assert run(programs["breaks", "asan"], "reverse_without_barrier", order=order).stdout != expected


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("kernel", "report", "fault"),
    [
        ("return_before_barrier", "not every thread of the block gets there", "barrier after return"),
        ("wait_at_two_barriers", "not every thread of the block gets there", "one barrier"),
        ("wait_at_two_barriers", "not every thread of the block gets there", "another barrier"),
        ("shuffle_outside_mask", "is not in its own mask 0x0000ffff", "own lane"),
        ("shuffle_from_outside_mask", "reads lane 20, which does not take part", "source lane"),
        ("shuffle_without_all", "not every lane of mask 0xffffffff gets there", "lanes missing"),
    ],
)
def test_divergence_is_named_with_block_thread_and_line(programs, kernel, report, fault, order):
    done = run(programs["breaks", "asan"], kernel, order=order)
    assert done.returncode != 0
    assert "block (0, 0, 0)" in done.stderr
    assert "thread (" in done.stderr
    assert report in done.stderr
    assert line_of(fault) in done.stderr
