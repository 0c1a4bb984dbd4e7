"""Empty batches have the size, channels, dtype and layout of other results."""

from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.transforms.tests.examples import EXAMPLES, needs_masks
from tests.support import photographs

FLOAT = T.ToDtype(torch.float32, scale=True)
PIPELINES = {
    "resize": [T.Resize((8, 9))],
    "shorter side": [T.Resize(8)],
    "fused resize": [T.Resize((8, 9), antialias=False), T.RandomHorizontalFlip()],
    "nearest": [T.Resize((8, 9), "nearest")],
    "resized crop": [T.RandomResizedCrop((8, 9))],
    "center crop": [T.CenterCrop((6, 9))],
    "crop": [T.RandomCrop((3, 4))],
    "letterbox": [T.Letterbox((8, 9))],
    "pad": [T.Pad((1, 2, 3, 4))],
    "shortest": [T.RandomShortestSize(9)],
    "turned": [T.RandomRotation((90, 90), expand=True)],
    "affine": [T.RandomAffine(20)],
    "points": [T.AlignPoints((8, 9), [(1, 1), (5, 5)])],
    "gray": [T.Grayscale(1)],
    "colors": [T.ColorJitter(0.4, 0.4, 0.4, 0.1)],
    "blur": [T.GaussianBlur(3), T.Resize((8, 9))],
    "sharp": [T.RandomAdjustSharpness(2.0, 1.0)],
    "jpeg": [T.JPEG(50), T.RandomEqualize(1.0)],
    "policy": [T.RandAugment(), T.Resize((8, 9))],
    "augmix": [T.AugMix(), T.Resize((8, 9))],
    "noise": [T.GaussianNoise(), T.ElasticTransform(20.0)],
    "mosaic": [T.Mosaic((8, 9))],
    "mixed": [T.Resize((8, 9)), T.MixUp(num_classes=3)],
    "cut": [T.Resize((8, 9), antialias=False), FLOAT, T.CutMix(num_classes=3)],
    "erased": [T.RandomErasing(1.0), T.RandomResizedCrop((8, 9), antialias=False)],
    "float": [T.Resize((8, 9)), FLOAT, T.Normalize(0.5, 0.5)],
    "half": [T.ToDtype(torch.float16, scale=True), T.Resize((8, 9))],
    "unscaled": [T.ToDtype(torch.float32), T.CenterCrop(3)],
    "last": [T.Resize((8, 9)), T.ToDtype(torch.float32, scale=True, channels_last=True)],
    "some": [T.RandomApply([T.ColorJitter(0.4)], 0.5), T.RandomChoice([T.GaussianBlur(3), T.CenterCrop(6)])],
    "iou": [T.RandomIoUCrop(), T.Resize((8, 9))],
}
IMAGES = {
    "tensor": torch.zeros(2, 3, 6, 7, dtype=torch.uint8),
    "array": np.zeros((2, 6, 7, 3), np.uint8),
    "float": torch.zeros(2, 3, 6, 7),
    "channels last": torch.zeros(2, 3, 6, 7, dtype=torch.uint8).to(memory_format=torch.channels_last),
}
ONES = [one for some in EXAMPLES.values() for one in some if one.name != "Normalize" and not needs_masks(one)]
BYTES_ALONE = ("jpeg", "policy", "augmix")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("name", PIPELINES)
def test_no_images_become_what_images_do(name, kind, exact):
    if kind == "float" and name in BYTES_ALONE:
        pytest.skip("takes bytes alone")
    compose, images = T.Compose(PIPELINES[name], exact=exact), IMAGES[kind]
    expected = compose(images, epoch=0)
    assert expected.shape[0] == 2
    result = compose(images[:0], epoch=0)
    assert type(result) is type(expected)
    assert (result.shape[0], result.shape[1:]) == (0, expected.shape[1:])
    assert result.dtype == expected.dtype
    again, targets = compose(images[:0], [], epoch=0)
    assert (again.shape, list(targets)) == (result.shape, [])
    planned = compose.plan([], channels=3, dtype="float32" if kind == "float" else "uint8", epoch=0)
    assert compose.apply(planned, images[:0]).dtype == expected.dtype


@pytest.mark.parametrize("name", [name for name in PIPELINES if name != "unscaled"])  # needs one size
def test_no_images_of_a_batch_become_what_images_do(name):
    compose = T.Compose(PIPELINES[name])
    two = ImageBatch.from_images([np.zeros((6, 7, 3), np.uint8), np.zeros((9, 12, 3), np.uint8)])
    expected = compose(two, epoch=0)
    result = compose(ImageBatch.of_sizes([], 3), epoch=0)
    if isinstance(expected, list):
        assert (result.shape[0], result.dtype) == (0, expected[0].dtype)
        return
    assert type(result) is type(expected)
    assert len(result) == 0
    if isinstance(expected, torch.Tensor):
        assert (result.shape[1:], result.dtype) == (expected.shape[1:], expected.dtype)
    else:
        assert result.channels == expected.channels


def test_no_objects_are_pasted_on_no_images():
    compose = T.Compose([T.Resize((8, 9)), T.CopyPaste(), FLOAT])
    images, targets = compose(IMAGES["tensor"][:0], [], epoch=0)
    assert (tuple(images.shape), images.dtype, list(targets)) == ((0, 3, 8, 9), torch.float32, [])
    assert len(T.CopyPaste()(ImageBatch.of_sizes([], 3), [])[0]) == 0


@pytest.mark.parametrize("example", ONES, ids=lambda t: t.name)
def test_no_images_have_the_size_of_results_at_every_chance(example):
    names = [field.name for field in fields(example) if field.name in ("p", "scale_p", "aspect_p")]
    chances = [name for name in names if isinstance(getattr(example, name), float)]
    images = photographs(8, 3, 24, 31)
    for numbers in product((0.0, 1.0), repeat=len(chances)):
        compose = T.Compose([replace(example, **dict(zip(chances, numbers, strict=True)))], seed=5)
        expected = compose(images, epoch=1)
        is_one_size = isinstance(expected, torch.Tensor)
        size = expected.shape[1:] if is_one_size else images.shape[1:]
        assert compose(images[:0], epoch=1).shape[1:] == size


def test_where_results_of_no_images_are_written():
    compose, images = T.Compose([T.Resize((8, 8)), FLOAT]), torch.zeros(0, 3, 4, 4, dtype=torch.uint8)
    out = torch.zeros(0, 3, 8, 8)
    assert compose.apply(compose.plan([], epoch=0), images, out=out) is out
    with pytest.raises(ValueError, match=r"expected out of shape \[0, 3, 8, 8\]"):
        compose.apply(compose.plan([], epoch=0), images, out=torch.zeros(0, 3, 4, 4))


def test_results_of_other_sizes_keep_that_of_no_images():
    jitter = T.Compose([T.ScaleJitter((32, 32))])
    assert jitter(torch.zeros(0, 3, 6, 7, dtype=torch.uint8), epoch=0).shape == (0, 3, 6, 7)
