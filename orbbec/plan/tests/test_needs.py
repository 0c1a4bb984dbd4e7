"""What a pass needs of its images, and mosaics of which only that is made."""

import pytest
import torch

from orbbec import transforms as T
from orbbec.plan import apply
from orbbec.plan.passes import AugmentPass, Context
from orbbec.plan.plan import tables_of
from tests.support import assert_same_bytes, photographs

CANVAS = 90
NEAR = {"degrees": 40, "translate": (0.4, 0.4), "scale": (0.6, 2.5)}
FAR = {"degrees": 40, "translate": (1.0, 1.0), "scale": (0.6, 3.0), "interpolation": "linear"}
LAST = {
    "nearest": [T.RandomAffine(**NEAR, shear=20), T.CenterCrop(40)],
    "linear": [T.RandomAffine(**NEAR, interpolation="linear"), T.CenterCrop(40), T.ColorJitter(0.4)],
    "cubic": [T.RandomAffine(**NEAR, interpolation="cubic"), T.CenterCrop(40)],
    "a repeated border": [T.RandomAffine(**FAR, padding_mode="edge")],
    "a reflected border": [T.RandomAffine(**FAR, padding_mode="reflect")],
    "perspective": [T.RandomPerspective(0.8, p=1.0), T.RandomCrop(40)],
    "crop": [T.RandomCrop(31)],
    "zoom": [T.RandomResizedCrop(24, (0.05, 0.4), antialias=False)],
    "antialiased zoom": [T.RandomResizedCrop(24, (0.05, 0.4))],
    "blur": [T.GaussianBlur(3)],
}


def after_mosaic(plan, canvases):
    """The results of the passes after the first."""
    work, sizes = canvases, plan.passes[0].sizes
    context = Context(plan.key, iter(list(tables_of(plan))[1:]))
    for step in plan.passes[1:]:
        work, sizes = step.run(work, sizes, context), step.sizes
    return work


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("name", LAST)
def test_results_do_not_depend_on_other_pixels(name, dtype):
    images = photographs(8, 3, 40, 50, dtype)
    plan = T.Compose([T.Mosaic(CANVAS), *LAST[name]]).plan([(40, 50)] * 8, epoch=0, dtype=dtype)
    whole = plan.passes[0].mixed(images, plan.passes[0].table)
    needs = plan.passes[1].needs(plan.passes[0].sizes)
    assert (needs is None) == (name in ("a reflected border", "blur"))
    if needs is None:
        return
    partial = torch.full_like(whole, 7 if dtype == torch.uint8 else torch.nan)
    for to, canvas, (left, top, right, bottom) in zip(partial, whole, needs.tolist(), strict=True):
        assert 0 <= left < right <= CANVAS
        assert 0 <= top < bottom <= CANVAS
        to[:, top:bottom, left:right] = canvas[:, top:bottom, left:right]
    assert not torch.equal(partial, whole)
    assert_same_bytes(after_mosaic(plan, partial), after_mosaic(plan, whole))


@pytest.mark.parametrize("name", LAST)
def test_a_pipeline_with_a_mosaic_gives_the_results_of_whole_ones(name, monkeypatch):
    """Of a size that the buffer pool reuses: what is not made has pixels of other images."""
    images, pipeline = photographs(8, 3, 200, 260), T.Compose([T.Mosaic(500), *LAST[name]], seed=2)
    pipeline(255 - images, epoch=1)
    results = pipeline(images, epoch=0)
    monkeypatch.setattr(AugmentPass, "needs", lambda step, sizes: None)
    assert_same_bytes(results, pipeline(images, epoch=0))


@pytest.mark.parametrize("kind", ["channels last", "planar"])
def test_a_pass_that_changes_no_byte_gives_the_images_to_the_next(kind):
    images = photographs(4, 3, 60, 80)
    images = images.to(memory_format=torch.channels_last) if kind == "channels last" else images
    pipeline = T.Compose([T.ResizeToFit(80, antialias=False), T.Mosaic(100)], seed=1)
    plan = pipeline.plan([(60, 80)] * 4, epoch=0)
    assert len(plan.passes) == 2
    tables = list(tables_of(plan))
    context = Context(plan.key, iter(tables[:1]), following=plan.passes[1])
    assert plan.passes[0].run(images, plan.sizes, context) is images
    copy = plan.passes[0].run(images, plan.sizes, Context(plan.key, iter(tables[:1])))
    assert copy is not images
    assert_same_bytes(copy, images)
    assert copy.stride() == images.stride()
    assert pipeline(images, epoch=0).stride() == plan.passes[1].mixed(copy, tables[1]).stride()


def test_plans_with_a_mosaic_are_compiled_whole():
    images = photographs(4, 3, 60, 80)
    steps = [T.ResizeToFit(80, antialias=False), T.Mosaic(100), T.RandomAffine(9)]
    plan = T.Compose(steps, seed=1).plan([(60, 80)] * 4, epoch=0)
    compiled = torch.compile(lambda batch: apply(plan, batch) * 2, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(images), apply(plan, images) * 2)
