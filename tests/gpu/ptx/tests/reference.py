"""PTX's instructions in whole numbers and fractions, by the manual: what the executor is compared with."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f32", "f64")
ROUNDINGS = ("rn", "rz", "rm", "rp")
# Digits, the exponents of the least normal number and of the largest.
FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
TO_WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "rm": math.floor,
    "rp": math.ceil,
}


@dataclass(frozen=True)
class Meaning:
    """What an instruction makes of operands of these types."""

    operands: tuple[str, ...]
    result: str
    of: Callable[..., Any]


def bits_of(type_: str) -> int:
    return 1 if type_ == "pred" else int(type_.lstrip("bfsu"))


def wrap(value: int, type_: str) -> int:
    """The low bits of a whole number, as the type reads them."""
    bits = bits_of(type_)
    value &= (1 << bits) - 1
    return value - (1 << bits) if type_[0] == "s" and value >> (bits - 1) else value


def clamp(value: int, type_: str) -> int:
    bits = bits_of(type_)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def rounded(exact: Fraction | int, type_: str, mode: str = "rn", zero: float = 0.0) -> float:
    """The number of the type that the mode takes for an exact one; `zero` if that is 0."""
    if exact == 0:
        return zero
    digits, lowest, highest = FORMATS[type_]
    sign, size = 1 if exact > 0 else -1, abs(Fraction(exact))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, lowest) - digits + 1)
    result = TO_WHOLE[mode](exact / unit) * unit
    limit = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** highest
    if abs(result) > limit:
        outward = mode == "rn" or mode == ("rp" if exact > 0 else "rm")
        return sign * (math.inf if outward else float(limit))
    return sign * abs(float(result))


def add(a: float, b: float, type_: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    both = math.copysign(1, a) == math.copysign(1, b)
    zero = a if a == b == 0 and both else -0.0 if mode == "rm" else 0.0
    return rounded(Fraction(a) + Fraction(b), type_, mode, zero)


def sign_of_product(a: float, b: float) -> float:
    return math.copysign(1, a) * math.copysign(1, b)


def mul(a: float, b: float, type_: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return rounded(Fraction(a) * Fraction(b), type_, mode, math.copysign(0, sign_of_product(a, b)))


def div(a: float, b: float, type_: str, mode: str) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, sign_of_product(a, b))
    if not (math.isfinite(a) and math.isfinite(b)):
        return a / b
    return rounded(Fraction(a) / Fraction(b), type_, mode, math.copysign(0, sign_of_product(a, b)))


def fma(a: float, b: float, c: float, type_: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    zero = -0.0 if mode == "rm" else 0.0
    if product == 0 and c == 0 and math.copysign(1, c) == sign_of_product(a, b):
        zero = c
    return rounded(product + Fraction(c), type_, mode, zero)


def sqrt(a: float, type_: str, mode: str) -> float:
    if not a > 0 or math.isinf(a):
        return a if a == 0 or a > 0 else math.nan
    scale = 1 << 1200  # more digits than any type has
    square = Fraction(a) * scale * scale
    root = math.isqrt(int(square))
    below = Fraction(root, scale)
    return rounded(below if root * root == square else below + Fraction(1, 2 * scale), type_, mode)


def least(a: float, b: float) -> float:
    if a != a or b != b:
        return b if a != a else a
    return min((a, b), key=lambda x: (x, math.copysign(1, x)))


def greatest(a: float, b: float) -> float:
    return -least(-a, -b)


def flushed(a: float) -> float:
    return math.copysign(0, a) if abs(a) < 2.0**-126 else a


def saturated(a: float) -> float:
    return min(max(a, 0.0), 1.0) if a > 0 else 0.0


def difference_of_halves(a: int, b: int) -> int:
    first, second = (struct.unpack("<2e", bits.to_bytes(4, "little")) for bits in (a, b))
    numbers = (saturated(add(x, -y, "f16", "rn")) for x, y in zip(first, second, strict=True))
    return int.from_bytes(struct.pack("<2e", *numbers), "little")


def divided(a: int, b: int, type_: str) -> tuple[int, int]:
    """Quotient and remainder; x / 0 is all ones."""
    if b == 0:
        return wrap(-1, type_), a
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return wrap(quotient, type_), wrap(a - quotient * b, type_)


def shifted_right(a: int, n: int, type_: str) -> int:
    return wrap(a >> min(n, 64), type_)


def extracted(a: int, position: int, length: int, type_: str) -> int:
    """bfe, bit by bit as the manual writes it."""
    position, length, highest = position & 255, length & 255, bits_of(type_) - 1
    sign = 0
    if type_[0] == "s" and length > 0:
        sign = a >> min(position + length - 1, highest) & 1
    fields = [
        a >> (position + i) & 1 if i < length and position + i <= highest else sign
        for i in range(highest + 1)
    ]
    return wrap(sum(bit << i for i, bit in enumerate(fields)), type_)


def inserted(a: int, b: int, position: int, length: int, type_: str) -> int:
    for i in range(length & 255):
        at = (position & 255) + i
        if at < bits_of(type_):
            b = b & ~(1 << at) | (a >> i & 1) << at
    return b


def highest_bit(a: int, type_: str) -> int:
    return wrap((~a if a < 0 else a).bit_length() - 1, "u32")


def permuted(a: int, b: int, selectors: int) -> int:
    known = (b << 32 | a).to_bytes(8, "little")
    chosen = []
    for i in range(4):
        selector = selectors >> 4 * i & 15
        byte = known[selector & 7]
        chosen.append((255 if byte & 128 else 0) if selector & 8 else byte)
    return int.from_bytes(bytes(chosen), "little")


def funnel(side: str, mode: str) -> Callable[[int, int, int], int]:
    def of(a: int, b: int, n: int) -> int:
        n = n & 31 if mode == "wrap" else min(n, 32)
        whole = b << 32 | a
        return whole >> (32 - n if side == "l" else n) & 0xFFFFFFFF

    return of


def dot(first: str, second: str, count: int, begin: int = 0) -> Callable[[int, int, int], int]:
    """dp2a and dp4a: `first` and `second` are u or s; b's bytes count from `begin`."""
    width = 32 // count

    def of(a: int, b: int, c: int) -> int:
        for i in range(count):
            x, y = wrap(a >> width * i, f"{first}{width}"), wrap(b >> 8 * (i + begin), f"{second}8")
            c += x * y
        return wrap(c, "u32")

    return of


