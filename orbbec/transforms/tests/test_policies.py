"""Operations, magnitudes and chances of policies compared with torchvision's (policies.json)."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest

from orbbec import transforms as T
from orbbec.transforms.auto import OPERATIONS, TIMM, apply_operation
from orbbec.transforms.policies import POLICIES
from orbbec.transforms.tests.record_policies import BINS, PATH, SIZES
from orbbec.transforms.warps import warp
from tests.support import photographs
from tests.support.by_rules import by_rules
from tests.support.peers.transform_calls import operations
from tests.support.registers import Registers, preset

RECORDED = json.loads(PATH.read_text())
COUNT = 4000  # draws per image size
IDENTITY = {("Identity", 0.0): 1.0}


def recorded(policy, size, bins=10):
    """The operations of torchvision: (whether they are signed, their magnitudes)."""
    (row,) = (
        row
        for row in RECORDED["magnitudes"]
        if (row["policy"], row["bins"], tuple(row["size"])) == (policy, bins, size)
    )
    return row["operations"]


def mixed(*distributions):
    """The mean of distributions, each as the probabilities of outcomes."""
    total = Counter()
    for distribution in distributions:
        for outcome, probability in distribution.items():
            total[outcome] += probability / len(distributions)
    return total


def operation_of(table, name, levels):
    """The distribution of an operation with one of several levels and, if it is signed, a random sign."""
    signed, magnitudes = table[name]
    values = [0.0] if magnitudes is None else [magnitudes[level] for level in levels]
    signs = (1, -1) if signed else (1,)
    return mixed(*({(name, outcome_of(sign * value)): 1.0} for value in values for sign in signs))


def outcome_of(magnitude):
    return float(round(magnitude, 3)) + 0.0  # without a sign of zero


def any_of(table, levels):
    return mixed(*(operation_of(table, name, levels) for name in table))


def by_chance(probability, distribution):
    """A distribution that applies with a probability; else the image stays."""
    weighted = Counter({outcome: probability * each for outcome, each in distribution.items()})
    weighted["Identity", 0.0] += 1 - probability
    return weighted


def assert_drawn_as(transform, distributions):
    """Compare the slots of a transform with a joint distribution for each image size; draws are ragged."""
    sizes = np.repeat(np.array(SIZES), COUNT, 0)
    registers = Registers(transform.rules, sizes, seed=5)
    slots = operations(registers.copies if isinstance(transform, T.AugMix) else registers)
    for index, expected in enumerate(distributions):
        rows = slots[:, index * COUNT : (index + 1) * COUNT].tolist()
        outcomes = ([(OPERATIONS[int(code)], outcome_of(value)) for code, value in slot] for slot in rows)
        found = Counter(zip(*outcomes, strict=True))
        unexpected = found.keys() - {outcome for outcome, chance in expected.items() if chance > 0}
        assert sorted(unexpected)[:3] == [], transform
        for outcome, chance in expected.items():
            deviation = (COUNT * chance * (1 - chance)) ** 0.5
            # A normal number is farther than 5 deviations once in 2 million; counts are a bit more spread.
            assert abs(found[outcome] - COUNT * chance) <= 5 * deviation + 4, (transform, outcome)


def joint(*slots):
    """The joint distribution of independent slots."""
    result = {}
    for outcomes in product(*(slot.items() for slot in slots)):
        result[tuple(outcome for outcome, _ in outcomes)] = float(np.prod([each for _, each in outcomes]))
    return result


@pytest.mark.parametrize("bins", BINS)
def test_trivial_augment_draws_torchvisions_operations_and_magnitudes(bins):
    tables = [recorded("TrivialAugmentWide", size, bins) for size in SIZES]
    assert_drawn_as(T.TrivialAugmentWide(bins), [joint(any_of(table, range(bins))) for table in tables])


@pytest.mark.parametrize(
    ("bins", "magnitude"), [(31, 9), (31, 30), (31, 0), (11, 5), (10, 8), (7, 4), (7, 1), (2, 1)]
)
def test_rand_augment_draws_torchvisions_operations_and_magnitudes(bins, magnitude):
    tables = [recorded("RandAugment", size, bins) for size in SIZES]
    transform = T.RandAugment(2, magnitude, bins)
    assert_drawn_as(transform, [joint(*[any_of(table, [magnitude])] * 2) for table in tables])


@pytest.mark.parametrize(("magnitude", "bits"), [(9, 1), (7, 2), (5, 2), (10, 0), (0, 4)])
def test_rand_augment_draws_timms_increasing_operations_half_the_time(magnitude, bits):
    level = magnitude / 10
    one_way = {"Posterize": bits, "AutoContrast": 0.0, "Equalize": 0.0, "Invert": 0.0}
    one_way |= {"Solarize": (256 - int(level * 256)) / 255, "SolarizeAdd": int(level * 110) / 255}
    factors = dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), 0.9 * level)
    expected = []
    for height, width in SIZES:
        shifts = {"TranslateX": 0.45 * level * width, "TranslateY": 0.45 * level * height}
        either_way = {"ShearX": 0.3 * level, "ShearY": 0.3 * level, "Rotate": 30 * level, **shifts, **factors}
        table = {name: (False, [value]) for name, value in one_way.items()}
        table |= {name: (True, [value]) for name, value in either_way.items()}
        expected.append(joint(by_chance(0.5, any_of(table, [0]))))
    assert_drawn_as(T.RandAugment(1, magnitude, 11, p=0.5, operations="timm"), expected)


def of_timm(auto, name, level, width):
    """The magnitude of timm's operation at a level from 0 to 10, without its sign, in our units."""
    renamed = {"TranslateX": "TranslateXRel", "TranslateY": "TranslateYRel"}.get(name, name)
    if renamed not in auto._RAND_INCREASING_TRANSFORMS:
        renamed += "Increasing"
    assert renamed in auto._RAND_INCREASING_TRANSFORMS
    make = auto.LEVEL_TO_ARG[renamed]
    value = make(level, {})[0] if make else 0
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        value -= 1
    units = {"Solarize": 1 / 255, "SolarizeAdd": 1 / 255, "TranslateX": width, "TranslateY": width}
    return abs(value) * units.get(name, 1)


