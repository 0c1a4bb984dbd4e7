"""How many instructions of the GPU a PTX instruction becomes, on average."""

from __future__ import annotations

import functools

# The groups in the order in which they are tried: an instruction belongs to the first that has its base name
# and one of its types. "" is every name, or every type.
GROUPS: tuple[tuple[str, str, str], ...] = (
    ("moves", "mov cvta bar.warp", ""),
    ("parameters", "ld.param", ""),
    ("predicates", "and or xor not mov selp setp", "pred"),
    ("branches", "bra ret exit", ""),
    ("memory", "ld st atom red prefetch", ""),
    ("exchanges", "shfl vote match bar barrier membar fence", ""),
    ("div64", "div rem", "s64 u64"),
    ("div32", "div rem", "s32 u32 s16 u16"),
    ("div_f64", "div rcp sqrt", "f64"),
    ("div_f32", "div rcp sqrt", "f32"),
    ("cvt_f64", "cvt", "f64"),
    ("cvt_f32", "cvt", "f32"),
    ("float64", "", "f64"),
    ("float32", "", "f32"),
    ("mul64", "mul mad", "s64 u64"),
    ("mul_wide", "mul.wide mad.wide mul.hi mad.hi", ""),
    ("mul32", "mul mad dp4a dp2a", ""),
    ("int64", "", "s64 u64 b64"),
    ("int32", "", ""),
)
# Fitted by calibrate.py for sm_90, each instruction counted once: for 54 kernels the estimate is 0.54 to 1.42
# of the machine instructions (5 to 95 %), 1.00 in the middle.
SLOTS: dict[str, float] = {
    "moves": 0.36,
    "parameters": 0.3,
    "predicates": 0.68,
    "branches": 1.18,
    "memory": 1.14,
    "exchanges": 1.01,
    "div64": 85.6,
    "div32": 12.29,
    "div_f64": 20.2,
    "div_f32": 9.56,
    "cvt_f64": 1.0,
    "cvt_f32": 1.0,
    "float64": 1.16,
    "float32": 1.17,
    "mul64": 2.36,
    "mul_wide": 1.01,
    "mul32": 1.0,
    "int64": 0.93,
    "int32": 0.98,
}
# Of these, in the units of FP64: x / y by Newton's method takes eight multiply-adds.
FLOAT64 = {"float64": 1.0, "cvt_f64": 1.0, "div_f64": 8.0}


@functools.cache
def group_of(opcode: str) -> str:
    """The group of a PTX instruction.

    Example:
        >>> [group_of(code) for code in ("ld.param.u64", "ld.global.nc.u8", "mul.lo.s64", "div.rn.f32")]
        ['parameters', 'memory', 'mul64', 'div_f32']
        >>> [group_of(code) for code in ("setp.eq.s32", "cvt.rn.f32.s32", "fma.rn.f64", "mul.wide.u32")]
        ['int32', 'cvt_f32', 'float64', 'mul_wide']
    """
    parts = opcode.split(".")
    for group, bases, types in GROUPS:
        is_named = not bases or any(opcode == base or opcode.startswith(f"{base}.") for base in bases.split())
        # A conversion belongs to the wider of its two types.
        own = parts[-2:] if parts[0] == "cvt" else parts[-1:]
        if is_named and (not types or any(part in types.split() for part in own)):
            return group
    raise AssertionError(opcode)


def slots(opcode: str) -> float:
    """Instructions of the GPU per PTX instruction."""
    return SLOTS[group_of(opcode)]


def float64_slots(opcode: str) -> float:
    """Those of them that the units of FP64 execute."""
    return FLOAT64.get(group_of(opcode), 0.0)
