"""Fits how many instructions of the GPU each group of PTX instructions becomes: the weights of opcodes.py.

``python tests/gpu/model/calibrate.py CUOBJDUMP``, the program of nvidia-cuda-cuobjdump from PyPI. Least
squares without negative weights over the kernels that the model has run (build/ptx/registers/sm_90), each
instruction counted once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.gpu.model.opcodes import GROUPS, SLOTS, group_of
from tests.gpu.ptx.compile import ROOT

_ENTRY = re.compile(r"\.entry (\w+)\(.*?\n\{(.*?)\n\}", re.DOTALL)
_PTX = re.compile(r"^\s+(?:@!?%\w+\s+)?([a-z][\w.:]*)\s*[^:\n]*;", re.MULTILINE)
_SASS = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z]\w*)", re.MULTILINE)
_NAMES = [group for group, _, _ in GROUPS]
_FEWEST = 30  # instructions of a kernel
PULL, STEPS = 3e-2, 4000


def ptx_counts(text: str) -> dict[str, Counter[str]]:
    """By kernel, its PTX instructions by group."""
    bodies = {name: body for name, body in _ENTRY.findall(text)}
    return {name: Counter(map(group_of, _PTX.findall(body))) for name, body in bodies.items()}


def sass_counts(cuobjdump: str, cubin: Path) -> dict[str, int]:
    """By kernel, its machine instructions, without the padding at its end."""
    text = subprocess.run([cuobjdump, "-sass", str(cubin)], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^\s*Function : (\w+)$", text, flags=re.MULTILINE)
    return {
        name: sum(opcode != "NOP" for opcode in _SASS.findall(body))
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def fit(counts: np.ndarray, totals: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Weights at least 0 with the least squares of relative errors, by projected gradients; near `first`."""
    scaled, weights = counts / totals[:, None], first.copy()
    pull = PULL * len(totals)  # towards `first`, which decides what the kernels do not
    step = 1 / (np.linalg.norm(scaled, 2) ** 2 + pull)
    for _ in range(STEPS):
        slope = scaled.T @ (scaled @ weights - 1) + pull * (weights - first) / np.maximum(first, 0.1) ** 2
        weights = np.maximum(weights - 0.1 * step * slope, 0)
    return weights


def main() -> None:
    rows, totals = [], []
    for path in sorted((ROOT / "build" / "ptx" / "registers" / "sm_90").glob("*.ptx")):
        sass = sass_counts(sys.argv[1], path.with_suffix(".txt.cubin"))
        for kernel, counts in ptx_counts(path.read_text()).items():
            if sass.get(kernel, 0) >= _FEWEST:
                rows.append([counts[name] for name in _NAMES])
                totals.append(sass[kernel])
    table, total = np.array(rows, float), np.array(totals, float)
    first = np.array([SLOTS[name] for name in _NAMES])
    weights = fit(table, total, first)
    for label, tried in (("before", first), ("fitted", weights), ("one each", np.ones(len(first)))):
        ratio = table @ tried / total
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        spread = f"{low:.2f} {middle:.2f} {high:.2f} (5, 50, 95 %)"
        print(f"{label}: estimated / actual {spread}, {len(total)} kernels")
    for name, weight, uses in zip(_NAMES, weights, table.sum(0), strict=True):
        print(f'    "{name}": {weight:.2f},  # {uses:.0f}')


if __name__ == "__main__":
    main()
