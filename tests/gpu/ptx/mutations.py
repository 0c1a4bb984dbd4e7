"""Changes to the compiled kernels that a test must notice: what fails to fail is printed.

``python tests/gpu/ptx/mutations.py [--sampled | NAME ...]``; ends with 1 if a change went unnoticed.
``--sampled``: one of them, another each day.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from tests.gpu.ptx.compile import ROOT, compile_ptx, load

WARPS = "orbbec/warpaffine/tests"


@dataclass(frozen=True)
class Mutation:
    """A change to one .cu file's PTX, and the test that notices it."""

    source: str
    test: str
    flags: tuple[str, ...] = ()
    change: Callable[[str], str] = str


def drop_barrier(text: str) -> str:
    """Without the first barrier of each kernel."""
    kernels = re.split(r"(?=^(?:\.visible |\.weak )?\.entry )", text, flags=re.MULTILINE)
    return "".join(
        re.sub(r"^\s*bar\.sync\b.*$", "", kernel, count=1, flags=re.MULTILINE) for kernel in kernels
    )


def narrow_offsets(text: str) -> str:
    """Products of 64 bits keep their low 32 and the sign."""
    product = re.compile(r"^\s*mul\.lo\.s64\s+(%rd\d+),.*$", re.MULTILINE)
    return product.sub(lambda match: f"{match[0]}\n\tcvt.s64.s32 {match[1]}, {match[1]};", text)


MUTATIONS = {
    "products and sums are fused": Mutation(
        "orbbec/warpaffine/warpaffine_cuda.cu",
        f"{WARPS}/test_warpaffine_opencv.py::test_warp_affine_matches_opencv",
        ("-fmad=true",),
    ),
    "denormals are zero": Mutation(
        "orbbec/roi_align/roi_align_cuda.cu",
        "orbbec/roi_align/tests/test_roi_align.py::test_roi_align_of_half_types_is_float32_rounded_once",
        ("-ftz=true",),
    ),
    "a barrier is dropped": Mutation(
        "orbbec/filters/separable/separable_cuda.cu",
        "orbbec/filters/tests/test_filters.py::test_box_blur_matches_opencv",
        change=drop_barrier,
    ),
    "offsets have 32 bits": Mutation(
        "orbbec/warpaffine/warpaffine_cuda.cu",
        f"{WARPS}/test_warps_layouts.py::test_offsets_beyond_31_bits",
        change=narrow_offsets,
    ),
}


def mutate(mutation: Mutation, shipped: Path, folder: Path) -> None:
    """Fills `folder` with the shipped PTX, of which one file is changed.

    Raises:
        RuntimeError: the change changes nothing.
    """
    name = f"{'_'.join(Path(mutation.source).with_suffix('').parts)}.ptx"
    for path in shipped.glob("*.ptx"):
        shutil.copy(path, folder)
    before = (shipped / name).read_text()
    if mutation.flags:
        before, source = "", compile_ptx(list(mutation.flags), [ROOT / mutation.source])
        shutil.copy(source / name, folder)
    changed = mutation.change((folder / name).read_text())
    if changed == before:
        raise RuntimeError(f"{mutation.source}: nothing to change")
    (folder / name).write_text(changed)


def run(test: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a test with the PTX of a folder; the same of its cases each day."""
    options = ["-xq", "--sampled", "--day=1", "--device=emulated", "--capture=sys"]
    command = [sys.executable, "-m", "pytest", *options, "-p", "tests.gpu.ptx.plugin", test]
    chosen = environment | {"ORBBEC_PTX": str(folder)}
    return subprocess.run(command, env=chosen, cwd=ROOT, capture_output=True, text=True, check=False)


def is_noticed(mutation: Mutation, environment: dict[str, str], shipped: Path) -> bool:
    """Whether the test passes, and fails with the change; what failed first is printed.

    Raises:
        RuntimeError: the test fails without the change, or the change changes nothing.
    """
    before = run(mutation.test, environment, shipped)
    if before.returncode != 0:
        raise RuntimeError(f"{mutation.test} fails without the change:\n{before.stdout}")
    with tempfile.TemporaryDirectory() as folder:
        mutate(mutation, shipped, Path(folder))
        done = run(mutation.test, environment, Path(folder))
    shown = re.findall(r"^(?:E +\w*Error.*|FAILED .*|\d+ passed.*)", done.stdout, re.MULTILINE)
    print("  " + "\n  ".join(shown[:2]))
    return done.returncode == 1


def main() -> int:
    """Runs the mutations named, one of them, or all."""
    runner = load(ROOT / "tests" / "emulation" / "run.py")
    environment = runner.environment("ptx", "forward") | {"PYTHONPATH": os.pathsep.join([str(ROOT)])}
    shipped = Path(environment["ORBBEC_PTX"])
    unnoticed = []
    names = sys.argv[1:] or list(MUTATIONS)
    if names == ["--sampled"]:
        names = [list(MUTATIONS)[date.today().toordinal() % len(MUTATIONS)]]
    for name in names:
        print(f"{name}:", flush=True)
        if not is_noticed(MUTATIONS[name], environment, shipped):
            unnoticed.append(name)
    print("unnoticed: " + (", ".join(unnoticed) or "none"))
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
