"""Counts what stands in a kernel's machine code (SASS), as `nvdisasm -c` prints it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

KERNEL = re.compile(r"^\t\.section\t\.text\.([\w$]+)", re.MULTILINE)
INSTRUCTION = re.compile(
    r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w\s+)?(?P<opcode>[A-Z]\w*)(?P<modifiers>[.\w]*)(?P<operands>[^;]*);",
    re.MULTILINE,
)
DIVISION64 = re.compile(r"_(?:div|rem)_[su]64")
# Double precision has its own arithmetic; other instructions convert from or to it, with the modifier F64.
FLOAT64 = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX"}
# Divisions and roots begin with these approximations and refine them; all other functions of MUFU are
# approximations to the end. An unrefined reciprocal (rcp.approx) is found by tests/gpu/ptx instead.
REFINED = {"RCP", "RSQ", "RCP64H", "RSQ64H"}
LOADS, STORES = {"LD", "LDG"}, {"ST", "STG"}  # of global memory, and by a generic address
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


@dataclass(frozen=True)
class Code:
    """Numbers of instructions; `loads` and `stores` are the mean bytes of those to global memory."""

    local_loads: int
    local_stores: int
    divisions64: int
    float64: int
    approximate: int
    loads: float
    stores: float


def read(text: str) -> dict[str, Code]:
    """The kernels of a listing, by their mangled names."""
    parts = KERNEL.split(text)
    return {name: count(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def count(body: str) -> Code:
    """Counts the instructions of one kernel, and of the functions that it calls.

    Example:
        >>> count("        /*0030*/              @!P0 LDG.E.U8.SYS R0, [R2+0x1] ;")
        Code(local_loads=0, local_stores=0, divisions64=0, float64=0, approximate=0, loads=1.0, stores=0.0)
    """
    found: Counter[str] = Counter()
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    for opcode, modifiers, operands in instructions(body):
        if opcode in LOADS:
            loads[width(modifiers)] += 1
        elif opcode in STORES:
            stores[width(modifiers)] += 1
        found["local_loads"] += opcode == "LDL"
        found["local_stores"] += opcode == "STL"
        found["divisions64"] += opcode == "CALL" and DIVISION64.search(operands) is not None
        found["float64"] += opcode in FLOAT64 or any(m in ("F64", "RCP64H", "RSQ64H") for m in modifiers)
        found["approximate"] += opcode == "MUFU" and modifiers[0] not in REFINED
    return Code(**found, loads=mean(loads), stores=mean(stores))


def instructions(body: str) -> Iterator[tuple[str, list[str], str]]:
    """Opcode, modifiers and operands of each instruction."""
    for match in INSTRUCTION.finditer(body):
        yield match["opcode"], match["modifiers"].split(".")[1:], match["operands"]


def width(modifiers: list[str]) -> int:
    """The bytes that a thread loads or stores."""
    return next((WIDTHS[modifier] for modifier in modifiers if modifier in WIDTHS), 4)


def mean(widths: Counter[int]) -> float:
    """The mean width, rounded to tenths; 0 if there are none."""
    total = sum(widths.values())
    return round(sum(bytes * times for bytes, times in widths.items()) / total, 1) if total else 0.0
