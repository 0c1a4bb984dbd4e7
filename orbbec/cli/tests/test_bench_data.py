"""The table of speeds for a folder."""

import importlib.util
import re
import warnings

import cv2
import numpy as np
import pytest
import torch

from orbbec.cli import bench_data
from orbbec.cli.bench_data import available, jpegs_below, measure
from orbbec.data import Decoding
from orbbec.data.decode.native import has_native
from tests.support.command import run_command


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    for i in range(6):
        image = np.random.default_rng(i).integers(0, 256, (60, 80, 3), np.uint8)
        assert cv2.imwrite(str(tmp_path / "below" / f"{i}.jpg"), image)
    (tmp_path / "notes.txt").write_text("no JPEG")
    return tmp_path


def test_jpegs_are_found_below_a_folder(folder):
    assert [path[-5:] for path in jpegs_below(folder)] == [f"{i}.jpg" for i in range(6)]
    with pytest.raises(ValueError, match="bench-data: expected JPEGs below"):
        jpegs_below(folder / "notes.txt")


def test_bench_data_prints_a_row_a_contender(folder):
    done = run_command("bench-data", folder, "--images", 8, "--rounds", 1)
    assert done.exit_code == 0, done.output
    rows = [line for line in done.output.splitlines() if re.search(r" \d+\.\d\d$", line)]
    assert len(rows) == 2 * len(available())
    assert rows[0].startswith("orbbec ")
    assert rows[0].endswith(" 1.00")
    assert ("threads, cv2" in done.output) == (importlib.util.find_spec("cv2") is not None)


def test_what_is_timed_is_shown_and_tables_follow(folder):
    shown = []
    rows = measure(jpegs_below(folder), 1, 4, 1, shown.append)
    assert shown == [f"{round}: {row.name}" for round in ("warm-up", "round 1 of 1") for row in rows]


def test_decoding_on_the_gpu_needs_one_and_is_compared_with_the_host(folder, monkeypatch):
    with pytest.raises(ValueError, match="expected --decode as one of host, device, but got 'gpu'"):
        available("gpu")
    done = run_command("bench-data", folder, "--decode", "device")
    if torch.cuda.is_available():
        assert done.exit_code == 0
    else:
        assert "expected --decode host where torch sees no GPU, but got device" in done.output
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert [*available("device")][2:4] == ["orbbec, batches on the GPU", "orbbec, decoding on the GPU"]
    by_kernels = bench_data._Orbbec(False, "cpu", Decoding(device="cuda"))
    assert by_kernels(jpegs_below(folder), 1) == 6
    assert by_kernels._loader.report().on_device == (6 if has_native() else 0)


def test_more_workers_than_cores_give_no_warning(monkeypatch):
    monkeypatch.setattr(bench_data, "_PilFiles", list)
    with bench_data.on_cores(1), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert bench_data._run_torchvision([1, 2, 3], 2) == 3


def test_bench_data_names_a_folder_without_jpegs(tmp_path):
    done = run_command("bench-data", tmp_path)
    assert done.exit_code == 1
    assert "expected JPEGs below" in done.output
