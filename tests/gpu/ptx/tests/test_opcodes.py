"""Each instruction on values worked by hand from PTX's manual."""

import numpy as np
import pytest

from tests.gpu.ptx.executor import Fault, evaluate

F4, F8 = np.float32, np.float64
I2, I4, I8 = np.int16, np.int32, np.int64
U1, U2, U4, U8 = np.uint8, np.uint16, np.uint32, np.uint64
NAN, INF = float("nan"), float("inf")
TINY = 2.0**-149  # the least denormal float32
EPS = 2.0**-23
BIG32, BIG64 = 2**32 - 1, 2**64 - 1


def bits_of(values, dtype):
    """Bits, in which all NaNs are one but -0 is not 0."""
    array = np.array(values, dtype)
    bits = array.view(f"u{array.dtype.itemsize}").copy()
    if array.dtype.kind == "f":
        bits[np.isnan(array)] = 1
    return bits.tolist()


def check(code, operands, result, expected):
    arrays = [np.array(values, dtype) for dtype, values in operands]
    actual = evaluate(code, *arrays, result=result)
    assert bits_of(actual, result) == bits_of(expected, result), actual


@pytest.mark.parametrize(
    ("opcode", "dtype", "a", "b", "expected"),
    [
        ("add.s32", I4, [2**31 - 1, -5], [1, 3], [-(2**31), -2]),
        ("add.u16", U2, [65535], [2], [1]),
        ("add.s64", I8, [2**63 - 1], [1], [-(2**63)]),
        ("sub.u32", U4, [0], [1], [BIG32]),
        ("mul.lo.s32", I4, [65536, -3], [65536, 7], [0, -21]),
        ("mul.lo.s64", I8, [2**40, -1], [2**40, 5], [0, -5]),
        ("mul.hi.s32", I4, [-1, 2**30], [1, 8], [-1, 2]),
        ("mul.hi.u32", U4, [BIG32], [BIG32], [BIG32 - 1]),
        ("mul.hi.s64", I8, [-1, 2**62], [1, 8], [-1, 2]),
        ("mul.hi.u64", U8, [BIG64], [BIG64], [BIG64 - 1]),
        ("div.s32", I4, [-7, 7, -(2**31), 5], [2, -2, -1, 0], [-3, -3, -(2**31), -1]),
        ("div.u32", U4, [7, 7], [2, 0], [3, BIG32]),
        ("div.s64", I8, [-7, -(2**63)], [2, -1], [-3, -(2**63)]),
        ("rem.s32", I4, [-7, 7, -(2**31), 5], [2, -2, -1, 0], [-1, 1, 0, 5]),
        ("rem.u64", U8, [BIG64, 9], [10, 0], [5, 9]),
        ("min.s32", I4, [-1, 3], [2, 1], [-1, 1]),
        ("min.u32", U4, [BIG32], [2], [2]),
        ("max.s64", I8, [-1], [-2], [-1]),
        ("max.u16", U2, [65535], [1], [65535]),
        ("and.b32", U4, [0b1100], [0b1010], [0b1000]),
        ("or.b64", U8, [2**63], [1], [2**63 + 1]),
        ("xor.b16", U2, [0xFFFF], [0x0F0F], [0xF0F0]),
    ],
)
def test_integers_wrap_and_divide_towards_zero(opcode, dtype, a, b, expected):
    check(f"{opcode} %d, %a, %b;", [(dtype, a), (dtype, b)], dtype, expected)


