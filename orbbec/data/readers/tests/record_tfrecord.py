"""Writes `records.tfrecord` with the package tfrecord 1.14.6, as a reference for the reader.

python record_tfrecord.py    (pip install tfrecord)
"""

from pathlib import Path

RECORDS = [
    {"image/encoded": (b"\xff\xd8first", "byte"), "image/class/label": (3, "int")},
    {
        "image": (b"second", "byte"),
        "label": (-7, "int"),
        "whole": ([1, -(2**63), 2**63 - 1, 300], "int"),
        "shares": ([0.5, -1.25, 1e-30], "float"),
        "texts": ([b"a", b"", "ä".encode()], "byte"),
        "one": (0.75, "float"),
    },
    {
        "image/encoded": (b"third", "byte"),
        "image/height": (200, "int"),
        "image/width": (400, "int"),
        "image/object/bbox/xmin": ([0.0, 0.25], "float"),
        "image/object/bbox/ymin": ([0.5, 0.0], "float"),
        "image/object/bbox/xmax": ([1.0, 0.5], "float"),
        "image/object/bbox/ymax": ([1.0, 0.25], "float"),
        "image/object/class/label": ([4, 9], "int"),
    },
]

if __name__ == "__main__":
    from tfrecord import TFRecordWriter

    writer = TFRecordWriter(str(Path(__file__).with_name("records.tfrecord")))
    for record in RECORDS:
        writer.write(record)
    writer.close()
