"""Compiles the ``.cu`` files to PTX with the flags of ``setup.py``; prints the folder of the PTX files.

``python tests/gpu/ptx/compile.py [further flags of nvcc]``

Where ``setup.py`` has built orbbec with ``-lineinfo``, as in ``make test``, it is the PTX in those objects.
``ORBBEC_PTX_ARCH`` is the architecture; if it is not set, the one of ``setup.py``, whose PTX every GPU runs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tools.machine_code import cubins

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
# What torch's BuildExtension adds and PTX depends on.
STANDARD = ["-std=c++20", "--expt-relaxed-constexpr"]
RULE = """\
rule ptx
  command = $nvcc -ptx $flags -MD -MF $out.d $in -o $out
  depfile = $out.d
  deps = gcc
"""


def load(path: Path) -> ModuleType:
    """Imports a module by its path: `build` is also the name of a package."""
    spec = importlib.util.spec_from_file_location(f"orbbec_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extract_ptx(built: Path, target: Path) -> bool:
    """Writes the PTX of a built object to `target`; False if it has none that names lines of source."""
    with tempfile.TemporaryDirectory() as folder:
        command = [cubins.tool("cuobjdump"), "-xptx", "all", str(built.resolve())]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        found = [path.read_text() for path in Path(folder).iterdir()]
    if len(found) != 1 or not re.search(r"^\s*\.loc\s", found[0], re.MULTILINE):
        return False
    target.write_text("\n".join(indented(found[0])) + "\n")
    return True


def indented(ptx: str) -> Iterator[str]:
    r"""The lines of what `cuobjdump` prints, with tabs within braces as nvcc writes them.

    Example:
        >>> list(indented(chr(10).join(["{", "{", "ret;", "}", "}"])))
        ['{', '\t{', '\t\tret;', '\t}', '}']
    """
    depth = 0
    for line in ptx.splitlines():
        yield "\t" * (depth - line.startswith("}")) + line
        depth += line.count("{") - line.count("}")


def compile_ptx(
    further: list[str],
    sources: list[Path] | None = None,
    *,
    architecture: str | None = None,
    folder: str = "",
) -> Path:
    """Compiles what is out of date, of all sources if none are named; returns the folder of the PTX files.

    Args:
        further: flags of nvcc.
        sources: ``.cu`` files.
        architecture: such as "compute_90"; None: ``ORBBEC_PTX_ARCH``, else that of ``setup.py``.
        folder: the name of the folder in ``build/ptx``; empty: the architecture and the flags.

    Raises:
        RuntimeError: there is no nvcc, or something did not compile.
    """
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        raise RuntimeError("no nvcc on PATH or in /usr/local/cuda/bin")
    shipped = load(ROOT / "tools" / "nvcc_flags.py")
    architecture = architecture or os.environ.get("ORBBEC_PTX_ARCH", shipped.shipped_ptx())
    name = "_".join([architecture, *(flag.strip("-").replace("=", "_") for flag in further)])
    target = ROOT / "build" / "ptx" / (folder or name)
    # Later flags win.
    flags = [*shipped.shipped_flags(), *STANDARD, "-lineinfo", f"-arch={architecture}", f"-I{ROOT}", *further]
    lines = [f"nvcc = {nvcc}", f"flags = {' '.join(flags)}", RULE]
    emulation = load(ROOT / "tests" / "emulation" / "build.py")
    target.mkdir(parents=True, exist_ok=True)
    is_shipped = sources is None and name == shipped.shipped_ptx()
    for source in sources or sorted(ROOT.glob("orbbec/**/*.cu")):
        out = target / f"{'_'.join(source.relative_to(ROOT).with_suffix('').parts)}.ptx"
        built = emulation.built_object(source) if is_shipped else None
        if built is None or not extract_ptx(built, out):
            lines.append(f"build {out}: ptx {source}")
    emulation.run_ninja(target, lines)
    return target


if __name__ == "__main__":
    try:
        print(compile_ptx(sys.argv[1:]))
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
