"""Writes the folder of a new operator, which works and is yours to change.

    python tools/new_op.py soft_gain

writes orbbec/softgain/ and benchmarks/ops/softgain.py from tools/op_template/. `soft_gain` scales the pixels
of each image and adds an offset, on the CPU and on CUDA, with checks, a fake kernel, a docstring, a benchmark
and tests. Build and test it:

    make quick FAMILY=softgain

Then change the tests, and the formula in softgain.h.

With --transform, the folder also contains transform.py: the `OpSpec` by which plans, targets and the profile
know the operator, and the transform `RandomSoftGain`, exported from orbbec/transforms/__init__.py. It can be
added to a folder that exists. In a pipeline the operator is a pass of its own.

    python tools/new_op.py soft_gain --fusable

writes no operator but a color step, which pipelines fuse into the pass with crops and normalization. It is a
function of one color: orbbec/augment/steps/softgain.h has the arithmetic and a line in steps.h its name,
step_gradients.py its gradient, orbbec/softgain/transform.py the transform `RandomSoftGain`.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "tools" / "op_template"
STEP_TEMPLATE = TEMPLATE / "step"
TEMPLATE_NAME = "scale_offset"
OF_TRANSFORM = ("transform.py", "tests/test_scaleoffset_pipeline.py")


def spellings(name: str) -> tuple[str, str, str]:
    """The operator, its folder and its C++ type: adjust_gamma, adjustgamma, AdjustGamma."""
    return name, name.replace("_", ""), "".join(part.capitalize() for part in name.split("_"))


def checked(name: str) -> str:
    """The name, if it is a snake_case identifier."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ValueError(f"expected a name in snake_case, but got '{name}'")
    return name


def renamed(text: str, name: str) -> str:
    """A text of the template, for an operator of another name."""
    for old, new in zip(spellings(TEMPLATE_NAME), spellings(name), strict=True):
        text = text.replace(old, new)
    return text


def write_operator(name: str, package: Path, transform: bool = False) -> Path:
    """Write the folder of the operator into `package` and return it.

    Args:
        name: name in snake_case.
        package: the folder orbbec/.
        transform: also write and export a transform; for a folder that exists, only that.

    Raises:
        ValueError: the name is not a snake_case identifier, or its folder exists already.
    """
    _, stem, kind = spellings(checked(name))
    folder = package / stem
    adds = transform and folder.exists() and not (folder / OF_TRANSFORM[0]).exists()
    if folder.exists() and not adds:
        raise ValueError(f"{folder} exists already")
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        target = str(source.relative_to(TEMPLATE))
        if STEP_TEMPLATE in source.parents or not (transform if target in OF_TRANSFORM else not adds):
            continue
        path = folder / renamed(target, name)
        if target == "bench.py":
            path = package.parent / "benchmarks" / "ops" / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(renamed(source.read_text(), name))
    if transform:
        export(package / "transforms" / "__init__.py", f"orbbec.{stem}.transform", f"Random{kind}")
    return folder


