"""The calls, operators and copies of pipelines as users call them do not grow."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "host_cost.py"
# The most of pipelines that one operator runs.
RUN = ("crop", "antialiased crop", "colors", "antialiased colors", "policy", "blur")
ONE_CALL = {"python": 15, "native": 12, "operators": 1, "copies": 0}
# The most of those that run pass by pass, rounded up.
PASS_BY_PASS = {
    "crop with boxes and masks": {
        "python": 330,
        "native": 330,
        "operators": 3,
        "allocations": 40,
        "copies": 6,
    },
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("counts") / "rows.json"
    command = [sys.executable, str(TOOL), "--counts", "--json", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(path.read_text())


def over(row, most):
    return {key: value for key, value in row.items() if key != "case" and value > most[key]}


@pytest.mark.parametrize("name", [*RUN, *PASS_BY_PASS])
def test_a_call_does_no_more_than_its_limits(rows, name):
    found = [row for row in rows if row["case"].split(",")[0] == name]
    assert len(found) == (1 if "boxes" in name else 5)
    for row in found:
        assert over(row, PASS_BY_PASS.get(name, ONE_CALL)) == {}, row
        assert row["operators"] >= 1


# A draw and the passes; also the coefficients of an antialiased resize, the mean for contrast and the taps of
# a blur. A policy has two operations: a mean, a warp, a sharpening, two histograms with their lookup tables.
LAUNCHES = {
    "crop": 2,
    "antialiased crop": 3,
    "colors": 3,
    "antialiased colors": 4,
    "policy": 20,
    "blur": 5,
}


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("count", [1, 256])
def test_a_call_draws_and_runs_each_pass_in_a_launch(accelerator, name, count):
    if accelerator.name != "emulated" or "ORBBEC_LIBRARY" not in os.environ or "ORBBEC_PTX" in os.environ:
        pytest.skip("launches are counted on the emulated device; the executor of PTX runs them all")
    spec = importlib.util.spec_from_file_location("host_cost", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    pipeline, images = tool.pipelines(side=8)[name], tool.inputs(count)["batch"]
    with tool.skipped_launches():
        pipeline(images)
        before = tool.launches()
        pipeline(images)
        assert tool.launches() - before <= LAUNCHES[name]
