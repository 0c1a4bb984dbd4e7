"""The features of a tf.train.Example that C++ finds are those of the Python functions."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("crc32c")

from orbbec.data import TfRecords
from orbbec.data.readers import examples
from orbbec.data.readers.examples import features_of
from orbbec.data.readers.protobuf import example_features
from orbbec.data.readers.tests.tfrecords import example, message_of, varint

ROOT = Path(__file__).parents[4]
FEATURES = {
    "image/encoded": b"\xff\xd8" + bytes(range(256)) * 5,
    "image/height": 375,
    "image/width": 500,
    "image/class/label": -3,
    "image/class/text": "Käse".encode(),
    "image/object/bbox/xmin": [0.1, 0.5, 1e-30],
    "image/object/class/label": [1, 2**63 - 1, -(2**63)],
    "texts": [b"a", b"", b"ccc"],
    "score": 0.1,
    "Größe": b"",
}
EMPTY = message_of((1, message_of((1, message_of((1, b"none"), (2, b""))))))


def fields(*values):
    """Numbers as fields of their own, as writers without `packed` make them."""
    return message_of((3, b"".join(varint(8) + varint(value % 2**64) for value in values)))


def of_feature(feature, name=b"x"):
    return message_of((1, message_of((1, message_of((1, name), (2, feature))))))


COMMON = {
    "all kinds": example(FEATURES),
    "empty": EMPTY,
    "no features": b"",
    "numbers as fields": of_feature(fields(7, -1)),
    "a number as a field": of_feature(fields(-1)),
    "no numbers": of_feature(message_of((3, b""))),
    "no texts": of_feature(message_of((1, b""))),
    "one name twice": example({"a": 1}) + example({"b": 2}) + example({"a": [3.0, 4.0]}),
    "numbers in pieces": of_feature(message_of((3, message_of((1, b"\1\2"), (1, b"\3"))))),
}
RARE = {
    "no floats": of_feature(message_of((2, b""))),
    "floats as fields": of_feature(message_of((2, b"\x0d" + struct.pack("<f", 3.5)))),
    "floats in pieces": of_feature(message_of((2, message_of((1, b"1234"), (1, b"5678"))))),
    "two lists": of_feature(message_of((1, message_of((1, b"a"))), (3, message_of((1, b"\7"))))),
    "fields in another order": message_of((1, message_of((1, message_of((2, b""), (1, b"a")))))),
    "no name": message_of((1, message_of((1, message_of((2, b"")))))),
    "another field": message_of((1, message_of((1, message_of((1, b"a"), (2, b""), (3, b"c")))))),
    "many numbers": example({"a": list(range(5000))}),
    "many features": example({str(number): number for number in range(300)}),
    "a long number": of_feature(message_of((3, message_of((1, b"\xff" * 9 + b"\x7f"))))),
    "a number too long": of_feature(message_of((3, message_of((1, b"\xff" * 10 + b"\x7f"))))),
    "half a float": of_feature(message_of((2, message_of((1, b"12345"))))),
    "no UTF-8": of_feature(b"", b"\xff"),
    "bytes as a number": varint(8) + varint(3),
    "a size beyond the end": b"\x0a" + varint(2**64 - 1) + b"abc",
    "a size of 2^63": b"\x0a" + varint(2**63) + b"abc",
}


def result_of(function, *arguments):
    try:
        return [(name, _comparable(value)) for name, value in function(*arguments).items()]
    except ValueError as error:
        return type(error), str(error)


def _comparable(value):
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes(), value.flags.writeable
    return type(value), repr(value)


@pytest.mark.parametrize("message", (COMMON | RARE).values(), ids=(COMMON | RARE).keys())
def test_features_are_those_of_the_python_functions(message):
    assert result_of(features_of, message + b"tail", -4) == result_of(example_features, message)


@pytest.mark.parametrize("message", COMMON.values(), ids=COMMON.keys())
def test_what_writers_make_needs_no_python_function(message, monkeypatch):
    expected = result_of(example_features, message)
    monkeypatch.setattr(examples, "example_features", None)
    assert result_of(features_of, message, len(message)) == expected


def test_damaged_messages_make_the_same_features_or_the_same_error():
    chance, failed, read = random.Random(7), 0, 0
    for message in (example(FEATURES | {"image/encoded": b"123"}), *COMMON.values()):
        for _ in range(300):
            data = bytearray(message)
            for _ in range(chance.randrange(3)):
                if data:
                    data[chance.randrange(len(data))] = chance.choice(
                        (0, 8, 10, 18, 127, 255, chance.randrange(256))
                    )
            damaged = bytes(data[: chance.choice((len(data), chance.randrange(len(data) + 1)))])
            expected = result_of(example_features, damaged)
            assert result_of(features_of, damaged, len(damaged)) == expected, damaged
            failed += isinstance(expected, tuple)
            read += isinstance(expected, list)
    assert min(failed, read) > 500


def test_a_record_shorter_than_its_checksum_has_no_image(tmp_path):
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    with pytest.raises(ValueError, match="expected a feature 'image/encoded' or 'image'"):
        TfRecords(tmp_path / "empty.tfrecord").record_sample(0, b"ab")


def test_no_message_is_read_beyond_its_end(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program, source = tmp_path / "example", ROOT / "orbbec/feed/tests/example.cpp"
    flags = ["-O1", "-std=c++20", "-fsanitize=address,undefined", "-fno-sanitize-recover", f"-I{ROOT}"]
    subprocess.run([compiler, *flags, source, "-o", program], check=True)
    (tmp_path / "message").write_bytes(example(FEATURES))
    done = subprocess.run([program, tmp_path / "message"], stdout=subprocess.PIPE, text=True, check=True)
    read, refused = map(int, done.stdout.split())
    assert min(read, refused) > 1000
