"""Tests of the plan for faults that `make mutate` found untested."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.bridge.spec import OPERATORS
from orbbec.plan import apply, microbatches
from orbbec.plan.batches import Rows
from orbbec.plan.build import Build
from orbbec.plan.parameters import Batch, identities
from orbbec.plan.passes import ALIKE, by_size
from orbbec.plan.passes import augment as augments
from orbbec.plan.points import (
    clip_polygon,
    polygon_area,
    rotated_boxes,
    rotated_corners,
    seen_pixels,
    through_displacement,
    without_covered,
)
from orbbec.plan.steps import Cast, Erase, Warp
from orbbec.plan.tests.test_external import _Unsteady
from orbbec.transforms.base.inputs import direct_input
from orbbec.transforms.base.pipeline import _Pixels
from tests.support import assert_same_bytes, photographs

FLOAT = T.ToDtype(torch.float32, scale=True)
IMAGES = photographs(6, 3, 20, 24)


def test_points_at_the_first_pixels_follow_their_displacement():
    displacement = np.zeros((2, 6, 8))
    displacement[0, :, 0], displacement[1, 0, :] = 0.5, 0.25  # only there, and less up to the next
    positions = through_displacement(np.array([[0.25 + 0.375, 2.0], [3.0, 0.5 + 0.125]]), displacement)
    assert positions == pytest.approx(np.array([[0.25, 2.0], [3.0, 0.5]]), abs=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_points_have_no_area(count):
    assert polygon_area(np.array([[1.0, 2.0], [7.0, 5.0]])[:count].reshape(-1, 2)) == 0


def test_a_plan_knows_its_output():
    plan = T.Compose([T.Resize((9, 7)), T.GaussianBlur(3), FLOAT, T.MotionBlur(3, p=1.0)]).plan(
        [(20, 24)] * 2, epoch=0
    )
    assert len(plan.passes) > 2
    assert plan.output_dtype == "float32"
    assert plan.output_sizes.tolist() == [[9, 7]] * 2
    before = T.Compose([T.MotionBlur(3, p=1.0), FLOAT]).plan([(20, 24)], epoch=0)
    assert [step.dtype for step in before.passes] == ["uint8", "float32"]
    assert before.output_dtype == "float32"


def test_sizes_may_have_any_order_in_memory():
    sizes = np.array([[20, 24], [30, 18], [25, 25]])
    pipeline = T.Compose([T.RandomCrop((9, 8))], seed=3)
    expected, plan = (pipeline.plan(each, epoch=0) for each in (sizes, np.asfortranarray(sizes)))
    assert np.array_equal(plan.matrix, expected.matrix)
    assert plan.sizes.tolist() == sizes.tolist()


def test_the_first_image_of_another_size_is_named():
    plan = T.Compose([T.Resize(8)]).plan([(20, 24), (20, 24), (22, 24)], epoch=0)
    images = [torch.zeros(3, *size, dtype=torch.uint8) for size in ((20, 24), (20, 24), (22, 25))]
    with pytest.raises(ValueError, match="expected image 2 of size 22x24"):
        apply(plan, images)


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("images", [1, 3])
def test_each_image_is_in_one_microbatch(monkeypatch, count, images):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", images * 3 * 20 * 24)
    plan = T.Compose([T.GaussianBlur(3), T.GaussianBlur(5)]).plan([(20, 24)] * count, epoch=0)
    slices = microbatches.microbatches_of(plan, IMAGES[:1].repeat(count, 1, 1, 1))
    rows = [row for where in slices for row in range(count)[where]]
    assert rows == list(range(count))
    assert slices[0] == slice(0, 1 if images < count else count)
    assert max(len(range(count)[where]) for where in slices) <= images or len(slices) == 1


@pytest.mark.parametrize("kind", ["tensor", "list", "ImageBatch"])
def test_images_that_are_not_drawn_are_unchanged_and_the_others_changed_alone(kind):
    sizes = [(20, 24), (18, 24), (20, 24), (11, 30), (9, 9), (20, 20)]
    floats = [torch.rand(3, *size, generator=torch.Generator().manual_seed(1)) for size in sizes]
    images = {
        "tensor": IMAGES,
        "list": floats,
        "ImageBatch": ImageBatch.from_images([(each.permute(1, 2, 0) * 255).byte() for each in floats]),
    }[kind]
    pipeline = T.Compose([T.RandomApply([T.MotionBlur((3, 9), p=1.0)], 0.5)], seed=2)
    results = pipeline(images, sample_ids=range(6), epoch=0)
    alone = [
        pipeline(image.numpy() if kind == "ImageBatch" else image, None, [n], 0)
        for n, image in enumerate(images)
    ]
    alone = [torch.as_tensor(image) for image in alone]
    changed = [not torch.equal(result, image) for result, image in zip(results, images, strict=True)]
    assert 0 < sum(changed) < 6
    for result, one in zip(results, alone, strict=True):
        assert_same_bytes(result, one)


@pytest.mark.parametrize("sides", [(4, 5, 20), (20, 4, 5), (5, 20, 4)])
def test_microbatches_are_as_short_as_the_largest_result_between_passes_asks_for(monkeypatch, sides):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", 2 * 3 * 20 * 20)
    steps = [step for side in sides for step in (T.GaussianBlur(3), T.Resize((side, side)))]
    plan = T.Compose([*steps, T.GaussianBlur(3)]).plan([(10, 10)] * 6, epoch=0)
    images = IMAGES[:, :, :10, :10].contiguous()
    assert microbatches.microbatches_of(plan, images) == [slice(0, 1), slice(1, 3), slice(3, 5), slice(5, 6)]


@pytest.mark.parametrize("interpolation", ["nearest", "nearest_exact"])
def test_a_pass_that_reads_a_smaller_image_leaves_the_other_passes_as_they_are(interpolation):
    steps = [T.Resize((9, 8), interpolation), T.GaussianBlur(3), T.RandomAffine(20)]
    first, *others = T.Compose(steps).plan([(20, 24)] * 3, epoch=0).passes
    boxes, shrinks = np.tile([0, 0, 24, 20], (3, 1)), np.array([1, 2, 4])
    to_region = np.stack([np.diag([1.0 / shrink, 1.0 / shrink, 1.0]) for shrink in shrinks])
    changed = first.of_regions(boxes, shrinks, to_region)
    assert changed.matrix == pytest.approx(to_region @ first.matrix)
    for step in others:
        table = step.of(changed.parameters)
        assert table.sizes.tolist() == step.sizes.tolist()
        assert (
            (table.matrix == step.matrix).all() if hasattr(step, "matrix") else step.name == "gaussian_blur"
        )


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("zoom", [1.0, 2.0, 3.0])
def test_the_pixels_that_a_warp_reads_are_those_of_its_rectangle(degrees, zoom):
    center = np.array([[1.0, 0.0, -2.0], [0.0, 1.0, -1.0], [0.0, 0.0, 1.0]])  # of 2 x 4 pixels
    angle = np.radians(degrees)
    back = np.array([[np.cos(angle), np.sin(angle), 20.0], [-np.sin(angle), np.cos(angle), 20.0], [0, 0, 1]])
    back[:2, :2] *= zoom
    half = np.array([[1.0, 0, 0.5], [0, 1.0, 0.5], [0, 0, 1.0]])  # from centers of pixels to their edges
    matrix = np.linalg.inv(half) @ back @ center @ half
    assert seen_pixels(matrix[None], np.array([[2, 4]]), np.array([[40, 40]])) == 8 * zoom**2


@pytest.mark.parametrize("kind", ["tensor", "array", "list", "ImageBatch"])
@pytest.mark.parametrize(
    "step", [T.MotionBlur(3, p=1.0), T.RandomInvert(1.0), T.RandomEqualize(1.0), T.Pad(1)]
)
def test_a_call_leaves_its_images_as_they_are(step, kind):
    rows = [image.permute(1, 2, 0).numpy() for image in IMAGES.clone()]
    images = {"tensor": IMAGES.clone(), "array": np.stack(rows), "list": rows}.get(kind)
    images = (
        ImageBatch.from_images([row[: 9 + n] for n, row in enumerate(rows)]) if images is None else images
    )
    before = copy.deepcopy(images)
    for steps in ([step], [T.RandomApply([step], 0.5)], [T.RandomApply([step], 0.5), T.GaussianBlur(3)]):
        T.Compose(steps, seed=1, exact=True)(images, epoch=0)
        for one, other in zip(images, before, strict=True):
            assert_same_bytes(one, other)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(
    "finish", [[], [FLOAT], [T.Grayscale(1)], [T.ToDtype(torch.float16, channels_last=True)]]
)
def test_results_in_a_buffer_of_the_pool_are_those_of_single_passes(monkeypatch, finish, layout):
    pipeline = T.Compose([T.GaussianBlur(3), T.Resize((9, 8)), *finish])
    images = IMAGES.to(memory_format=layout)
    expected = pipeline.apply(pipeline.plan([(20, 24)] * 6, epoch=0), images)
    monkeypatch.setattr("orbbec.plan.program.LEAST_BYTES", 0)
    result = pipeline(images, epoch=0)
    assert result.stride() == expected.stride()
    assert_same_bytes(result, expected)


def test_a_plan_without_unused_images_has_the_sizes_and_the_ids_of_the_others():
    sizes, ids = np.arange(16).reshape(8, 2) + 20, np.arange(8) * 9
    pipeline = T.Compose([T.Resize((9, 8)), T.MixUp(p=0.5)], seed=1)
    whole = replace(pipeline.plan(sizes, ids, 0, pairs=[1]), frame_ids=ids + 1)
    plan, rows = microbatches.without_unused(whole)
    assert 4 < len(rows) < 8
    assert (len(plan), plan.sizes.tolist()) == (len(rows), sizes[rows].tolist())
    assert (plan.sample_ids.tolist(), plan.frame_ids.tolist()) == (
        ids[rows].tolist(),
        (ids[rows] + 1).tolist(),
    )


def test_copies_of_which_a_pass_is_not_fixed_are_not_fixed(monkeypatch):
    plan = T.Compose([T.AugMix(mixture_width=2)]).plan([(20, 24)] * 2, epoch=0)
    (blend,) = (step for step in plan.passes if step.name == "blend")
    fixed = blend.fixed()
    assert [step.name for step in fixed.passes] == [step.name for step in blend.passes]
    (name, *_) = (step.name for step in blend.passes if step.name in OPERATORS)
    monkeypatch.setitem(OPERATORS, name, replace(OPERATORS[name], capturable=False))
    assert blend.fixed() is None


@pytest.mark.parametrize("shape", [(0, 3, 5, 7), (0, 1, 1, 9)])
def test_no_images_keep_the_size_of_images_of_which_there_are_none(shape):
    images = torch.zeros(shape, dtype=torch.float32)
    assert by_size._no_size(images) == shape[2:]
    assert by_size._no_size([]) == (1, 1)
    result = T.Compose([T.RandomRotation(20, "linear", expand=True)])(images, epoch=0)
    assert result.shape[:2] == shape[:2]


def test_a_flip_that_python_draws_is_for_the_images_that_are_chosen():
    def flipped(state):
        matrices = np.tile(np.eye(3), (len(state), 1, 1))
        matrices[:, 0, 0], matrices[:, 0, 2] = -1.0, state.sizes[:, 1] - 1
        flips = np.ones(len(state), bool)
        return [Warp(matrices, state.sizes, "nearest", "replicate", lossless=True, flips=flips)]

    step = _Unsteady(flipped, flipped)
    for first in ([], [T.Resize((9, 8))]):
        results = T.Compose([*first, T.RandomApply([step], 0.5)], seed=1)(IMAGES, epoch=0)
        never = T.Compose([*first, T.Pad(0)])(IMAGES, epoch=0)
        rows = zip(results, never, never.flip(-1), strict=True)
        changed = [[torch.equal(result, each) for each in others] for result, *others in rows]
        assert {tuple(row) for row in changed} == {(True, False), (False, True)}


def test_rectangles_that_python_draws_are_filled_in_the_images_that_are_chosen():
    def filled(state):
        return [Erase(np.tile([1.0, 2, 9, 6, 70, 80, 90, 0], (len(state), 1, 1)))]

    step, whole = _Unsteady(filled, filled), IMAGES.clone()
    whole[:, :, 2:6, 1:9] = torch.tensor([70, 80, 90], dtype=torch.uint8)[:, None, None]
    assert_same_bytes(T.Compose([step])(IMAGES, epoch=0), whole)
    results = T.Compose([T.RandomApply([step], 0.5)], seed=1)(IMAGES, epoch=0)
    rows = zip(results, IMAGES, whole, strict=True)
    changed = [[torch.equal(result, each) for each in others] for result, *others in rows]
    assert {tuple(row) for row in changed} == {(True, False), (False, True)}


@pytest.mark.parametrize("first", [True, False])
def test_a_batch_of_which_one_image_is_rotated_is_decoded_whole(first):
    turns = [T.RandomRotation((30, 30), "linear"), T.Resize((10, 12), antialias=False)]
    plan = T.Compose([T.RandomApply(turns[:1], 0.5), turns[1]], seed=3).plan([(20, 24)] * 6, epoch=0)
    (step,) = plan.passes
    rotated = step.matrix[:, 0, 1] != 0
    assert 0 < rotated.sum() < 6
    rows = np.argsort(rotated if first else ~rotated, kind="stable")
    ordered = step.of(step.parameters.rows(rows))
    assert ordered.region(plan.sizes, True) is None
    upright = step.of(step.parameters.rows(np.flatnonzero(~rotated)))
    assert (upright.region(plan.sizes[~rotated], True) == [0, 0, 24, 20]).all()
    table, out = upright.parameters, upright.out
    for entry in ((0, 1), (1, 0), (2, 0), (2, 1)):
        matrix = upright.matrix.copy()
        matrix[-1][entry] = 1e-3
        skewed = upright.of(table.with_geometry(out, matrix, table.boxes(out), table.offsets(out)))
        assert skewed.region(plan.sizes[~rotated], True) is None


@pytest.mark.parametrize("finish", [[], [FLOAT], [T.Resize((9, 8))]], ids=["bytes", "floats", "one size"])
def test_microbatches_of_variable_sizes_have_the_type_and_the_bytes_of_one(monkeypatch, finish):
    arrays = [image.permute(1, 2, 0).numpy()[:rows] for rows, image in zip(range(9, 15), IMAGES, strict=True)]
    pipeline = T.Compose(
        [T.ScaleJitter((20, 24)), T.RandomHorizontalFlip(), T.GaussianBlur(3), *finish], seed=2
    )
    expected = pipeline(ImageBatch.from_images(arrays), epoch=0)
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", 3000)
    results = pipeline(ImageBatch.from_images(arrays), epoch=0)
    assert type(results) is type(expected)
    for result, known in zip(results, expected, strict=True):
        assert_same_bytes(result, known)


@pytest.mark.parametrize("out", [False, True])
def test_filters_that_the_host_does_not_know_are_those_that_it_knows(monkeypatch, out):
    crop = T.RandomResizedCrop((9, 8), interpolation=("linear", "cubic", "lanczos"))
    plan = T.Compose([crop], seed=4).plan([(20, 24)] * 6, epoch=0)
    (step,) = plan.passes
    assert len(set(step.table["which"].tolist())) == 3
    expected = apply(plan, IMAGES)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    buffer = torch.empty_like(expected) if out else None
    result = apply(plan, IMAGES, out=buffer)
    assert_same_bytes(result, expected)
    assert (result is buffer) == out


@pytest.mark.parametrize("side", [9, 400])
def test_sizes_that_follow_from_those_of_images_are_known_before_a_run(side):
    pipeline = T.Compose([T.Pad(2), T.GaussianBlur(3), T.RandomVerticalFlip(1.0), T.Pad((1, 0))])
    images = torch.arange(3 * side * (side + 4)).remainder(251).to(torch.uint8).view(3, side, side + 4)
    program = pipeline._program(_Pixels(3, "uint8", one_size=True), None)
    assert program.size == ALIKE
    assert program._size(images.shape) == (side + 4, side + 10)
    result = program.run(direct_input(images, False), 0)
    assert_same_bytes(result, pipeline.apply(pipeline.plan([images.shape[1:]], epoch=0), images))


def test_an_output_may_begin_where_the_images_end():
    memory = torch.zeros(3, 2, 3, 8, 9)
    plan = T.Compose([T.RandomInvert(1.0)]).plan([(8, 9)] * 2, dtype="float32", epoch=0)
    for out in (memory[0], memory[2]):
        assert apply(plan, memory[1], out=out) is out
        assert (out == 1).all()
    shifted = memory.flatten()[1:433].view(2, 3, 8, 9)
    for images, out in ((memory[1], memory[1]), (memory[0], shifted), (shifted, memory[1])):
        with pytest.raises(ValueError, match="expected out that shares no memory with the images"):
            apply(plan, images, out=out)


def test_a_step_without_scale_keeps_the_maximum():
    for cast, maximum in (
        (Cast("float32", scale=False), 255),
        (Cast(None, channels_last=True), 255),
        (Cast("float32"), 1),
    ):
        build = Build(3, "uint8", batch=None)
        cast.add(build, np.array([[4, 5]]), 0)
        assert build.maximum == maximum
    Cast("uint8").add(build, np.array([[4, 5]]), 0)
    assert build.maximum == 255


def test_points_are_aligned_before_images_are_mixed():
    steps = [T.MixUp(), T.AlignPoints(8, [(1, 1), (5, 5)])]
    with pytest.raises(ValueError, match=r"^AlignPoints: expected a position before images are mixed"):
        T.Compose(steps).plan([(20, 24)] * 2, targets=[{}, {}], epoch=0)


def test_bytes_of_variable_sizes_take_one_call(monkeypatch):
    calls, augment = [], augments.augment

    def counted(images, *arguments):
        calls.append(type(images).__name__)
        return augment(images, *arguments)

    monkeypatch.setattr(augments, "augment", counted)
    images = ImageBatch.from_images(
        [image.permute(1, 2, 0).numpy()[: 9 + n] for n, image in enumerate(IMAGES)]
    )
    pipeline = T.Compose([T.RandomHorizontalFlip(), T.ColorJitter(0.4)])
    pipeline.apply(pipeline.plan(images.sizes, epoch=0), images)
    assert calls == ["ImageBatch"]


def test_a_rotated_box_without_area_keeps_its_longer_side():
    boxes = np.array([[20.0, 30.0, side, 0.0, 10.0] for side in range(1, 40)])
    assert rotated_boxes(rotated_corners(boxes)) == pytest.approx(boxes, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "is_split"), [(T.RandomShortestSize([20, 24]), True), (T.GaussianBlur(5), False)]
)
def test_variable_sizes_are_split_only_where_they_are_warped_first(monkeypatch, first, is_split):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", 3000)
    images = ImageBatch.from_images(
        [image.permute(1, 2, 0).numpy()[: 9 + n] for n, image in enumerate(IMAGES)]
    )
    plan = T.Compose([first, T.GaussianBlur(3)]).plan(images.sizes, epoch=0)
    assert (len(microbatches.microbatches_of(plan, images)) > 1) == is_split
    rows = Rows(images.buffer, images.layout, 3, images.sizes)
    assert microbatches.microbatches_of(plan, rows) == [slice(0, 6)]


@pytest.mark.parametrize("name", ["cpu", "meta"])
def test_results_of_variable_sizes_are_where_the_images_are(name):
    results = by_size.results_of(
        torch.zeros(2, 3, 5, 7, dtype=torch.uint8, device=name), np.array([[4, 5], [6, 1]])
    )
    assert results.device.type == name
    assert [tuple(image.shape) for image in results.images()] == [(4, 5, 3), (6, 1, 3)]


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_a_slanted_edge_is_cut_at_each_side_of_the_image(is_mirrored, is_transposed):
    def seen(points):
        points = np.array(points, np.float64)
        points = np.array([9.0, 8.0]) - points if is_mirrored else points
        return points[:, ::-1] if is_transposed else points

    size = (9, 8) if is_transposed else (8, 9)
    cut = clip_polygon(seen([(-2, 1), (2, 3), (2, 1)]), size)
    assert cut.tolist() == seen([(0, 1), (0, 2), (2, 3), (2, 1)]).tolist()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 4), (4, 1)])
def test_points_of_images_of_one_row_or_column_follow_their_displacement(height, width):
    displacement = np.broadcast_to(np.array([0.5, -0.25])[:, None, None], (2, height, width))
    points = np.array([[0.0, 0.0], [width - 1.0, height - 1.0]])
    assert through_displacement(points, displacement).tolist() == (points - [0.5, -0.25]).tolist()


def test_a_plan_lists_the_heights_and_the_widths_of_its_results():
    table = T.Compose([T.RandomResizedCrop((9, 7), antialias=False)]).plan([(20, 24)] * 2, epoch=0).table(0)
    assert (table["height"].tolist(), table["width"].tolist()) == ([9, 9], [7, 7])


def test_a_box_is_what_a_region_leaves_of_it():
    """All boxes and regions within 4 x 4 pixels; the pixels that are left are counted."""
    ends = [(low, high) for low in range(5) for high in range(low + 1, 5)]
    boxes = np.array([(left, top, right, bottom) for left, right in ends for top, bottom in ends])
    at = np.arange(4)
    across, down = ((boxes[:, k, None] <= at) & (at < boxes[:, k + 2, None]) for k in (0, 1))
    inside = down[:, :, None] & across[:, None]  # [K, y, x]
    for region, covered in zip(boxes, inside, strict=True):
        left = inside & ~covered
        is_seen = left.any((1, 2))
        lines = left[is_seen].any(1), left[is_seen].any(2)  # columns, rows
        low, high = ([line.argmax(1) for line in lines], [4 - line[:, ::-1].argmax(1) for line in lines])
        found = without_covered(boxes.astype(float), region)
        assert np.array_equal(found[is_seen], np.stack([*low, *high], 1))
        assert (found[~is_seen, 2:] - found[~is_seen, :2]).prod(1).tolist() == [0] * (~is_seen).sum()


def test_a_perspective_that_shows_its_horizon_reads_the_whole_image():
    matrix = np.array([[[1.0, 0.2, 0], [0.1, 1, 0], [-1, 0.01, 1]]])
    assert seen_pixels(matrix, np.array([[9, 9]]), np.array([[20, 30]])) == 600


def test_points_that_are_not_numbers_stay_so_in_a_displacement():
    points = np.array([[np.nan, 2.0], [3.0, 2.0], [np.nan, np.nan], [np.inf, -np.inf]])
    with np.errstate(all="raise"):
        positions = through_displacement(points, np.full((2, 6, 8), 0.5))
    np.testing.assert_allclose(positions, points - 0.5)


@pytest.mark.parametrize(("shrink", "more"), [(1, 0), (2, 0), (1, 3)])
def test_a_crop_of_a_decoded_region_is_bounded_where_more_was_decoded(shrink, more):
    (step,) = T.Compose([T.RandomCrop((20, 24))]).plan([(50, 60), (70, 52)], epoch=0).passes
    boxes = step.region(np.array([[50, 60], [70, 52]]), False) // shrink + np.array(
        [-more, -more, more, more]
    )
    changed = step.of_regions(boxes, np.full(2, shrink), identities(2))
    expected = [[more, more, more + 24, more + 20]] * 2 if more else None
    assert (None if changed.regions is None else changed.regions.tolist()) == expected


def test_a_kernel_draws_programs_that_fit_its_48_kib():
    batch, found = Batch(np.array([[40, 50]]), np.arange(1), 0, 0, None), set()
    for count in range(85, 97):
        pipeline = T.Compose([T.CenterCrop(8), *[T.RandomHorizontalFlip()] * count])
        program = pipeline._program(_Pixels(3, "uint8", one_size=True), batch)
        numbers = 2 * program.code.numel() + int(program.code[-1, 1])  # with the registers
        assert program.draws_anywhere == (8 * numbers <= 48 * 1024)
        found.add(program.draws_anywhere)
    assert found == {True, False}


@pytest.mark.parametrize(
    ("crop", "draws"),
    [(T.RandomCrop(8), False), (T.RandomCrop(8, pad_if_needed=True), True), (T.Crop(0, 0, 8, 8), False)],
)
def test_a_kernel_draws_crops_that_refuse_no_image(crop, draws):
    batch = Batch(np.array([[40, 50]]), np.arange(1), 0, 0, None)
    program = T.Compose([crop, FLOAT])._program(_Pixels(3, "uint8", one_size=True), batch)
    assert program.draws_anywhere == draws
