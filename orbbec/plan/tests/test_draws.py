"""The operator `draw`: areas compared with a direct implementation, and its arguments."""

import math

import numpy as np
import pytest
import torch

from orbbec.plan import Stream
from orbbec.plan.rules import REGISTERS, WIDTH
from orbbec.plan.tests.program_rows import DRAW, KEY, Rows

IDS = np.arange(-40, 40)
SIZES, SAMPLES = torch.tensor([[5, 7], [9, 4]]), torch.tensor([3, 4])


def area_by_hand(size, scale, ratio, numbers, transposed):
    """The first of ten tries that fits: height, width, top, left; None if none does."""
    for fraction, slant, y, x in np.reshape(numbers, (10, 4)).tolist():
        area = size[0] * size[1] * (scale[0] + fraction * (scale[1] - scale[0]))
        low, high = math.log(ratio[0]), math.log(ratio[1])
        aspect = math.exp(low + slant * (high - low))
        sides = [round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))]
        sides = sides[::-1] if transposed else sides
        if transposed and (sides[0] >= size[0] or sides[1] >= size[1]):
            continue
        if not transposed and not (0 < sides[0] <= size[0] and 0 < sides[1] <= size[1]):
            continue
        begin = [math.floor(at * (size[axis] - sides[axis] + 1)) for axis, at in enumerate((y, x))]
        return [*sides, *begin]
    return None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("scale", "ratio"), [((0.08, 1.0), (0.75, 4 / 3)), ((0.9, 2.0), (0.2, 0.4))])
def test_areas(scale, ratio, transposed):
    sizes = np.random.default_rng(1).integers(1, 90, (len(IDS), 2))
    numbers = Stream(IDS, **KEY, transform_index=5).uniforms(44)
    known = [
        area_by_hand(size, scale, ratio, own[3:43], transposed)
        for size, own in zip(sizes.tolist(), numbers, strict=True)
    ]
    rows, ranges = Rows(), (*scale, *ratio, *map(math.log, ratio))
    if transposed:
        out = rows.add("area", *ranges, rows.set(1.0), stream=5, first=3)
    else:
        rows.add("resize_area", 8, 9, *ranges, 0, stream=5, first=3)
        rows.end_pass()
    after = rows.add("uniform", 0, 1, stream=5, first=43)
    table = rows.run(sizes, IDS)
    boxes = table.state[:, out : out + 4] if transposed else table.boxes(rows.passes[0])
    for box, area in zip(boxes.tolist(), known, strict=True):
        left, top, right, bottom = box
        if area is not None:
            assert [bottom - top, right - left, top, left] == area
        elif transposed:
            assert box == [0, 0, 0, 0]
    assert np.array_equal(table.state[:, after], numbers[:, 43])
    assert sum(area is not None for area in known) > 0


def test_an_area_is_drawn_where_a_register_says_so():
    rows, ranges = Rows(), (0.2, 0.5, 0.5, 2.0, math.log(0.5), math.log(2.0))
    some = rows.add("area", *ranges, rows.add("chance", 0.5, stream=1), stream=2)
    every = rows.add("area", *ranges, rows.set(1.0), stream=2)
    state = rows.run(np.full((80, 2), 40), IDS).state
    chosen = Stream(IDS, **KEY, transform_index=1).chance(0.5)
    expected = np.where(chosen[:, None], state[:, every : every + 4], 0)
    assert 20 < chosen.sum() < 60
    assert np.array_equal(state[:, some : some + 4], expected)
    assert (state[:, every + 2] > 0).all()


def arguments(code, registers=40, words=64):
    """The arguments of a program for two images."""
    state, floats = torch.zeros(2, registers, dtype=torch.float64), torch.zeros(2 * words)
    code = torch.as_tensor(np.asarray(code))
    return [code, SIZES, SAMPLES, 1, 2, 0, len(code), state, floats]


def one_row(name, *operands, gate=-1, stream=0, first=0, out=None):
    """A program of one rule."""
    rows = Rows()
    rows.add(name, *operands, gate=gate, stream=stream, first=first)
    rows.rules[0].out = rows.rules[0].out if out is None else out
    return rows.table()


