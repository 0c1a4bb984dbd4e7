"""The binary: its path, loading it, and settings of all operators."""

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.torch_version import TorchVersion

_ARITHMETICS = ("cv2_5", "cv2_4")
_main_arithmetic = "cv2_5"  # for the main thread and threads without a setting
_of_thread = threading.local()  # not a ContextVar, which torch.compile cannot trace


class _Operators:
    """The operators by name, whose refusals are ValueErrors with every torch."""

    def __getattr__(self, name: str) -> Any:
        operator = _refusing(getattr(torch.ops.orbbec, name).default)
        setattr(self, name, operator)
        return operator


operators = _Operators()


def library_path() -> Path:
    """The binary of the operators: `_C.abi3.so` of this package, or the file in ORBBEC_LIBRARY."""
    return Path(os.environ.get("ORBBEC_LIBRARY") or Path(__file__).parent / "_C.abi3.so")


def load_library() -> None:
    """Load the binary, which registers `torch.ops.orbbec`.

    Raises:
        ImportError: the binary is missing, or incompatible with this torch.
        ValueError: ORBBEC_SIMD names no level.
    """
    path = library_path()
    if not path.is_file():
        variable = os.environ.get("ORBBEC_LIBRARY")
        if variable:
            raise ImportError(f"orbbec: expected ORBBEC_LIBRARY as a binary, but got '{variable}'")
        raise ImportError(f"orbbec: no binary at {path}; build it with `python setup.py develop`")
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ImportError(
            f"orbbec: {path.name} does not load with torch {torch.__version__} (2.10 or newer is needed): "
            f"{error}; see the output of tools/collect_env.py"
        ) from error
    if hasattr(torch.ops.orbbec, "cpu_target"):  # a binary of some operators alone may lack it
        operators.cpu_target()  # reads ORBBEC_SIMD


def _refusing(operator: Any) -> Any:
    """An operator that raises ValueError for what it refuses, which newer torch raises as RuntimeError."""
    if TorchVersion(torch.__version__) < "2.14":
        return operator

    def call(*arguments: Any) -> Any:
        try:
            return operator(*arguments)
        except RuntimeError as error:
            if (refusal := _last_refusal()()) and str(error).startswith(refusal.decode()):
                raise ValueError(str(error)) from None
            raise

    call.name = operator.name  # type: ignore[attr-defined]
    return call


@cache
def _last_refusal() -> Callable[[], bytes]:
    """Gives the message of the last refusal in this thread."""
    function = ctypes.CDLL(str(library_path())).orbbec_last_refusal
    function.restype = ctypes.c_char_p
    return function


def default_arithmetic() -> str:
    """The default arithmetic of operators in this thread: "cv2_5" or "cv2_4".

    Example:
        >>> default_arithmetic()
        'cv2_5'
    """
    chosen: str | None = getattr(_of_thread, "arithmetic", None)
    return _main_arithmetic if chosen is None else chosen


class set_default_arithmetic:
    """Choose the results of all operators: those of OpenCV 5 ("cv2_5") or of OpenCV 4 ("cv2_4").

    A setting in the main thread also applies to threads without a setting. A setting in another thread
    applies to that thread only. The threads of a `Loader` use the setting of the thread that began the epoch.
    It takes effect immediately; as a context manager, like `torch.set_grad_enabled`, until the block ends.

    Args:
        arithmetic: "cv2_5" or "cv2_4". The two differ by up to 7 levels of 255 in a warp.

    Raises:
        ValueError: the name is unknown.

    Example:
        >>> with set_default_arithmetic("cv2_4"):
        ...     default_arithmetic()
        'cv2_4'
        >>> default_arithmetic()
        'cv2_5'
    """

    def __init__(self, arithmetic: str) -> None:
        if arithmetic not in _ARITHMETICS:
            raise ValueError(
                f"set_default_arithmetic: expected one of {', '.join(_ARITHMETICS)}, but got '{arithmetic}'"
            )
        self._before = getattr(_of_thread, "arithmetic", None), _main_arithmetic
        _set(arithmetic, arithmetic)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set(*self._before)


def _set(of_thread: str | None, of_main: str) -> None:
    """Set the arithmetic of this thread and, in the main thread, of threads without a setting."""
    global _main_arithmetic
    _of_thread.arithmetic = of_thread
    if threading.current_thread() is threading.main_thread():
        _main_arithmetic = of_main
