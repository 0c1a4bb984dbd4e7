"""The binary: which file it is, loading it, and the settings that hold for all operators."""

import os
from pathlib import Path

import torch

_ARITHMETICS = ("cv2_5", "cv2_4")
_default_arithmetic = "cv2_5"


def library_path() -> Path:
    """The binary of the operators: `_C.abi3.so` of this package, or the file that ORBBEC_LIBRARY names."""
    return Path(os.environ.get("ORBBEC_LIBRARY") or Path(__file__).parent / "_C.abi3.so")


def load_library() -> None:
    """Load the binary and so register `torch.ops.orbbec`.

    Raises:
        ImportError: there is no binary, or it does not fit this torch.
    """
    path = library_path()
    if not path.exists():
        raise ImportError(f"orbbec: no binary at {path}; build it with `python setup.py develop`")
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ImportError(
            f"orbbec: {path.name} does not load beside torch {torch.__version__} (2.10 or newer is needed): "
            f"{error}; tools/collect_env.py says more"
        ) from error


def default_arithmetic() -> str:
    """The arithmetic that operators use unless told otherwise: "cv2_5" or "cv2_4".

    Example:
        >>> default_arithmetic()
        'cv2_5'
    """
    return _default_arithmetic


def set_default_arithmetic(arithmetic: str) -> None:
    """Choose whose numbers all operators give: those of OpenCV 5 ("cv2_5") or of OpenCV 4 ("cv2_4").

    Args:
        arithmetic: "cv2_5" or "cv2_4". The two differ by up to 7 levels of 255 in a warp.

    Raises:
        ValueError: another name.

    Example:
        >>> set_default_arithmetic("cv2_4")
        >>> set_default_arithmetic("cv2_5")
    """
    global _default_arithmetic
    if arithmetic not in _ARITHMETICS:
        raise ValueError(
            f"set_default_arithmetic: expected one of {', '.join(_ARITHMETICS)}, but got '{arithmetic}'"
        )
    _default_arithmetic = arithmetic
