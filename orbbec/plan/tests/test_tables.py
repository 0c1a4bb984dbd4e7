"""Plans with replaceable numbers: what a captured graph has in common, and what differs."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, apply, apply_fixed, fixed, structure_of, tables_of
from orbbec.plan.parameters import ParameterTable
from orbbec.transforms.tests.examples import EXAMPLES, needs_masks
from orbbec.transforms.tests.test_one_by_one import floats_before
from tests.support import Meetings, assert_same_bytes, photograph

SIZES = np.array([[14, 17], [20, 13], [16, 16], [9, 30]])
CROP = T.RandomResizedCrop(10)
JITTER = T.RandomApply([T.ColorJitter(0.4, 0.4)])
PIPELINES = {
    "blurred": [CROP, T.RandomApply([T.GaussianBlur((3, 5))]), T.RandomInvert(), T.RandomPosterize(3)],
    "colored": [
        CROP,
        T.RandomApply([T.ColorJitter(0.4, 0.4)]),
        T.RandomPerspective(),
        T.RandomAutocontrast(),
    ],
    "cut": [CROP, T.MedianBlur(3), T.RandomAdjustSharpness(2.0), T.CutMix(num_classes=2)],
    "noisy": [
        CROP,
        T.ElasticTransform(20.0),
        T.GaussianNoise(0.0, 0.1),
        T.RandomErasing(1.0, value="random"),
    ],
    "gray": [CROP, T.Grayscale(), T.RandomSolarize(0.5), T.JPEG((20, 80))],
    "blended": [CROP, T.AugMix(mixture_width=2), T.MixUp(num_classes=2)],
    "warped": [
        T.RandomResizedCrop(10, interpolation=("linear", "cubic", "lanczos")),
        T.RandomRotation(20, "lanczos"),
        T.RandomPerspective(interpolation="lanczos", fill=(1, 2, 3)),
    ],
    "by policies": [CROP, T.RandAugment(), T.AutoAugment(), T.Mosaic((12, 11))],
}


def plan_of(*pipeline, epoch=0, sizes=SIZES, seed=0, exact=False):
    return T.Compose(pipeline, seed, exact).plan(sizes, epoch=epoch)


def tensors_of(plan):
    return [{name: torch.from_numpy(table) for name, table in own.items()} for own in tables_of(plan)]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_fixed_plan_gives_the_same_bytes(name, exact):
    batch = ImageBatch.from_images([photograph(*size, seed=n) for n, size in enumerate(SIZES.tolist())])
    for seed in range(5):
        plan = plan_of(*PIPELINES[name], seed=seed, exact=exact)
        settled = fixed(plan)
        assert_same_bytes(apply_fixed(settled, batch, tensors_of(settled)), apply(plan, batch))


@pytest.mark.parametrize("name", PIPELINES)
def test_a_fixed_plan_reads_the_tables_of_another_batch(name):
    image = photograph(*SIZES[0].tolist(), seed=1)
    batch, pipeline = ImageBatch.from_images([image]), T.Compose(PIPELINES[name])
    plans = [fixed(pipeline.plan(SIZES[:1], sample_ids=[number], epoch=0)) for number in range(8)]
    pairs = itertools.combinations(plans, 2)
    alike = [(plan, other) for plan, other in pairs if structure_of(plan) == structure_of(other)]
    assert alike
    for plan, other in alike:
        assert_same_bytes(apply_fixed(plan, batch, tensors_of(other)), apply(other, batch))


class OnDevice:
    """An ImageBatch without device memory knows its sizes on the host."""

    def __init__(self):
        batch = ImageBatch.of_sizes(SIZES.tolist(), 3)
        self.buffer, self.layout = batch.buffer.to("meta"), batch.layout.to("meta")
        self.channels, self.sizes = batch.channels, batch.sizes


def meetings(name, exact=False, device="meta"):
    plan = fixed(plan_of(*PIPELINES[name], exact=exact))
    tables = [{name: table.to(device) for name, table in own.items()} for own in tensors_of(plan)]
    images = OnDevice()
    with Meetings() as watch:
        result = apply_fixed(plan, images, tables)
    assert result.device.type == "meta"
    return watch.found


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_fixed_plan_copies_nothing_from_the_host(name, exact):
    assert meetings(name, exact) == []


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "cuda_graphs.md"
READ_ON_HOST = {
    *("RandomFog", "RandomGridShuffle", "RandomRain", "RandomSunFlare"),
    *("Defocus", "GridDistortion", "MotionBlur", "OpticalDistortion", "PillowBlur", "UnsharpMask"),
    *("AdvancedBlur", "FDA", "HistogramMatching", "LineBlur", "PixelDistributionAdaptation", "Spatter"),
    *("MaskDropout", "PlasmaBrightnessContrast", "PlasmaShadow", "ThinPlateSpline"),
    *("ChromaticAberration", "Emboss", "RingingOvershoot", "Sharpen", "ZoomBlur"),
}
# These read columns of their tables on the host, or draw sizes of images.
NOT_CAPTURED = READ_ON_HOST | {
    *("CropAndPad", "RandomAffine", "RandomResize", "RandomRotation", "RandomScale", "RandomShortestSize"),
    *("Downscale", "Perspective", "RandomSizedCrop", "RandomZoomOut", "ResizeKeepRatio", "ScaleJitter"),
    *("AtLeastOneBBoxRandomCrop", "BBoxSafeRandomCrop", "CropNonEmptyMaskIfExists", "RandomCropFromBorders"),
}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "CopyPaste"])
def test_a_graph_captures_every_transform_but_those_whose_calls_depend_on_draws(name):
    images, crop, is_captured = OnDevice(), T.RandomResizedCrop((60, 80)), []
    for transform in itertools.filterfalse(needs_masks, EXAMPLES[name]):
        plan = fixed(plan_of(crop, *floats_before(transform), transform))
        is_captured.append(plan is not None)
        if plan is None:
            continue
        tables = [{key: table.to("meta") for key, table in own.items()} for own in tensors_of(plan)]
        for _ in range(2):  # constants are copied once
            with Meetings() as watch:
                result = apply_fixed(plan, images, tables)
        assert (watch.found, result.device.type) == ([], "meta")
    assert all(is_captured) == (name not in NOT_CAPTURED)


def test_the_page_names_what_reads_its_parameters_on_the_host():
    listed = re.search(
        r"^- Nor what reads its parameters on the host: (.*?)^- ", PAGE.read_text(), re.M | re.S
    )
    assert set(re.findall(r"`(\w+)`", listed[1])) == READ_ON_HOST


def test_copies_from_the_host_would_be_seen():
    assert "aten._to_copy.default" in meetings("colored", device="cpu")


@pytest.mark.parametrize(
    "pipeline",
    [
        (T.GaussianBlur(3), CROP),
        (T.RandomRotation(20, expand=True), CROP),
        (CROP, T.RandomRotation(20, expand=True)),
        (CROP, T.MotionBlur(3, p=1.0)),
        (CROP, T.MedianBlur((3, 9), p=1.0)),
    ],
)
def test_some_plans_cannot_be_fixed(pipeline):
    assert fixed(plan_of(*pipeline)) is None


def test_a_plan_without_a_pass_cannot_be_fixed():
    assert fixed(Plan(SIZES, np.arange(len(SIZES)), ())) is None


@pytest.mark.parametrize(
    ("pipeline", "is_same"),
    [
        ((CROP, T.RandomApply([T.GaussianBlur(3)]), T.RandomHorizontalFlip(), T.RandomPerspective()), True),
        ((CROP, T.RandomEqualize(), T.RandomAdjustSharpness(2.0)), True),
        ((CROP, T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)])), True),
        ((CROP, T.GaussianNoise(0.0, 0.1)), False),
    ],
)
def test_structures_of_epochs(pipeline, is_same):
    one, other = (structure_of(fixed(plan_of(*pipeline, epoch=epoch))) for epoch in (0, 1))
    assert (one == other) == is_same


def test_structures_tell_what_is_no_table():
    small = T.Resize((8, 8))
    plans = [plan_of(small), plan_of(T.Resize((8, 9))), plan_of(T.Resize((8, 8), antialias=False))]
    plans += [plan_of(small, T.RandomErasing(1.0, value=value)) for value in (0, "random")]
    plans += [plan_of(small, sizes=SIZES[:3])]
    assert len({structure_of(fixed(plan)) for plan in plans}) == len(plans)


def test_programs_of_different_lengths_are_of_one_structure():
    pipeline = [CROP, *(T.RandomApply([T.ColorJitter(0.4)], p=0.4) for _ in range(4))]
    plans = [plan_of(*pipeline, epoch=epoch) for epoch in range(9)]
    lengths = {(plan.passes[0].colors[:, :, 0] != 0).sum(1).max() for plan in plans}
    assert lengths == {2, 3}
    assert len({structure_of(fixed(plan)) for plan in plans}) == 1


def test_rows_of_copies_are_those_of_each_copy():
    """The first copies of all images come first."""
    copies = ParameterTable(np.arange(6.0)[:, None], np.zeros(0, np.float32), (), [])
    table = ParameterTable(np.zeros((2, 1)), np.zeros(0, np.float32), (), [copies, {"x": np.array([7, 8])}])
    found, columns = table.rows(np.array([1])).arrays
    assert found.state[:, 0].tolist() == [1, 3, 5]
    assert columns["x"].tolist() == [8]


def test_passes_of_other_parameters_compute_them_anew():
    steps = [T.RandomResizedCrop(8), T.ColorJitter(0.4), T.GaussianBlur(3), T.RandomErasing(1.0), T.AugMix()]
    pipeline = T.Compose(steps, exact=True)
    one, other = (pipeline.plan([(9, 12), (20, 15)], epoch=epoch) for epoch in (0, 1))
    assert len(one.passes) > 3
    for step, expected in zip(one.passes, other.passes, strict=True):
        again = step.of(expected.parameters)
        for name in ("sizes", "matrix"):
            np.testing.assert_array_equal(getattr(again, name), getattr(expected, name))
        changed = [key for key, values in expected.columns().items() if (step.columns()[key] != values).any()]
        assert changed, step.name
        for key in changed:
            np.testing.assert_array_equal(again.columns()[key], expected.columns()[key])