@pytest.mark.parametrize(
    ("opcode", "dtype", "a", "expected", "result"),
    [
        ("neg.s32", I4, [5, -(2**31)], [-5, -(2**31)], I4),
        ("abs.s64", I8, [-5, -(2**63)], [5, -(2**63)], I8),
        ("not.b32", U4, [0], [BIG32], U4),
        ("not.b16", U2, [0xF0F0], [0x0F0F], U2),
        ("popc.b32", U4, [0, 0xF001], [0, 5], U4),
        ("popc.b64", U8, [BIG64], [64], U4),
        ("clz.b32", U4, [0, 1, 2**31], [32, 31, 0], U4),
        ("brev.b32", U4, [1, 0xF0], [2**31, 0x0F000000], U4),
        ("bfind.u32", U4, [0, 1, 0x80000000], [BIG32, 0, 31], U4),
        ("bfind.s32", I4, [-1, -2, 4], [BIG32, 0, 2], U4),
        ("bfind.shiftamt.u32", U4, [0, 1, 0x40000000], [BIG32, 31, 1], U4),
        ("neg.f32", F4, [0.0, -2.0], [-0.0, 2.0], F4),
        ("abs.f64", F8, [-0.0, -INF], [0.0, INF], F8),
        ("sqrt.rn.f32", F4, [4.0, 2.0, -1.0, -0.0], [2.0, 1.41421354, NAN, -0.0], F4),
        ("sqrt.rn.f64", F8, [2.0], [1.4142135623730951], F8),
        ("rcp.rn.f32", F4, [3.0, 0.0, -0.0, INF], [0.333333343, INF, -INF, 0.0], F4),
    ],
)
def test_one_operand(opcode, dtype, a, expected, result):
    check(f"{opcode} %d, %a;", [(dtype, a)], result, expected)


@pytest.mark.parametrize(
    ("opcode", "dtype", "a", "b", "expected"),
    [
        ("mul.wide.u16", U2, [65535], [65535], [4294836225]),
        ("mul.wide.s16", I2, [-3], [7], [-21]),
        ("mul.wide.u32", U4, [BIG32], [BIG32], [18446744065119617025]),
        ("mul.wide.s32", I4, [-(2**31)], [2], [-(2**32)]),
    ],
)
def test_wide_products_are_exact(opcode, dtype, a, b, expected):
    result = f"{np.dtype(dtype).kind}{2 * np.dtype(dtype).itemsize}"
    check(f"{opcode} %d, %a, %b;", [(dtype, a), (dtype, b)], result, expected)


@pytest.mark.parametrize(
    ("opcode", "dtype", "a", "n", "expected"),
    [
        ("shl.b32", U4, [1, 1, 1], [31, 32, 200], [2**31, 0, 0]),
        ("shl.b64", U8, [1, 1], [63, 64], [2**63, 0]),
        ("shl.b16", U2, [1, 1], [15, 16], [32768, 0]),
        ("shr.u32", U4, [2**31, 2**31], [31, 32], [1, 0]),
        ("shr.s32", I4, [-8, -8, 8], [1, 99, 99], [-4, -1, 0]),
        ("shr.s64", I8, [-1, 4], [64, 1], [-1, 2]),
        ("shr.b32", U4, [2**31], [4], [2**27]),
    ],
)
def test_shifts_clamp_their_amount(opcode, dtype, a, n, expected):
    check(f"{opcode} %d, %a, %b;", [(dtype, a), (U4, n)], dtype, expected)


@pytest.mark.parametrize(
    ("opcode", "operands", "result", "expected"),
    [
        ("mad.lo.s32", [(I4, [3]), (I4, [-4]), (I4, [5])], I4, [-7]),
        ("mad.hi.u32", [(U4, [2**31]), (U4, [4]), (U4, [5])], U4, [7]),
        ("mad.wide.s32", [(I4, [-3]), (I4, [4]), (I8, [2**40])], I8, [2**40 - 12]),
        ("sad.u32", [(U4, [3]), (U4, [10]), (U4, [1])], U4, [8]),
        ("bfe.u32", [(U4, [0xABCD, 0xABCD, 5]), (U4, [4, 40, 0]), (U4, [8, 8, 0])], U4, [0xBC, 0, 0]),
        ("bfe.s32", [(I4, [0x80, -8]), (U4, [4, 2]), (U4, [4, 32])], I4, [-8, -2]),
        ("prmt.b32", [(U4, [0x33221100] * 3), (U4, [0x77665544] * 3), (U4, [0x7531, 0x0123, 0x000B])],
         U4, [0x77553311, 0x00112233, 0x00000000]),
        ("prmt.b32", [(U4, [0x80000000]), (U4, [0]), (U4, [0x123B])], U4, [0x000080FF]),
        ("shf.l.wrap.b32", [(U4, [0x80000000, 1]), (U4, [1, 2]), (U4, [1, 32])], U4, [3, 2]),
        ("shf.r.wrap.b32", [(U4, [2]), (U4, [1]), (U4, [1])], U4, [0x80000001]),
        ("shf.l.clamp.b32", [(U4, [7]), (U4, [2]), (U4, [40])], U4, [7]),
        ("shf.r.clamp.b32", [(U4, [7]), (U4, [2]), (U4, [40])], U4, [2]),
        ("dp2a.lo.u32.u32", [(U4, [0x00020003]), (U4, [0x09080504]), (U4, [1])], U4, [3 * 4 + 2 * 5 + 1]),
        ("dp2a.hi.u32.u32", [(U4, [0x00020003]), (U4, [0x09080504]), (U4, [0])], U4, [3 * 8 + 2 * 9]),
        ("dp4a.s32.s32", [(I4, [-1]), (I4, [0x04030201]), (I4, [0])], I4, [-10]),
    ],
)  # fmt: skip
def test_three_operands(opcode, operands, result, expected):
    check(f"{opcode} %d, %a, %b, %c;", operands, result, expected)


