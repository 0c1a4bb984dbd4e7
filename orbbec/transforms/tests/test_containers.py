"""Transforms made of transforms: each image is asked for what it chose, and for nothing else."""

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.plan import Stream
from orbbec.plan.steps import Frame
from orbbec.testing import assert_same_bytes, photographs
from orbbec.transforms.containers import only

SMALL_OR_CUT = {
    "choice": T.RandomChoice([T.Resize((9, 9)), T.RandomCrop(20)]),
    "choice without antialias": T.RandomChoice([T.Resize((9, 9), antialias=False), T.CenterCrop(20)]),
    "nested": T.RandomApply([T.RandomChoice([T.Resize((9, 9)), T.RandomApply([T.CenterCrop(20)], 1.0)])]),
}
IMAGES = list(photographs(12, 3, 30, 30))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", SMALL_OR_CUT)
def test_what_an_image_did_not_choose_asks_nothing_of_it(name, exact):
    chain = T.Compose([SMALL_OR_CUT[name]], seed=1, exact=exact)
    together = chain(IMAGES, sample_ids=np.arange(12))
    assert {image.shape[0] for image in together} >= {9, 20}
    for index, image in enumerate(together):
        (alone,) = chain(IMAGES[index : index + 1], sample_ids=np.array([index]))
        assert_same_bytes(alone, image.permute(2, 0, 1))


def test_small_images_that_are_not_cut_stay():
    for transform in (T.CenterCrop(31), T.RandomCrop(31)):
        assert_same_bytes(T.Compose([T.RandomApply([transform], 0.0)])(IMAGES[0], epoch=0), IMAGES[0])


def test_a_small_image_that_is_to_be_cut_is_named():
    chain = T.Compose([T.RandomApply([T.RandomCrop(31)])], seed=1)
    (chosen, *_) = np.flatnonzero(Stream(np.arange(12), 1).chance(0.5))
    with pytest.raises(ValueError, match=f"RandomCrop: expected .*31x31, but image {chosen} is 30x30"):
        chain(IMAGES, epoch=0)


@pytest.mark.parametrize("crop", [T.CenterCrop(20), T.RandomCrop((20, 7)), T.RandomCrop(20, 3)])
def test_images_that_are_cut_are_cut_as_by_themselves(crop):
    sizes, chosen = np.array([[30, 41], [3, 99], [20, 20], [1, 1]]), np.array([True, False, True, False])
    ((_, _, step),) = only(crop, chosen, Frame(sizes), iter([Stream(np.arange(4))]))
    ((_, _, alone),) = crop.draw(Frame(sizes[chosen]), iter([Stream(np.arange(4)[chosen])]))
    assert_same_bytes(step.matrix[chosen], alone.matrix)
    assert (step.sizes[chosen] == alone.sizes).all()
    assert (step.matrix[~chosen] == np.eye(3)).all()
    assert (step.sizes[~chosen] == sizes[~chosen]).all()
