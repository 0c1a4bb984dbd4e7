"""Writes damage.json: what parsers make of files that are cut off or have another byte, today.

    python orbbec/data/tests/record_damage.py

A checksum for each parser and each kind of damage, of all results and refusals.
"""

import json
import pickle
import struct
import traceback
from pathlib import Path

import numpy as np

from orbbec.data.decode import exif, jpeg_header, png_chunks
from orbbec.data.decode.pnm import deep_pnm
from orbbec.data.decode.tests import files
from orbbec.data.readers.annotations.yolo_rows import YoloFormat
from orbbec.data.readers.members import members_of
from orbbec.data.readers.pickles import read_pickle
from orbbec.data.readers.protobuf import datum_sample, example_features, example_sample, example_size
from orbbec.data.readers.record_io import _record_of
from orbbec.data.readers.tar import to_entries
from orbbec.data.readers.tests import test_record_io as record_io
from orbbec.transforms.base.tests.record_programs import checksum

PATH = Path(__file__).with_name("damage.json")
PACKAGE = str(Path(__file__).parents[2])
TIFF = files.exif(6, 3)
SEGMENTS = (
    (0xE1, b"Exif\0\0" + TIFF),
    (0xFE, b"comment"),
    (0xC2, struct.pack(">BHHB", 8, 5, 7, 3) + bytes(9)),
)
JPEG = b"".join(struct.pack(">BBH", 255, kind, len(data) + 2) + data for kind, data in SEGMENTS)
PNG = files.png_row(4, 0, b"\x01\x23", files.chunk(b"tRNS", b"\0\3"), files.chunk(b"eXIf", TIFF))
BOXES = {f"image/object/bbox/{side}": [0.25, 0.5] for side in ("xmin", "ymin", "xmax", "ymax")}
COUNTS = {"image/height": [300], "image/width": [7], "image/object/class/label": [2, -1], "label": [3]}


def varint(value):
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def message(*fields):
    """A message of bytes and whole numbers, by the number of the field."""
    parts = (
        varint(number << 3) + varint(value % 2**64)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )
    return b"".join(parts)


def feature(name, kind, values):
    return (1, message((1, name.encode()), (2, message((kind, message((1, values)))))))


EXAMPLE = message(
    (
        1,
        message(
            feature("image/encoded", 1, b"P5 1 1 255 a"),
            *(feature(name, 2, struct.pack("<2f", *values)) for name, values in BOXES.items()),
            *(feature(name, 3, b"".join(varint(n % 2**64) for n in ns)) for name, ns in COUNTS.items()),
        ),
    )
)
DATUM = message((1, 3), (2, 2), (3, 1), (4, b"abcdef"), (5, -3), (7, 0))
TABLE = {
    "labels": [3, 300, -1],
    "names": ("a", b"b", 0.5),
    "data": np.arange(6, dtype=np.uint16).reshape(2, 3),
}
PICKLE = pickle.dumps(TABLE, 2).replace(b"numpy._core.", b"numpy.core.")  # as NumPy 1 writes it
TAR = to_entries("7", {"jpg": b"1" * 20, "x" * 101 + ".cls": b"3"})


def features_of(data):
    features = example_features(data)
    return features, example_size(features), example_sample(features)


def members(data):
    return list(members_of(lambda at, size: data[at : at + size], len(data)))


def with_checksums(data):
    """The archive whose headers match their checksums."""
    result = bytearray(data)
    for at in range(0, len(data) - 511, 1024):
        result[at + 148 : at + 156] = b" " * 8
        result[at + 148 : at + 156] = b"%06o\0 " % sum(result[at : at + 512])
    return bytes(result)


def orientations(data):
    return exif.exif_orientation(data), exif.without_orientation(data)


def yolo_rows(points):
    return lambda data: vars(YoloFormat(3, points).read(data.decode("latin-1"), Path("a.txt"), 1))


PARSERS = {
    "orientation": (TIFF, orientations),
    "orientation, the first byte first": (files.exif(6, order=">"), orientations),
    "JPEG": (
        b"\xff\xd8" + JPEG + b"\xff\xda\0\2picture\xff\xd9",
        lambda data: (jpeg_header.jpeg_header(data), jpeg_header.without_metadata(data)),
    ),
    "PNG": (
        PNG,
        lambda data: (
            png_chunks.png_exif(data),
            png_chunks.gray_step(data),
            png_chunks.without_metadata(data),
        ),
    ),
    "PNM": (b"P6 #\n2 1 300\n" + bytes(range(12)), lambda data: deep_pnm(data, 9)),
    "tar": (TAR, members),
    "headers of a tar": (TAR, lambda data: members(with_checksums(data))),
    "example": (EXAMPLE, features_of),
    "datum": (DATUM, lambda data: datum_sample(b"", data)),
    "record": (record_io.record(b"1234" + record_io.MAGIC + b"5", [1.0, 2.5], 9), _record_of),
    "pickle": (PICKLE, read_pickle),
    "boxes": (b"1 0.5 0.25 0.5 0.5\n\n2 0 0 1 1 1 0.5\n", yolo_rows(None)),
    "keypoints": (b"1 0.5 0.25 0.5 0.5 0.1 0.2 2 0.75 1 0\n", yolo_rows((2, 3))),
}
DAMAGE = {
    "cut off": lambda data: (data[:end] for end in range(len(data) + 1)),
    "a bit": lambda data: _changed(data, lambda byte: byte ^ 1),
    "the first bit": lambda data: _changed(data, lambda byte: byte ^ 128),
    "zero": lambda data: _changed(data, lambda byte: 0),
    "the next": lambda data: _changed(data, lambda byte: min(byte + 1, 255)),
}


def _changed(data, change):
    """The data with one other byte; zeros, of which files are full, are changed at every ninth position."""
    for at, byte in enumerate(data):
        if byte or at % 9 == 0:
            yield data[:at] + bytes([change(byte)]) + data[at + 1 :]


def described(value):
    if hasattr(value, "tolist"):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, dict):
        return {name: described(each) for name, each in value.items()}
    return [described(each) for each in value] if isinstance(value, (list, tuple)) else value


def text_of(parse, data):
    """The result, or the message of a refusal of this package: those of Python depend on its version."""
    try:
        return str(described(parse(data)))
    except Exception as error:
        has_text = traceback.extract_tb(error.__traceback__)[-1].filename.startswith(PACKAGE)
        return str(error) if has_text and isinstance(error, ValueError) else type(error).__name__


def checksums_of(name):
    """The checksum of each kind of damage."""
    data, parse = PARSERS[name]
    return {
        kind: checksum("\n".join(text_of(parse, each) for each in make(data)))
        for kind, make in DAMAGE.items()
    }


def main():
    PATH.write_text(json.dumps({name: checksums_of(name) for name in PARSERS}, indent=0) + "\n")


if __name__ == "__main__":
    main()
