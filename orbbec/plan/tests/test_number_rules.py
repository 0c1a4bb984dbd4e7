"""Rules that draw or compute registers, and gates, compared with NumPy and the tests' own Philox."""

import math

import numpy as np
import pytest

from orbbec.plan import Stream
from orbbec.plan.rules import REGISTERS
from orbbec.plan.tests.program_rows import KEY, Rows
from tests.support.philox import blocks, uniforms

IDS = np.arange(-150, 150)
SIZES = np.stack([np.arange(300) % 47 + 1, np.arange(300) % 31 + 1], 1)


def numbers(stream, count):
    """Uniform numbers of a stream: float64 `[N, count]`."""
    return Stream(IDS, **KEY, transform_index=stream).uniforms(count)


def computed(name, *operands, columns=(), outputs=0, **how):
    """The outputs of a rule; `columns` become the registers from `REGISTERS` on."""
    rows = Rows()
    for stream, (low, high) in enumerate(columns, 100):
        rows.add("uniform", low, high, stream=stream)
    out = rows.add(name, *operands, outputs=outputs, **how)
    state = rows.run(SIZES, IDS).state
    return state[:, REGISTERS : REGISTERS + len(columns)].T, state[:, out : rows.registers]


def test_numbers_are_philoxs():
    _, (drawn) = computed("uniform", 0, 1, stream=7, first=6)
    for image, number in zip(IDS.tolist(), drawn[:, 0], strict=True):
        words = blocks(image, np.arange(2), transform_index=7, **KEY)
        assert number == uniforms(words).ravel()[6]


def test_numbers_of_a_range():
    u = numbers(0, 1)
    for low, high in ((0.0, 1.0), (-3.5, 8.25), (2.0, 2.0), (5.0, -1.0)):
        assert np.array_equal(computed("uniform", low, high, stream=0)[1], low + u * (high - low))
    assert np.array_equal(computed("set", -7.25)[1], np.full((300, 1), -7.25))


def test_whole_numbers():
    u = numbers(0, 1)
    for low, count, step in ((0, 5, 1), (3, 4, 2), (-2, 1, 1), (0, 1000, 0.5)):
        expected = low + np.floor(u * count) * step
        actual = computed("whole", low, count, step, stream=0)[1]
        assert np.array_equal(actual, expected)
        assert set(np.unique(actual)) <= {low + k * step for k in range(count)}


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 1.0])
def test_chances(p):
    assert np.array_equal(computed("chance", p, stream=0)[1], numbers(0, 1) < p)


@pytest.mark.parametrize(
    "weights", [(1.0,), (0.2, 0.7, 1.0), (0.0, 0.5, 0.5, 0.9), tuple(np.arange(1, 41) / 40)]
)
def test_choices_by_cumulative_weights(weights):
    expected = np.minimum(np.searchsorted(weights, numbers(0, 1), side="right"), len(weights) - 1)
    assert np.array_equal(computed("choice", weights, len(weights), stream=0)[1], expected)


@pytest.mark.parametrize("count", [1, 2, 4, 9, 64])
def test_permutations_sort_their_draws(count):
    expected = np.argsort(numbers(0, count), axis=1, kind="stable")
    assert np.array_equal(computed("permutation", count, outputs=count, stream=0)[1], expected)


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_registers_are_sorted_in_place(count):
    rows = Rows()
    registers = [rows.add("whole", 0, 9, 1) for _ in range(count)]  # with equal ones
    before = rows.run(SIZES, IDS).state[:, registers]
    rows.add("sort", count)
    rows.rules[-1].out = registers[0]
    assert np.array_equal(rows.run(SIZES, IDS).state[:, registers], np.sort(before, 1))


def test_comparisons():
    rows = Rows()
    a, b, zero = rows.add("whole", 0, 3, 1), rows.add("whole", 0, 3, 1), rows.set(0.0)
    found = {
        "equal": rows.add("equal", a, 2),
        "any_equal": rows.add("any_equal", a, 2, 1),
        "none": rows.add("any_equal", a, 0, 1),
        "at_most": rows.add("at_most", a, b),
        "both": rows.add("both", a, b),
        "with zero": rows.add("both", a, zero),
    }
    state = rows.run(SIZES, IDS).state
    x, y = state[:, a], state[:, b]
    expected = {
        "equal": x == 2,
        "any_equal": (x == 1) | (y == 1),
        "none": np.zeros(300),
        "at_most": x <= y,
        "both": (x != 0) & (y != 0),
        "with zero": np.zeros(300),
    }
    for name, register in found.items():
        assert np.array_equal(state[:, register], expected[name]), name
    assert 0 < expected["any_equal"].sum() < 300


def test_arithmetic():
    ranges = ((-5, 5), (0, 3))
    (a, b), product = computed("times", REGISTERS, REGISTERS + 1, columns=ranges)
    assert np.array_equal(product[:, 0], a * b)
    assert np.array_equal(computed("plus", REGISTERS, 2.5, columns=ranges)[1][:, 0], a + 2.5)
    assert np.array_equal(computed("over", REGISTERS, 7.0, columns=ranges)[1][:, 0], a / 7.0)
    assert np.array_equal(computed("copy", REGISTERS + 1, columns=ranges)[1][:, 0], b)


