"""The flags that ``setup.py`` gives to nvcc: the one list for the build, the checks and the PTX executor."""

import ast
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / "setup.py"


def shipped_flags() -> list[str]:
    """The flags of ``setup.py``, without the number of threads.

    Raises:
        RuntimeError: ``setup.py`` has no literal list of flags for nvcc.
    """
    for node in ast.walk(ast.parse(SETUP.read_text())):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "nvcc":
                return [flag for flag in ast.literal_eval(value) if not flag.startswith("--threads")]
    raise RuntimeError("setup.py has no flags for nvcc")
