"""The binary: which file it is, loading it, and the settings that hold for all operators."""

import os
import threading
from pathlib import Path
from types import TracebackType

import torch

_ARITHMETICS = ("cv2_5", "cv2_4")
_main_arithmetic = "cv2_5"  # of the main thread, and of threads that set none
_of_thread = threading.local()  # no ContextVar, which torch.compile does not trace


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
    """The arithmetic that operators use in this thread unless told otherwise: "cv2_5" or "cv2_4".

    Example:
        >>> default_arithmetic()
        'cv2_5'
    """
    chosen: str | None = getattr(_of_thread, "arithmetic", None)
    return _main_arithmetic if chosen is None else chosen


class set_default_arithmetic:
    """Choose whose numbers all operators give: those of OpenCV 5 ("cv2_5") or of OpenCV 4 ("cv2_4").

    Set in the main thread, it holds there and in all threads that have set none. Set in another thread, it
    holds in that thread alone. The threads of a `Loader` compute as the thread that began the epoch did then.
    It takes effect at once; as a context manager, as `torch.set_grad_enabled`, until the block ends.

    Args:
        arithmetic: "cv2_5" or "cv2_4". The two differ by up to 7 levels of 255 in a warp.

    Raises:
        ValueError: another name.

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


def _set(own: str | None, of_main: str) -> None:
    """Set that of this thread and, where it is the main thread, that of threads that set none."""
    global _main_arithmetic
    _of_thread.arithmetic = own
    if threading.current_thread() is threading.main_thread():
        _main_arithmetic = of_main
