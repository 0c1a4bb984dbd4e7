"""Runs the scripts for users."""

import os
import re
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
import torch

from orbbec import transforms

SCRIPTS = Path(__file__).parents[1] / "scripts"

if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("the scripts run no kernel on the emulated device", allow_module_level=True)
pytest.importorskip("skimage", reason="photographs: pip install -r requirements/demo.txt")
pytest.importorskip("sklearn", reason="photographs: pip install -r requirements/demo.txt")


def run(folder, name, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPTS / name, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_train_demo_trains_compares_and_draws(tmp_path):
    few = "--epochs", "3", "--rounds", "1", "--other-epochs", "2"
    done = run(tmp_path, "train_demo.py", *few, "--output", "sheets")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "largest difference from cv2: 0, over 1,440 images" in done.stdout
    assert done.stdout.count("in the last of 2; ") == 2
    for name in ("train_demo", "train_simclr", "train_detection"):
        sheet = cv2.imread(str(tmp_path / "sheets" / f"{name}.png"))
        assert sheet.shape[1] > 1000
        assert sheet.std() > 20


@pytest.mark.parametrize("name", ["test_nms.py", "test_warpaffine_opencv.py", "test_warpaffine_torch_cpu.py"])
def test_script_finds_the_same_bytes_and_draws_them(tmp_path, name):
    if name == "test_warpaffine_opencv.py":
        pytest.importorskip("orbbec.opencv", reason="orbbec.opencv is not built", exc_type=ImportError)
    done = run(tmp_path, name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERENT" not in done.stdout
    assert len(re.findall(r"^same .*: 0 of [1-9]\d* values differ", done.stdout, re.MULTILINE)) >= 1
    assert cv2.imread(str(tmp_path / "outputs" / name.replace(".py", ".png"))).std() > 20


def test_operators_are_drawn_beside_their_other_authors(tmp_path):
    done = run(tmp_path, "draw_operators.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same ") >= 10
    assert cv2.imread(str(tmp_path / "outputs" / "operators.jpg")).std() > 20


def test_a_pipeline_is_drawn_in_one_pass(tmp_path):
    done = run(tmp_path, "draw_pipeline.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^ (\d+)\. (\w+) -> 200x200 float32", done.stdout, re.MULTILINE) == [("1", "augment")]
    assert cv2.imread(str(tmp_path / "outputs" / "pipeline.jpg")).std() > 20


def test_every_transform_is_drawn(tmp_path):
    done = run(tmp_path, "draw_transforms.py")
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = [kind for name in transforms.__all__ if isinstance(kind := getattr(transforms, name), type)]
    count = sum(issubclass(kind, transforms.Transform) for kind in kinds) - 1
    assert done.stdout == f"wrote outputs/transforms.jpg: {count} transforms\n"
    assert cv2.imread(str(tmp_path / "outputs" / "transforms.jpg")).std() > 20


def test_the_page_of_transforms_is_what_the_code_says(tmp_path):
    done = run(tmp_path, "list_transforms.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_commands_is_what_the_code_says(tmp_path):
    done = run(tmp_path, "list_commands.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_the_switch_is_what_figures_and_code_say(tmp_path):
    done = run(tmp_path, "parity/list_switch.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_roi_align_script_finds_the_same(tmp_path):
    done = run(tmp_path, "test_roi_align.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DIFFERENT" not in done.stdout
    assert done.stdout.count("same: RoIAlign") >= 4


def test_gpu_script_passes_on_a_gpu_and_says_so_without_one(tmp_path):
    done = run(tmp_path, "test_warpaffine_torch_gpu.py")
    assert done.returncode == 0, done.stdout + done.stderr
    if torch.cuda.is_available():
        assert done.stdout.count("same  ") == 4
    else:
        assert done.stdout.startswith("NOT TESTED")


def test_a_loader_is_soaked(tmp_path):
    done = run(tmp_path, "soak_loader.py", "--epochs", "20", "--images", "16")
    points = re.findall(r"^epoch +(\d+) +([\d.]+) MiB +(\d+) descriptors +(\d+) threads$", done.stdout, re.M)
    assert [int(epoch) for epoch, *_ in points] == list(range(2, 21, 2)), done.stdout + done.stderr
    assert len({(descriptors, threads) for *_, descriptors, threads in points}) == 1
    assert re.findall(r"^memory [+-]\d+\.\d% since epoch (\d+)$", done.stdout, re.M) == ["2", "10"]


def test_comparison_finds_one_value_that_differs():
    program = (
        "import numpy as np; from comparison import is_same; zeros = np.zeros((2, 3)); other = zeros.copy(); "
        "other[1, 1] = 0.5; raise SystemExit(is_same('it', zeros, other))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("DIFFERENT  it: 1 of 6 values differ, at most by 0.5")


def test_faces_are_drawn(tmp_path):
    done = run(tmp_path, "draw_faces.py")
    assert done.returncode == 0, done.stdout + done.stderr
    difference = re.fullmatch(r"6 crops; mean difference from the first (\d\.\d\d) levels\n", done.stdout)
    assert float(difference[1]) < 1  # 0.80: what two resamplings leave
    assert cv2.imread(str(tmp_path / "outputs" / "faces.jpg")).std() > 20


def test_pipelines_of_torchvisions_users_run_with_another_import(tmp_path):
    pytest.importorskip("torchvision")
    done = run(tmp_path, "try_torchvision.py", "--draws", "300")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| same |") == 17


def test_recipes_are_compared_with_their_originals(tmp_path):
    pytest.importorskip("timm", reason="`make test-loops` installs it")
    done = run(tmp_path, "compare_recipes.py", "--draws", "50")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()  # ultralytics prints others the first time
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    assert len(rows) == 21
    # Times the CPU time on one core. `ocr_line` is limited by memory, which other processes use too.
    speeds = {row[0]: float(row[-2]) for row in rows}
    assert speeds.pop("`ocr_line`") > 0.5
    assert min(speeds.values()) > 1.5
    assert min(float(row[column]) for row in rows for column in (4, 7)) > 1e-4  # one distribution is likely


def test_left_and_right_are_learned_with_pairs_only(tmp_path):
    done = run(tmp_path, "learn_pose.py", "--steps", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    correct, incorrect = map(float, re.findall(r"([\d.]+)%", done.stdout))
    assert correct > incorrect + 8


def test_a_detector_is_trained_with_and_without_mosaics(tmp_path):
    done = run(tmp_path, "learn_mosaic.py", "--epochs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"AP50 0\.\d{3}, ", done.stdout)) == 2


def test_a_linear_probe_is_better_after_training_without_labels(tmp_path):
    done = run(tmp_path, "learn_views.py", "--steps", "40")
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = map(float, re.findall(r"([\d.]+)%", done.stdout))
    assert after > before + 2  # 52.4 and 46.7