def of_integers(t: str) -> Iterator[tuple[str, Meaning]]:
    bits, double = bits_of(t), f"{t[0]}{2 * bits_of(t)}"
    twice: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "mul.hi": lambda a, b: a * b >> bits,
        "div": lambda a, b: divided(a, b, t)[0],
        "rem": lambda a, b: divided(a, b, t)[1],
        "min": min,
        "max": max,
    }
    for name, of in twice.items():
        yield f"{name}.{t}", Meaning((t, t), t, lambda a, b, of=of: wrap(of(a, b), t))
    for name in ("mul.lo", "mul.hi"):
        of = twice[name]
        meaning = Meaning((t, t, t), t, lambda a, b, c, of=of: wrap(of(a, b) + c, t))
        yield f"{name.replace('mul', 'mad')}.{t}", meaning
    yield f"sad.{t}", Meaning((t, t, t), t, lambda a, b, c: wrap(abs(a - b) + c, t))
    yield f"shr.{t}", Meaning((t, "u32"), t, lambda a, n: shifted_right(a, n, t))
    if t[0] == "s":
        yield f"neg.{t}", Meaning((t,), t, lambda a: wrap(-a, t))
        yield f"abs.{t}", Meaning((t,), t, lambda a: wrap(abs(a), t))
    if bits < 64:
        yield f"mul.wide.{t}", Meaning((t, t), double, lambda a, b: a * b)
        yield f"mad.wide.{t}", Meaning((t, t, double), double, lambda a, b, c: wrap(a * b + c, double))
    if bits > 16:
        yield f"bfe.{t}", Meaning((t, "u32", "u32"), t, lambda a, p, n: extracted(a, p, n, t))
        yield f"bfind.{t}", Meaning((t,), "u32", lambda a: highest_bit(a, t))
        yield (
            f"bfind.shiftamt.{t}",
            Meaning((t,), "u32", lambda a: wrap(-1, "u32") if a in (0, -1 if t[0] == "s" else 0)
                    else bits - 1 - highest_bit(a, t)),
        )  # fmt: skip


def of_bits(t: str) -> Iterator[tuple[str, Meaning]]:
    bits = bits_of(t)
    yield f"and.{t}", Meaning((t, t), t, lambda a, b: a & b)
    yield f"or.{t}", Meaning((t, t), t, lambda a, b: a | b)
    yield f"xor.{t}", Meaning((t, t), t, lambda a, b: a ^ b)
    yield f"not.{t}", Meaning((t,), t, lambda a: a ^ (1 << bits) - 1)
    if t != "pred":
        yield f"shl.{t}", Meaning((t, "u32"), t, lambda a, n: wrap(a << min(n, 64), t))
        yield f"shr.{t}", Meaning((t, "u32"), t, lambda a, n: shifted_right(a, n, t))
    if bits > 16:
        yield f"popc.{t}", Meaning((t,), "u32", lambda a: a.bit_count())
        yield f"clz.{t}", Meaning((t,), "u32", lambda a: bits - a.bit_length())
        yield f"brev.{t}", Meaning((t,), t, lambda a: int(f"{a:0{bits}b}"[::-1], 2))


