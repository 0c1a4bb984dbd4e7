"""Microbatches give the bytes and the type of a whole batch, with less memory in between."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import microbatches, read_images, run_passes
from orbbec.plan.passes import Context
from orbbec.plan.plan import tables_of
from tests.support import assert_same_bytes, photograph

SIZES = [(14, 17), (20, 13), (16, 16), (9, 30), (14, 17)]
PART = 4000  # bytes: of two or three images of 20x20
FLOAT = T.ToDtype(torch.float32, scale=True)
PIPELINES = {
    "resized": [T.Resize((20, 20)), T.RandomHorizontalFlip(), FLOAT, T.Normalize()],
    "half": [T.Resize((20, 20)), T.GaussianBlur(3), T.ToDtype(torch.float16, scale=True)],
    "blurred last": [T.RandomResizedCrop(20, antialias=False), T.RandomApply([T.GaussianBlur(5)])],
    "noisy": [T.Resize((20, 20)), T.GaussianNoise(0.0, 0.1), T.MedianBlur(3), T.RandomRotation(20)],
    "elastic": [T.Resize((20, 20)), T.ElasticTransform(20.0), T.JPEG((20, 80)), T.RandomGrayscale()],
    "policies": [T.Resize((20, 20)), T.RandAugment(), T.RandomErasing(1.0, value="random")],
    "blended": [T.Resize((20, 20)), T.AugMix(mixture_width=2), FLOAT],
    "gray": [T.Resize((20, 20)), T.Grayscale(), T.GaussianBlur(3), FLOAT],
    "ragged": [T.RandomShortestSize([20, 24]), T.RandomVerticalFlip()],
    "ragged blurred": [T.ScaleJitter((20, 24)), T.GaussianBlur(3)],
    "ragged floats": [T.RandomShortestSize([20, 24]), T.RandomHorizontalFlip(), FLOAT],
    "undrawn last": [T.Resize((20, 20)), T.RandomApply([T.GaussianBlur(3)], p=0.0)],
}


def batches():
    arrays = [photograph(*size, seed=n) for n, size in enumerate(SIZES)]
    alike = torch.from_numpy(np.stack([photograph(20, 31, seed=n) for n in range(5)])).permute(0, 3, 1, 2)
    return {
        "ImageBatch": ImageBatch.from_images(arrays),
        "slice": ImageBatch.from_images([arrays[0], *arrays])[1:],
        "list": [torch.from_numpy(array).permute(2, 0, 1) for array in arrays],
        "planes": alike.contiguous(),
        "channels_last": alike,
        "array": alike.permute(0, 2, 3, 1).numpy(),
        "floats": alike.contiguous().float() / 255,
    }


def assert_same(actual, expected):
    assert type(actual) is type(expected)
    if isinstance(actual, (torch.Tensor, np.ndarray)):
        assert_same_bytes(actual, expected)
        return
    for one, other in zip(actual, expected, strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize("kind", batches())
@pytest.mark.parametrize("name", PIPELINES)
def test_parts_give_what_all_give(name, kind, monkeypatch):
    if kind == "floats" and name in ("elastic", "policies", "blended"):
        pytest.skip("JPEG and the policies take bytes")
    images, pipeline = batches()[kind], T.Compose(PIPELINES[name], seed=3)
    whole = pipeline(images, epoch=0)
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", PART)
    given = read_images(images)
    plan = pipeline.plan(given.sizes, dtype=given.dtype, epoch=0)
    assert len(microbatches.microbatches_of(plan, given.work)) > 2 or len(plan.passes) < 2
    assert_same(pipeline(images, epoch=0), whole)


def test_what_lies_between_passes_is_bounded(monkeypatch):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", PART)
    images, seen = batches()["ImageBatch"], []
    plan = T.Compose(PIPELINES["noisy"]).plan(images.sizes, epoch=0)

    def after(number, work):
        if number < len(plan.passes) - 1:
            seen.append(work.nbytes)

    run_passes(plan, read_images(images), after=after)
    assert max(seen) <= PART
    assert len(seen) == 3 * (len(plan.passes) - 1)  # 1 image, then 3 and 1


def test_images_that_are_mixed_stay_together(monkeypatch):
    images, pipeline = batches()["ImageBatch"], T.Compose([*PIPELINES["half"][:2], T.MixUp(num_classes=2)])
    whole = pipeline(images, epoch=0)
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", PART)
    assert_same(pipeline(images, epoch=0), whole)


def test_gradients_pass_where_parts_would_be_taken(monkeypatch):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", PART)
    images = batches()["floats"].requires_grad_()
    T.Compose([T.Resize((20, 20)), T.GaussianBlur(3)])(images, epoch=0).sum().backward()
    assert images.grad is not None
    assert images.grad.abs().sum() > 0


def test_gradients_pass_operators_that_change_some_images():
    images, pipeline = batches()["floats"].requires_grad_(), T.Compose([T.RandomApply([T.GaussianBlur(3)])])
    results = pipeline(images, epoch=0)
    changed = (results != images).flatten(1).any(1)
    assert 0 < changed.sum() < len(images)
    results.square().sum().backward()
    assert (images.grad.flatten(1).abs().sum(1) > 0).all()


@pytest.mark.parametrize("part", [PART, 2**24])
@pytest.mark.parametrize("name", ["resized", "half", "blurred last", "gray", "undrawn last"])
def test_out_takes_the_results_of_any_pipeline(name, part, monkeypatch):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", part)
    images, pipeline = batches()["ImageBatch"], T.Compose(PIPELINES[name], seed=3)
    plan, expected = pipeline.plan(images.sizes, epoch=0), pipeline(images, epoch=0)
    out = torch.zeros_like(expected)
    assert pipeline.apply(plan, images, out=out) is out
    assert_same_bytes(out, expected)
    array = np.zeros((5, 20, 20, expected.shape[1]), expected.numpy().dtype)
    assert pipeline.apply(plan, images, out=array) is array
    assert_same_bytes(array, expected.permute(0, 2, 3, 1).numpy())


@pytest.mark.parametrize("kind", ["ImageBatch", "list"])
def test_results_of_several_sizes_are_written_where_they_stay(kind):
    images, pipeline = batches()[kind], T.Compose([T.RandomRotation(9)], seed=3)
    plan = pipeline.plan(SIZES, epoch=0)
    out = ImageBatch.of_sizes(SIZES, 3)
    context = Context(plan.key, iter(tables_of(plan)))
    assert plan.passes[0].run(images, plan.sizes, context, out) is out
    assert_same(out, pipeline(ImageBatch.from_images(batches()["ImageBatch"].images()), epoch=0))


def test_out_takes_one_image():
    image, pipeline = batches()["planes"][0], T.Compose(PIPELINES["resized"])
    out = torch.zeros(3, 20, 20)
    assert pipeline.apply(pipeline.plan([image.shape[1:]], epoch=0), image, out=out) is out
    assert_same_bytes(out, pipeline(image, epoch=0))


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("blurred last", torch.zeros(5, 3, 20, 20), "expected out of uint8.*, but got float32"),
        ("blurred last", torch.zeros(1, 3, 20, 20, dtype=torch.uint8), r"but got uint8 \[1, 3, 20, 20\]"),
        ("resized", torch.zeros(4, 3, 20, 20), r"\[4, 3, 20, 20\]"),
        ("ragged", torch.zeros(5, 3, 20, 20, dtype=torch.uint8), "out= takes results of one size"),
        ("ragged floats", torch.zeros(5, 3, 20, 20), "out= takes results of one size"),
    ],
)
@pytest.mark.parametrize("part", [PART, 2**24])
def test_out_that_does_not_fit_is_refused(name, out, message, part, monkeypatch):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", part)
    images, pipeline = batches()["ImageBatch"], T.Compose(PIPELINES[name])
    with pytest.raises(ValueError, match=message):
        pipeline.apply(pipeline.plan(images.sizes, epoch=0), images, out=out)


def test_tensors_without_memory_share_none():
    memory = torch.empty(4)
    for tensor in (torch.empty(4, device="meta"), memory[2:2]):
        assert microbatches._extent(tensor) == (tensor.data_ptr(), tensor.data_ptr())
    assert microbatches._extent(memory[1:3]) == (memory.data_ptr() + 4, memory.data_ptr() + 12)


@pytest.mark.parametrize("part", [PART, 2**24])
def test_out_that_shares_memory_with_the_images_is_refused(part, monkeypatch):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", part)
    memory, pipeline = (
        torch.zeros(9, 3, 20, 20, dtype=torch.uint8),
        T.Compose([T.GaussianBlur(3), T.MedianBlur(3)]),
    )
    plan, images = pipeline.plan([(20, 20)] * 5, epoch=0), memory[:5]
    for out in (images, memory[4:]):
        with pytest.raises(ValueError, match="apply: expected out that shares no memory with the images"):
            pipeline.apply(plan, images, out=out)
    expected = pipeline(memory[:4], epoch=0)
    pipeline.apply(pipeline.plan([(20, 20)] * 4, epoch=0), memory[:4], out=memory[5:])
    assert_same_bytes(memory[5:], expected)


def test_results_that_are_held_stay_as_they_are():
    images = torch.zeros(8, 3, 250, 250, dtype=torch.uint8)
    pipeline = T.Compose([T.CenterCrop(220), FLOAT])
    held = pipeline(images, epoch=0)
    other = pipeline(images + 255, epoch=0)
    assert (held == 0).all()
    assert (other == 1).all()
    address = held.data_ptr()
    del held
    assert pipeline(images, epoch=0).data_ptr() == address
