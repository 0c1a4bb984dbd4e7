"""Lists the kernels that no test has launched.

``ORBBEC_PTX_LAUNCHED=FILE python tests/emulation/run.py --flavour ptx``, then
``python tests/gpu/ptx/launched.py FILE``; ends with 1 if there are some.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def kernels_of(text: str) -> list[str]:
    """The names of the kernels in a PTX file.

    Example:
        >>> kernels_of(".visible .entry _Z1kv(" + chr(10) + ".entry other(")
        ['_Z1kv', 'other']
    """
    return re.findall(r"^(?:\.visible |\.weak )?\.entry (\w+)\(", text, re.MULTILINE)


def missing(folder: Path, launched: Iterable[str]) -> dict[str, list[str]]:
    """By PTX file, its kernels that are not among `launched`. One of a template counts for all files."""
    known = set(launched)
    found = {path.stem: kernels_of(path.read_text()) for path in sorted(folder.glob("*.ptx"))}
    return {name: rest for name, names in found.items() if (rest := [k for k in names if k not in known])}


def main() -> int:
    """Prints the names, demangled."""
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "build" / "ptx" / "compute_75"
    count = len({name for path in folder.glob("*.ptx") for name in kernels_of(path.read_text())})
    rest = missing(folder, Path(sys.argv[1]).read_text().split())
    for name, kernels in rest.items():
        print(f"{name}: {len(kernels)}")
        shown = subprocess.run(["c++filt"], input="\n".join(kernels), capture_output=True, text=True)
        print("\n".join(f"  {line}" for line in (shown.stdout or "\n".join(kernels)).splitlines()))
    print(f"{count} kernels, {sum(map(len, rest.values()))} not launched")
    return 1 if rest or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
