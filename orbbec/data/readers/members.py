"""The members of a tar archive, whose headers may be damaged or malicious.

Python's tarfile loops for ever on a negative size, and expands sparse files without limit. Here every size
must fit into the archive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCK = 512  # bytes of a header; files are padded to a multiple
_FILES = b"0\x007"  # types of regular files
_EMPTY = b"123456"  # links, devices, folders: no data follows
_LONG_NAME, _LONG_LINK, _SPARSE = b"L", b"K", b"S"
_FIELDS = b"xgX"  # POSIX extended headers: for the next member, for all following, and Solaris' variant
_MOST_BYTES = 1 << 20  # of an extended header, which holds names and times
_RECORD = re.compile(rb"(\d{1,7}) ([^=]+)=")


class Member(NamedTuple):
    """A member, with the offset of its headers (`offset`) and of its data (`begin`)."""

    name: str
    is_file: bool
    offset: int
    begin: int
    size: int

    @property
    def end(self) -> int:
        """The offset of the next member."""
        return self.begin + _padded(self.size)

    def shifted(self, bytes_before: int) -> Member:
        """The member in an archive with more bytes before it."""
        return self._replace(offset=self.offset + bytes_before, begin=self.begin + bytes_before)


def members_of(read: Callable[[int, int], bytes], length: int | None) -> Iterator[Member]:
    """The members of an archive, up to its end or an empty header.

    Args:
        read: returns up to a number of bytes from an offset.
        length: length of the archive; None for a stream, which is read with increasing offsets.

    Raises:
        ValueError: a header is malformed, the archive is truncated, or it contains a sparse file.

    Example:
        >>> import io, tarfile
        >>> file = io.BytesIO()
        >>> with tarfile.open(fileobj=file, mode="w") as archive:
        ...     archive.addfile(tarfile.TarInfo("a/1.jpg"))
        >>> data = file.getvalue()
        >>> list(members_of(lambda offset, size: data[offset : offset + size], len(data)))
        [Member(name='a/1.jpg', is_file=True, offset=0, begin=512, size=0)]
    """
    offset = start = 0
    fields: dict[str, bytes] = {}
    always: dict[str, bytes] = {}
    while length is None or offset < length:
        header = read(offset, BLOCK)
        if header == bytes(BLOCK) or (length is None and not header):
            break
        _check(header, offset)
        kind, begin = header[156:157], offset + BLOCK
        size = _number(fields.get("size") or header[124:136], "size" in fields, offset)
        size = 0 if kind in _EMPTY else size
        if length is not None and begin + _padded(size) > length:
            raise ValueError(f"the member at byte {offset} has {size} bytes, {length - begin} are there")
        offset = begin + _padded(size)
        if kind in (_LONG_NAME, _LONG_LINK) or kind in _FIELDS:
            if size > _MOST_BYTES:
                raise ValueError(f"the header at byte {begin - BLOCK} has {size} bytes")
            data = read(begin, size)
            if kind == _LONG_NAME:
                fields["path"] = data.partition(b"\0")[0]
            elif kind in _FIELDS:
                (always if kind == b"g" else fields).update(_records(data))
            continue
        if kind == _SPARSE or any(name.startswith("GNU.sparse.") for name in (*fields, *always)):
            raise ValueError(f"the member at byte {start} is sparse")
        name = fields.get("path") or always.get("path") or _plain_name(header)
        is_file = kind in _FILES and not name.endswith(b"/")
        yield Member(name.decode("utf-8", "surrogateescape"), is_file, start, begin, size)
        start, fields = offset, {}
    if fields:
        raise ValueError(f"the archive ends at byte {offset}, after an extended header")


def _padded(size: int) -> int:
    return size + -size % BLOCK


def _check(header: bytes, offset: int) -> None:
    if len(header) < BLOCK:
        raise ValueError(f"the header at byte {offset} is truncated")
    counted = header[:148] + b" " * 8 + header[156:]
    found = _number(header[148:156], False, offset)
    total = sum(counted)
    # Some old programs summed signed bytes.
    if found != total and found != total - 256 * sum(byte > 127 for byte in counted):
        raise ValueError(f"the header at byte {offset} does not match its checksum")


def _number(field: bytes, is_decimal: bool, offset: int) -> int:
    """A non-negative number in octal digits, decimal digits, or base 256 if the first byte is 128."""
    if field[:1] == b"\x80" and not is_decimal:
        return int.from_bytes(field[1:], "big")
    digits = field if is_decimal else field.split(b"\0")[0].strip(b" ")
    if not re.fullmatch(rb"[0-9]{1,20}" if is_decimal else rb"[0-7]*", digits):
        raise ValueError(f"the header at byte {offset} has the number {digits!r:.40}")
    return int(digits or b"0", 10 if is_decimal else 8)


def _plain_name(header: bytes) -> bytes:
    name, folder = (part.partition(b"\0")[0] for part in (header[:100], header[345:500]))
    return folder + b"/" + name if folder else name


def _records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The fields of an extended header: lines of `length name=value`."""
    offset = 0
    while offset < len(data) and data[offset]:
        found = _RECORD.match(data, offset)
        end = offset + int(found[1]) if found else 0
        if found is None or end > len(data) or end <= found.end() or data[end - 1] != 0x0A:
            raise ValueError("an extended header is malformed")
        yield found[2].decode("utf-8", "surrogateescape"), data[found.end() : end - 1]
        offset = end
