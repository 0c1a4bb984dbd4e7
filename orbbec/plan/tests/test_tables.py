"""Plans whose numbers can be replaced: what is the same for one graph, and what is not."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, apply, apply_fixed, fixed, structure_of, tables_of
from orbbec.testing import assert_same_bytes, photograph

SIZES = np.array([[14, 17], [20, 13], [16, 16], [9, 30]])
CROP = T.RandomResizedCrop(10)


def plan_of(*chain, epoch=0, sizes=SIZES, seed=0):
    return T.Compose(chain, seed=seed).plan(sizes, epoch=epoch)


def applied(plan):
    batch = ImageBatch.from_images([photograph(*size, seed=n) for n, size in enumerate(SIZES.tolist())])
    tables = [{name: torch.from_numpy(table) for name, table in own.items()} for own in tables_of(plan)]
    return apply_fixed(plan, batch, tables)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "chain",
    [
        (CROP, T.RandomApply([T.GaussianBlur((3, 5))]), T.RandomInvert(), T.RandomPosterize(3)),
        (CROP, T.RandomApply([T.ColorJitter(0.4, 0.4)]), T.RandomPerspective(), T.RandomAutocontrast()),
        (CROP, T.MedianBlur(3), T.RandomAdjustSharpness(2.0), T.CutMix(num_classes=2)),
        (CROP, T.ElasticTransform(20.0), T.GaussianNoise(0.0, 0.1), T.RandomErasing(1.0, value="random")),
        (CROP, T.Grayscale(), T.RandomSolarize(0.5), T.JPEG((20, 80))),
    ],
)
def test_a_fixed_plan_gives_the_same_bytes(chain, seed):
    plan = plan_of(*chain, seed=seed)
    batch = ImageBatch.from_images([photograph(*size, seed=n) for n, size in enumerate(SIZES.tolist())])
    assert_same_bytes(applied(fixed(plan)), apply(plan, batch))


@pytest.mark.parametrize(
    "chain",
    [
        (T.GaussianBlur(3), CROP),
        (T.RandomRotation(20, expand=True), CROP),
        (CROP, T.RandomRotation(20, expand=True)),
        (CROP, T.MotionBlur(3, p=1.0)),
        (CROP, T.MedianBlur((3, 9), p=1.0)),
    ],
)
def test_some_plans_cannot_be_fixed(chain):
    assert fixed(plan_of(*chain)) is None


def test_a_plan_without_a_pass_cannot_be_fixed():
    assert fixed(Plan(SIZES, np.arange(len(SIZES)), ())) is None


@pytest.mark.parametrize(
    ("chain", "is_same"),
    [
        ((CROP, T.RandomApply([T.GaussianBlur(3)]), T.RandomHorizontalFlip(), T.RandomPerspective()), True),
        ((CROP, T.RandomEqualize(), T.RandomAdjustSharpness(2.0)), True),
        ((CROP, T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)])), True),
        ((CROP, T.GaussianNoise(0.0, 0.1)), False),
    ],
)
def test_structures_of_epochs(chain, is_same):
    one, other = (structure_of(fixed(plan_of(*chain, epoch=epoch))) for epoch in (0, 1))
    assert (one == other) == is_same


def test_structures_tell_what_is_no_table():
    plans = [plan_of(T.Resize((8, 8))), plan_of(T.Resize((8, 9))), plan_of(T.Resize((8, 8), antialias=False))]
    plans += [plan_of(T.Resize((8, 8)), T.RandomErasing(1.0, value=value)) for value in (0, "random")]
    plans += [plan_of(T.Resize((8, 8)), sizes=SIZES[:3])]
    assert len({structure_of(fixed(plan)) for plan in plans}) == len(plans)
