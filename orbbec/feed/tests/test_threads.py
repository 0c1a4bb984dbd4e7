"""The threads of the feed with simulated decoders, in programs of their own."""

import shutil
import subprocess
from pathlib import Path

import pytest

FEED = Path(__file__).parents[1]
PROGRAMS = {"stress": ["-O1", "-g1", "-fsanitize=thread"], "ceiling": ["-O2"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("feed")

    def run_program(name, *arguments):
        sources = [FEED / "tests" / f"{name}.cpp", FEED / "pool.cpp", FEED / "crc32.cpp"]
        flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-pthread", *PROGRAMS[name]]
        subprocess.run([compiler, *flags, *sources, "-o", folder / name], check=True)
        done = subprocess.run([folder / name, *map(str, arguments)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return [float(number) for number in done.stdout.split()]

    return run_program


def test_batches_are_right_and_no_thread_races_while_batches_are_dropped_and_threads_come_and_go(run):
    decoded, dropped = run("stress")
    assert decoded + dropped == 6 * 3 * 30
    assert min(decoded, dropped) > 60


def test_sixteen_threads_on_any_cores_cost_a_few_microseconds_an_image(run):
    """Measured: 0.8 to 1.4 us with nothing to decode; 7 to 9 us where each image sleeps for 1 ms."""
    assert run("ceiling", 16, 20, 0)[2] < 10
    _, reached, microseconds = run("ceiling", 16, 1, 1000)
    assert reached > 0.2  # 0.6 to 0.9 on two busy cores
    assert microseconds < 50
