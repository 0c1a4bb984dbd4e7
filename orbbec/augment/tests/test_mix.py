"""Mixing at the end of augment, compared with mixup and cutmix after augment."""

import re

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, cutmix, mixup
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.augments import CONTRAST, GAMMA
from tests.support.augments import fused as augment

COUNT = 4
PAIR_INDICES = torch.tensor([2, 0, 3, 3])
WEIGHTS = torch.tensor([0.3, 0.75, 0.5, 1.0], dtype=torch.float64)
SIZES = [(1, 1), (5, 40), (9, 300)]
FLOATS = (torch.float16, torch.bfloat16, torch.float32)


def boxes_in(size):
    """Boxes in the middle, at a corner, beyond it, empty, and of the whole image."""
    height, width = size
    inside = [width // 3, height // 3, width - width // 4, height - height // 4]
    return torch.tensor([inside, [-5, -3, width // 2, height + 9], [3, 2, 3, 9], [0, 0, width, height]])


def mixes(weights, size):
    """Table rows for a mixup of whole images."""
    rows = torch.zeros(COUNT, 7, dtype=torch.float64)
    rows[:, 0], rows[:, 3], rows[:, 4] = PAIR_INDICES, size[1], size[0]
    rows[:, 5], rows[:, 6] = weights, 1 - weights
    return rows.float()


def cuts(boxes):
    rows = torch.zeros(COUNT, 7)
    rows[:, 0], rows[:, 1:5], rows[:, 6] = PAIR_INDICES, boxes, 1
    return rows


def draw_call(size, channels=3, dtype=torch.uint8, target=torch.float32, seed=0):
    """Images and options with warps, contrast, rectangles and normalization."""
    rng = np.random.default_rng(seed)
    images = photographs(COUNT, channels, 21, 34, dtype, seed=seed)
    matrix = np.eye(3)[:2] + rng.normal(0, 1, (COUNT, 2, 3)) * [0.3, 0.3, 5]
    colors = np.zeros((COUNT, 2, 16), np.float32)
    colors[:, :, 0], colors[:, :, 1], colors[:, :, 2] = (
        (CONTRAST, GAMMA),
        rng.uniform(0.5, 1.5, (COUNT, 2)),
        1,
    )
    corners = rng.integers(0, 20, (COUNT, 1, 2))
    erase = np.concatenate([corners, corners + 7, rng.random((COUNT, 1, 4))], -1)
    options = {"dtype": target, "border": "reflect101", "erase": torch.from_numpy(erase).float()}
    if channels in (1, 3):
        options["colors"] = torch.from_numpy(colors)
    if target != torch.uint8:
        options |= {"mean": 0.4, "std": [0.2 + 0.01 * c for c in range(channels)]}
    return images, torch.from_numpy(matrix), size, options


def run(device, call, out=None, **more):
    images, matrix, size, options = call
    put = {k: device.put(v) if isinstance(v, torch.Tensor) else v for k, v in {**options, **more}.items()}
    return augment(device.put(images), device.put(matrix), size, out=out, **put)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_floats_have_the_bits_of_mixup_and_cutmix_after_it(device, size, channels):
    for seed, dtype in enumerate((torch.uint8, torch.float32)):
        call = draw_call(size, channels, dtype, seed=seed)
        alone = run(device, call)
        together = run(device, call, mix=mixes(WEIGHTS, size))
        assert_same_bytes(together, mixup(alone, device.put(PAIR_INDICES), WEIGHTS))
        together = run(device, call, mix=cuts(boxes_in(size)), channels_last=True)
        assert_same_bytes(together, cutmix(alone, device.put(PAIR_INDICES), boxes_in(size)))


@pytest.mark.parametrize("size", SIZES)
def test_bytes_are_cut_from_bytes(device, size):
    call = draw_call(size, target=torch.uint8)
    together = run(device, call, mix=cuts(boxes_in(size)))
    assert_same_bytes(together, cutmix(run(device, call), device.put(PAIR_INDICES), boxes_in(size)))


@pytest.mark.parametrize("target", [torch.float16, torch.bfloat16, torch.uint8], ids=str)
def test_sums_are_rounded_once(device, target):
    images, matrix, size, options = draw_call((5, 40), dtype=torch.float32, target=target)
    exact = augment(images, matrix, size, **{**options, "dtype": torch.float32})
    exact = exact * 255 if target == torch.uint8 else exact
    expected = mixup(exact, PAIR_INDICES, WEIGHTS)
    expected = expected.round().clamp(0, 255) if target == torch.uint8 else expected
    together = run(device, (images, matrix, size, options), mix=mixes(WEIGHTS, size))
    assert_same_bytes(together.cpu(), expected.to(target))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("target", [*FLOATS, torch.uint8], ids=str)
def test_the_accelerator_gives_the_bits_of_the_cpu(accelerator, size, target):
    for mix in (mixes(WEIGHTS, size), cuts(boxes_in(size) + 0.5)):
        call = draw_call(size, target=target)
        with accelerator.active():
            actual = run(accelerator, call, mix=mix)
        images, matrix, _, options = call
        assert_same_bytes(actual, augment(images, matrix, size, mix=mix, **options))


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2"])
@pytest.mark.parametrize("target", [*FLOATS, torch.uint8], ids=str)
def test_vectors_change_nothing(monkeypatch, level, target):
    results = []
    for simd in (None, level):
        if simd:
            monkeypatch.setenv("ORBBEC_SIMD", simd)
        for size in ((3, 255), (3, 520)):
            images, matrix, _, options = draw_call(size, target=target)
            for mix in (mixes(WEIGHTS, size), cuts(boxes_in(size)), cuts(torch.tensor([300, 0, 333, 2]))):
                results.append(augment(images, matrix, size, mix=mix, **options))
    for one, other in zip(results[:6], results[6:], strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize("index", [-1.0, float(COUNT), float("nan"), float("inf"), -1e30])
def test_a_pair_index_that_is_none_leaves_the_image(device, index):
    call = draw_call((5, 40))
    rows = mixes(WEIGHTS, (5, 40))
    rows[:, 0] = index
    assert_same_bytes(run(device, call, mix=rows), run(device, call))


def test_by_hand(device):
    images = device.put(torch.tensor([[1, 1, 1], [2, 2, 2]]).to(torch.uint8).reshape(2, 1, 1, 3))
    rows = torch.tensor([[1.0, 1, 0, 2, 1, 0, 1], [0, 1, 0, 9, 1, 0.5, 3]])
    result = augment(images, torch.eye(3), (1, 3), mix=device.put(rows))
    assert result.tolist() == [[[[1, 2, 1]]], [[[2, 4, 4]]]]


def test_variable_size_images_are_mixed(device):
    arrays = [photograph(h, w, 3, seed=h) for h, w in ((3, 4), (20, 41), (1, 70), (9, 9))]
    batch = ImageBatch.from_images(arrays).to("cuda" if device.name == "cuda" else "cpu")
    _, matrix, size, _ = draw_call((8, 33))
    alone = augment(batch, device.put(matrix), size, dtype=torch.float32)
    together = augment(
        batch, device.put(matrix), size, dtype=torch.float32, mix=device.put(mixes(WEIGHTS, size))
    )
    assert_same_bytes(together, mixup(alone, device.put(PAIR_INDICES), WEIGHTS))


def test_it_is_written_into_out(device):
    call = draw_call((8, 33))
    expected = run(device, call, mix=cuts(boxes_in((8, 33))))
    out = torch.zeros_like(expected)
    run(device, call, mix=cuts(boxes_in((8, 33))), out=out)
    assert_same_bytes(out, expected)


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_gradients_are_those_of_two_operators(device, name):
    size = (8, 17)
    images, matrix, _, options = draw_call(size, dtype=torch.float32)
    boxes, gradients = boxes_in(size), []
    factors = torch.from_numpy(np.random.default_rng(1).normal(size=(COUNT, 3, *size))).float()

    def in_one(device, images, matrix):
        rows = mixes(WEIGHTS, size) if name == "mixup" else cuts(boxes)
        return run(device, (images, matrix, size, options), mix=rows)

    def in_two(device, images, matrix):
        alone = run(device, (images, matrix, size, options))
        pair_indices = device.put(PAIR_INDICES)
        return mixup(alone, pair_indices, WEIGHTS) if name == "mixup" else cutmix(alone, pair_indices, boxes)

    for calls in (in_one, in_two):
        leaves = device.put(images).requires_grad_(), device.put(matrix).requires_grad_()
        result = calls(device, *leaves)
        gradients.append(torch.autograd.grad((result * device.put(factors)).sum(), leaves))
    for one, other in zip(*gradients, strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        (torch.zeros(COUNT, 6), "augment: expected mix of shape [4, 7], but got [4, 6]"),
        (torch.zeros(7), "augment: expected mix of shape [4, 7], but got [7]"),
        (torch.zeros(COUNT + 1, 7), "augment: expected mix of shape [4, 7], but got [5, 7]"),
    ],
)
def test_the_bad_argument_is_named(device, mix, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run(device, draw_call((3, 4)), mix=mix)


def test_the_operator_itself_refuses(device):
    images, whole = device.put(torch.zeros(2, 3, 4, 5)), torch.eye(3, dtype=torch.float64)
    before = (images, None, 0, device.put(whole), [4, 5], "linear", "constant", [0.0], None, None, None)
    after = ([], [], 1.0, 1.0, False, None, None, torch.float32, False)
    for mix in (torch.zeros(2, 7).double(), torch.zeros(7, 2).T):
        with pytest.raises((ValueError, RuntimeError), match="expected mix as contiguous float32"):
            torch.ops.orbbec.augment(*before, device.put(mix), *after)
    mix = device.put(cuts(torch.tensor([1, 1, 3, 3]))[:2])
    torch.library.opcheck(torch.ops.orbbec.augment.default, (*before, mix, *after))


def test_it_compiles_with_its_gradient(device):
    images, matrix, size, _ = draw_call((8, 17), dtype=torch.float32)
    matrix, mix = device.put(matrix), device.put(mixes(WEIGHTS, size))

    def loss(images):
        return augment(images, matrix, size, mix=mix, dtype=torch.float32).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    leaf = device.put(images).requires_grad_()
    one, other = (torch.autograd.grad(call(leaf), leaf)[0] for call in (loss, compiled))
    assert_same_bytes(one, other)
