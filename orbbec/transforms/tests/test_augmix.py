"""AugMix: its images compared with torchvision's, its plan, and unchanged targets."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, Stream, apply
from orbbec.plan.rules import REGISTERS
from orbbec.transforms.auto import OPERATIONS, apply_operation
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.tests.record_torchvision import AUGMIX_CHAINS, AUGMIX_WEIGHTS, sample_image
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.peers.transform_calls import operations
from tests.support.registers import Registers

EXPECTED = np.load(Path(__file__).with_name("torchvision.npz"))["call.augmix.image"]


class _RecordedMix(Transform):
    """AugMix with the recorded weights, and the recorded operations of the three copies of one image."""

    def rules(self, build):
        weights = build.constants(AUGMIX_WEIGHTS)
        first = build.constants([number for chain in AUGMIX_CHAINS for number in self._numbers(chain)])
        build.blend(weights, 3, range(first, first + 18), self._add)

    def _numbers(self, chain):
        steps = [*chain, ("Identity", 0.0)][:3]
        return [number for name, value in steps for number in (OPERATIONS.index(name), value)]

    def _add(self, build, register):
        for operation in range(register, register + 6, 2):
            apply_operation(build, operation, operation + 1, ("linear", "constant", (0.0,)))


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


def codes_of(transform, count, seed):
    """The operations of the copies of some images: `[K * N, slots]`."""
    registers = Registers(transform.rules, [(8, 9)] * count, seed=seed)
    return operations(registers.copies)[..., 0].T.astype(int)


def test_chains_are_as_long_as_asked():
    for depth, slots in ((-1, 3), (0, 3), (1, 1), (4, 4)):
        plan = T.Compose([T.AugMix(chain_depth=depth)]).plan([(8, 9)] * 2, epoch=0)
        assert len(plan.passes[0].passes) == 4 * slots
    for all_ops, names in ((True, OPERATIONS[1:14]), (False, OPERATIONS[1:6] + OPERATIONS[10:14])):
        codes = codes_of(T.AugMix(chain_depth=2, all_ops=all_ops), 200, 1)
        assert {OPERATIONS[code] for code in codes.ravel()} == set(names)


@pytest.mark.parametrize("depth", [-1, 2])
@pytest.mark.parametrize("width", [1, 3])
def test_numbers_of_copies_are_those_of_their_stream(depth, width):
    transform, count = T.AugMix(5, width, depth, 0.6), 40
    registers = Registers(transform.rules, [(8, 9)] * count, seed=4, index=2)
    stream = Stream(np.arange(count), seed=4, transform_index=2)
    own, weights = stream.dirichlets(0.6, 2), stream.dirichlets(0.6, width)
    (blend,) = registers.program.passes
    drawn = registers.state[:, blend.weight_register : blend.weight_register + 1 + width].astype(np.float32)
    assert np.array_equal(drawn, np.concatenate([own[:, :1], weights * own[:, 1:]], 1).astype(np.float32))
    chains = []
    for _ in range(width):
        length, columns = (1 + stream.below(3) if depth < 1 else np.full(count, depth)), []
        for slot in range(3 if depth < 1 else depth):
            operation = (1 + stream.below(13)) * (slot < length)
            columns += [operation, stream.below(5) / 9, stream.uniforms(1)[:, 0]]
        chains.append(np.stack(columns, 1))
    numbers = registers.copies.state[:, REGISTERS : REGISTERS + chains[0].shape[1]]
    assert np.array_equal(numbers, np.concatenate(chains))


def test_images_left_out_have_no_weight_of_copies():
    plan = T.Compose([T.RandomApply([T.AugMix(mixture_width=2)], 0.5)], seed=1).plan([(8, 9)] * 20, epoch=0)
    weights = plan.passes[0].weights
    out = weights[:, 0] == 1
    assert 4 < out.sum() < 16
    assert (weights[out, 1:] == 0).all()
    assert (weights[~out, 1:] > 0).all()


def test_plans_are_restored_from_json():
    plan = T.Compose([T.AugMix(mixture_width=2)]).plan([(8, 9), (7, 5)], epoch=0)
    again = Plan.from_json(plan.to_json())
    for name, values in plan.table(0).items():
        assert again.table(0)[name].tobytes() == values.tobytes()


def test_too_many_copies_are_refused():
    assert len(T.Compose([T.AugMix(mixture_width=64)]).plan([(8, 9)], epoch=0).passes[0].weights[0]) == 65
    with pytest.raises(ValueError, match="expected mixture_width as a whole number from 1 to 64"):
        T.AugMix(mixture_width=65)


def test_a_seed_draws_the_same_copies_as_it_always_did():
    codes = codes_of(T.AugMix(mixture_width=1, chain_depth=3), 4, 0)
    assert codes.tolist() == [[11, 5, 10], [5, 13, 11], [8, 10, 11], [10, 3, 2]]


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
