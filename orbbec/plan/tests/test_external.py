"""Transforms that draw in Python: a pipeline is compiled with the steps of its first batch."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.plan.passes.base import VARIES
from orbbec.plan.steps import (
    Cast,
    Colors,
    Erase,
    Normalize,
    Operator,
    Warp,
    identities,
    same_rows,
    static_size,
)
from orbbec.plan.tests.draw_cases import matrix_row
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.warps import warp_step
from tests.support import assert_same_bytes, photographs

IMAGES = photographs(4, 3, 8, 9)


def warp(state, **how):
    matrices = identities(len(state))
    matrices[:, 0, 2] = 1
    return Warp(matrices, state.sizes, **{"interpolation": "nearest", "border": "replicate", **how})


def blur(state, drawn=None):
    count = len(state)
    table = {"kernel_size": np.full((count, 2), 3), "sigma": np.ones(count)}
    return Operator("gaussian_blur", table, drawn=drawn)


def invert(state, **options):
    return Operator("invert", {}, options)


def toned(state, gain=1.0):
    return Operator("adjust_gamma", {"gamma": np.ones(len(state))}, {"gain": gain})


def colors(state, steps=1, **how):
    return Colors(np.repeat(matrix_row(-np.eye(3), 1.0, len(state)), steps, 1), **how)


def erased(state, rectangles=1):
    return Erase(np.tile([1.0, 2, 4, 6, 0, 0, 0, 0], (len(state), rectangles, 1)))


@dataclass(frozen=True, eq=False)
class _Unsteady(Transform):
    """Returns the steps of one function, and in epochs after the first those of another."""

    first: object
    other: object

    def sample(self, sizes, stream):
        return stream.epoch

    def steps(self, params, state):
        return [*(self.other if params else self.first)(state)]


@pytest.mark.parametrize("steps", [warp, lambda state: "warp", lambda state: ["warp"]])
def test_steps_that_are_no_list_of_steps_are_named(steps):
    class Steps(Transform):
        def steps(self, params, state):
            return steps(state)

    with pytest.raises(TypeError, match="Steps: expected steps as a list of Step, but got"):
        Steps()(IMAGES)


def test_unknown_operators_and_color_steps_are_named():
    class Blur(Transform):
        def steps(self, params, state):
            return [Operator("gaussian_blurr")]

    class Brightness(Transform):
        def rules(self, build):
            build.color("brightness", build.constant(2.0))

    with pytest.raises(
        ValueError, match="Blur: expected an operator with an OpSpec, but got 'gaussian_blurr'"
    ):
        Blur()(IMAGES)
    with pytest.raises(
        ValueError, match=r"Brightness: expected a color step of none, matrix, .* 'brightness'"
    ):
        Brightness()(IMAGES)


PAIRS = {
    "another kind": (lambda s: [warp(s)], lambda s: [colors(s)]),
    "no step": (lambda s: [warp(s)], lambda s: []),
    "one more step": (lambda s: [warp(s)], lambda s: [warp(s), warp(s)]),
    "another order": (lambda s: [warp(s), colors(s)], lambda s: [colors(s), warp(s)]),
    "another interpolation": (lambda s: [warp(s)], lambda s: [warp(s, interpolation="linear")]),
    "another border": (lambda s: [warp(s)], lambda s: [warp(s, border="wrap")]),
    "another fill": (
        lambda s: [warp(s, border="constant")],
        lambda s: [warp(s, border="constant", fill=(3.0,))],
    ),
    "a region": (lambda s: [warp(s)], lambda s: [warp(s, region=s.regions)]),
    "an offset": (lambda s: [warp(s)], lambda s: [warp(s, offset=np.zeros((len(s), 2)))]),
    "flips": (lambda s: [warp(s)], lambda s: [warp(s, flips=np.ones(len(s), bool))]),
    "lower bounds of sizes": (lambda s: [warp(s)], lambda s: [warp(s, least=(2, 2))]),
    "more colors": (lambda s: [colors(s)], lambda s: [colors(s, 2)]),
    "contrast": (lambda s: [colors(s)], lambda s: [colors(s, contrast=True)]),
    "another operator": (lambda s: [blur(s)], lambda s: [invert(s)]),
    "some images": (lambda s: [blur(s)], lambda s: [blur(s, np.ones(len(s), bool))]),
    "another option": (lambda s: [toned(s)], lambda s: [toned(s, 2.0)]),
    "more rectangles": (lambda s: [erased(s)], lambda s: [erased(s, 2)]),
    "another mean": (
        lambda s: [Cast("float32"), Normalize((0.5,), (0.5,))],
        lambda s: [Cast("float32"), Normalize((0.4,), (0.5,))],
    ),
    "another dtype": (lambda s: [Cast("float32")], lambda s: [Cast("float16")]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_other_steps_for_a_later_batch_are_an_error(name):
    pipeline = T.Compose([T.RandomHorizontalFlip(), _Unsteady(*PAIRS[name])])
    expected = pipeline(IMAGES, epoch=0)
    for epoch in (1, 2):
        with pytest.raises(
            ValueError, match=r"^_Unsteady: expected the same steps for every batch, but got other"
        ):
            pipeline(IMAGES, epoch=epoch)
    assert_same_bytes(pipeline(IMAGES, epoch=0), expected)
    again = T.Compose([T.RandomHorizontalFlip(), _Unsteady(*PAIRS[name][::-1])])
    again(IMAGES, epoch=0)  # each is valid by itself


def test_a_pipeline_is_compiled_for_each_kind_of_images():
    pipeline = T.Compose([_Unsteady(lambda s: [warp(s)], lambda s: [colors(s)])])
    pipeline(IMAGES, epoch=0)
    pipeline(IMAGES.float() / 255, epoch=1)
    with pytest.raises(ValueError, match="_Unsteady: expected the same steps"):
        pipeline(IMAGES, epoch=1)
    with pytest.raises(ValueError, match="_Unsteady: expected the same steps"):
        pipeline(IMAGES.float() / 255, epoch=0)


def test_other_steps_in_a_container_are_an_error():
    unsteady = _Unsteady(lambda s: [warp(s)], lambda s: [colors(s)])
    pipeline = T.Compose([T.SomeOf([unsteady, T.RandomInvert()], 1)])
    pipeline(IMAGES, epoch=0)
    with pytest.raises(ValueError, match="_Unsteady: expected the same steps"):
        pipeline(IMAGES, epoch=1)


@dataclass(frozen=True)
class _Bounded(Transform):
    """Moves images by what it draws, with the same steps for every batch."""

    def sample(self, sizes, stream):
        return stream.below(4)

    def steps(self, params, state):
        matrices = identities(len(state))
        matrices[:, 0, 2] = params
        return [Warp(matrices, state.sizes, "nearest", "replicate", lossless=True)]


def test_what_is_drawn_may_change():
    pipeline = T.Compose([_Bounded()], seed=3)
    assert len({tuple(pipeline.plan([(8, 9)] * 9, epoch=e).matrix[:, 0, 2]) for e in range(9)}) > 1
    together = pipeline(IMAGES, epoch=5)
    for n, image in enumerate(IMAGES):
        assert_same_bytes(pipeline(image, sample_ids=[n], epoch=5), together[n])
    assert torch.equal(pipeline(IMAGES[:0], epoch=5), IMAGES[:0])


@pytest.mark.parametrize("interpolation", ["nearest", "lanczos4"])
def test_a_resize_by_chance_leaves_the_size_and_the_pixels_of_other_images(interpolation):
    def resized(state):
        matrices = np.tile([[1.5, 0.0, 2.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]], (len(state), 1, 1))
        sizes = same_rows((4, 5), len(state))
        return [warp_step(matrices, sizes, interpolation, "replicate", (0.0,), least=(4, 5))]

    step, images = _Unsteady(resized, resized), photographs(12, 3, 8, 9)
    always = T.Compose([step])(images, epoch=0).permute(0, 2, 3, 1)
    results = list(T.Compose([T.RandomApply([step], 0.5)], seed=1)(images, epoch=0))
    for result, changed, image in zip(results, always, images.permute(0, 2, 3, 1), strict=True):
        assert_same_bytes(result, changed if result.shape[0] == 4 else image)
    assert {tuple(result.shape) for result in results} == {(4, 5, 3), (8, 9, 3)}


@pytest.mark.parametrize("is_normalized_first", [True, False])
def test_fills_that_python_draws_are_in_the_units_of_the_pixels_there(is_normalized_first):
    def filled(state):
        return [Erase(np.tile([1.0, 2, 4, 6, 0.5, 0.25, 0.75, 0], (len(state), 1, 1)))]

    mean, std = (0.5, 0.5, 0.25), (0.5, 0.25, 2.0)
    steps = [T.Normalize(mean, std), _Unsteady(filled, filled)]
    steps = steps if is_normalized_first else steps[::-1]
    result = T.Compose([T.ToDtype(torch.float32, scale=True), *steps])(IMAGES, epoch=0)
    fill = torch.tensor([0.5, 0.25, 0.75])
    expected = fill if is_normalized_first else (fill - torch.tensor(mean)) / torch.tensor(std)
    assert torch.allclose(result[:, :, 2:6, 1:4], expected[:, None, None], rtol=1e-6)


def test_the_static_size_of_a_step():
    before = np.array([[9, 8]])
    for sizes, least, static in (
        (None, (5, 6), None),
        (before, (5, 6), None),
        (np.array([[5, 6]]), (5, 6), (5, 6)),
        (np.array([[1, 2]]), (1, 2), (1, 2)),
        (np.array([[5, 6], [5, 7]]), (5, 6), VARIES),
        (np.array([[1, 1]]), (1, 1), VARIES),
    ):
        assert static_size(SimpleNamespace(sizes=sizes, least=least), before) == static


def test_operators_of_colors_are_for_the_images_that_are_chosen():
    chosen, rows = np.array([True, False]), np.ones((2, 1, 16), np.float32)
    colors = Colors(rows, operators=(Operator("invert"),)).only(chosen)
    operator, _ = colors.parts(exact=True)
    assert operator.drawn is chosen
    assert colors.parts(exact=False) == (colors,)
    assert Colors(rows, operators=(Operator("invert"),)).parts(exact=True)[0].drawn is None


@pytest.mark.parametrize("by_chance", [False, True])
def test_each_kind_of_step_leaves_images_out(by_chance):
    def changed(state, steps):
        chosen = np.arange(len(state)) % 2 == 0
        return steps(state) if by_chance else [step.only(chosen) for step in steps(state)]

    for steps in (
        lambda state: [warp(state)],
        lambda state: [warp(state, region=state.regions, offset=np.ones((len(state), 2)))],
        lambda state: [colors(state)],
        lambda state: [erased(state)],
        lambda state: [blur(state)],
        lambda state: [blur(state, np.arange(len(state)) < 2)],
    ):
        whole = T.Compose([_Unsteady(steps, steps)])(IMAGES, epoch=0)
        step = _Unsteady(*[lambda state, steps=steps: changed(state, steps)] * 2)
        results = T.Compose([T.RandomApply([step], 0.5) if by_chance else step], seed=4)(IMAGES, epoch=0)
        chosen = [
            n for n, (one, image) in enumerate(zip(results, IMAGES, strict=True)) if (one != image).any()
        ]
        assert len(chosen) in ((1, 2, 3) if by_chance else (1, 2))
        for n in chosen:
            assert_same_bytes(results[n], whole[n])


def test_an_operator_with_a_table_of_positions_is_for_all_images():
    def cropped(state):
        table = {"boxes": np.tile([0, 0, 4, 5], (len(state), 1))}
        options, sizes = {"interpolation": "linear", "antialias": True}, same_rows((5, 4), len(state))
        return [Operator("resized_crop", table, options, matrix=identities(len(state)), sizes=sizes)]

    with pytest.raises(ValueError, match="resized_crop: images of one batch are all moved by their table"):
        T.Compose([T.RandomApply([_Unsteady(cropped, cropped)], 0.5)])(IMAGES, epoch=0)


@pytest.mark.parametrize("kind", ["warp", "operator"])
def test_a_crop_of_the_least_size_of_a_step_reads_nothing_beyond(kind):
    def smaller(state, least=(5, 4)):
        sizes, matrices = same_rows((5, 4), len(state)), identities(len(state))
        if kind == "warp":
            return [Warp(matrices, sizes, "nearest", "replicate", least=least)]
        boxes = np.tile([0, 0, 4, 5], (len(state), 1))
        options = {"interpolation": "linear", "antialias": True}
        return [
            Operator("resized_crop", {"boxes": boxes}, options, matrix=matrices, sizes=sizes, least=least)
        ]

    crop = T.CenterCrop((5, 4))
    known, unknown = _Unsteady(smaller, smaller), _Unsteady(*[lambda state: smaller(state, (1, 1))] * 2)
    assert "constant" not in str(T.Compose([known, crop]).plan([(8, 9)] * 4, epoch=0))
    assert "constant" in str(T.Compose([unknown, crop]).plan([(8, 9)] * 4, epoch=0))


@pytest.mark.parametrize(("size", "reads_beyond"), [((5, 1), True), ((1, 4), True), ((1, 1), False)])
def test_images_that_are_not_chosen_may_be_smaller_than_the_least_size(size, reads_beyond):
    def smaller(state):
        return [
            Warp(identities(len(state)), same_rows((5, 4), len(state)), "nearest", "replicate", least=(5, 4))
        ]

    steps = [T.RandomApply([_Unsteady(smaller, smaller)], 0.5), T.CenterCrop(size)]
    assert ("constant" in str(T.Compose(steps).plan([(8, 9)] * 4, epoch=0))) == reads_beyond


def test_each_operator_of_a_step_has_its_own_arguments():
    def both(state):
        return [*first(state), *second(state)]

    def first(state):
        return [blur(state)]

    def second(state):
        return [Operator("adjust_gamma", {"gamma": np.full(len(state), 2.0)}, {"gain": 1.0})]

    together = T.Compose([_Unsteady(both, both)])(IMAGES, epoch=0)
    one_by_one = T.Compose([_Unsteady(first, first), _Unsteady(second, second)])(IMAGES, epoch=0)
    assert_same_bytes(together, one_by_one)
    expected = T.Compose([T.GaussianBlur(3, 1.0), T.Gamma((2.0, 2.0))], exact=True)(IMAGES, epoch=0)
    assert_same_bytes(together, expected)
