"""The calls, operators and copies of pipelines as users call them do not grow."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import orbbec
from orbbec import recipes
from orbbec import transforms as T
from tests.support import photograph

TOOL = Path(__file__).parents[1] / "tools" / "host_cost.py"
# The most of pipelines that one operator runs.
RUN = ("crop", "antialiased crop", "colors", "antialiased colors", "policy", "blur")
ONE_CALL = {"python": 15, "native": 12, "operators": 1, "copies": 0}
# The most of those with targets, rounded up.
WITH_TARGETS = {
    "crop with boxes and masks": {
        "python": 120,
        "native": 125,
        "operators": 3,
        "allocations": 40,
        "copies": 2,
    },
    "crop with one image's boxes": {
        "python": 70,
        "native": 90,
        "operators": 2,
        "allocations": 20,
        "copies": 3,
    },
    # 12 and 38 for each image.
    "crop with boxes": {
        "python": 3_250,
        "native": 9_850,
        "operators": 2,
        "allocations": 1_300,
        "copies": 768,
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


@pytest.mark.parametrize("name", [*RUN, *WITH_TARGETS])
def test_a_call_does_no_more_than_its_limits(rows, name):
    found = [row for row in rows if row["case"].split(",")[0] == name]
    assert len(found) == (1 if "boxes" in name else 5)
    for row in found:
        assert over(row, WITH_TARGETS.get(name, ONE_CALL)) == {}, row
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


@pytest.fixture
def tool(accelerator):
    """The tool, where launches are counted."""
    if accelerator.name != "emulated" or "ORBBEC_LIBRARY" not in os.environ or "ORBBEC_PTX" in os.environ:
        pytest.skip("launches are counted on the emulated device; the executor of PTX runs them all")
    spec = importlib.util.spec_from_file_location("host_cost", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def launches_of(tool, call):
    with tool.skipped_launches():
        call()
        before = tool.launches()
        call()
        return tool.launches() - before


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("count", [1, 256])
def test_a_call_draws_and_runs_each_pass_in_a_launch(tool, name, count):
    pipeline, images = tool.pipelines(side=8)[name], tool.inputs(count)["batch"]
    assert launches_of(tool, lambda: pipeline(images)) <= LAUNCHES[name]


# The coefficients and the results; two for each group where one result is so long that the coefficients of
# all would need too much memory.
@pytest.mark.parametrize(("longest", "launches"), [(40, 2), (4_000, 2), (400_000, 10)])
def test_results_of_different_sizes_take_two_launches(tool, longest, launches):
    batch = orbbec.ImageBatch.from_images([photograph(30, 20 + n % 7) for n in range(64)])
    out = orbbec.ImageBatch.of_sizes([(24, 20 + n % 9) for n in range(63)] + [(24, longest)], 3)
    assert launches_of(tool, lambda: orbbec.resize(batch, None, antialias=True, out=out)) == launches


# The passes of recipes; also coefficients, means and taps, and three operators of deit3's choice.
RECIPES = {
    **dict.fromkeys(("coco_keypoints", "drq_shift", "face_recognition", "kinetics", "yolo_val"), 1),
    **dict.fromkeys(("clip_train", "depth", "imagenet_eval", "mae", "yolo_train"), 3),
    "ocr_line": 4,
    **dict.fromkeys(("detr_train", "ssd_train"), 6),
    "deit3": 11,
}


def images_of(count):
    """Of several sizes."""
    return [photograph(40 + 3 * n % 20, 50 + 7 * n % 20) for n in range(count)]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("count", [4, 32])
def test_launches_of_recipes_do_not_depend_on_the_number_of_images(tool, name, count):
    size = {"imagenet_eval": (32, 36), "drq_shift": (), "face_recognition": (), "ocr_line": ()}
    recipe = getattr(recipes, name)(*size.get(name, (32,)))
    images = images_of(count)
    plan = recipe.plan([image.shape[:2] for image in images], epoch=0)
    batch = orbbec.ImageBatch.from_images(images)
    assert launches_of(tool, lambda: recipe.apply(plan, batch)) == RECIPES[name]


FLOATS = T.ToDtype(torch.float32, scale=True), T.Normalize()
MIXES = {
    "MixUp": [T.RandomResizedCrop(32), *FLOATS, T.MixUp()],
    "CutMix": [T.RandomResizedCrop(32), *FLOATS, T.CutMix()],
    "Mosaic": [T.Mosaic(64, tiles=9), T.RandomAffine(0, (0.1, 0.1), (0.5, 1.5)), *FLOATS],
    "CopyPaste": [T.RandomResizedCrop(32), *FLOATS, T.CopyPaste()],
}


@pytest.mark.parametrize("name", MIXES)
def test_a_mix_takes_at_most_three_launches(tool, name):
    images = images_of(16)
    targets = [
        {"boxes": np.array([[2.0, 2, 30, 30]]), "masks": np.ones((1, *each.shape[:2]), np.uint8)}
        for each in images
    ]
    pipeline, batch = T.Compose(MIXES[name]), orbbec.ImageBatch.from_images(images)
    plan = pipeline.plan([image.shape[:2] for image in images], epoch=0, targets=targets)
    T.transform_targets(plan, targets)  # which gives CopyPaste its masks
    assert 1 <= launches_of(tool, lambda: pipeline.apply(plan, batch)) <= 3


# Pipelines that the host draws or that run pass by pass, and their copies to the device.
SIZED = T.CenterCrop(32)
COPIED = {
    "run": ([SIZED, T.RandomApply([T.GaussianBlur(5)]), T.RandAugment()], 0),
    "a crop that may not fit": ([T.RandomCrop(32), T.GaussianBlur(5)], 1),
    "windows": ([SIZED, T.MedianBlur((3, 7), 1.0)], 2),
    "numbers": ([SIZED, T.JPEG((20, 90))], 2),
    "some images": ([SIZED, T.RandomApply([T.JPEG((20, 90))], 0.5)], 3),
    "kernels": ([SIZED, T.MotionBlur(p=1.0)], 2),
    "noise": ([SIZED, T.GaussianNoise()], 2),
    "a field": ([SIZED, T.ElasticTransform()], 4),
    "a mix": ([SIZED, T.MixUp()], 3),
}


def copies_of(call):
    """The copies to the device in a call: those from pinned memory, and the others."""
    if hasattr(torch.ops.lazy_device, "copies"):
        before = torch.ops.lazy_device.copies()
        call()
        return [now - then for now, then in zip(torch.ops.lazy_device.copies(), before, strict=True)]
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        call()
        torch.cuda.synchronize()
    names = [event.name for event in profiled.events()]
    return [sum(f"Memcpy HtoD ({kind}" in name for name in names) for kind in ("Pinned", "Pageable")]


@pytest.mark.parametrize("name", COPIED)
def test_a_call_copies_little_and_never_from_pageable_memory(accelerator, name):
    """For a copy from pageable memory the host waits until the device has done what was queued before."""
    if accelerator.name != "cuda":
        pytest.skip("other devices copy nothing")
    transforms, most = COPIED[name]
    pipeline = T.Compose(transforms)
    images = orbbec.ImageBatch.from_images([photograph(40, 50 + n, seed=n) for n in range(6)]).to("cuda")
    pipeline(images)
    pinned, pageable = copies_of(lambda: pipeline(images))
    assert pageable == 0
    assert pinned <= most
