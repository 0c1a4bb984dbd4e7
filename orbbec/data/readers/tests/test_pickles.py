"""Pickles that are refused, each with its reason; test_cifar.py has those that are read."""

import pickle

import numpy as np
import pytest

from orbbec.data.readers.pickles import read_pickle

NOT_PLAIN = "an array that is not of plain whole numbers"
DTYPE = "a dtype that is not of plain whole numbers"
SIZES = "an array whose shape is not a list of sizes"


class Reduced:
    """An object whose pickle calls a function and sets a state."""

    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def dtype(code="u1", state=(3, "|", None, None, None, -1, -1, 0)):
    return Reduced(np.dtype, (code, False, True), state)


BYTES = dtype()


def array(shape=(3,), raw=b"abc", kind=np.ndarray, dtype=BYTES):
    function, arguments, _ = np.zeros(3, np.uint8).__reduce__()
    return Reduced(function, (kind, *arguments[1:]), (1, shape, dtype, False, raw))


def of_state(state):
    return Reduced(*np.zeros(3, np.uint8).__reduce__()[:2], state)


def from_buffer(kind):
    function, arguments = np.zeros(3, np.uint8).__reduce_ex__(5)
    return Reduced(function, (b"abc", kind, *arguments[2:]))


def test_the_arrays_of_these_tests_are_read_where_nothing_is_wrong():
    for value in (array(), from_buffer(dtype())):
        assert bytes(read_pickle(pickle.dumps({"data": value}))["data"]) == b"abc"
    wide = array((2,), b"\0\1\0\2", dtype=dtype("u2", (3, ">", None, None, None, -1, -1, 0)))
    assert read_pickle(pickle.dumps({"data": wide}))["data"].tolist() == [1, 2]
    assert read_pickle(pickle.dumps({"data": array((1,) * 8, b"a")}))["data"].shape == (1,) * 8


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (of_state([1, (3,), dtype(), False, b"abc"]), NOT_PLAIN),
        (of_state((1, (3,), dtype(), False)), NOT_PLAIN),
        (array(dtype=None), NOT_PLAIN),
        (from_buffer(None), NOT_PLAIN),
        (array(raw="abc"), "an array without bytes or without a shape"),
        (array(shape=[3]), "an array without bytes or without a shape"),
        (array(shape=(3.0,)), SIZES),
        (array(shape=(3, 1.0)), SIZES),
        (array(shape=(-1, -3, 1)), SIZES),
        (array(shape=(3, *(1,) * 8)), SIZES),
        (array(shape=(4,)), r"an array of shape \[4\] uint8 in 3 bytes"),
        (array(kind=np.matrix), r"names numpy\.(matrix|matrixlib)"),
        (array(kind="ndarray"), "an array of another class than ndarray"),
        (dtype("f4"), "a dtype 'f4', not of whole numbers"),
        (dtype(3), "a int where text belongs"),
        (dtype(state=[3, "|", None, None, None, -1, -1, 0]), DTYPE),
        (dtype(state=(3, "|", None, None, None, -1, -1)), DTYPE),
        (dtype(state=()), DTYPE),
        (dtype(state=(3, "|", None, None, None, -1, -1, 63)), DTYPE),
        (dtype(state=(3, "|", None, ("x",), None, -1, -1, 0)), DTYPE),
        (dtype(state=(3, "|", None, None, None, 1, -1, 0)), DTYPE),
        (dtype(state=(3, "|", None, None, None, -1, 1, 0)), DTYPE),
        (dtype(state=(3, "x", None, None, None, -1, -1, 0)), "a dtype of byte order 'x'"),
        (dtype(state=(3, None, None, None, None, -1, -1, 0)), "a NoneType where text belongs"),
    ],
)
def test_an_array_of_anything_but_whole_numbers_is_refused(value, reason):
    with pytest.raises(ValueError, match=reason):
        read_pickle(pickle.dumps({"data": value}))


@pytest.mark.parametrize(
    ("opcodes", "reason"),
    [
        (b"}U\x01aK\x01a.", "appends to a bytes"),
        (b"](K\x01K\x02u.", "sets an item of a list"),
        (b"}(U\x01aK\x01U\x01bu.", "sets an item of a dict"),
        (b"(U\x01aK\x01U\x01bd.", "sets an item of a dict"),
        (b"}K\x01\x85K\x02R.", "calls a tuple"),
        (b"cnumpy\ndtype\nK\x02R.", "calls a function"),
        (b"]K\x01b.", "sets the state of a list"),
        (b"K\x01R.", "the stack is empty"),
        (b"h\x07.", "malformed: KeyError"),
        (b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00utf-8tR.", "another encoding than latin1"),
        (b"c_codecs\nencode\n(K\x01X\x06\x00\x00\x00latin1tR.", "a int where text belongs"),
        (b"}(K\x01K\x02u.", "a int where text belongs"),
        (b"].", "holds a list, not a dict"),
    ],
)
def test_opcodes_on_values_that_they_do_not_fit_are_refused(opcodes, reason):
    with pytest.raises(ValueError, match=reason):
        read_pickle(b"\x80\x02" + opcodes)
