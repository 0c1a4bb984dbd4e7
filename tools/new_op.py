"""Writes the folder of a new operator, which works and is yours to change.

    python tools/new_op.py soft_gain

writes orbbec/softgain/ and benchmarks/ops/softgain.py from tools/op_template/. `soft_gain` scales the pixels
of each image and adds an offset, on the CPU and on CUDA, with checks, a fake kernel, a docstring, a benchmark
and tests. Build and test it:

    make quick FAMILY=softgain

Then change the tests, and the formula in softgain.h.

With --fusable, the folder also contains transform.py: the `OpSpec` by which plans, targets and the profile
know the operator, and the transform `RandomSoftGain`, exported from orbbec/transforms/__init__.py. It can be
added to a folder that exists.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "tools" / "op_template"
TEMPLATE_NAME = "scale_offset"
FUSABLE = ("transform.py", "tests/test_scaleoffset_pipeline.py")


def spellings(name: str) -> tuple[str, str, str]:
    """The operator, its folder and its C++ type: adjust_gamma, adjustgamma, AdjustGamma."""
    return name, name.replace("_", ""), "".join(part.capitalize() for part in name.split("_"))


def write_operator(name: str, package: Path, fusable: bool = False) -> Path:
    """Write the folder of the operator into `package` and return it.

    Args:
        name: name in snake_case.
        package: the folder orbbec/.
        fusable: also write and export a transform; for a folder that exists, only that.

    Raises:
        ValueError: the name is not a snake_case identifier, or its folder exists already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ValueError(f"expected a name in snake_case, but got '{name}'")
    ours, theirs = spellings(name), spellings(TEMPLATE_NAME)
    folder = package / ours[1]
    adds = fusable and folder.exists() and not (folder / FUSABLE[0]).exists()
    if folder.exists() and not adds:
        raise ValueError(f"{folder} exists already")
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        target, text = str(source.relative_to(TEMPLATE)), source.read_text()
        if not (fusable if target in FUSABLE else not adds):
            continue
        for old, new in zip(theirs, ours, strict=True):
            target, text = target.replace(old, new), text.replace(old, new)
        path = (
            package.parent / "benchmarks" / "ops" / f"{ours[1]}.py"
            if target == "bench.py"
            else folder / target
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if fusable:
        export(package / "transforms" / "__init__.py", f"orbbec.{ours[1]}.transform", f"Random{ours[2]}")
    return folder


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
    parser.add_argument("--fusable", action="store_true", help="also write a transform, for pipelines")
    given = parser.parse_args()
    try:
        folder = write_operator(given.name, ROOT / "orbbec", given.fusable)
    except ValueError as error:
        print(f"new_op: {error}", file=sys.stderr)
        return 1
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