def of_floats(t: str) -> Iterator[tuple[str, Meaning]]:
    """With rounding in their names where there is a choice."""
    for mode in ROUNDINGS:
        yield f"add.{mode}.{t}", Meaning((t, t), t, lambda a, b, m=mode: add(a, b, t, m))
        yield f"sub.{mode}.{t}", Meaning((t, t), t, lambda a, b, m=mode: add(a, -b, t, m))
        yield f"mul.{mode}.{t}", Meaning((t, t), t, lambda a, b, m=mode: mul(a, b, t, m))
        yield f"div.{mode}.{t}", Meaning((t, t), t, lambda a, b, m=mode: div(a, b, t, m))
        yield f"rcp.{mode}.{t}", Meaning((t,), t, lambda a, m=mode: div(1.0, a, t, m))
        yield f"sqrt.{mode}.{t}", Meaning((t,), t, lambda a, m=mode: sqrt(a, t, m))
        for name in ("fma", "mad"):
            yield (
                f"{name}.{mode}.{t}",
                Meaning((t, t, t), t, lambda a, b, c, m=mode: fma(a, b, c, t, m)),
            )
    yield f"min.{t}", Meaning((t, t), t, least)
    yield f"max.{t}", Meaning((t, t), t, greatest)
    yield f"neg.{t}", Meaning((t,), t, lambda a: -a)
    yield f"abs.{t}", Meaning((t,), t, abs)
    yield f"copysign.{t}", Meaning((t, t), t, lambda a, b: math.copysign(b, a))


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparisons_of(t: str) -> Iterator[tuple[str, Meaning]]:
    names = dict(COMPARISONS)
    if t[0] == "b":
        names = {name: names[name] for name in ("eq", "ne")}
    elif t[0] == "u":
        names |= {name: names[other] for name, other in UNSIGNED.items()}
    elif t[0] == "f":
        names |= {f"{n}u": lambda a, b, of=of: a != a or b != b or of(a, b) for n, of in COMPARISONS.items()}
        names |= {"num": lambda a, b: a == a and b == b, "nan": lambda a, b: a != a or b != b}
    for name, of in names.items():
        yield f"setp.{name}.{t}", Meaning((t, t), "pred", of)


def all_meanings() -> dict[str, Meaning]:
    """Every instruction of arithmetic.cpp and words.h by its opcode."""
    found: dict[str, Meaning] = {}
    for t in INTEGERS:
        found |= dict(of_integers(t)) | dict(comparisons_of(t))
    for t in ("b16", "b32", "b64"):
        found |= dict(of_bits(t)) | dict(comparisons_of(t))
    found |= dict(of_bits("pred"))
    for t in FLOATS:
        found |= dict(of_floats(t)) | dict(comparisons_of(t))
        found[f"saturate.{t}"] = Meaning((t,), t, saturated)
    for t in (*INTEGERS, *FLOATS, "b16", "b32", "b64"):
        found[f"mov.{t}"] = Meaning((t,), t, lambda a: a)
        found[f"selp.{t}"] = Meaning((t, t, "u32"), t, lambda a, b, c: a if c else b)
    found["mov.pred"] = Meaning(("pred",), "pred", lambda a: a)
    found["flush.f32"] = Meaning(("f32",), "f32", flushed)
    three = ("u32", "u32", "u32")
    found["sub.sat.f16x2"] = Meaning(("u32", "u32"), "u32", difference_of_halves)
    found["prmt.b32"] = Meaning(three, "u32", permuted)
    for side in "lr":
        for mode in ("wrap", "clamp"):
            found[f"shf.{side}.{mode}.b32"] = Meaning(three, "u32", funnel(side, mode))
    for first in "us":
        for second in "us":
            kinds = f"{first}32.{second}32"
            found[f"dp2a.lo.{kinds}"] = Meaning(three, "u32", dot(first, second, 2))
            found[f"dp2a.hi.{kinds}"] = Meaning(three, "u32", dot(first, second, 2, 2))
            found[f"dp4a.{kinds}"] = Meaning(three, "u32", dot(first, second, 4))
    return found
