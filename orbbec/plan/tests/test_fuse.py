"""Which steps share a pass, why others do not, and the results of fused pipelines."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, apply
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.augments import augment as oracle

SIZES = np.array([[20, 30], [33, 17], [21, 21]])
FLOAT = T.ToDtype(torch.float32, scale=True)
BYTES = T.ToDtype(torch.uint8, scale=True)
TURN = T.RandomRotation(30, "linear")
JITTER = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
CROP = T.RandomResizedCrop(16, antialias=False)
FLIP = T.RandomHorizontalFlip()
ERASE = T.RandomErasing(1.0)


def names(*transforms, **options):
    return [step.name for step in T.Compose(transforms, **options).plan(SIZES, epoch=0).passes]


@pytest.mark.parametrize(
    "pipeline",
    [
        (CROP, FLIP, FLOAT, T.Normalize()),
        (CROP, FLIP, JITTER, T.RandomGrayscale(), ERASE, FLOAT, T.Normalize()),
        (FLIP, CROP, TURN, T.RandomPerspective(), T.RandomInvert(), T.RandomSolarize(100)),
        (CROP, JITTER, FLIP, FLOAT, T.Normalize(), T.RandomVerticalFlip()),  # flips may be anywhere
        (T.Pad(3, fill=7), T.RandomCrop(16), T.Pad(2, fill=7)),
        (T.RandomOrder([T.RandomInvert(), JITTER, T.RandomPosterize(4)]),),
        (T.RandomChoice([T.RandomInvert(), T.RandomGrayscale(1.0)]), FLOAT),
        (CROP, FLOAT, T.Normalize(), ERASE),
        (CROP, JITTER, FLOAT, T.Normalize(), T.MixUp()),
        (CROP, T.CutMix(), FLOAT, T.Normalize()),
    ],
)
def test_one_pass(pipeline):
    assert names(*pipeline) == ["augment"]


@pytest.mark.parametrize(
    ("pipeline", "why"),
    [
        ((JITTER, TURN), "RandomRotation reads between pixels after their colors changed"),
        ((JITTER, T.RandomCrop(16)), "RandomCrop leaves pixels out after their mean was taken for contrast"),
        ((ERASE, FLIP), "RandomHorizontalFlip moves pixels after rectangles were filled"),
        ((ERASE, JITTER), "ColorJitter changes colors after rectangles were filled"),
        ((JITTER, JITTER), "ColorJitter takes a second mean for contrast"),
        ((FLOAT, T.Normalize(), JITTER), "ColorJitter changes colors after they were normalized"),
        ((FLOAT, T.Normalize(), T.Normalize()), "Normalize normalizes a second time"),
        ((T.Pad(1, fill=7), TURN), "RandomRotation has another fill than the warp before it"),
        (
            (T.Pad(1, padding_mode="reflect"), TURN),
            "RandomRotation has border constant, the warp before it reflect101",
        ),
        ((FLOAT, T.Normalize(), BYTES), "ToDtype rounds to bytes after normalizing"),
        ((CROP, T.CutMix(), FLIP), "RandomHorizontalFlip moves pixels after images were mixed"),
        ((CROP, FLOAT, T.MixUp(), JITTER), "ColorJitter changes colors after images were mixed"),
        ((CROP, T.CutMix(), ERASE), "RandomErasing fills rectangles after images were mixed"),
    ],
)
def test_two_passes_and_why(pipeline, why):
    plan = T.Compose(pipeline).plan(SIZES, epoch=0)
    assert [step.name for step in plan.passes] == ["augment", "augment"]
    assert plan.passes[1].why == why
    assert f"because {why}" in str(plan)


def test_a_plan_names_the_ranges_of_heights_and_widths():
    sizes = [(425, 408), (568, 203), (525, 561)]
    plan = T.Compose([T.RandomCrop((16, 203))]).plan(sizes, epoch=0)
    assert str(plan).startswith("Plan of 3 images of 425..568 x 203..561, ")
    assert "augment -> 16x203 uint8" in str(plan)
    plan = T.Compose([T.RandomInvert()]).plan([(4, 5), (4, 9)], epoch=0)
    assert "augment -> 4 x 5..9 uint8" in str(plan)


def test_a_plan_says_that_an_operator_changes_no_image():
    plan = T.Compose([T.RandomEqualize(0.0), T.GaussianBlur(3), T.RandomPosterize(4, 0.0)], exact=True)
    text = str(plan.plan([(4, 5)] * 2, epoch=0))
    assert "equalize -> 4x5 uint8 (not run in this batch)" in text
    assert "gaussian_blur -> 4x5 uint8 (2 of 2 images)" in text
    assert "because posterize rounds its own result" in text


def test_a_pass_that_does_nothing_stands_at_the_end_or_nowhere():
    exact = names(FLIP, T.RandomInvert(1.0), T.RandomPosterize(4, 1.0), ERASE, exact=True)
    assert exact == ["augment", "invert", "posterize", "augment"]
    assert names(T.RandomInvert(1.0), T.RandomPosterize(4, 1.0), exact=True) == [
        "invert",
        "posterize",
        "augment",
    ]
    assert names(T.ToDtype(torch.float32), T.GaussianBlur(3)) == ["to_float", "gaussian_blur"]
    assert names(T.GaussianBlur(3), T.ToDtype(torch.uint8), T.GaussianBlur(3)) == ["gaussian_blur"] * 2
    assert names(T.RandomGrayscale(0.0), T.GaussianBlur(3)) == [
        "augment",
        "gaussian_blur",
    ]  # whatever is drawn


def test_an_exact_jitter_runs_what_it_may_draw_at_each_position():
    assert names(T.ColorJitter(0.4), FLIP, exact=True) == ["adjust_brightness", "augment"]
    two = ["adjust_brightness", "adjust_hue"] * 2
    assert names(T.ColorJitter(brightness=0.4, hue=0.1), FLIP, exact=True) == [*two, "augment"]
    assert names(T.ColorJitter(), FLIP, exact=True) == ["augment", "augment"]


def test_operators_split():
    plan = T.Compose([CROP, JITTER, T.GaussianBlur(3), FLIP, FLOAT]).plan(SIZES, epoch=0)
    assert [step.name for step in plan.passes] == ["augment", "gaussian_blur", "augment"]
    assert "because gaussian_blur reads neighboring pixels" in str(plan)
    assert names(T.Resize((8, 9)), T.RandomVerticalFlip()) == ["resized_crop", "augment"]


def test_a_resize_turns_its_results():
    resize = T.Resize((8, 9))
    assert names(resize, FLIP) == ["resized_crop"]
    assert names(resize, T.RandomApply([FLIP]), FLIP) == ["resized_crop"]
    assert names(resize, FLIP, FLOAT) == ["augment_crop"]
    assert names(resize, FLIP, T.RandomErasing()) == ["augment_crop"]
    assert names(resize, FLIP, FLOAT, FLIP) == ["augment_crop"]
    assert names(resize, T.RandomVerticalFlip(), FLOAT) == ["resized_crop", "augment"]
    assert names(FLOAT, resize, JITTER) == ["augment", "resized_crop", "augment"]
    assert names(T.RandomApply([resize]), JITTER) == ["augment_crop"]
    assert names(resize, FLIP, exact=True) == ["resized_crop", "augment"]
    pipeline = T.Compose([resize, T.RandomApply([FLIP], p=0.8), FLIP], seed=2)
    images = [photograph(*size, seed=n) for n, size in enumerate(SIZES.tolist())]
    plan = pipeline.plan(SIZES, epoch=0)
    turned = plan.matrix[:, 0, 0] < 0
    assert turned.any()
    assert not turned.all()
    resized = T.Compose([resize])(ImageBatch.from_images(images), epoch=0)
    expected = torch.where(torch.from_numpy(turned)[:, None, None, None], resized.flip(3), resized)
    assert_same_bytes(
        pipeline.apply(Plan.from_json(plan.to_json()), ImageBatch.from_images(images)), expected
    )
    assert "holds Resize, RandomHorizontalFlip" in str(plan)


def test_passes_do_not_depend_on_what_is_drawn():
    pipeline = T.Compose(
        [T.RandomApply([TURN, T.GaussianBlur(3)], p=0.5), T.RandomApply([JITTER], p=0.5), FLOAT]
    )
    shapes = set()
    for epoch in range(8):
        plan = pipeline.plan(SIZES[:1], epoch=epoch)
        shapes.add(tuple((step.name, step.dtype, step.why) for step in plan.passes))
    assert len(shapes) == 1


def test_one_pass_gives_what_the_oracle_gives():
    arrays = [np.uint8(np.arange(h * w * 3).reshape(h, w, 3) % 251) for h, w in SIZES.tolist()]
    tail = [T.RandomInvert(), T.RandomGrayscale(0.5), ERASE, FLOAT, T.Normalize()]
    pipeline = T.Compose([CROP, FLIP, *tail], seed=4)
    plan = pipeline.plan(SIZES, epoch=0)
    (step,) = plan.passes
    parts = [
        np.ascontiguousarray(image[top:bottom, left:right])
        for image, (left, top, right, bottom) in zip(arrays, step.regions.tolist(), strict=True)
    ]
    corner = np.tile(np.eye(3), (3, 1, 1))
    corner[:, :2, 2] = -step.regions[:, :2]
    expected = oracle(
        orbbec.ImageBatch.from_images(parts),
        corner @ step.matrix,
        (16, 16),
        colors=step.colors,
        erase=step.erase,
        mean=step.mean,
        std=step.std,
        dtype=torch.float32,
        border=step.border,
    )
    assert_same_bytes(pipeline.apply(plan, orbbec.ImageBatch.from_images(arrays)), expected)


def test_fused_maps_are_the_maps_one_after_the_other():
    image = photographs(1, 3, 20, 30)
    crop = T.Compose([T.RandomCrop((10, 12)), FLIP, T.RandomVerticalFlip()], seed=3)
    fused = crop(image, epoch=0)
    for index, transform in enumerate(crop.transforms):
        nothing = T.RandomInvert(0.0)  # takes up an index, so that the draws are the same
        image = T.Compose([*[nothing] * index, transform], seed=3)(image, epoch=0)
    assert_same_bytes(fused, image)


@pytest.mark.parametrize("exact", [False, True])
def test_a_photometric_distort_of_nothing_swaps_channels(exact):
    images = photographs(8, 3, 5, 6)
    distort = T.RandomPhotometricDistort((1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.0, 0.0), p=1.0)
    pipeline = T.Compose([distort], exact=exact)
    swaps = pipeline.plan([(5, 6)] * 8, epoch=0).passes[-1].colors[:, -1, 1:10].reshape(8, 3, 3)
    orders = swaps.argmax(2)
    assert ((swaps != 0).sum(2) == 1).all()
    for image, order, result in zip(images, orders, pipeline(images, epoch=0), strict=True):
        assert (result.int() - image[order.tolist()].int()).abs().max() <= 1  # hue in both directions
    assert len({tuple(order) for order in orders.tolist()}) > 1


def test_exact_rounds_after_every_transform():
    image = photographs(1, 3, 20, 30)
    pipeline = [T.RandomInvert(1.0), T.ColorJitter(brightness=(1.3, 1.3)), T.ColorJitter(contrast=(0.6, 0.6))]
    result = T.Compose(pipeline, exact=True)(image, epoch=0)
    expected = orbbec.adjust_contrast(orbbec.adjust_brightness(orbbec.invert(image), 1.3), 0.6)
    assert_same_bytes(result, expected)


def test_plan_is_saved_and_applied_again():
    images = photographs(3, 3, 21, 25)
    blur = T.RandomApply([T.GaussianBlur(3)])
    pipeline = T.Compose([CROP, JITTER, blur, ERASE, FLOAT, T.Normalize()], seed=9)
    plan = pipeline.plan([(21, 25)] * 3, sample_ids=[5, 6, 7], epoch=3)
    again = Plan.from_json(plan.to_json())
    assert again.to_json() == plan.to_json()
    assert str(again) == str(plan)
    assert_same_bytes(apply(again, images), apply(plan, images))


def test_plans_of_other_versions_are_refused():
    text = T.Compose([CROP]).plan(SIZES, epoch=0).to_json()
    for other in ("{}", "[]", text.replace('"orbbec_plan": 2', '"orbbec_plan": 1')):
        with pytest.raises(ValueError, match="expected a plan of version 2"):
            Plan.from_json(other)
    with pytest.raises(ValueError, match="expected the passes of this version, but got WarpPass"):
        Plan.from_json(text.replace("AugmentPass", "WarpPass"))


def test_tables_have_named_columns():
    table = T.Compose([CROP, JITTER, ERASE]).plan(SIZES, epoch=0).table(0)
    known = {"m00", "m12", "height", "width", "color0.code", "color3.a0", "erase0.left", "region.top"}
    assert known <= table.keys()
    assert all(values.shape == (3,) for values in table.values())


def test_plan_of_other_images_is_refused():
    pipeline = T.Compose([FLIP])
    plan = pipeline.plan([(4, 5), (4, 5)], epoch=0)
    with pytest.raises(ValueError, match="image 0 of size 4x5"):
        pipeline.apply(plan, torch.zeros(2, 3, 5, 5, dtype=torch.uint8))
    with pytest.raises(ValueError, match="expected 2 images"):
        pipeline.apply(plan, torch.zeros(1, 3, 4, 5, dtype=torch.uint8))
    with pytest.raises(ValueError, match="3 channels"):
        pipeline.apply(plan, torch.zeros(2, 1, 4, 5, dtype=torch.uint8))
    with pytest.raises(TypeError, match="images of uint8"):
        pipeline.apply(plan, torch.zeros(2, 3, 4, 5))


MIXED = {"MixUp": T.MixUp(num_classes=3), "CutMix": T.CutMix(num_classes=3)}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("floats", [False, True])
def test_images_are_mixed_in_the_pass_before(name, floats):
    """The bits of a separate pass, labels, and the same for a list of variable-size floats."""
    dtype = torch.float32 if floats else torch.uint8
    images = [photographs(1, 3, *size, dtype)[0] for size in SIZES.tolist()]
    pipeline = T.Compose([CROP, FLIP, FLOAT, T.Normalize(), MIXED[name]], seed=4)
    plan = pipeline.plan(SIZES, dtype=dtype, epoch=0)
    (fused,) = plan.passes
    (mix,) = plan.mixes
    assert mix.name == name.lower()
    assert mix.name in str(plan)
    assert f"{mix.name}.pair_indices" in plan.table(0)
    apart = replace(plan, passes=(replace(fused, mixes=None).of(fused.parameters), mix))
    together = apply(plan, images)
    assert_same_bytes(together, apply(apart, images))
    assert_same_bytes(together, apply(Plan.from_json(plan.to_json()), images))
    with pytest.raises(ValueError, match=f"a plan with {mix.name} has no matrix to one image"):
        _ = plan.matrix
    labels = [{"label": n} for n in range(3)]
    for one, other in zip(*(T.transform_targets(p, labels) for p in (plan, apart)), strict=True):
        assert_same_bytes(one["label"], other["label"])
        assert one["label"].count_nonzero() == 2


def test_bytes_are_added_and_images_mixed_twice_in_passes_of_their_own():
    assert names(CROP, T.MixUp(), FLOAT) == ["augment", "mixup", "augment"]
    assert names(CROP, T.CutMix(), T.CutMix()) == ["augment", "cutmix"]
    assert names(CROP, T.CutMix(), exact=True)[-1] == "cutmix"


def test_variable_size_images_are_not_mixed():
    pipeline = T.Compose([FLIP, FLOAT, T.MixUp()])
    images = [photographs(1, 3, *size)[0] for size in SIZES.tolist()]
    with pytest.raises(ValueError, match="mixup: expected images of one size; put a resize or a crop"):
        pipeline(images, epoch=0)


FLOAT = T.ToDtype(torch.float32, scale=True)


@pytest.mark.parametrize(("fill", "passes"), [(0.2, 1), (1.0, 1), (0.5, 2), ((0.2, 0.3, 0.4), 2)])
def test_a_fill_after_a_cast_is_that_of_floats(fill, passes):
    image = torch.full((3, 2, 2), 51, dtype=torch.uint8)
    steps = [FLOAT, T.Pad(1, fill=fill)]
    fused = T.Compose(steps)
    expected = torch.tensor(fill).expand(3)[:, None, None].expand(3, 4, 4).clone()
    expected[:, 1:3, 1:3] = 0.2
    # 51 becomes the float above 0.2, 1.5e-8 away.
    torch.testing.assert_close(fused(image, epoch=0), expected, atol=2e-8, rtol=0)
    torch.testing.assert_close(T.Compose(steps, exact=True)(image, epoch=0), expected, atol=2e-8, rtol=0)
    assert len(fused.plan([(2, 2)], epoch=0).passes) == passes


def test_a_fill_of_bytes_after_a_cast_from_floats():
    image = torch.full((1, 2, 2), 0.2)
    padded = T.Compose([T.ToDtype(torch.uint8, scale=True), T.Pad(1, fill=114)])
    assert len(padded.plan([(2, 2)], dtype="float32", channels=1, epoch=0).passes) == 1
    assert padded(image, epoch=0)[0].tolist() == [[114] * 4, *[[114, 51, 51, 114]] * 2, [114] * 4]