def test_bit_fields_are_inserted():
    check("bfi.b32 %d, %a, %b, 8, 4;", [(U4, [0xF5]), (U4, [BIG32])], U4, [0xFFFFF5FF])
    check("bfi.b64 %d, %a, %b, 32, 32;", [(U8, [1]), (U8, [7])], U8, [2**32 + 7])
    check("bfi.b32 %d, %a, %b, 0, 32;", [(U4, [9]), (U4, [BIG32])], U4, [9])
    check("lop3.b32 %d, %a, %b, %c, 0xE8;", [(U4, [0b1100]), (U4, [0b1010]), (U4, [0b0110])], U4, [0b1110])


@pytest.mark.parametrize(
    ("opcode", "a", "b", "expected"),
    [
        ("add.rn.f32", [1.0, 1.0, INF], [EPS / 2, EPS, -INF], [1.0, 1 + EPS, NAN]),
        ("add.rz.f32", [1.0, -1.0], [EPS * 0.75, -EPS * 0.75], [1.0, -1.0]),
        ("add.rp.f32", [1.0, -1.0], [TINY, -TINY], [1 + EPS, -1.0]),
        ("add.rm.f32", [1.0, -1.0], [TINY, -TINY], [1.0, -1 - EPS]),
        ("sub.f32", [0.0], [0.0], [0.0]),
        ("sub.rm.f32", [1.0], [1.0], [-0.0]),
        ("mul.rn.f32", [TINY, 0.0], [0.5, INF], [0.0, NAN]),
        ("mul.rp.f32", [TINY], [0.5], [TINY]),
        ("div.rn.f32", [1.0, 1.0, 0.0], [3.0, 0.0, 0.0], [0.333333343, INF, NAN]),
        ("div.rz.f32", [2.0], [3.0], [0.6666666269302368]),
        ("min.f32", [0.0, NAN, NAN, 1.0], [-0.0, 2.0, NAN, 2.0], [-0.0, 2.0, NAN, 1.0]),
        ("max.f32", [-0.0, NAN, 1.0], [0.0, 2.0, NAN], [0.0, 2.0, 1.0]),
        ("add.ftz.f32", [2.0**-127, 1.0], [2.0**-127, TINY], [0.0, 1.0]),
        ("mul.ftz.f32", [2.0**-126, -(2.0**-126)], [0.5, 0.5], [0.0, -0.0]),
        ("add.sat.f32", [0.5, -1.0, INF], [3.0, 0.0, -INF], [1.0, 0.0, 0.0]),
        ("copysign.f32", [-1.0], [3.0], [-3.0]),
    ],
)
def test_float32_rounds_as_its_opcode_says(opcode, a, b, expected):
    check(f"{opcode} %d, %a, %b;", [(F4, a), (F4, b)], F4, expected)


def test_nan_of_float32_is_the_canonical_one():
    nans = np.array([0xFF812345, 0x7FC00000], np.uint32).view(F4)
    for opcode in ("add.f32", "mul.f32", "div.rn.f32"):
        actual = evaluate(f"{opcode} %d, %a, %a;", nans, result=F4)
        assert actual.view(U4).tolist() == [0x7FFFFFFF, 0x7FFFFFFF]


