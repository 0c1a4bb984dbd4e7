"""The lazy device itself: right programs are right in every order of streams, and wrong ones are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulation.test_emulation import load_build

SCHEDULES = ("late", "eager", "shuffle:1", "shuffle:2")
LAZY = Path(__file__).parent / "lazy"
RIGHT = ("right_program", "pageable_memory_may_change_after_the_copy", "no_waits_in_copies_that_need_none")
FAULTS = {
    "the_host_reads": "the host reads memory of the device: memory of 4000 bytes",
    "the_kernel_gets_a_pointer_of_the_host": "add(float const*, float*, float, int) uses the address 0x",
    "the_kernel_writes_past_the_end": "is not allocated",
    "freed_without_record_stream": "after it was freed",
    "a_graph_reads_what_was_freed": "after it was freed",
    "read_without_waiting": "does not wait for aten::",
    "written_without_waiting": "does not wait for aten::",
    "allocated_for_another_stream": "allocated on stream 0, and does not wait for that stream",
    "a_copy_that_blocks": "copy_ to the device: the host waits for the device",
    "a_number_is_asked_for": "item: the host waits for the device",
    "a_shape_depends_on_values": "aten::nonzero: the host waits for the device",
    "a_pageable_copy_is_captured": "during CUDA graph capture unless the CPU tensor is pinned",
    "a_wait_is_captured": "not permitted while a stream is capturing",
    "a_capture_waits_for_other_work": "a captured stream waits for work that is not captured",
    "a_runtime_copy_is_captured": "cudaErrorStreamCaptureUnsupported",
    "tensors_of_two_devices": "Expected all tensors to be on the same device",
}
# No access is wrong by itself: the order makes the values wrong.
LATE = ("pinned_memory_changes_before_the_copy", "the_result_is_read_before_the_copy")


@pytest.fixture(scope="module")
def ended():
    """How the programs of lazy/faults.py end: ended[schedule][name] = status, output."""
    library = load_build().build_lazy_device()
    found = {}
    for schedule in SCHEDULES:
        environment = {**os.environ, "ORBBEC_LIBRARY": str(library), "ORBBEC_EMULATION_STREAMS": schedule}
        environment.pop("LD_PRELOAD", None)
        command = [sys.executable, str(LAZY / "faults.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[schedule] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_right_in_every_order(ended, schedule, name):
    assert ended[schedule][name] == [0, ""]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_in_every_order(ended, schedule, name):
    status, output = ended[schedule][name]
    assert status != 0
    assert FAULTS[name] in output


@pytest.mark.parametrize("name", LATE)
def test_what_is_done_late_shows(ended, name):
    status, output = ended["late"][name]
    assert (status, output) == (1, "AssertionError: \n")
    assert ended["eager"][name] == [0, ""]


def test_every_program_is_expected_to_end_in_some_way(ended):
    assert set(ended["late"]) == {*RIGHT, *FAULTS, *LATE}
