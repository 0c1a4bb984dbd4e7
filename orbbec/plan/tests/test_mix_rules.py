"""Rules of mixes: weights and boxes compared with those of `Stream` and NumPy, and who is mixed with whom."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.plan import Plan, Stream
from orbbec.plan.rules import REGISTERS
from orbbec.plan.tests.program_rows import KEY, Rows

IDS = np.arange(-300, 300)
SIZES = np.random.default_rng(0).integers(1, 900, (len(IDS), 2))
ALPHAS = [1e-6, 0.02, 0.05, 0.4, 1.0, 3.0, 50.0]
EVERY = np.arange(9)


def stream(index, taken=0):
    """A stream of which some numbers are taken."""
    numbers = Stream(IDS, **KEY, transform_index=index)
    numbers.skip(taken)
    return numbers


def assert_same_floats(actual, expected):
    """As float32 they are equal; as float64 only almost, since they are powers."""
    assert np.array_equal(actual.astype(np.float32), expected.astype(np.float32))
    assert actual == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("first", [0, 3])
def test_betas(alpha, first):
    rows = Rows()
    out = rows.add("beta", alpha, stream=2, first=first)
    assert_same_floats(rows.run(SIZES, IDS).state[:, out], stream(2, first).betas(alpha))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_weights_of_a_dirichlet_distribution(alpha, count):
    rows = Rows()
    out = rows.add("dirichlet", count, alpha, outputs=count, stream=2, first=1)
    weights = rows.run(SIZES, IDS).state[:, out : out + count]
    assert_same_floats(weights, stream(2, 1).dirichlets(alpha, count))
    assert np.abs(weights.sum(1) - 1).max() < 1e-12


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1e40])
def test_a_chance_is_drawn_after_the_weight(alpha):
    plan = T.Compose([T.MixUp(alpha, p=0.5)], seed=8).plan(SIZES[:50], IDS[:50], epoch=2)
    numbers = Stream(IDS[:50], **KEY)
    numbers.betas(alpha)
    assert np.array_equal(plan.table(0)["weights"] != 1, numbers.chance(0.5))


@pytest.mark.parametrize("rest", [0.0, 0.3, 0.999, 1.0])
def test_cuts_lie_within_the_image(rest):
    rows = Rows()
    out = rows.add("cut", rows.set(rest), stream=4)
    cuts = rows.run(SIZES, IDS).state[:, out : out + 5]
    assert np.array_equal(cuts, cut_by_hand(np.full(len(IDS), rest), SIZES, stream(4)))


def cut_by_hand(rest, sizes, numbers):
    """As torchvision cuts: the box, and the part of the image that is outside."""
    middle = np.stack([numbers.below(sizes[:, 1]), numbers.below(sizes[:, 0])], 1)
    half = (0.5 * np.sqrt(1.0 - rest)[:, None] * sizes[:, ::-1]).astype(np.int64)
    low, high = np.maximum(middle - half, 0), np.minimum(middle + half, sizes[:, ::-1])
    left = 1.0 - (high - low).prod(1) / sizes.prod(1)
    return np.concatenate([low, high, left[:, None]], 1)


@pytest.mark.parametrize("alpha", [0.05, 1.0, 3.0])
def test_boxes_of_a_cutmix(alpha):
    table = T.Compose([T.CutMix(alpha)], seed=8).plan(SIZES, IDS, epoch=2).table(0)
    numbers = Stream(IDS, **KEY)
    expected = cut_by_hand(numbers.betas(alpha), SIZES, numbers)
    assert np.array_equal(table["boxes"], expected[:, :4])
    assert np.array_equal(table["weights"], expected[:, 4])
    assert np.array_equal(table["pair_indices"], np.roll(np.arange(len(IDS)), 1))


def test_cuts_are_of_the_current_size():
    rows = Rows()
    rows.add("resize", 20, 30, 0)
    out = rows.add("cut", rows.set(0.0), stream=1)
    cuts = rows.run(SIZES, IDS).state[:, out : out + 5]
    expected = cut_by_hand(np.zeros(len(IDS)), np.full_like(SIZES, [20, 30]), stream(1))
    assert np.array_equal(cuts, expected)


def test_numbers_are_rounded_half_to_even():
    values = [0.5, 1.5, -2.5, 2.4999, -0.5, 7.0]
    rows = Rows()
    registers = [rows.add("round", rows.set(value)) for value in values]
    assert rows.run([(3, 4)]).state[0, registers].tolist() == np.rint(values).tolist()
    assert registers[0] == REGISTERS + 1


CENTER = (0.2, 0.4)
MIXES = {
    "mixup": (lambda p: T.MixUp(p=p), {"weights": 1.0}),
    "cutmix": (lambda p: T.CutMix(p=p), {"weights": 1.0, "boxes": [0, 0, 0, 0]}),
    "mosaic": (lambda p: T.Mosaic((6, 8), CENTER, p=p), {"centers": [8, 6]}),
    "mosaic of nine": (lambda p: T.Mosaic((6, 8), CENTER, tiles=9, p=p), {"centers": [0, 0]}),
}
SHIFTS = {"mosaic": range(4), "mosaic of nine": range(9)}


def mixes_of(*transforms, channels=3):
    """The mixes of a plan for nine images."""
    return T.Compose(transforms, seed=1).plan([(6, 8)] * 9, epoch=0, channels=channels).mixes


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("where", ["p", "a container", "both"])
def test_images_that_are_not_mixed_are_their_own_pairs(name, where):
    make, others = MIXES[name]
    one = make(1.0 if where == "a container" else 0.6)
    container = one if where == "p" else T.RandomApply([one], 0.7)
    (plain,), (some,) = (mixes_of(transform) for transform in (make(1.0), container))
    pairs = some.table["pair_indices"].reshape(9, -1)
    own = pairs[:, -1] == (-1 if name in SHIFTS else EVERY)
    assert np.array_equal(pairs[own, 0], EVERY[own])
    assert 0 < own.sum() < 9
    around = np.stack([np.roll(EVERY, shift) for shift in SHIFTS.get(name, [1])], 1)
    assert np.array_equal(pairs[~own], around[~own])
    for column, other in others.items():
        assert (some.table[column][own] == other).all()
        assert some.table[column].dtype == plain.table[column].dtype
    if where == "p":
        for column in others:
            assert np.array_equal(some.table[column][~own], plain.table[column][~own])


@pytest.mark.parametrize(
    "one",
    [
        T.Mosaic((9, 12), p=0.0),
        T.Mosaic((9, 12), tiles=9, p=0.0),
        T.RandomApply([T.Mosaic((9, 12))], 0.0),
        T.RandomApply([T.Mosaic((9, 12), tiles=9)], 0.0),
    ],
)
def test_an_image_without_others_lies_in_the_middle_of_the_canvas(accelerator, one):
    where = "cuda" if accelerator.name == "cuda" else "cpu"
    images = torch.arange(2 * 3 * 5 * 6, dtype=torch.uint8).reshape(2, 3, 5, 6)
    with accelerator.active():
        result = T.Compose([one])(images.to(where), epoch=0).cpu()
    expected = torch.full((2, 3, 9, 12), 114, dtype=torch.uint8)
    expected[:, :, 2:7, 3:9] = images
    assert torch.equal(result, expected)


@pytest.mark.parametrize("tiles", [4, 9])
@pytest.mark.parametrize("size", [(5, 6), (6, 8), (8, 9), (30, 40)])
def test_targets_of_an_image_without_others_follow_it(size, tiles):
    boxes, canvas = torch.tensor([[1.0, 1.0, 4.0, 5.0]]), (6, 8)
    pipeline = T.Compose([T.Mosaic(canvas, tiles=tiles, epochs=(1, 2))])
    images = torch.zeros(2, 3, *size, dtype=torch.uint8)
    images[:, :, 1:5, 1:4] = 1
    result, targets = pipeline(images, [{"boxes": boxes, "id": n} for n in range(2)], epoch=0)
    rows, columns = np.nonzero(result[0, 0].numpy() == 1)
    seen = [[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]] if rows.size else []
    assert targets[0]["boxes"].tolist() == np.array(seen, float).tolist()


def test_nine_images_lie_as_yolo_lays_them():
    """On a canvas of twice the side, cut out of one of three times the side with the image in its middle."""
    side, fractions = 40, np.linspace(0.25, 0.75, 9)
    for fraction in fractions:
        one = T.Mosaic(2 * side, (fraction, fraction), tiles=9)
        (mix,) = T.Compose([one]).plan([(side, side)] * 9, epoch=0).mixes
        cut = round((0.75 - fraction) * 2 * side)  # YOLOv5: from 0 to the side; Ultralytics: half the side
        assert (mix.table["centers"] == side - cut).all()


def test_mixes_and_random_applies_end_with_their_epochs():
    images = torch.arange(4, dtype=torch.uint8).reshape(4, 1, 1, 1).expand(-1, 3, 6, 8).contiguous()
    transforms = [
        *(make(1.0, epochs=(2, 4)) for make in (T.MixUp, T.CutMix)),
        T.Mosaic((6, 8), epochs=(2, 4)),
        T.RandomApply([T.RandomInvert(1.0)], 1.0, epochs=(2, 4)),
    ]
    for transform in transforms:
        pipeline = T.Compose([transform])
        changed = [not torch.equal(pipeline(images, epoch=epoch), images) for epoch in range(6)]
        assert changed == [False, False, True, True, False, False]


def test_chances_do_not_depend_on_epochs():
    """A transform that is limited to some epochs draws in them what it would draw without the limit."""
    images = torch.arange(64, dtype=torch.uint8).reshape(64, 1, 1, 1).expand(-1, 3, 6, 8).contiguous()
    for kind in (T.MixUp, T.CutMix):
        plain, limited = (T.Compose([kind(p=0.5, epochs=epochs)]) for epochs in (None, (3, 9)))
        assert torch.equal(plain(images, epoch=3), limited(images, epoch=3))


@pytest.mark.parametrize("epochs", [(3, 3), (4, 2), (-1, 2), 5, (0.5, 2), "ab"])
def test_wrong_epochs_are_refused(epochs):
    for make in (T.MixUp, T.CutMix, lambda **options: T.RandomApply([T.MixUp()], **options)):
        with pytest.raises((TypeError, ValueError), match="epochs"):
            make(epochs=epochs)


@pytest.mark.parametrize("p", [0.5, 1.0])
@pytest.mark.parametrize("before", [(), (T.Resize((6, 8)), T.ToDtype("float32", scale=True))])
def test_plans_of_mixes_are_restored_from_json(p, before):
    for make, _ in MIXES.values():
        plan = T.Compose([*before, make(p)], seed=1).plan([(6, 8)] * 9, epoch=0)
        (mix,), (again,) = plan.mixes, Plan.from_json(plan.to_json()).mixes
        assert again.table.keys() == mix.table.keys()
        for name, values in mix.table.items():
            assert again.table[name].dtype == values.dtype
            assert again.table[name].tobytes() == values.tobytes()


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("name", MIXES)
def test_mixes_draw_alike_for_any_channels(name, channels):
    one = MIXES[name][0](0.5)
    (expected,), (actual,) = mixes_of(one), mixes_of(one, channels=channels)
    for column, values in expected.table.items():
        assert np.array_equal(actual.table[column], values)


def test_no_images_are_mixed():
    for make, _ in MIXES.values():
        for p in (0.5, 1.0):
            (mix,) = T.Compose([make(p)]).plan(np.zeros((0, 2), np.int64), epoch=0).mixes
            assert {len(values) for values in mix.table.values()} == {0}
