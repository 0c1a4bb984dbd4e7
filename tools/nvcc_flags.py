"""What ``setup.py`` gives to nvcc: the one list for the build, the checks and the PTX executor."""

import ast
from pathlib import Path
from typing import Any

SETUP = Path(__file__).resolve().parents[1] / "setup.py"


def constant(name: str) -> Any:
    """A literal that ``setup.py`` gives a name.

    Raises:
        RuntimeError: it has none of this name.
    """
    for node in ast.parse(SETUP.read_text()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    raise RuntimeError(f"setup.py has no {name}")


def shipped_flags() -> list[str]:
    """The flags of the kernels, without architectures."""
    return list(constant("NVCC_FLAGS"))


def shipped_ptx() -> str:
    """The architecture of the PTX, such as "compute_75"."""
    return str(constant("PTX"))
