"""Plans whose numbers are drawn in one call, compared with those made step by step."""

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from orbbec.plan import Plan
from orbbec.plan.template import Coordinate
from orbbec.transforms import (
    CenterCrop,
    Compose,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    ToDtype,
)

MOVES = (
    lambda r: RandomResizedCrop(
        r.choice((8, (5, 9))), (r.random(), 1 + r.random()), antialias=r.random() < 0.5
    ),
    lambda r: RandomResizedCrop(7, (0.9, 3.0), (0.1, 0.2), antialias=False),
    lambda r: Resize(r.choice((12, (9, 14))), antialias=r.random() < 0.5),
    lambda r: Resize(11, max_size=13, antialias=r.random() < 0.5),
    lambda r: CenterCrop(r.choice((3, 6, (5, 8), 40))),
    lambda r: RandomCrop(r.choice((4, (3, 5)))),
    lambda r: RandomCrop(8, r.choice((2, (1, 3), (1, 2, 3, 4)))),
    lambda r: RandomCrop(60, pad_if_needed=True, padding_mode="reflect"),
    lambda r: RandomHorizontalFlip(r.random()),
    lambda r: RandomVerticalFlip(r.random()),
)
TAILS = ((), (ToDtype(torch.float32, scale=True), Normalize()), (ToDtype(torch.float16, scale=True),))


def pipelines(count: int):
    random = Random(5)
    for _ in range(count):
        moves = [random.choice(MOVES)(random) for _ in range(random.randint(1, 5))]
        yield Compose([*moves, *random.choice(TAILS)], seed=random.randrange(2**63))


def assert_same_plan(plan: Plan, expected: Plan) -> None:
    assert plan.to_json() == expected.to_json()
    assert plan.size == expected.size
    for step, known in zip(plan.passes, expected.passes, strict=True):
        for name, value in vars(known).items():
            given = getattr(step, name)
            if isinstance(value, np.ndarray):
                assert given.dtype == value.dtype, name
                assert np.array_equal(given, value), name
            elif name != "table":
                assert given == value, name


def test_numbers_are_those_of_plans_made_step_by_step():
    draws = np.random.default_rng(0)
    filled = 0
    for n, pipeline in enumerate(pipelines(400)):
        sizes = draws.integers(9, 60, (1 + n % 5, 2))
        other = draws.integers(9, 60, (3, 2))
        ids = draws.integers(-(2**62), 2**62, 3)
        try:
            pipeline.plan(sizes)
            expected = Compose(pipeline.transforms, pipeline.seed).plan(other, ids, 7)
        except ValueError:
            continue  # too small for a crop
        filled += pipeline._templates[3, "uint8", False] is not None
        assert_same_plan(pipeline.plan(other, ids, 7), expected)
    assert filled > 150


def test_a_crop_that_does_not_fit_names_the_transform_and_the_image():
    pipeline = Compose([RandomCrop(8)])
    pipeline.plan([(8, 9)])
    with pytest.raises(ValueError, match="RandomCrop: expected images of at least 8x8, but image 1 is 7x9"):
        pipeline.plan([(8, 8), (7, 9)])


def test_pipelines_that_draw_anything_else_are_planned_step_by_step():
    pipeline = Compose([RandomResizedCrop(8), RandomRotation(10)])
    pipeline.plan([(20, 30)])
    assert pipeline._templates == {(3, "uint8", False): None}


def test_a_subclass_that_draws_in_a_way_of_its_own_is_asked():
    class Never(RandomHorizontalFlip):
        def sample(self, sizes, stream):
            return super().sample(sizes, stream).__class__(np.zeros(len(sizes), bool))

    pipeline = Compose([Never(1.0)])
    pipeline.plan([(2, 3)])
    assert (pipeline.plan([(2, 3)] * 4).passes[0].matrix == np.eye(3)).all()


def test_kinds_are_those_of_the_header():
    header = Path(__file__).parents[1].joinpath("coordinates.h").read_text()
    listed = re.search(r"enum class Coordinate \{(.*?)\};", header, re.DOTALL)
    names = re.findall(r"^  k(\w+),", listed[1], re.MULTILINE)
    assert [name.replace("_", "").lower() for name in Coordinate.__members__] == [
        name.lower() for name in names
    ]
    assert list(Coordinate) == list(range(len(names)))