def test_a_number_of_two():
    rows = Rows()
    condition, value = rows.add("chance", 0.5), rows.add("uniform", 3, 4)
    out = rows.add("select", condition, value, -1.5)
    state = rows.run(SIZES, IDS).state
    assert np.array_equal(state[:, out], np.where(state[:, condition] != 0, state[:, value], -1.5))


@pytest.mark.parametrize("mask", [0b1111, 0b0101, 0b1000, 0])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_entries_in_a_mask_stay_in_order(mask, count):
    rows = Rows()
    order = rows.add("permutation", 4, outputs=4)
    out = rows.add("filter", count, order, mask, outputs=count)
    state = rows.run(SIZES, IDS).state
    for row in state:
        known = [entry for entry in row[order : order + 4] if mask >> int(entry) & 1]
        assert row[out : out + count].tolist() == (known + [0.0] * 4)[:count]


def test_tables_are_read_at_whole_indices():
    values = tuple(np.random.default_rng(0).normal(size=37))
    (index,), out = computed("lookup", REGISTERS, values, len(values), columns=[(-3, 41)])
    expected = np.array(values)[np.clip(index, 0, 36).astype(int)]
    assert np.array_equal(out[:, 0], expected)


@pytest.mark.parametrize("index", [math.nan, math.inf, -math.inf, 1e30])
def test_tables_are_read_at_any_index(index):
    rows = Rows()
    huge = rows.set(1e30)
    for _ in range(20):  # until it is infinite
        huge = rows.add("times", huge, huge)
    zero = rows.set(0.0)
    nan = rows.add("times", huge, zero)
    registers = {"inf": huge, "-inf": rows.add("times", huge, rows.set(-1.0)), "nan": nan}
    register = registers.get(str(index))
    out = rows.add("lookup", rows.set(index) if register is None else register, (3.0, 4.0, 5.0), 3)
    assert set(rows.run(SIZES, IDS).state[:, out]) == {5.0 if index > 0 else 3.0}


@pytest.mark.parametrize(("axis", "fraction"), [(0, 0.3), (1, 0.3), (0, 1.0), (1, 0.0)])
def test_shifts_are_whole_pixels_of_a_side(axis, fraction):
    (draw,), out = computed("shift", REGISTERS, axis, fraction, columns=[(0, 1)])
    side = SIZES[:, 1 - axis]
    assert np.array_equal(out[:, 0], np.rint((2 * draw - 1) * (fraction * side)))


def test_shifts_are_fractions_of_the_current_size():
    rows = Rows()
    draw = rows.add("uniform", 0, 1)
    rows.add("resize", 200, 100, 0)
    out = [rows.add("shift", draw, axis, 0.5) for axis in range(2)]
    state = rows.run(SIZES, IDS).state
    assert np.array_equal(state[:, out], np.rint((2 * state[:, [draw]] - 1) * [50, 100]))


@pytest.mark.parametrize("name", ["uniform", "whole", "permutation", "set", "area"])
def test_gates(name):
    """A rule that does not run leaves zero in its first register, and takes no word from later rules."""
    operands = {
        "uniform": (2, 3),
        "whole": (4, 5, 1),
        "permutation": (4,),
        "set": (9.0,),
        "area": (0.2, 0.5, 0.5, 2.0, math.log(0.5), math.log(2.0), REGISTERS + 1),
    }
    outputs = 4 if name == "permutation" else 0
    rows = Rows()
    gate, one = rows.add("chance", 0.5, stream=1), rows.set(1.0)
    assert one == REGISTERS + 1
    some = rows.add(name, *operands[name], outputs=outputs, gate=gate, stream=2)
    every = rows.add(name, *operands[name], outputs=outputs, stream=2)
    after = rows.add("uniform", 0, 1, stream=2, first=40)
    state = rows.run(SIZES, IDS).state
    runs = state[:, gate] != 0
    assert 0 < runs.sum() < 300
    width = every - some
    assert np.array_equal(state[runs, some : some + width], state[runs, every : every + width])
    assert (state[~runs, some] == 0).all()
    assert np.array_equal(state[:, after], numbers(2, 41)[:, 40])


def test_a_gate_may_be_any_number_but_zero():
    rows = Rows()
    values = [0.0, -0.0, 1.0, -3.0, 1e-300, 1e30]
    gates = [rows.set(value) for value in values]
    found = [rows.add("set", 5.0, gate=gate) for gate in gates]
    assert rows.run([(3, 4)]).state[0, found].tolist() == [0, 0, 5, 5, 5, 5]


def test_images_do_not_depend_on_their_batch():
    rows = Rows()
    rows.add("permutation", 9, outputs=9)
    rows.add("resize_area", 8, 9, 0.1, 0.9, 0.5, 2.0, math.log(0.5), math.log(2.0), 1)
    rows.add("crop_random", 3, 4, 0, 0, 0, 0, 0)
    rows.end_pass()
    together = rows.run(SIZES, IDS).state
    for n in range(0, 300, 37):
        assert np.array_equal(rows.run(SIZES[n : n + 1], IDS[n : n + 1]).state[0], together[n])


def test_sines_and_cosines_of_degrees():
    (degrees,), found = computed("sine_cosine", REGISTERS, columns=[(-720.0, 720.0)])
    expected = np.stack([np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))], 1)
    np.testing.assert_allclose(found, expected, atol=1e-14)
