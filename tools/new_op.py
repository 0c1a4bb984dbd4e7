"""Writes the folder of a new operator: a whole one that works, to be changed into yours.

    python tools/new_op.py adjust_gamma

makes orbbec/adjustgamma/ and benchmarks/ops/adjustgamma.py from tools/op_template/: `adjust_gamma` scales
the pixels of each image and adds an offset, on the CPU and on CUDA, with its checks, fake kernel, docstring,
benchmark and tests. Build it and test it:

    make build
    .venv/bin/python -m pytest orbbec/adjustgamma

Then change the formula in adjustgamma.h, and the tests first.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "tools" / "op_template"
TEMPLATE_NAME = "scale_offset"


def spellings(name: str) -> tuple[str, str, str]:
    """The operator, its folder and its C++ type: adjust_gamma, adjustgamma, AdjustGamma."""
    return name, name.replace("_", ""), "".join(part.capitalize() for part in name.split("_"))


def write_operator(name: str, package: Path) -> Path:
    """Write the folder of the operator into `package` and return it.

    Raises:
        ValueError: the name is no snake_case identifier, or its folder is there already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ValueError(f"expected a name in snake_case, but got '{name}'")
    ours, theirs = spellings(name), spellings(TEMPLATE_NAME)
    folder = package / ours[1]
    if folder.exists():
        raise ValueError(f"{folder} is there already")
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        target, text = str(source.relative_to(TEMPLATE)), source.read_text()
        for old, new in zip(theirs, ours, strict=True):
            target, text = target.replace(old, new), text.replace(old, new)
        path = (
            package.parent / "benchmarks" / "ops" / f"{ours[1]}.py"
            if target == "bench.py"
            else folder / target
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="in snake_case, as users will call it")
    try:
        folder = write_operator(parser.parse_args().name, ROOT / "orbbec")
    except ValueError as error:
        print(f"new_op: {error}", file=sys.stderr)
        return 1
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
