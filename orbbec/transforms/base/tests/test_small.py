"""Small images of a shape that ran before take the shortest way; it must change no result."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.base import inputs
from tests.support import assert_same_bytes, photographs

STEPS = [T.RandomResizedCrop(6, antialias=False), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.4, 0.1)]
IMAGE = photographs(1, 3, 9, 11)[0]
ARRAY = np.ascontiguousarray(IMAGE.permute(1, 2, 0).numpy())


def result_of(pipeline, images, **how):
    torch.manual_seed(5)
    result = pipeline(images, **how)
    return result if isinstance(result, torch.Tensor) else torch.from_numpy(result)


def known():
    """A pipeline that has seen both shapes."""
    pipeline = T.Compose(STEPS, seed=1)
    assert pipeline(IMAGE).shape == (3, 6, 6)
    assert pipeline(ARRAY).shape == (6, 6, 3)
    assert set(pipeline._small_runs) == {(torch.Tensor, IMAGE.shape), (np.ndarray, ARRAY.shape)}
    return pipeline


OTHERS = {
    "floats": IMAGE / 255,
    "float array": ARRAY.astype(np.float32) / 255,
    "another layout": IMAGE.flip(2).transpose(1, 2).contiguous().transpose(1, 2),
    "array of another layout": ARRAY[::-1, ::-1],
}


@pytest.mark.parametrize("kind", OTHERS)
def test_images_of_the_same_shape_that_differ_otherwise_have_the_results_of_a_new_pipeline(kind):
    images = OTHERS[kind]
    assert_same_bytes(result_of(known(), images), result_of(T.Compose(STEPS, seed=1), images))


@pytest.mark.parametrize("images", [IMAGE, ARRAY])
def test_calls_have_the_results_of_a_new_pipeline(images):
    pipeline = known()
    assert_same_bytes(result_of(pipeline, images), result_of(T.Compose(STEPS, seed=1), images))
    for how in ({"sample_ids": [3]}, {"epoch": 2}, {"generator": torch.Generator().manual_seed(2)}):
        expected = result_of(T.Compose(STEPS, seed=1), images, **how)
        if "generator" in how:
            how["generator"].manual_seed(2)
        assert_same_bytes(result_of(pipeline, images, **how), expected)


def test_a_read_only_array_is_read():
    array = ARRAY.copy()
    array.flags.writeable = False
    assert_same_bytes(result_of(known(), array), result_of(T.Compose(STEPS, seed=1), ARRAY))


def test_an_image_too_small_for_what_is_drawn_is_named():
    pipeline = T.Compose([T.RandomResize(4, 9), T.RandomCrop(6)])
    torch.manual_seed(0)
    outcomes = set()
    for _ in range(60):
        try:
            outcomes.add(str(list(pipeline(IMAGE).shape)))
        except ValueError as error:
            outcomes.add(str(error).split(":")[0])
    assert outcomes == {"[3, 6, 6]", "RandomCrop"}


def test_the_number_of_shapes_is_limited(monkeypatch):
    monkeypatch.setattr("orbbec.transforms.base.pipeline.MAX_SMALL_SHAPES", 2)
    pipeline = T.Compose([T.RandomCrop(3)])
    for width in range(4, 9):
        assert pipeline(IMAGE[..., :width]).shape == (3, 3, 3)
    assert len(pipeline._small_runs) == 2


def test_results_as_tensors_and_large_images_are_as_before():
    pipeline = T.Compose([T.ToTensor(), T.RandomCrop(4)])
    for _ in range(2):
        assert result_of(pipeline, ARRAY).shape == (3, 4, 4)
    large = torch.zeros(3, 700, 700, dtype=torch.uint8)
    pipeline = T.Compose([T.RandomHorizontalFlip(), T.ToDtype("float32")])
    assert pipeline(large).shape == large.shape
    assert not pipeline._small_runs
    assert inputs.bytes_of(large) is large