def write_step(name: str, package: Path) -> list[Path]:
    """Write a color step and its transform into `package` and return the files, new and changed ones.

    Args:
        name: name in snake_case.
        package: the folder orbbec/.

    Raises:
        ValueError: the name is not a snake_case identifier, or the step or its folder exists already.
    """
    _, stem, kind = spellings(checked(name))
    augment, folder = package / "augment", package / stem
    header = augment / "steps" / f"{stem}.h"
    for path in (header, folder):
        if path.exists():
            raise ValueError(f"{path} exists already")
    written = []
    for source in sorted(path for path in STEP_TEMPLATE.rglob("*") if path.suffix in (".h", ".py")):
        target, text = str(source.relative_to(STEP_TEMPLATE)), renamed(source.read_text(), name)
        if target == "gradient.py":
            add_gradient(augment / "step_gradients.py", name, text[text.index("def ") :])
            continue
        path = header if source.suffix == ".h" else folder / renamed(target, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        written.append(path)
    code = list_step(augment / "steps" / "steps.h", name)
    document(augment / "augment.py", f"| {code} | {name} | scale, offset as a fraction of M | ")
    export(package / "transforms" / "__init__.py", f"orbbec.{stem}.transform", f"Random{kind}")
    changed = [augment / "steps" / "steps.h", augment / "step_gradients.py", augment / "augment.py"]
    return [*written, package / "transforms" / "__init__.py", *changed]


def list_step(path: Path, name: str) -> int:
    """Add a step to the end of the list in steps.h, and its header; returns its code."""
    _, stem, kind = spellings(name)
    lines = path.read_text().splitlines()
    steps = [n for n, line in enumerate(lines) if line.startswith("  X(")]
    entries = [lines[n].rstrip("\\ ") for n in steps] + [f'  X(k{kind}, {kind}Step, "{name}")']
    width = max(map(len, ["#define ORBBEC_COLOR_STEPS(X)", *entries[:-1]]))
    lines[steps[0] - 1 : steps[-1] + 1] = [
        *(f"{line:{width}} \\" for line in ["#define ORBBEC_COLOR_STEPS(X)", *entries[:-1]]),
        entries[-1],
    ]
    lines.append(f'#include "{stem}.h"')
    includes = [line for line in lines if line.startswith("#include")]
    first = lines.index(includes[0])
    others = [line for line in lines if line not in includes]
    path.write_text("\n".join([*others[:first], *sorted(includes), *others[first:]]) + "\n")
    return len(entries)


def add_gradient(path: Path, name: str, function: str) -> None:
    """Add a function to step_gradients.py, and its line to the table at the end."""
    before, table = path.read_text().split("FORMULAS: ")
    lines = [*table.splitlines()[:-1], f'    "{name}": _of_{name},', "}"]
    path.write_text(before + function + "\n\nFORMULAS: " + "\n".join(lines) + "\n")


def document(path: Path, row: str) -> None:
    """Add a row to the table of steps, the last table of the file."""
    lines = path.read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if line.startswith("    | "))
    lines.insert(last + 1, f"    {row}v * scale + offset, clipped |")
    path.write_text("\n".join(lines) + "\n")


def export(path: Path, module: str, name: str) -> None:
    """Import a name in a package and add it to `__all__`, both in ruff's order."""
    lines = path.read_text().splitlines()
    line = f"from {module} import {name}"
    imports = [n for n, other in enumerate(lines) if other.startswith("from orbbec.")]
    lines.insert(next((n for n in imports if lines[n].split()[1] > module), _end(lines, imports[-1])), line)
    begin = lines.index("__all__ = [") + 1
    others = [entry.strip(' ",') for entry in lines[begin : lines.index("]", begin)]]
    classes = [other for other in others if other[0].isupper()]  # after constants, before functions
    before = sum(other.isupper() or other < name for other in classes)
    lines.insert(begin + before, f'    "{name}",')
    path.write_text("\n".join(lines) + "\n")


def _end(lines: list[str], n: int) -> int:
    """The line after the import that begins in line n, which may have brackets."""
    return n + 1 if not lines[n].endswith("(") else lines.index(")", n) + 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="in snake_case, as users will call it")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--transform", action="store_true", help="also write a transform, a pass in pipelines")
    kinds.add_argument("--fusable", action="store_true", help="write a color step, which pipelines fuse")
    chosen = parser.parse_args()
    try:
        if chosen.fusable:
            written = write_step(chosen.name, ROOT / "orbbec")
        else:
            folder = write_operator(chosen.name, ROOT / "orbbec", chosen.transform)
            written = [path for path in folder.rglob("*") if path.is_file()]
    except ValueError as error:
        print(f"new_op: {error}", file=sys.stderr)
        return 1
    for path in sorted(written):
        print(path.relative_to(ROOT))
    family = chosen.name.replace("_", "")
    print(f"Build it before you import orbbec: make quick FAMILY={family}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