def test_timms_operations_have_the_magnitudes_of_its_table():
    auto = pytest.importorskip("timm.data.auto_augment", reason="`make test-loops` installs it")
    levels = [*range(11), *np.random.default_rng(0).uniform(0, 10, 300)]
    cases = [(OPERATIONS.index(name), level / 10, 0.3) for name in OPERATIONS[1:] for level in levels]
    assert len(auto._RAND_INCREASING_TRANSFORMS) == len(OPERATIONS) - 1

    def rules(build):
        first = preset(build, cases)
        magnitude = TIMM.magnitude(build, first, first + 1, first + 2)
        warp(build, "auto_warp", first, magnitude, reading=("nearest", "constant", (0.0,)))

    (drawn,) = operations(Registers(rules, [(90, 90)] * len(cases)))
    expected = [of_timm(auto, name, level, 90) for name in OPERATIONS[1:] for level in levels]
    assert np.abs(np.abs(drawn[:, 1]) - expected).max() < 1e-9


@pytest.mark.parametrize("magnitude", [5, 10])
def test_magnitudes_deviate_within_the_levels(magnitude):
    transform = T.RandAugment(2, magnitude, 11, magnitude_std=0.5)
    slots = operations(Registers(transform.rules, np.repeat([[40, 60]], 3 * COUNT, 0), seed=5))
    rotations = [np.abs(slot[slot[:, 0] == OPERATIONS.index("Rotate"), 1]) / 3 for slot in slots]
    for levels in rotations:
        assert levels.max() <= 10
        below = levels[levels < magnitude]  # half of a normal distribution
        assert abs((magnitude - below).mean() - 0.5 * (2 / np.pi) ** 0.5) < 0.04
        assert abs(len(below) / len(levels) - 0.5) < 0.06
    count = min(map(len, rotations))
    assert not np.allclose(rotations[0][:count], rotations[1][:count])  # each operation has its own