FLIP = one_row("flip", 0)
UNIFORM = one_row("uniform", 0, 1)


def test_opcheck():
    for code in (FLIP, UNIFORM, one_row("end_pass", 8, 0, 0, -1, -1, out=REGISTERS)):
        torch.library.opcheck(DRAW.default, tuple(arguments(code, registers=REGISTERS + 19)))


def test_no_images_are_drawn_for_any_program():
    code = one_row("color_swap", 0, 9, REGISTERS)
    empty = torch.empty(0, 2, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    state = torch.empty(0, 40, dtype=torch.float64)
    assert DRAW(torch.from_numpy(code), *empty, 1, 2, 0, 1, state, torch.empty(0)) is None


def test_rules_before_begin_are_not_run_again():
    rows = Rows()
    first, second = rows.add("uniform", 0, 1), rows.add("uniform", 0, 1)
    code, sizes, ids, seed, epoch, *_, state, words = arguments(rows.table())
    DRAW(code, sizes, ids, seed, epoch, 0, 1, state, words)
    assert (state[:, first] != 0).all()
    assert (state[:, second] == 0).all()
    state[:, first] = 9
    DRAW(code, sizes, ids, seed, epoch, 1, 2, state, words)
    assert (state[:, first] == 9).all()
    assert (state[:, second] != 0).all()


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, torch.zeros(1, 9).double(), r"expected code as contiguous float64 .K, 16. on the CPU"),
        (0, torch.zeros(1, WIDTH), "expected code as contiguous float64"),
        (0, torch.zeros(2, 2 * WIDTH).double()[:, ::2], "expected code as contiguous float64"),
        (0, torch.zeros(65537, WIDTH).double(), "K at most 65536"),
        (1, torch.zeros(2, 3).long(), r"expected sizes of shape \[N, 2\] on the CPU, but got \[2, 3\]"),
        (1, torch.tensor([[4, 4], [0, 3]]), r"expected images with pixels, but image 1 is of size \[0, 3\]"),
        (1, SIZES.float(), "expected sizes of int64"),
        (2, SAMPLES.int(), "expected sample_ids of int64"),
        (2, SAMPLES[:1], r"expected sample_ids of shape \[2\], but got \[1\]"),
        (5, -1, "expected begin and end within the program, but got -1 and 1"),
        (5, 2, "expected begin and end within the program, but got 2 and 1"),
        (6, 2, "expected begin and end within the program, but got 0 and 2"),
        (7, torch.zeros(2, REGISTERS - 1).double(), "expected from 29 to 2.24 registers"),
        (7, torch.zeros(1, 40).double(), "expected state as contiguous float64 .2, registers"),
        (7, torch.zeros(2, 40), "expected state as contiguous float64"),
        (7, torch.zeros(40, 2).double().T, "expected state as contiguous float64"),
        (8, torch.zeros(64).double(), r"expected words as contiguous float32 \[numbers\] on the CPU"),
        (8, torch.zeros(2, 64), "expected words as contiguous float32"),
        (8, torch.zeros(64)[::2], "expected words as contiguous float32"),
    ],
)
def test_bad_arguments_are_named(index, value, message):
    given = arguments(FLIP)
    given[index] = value
    with pytest.raises((ValueError, TypeError), match=f"draw: .*{message}|{message}"):
        DRAW(*given)


def with_row(position, value):
    """A program of a flip whose row has another number at a position."""
    code = FLIP.copy()
    code[0, position] = value
    return code


ODD = (math.nan, math.inf, -math.inf, 1e300, -5.0, 0.5)


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    ("position", "message"),
    [
        (0, "a known rule"),
        (1, "a transform index from 0 to 65535"),
        (2, "a first word of at least 0"),
        (3, "the register of a condition"),
    ],
)
def test_bad_heads_of_rows_are_named(position, message, value):
    with pytest.raises(ValueError, match=f"draw: rule 0: expected {message}"):
        DRAW(*arguments(with_row(position, value)))


