"""Checks the layers of orbbec/ (Python imports and `#include` lines), import cycles, and sizes of files.

    python tools/check_layers.py [project root]

Prints one line per violation, `path:line: what is wrong`; the exit status is 1 if there is any.
docs/project/design.md describes the layers. A folder of orbbec/ that is not named here is a family of
operators.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Each layer imports only from those before it. Operators share one rank and never import each other; code
# that combines several operators has its own rank.
ORDER = (
    "_library",
    "core",
    "executors",
    "feed",
    "matrices",
    "bridge",
    "OPERATOR",
    "warpaffine/elastic",
    "augment/crop",
    "batch",
    "plan",
    "transforms",
    "recipes",
    "data",
    "backends",
)
RANKS = {name: rank for rank, name in enumerate(ORDER)}
# Outside the order: they may import anything, and nothing in the package imports them.
OUTSIDE = {"__init__", "__main__", "cli"}
BINARIES = {"_opencv"}  # modules without a Python file
ALONE = "opencv"  # neither imports other layers nor is imported by them

LONGEST_FILE = 500  # lines
MOST_FILES = 30  # of code in one folder
CODE_SUFFIXES = {".py", ".h", ".cpp", ".cu"}
OURS = ("orbbec", "tests", "tools", "scripts", "benchmarks", "3rdparty/*.py", "*.py")

TORCH = re.compile(r"^(torch|ATen|c10)/|(^|/)torch_api\.h$")
CUDA = re.compile(r"^(cuda|cublas|cub/|thrust/|cooperative_groups|nv)|(^|/)(executors/cuda/\w+|\w+_cuda)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

Violation = tuple[Path, int, str]


def check(root: Path) -> list[Violation]:
    """All violations below `root`, sorted by path and line; paths are relative to `root`."""
    package = root / "orbbec"
    found: list[Violation] = []
    for path in sorted(package.rglob("*")):
        if "tests" in path.relative_to(package).parts:
            continue
        if path.suffix == ".py":
            found += imports_of(package, path)
        elif path.suffix in {".h", ".cpp", ".cu"}:
            found += includes_of(package, path)
            found += kernel_launches_of(path)
    found += shared_stems_of(package)
    found += long_files_of(root)
    found += large_folders_of(root)
    if not found:  # an import of a higher layer usually makes a cycle too
        found += cycle_of(root)
    return sorted((path.relative_to(root), line, text) for path, line, text in found)


def layer_of(package: Path, path: Path) -> str:
    """The layer of a file, from its path below orbbec/; an operator's transform.py is above the operator."""
    parts = path.relative_to(package).with_suffix("").parts
    is_transform = parts[-1] == "transform" and len(parts) > 1 and parts[0] not in RANKS
    return "transforms" if is_transform else layer_named(parts)


def layer_named(parts: Sequence[str]) -> str:
    """The layer of a path below orbbec/: the longest prefix in `ORDER`, else the first folder."""
    inner = "/".join(parts[:2])
    return inner if inner in RANKS else parts[0]


def family_of(layer: str) -> str:
    """The folder of orbbec/; within it, only cycles are refused."""
    return layer.split("/")[0]


def rank_of(layer: str) -> int:
    return RANKS.get(layer, RANKS["OPERATOR"])


def refusal(importer: str, imported: str) -> str | None:
    """Why a layer may not import another one; None if it may."""
    if family_of(importer) == family_of(imported) or importer in OUTSIDE:
        return None
    if imported in OUTSIDE or ALONE in (importer, imported):
        return f"{importer} may not import {imported}"
    if rank_of(importer) == rank_of(imported):
        return f"operators never import each other, but {importer} imports {imported}"
    return (
        None
        if rank_of(imported) < rank_of(importer)
        else f"{importer} may not import {imported}, which is above it"
    )


def imports_of(package: Path, path: Path) -> Iterator[Violation]:
    importer = layer_of(package, path)
    modules = {entry.stem for entry in package.iterdir() if entry.is_dir() or entry.suffix == ".py"}
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        for name in imported_names(package, path, node):
            if name[0] in ("benchmarks", "tests"):
                yield path, getattr(node, "lineno", 0), f"{importer} may not import {name[0]}"
            if name[0] != "orbbec":
                continue
            imported = layer_named(name[1:]) if len(name) > 1 and name[1] in modules else "__init__"
            text = refusal(importer, imported)
            if text:
                yield path, getattr(node, "lineno", 0), text


