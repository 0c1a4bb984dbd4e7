"""Writes TFRecords and protocol buffer messages."""

import struct

import crc32c


def varint(value):
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def message_of(*fields):
    """A message of byte fields, each a pair of number and bytes."""
    return b"".join(varint(number << 3 | 2) + varint(len(data)) + data for number, data in fields)


def masked(data):
    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def example(features):
    """A `tf.train.Example` of bytes, integers and floats, or lists of these, by name."""
    entries = (message_of((1, name.encode()), (2, _feature(value))) for name, value in features.items())
    return message_of((1, message_of(*((1, entry) for entry in entries))))


def _feature(value):
    values = value if isinstance(value, list) else [value]
    if isinstance(values[0], bytes):
        return message_of((1, message_of(*((1, item) for item in values))))
    if isinstance(values[0], float):
        return message_of((2, message_of((1, struct.pack(f"<{len(values)}f", *values)))))
    return message_of((3, message_of((1, b"".join(varint(item % 2**64) for item in values)))))