def test_fma_rounds_once_and_a_product_and_a_sum_twice():
    a, c = [1 + EPS], [-1.0]
    operands = [(F4, a), (F4, a), (F4, c)]
    check("fma.rn.f32 %d, %a, %b, %c;", operands, F4, [2 * EPS + EPS * EPS])
    check("mul.f32 %d, %a, %b; add.f32 %d, %d, %c;", operands, F4, [2 * EPS])
    check("fma.rp.f64 %d, %a, %a, %b;", [(F8, [2.0**-600]), (F8, [1.0])], F8, [1 + 2.0**-52])


@pytest.mark.parametrize(
    ("opcode", "source", "a", "result", "expected"),
    [
        ("rni.s32.f32", F4, [0.5, 1.5, -2.5, NAN, 3e9, -INF], I4, [0, 2, -2, 0, 2**31 - 1, -(2**31)]),
        ("rzi.s32.f32", F4, [-1.9, 1.9], I4, [-1, 1]),
        ("rmi.s32.f32", F4, [-1.1, 1.9], I4, [-2, 1]),
        ("rpi.s32.f32", F4, [-1.9, 1.1], I4, [-1, 2]),
        ("rzi.u32.f32", F4, [-1.0, 5e9, NAN], U4, [0, BIG32, 0]),
        ("rzi.s32.f64", F8, [NAN, 2147483647.9, -3e9], I4, [-(2**31), 2**31 - 1, -(2**31)]),
        ("rzi.u32.f64", F8, [NAN, -1.0], U4, [2**31, 0]),
        ("rzi.s64.f32", F4, [NAN, 2.0**63, -(2.0**63)], I8, [-(2**63), 2**63 - 1, -(2**63)]),
        ("rzi.u64.f64", F8, [2.0**64, -0.5, NAN], U8, [BIG64, 0, 2**63]),
        ("rni.f32.f32", F4, [2.5, -0.4, NAN], F4, [2.0, -0.0, NAN]),
        ("rmi.f64.f64", F8, [-0.5], F8, [-1.0]),
        ("rn.f32.s32", I4, [2**24 + 1, -3], F4, [2.0**24, -3.0]),
        ("rz.f32.s32", I4, [2**24 + 3], F4, [2.0**24 + 2]),
        ("rp.f32.u32", U4, [2**24 + 1], F4, [2.0**24 + 2]),
        ("rn.f32.u64", U8, [BIG64, 2**24 + 1], F4, [2.0**64, 2.0**24]),
        ("rm.f64.s64", I8, [2**53 + 1, -(2**53) - 1], F8, [2.0**53, -(2.0**53) - 2]),
        ("rn.f32.f64", F8, [1 + 2.0**-24, 1e300, 2.0**-150], F4, [1.0, INF, 0.0]),
        ("rp.f32.f64", F8, [1 + 2.0**-40], F4, [1 + EPS]),
        ("f64.f32", F4, [TINY, -INF], F8, [TINY, -INF]),
        ("ftz.f64.f32", F4, [TINY], F8, [0.0]),
        ("sat.f32.f32", F4, [-1.0, 0.25, 2.0, NAN], F4, [0.0, 0.25, 1.0, 0.0]),
        ("sat.u8.s32", I4, [-5, 300, 17], U1, [0, 255, 17]),
        ("sat.s8.s32", I4, [-500, 300], I4, [-128, 127]),
        ("u32.u16", U2, [65535], U4, [65535]),
        ("s32.s16", I2, [-2], I4, [-2]),
        ("s64.s32", I4, [-2], I8, [-2]),
        ("u64.u32", I4, [-2], U8, [2**32 - 2]),
        ("u16.u32", U4, [0x12345], U2, [0x2345]),
        ("s32.s8", I4, [0x1FF], I4, [-1]),
        ("f32.f16", U2, [0x3C00, 0x0001, 0xFC00, 0x7E00], F4, [1.0, 2.0**-24, -INF, NAN]),
        ("rn.f16.f32", F4, [1.0, 65520.0, 65519.0, 2.0**-25], U2, [0x3C00, 0x7C00, 0x7BFF, 0]),
        ("rz.f16.f32", F4, [65520.0, -1e9, 2.0**-25], U2, [0x7BFF, 0xFBFF, 0]),
        ("rp.f16.f32", F4, [2.0**-25, -1e9], U2, [1, 0xFBFF]),
        ("rn.bf16.f32", F4, [1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38], U2, [0x3F80, 0x3F82, 0x7F80]),
        ("f32.bf16", U2, [0x3F80, 0x0001], F4, [1.0, 2.0**-133]),
    ],
)  # fmt: skip
def test_conversions_round_saturate_and_map_nan(opcode, source, a, result, expected):
    check(f"cvt.{opcode} %d, %a;", [(source, a)], result, expected)


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        ("eq", [0, 1, 0]), ("ne", [1, 0, 0]), ("lt", [1, 0, 0]), ("le", [1, 1, 0]),
        ("gt", [0, 0, 0]), ("ge", [0, 1, 0]), ("equ", [0, 1, 1]), ("neu", [1, 0, 1]),
        ("ltu", [1, 0, 1]), ("leu", [1, 1, 1]), ("gtu", [0, 0, 1]), ("geu", [0, 1, 1]),
        ("num", [1, 1, 0]), ("nan", [0, 0, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [F4, F8])
def test_comparisons_of_floats_know_unordered(comparison, expected, dtype):
    code = f"setp.{comparison}.f{8 * np.dtype(dtype).itemsize} %p, %a, %b; selp.u32 %d, 1, 0, %p;"
    check(code, [(dtype, [1.0, 0.0, NAN]), (dtype, [2.0, -0.0, 1.0])], U4, expected)


def test_comparisons_of_integers_and_predicates():
    check("setp.lt.s32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", [(I4, [-1]), (I4, [1])], U4, [1])
    check("setp.lt.u32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", [(I4, [-1]), (I4, [1])], U4, [0])
    check("setp.hi.u32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", [(I4, [-1]), (I4, [1])], U4, [1])
    code = "setp.ne.s32 %q, %a, 7; setp.gt.and.s32 %p, %a, 0, %q; selp.s32 %d, 1, 0, %p;"
    check(code, [(I4, [7, 8, -1])], I4, [0, 1, 0])
    code = "setp.gt.s32 %p, %a, 5; setp.gt.and.s32 %p, %a, 0, %p; selp.s32 %d, 1, 0, %p;"
    check(code, [(I4, [7, 3])], I4, [1, 0])
    check("mov.pred %p, -1; not.pred %q, %p; selp.s32 %d, 1, 0, %q;", [(I4, [0])], I4, [0])
    code = "setp.gt.s32 %p, %a, 0; not.pred %q, %p; xor.pred %p, %p, %q; selp.s32 %d, 1, 0, %p;"
    check(code, [(I4, [7, -8])], I4, [1, 1])


def test_moves_pack_and_unpack():
    code = ".reg .b16 %lo, %hi; mov.b32 {%lo, %hi}, %a; mov.b32 %d, {%hi, %lo};"
    check(code, [(U4, [0x12345678])], U4, [0x56781234])
    code = ".reg .b32 %lo, %hi; mov.b64 {%lo, %hi}, %a; mov.b64 %d, {%hi, %lo};"
    check(code, [(U8, [0x0123456789ABCDEF])], U8, [0x89ABCDEF01234567])
    check("mov.f32 %d, 0fBF800000;", [(U4, [0])], F4, [-1.0])


def test_registers_of_a_scope_hide_those_outside():
    code = "mov.u32 %d, 1; { .reg .b32 %d; mov.u32 %d, 2; } add.u32 %d, %d, %a;"
    check(code, [(U4, [5])], U4, [6])


def test_a_guard_leaves_other_lanes_alone():
    code = "mov.u32 %d, 9; setp.gt.s32 %p, %a, 0; @%p mov.u32 %d, 1; @!%p add.u32 %d, %d, 1;"
    check(code, [(I4, [3, -3, 4])], U4, [1, 10, 1])


@pytest.mark.parametrize(
    "code",
    [
        "ex2.approx.f32 %d, %a;",
        "add.sat.s32 %i, %i, %i;",
        "cvt.rna.tf32.f32 %d, %a;",
        "div.full.f32 %d, %a, %a;",
    ],
)
def test_an_unknown_instruction_is_named(code):
    with pytest.raises(Fault, match=f"k: this executor does not know .*'{code.split()[0]}"):
        evaluate(code, np.zeros(1, F4), result=F4)
