"""On the CPU a few images at a time go through all passes, with the bytes of the passes one by one."""

import copy

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.bridge.buffer_pool import LEAST_BYTES
from orbbec.plan.tests.draw_cases import Picker, random_transform
from orbbec.plan.tests.test_run import FINISHES, assert_run_is_pass_by_pass, is_run_alike, runs
from tests.support import assert_same_bytes

SIZES = (
    lambda: T.RandomResize(20, 60),
    lambda: T.ScaleJitter((50, 60), antialias=False),
    lambda: T.RandomZoomOut(side_range=(1.0, 1.5)),
    lambda: T.RandomRotation(40, expand=True),
    lambda: T.Resize(30),
)
KINDS = ("tensor", "channels last", "array", "batch", "float")


def images_of(kind, count=9, size=(37, 51)):
    rng = np.random.default_rng(count)
    if kind == "batch":
        return ImageBatch.from_images(
            [rng.integers(0, 256, (size[0] + 3 * n, size[1] - n, 3), np.uint8) for n in range(count)]
        )
    stacked = rng.integers(0, 256, (count, *size, 3), np.uint8)
    if kind == "array":
        return stacked
    planes = torch.from_numpy(stacked).permute(0, 3, 1, 2)
    if kind == "channels last":
        return planes
    return planes.contiguous() / 255 if kind == "float" else planes.contiguous()


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_between_passes_may_vary(kind):
    picker, ran = Picker(8), 0
    for n in range(120):
        middle = (random_transform(picker) for _ in range(picker.of(range(3))))
        last = picker.of((T.Resize((29, 31)), T.RandomCrop((24, 20), pad_if_needed=True), T.GaussianBlur(3)))
        finish = [] if kind == "float" else FINISHES[picker.of(tuple(FINISHES))]
        transforms = [SIZES[n % 5](), *middle, T.Resize((40, 30)), T.GaussianBlur(3), last, *finish]
        pipeline = T.Compose(transforms, seed=picker.of(range(2**20)))
        ran += is_run_alike(pipeline, images_of(kind, picker.of((2, 9))))
    assert ran > 40


@pytest.mark.parametrize("kind", KINDS)
def test_large_results_after_sizes_that_vary(kind):
    pipeline = T.Compose([T.RandomResize(20, 60), T.Resize((300, 310))], seed=2)
    images = images_of(kind)
    assert pipeline(images, epoch=0).nbytes > LEAST_BYTES
    assert_run_is_pass_by_pass(pipeline, images)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_ranges_of_large_images(kind, threads):
    crop = T.RandomResizedCrop((210, 200))
    policies = [T.RandAugment(), T.RandomEqualize(0.1)]
    some = [T.RandomApply([T.GaussianBlur(3)], 0.3), T.RandomInvert()]
    for middle in ([T.GaussianBlur(5)], policies, some):
        for last in ([], [T.ToDtype(torch.float32, scale=True), T.Normalize()]):
            if kind == "float" and (last or middle is policies):
                continue
            pipeline, images = T.Compose([crop, *middle, *last], seed=5), images_of(kind, 9, (230, 240))
            assert runs(pipeline, images)
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                assert_run_is_pass_by_pass(pipeline, images)
            finally:
                torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [T.Resize((40, 30)), T.RandomEqualize(1.0), T.RandomAutocontrast(1.0)])
def test_crops_before_other_passes_leave_the_images_as_they_are(kind, last):
    rows = [T.CropAndPad(px_range=(0, (-8, -1), 0, 0), keep_size=False, p=1.0), T.RandomCrop((29, 40))]
    some = T.RandomApply([T.RandomChoice(rows)], 0.7)
    change = T.RandomApply([T.RandomEqualize(1.0)], 0.5)
    for count in (1, 9):
        images = images_of(kind, count)
        before = images.clone() if isinstance(images, torch.Tensor) else copy.deepcopy(images)
        for size in ([], [T.Resize((31, 42))]):
            pipeline = T.Compose([some, T.RandomInvert(0.3), change, *size, last], seed=3)
            is_run_alike(pipeline, images)
        for one, other in zip(images, before, strict=True):
            assert_same_bytes(one, other)
