"""The pipes of a multiprocessor: which machine instructions they execute, and how fast.

Rates are those of the CUDA C++ Best Practices Guide, "Throughput of Native Arithmetic Instructions", in lanes
per clock. Where it has several rates for a pipe, it is the rate of most of our instructions: additions of
integers run at twice the rate of "alu" on 12.0, conversions from 8 and 16 bits at that of "alu".
"""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase

# An opcode belongs to the first pipe that has it; what none has is an instruction of "alu". The last two only
# issue: instructions of a whole warp, and those of control flow.
OPCODES: dict[str, str] = {
    "imad": "IMAD IDP IDP4A IMUL",  # on half of the lanes of "fma"
    "fma": "FADD* FMUL* FFMA* HADD2* HMUL2* HFMA2*",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "conversion": "MUFU I2F F2I F2F FRND I2I POPC FLO BREV",  # and reciprocals, roots, counts of bits
    "memory": "LD LD[GSLC] LDSM ST ST[GSL] ATOM* RED* SHFL CCTL* MEMBAR ERRBAR",
    "uniform": "U* R2UR S2UR VOTEU",
    "control": "BRA BRX JMP CALL RET EXIT BSSY BSYNC BREAK BMOV WARPSYNC BAR DEPBAR YIELD NANOSLEEP VOTE"
    " MATCH S2R CS2R",
}
PIPES = (*OPCODES, "alu")
# By compute capability: lanes per clock of "fma" with "imad", "imad", "alu", "conversion", "fp64".
_NAMES = ("fma", "imad", "alu", "conversion", "fp64")
RATES: dict[int, dict[str, int]] = {
    capability: dict(zip(_NAMES, rates, strict=True))
    for capability, rates in {
        75: (64, 64, 64, 16, 2),
        80: (64, 64, 64, 16, 32),
        86: (128, 64, 64, 16, 2),
        89: (128, 64, 64, 16, 2),
        90: (128, 64, 64, 16, 64),
        100: (128, 64, 64, 16, 64),
        120: (128, 64, 64, 16, 2),
    }.items()
}


@functools.cache
def pipe_of(opcode: str) -> str:
    """The pipe of a machine instruction.

    Example:
        >>> [pipe_of(opcode) for opcode in ("FFMA", "IMAD", "IADD3", "I2F", "I2FP", "LDG", "ULDC", "BRA")]
        ['fma', 'imad', 'alu', 'conversion', 'alu', 'memory', 'uniform', 'control']
    """
    for pipe, patterns in OPCODES.items():
        if any(fnmatchcase(opcode, pattern) for pattern in patterns.split()):
            return pipe
    return "alu"
