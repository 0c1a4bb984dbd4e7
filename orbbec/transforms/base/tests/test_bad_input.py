"""Invalid input is refused by name, before pixels are touched."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.tests.examples import EXAMPLES
from orbbec.transforms.tests.test_compose import ALL, MIXING
from tests.support import assert_same_bytes, photographs

EVERY = [*ALL, *MIXING]
SIZE = (20, 30)
IMAGES = 3


FLOATS = ("float16", "bfloat16", "float32")
BYTES_ALONE = (
    "CLAHE",
    "JPEG",
    "PillowBlur",
    "RandomAutocontrast",
    "RandomEqualize",
    "TrivialAugmentWide",
    "RandAugment",
    "AutoAugment",
)


def wrong_values(value, is_probability):
    """Values that no argument takes whose value may be this."""
    yield from (object(), [None], {}, (math.nan, 1.0))
    if isinstance(value, float):
        yield from (math.nan, math.inf, "0.5")
    if is_probability and isinstance(value, float):
        yield from (-0.1, 1.1)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, float) for v in value):
        yield from ((1.0, 0.0, 0.5), (math.inf, 1.0))


@pytest.mark.parametrize("transform", [*EVERY, *EXAMPLES["Normalize"]], ids=lambda t: t.name)
def test_wrong_argument_is_named_at_construction(transform):
    for name in (field.name for field in dataclasses.fields(transform)):
        for bad in wrong_values(getattr(transform, name), name == "p"):
            with pytest.raises((ValueError, TypeError)) as error:
                dataclasses.replace(transform, **{name: bad})
            assert str(error.value).startswith(f"{transform.name}: expected ")
            assert name in str(error.value)


WITHOUT_TARGETS = [transform for transform in EVERY if transform.name != "CopyPaste"]


@pytest.mark.parametrize("transform", WITHOUT_TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_what_is_planned_can_be_applied(transform, exact, channels, dtype):
    pipeline = T.Compose([transform], exact=exact)
    images = torch.zeros(IMAGES, channels, *SIZE, dtype=dtype)
    before = images.clone()
    try:
        plan = pipeline.plan([SIZE] * IMAGES, channels=channels, dtype=dtype, epoch=0)
    except ValueError as error:
        reasons = {
            "images of uint8": dtype != torch.uint8,
            "threshold": dtype != torch.uint8,
            "addition": dtype != torch.uint8,
            "drop_value": dtype != torch.uint8,
            "images of 3 channels": channels == 1,
            "1 number in": channels == 1,
        }
        expected = str(error).partition(": expected ")[2]
        is_true = [expected.startswith(reason) for reason, is_so in reasons.items() if is_so]
        assert any(is_true) or channels not in (1, 3)
        return
    pipeline.apply(plan, images)
    assert_same_bytes(images, before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BYTES_ALONE)
def test_bytes_alone_is_said_when_planned(name, dtype):
    transform = next(t for t in ALL if t.name == name)
    for pipeline in ([transform], [T.RandomApply([transform], p=0.0)]):
        with pytest.raises(ValueError, match=f"{name}: expected images of uint8, but got {dtype}"):
            T.Compose(pipeline).plan([SIZE], dtype=dtype, epoch=0)
    with pytest.raises(ValueError, match=f"{name}: expected images of uint8, but got {dtype}"):
        T.Compose([T.ToDtype(dtype, scale=True), transform]).plan([SIZE], epoch=0)
    with pytest.raises(ValueError, match=f"{name}: expected "):
        T.Compose([T.ToDtype(torch.float32, scale=False), transform]).plan([SIZE], epoch=0)


@pytest.mark.parametrize(
    ("transform", "channels", "message"),
    [
        (T.ColorJitter(0.4), 2, "ColorJitter: expected images of 1 or 3 channels, but got 2"),
        (T.Grayscale(), 4, "Grayscale: expected images of 3 channels, but got 4"),
        (T.JPEG(50), 4, "JPEG: expected images of 1 or 3 channels, but got 4"),
        (T.ColorJitter(0.4), 5, "ColorJitter: expected images of 1 or 3 channels, but got 5"),
        (T.Pad(1, fill=(1, 2, 3)), 1, "Pad: expected 1 number in fill, but got 3"),
        (T.Mosaic(9, fill=(1, 2, 3)), 4, "Mosaic: expected 1 or 4 numbers in fill, but got 3"),
        (T.ElasticTransform(fill=(1, 2)), 3, "ElasticTransform: expected 1 or 3 numbers in fill, but got 2"),
    ],
)
def test_wrong_channels_are_named_when_planned(transform, channels, message):
    with pytest.raises(ValueError, match=message):
        T.Compose([transform]).plan([SIZE], channels=channels, epoch=0)


def test_one_channel_keeps_its_color():
    gray = photographs(4, 1, 9, 11)
    for exact in (False, True):
        assert_same_bytes(T.Compose([T.ColorJitter(0, 0, 0.8, 0.5)], exact=exact)(gray, epoch=0), gray)
        assert_same_bytes(T.Compose([T.RandomChannelPermutation()], exact=exact)(gray, epoch=0), gray)
        assert not torch.equal(T.Compose([T.ColorJitter(0.8, 0.8)], exact=exact)(gray, epoch=0), gray)


@pytest.mark.parametrize("transform", [T.RandomCrop((21, 5)), T.RandomCrop((5, 31))], ids=str)
def test_small_image_is_named_and_the_batch_unharmed(transform):
    images = [np.full((40, 40, 3), 7, np.uint8), np.full((20, 30, 3), 8, np.uint8)]
    kept = [image.copy() for image in images]
    with pytest.raises(ValueError, match=f"{transform.name}: expected .* but image 1 is 20x30"):
        T.Compose([T.RandomInvert(1.0), transform])(images, epoch=0)
    for image, before in zip(images, kept, strict=True):
        assert_same_bytes(image, before)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.zeros(2, 3, 0, 5, dtype=torch.uint8), "image 0 is of size"),
        ([np.zeros((3, 4, 3), np.uint8), np.zeros((0, 4, 3), np.uint8)], "image 1 has shape"),
        ([np.zeros((3, 4, 3), np.uint8), np.zeros((3, 4), np.uint8)], "image 1 has 1 channels"),
        ([torch.zeros(3, 4, 5), torch.zeros(3, 4, 5).half()], "image 1 has 3 channels of float16"),
        ([], "at least 1 image"),
    ],
)
def test_images_that_are_none_are_named(images, message):
    with pytest.raises((ValueError, TypeError), match=message):
        T.Compose([T.Pad(1)])(images, epoch=0)


BOX = np.array([[2.0, 3.0, 9.0, 8.0]])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"boxes": np.array([[2.0, math.nan, 9.0, 8.0]])}, "box 0 of image 1 is not finite"),
        ({"boxes": np.array([[2.0, 3.0, math.inf, 8.0]])}, "box 0 of image 1 is not finite"),
        ({"boxes": BOX[0]}, r"boxes .*\[K, 4\], but image 1 has \[4\]"),
        ({"boxes": BOX, "labels": [1, 2]}, "expected 1 labels, one per box, but image 1 has 2"),
        (
            {"boxes": BOX, "masks": np.zeros((2, *SIZE), bool)},
            "expected 1 masks, one per box, but image 1 has 2",
        ),
        ({"boxes": BOX, "polygons": []}, "expected 1 polygons, one per box, but image 1 has 0"),
        (
            {"boxes": BOX, "keypoints": np.zeros((2, 5, 2))},
            "expected 1 keypoints, one per box, but image 1 has 2",
        ),
        ({"mask": np.zeros((9, 9), np.uint8)}, "expected mask of 20x30, as image 1 is, but got shape"),
    ],
)
@pytest.mark.parametrize("transform", [T.RandomHorizontalFlip(), T.RandomIoUCrop()], ids=lambda t: t.name)
def test_wrong_targets_are_named_before_any_pixel(monkeypatch, transform, target, message):
    def fail(*arguments, **options):
        raise AssertionError("pixels were touched")

    monkeypatch.setattr(T.Compose, "apply", fail)
    images = [np.zeros((*SIZE, 3), np.uint8)] * 2
    with pytest.raises(ValueError, match=message):
        T.Compose([transform])(images, [{"boxes": BOX, "labels": [3]}, target], epoch=0)


IMAGES_AS_BYTES = torch.zeros(2, 3, *SIZE, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("mix", "label", "message"),
    [
        (T.MixUp(num_classes=3), None, "mixup: expected label in the target of image 1, but got none"),
        (T.CutMix(num_classes=3), None, "cutmix: expected label in the target of image 1, but got none"),
        (T.CutMix(num_classes=3), 5, "cutmix: expected label from 0 to 2, but image 1 has 5"),
        (T.CutMix(), 1, "cutmix: expected label as a number, and num_classes, or as a vector, for image 1"),
    ],
)
def test_labels_that_cannot_be_mixed_are_named(mix, label, message):
    targets = [{"label": torch.ones(3)}, {} if label is None else {"label": label}]
    with pytest.raises(ValueError, match=message):
        T.Compose([mix])(IMAGES_AS_BYTES, targets, epoch=0)


@pytest.mark.parametrize("transform", [T.RandomHorizontalFlip(), T.RandomIoUCrop()], ids=lambda t: t.name)
def test_targets_are_dicts_one_an_image(transform):
    pipeline = T.Compose([transform])
    with pytest.raises(TypeError, match="expected dicts, but target 1 is a NoneType"):
        pipeline(IMAGES_AS_BYTES, [{"boxes": BOX}, None], epoch=0)
    for count in (1, 3):
        targets, message = [{"boxes": BOX}] * count, f"expected 2 targets, one per image, but got {count}"
        with pytest.raises(ValueError, match=message):
            pipeline.plan([SIZE] * 2, targets=targets, epoch=0)
        with pytest.raises(ValueError, match=message):
            pipeline(IMAGES_AS_BYTES, targets, epoch=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_targets_may_be_of_any_float_and_ask_for_a_gradient(dtype):
    pipeline = T.Compose(
        [T.RandomIoUCrop(sampler_options=(0.0,)), T.AlignPoints(8, [(1, 1), (5, 5)]), T.Pad(2)], seed=3
    )
    given = {"boxes": BOX, "keypoints": np.array([[[3.0, 4.0], [8.0, 7.0]]]), "polygons": [BOX.reshape(2, 2)]}
    _, expected = pipeline(IMAGES_AS_BYTES[0], given, epoch=0)
    boxes, points = (
        torch.tensor(given[key], dtype=dtype, requires_grad=True) for key in ("boxes", "keypoints")
    )
    polygons = [torch.tensor(BOX.reshape(2, 2), dtype=dtype, requires_grad=True)]
    target = {"boxes": boxes, "keypoints": points, "polygons": polygons}
    _, moved = pipeline(IMAGES_AS_BYTES[0], target, epoch=0)
    for key in ("boxes", "keypoints"):
        assert moved[key].dtype == dtype
        assert torch.allclose(moved[key].double(), torch.from_numpy(expected[key]), rtol=0.01)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3), (2, 4, 5, 3)])
def test_arrays_of_bfloat16_are_refused(shape):
    with pytest.raises(TypeError, match="expected a tensor for a result of bfloat16, but got an array"):
        T.Compose([T.ToDtype("bfloat16", scale=True)])(np.zeros(shape, np.uint8), epoch=0)


@pytest.mark.parametrize("generator", [7, np.random.default_rng(0)])
def test_a_generator_is_torchs(generator):
    message = f"expected generator as a torch.Generator, but got .*{type(generator).__name__}|but got 7"
    for call in (T.Compose([T.RandomInvert()]), T.MultiView([[T.RandomInvert()]])):
        for arguments in ({}, {"epoch": 3}):
            with pytest.raises(TypeError, match=message):
                call(IMAGES_AS_BYTES, generator=generator, **arguments)


@pytest.mark.parametrize("polygons", [5, "ring", {0: BOX.reshape(2, 2)}, np.array(1.0)])
def test_polygons_are_a_list(polygons):
    message = f"expected polygons as a list, but image 0 has a {type(polygons).__name__}"
    with pytest.raises(TypeError, match=message):
        T.Compose([T.Pad(2)])(IMAGES_AS_BYTES[0], {"polygons": polygons}, epoch=0)


def test_a_pipeline_in_a_pipeline_is_named_with_what_replaces_it():
    inner = T.Compose([T.RandomInvert()])
    with pytest.raises(TypeError, match=r"transform 1 is a Compose: put its transforms into the list, \*"):
        T.Compose([T.Pad(2), inner])
    assert T.Compose([T.Pad(2), *inner.transforms]).transforms == (T.Pad(2), T.RandomInvert())


def test_weights_without_a_sum_are_refused():
    with pytest.raises(ValueError, match=r"AdvancedBlur: expected noise_range to end above 0"):
        T.AdvancedBlur(noise_range=(0, 0))
    images = torch.full((2, 3, 9, 9), 90, dtype=torch.uint8)
    assert (T.AdvancedBlur(noise_range=(0, 1e-3), p=1.0)(images, epoch=0) == 90).all()


@pytest.mark.parametrize("getter", [np.array(["a", "b"]), torch.zeros(2), len])
def test_a_getter_of_labels_that_is_no_name_is_refused(getter):
    with pytest.raises(ValueError, match='expected labels_getter as "default" or None'):
        T.SanitizeBoundingBoxes(labels_getter=getter)


class _WithTransform(T.Transform):
    """A transform in the manner of torchvision."""

    def transform(self, inpt, params):
        return inpt


class _WithForward(T.RandomHorizontalFlip):
    def forward(self, batch, *arguments, **options):
        return super().forward(batch, *arguments, **options) // 2


def test_a_transform_without_rules_says_what_it_lacks():
    for transform in (_WithTransform(), T.Compose([T.Pad(1), _WithTransform()])):
        with pytest.raises(NotImplementedError, match="_WithTransform: expected a class with rules"):
            transform(IMAGES_AS_BYTES)


def test_a_forward_that_a_pipeline_would_not_call_is_refused():
    assert _WithForward(1.0)(IMAGES_AS_BYTES).max() < 128
    for container in (T.Compose, T.RandomApply):
        with pytest.raises(TypeError, match="transform 1, _WithForward, has a forward"):
            container([T.Pad(1), _WithForward(1.0)])
