"""tools/gpu_check.sh with interpreters that do nothing: every phase has a line, whatever the others do."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = ("pipelines", "feed", "resnet50", "model", "peers", "benchmarks")


def checked(tmp_path, python, *arguments):
    """The exit status, and what the summary says of each phase."""
    command = [ROOT / "tools" / "gpu_check.sh", "--output", tmp_path, *arguments]
    environment = {"PYTHON": shutil.which(python), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    lines = [line.split(maxsplit=3) for line in (tmp_path / "summary.txt").read_text().splitlines()]
    return done.returncode, {name: text for name, _, _, text in lines}


def test_every_phase_runs_where_everything_is_installed(tmp_path):
    status, found = checked(tmp_path, "true")
    assert status == 0
    assert {"loads", "tests", "nvimgcodec", "sink", *ALONE} <= found.keys()
    assert all(text.startswith(("ok", "not run: compute-sanitizer")) for text in found.values())


def test_a_phase_that_fails_does_not_stop_the_others(tmp_path):
    status, found = checked(tmp_path, "false", "--dry-run", "--output", tmp_path)
    assert status == 1
    phases = ("loads", "tests", "kernels", "sink", "pipelines", "model", "peers")
    assert all(found[name].startswith("FAILED (1; see ") for name in phases)
    assert found["feed"] == "not run: Pillow is not installed"


def test_what_there_is_no_time_for_is_named(tmp_path):
    status, found = checked(tmp_path, "true", "--seconds", "0")
    assert status == 1
    assert all(found[name] == "FAILED (no time left)" for name in ("tests", "sink", *ALONE))


def test_an_unknown_argument_is_refused(tmp_path):
    command = [ROOT / "tools" / "gpu_check.sh", "--fast"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "gpu_check.sh: unknown argument --fast\n")