@pytest.mark.parametrize("value", [*ODD, 28, 40])
@pytest.mark.parametrize("name", ["uniform", "chance"])
def test_bad_output_registers_are_named(name, value):
    code = one_row(name, *((0, 1) if name == "uniform" else (0.5,)), out=value)
    with pytest.raises(ValueError, match="draw: rule 0: expected output registers"):
        DRAW(*arguments(code))


WHOLE = "whole numbers from 0 to 2"
# Rules, which of their operands is changed, values that are refused besides those of ODD, and the message.
OPERANDS = {
    "number": ("uniform", (0, 1), 0, (2e30,), "numbers up to 1e30"),
    "side": ("resize", (3, 4, 0), 0, (0, 2**31), r"sizes from 1 to 2\^30"),
    "count": ("resize", (3, 4, 0), 2, (2**31,), WHOLE),
    "register": ("copy", (0,), 0, (40, 2**31), "registers of the program"),
    "four registers": ("filter", (4, 30, 3), 1, (37, 39), "registers of the program"),
    "seven registers": ("affine", (29, 0, 0, 0, 0), 0, (34, 39), "registers of the program"),
    "registers": ("any_equal", (29, 3, 0), 0, (38,), "registers of the program"),
    "their count": ("any_equal", (29, 3, 0), 1, (12, 2**31), "registers of the program|" + WHOLE),
    "outputs": ("permutation", (3,), 0, (0, 12, 65), "1 to 64 outputs|output registers"),
    "constants": ("matrix_warp", (0,), 0, (1, 2**31), "constants within the program"),
    "table": ("choice", (0, 3), 0, (1, 2**31), "constants within the program"),
    "length of a table": ("choice", (0, 3), 1, (0, 17, 2**31), "constants within the program|" + WHOLE),
    "colors": ("color_swap", (0, 2, 30), 0, (33, 2**31), "a block within the words"),
    "rows of colors": ("color_swap", (0, 2, 30), 1, (0, 5), "a block within the words|at least 1 row"),
    "code of colors": ("color", (0, 2, 1, 1, 30, 30, 30, 30), 2, (99,), "a known color step"),
    "numbers of colors": ("color", (0, 2, 1, 1, 30, 30, 30, 30), 3, (8,), "a known color step"),
    "boxes": ("erase", (0, 2, 1, 30), 0, (49,), "a block within the words"),
    "index of a box": ("erase", (0, 2, 1, 30), 2, (2,), "a rectangle of its block"),
    "numbers": ("column", (0, 30), 0, (1, 64), "a block within the words|8 bytes at even offsets"),
    "words of the matrix": ("end_pass", (0, 16, 0, -1, -1), 0, (56,), "a block within the words"),
    "words of the region": ("end_pass", (0, 16, 0, -1, -1), 1, (57,), "a block within the words"),
    "steps": ("step_colors", (0, 2, 29, 0), 3, (1,), "registers of the program"),
}
OUTPUTS = dict.fromkeys(("filter", "permutation", "end_pass"), REGISTERS)  # which the row does not tell


@pytest.mark.parametrize("kind", OPERANDS)
def test_operands_out_of_range_are_named(kind):
    name, operands, index, values, message = OPERANDS[kind]
    registers, out = (REGISTERS + 19 if name == "end_pass" else 40), OUTPUTS.get(name)
    DRAW(*arguments(one_row(name, *operands, out=out), registers))
    for value in (*values, *ODD):
        if kind == "number" and value in (-5.0, 0.5):
            continue
        changed = [*operands]
        changed[index] = value
        with pytest.raises(ValueError, match=f"draw: rule 0: expected .*({message})"):
            DRAW(*arguments(one_row(name, *changed, out=out), registers))


def test_a_program_that_draws_too_large_an_image_names_it():
    rows = Rows()
    rows.add("pad", 2**30, 0, 2**30, 0)
    message = "draw: rule 0: expected at most 2147483647 rows and columns, but image 0 gets 5x2.14748e"
    with pytest.raises(ValueError, match=message):
        DRAW(*arguments(rows.table()))
