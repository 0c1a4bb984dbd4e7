"""Every transform gives a batch of variable-size images the results of its images one by one."""

from dataclasses import MISSING, fields, replace

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.transforms.mixing import _Applied
from orbbec.transforms.tests.examples import EXAMPLES, our_transforms
from tests.support import assert_same_bytes, photograph

SIZES = ((30, 44), (47, 28), (41, 40))
IMAGES = [photograph(*size, seed=index) for index, size in enumerate(SIZES)]
POINTS = np.array([[0.3, 0.3], [0.7, 0.35], [0.5, 0.5], [0.35, 0.7], [0.65, 0.75]])
# Those that read other images of the batch.
ALONE = [name for name in EXAMPLES if not issubclass(our_transforms()[name], _Applied)]
EPOCHS = range(2)


def target_of(index):
    """Boxes, masks and points at the same fractions of each image, a little displaced by its index."""
    height, width = SIZES[index]
    scale, shift = np.array([width, height]), 0.02 * index
    boxes = np.concatenate([POINTS[:2] - 0.2, POINTS[3:] + 0.15], 1) + shift
    return {
        "boxes": boxes * np.tile(scale, 2),
        "labels": np.array([3 + index, 5]),
        "masks": np.stack([photograph(height, width, 1, seed=9 + index)[..., 0] > 99] * 2),
        "mask": photograph(height, width, 1, seed=5 + index)[..., 0] // 64,
        "points": (POINTS + shift) * scale,
        "keypoints": (POINTS - shift) * scale,
    }


def images_of(result):
    """The images as tensors `[H, W, C]`."""
    if isinstance(result, ImageBatch):
        return list(result)
    return [image.permute(1, 2, 0) for image in result]


def results_of(pipeline, indices, epoch):
    """The image and the targets of each index, transformed in one batch."""
    images, targets = pipeline(
        ImageBatch.from_images([IMAGES[index] for index in indices]),
        [target_of(index) for index in indices],
        sample_ids=[70 + index for index in indices],
        epoch=epoch,
    )
    return list(zip(images_of(images), targets, strict=True))


def assert_one_by_one(pipeline):
    for epoch in EPOCHS:
        together = results_of(pipeline, range(len(IMAGES)), epoch)
        for index, (image, target) in enumerate(together):
            ((alone, target_alone),) = results_of(pipeline, [index], epoch)
            assert_same_bytes(image.contiguous(), alone.contiguous())
            assert target.keys() == target_alone.keys()
            for key, value in target.items():
                assert_same_bytes(value, target_alone[key])


def floats_before(transform):
    """What a transform of floats needs before it."""
    is_of_floats = isinstance(transform, (T.Normalize, T.GaussianNoise))
    return [T.ToDtype(torch.float32, scale=True)] if is_of_floats else []


@pytest.mark.parametrize("exact", [False, True], ids=["fused", "exact"])
@pytest.mark.parametrize("name", ALONE)
def test_transform_of_a_batch_is_that_of_its_images(name, exact):
    for transform in EXAMPLES[name]:
        assert_one_by_one(T.Compose([*floats_before(transform), transform], seed=4, exact=exact))


@pytest.mark.parametrize("name", ALONE)
def test_transform_after_others_is_that_of_its_images(name):
    before = [T.RandomPerspective(0.3, 0.7), T.RandomZoomOut(side_range=(1.1, 1.6))]
    for transform in EXAMPLES[name]:
        assert_one_by_one(T.Compose([*before, *floats_before(transform), transform], seed=4))


def test_every_argument_of_every_transform_is_off_its_default_in_an_example():
    assert EXAMPLES.keys() == our_transforms().keys()
    with_one_value = ["ConvertBoundingBoxFormat.format"]
    for name, kind in our_transforms().items():
        assert all(type(example) is kind for example in EXAMPLES[name])
        for field in fields(kind):
            if field.default is MISSING or f"{name}.{field.name}" in with_one_value:
                continue
            defaults = [replace(example, **{field.name: field.default}) for example in EXAMPLES[name]]
            pairs = zip(defaults, EXAMPLES[name], strict=True)
            assert any(one != other for one, other in pairs), f"{name}.{field.name}"


def as_lists(value):
    return [as_lists(each) for each in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", EXAMPLES)
def test_lists_mean_what_tuples_mean(name):
    for example in EXAMPLES[name]:
        arguments = {field.name: as_lists(getattr(example, field.name)) for field in fields(example)}
        assert replace(example, **arguments) == example
