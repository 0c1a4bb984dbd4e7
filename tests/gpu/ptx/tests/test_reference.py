"""Each instruction of one lane compared with the manual in whole numbers and fractions."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.gpu.ptx.executor import Fault, evaluate, opcodes
from tests.gpu.ptx.tests.reference import (
    FORMATS,
    ROUNDINGS,
    all_meanings,
    bits_of,
    clamp,
    inserted,
    rounded,
    saturated,
    wrap,
)

MEANINGS = all_meanings()
LUTS = (0x00, 0x96, 0xE8, 0x1B, 0xFF)  # of lop3
FIELDS = ((0, 0), (0, 32), (3, 7), (28, 9), (31, 1), (40, 4), (0, 64), (256 + 5, 256 + 6))  # of bfi
INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def numbers(type_):
    """Values at the edges of a type, and some at random."""
    random.seed(type_)
    if type_ not in FORMATS:
        bits = bits_of(type_)
        edges = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, -1, -2, -7, 1 << (bits - 1), (1 << (bits - 1)) - 1]
        return [wrap(value, type_) for value in edges + [random.getrandbits(bits) for _ in range(6)]]
    digits, lowest, highest = FORMATS[type_]
    eps, least = 2.0 ** (1 - digits), math.ldexp(1, lowest - digits + 1)
    normal, largest = math.ldexp(1, lowest), math.ldexp(2 - eps, highest)
    sizes = [0, 1, 1 + eps, 1.5, 2.5, 3, least, 3 * least, normal, normal - least, largest, math.inf]
    sizes += [rounded(Fraction(random.random()) * 2 ** random.randint(-9, 9), type_) for _ in range(4)]
    return [*map(float, sizes), *(-float(size) for size in sizes), math.nan]


def array_of(values, type_):
    """The values as the executor takes them: half types and predicates as whole numbers."""
    if type_ == "f16":
        return np.array(values, np.float16).view(np.uint16)
    if type_ == "bf16":
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.array(values, dtype_of(type_))


def dtype_of(type_):
    if type_ in ("f16", "bf16"):
        return np.uint16
    kind = {"f": "f", "s": "i", "u": "u", "b": "u", "p": "u"}[type_[0]]
    return np.dtype(f"{kind}{4 if type_ == 'pred' else bits_of(type_) // 8}")


def bits(array, type_):
    """As whole numbers, in which all NaNs are one."""
    found = array.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    if type_ in FORMATS:
        digits, _, highest = FORMATS[type_]
        infinity = (2 * highest + 1) << (digits - 1)
        found[(found & ((1 << (array.dtype.itemsize * 8 - 1)) - 1)) > infinity] = infinity + 1
    return found


def assert_is(code, operands, result, expected):
    """`operands`: a type and values for each."""
    arrays = [array_of(values, type_) for type_, values in operands]
    actual = bits(evaluate(code, *arrays, result=dtype_of(result)), result)
    wanted = bits(array_of(expected, result), result)
    wrong = np.flatnonzero(actual != wanted)
    for i in wrong[:3]:
        given = [values[i] for _, values in operands]
        pytest.fail(f"{code} of {given}: expected {wanted[i]:#x}, but got {actual[i]:#x}")


def tuples_of(types):
    """Lanes: all pairs of edges, in triples with a third at random."""
    given = [numbers(t) for t in types]
    if len(types) == 3:
        pairs = list(itertools.product(given[0], given[1]))
        random.seed(1)
        return [(a, b, random.choice(given[2])) for a, b in random.sample(pairs, min(1000, len(pairs)))]
    tuples = list(itertools.product(*given))
    return tuples[:: -(-len(tuples) // 1024)]


def code_of(opcode, types, result):
    """PTX that applies the opcode to %a, %b, %c."""
    name = opcode.partition(".")[0]
    if name == "saturate":
        return "cvt.sat.{0}.{0} %d, %a;".format(opcode[-3:])
    if name == "flush":
        return "cvt.ftz.f32.f32 %d, %a;"
    code = []
    names = [f"%{letter}" for letter in "abc"[: len(types)]]
    if types[0] == "pred":
        for i, predicate in enumerate(("%p", "%q")[: len(types)]):
            code.append(f"setp.ne.u32 {predicate}, {names[i]}, 0;")
            names[i] = predicate
    if name == "selp":
        code.append("setp.ne.u32 %p, %c, 0;")
        names[2] = "%p"
    to = "%p" if result == "pred" else "%d"
    code.append(f"{opcode} {to}, {', '.join(names)};")
    if result == "pred":
        code.append("selp.u32 %d, 1, 0, %p;")
    return " ".join(code)


@pytest.mark.parametrize("opcode", MEANINGS)
def test_arithmetic(opcode):
    meaning = MEANINGS[opcode]
    lanes = tuples_of(meaning.operands)
    operands = [(type_, [lane[i] for lane in lanes]) for i, type_ in enumerate(meaning.operands)]
    expected = [meaning.of(*lane) for lane in lanes]
    assert_is(code_of(opcode, meaning.operands, meaning.result), operands, meaning.result, expected)


@pytest.mark.parametrize("table", LUTS)
def test_lop3_looks_up_each_bit(table):
    lanes = tuples_of(("u32",) * 3)
    expected = [
        sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))
        for a, b, c in lanes
    ]
    operands = [("u32", list(values)) for values in zip(*lanes, strict=True)]
    assert_is(f"lop3.b32 %d, %a, %b, %c, {table};", operands, "u32", expected)


@pytest.mark.parametrize(("position", "length"), FIELDS)
@pytest.mark.parametrize("type_", ["b32", "b64"])
def test_bfi_inserts_a_field(type_, position, length):
    lanes = tuples_of((type_, type_))
    expected = [inserted(a, b, position, length, type_) for a, b in lanes]
    operands = [(type_, list(values)) for values in zip(*lanes, strict=True)]
    assert_is(f"bfi.{type_} %d, %a, %b, {position}, {length};", operands, type_, expected)


def test_no_instruction_of_the_table_is_untested():
    """Roundings are in the names here and in an instruction of its own in the executor."""
    tested = {".".join(part for part in opcode.split(".") if part not in ROUNDINGS) for opcode in MEANINGS}
    assert set(opcodes()) - tested == {"lop3.b32", "bfi.b32", "bfi.b64"}
    assert tested <= set(opcodes())


def exact(value, mode=None):
    """As a fraction, or a whole number of the mode."""
    return {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil, None: Fraction}[mode](
        Fraction(value)
    )


def to_integer(value, type_, mode, from_):
    if math.isnan(value):
        return 0 if bits_of(from_) < 64 and bits_of(type_) < 64 else wrap(1 << (bits_of(type_) - 1), type_)
    if math.isinf(value):
        return clamp((1 if value > 0 else -1) << 64, type_)
    return clamp(exact(value, mode), type_)


@pytest.mark.parametrize(("to", "from_"), list(itertools.product(INTS, INTS)))
def test_integers_are_cut_or_saturated(to, from_):
    given = numbers(from_)
    assert_is(f"cvt.{to}.{from_} %d, %a;", [(from_, given)], to, [wrap(a, to) for a in given])
    assert_is(f"cvt.sat.{to}.{from_} %d, %a;", [(from_, given)], to, [clamp(a, to) for a in given])


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize(("to", "from_"), list(itertools.product(INTS, FORMATS)))
def test_floats_become_integers(to, from_, mode):
    given = numbers(from_)
    for power in (bits_of(to) - 1, bits_of(to)):  # the ends of the integers
        given += [x for x in (2.0**power, 2.0**power - 1, -(2.0**power), -(2.0**power) - 1, 2.0**power - 0.5)
                  if math.isinf(x) or x == rounded(Fraction(x), from_)]  # fmt: skip
    expected = [to_integer(a, to, mode, from_) for a in given]
    assert_is(f"cvt.{mode}.{to}.{from_} %d, %a;", [(from_, given)], to, expected)


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize(("to", "from_"), list(itertools.product(FORMATS, INTS)))
def test_integers_become_floats(to, from_, mode):
    given = numbers(from_) + [wrap(x, from_) for x in (2**24 + 1, 2**53 + 1, -(2**53) - 3, 65519, 65520)]
    # Just above and below the middle of two bfloat16: to be rounded once.
    given += [wrap((257 << 52) + x, from_) for x in (-1, 0, 1)]
    assert_is(f"cvt.{mode}.{to}.{from_} %d, %a;", [(from_, given)], to,
              [rounded(a, to, mode) for a in given])  # fmt: skip


def converted(value, to, mode="rn"):
    return rounded(Fraction(value), to, mode, value) if math.isfinite(value) else value


@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize(
    ("to", "from_"), [("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")]
)
def test_floats_are_narrowed(to, from_, mode):
    digits, lowest, highest = FORMATS[to]
    ends = [2.0**highest * (2 - 2.0**-digits), 2.0 ** (lowest - digits), 3 * 2.0 ** (lowest - digits)]
    ends += [1 + 2.0**-digits, 1 + 3 * 2.0**-digits, 1 + 2.0**-digits + 2.0**-22]
    given = [*numbers(from_), *ends, *(-x for x in ends)]
    expected = [converted(a, to, mode) for a in given]
    assert_is(f"cvt.{mode}.{to}.{from_} %d, %a;", [(from_, given)], to, expected)


@pytest.mark.parametrize(
    ("to", "from_"), [("f32", "f16"), ("f32", "bf16"), ("f64", "f16"), ("f64", "bf16"), ("f64", "f32")]
)
def test_floats_are_widened(to, from_):
    given = numbers(from_)
    assert_is(f"cvt.{to}.{from_} %d, %a;", [(from_, given)], to, given)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("type_", FORMATS)
def test_floats_are_rounded_to_whole_numbers(type_, mode):
    given = numbers(type_)
    expected = [math.copysign(float(exact(a, mode)), a) if math.isfinite(a) else a for a in given]
    assert_is(f"cvt.{mode}.{type_}.{type_} %d, %a;", [(type_, given)], type_, expected)


@pytest.mark.parametrize(("to", "from_"), [("f32", "f64"), ("f32", "s32"), ("f64", "f32"), ("f32", "f16")])
def test_saturated_floats_lie_between_0_and_1(to, from_):
    given = numbers(from_)
    expected = [saturated(converted(a, to)) for a in given]
    assert_is(f"cvt.rn.sat.{to}.{from_} %d, %a;", [(from_, given)], to, expected)


@pytest.mark.parametrize("opcode", ["rni.f32.f64", "s32.f32", "sat.f16.f32", "f24.f32", "u32.f80"])
def test_conversions_that_are_none(opcode):
    with pytest.raises(Fault, match="this executor does not know"):
        evaluate(f"cvt.{opcode} %d, %a;", np.zeros(1, np.float64), result=np.float64)
