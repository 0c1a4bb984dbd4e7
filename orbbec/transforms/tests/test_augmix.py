"""AugMix: its images compared with torchvision's, its plan, and unchanged targets."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, Stream, apply
from orbbec.plan.build import Build
from orbbec.plan.steps import Blend
from orbbec.transforms.auto import OPERATIONS, apply_operation
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.tests.record_torchvision import AUGMIX_CHAINS, AUGMIX_WEIGHTS, sample_image
from tests.support import assert_same_bytes, photograph, photographs

EXPECTED = np.load(Path(__file__).with_name("torchvision.npz"))["call.augmix.image"]


class _RecordedMix(Transform):
    """AugMix with the recorded weights, and the recorded operations of the three copies of one image."""

    def sample(self, sizes, stream):
        numbers = np.zeros((3, 3, 2))
        for row, chain in enumerate(AUGMIX_CHAINS):
            for slot, (name, value) in enumerate(chain):
                numbers[row, slot] = OPERATIONS.index(name), value
        return numbers.reshape(3, 6)

    def steps(self, params, state):
        def add(build: Build, register: int) -> None:
            for slot in range(3):
                operation = register + 2 * slot
                apply_operation(build, operation, operation + 1, ("linear", "constant", (0.0,)))

        return [Blend(np.array([AUGMIX_WEIGHTS]), params, add)]


def test_image_is_torchvisions():
    image = (sample_image() * 255).round().to(torch.uint8)
    result = T.Compose([_RecordedMix()])(image, epoch=0).numpy()
    difference = np.abs(result - np.floor(EXPECTED))
    # In levels: interpolated pixels of copies are rounded. Seen: 1 in 7.08 %.
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.071


def test_kinds_of_images_give_the_same():
    chain = partial(T.Compose([T.AugMix()], seed=3), epoch=0)
    images = photographs(5, 3, 20, 25)
    expected = chain(images)
    assert (expected != images).any((1, 2, 3)).all()
    assert_same_bytes(chain(list(images)), expected)
    assert_same_bytes(chain(ImageBatch.from_tensor(images)), expected)
    assert_same_bytes(chain(images.contiguous(memory_format=torch.channels_last)), expected)
    ragged = [photograph(20 + n, 25) for n in range(3)]
    for n, result in enumerate(chain(ImageBatch.from_images(ragged)).numpy()):
        assert_same_bytes(result, chain(ragged[n], sample_ids=[n]))


def test_weights_are_those_of_the_plan():
    chain, images = T.Compose([T.AugMix(mixture_width=2)], seed=3), photographs(4, 3, 20, 25)
    plan = chain.plan([(20, 25)] * 4, epoch=0)
    (step,) = plan.passes
    copies = images.repeat(2, 1, 1, 1)
    inner = Plan(np.tile(plan.sizes, (2, 1)), np.tile(plan.sample_ids, 2), step.passes)
    parts = [images, *apply(inner, copies).split(4)]
    weights = torch.from_numpy(step.weights)[..., None, None, None]
    expected = weights[:, 0].float() * parts[0]  # in torchvision's order
    for k, part in enumerate(parts[1:], 1):
        expected.add_(weights[:, k].float() * part)
    result = chain.apply(Plan.from_json(plan.to_json()), images)
    assert_same_bytes(result, expected.to(torch.uint8))
    assert plan.table(0)["weight1"].tolist() == step.weights[:, 1].tolist()
    assert plan.table(0)["copy1.0.m00"].tolist() == step.passes[0].matrix[4:, 0, 0].tolist()


def test_chains_are_as_long_as_asked():
    for depth, slots in ((-1, 3), (0, 3), (1, 1), (4, 4)):
        plan = T.Compose([T.AugMix(chain_depth=depth)]).plan([(8, 9)] * 2, epoch=0)
        assert len(plan.passes[0].passes) == 4 * slots
    drawn = [
        transform.sample(np.array([[8, 9]] * 200), Stream(np.arange(200), seed=1)).chains[:, ::3].astype(int)
        for transform in (T.AugMix(chain_depth=2), T.AugMix(chain_depth=2, all_ops=False))
    ]
    assert {OPERATIONS[code] for code in drawn[0].ravel()} == set(OPERATIONS[1:14])
    assert {OPERATIONS[code] for code in drawn[1].ravel()} == {*OPERATIONS[1:6], *OPERATIONS[10:14]}


def test_a_seed_draws_the_same_copies_as_it_always_did():
    drawn = T.AugMix(mixture_width=1, chain_depth=3).sample(np.array([[8, 8]] * 4), Stream(np.arange(4)))
    assert drawn.chains[:, ::3].tolist() == [[11, 5, 10], [5, 13, 11], [8, 10, 11], [10, 3, 2]]


def test_what_is_left_out_keeps_its_bytes():
    images = photographs(16, 3, 12, 14)
    result = T.Compose([T.RandomApply([T.AugMix()], p=0.5)], seed=1)(images, epoch=0)
    kept = (result == images).all(3).all(2).all(1)
    assert 0 < int(kept.sum()) < 16
    assert_same_bytes(T.Compose([T.AugMix()])(images[:0], epoch=0), images[:0])


def test_targets_stay():
    target = {"boxes": np.array([[1.0, 2.0, 5.0, 6.0]]), "mask": np.ones((12, 14), np.uint8)}
    _, moved = T.Compose([T.AugMix()])(photograph(12, 14), target, epoch=0)
    assert moved["boxes"].tolist() == target["boxes"].tolist()
    assert_same_bytes(moved["mask"], target["mask"])


def test_floats_are_refused():
    with pytest.raises((TypeError, ValueError), match="uint8"):
        T.Compose([T.AugMix()], seed=3)(torch.rand(8, 3, 9, 9), epoch=0)
