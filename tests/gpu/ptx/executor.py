"""The executor for Python: PTX text and NumPy arrays in, NumPy arrays out. Builds its library with g++."""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.gpu.ptx.compile import ROOT, load

Array = NDArray[Any]
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
_REGISTERS = {"f4": "f32", "f8": "f64", "u1": "b16", "u2": "b16", "i1": "b16", "i2": "b16"}


class Fault(RuntimeError):
    """What a launch ran into: an error of the kernel, or an instruction that the executor does not know."""


@functools.cache
def library() -> ctypes.CDLL:
    """Builds ``build/ptx/libexecutor.so`` if it is out of date, and loads it."""
    build = load(ROOT / "tests" / "emulation" / "build.py")
    plan = build.executor_plan()
    path: Path = plan.link("libexecutor.so", plan.executor(), "-shared")
    plan.build()
    loaded = ctypes.CDLL(str(path))
    loaded.ptx_load.restype = ctypes.c_void_p
    loaded.ptx_error.restype = ctypes.c_char_p
    loaded.ptx_counts.restype = ctypes.c_char_p
    loaded.ptx_lane_instructions.restype = ctypes.c_uint64
    for name in ("ptx_decode", "ptx_kernels", "ptx_launch"):
        getattr(loaded, name).argtypes = None
    return loaded


class Module:
    """Kernels of one PTX file."""

    def __init__(self, text: str) -> None:
        loaded = library().ptx_load(text.encode())
        if not loaded:
            raise Fault(library().ptx_error().decode())
        self._handle = ctypes.c_void_p(loaded)

    def kernels(self) -> list[str]:
        """The names of its kernels, as PTX has them."""
        names: list[bytes] = []
        library().ptx_kernels(self._handle, ctypes.CFUNCTYPE(None, ctypes.c_char_p)(names.append))
        return [name.decode() for name in names]

    def decode(self, kernel: str) -> None:
        """Decodes a kernel without running it.

        Raises:
            Fault: it has an instruction that the executor does not know.
        """
        if library().ptx_decode(self._handle, kernel.encode()):
            raise Fault(library().ptx_error().decode())

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[Array | np.generic],
        shared_bytes: int = 0,
    ) -> None:
        """Runs a kernel: an array is passed by its address and may be written, a scalar by its value.

        Raises:
            Fault: what went wrong, with thread, block and line.
        """
        params = bytearray()
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        for argument in arguments:
            value = np.uint64(argument.ctypes.data) if isinstance(argument, np.ndarray) else argument
            params += bytes(-len(params) % value.dtype.itemsize) + value.tobytes()
        for array in arrays:
            library().ptx_add(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        sizes = [(ctypes.c_uint32 * 3)(*dims, *[1] * (3 - len(dims))) for dims in (grid, block)]
        try:
            failed = library().ptx_launch(
                self._handle,
                kernel.encode(),
                *sizes,
                ctypes.c_uint64(shared_bytes),
                bytes(params),
                ctypes.c_size_t(len(params)),
            )
        finally:
            for array in arrays:
                library().ptx_remove(ctypes.c_void_p(array.ctypes.data))
        if failed:
            raise Fault(library().ptx_error().decode())


def counts_of(module: Module, *launch: Any, **options: Any) -> dict[str, Any]:
    """What a launch, with the arguments of `Module.launch`, did: see counts.h."""
    library().ptx_count(1)
    try:
        module.launch(*launch, **options)
    finally:
        library().ptx_count(0)
    counted: dict[str, Any] = json.loads(library().ptx_counts().decode())
    return counted


def opcodes() -> list[str]:
    """The instructions of one lane, without their roundings."""
    names: list[bytes] = []
    library().ptx_opcodes(ctypes.CFUNCTYPE(None, ctypes.c_char_p)(names.append))
    return [name.decode() for name in names]


def evaluate(code: str, *operands: Array, result: Any) -> Array:
    """Runs ``code`` in one thread per element: operands are ``%a``, ``%b``, ``%c``, the result is ``%d``."""
    count = len(operands[0])
    out = np.zeros(count, result)
    declarations, loads = [], []
    for name, operand in zip("abc", operands, strict=False):
        kind, bits = operand.dtype.str[1:], 8 * operand.dtype.itemsize
        declarations.append(f".reg .{_REGISTERS.get(kind, f'b{bits}')} %{name};")
        type_ = "fus"["fui".index(kind[0])] + str(bits)
        loads.append(f"ld.param.u64 %at, [p_{name}]; mad.wide.u32 %at, %i, {bits // 8}, %at;")
        loads.append(f"ld.global.{type_} %{name}, [%at];")
    bits = 8 * out.dtype.itemsize
    declarations.append(f".reg .{_REGISTERS.get(out.dtype.str[1:], f'b{bits}')} %d;")
    names = [*"abc"[: len(operands)], "d"]
    params = ", ".join(f".param .u64 p_{name}" for name in names)
    text = f"""{HEADER}
.visible .entry k({params})
{{
  .reg .b32 %i; .reg .b64 %at; .reg .pred %p, %q;
  {" ".join(declarations)}
  mov.u32 %i, %tid.x;
  {" ".join(loads)}
  {code}
  ld.param.u64 %at, [p_d]; mad.wide.u32 %at, %i, {bits // 8}, %at;
  st.global.{"f" if out.dtype.kind == "f" else "u"}{bits} [%at], %d;
  ret;
}}
"""
    arrays = [np.ascontiguousarray(operand) for operand in operands]
    Module(text).launch("k", (1,), (count,), [*arrays, out])
    return out
