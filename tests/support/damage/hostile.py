"""Hostile archives, with false headers."""

from __future__ import annotations

from orbbec.data.readers.tar import to_entries


def with_checksum(header: bytes) -> bytes:
    counted = header[:148] + b" " * 8 + header[156:]
    return header[:148] + b"%06o\0 " % sum(counted) + header[156:]


def with_size(entries: bytes, size: bytes) -> bytes:
    """Entries whose first header has another size."""
    return with_checksum(entries[:124] + size + entries[136:512]) + entries[512:]


def extended(kind: bytes, fields: bytes) -> bytes:
    header = to_entries("x", {"y": fields})
    return with_checksum(header[:156] + kind + header[157:512]) + header[512:]


def record(name: str, value: str) -> bytes:
    rest = f" {name}={value}\n"
    return next(f"{n}{rest}".encode() for n in range(len(rest), 99) if len(f"{n}{rest}") == n)


ENTRIES = to_entries("7", {"jpg": b"1" * 700, "cls": b"3"})
HOSTILE_ENTRIES = {
    "negative": with_size(ENTRIES, b"-0000001000\0"),
    "negative, of a block": with_size(ENTRIES, b"-0000002000\0"),
    "negative, base 256": with_size(ENTRIES, b"\xff" * 10 + b"\xfc\0"),
    "huge": with_size(ENTRIES, b"77777777777\0"),
    "huge, base 256": with_size(ENTRIES, b"\x80" + b"\x7f" * 11),
    "other digits": with_size(ENTRIES, b"0b000000001\0"),
    "negative, extended": extended(b"x", record("size", "-512")) + ENTRIES,
    "huge, extended": extended(b"x", record("size", "9" * 19)) + ENTRIES,
    "extended beyond itself": extended(b"x", b"999 path=a\n") + ENTRIES,
    "extended, of length 0": extended(b"x", b"0 path=a\n") + ENTRIES,
    "extended alone": extended(b"x", record("path", "a.jpg")),
    "sparse": with_checksum(ENTRIES[:156] + b"S" + ENTRIES[157:512]) + ENTRIES[512:],
    "sparse, extended": extended(b"x", record("GNU.sparse.size", "9" * 15)) + ENTRIES,
    "no checksum": ENTRIES[:148] + b"1" + ENTRIES[149:],
    "cut off": ENTRIES[:-100],
}
