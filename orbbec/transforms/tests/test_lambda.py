"""A user's function as a separate pass."""

import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from tests.support import photograph, photographs

IMAGES = photographs(3, 3, 12, 10)


def negative(image):
    return 255 - image


def test_a_function_runs_between_two_passes():
    pipeline = T.Compose(
        [T.RandomHorizontalFlip(1.0), T.Lambda(negative), T.ToDtype(torch.float32, scale=True)]
    )
    assert torch.equal(pipeline(IMAGES), (255 - IMAGES.flip(3)) * torch.tensor(1 / 255))
    plan = pipeline.plan([(12, 10)], epoch=0)
    assert [step.name for step in plan.passes] == ["augment", "lambda", "augment"]
    assert "holds Lambda" in str(plan)
    assert "because lambda is a function in Python" in str(plan)


def test_images_of_any_kind_reach_it_one_by_one_as_tensors():
    shapes = []

    def seen(image):
        shapes.append(tuple(image.shape))
        return image

    batch = [photograph(12, 10), photograph(9, 14)]
    result = T.Lambda(seen)(ImageBatch.from_images(batch))
    assert shapes == [(3, 12, 10), (3, 9, 14)]
    assert all((one.numpy() == other).all() for one, other in zip(result.images(), batch, strict=True))


def test_some_images_alone():
    half = T.RandomApply([T.Lambda(negative)], 0.5)
    results = half(IMAGES[:1].expand(20, -1, -1, -1))
    changed = sum(torch.equal(image, 255 - IMAGES[0]) for image in results)
    assert changed + sum(torch.equal(image, IMAGES[0]) for image in results) == 20
    assert 0 < changed < 20


@pytest.mark.parametrize("result", [torch.zeros(3, 12, 9, dtype=torch.uint8), torch.zeros(3, 12, 10), None])
def test_other_results_are_named(result):
    with pytest.raises(ValueError, match=r"Lambda: expected uint8 \[3, 12, 10\] of the function for image 0"):
        T.Lambda(lambda image: result)(IMAGES)


def test_what_is_no_function_or_no_text_is_named():
    with pytest.raises(TypeError, match="Lambda: expected a function, but got 3"):
        T.Lambda(3)
    with pytest.raises(TypeError, match="a function cannot be serialized as text"):
        T.Compose([T.Lambda(negative)]).to_json()
