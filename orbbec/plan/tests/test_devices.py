"""The same bytes on every device, and inside torch.compile."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.bridge import arguments
from orbbec.plan import apply
from tests.support import assert_same_bytes, photograph, photographs

PIPELINES = {
    "fused": [
        T.RandomResizedCrop(12, antialias=False),
        T.RandomHorizontalFlip(),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(),
        T.RandomErasing(1.0),
        T.ToDtype(torch.float32, scale=True),
        T.Normalize(),
    ],
    "operators": [
        T.RandomResizedCrop(12),
        T.RandomApply([T.GaussianBlur(3)]),
        T.RandomEqualize(),
        T.RandomAffine(10, (0.1, 0.1), interpolation="linear"),
        T.RandomAdjustSharpness(2.0),
        T.ToDtype(torch.float16, scale=True),
    ],
    "warps": [
        T.RandomResizedCrop(12, interpolation=("linear", "cubic")),
        T.RandomRotation(20, "lanczos", padding_mode="symmetric"),
        T.RandomAffine(10, interpolation="cubic", padding_mode="wrap"),
        T.RandomPerspective(interpolation="lanczos", fill=(1, 2, 3)),
    ],
    "blended": [T.AugMix(mixture_width=2, chain_depth=2), T.GaussianNoise(0.0, (0.0, 0.2))],
    "ragged sizes": [T.RandomRotation(20, "linear", expand=True), T.RandomInvert(), T.RandomPosterize(3)],
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("ragged", [False, True])
def test_plans_are_the_same_on_every_device(accelerator, name, ragged):
    pipeline = T.Compose(PIPELINES[name], seed=3)
    sizes = np.array([[14, 17], [20, 13], [16, 16]]) if ragged else np.array([[14, 17]] * 3)
    arrays = [photograph(height, width, seed=n) for n, (height, width) in enumerate(sizes.tolist())]
    batch = orbbec.ImageBatch.from_images(arrays) if ragged else photographs(3, 3, 14, 17)
    plan = pipeline.plan(sizes, epoch=0)
    expected = apply(plan, batch)
    moved = (
        accelerator.put(batch) if not ragged else batch.to("cuda" if accelerator.name == "cuda" else "cpu")
    )
    with accelerator.active():
        actual = apply(plan, moved)
    images = (_images(actual), _images(expected))
    for one, other in zip(*images, strict=True):
        assert_same_bytes(one, other)


def _images(result):
    ragged = isinstance(result, orbbec.ImageBatch)
    return [image.permute(2, 0, 1) for image in result] if ragged else list(result)


@pytest.mark.parametrize("name", ["fused", "operators", "warps", "blended"])
def test_plans_are_compiled_whole(name, monkeypatch):
    monkeypatch.setattr(arguments, "_has_names", {})  # as in a process whose first call is compiled
    images = photographs(3, 3, 14, 17)
    plan = T.Compose(PIPELINES[name], seed=3).plan([(14, 17)] * 3, epoch=0)

    def work(batch):
        return apply(plan, batch) * 2

    compiled = torch.compile(work, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(images), work(images))


@pytest.mark.parametrize("transform", [T.ToDtype(torch.float32, scale=True), T.GaussianBlur(3)])
def test_plans_that_write_into_out_are_compiled_whole(transform):
    images, pipeline = photographs(3, 3, 14, 17), T.Compose([T.CenterCrop(10), transform])
    plan, expected = pipeline.plan([(14, 17)] * 3, epoch=0), pipeline(images, epoch=0)

    def work(batch, out):
        return apply(plan, batch, out=out) * 2

    out = torch.empty_like(expected)
    compiled = torch.compile(work, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(images, out), expected * 2)
    assert_same_bytes(out, expected)


@pytest.mark.parametrize("channels", [3, 9])
def test_clips_are_the_same_on_every_device(accelerator, channels):
    pipeline = T.Compose(
        [T.RandomResizedCrop(12, antialias=False), T.PerFrame([T.RandomHorizontalFlip(), T.RandomErasing()])]
    )
    clips = photographs(6, 3, 14, 17).repeat(1, channels // 3, 1, 1).unflatten(0, (2, 3))
    expected = pipeline(clips, sample_ids=[4, 9], epoch=1)
    moved = accelerator.put(clips)
    with accelerator.active():
        actual = pipeline(moved, sample_ids=[4, 9], epoch=1)
    assert_same_bytes(actual.cpu(), expected)
