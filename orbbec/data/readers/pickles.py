"""Reads pickles of arrays, lists, numbers and text without calling anything that they name."""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array


def read_pickle(data: bytes) -> dict[str, Any]:
    """Read a pickled dict of integer arrays, lists, numbers and text, of protocol 0 to 5.

    The opcodes are interpreted here: nothing is imported, no function or class named by the file is called,
    and NumPy gets the bytes of an array only after dtype, shape and length have been checked.

    Returns:
        The dict; its keys are strings.

    Raises:
        ValueError: the file is malformed or contains anything else; the message says what.

    Example:
        >>> import pickle
        >>> read_pickle(pickle.dumps({b"labels": [3, 7], "data": np.arange(3, dtype=np.uint8)}))
        {'labels': [3, 7], 'data': array([0, 1, 2], dtype=uint8)}
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            machine.run(opcode.name, argument)
        table = machine.stack.pop()
    except (IndexError, KeyError) as error:  # an empty stack or a missing memo entry
        raise ValueError(f"it is malformed: {error!r}") from error
    if not isinstance(table, dict):
        raise ValueError(f"it holds a {type(table).__name__}, not a dict")
    return {key: value.numbers if isinstance(value, _Array) else value for key, value in table.items()}


@dataclass
class _Dtype:
    """The dtype of an array, built in two steps: first its code, then its byte order."""

    code: str
    order: str = "<"

    def build(self, state: Any) -> None:
        # Version, byte order, and entries that only structured, object or string dtypes use.
        if not isinstance(state, tuple) or state[2:8] != (None, None, None, -1, -1, 0):
            raise ValueError("it has a dtype that is not of plain whole numbers")
        self.order = _text(state[1])
        if self.order not in tuple("<>|="):
            raise ValueError(f"it has a dtype of byte order {self.order!r}")

    def array(self, raw: Any, shape: Any, is_fortran: bool) -> Array:
        dtype = np.dtype(self.order + self.code)
        if not isinstance(raw, bytes) or not isinstance(shape, tuple):
            raise ValueError("it has an array without bytes or without a shape")
        if not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 8:
            raise ValueError("it has an array whose shape is not a list of sizes")
        if math.prod(shape) * dtype.itemsize != len(raw):
            raise ValueError(f"it has an array of shape {list(shape)} {dtype} in {len(raw)} bytes")
        return np.frombuffer(raw, dtype).reshape(shape, order="F" if is_fortran else "C")


@dataclass
class _Array:
    numbers: Array | None = None

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[2], _Dtype):
            raise ValueError("it has an array that is not of plain whole numbers")
        _, shape, dtype, is_fortran, raw = state
        self.numbers = dtype.array(raw, shape, bool(is_fortran))


def _text(value: Any) -> str:
    """A string; Python 2 pickles it as bytes."""
    if not isinstance(value, (str, bytes)):
        raise ValueError(f"it has a {type(value).__name__} where text belongs")
    return value if isinstance(value, str) else value.decode("latin-1")


def _dtype(code: Any, *_: Any) -> _Dtype:
    if not re.fullmatch("[iu][1248]", _text(code)):
        raise ValueError(f"it has a dtype {_text(code)!r:.20}, not of whole numbers")
    return _Dtype(_text(code))


def _from_buffer(raw: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    if not isinstance(dtype, _Dtype):
        raise ValueError("it has an array that is not of plain whole numbers")
    return _Array(dtype.array(raw, shape, order == "F"))


def _encoded(text: Any, encoding: Any) -> bytes:
    """Bytes, in the form of Python 3 for protocols without a bytes type."""
    if encoding != "latin1":
        raise ValueError("it has text of another encoding than latin1")
    return _text(text).encode("latin-1")


def _no_bytes() -> bytes:
    """No bytes, in the form of Python 3 for protocols without a bytes type."""
    return b""


_NDARRAY = object()


def _reconstructed(kind: Any, shape: Any, code: Any) -> _Array:
    if kind is not _NDARRAY:
        raise ValueError("it has an array of another class than ndarray")
    return _Array()


# Names in pickles of arrays, some of which NumPy 2 moved, and the local functions that replace them.
_NAMED: dict[str, Any] = {
    "numpy ndarray": _NDARRAY,
    "numpy dtype": _dtype,
    "_codecs encode": _encoded,
    "__builtin__ bytes": _no_bytes,
    "numpy.core.multiarray _reconstruct": _reconstructed,
    "numpy._core.multiarray _reconstruct": _reconstructed,
    "numpy.core.numeric _frombuffer": _from_buffer,
    "numpy._core.numeric _frombuffer": _from_buffer,
}
_IGNORED = ("PROTO", "FRAME", "STOP")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
_TEXTS = ("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_BYTES = ("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8")
_STRINGS = ("STRING", "BINSTRING", "SHORT_BINSTRING")  # of Python 2
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")


class _Machine:
    """The interpreter of a pickle: stack and memo."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}
        self._actions: dict[str, Callable[[], None]] = {
            "MARK": self._mark,
            "EMPTY_LIST": lambda: self._push([]),
            "EMPTY_DICT": lambda: self._push({}),
            "LIST": lambda: self._push(self._marked()),
            "DICT": self._dict,
            "TUPLE": lambda: self._push(tuple(self._marked())),
            "TUPLE1": lambda: self._push(tuple(self._popped(1))),
            "TUPLE2": lambda: self._push(tuple(self._popped(2))),
            "TUPLE3": lambda: self._push(tuple(self._popped(3))),
            "APPEND": lambda: self._extend(self._popped(1)),
            "APPENDS": lambda: self._extend(self._marked()),
            "SETITEM": lambda: self._update(self._popped(2)),
            "SETITEMS": lambda: self._update(self._marked()),
            "STACK_GLOBAL": lambda: self._push_named(" ".join(map(_text, self._popped(2)))),
            "REDUCE": self._reduce,
            "BUILD": self._build,
        }

    def run(self, name: str, argument: Any) -> None:
        """Run one opcode."""
        if name in _NUMBERS or name in _TEXTS:
            self.stack.append(argument)
        elif name in _STRINGS:
            self.stack.append(argument.encode("latin-1"))
        elif name in _BYTES:
            self.stack.append(bytes(argument))
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _PUTS or name == "MEMOIZE":
            self._memo[len(self._memo) if name == "MEMOIZE" else argument] = self.stack[-1]
        elif name in _GETS:
            self.stack.append(self._memo[argument])
        elif name == "GLOBAL":
            self._push_named(argument)
        elif name in self._actions:
            self._actions[name]()
        elif name not in _IGNORED:
            raise ValueError(f"it has the opcode {name}")

    def _push(self, value: Any) -> None:
        self.stack.append(value)

    def _mark(self) -> None:
        self._below.append(self.stack)
        self.stack = []

    def _marked(self) -> list[Any]:
        items, self.stack = self.stack, self._below.pop()
        return items

    def _popped(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise IndexError("the stack is empty")
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def _extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise ValueError(f"it appends to a {type(self.stack[-1]).__name__}")
        self.stack[-1].extend(items)

    def _update(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict) or len(items) % 2:
            raise ValueError(f"it sets an item of a {type(self.stack[-1]).__name__}")
        # Strings only: hashing or printing deeply shared tuples takes exponential time.
        self.stack[-1].update(zip(map(_text, items[::2]), items[1::2], strict=True))

    def _dict(self) -> None:
        items = self._marked()
        self.stack.append({})
        self._update(items)

    def _push_named(self, name: str) -> None:
        if name not in _NAMED:
            raise ValueError(f"it names {name.replace(' ', '.'):.80}")
        self.stack.append(_NAMED[name])

    def _reduce(self) -> None:
        function, arguments = self._popped(2)
        if not callable(function) or not isinstance(arguments, tuple):
            raise ValueError(f"it calls a {type(function).__name__}")
        try:
            self.stack.append(function(*arguments))
        except TypeError as error:
            raise ValueError(f"it calls a function with {len(arguments)} arguments") from error

    def _build(self) -> None:
        (state,) = self._popped(1)
        if not isinstance(self.stack[-1], (_Array, _Dtype)):
            raise ValueError(f"it sets the state of a {type(self.stack[-1]).__name__}")
        self.stack[-1].build(state)
