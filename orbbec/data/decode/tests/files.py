"""Files written byte by byte, with what no library writes."""

import struct
import zlib

PREFIX = b"Exif\0\0"
SHORT, LONG, BYTE = 3, 4, 1
XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/>'
    b"</rdf:RDF></x:xmpmeta>"
)


def exif(*orientations, order="<", type=SHORT, count=1, version=42, declared=None):
    """A TIFF block with an orientation for each argument; `declared` is the stated number of entries."""
    value = {SHORT: "H", LONG: "I", BYTE: "B"}[type]
    entries = b"".join(
        struct.pack(f"{order}HHI{value}", 0x0112, type, count, number).ljust(12, b"\0")
        for number in orientations
    )
    begin = {"<": b"II", ">": b"MM"}[order] + struct.pack(f"{order}HI", version, 8)
    number = len(orientations) if declared is None else declared
    return begin + struct.pack(f"{order}H", number) + entries + bytes(4)


def with_segment(jpeg, content, marker=0xE1):
    """A JPEG with one more segment, before all others."""
    return jpeg[:2] + struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content + jpeg[2:]


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunk(png, kind, content):
    """A PNG with one more chunk, after its header."""
    return png[:33] + chunk(kind, content) + png[33:]


def png_row(bits, color, row, *chunks):
    """A PNG of one row of four pixels."""
    header = struct.pack(">IIBBBBB", 4, 1, bits, color, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return signature + b"".join(chunks) + chunk(b"IDAT", zlib.compress(b"\0" + row)) + chunk(b"IEND", b"")


def tiff_gray(pixels, bits, *, sample_format=1, photometric=1, height=1, extra=(), order="<"):
    """A TIFF of rows of four gray pixels; `extra` are entries (tag, type, value)."""
    entries = [(256, SHORT, 4), (257, SHORT, height), (258, SHORT, bits), (259, SHORT, 1), (273, LONG, 0)]
    entries += [(262, SHORT, photometric), (277, SHORT, 1), (278, SHORT, height), (279, LONG, len(pixels))]
    entries = sorted([*entries, (339, SHORT, sample_format), *extra])
    begin = 8 + 2 + 12 * len(entries) + 4
    file = {"<": b"II", ">": b"MM"}[order] + struct.pack(f"{order}HIH", 42, 8, len(entries))
    for tag, type, value in entries:
        number = begin if tag == 273 else value
        packed = struct.pack(order + {SHORT: "H", LONG: "I"}[type], number)
        file += struct.pack(f"{order}HHI", tag, type, 1) + packed.ljust(4, b"\0")
    return file + bytes(4) + pixels
