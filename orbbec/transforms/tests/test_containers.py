"""Containers of transforms: each image gets the transforms that it chose, and no others."""

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.plan import Stream
from tests.support import assert_same_bytes, photographs
from tests.support.by_rules import by_rules
from tests.support.registers import preset

SMALL_OR_CUT = {
    "choice": T.RandomChoice([T.Resize((9, 9)), T.RandomCrop(20)]),
    "choice without antialias": T.RandomChoice([T.Resize((9, 9), antialias=False), T.CenterCrop(20)]),
    "nested": T.RandomApply([T.RandomChoice([T.Resize((9, 9)), T.RandomApply([T.CenterCrop(20)], 1.0)])]),
}
IMAGES = list(photographs(12, 3, 30, 30))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", SMALL_OR_CUT)
def test_what_an_image_did_not_choose_asks_nothing_of_it(name, exact):
    pipeline = T.Compose([SMALL_OR_CUT[name]], seed=1, exact=exact)
    together = pipeline(IMAGES, sample_ids=np.arange(12))
    assert {image.shape[0] for image in together} >= {9, 20}
    for index, image in enumerate(together):
        (alone,) = pipeline(IMAGES[index : index + 1], sample_ids=np.array([index]))
        assert_same_bytes(alone, image.permute(2, 0, 1))


def test_small_images_that_are_not_cut_stay():
    for transform in (T.CenterCrop(31), T.RandomCrop(31)):
        assert_same_bytes(T.Compose([T.RandomApply([transform], 0.0)])(IMAGES[0], epoch=0), IMAGES[0])


def test_a_small_image_that_is_to_be_cut_is_named():
    pipeline = T.Compose([T.RandomApply([T.RandomCrop(31)])], seed=1)
    (chosen, *_) = np.flatnonzero(Stream(np.arange(12), 1).chance(0.5))
    with pytest.raises(ValueError, match=f"RandomCrop: expected .*31x31, but image {chosen} is 30x30"):
        pipeline(IMAGES, epoch=0)


@pytest.mark.parametrize("crop", [T.CenterCrop(20), T.RandomCrop((20, 7)), T.RandomCrop(20, 3)])
def test_images_that_are_cut_are_cut_as_by_themselves(crop):
    sizes, chosen = np.array([[30, 41], [3, 99], [20, 20], [1, 1]]), np.array([True, False, True, False])

    def add(build):
        with build.only(preset(build, chosen[:, None])):
            crop.rules(build)

    (step,) = T.Compose([by_rules(add)]).plan(sizes, epoch=0).passes
    (alone,) = T.Compose([crop]).plan(sizes[chosen], np.flatnonzero(chosen)).passes
    assert_same_bytes(step.matrix[chosen], alone.matrix)
    assert (step.sizes[chosen] == alone.sizes).all()
    assert (step.matrix[~chosen] == np.eye(3)).all()
    assert (step.sizes[~chosen] == sizes[~chosen]).all()


MARKS = [T.RandomErasing(1.0, (0.01, 0.01), (1.0, 1.0), value) for value in (51, 102, 153)]


def counted(container, count=3000):
    """The frequency of each order of transforms."""
    (step,) = T.Compose([container]).plan(np.full((count, 2), 100), epoch=0).passes
    lists = [[] for _ in range(count)]
    for position in range(step.erase.shape[1]):
        right, fill = step.erase[:, position, 2], np.rint(255 * step.erase[:, position, 4])
        for index in np.flatnonzero(right > 0):
            lists[index].append([51, 102, 153].index(fill[index]))
    found, counts = np.unique(["".join(map(str, each)) for each in lists], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("options", "lists"),
    [
        ({"n": 1}, {"0": 1, "1": 1, "2": 1}),
        ({"n": 2}, {"01": 1, "02": 1, "12": 1}),
        ({"n": 3}, {"012": 1}),
        ({"n": 2, "shuffle": True}, dict.fromkeys(("01", "02", "12", "10", "20", "21"), 1)),
        ({"n": 2, "replace": True}, {"00": 1, "11": 1, "22": 1, "01": 2, "02": 2, "12": 2}),
        (
            {"n": 2, "replace": True, "shuffle": True},
            {f"{one}{other}": 1 for one in "012" for other in "012"},
        ),
        ({"n": 1, "weights": (1, 2, 3)}, {"0": 1, "1": 2, "2": 3}),
        ({"n": 1, "weights": (1, 0, 3)}, {"0": 1, "2": 3}),
        ({"n": 2, "weights": (1, 0, 3)}, {"02": 1}),
        ({"n": 2, "weights": (1, 2, 3)}, {"01": 4.5, "02": 8, "12": 17.5}),
        (
            {"n": 2, "shuffle": True, "weights": (1, 2, 3)},
            {"01": 2, "02": 3, "10": 2.5, "12": 7.5, "20": 5, "21": 10},
        ),
        (
            {"n": 2, "replace": True, "weights": (1, 0, 3)},
            {"00": 1, "02": 6, "22": 9},
        ),
    ],
)
def test_some_of_draws_each_list_as_often_as_it_should(options, lists):
    found = counted(T.SomeOf(MARKS, **options))
    assert found.keys() == lists.keys()
    expected = np.array(list(lists.values())) * 3000 / sum(lists.values())
    seen = np.array([found[name] for name in lists])
    # Chi-squared of up to 8 degrees of freedom exceeds 26.1 once in 1,000.
    assert ((seen - expected) ** 2 / expected).sum() < 26.1


def test_some_of_draws_anew_where_a_transform_comes_twice():
    twice = T.SomeOf(MARKS[:1], 2, replace=True)
    (step,) = T.Compose([twice]).plan(np.full((9, 2), 100), epoch=0).passes
    first, second = step.erase[:, 0], step.erase[:, 1]
    assert (np.minimum(first[:, 2], second[:, 2]) > 0).all()
    assert (first[:, :2] != second[:, :2]).any(1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n as a whole"),
        ({"n": 4}, "from 1 to 3"),
        ({"replace": 1}, "replace"),
        ({"shuffle": 0}, "shuffle"),
        ({"weights": (1, 2)}, "weights as 3 numbers of at least 0"),
        ({"weights": (1, -2, 3)}, "weights as 3 numbers"),
        ({"n": 2, "weights": (0, 0, 3)}, "2 weights above 0, but got 1"),
    ],
)
def test_bad_arguments_of_some_of_are_named(options, message):
    with pytest.raises((TypeError, ValueError), match=f"SomeOf: expected .*{message}"):
        T.SomeOf(MARKS, **options)