def imported_names(package: Path, path: Path, node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The absolute names in an import statement, split at dots."""
    if isinstance(node, ast.Import):
        yield from (tuple(alias.name.split(".")) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            parts = path.relative_to(package.parent).parts[: -node.level] + parts
        yield from ((*parts, alias.name) for alias in node.names)


def is_binding(path: Path) -> bool:
    """Whether a file of an operator may include torch: binding.cpp, binding_<name>.cpp or .h."""
    return path.suffix in {".cpp", ".h"} and re.fullmatch(r"binding(_\w+)?", path.stem) is not None


def includes_of(package: Path, path: Path) -> Iterator[Violation]:
    layer = layer_of(package, path)
    sees_torch = path.suffix != ".cu" and (is_binding(path) or layer == "bridge")
    in_kit = path.parent == package / "executors" / "cuda"
    sees_cuda = in_kit or path.suffix == ".cu" or path.name.endswith("_cuda.h")
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        name, line = match[1], text.count("\n", 0, match.start(1)) + 1
        if layer == ALONE:
            if name.startswith("../"):
                yield path, line, f"{ALONE} is independent, but includes {name}"
            continue
        if TORCH.search(name) and not sees_torch:
            yield path, line, f"only binding.cpp and orbbec/bridge may include torch, but {name} was found"
        if CUDA.search(name) and not sees_cuda:
            yield path, line, f"only .cu, *_cuda.h and executors/cuda may include CUDA, but {name} was found"
        if not sees_torch and is_binding(Path(name)):
            yield path, line, f"only binding.cpp may include a binding's header, but {name} was found"
        if name.startswith("../"):
            yield from included_folder(package, path, line, name, sees_torch)


def included_folder(package: Path, path: Path, line: int, name: str, sees_torch: bool) -> Iterator[Violation]:
    target = (path.parent / name).resolve()
    if not target.is_relative_to(package.resolve()):
        yield path, line, f"{name} is outside the package"
        return
    importer, included = layer_of(package, path), layer_of(package.resolve(), target)
    if included == "bridge" and not sees_torch:
        yield path, line, f"only binding.cpp may include orbbec/bridge, but {name} was found"
        return
    text = refusal(importer, included)
    if text:
        yield path, line, text


def kernel_launches_of(path: Path) -> Iterator[Violation]:
    code = COMMENT_OR_STRING.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
    for number, line in enumerate(code.splitlines(), 1):
        if "<<<" in line:
            yield path, number, "launch kernels with launch() of executors/cuda/launch.h, not with <<<>>>"


def shared_stems_of(package: Path) -> Iterator[Violation]:
    """A .cpp and a .cu with the same stem would be compiled to the same object file."""
    for path in sorted(package.rglob("*.cu")):
        if path.with_suffix(".cpp").exists():
            yield path, 1, f"shares its stem with {path.stem}.cpp"


def long_files_of(root: Path) -> Iterator[Violation]:
    for path in own_files(root):
        lines = path.read_text().count("\n")
        if lines > LONGEST_FILE:
            yield path, lines, f"has {lines} lines; split files longer than {LONGEST_FILE}"


def large_folders_of(root: Path) -> Iterator[Violation]:
    for folder, count in Counter(path.parent for path in own_files(root)).items():
        if count > MOST_FILES:
            yield folder, 1, f"has {count} files; sort them into folders"


def own_files(root: Path) -> Iterable[Path]:
    for pattern in OURS:
        for top in sorted(root.glob(pattern)):
            files = sorted(top.rglob("*")) if top.is_dir() else [top]
            yield from (path for path in files if path.suffix in CODE_SUFFIXES)


def cycle_of(root: Path) -> Iterator[Violation]:
    """A cycle of imports or includes, if there is one."""
    files = {path for path in own_files(root) if "op_template" not in path.parts}
    modules = {module_name(path.relative_to(root)): path for path in files if path.suffix == ".py"}
    graph = {path: {*included_files(path), *imported_files(path, modules)} & files for path in files}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1][:0:-1]  # its last file is its first again
        first = cycle.index(min(cycle))
        cycle = [*cycle[first:], *cycle[: first + 1]]
        names = " -> ".join(str(path.relative_to(root)) for path in cycle)
        yield cycle[0], 1, f"is in a cycle: {names}"


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_files(path: Path, modules: dict[str, Path]) -> Iterator[Path]:
    """The modules that a file imports, also within functions; without the packages that contain them."""
    for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{name}" for name in names if name not in BINARIES]
            names = [name if name in modules else str(node.module) for name in inner]
        yield from (modules[name] for name in names if modules.get(name, path) != path)


def included_files(path: Path) -> Iterator[Path]:
    if path.suffix != ".py":
        yield from ((path.parent / name).resolve() for name in INCLUDE.findall(path.read_text()))


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    violations = check(root)
    for path, line, text in violations:
        print(f"{path}:{line}: {text}")
    print(f"check_layers: {len(violations)} violations" if violations else "check_layers: all in order")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