def test_auto_augment_has_torchvisions_pairs():
    assert {
        name: [[list(slot) for slot in pair] for pair in pairs] for name, pairs in POLICIES.items()
    } == RECORDED["pairs"]


@pytest.mark.parametrize("policy", RECORDED["pairs"])
def test_auto_augment_draws_pairs_by_torchvisions_chances(policy):
    def distribution(table):
        slots = (
            [by_chance(chance, operation_of(table, name, [level])) for name, chance, level in pair]
            for pair in RECORDED["pairs"][policy]
        )
        return mixed(*(joint(*pair) for pair in slots))

    assert_drawn_as(T.AutoAugment(policy), [distribution(recorded("AutoAugment", size)) for size in SIZES])


@pytest.mark.parametrize("severity", [1, 3, 10])
@pytest.mark.parametrize("all_ops", [True, False])
def test_augmix_draws_torchvisions_operations_and_magnitudes(severity, all_ops):
    def distribution(size):
        table = recorded("AugMix" if all_ops else "AugMix, not all_ops", size)
        drawn = any_of(table, range(severity))
        return joint(drawn)

    transform = T.AugMix(severity, mixture_width=1, chain_depth=1, all_ops=all_ops)
    assert_drawn_as(transform, [distribution(size) for size in SIZES])


def test_augmix_draws_one_to_three_operations():
    def distribution(size):
        drawn = any_of(recorded("AugMix, not all_ops", size), [0])
        lists = ([drawn] * depth + [IDENTITY] * (3 - depth) for depth in (1, 2, 3))
        return mixed(*(joint(*slots) for slots in lists))

    transform = T.AugMix(severity=1, mixture_width=1, all_ops=False)
    assert_drawn_as(transform, [distribution(size) for size in SIZES])


def test_operations_warp_by_torchvisions_matrices():
    rows = RECORDED["matrices"]
    sizes = np.array([row["size"] for row in rows])
    centered = np.tile(np.eye(3), (len(rows), 1, 1))
    centered[:, :2] = [row["matrix"] for row in rows]
    to_center = np.tile(np.eye(3), (len(rows), 1, 1))  # from pixels
    to_center[:, :2, 2] = 0.5 - sizes[:, ::-1] / 2
    expected = np.linalg.inv(to_center) @ centered @ to_center
    values = [(OPERATIONS.index(row["operation"]), row["magnitude"]) for row in rows]
    actual = T.Compose([operated(values)]).plan(sizes, epoch=0).passes[0].matrix
    assert np.abs(actual - expected).max() < 1e-9


def operated(values):
    """A transform that applies an operation with its magnitude to each image."""

    def add(build):
        register = preset(build, values)
        apply_operation(build, register, register + 1, ("nearest", "constant", (0.0,)), adds=True)

    return by_rules(add)


@pytest.mark.parametrize("magnitude", [0.4, -0.6])
def test_fused_operations_are_near_torchvisions_bytes(magnitude):
    """With exact=True they are torchvision's (test_exact.py)."""
    codes = np.arange(len(OPERATIONS))
    values = np.full(len(codes), magnitude)
    for name, unit in (
        ("Rotate", 50),
        ("TranslateX", 9),
        ("TranslateY", 9),
        ("Posterize", 0),
        ("Solarize", 0),
    ):
        values[OPERATIONS.index(name)] *= unit
    values[OPERATIONS.index("Posterize")], values[OPERATIONS.index("Solarize")] = 3, 0.4
    values[OPERATIONS.index("SolarizeAdd")] = abs(magnitude)
    transform = operated(np.stack([codes, values], 1))
    images = photographs(len(codes), 3, 20, 30) // 2 + 30
    fused, exact = (
        T.Compose([transform], exact=is_exact)(images, epoch=0).int() for is_exact in (False, True)
    )
    assert (fused - exact).abs().max() <= 1
    changed = (exact != images).flatten(1).any(1)
    assert [OPERATIONS[code] for code in codes if not changed[code]] == ["Identity"]
