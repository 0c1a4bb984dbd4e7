"""The executor registers the memory of NumPy arrays too, which tensors may share.

NumPy has no Python function for it: NEP 49 makes the allocator a part of the C API.
"""

from __future__ import annotations

import ctypes
import os

from numpy._core._multiarray_umath import _ARRAY_API

_SET_HANDLER = 304  # PyDataMem_SetHandler in numpy/__multiarray_api.h


def register_arrays() -> None:
    """From now on, arrays made by this thread are registered."""
    import orbbec._library  # noqa: F401 - loads the library, whose allocator this is

    library = ctypes.CDLL(os.environ["ORBBEC_LIBRARY"])
    library.ptx_numpy_handler.restype = ctypes.c_void_p
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(pointer_of(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])
    set_handler(new_capsule(library.ptx_numpy_handler(), b"mem_handler", None))
