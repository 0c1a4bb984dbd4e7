"""RecordIO files of MXNet, written as its documentation describes them."""

import struct

import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Decoding, RecordIo, open_source
from orbbec.data.loader.tests.test_by_feed import assert_same, epoch_of

MAGIC = struct.pack("<I", 0xCED7230A)


def part(kind, data):
    return MAGIC + struct.pack("<I", kind << 29 | len(data)) + data + bytes(-len(data) % 4)


def record(image, label=0.0, number=0):
    """A record; one that contains the magic number at a multiple of four bytes is split there."""
    labels = b"" if isinstance(label, float) else np.asarray(label, "<f4").tobytes()
    head = struct.pack("<IfQQ", len(labels) // 4, label if not labels else 0.0, number, 0)
    content = head + labels + image
    cuts = [at for at in range(0, len(content) - 3, 4) if content[at : at + 4] == MAGIC]
    pieces, begin = [], 0
    for cut in cuts:
        pieces.append(content[begin:cut])
        begin = cut + 4
    pieces.append(content[begin:])
    kinds = [0] if len(pieces) == 1 else [1, *[2] * (len(pieces) - 2), 3]
    return b"".join(map(part, kinds, pieces))


def write(root, records, keys=None, order=None):
    offsets = np.cumsum([0, *map(len, records)]).tolist()
    (root / "a.rec").write_bytes(b"".join(records))
    if keys is not None:
        rows = [f"{keys[n]}\t{offsets[n]}\n" for n in (order or range(len(records)))]
        (root / "a.idx").write_text("".join(rows))
    return root / "a.rec"


RECORDS = [record(b"one", 3.0), record(b"twotwo", 0.5), record(b"three", [1, 2, 3]), record(b"4", [7])]


@pytest.mark.parametrize("indexed", [False, True])
def test_records_have_images_and_labels(tmp_path, indexed):
    source = RecordIo(write(tmp_path, RECORDS, range(4) if indexed else None))
    assert [source[n].data for n in range(4)] == [b"one", b"twotwo", b"three", b"4"]
    labels = [source[n].targets["label"] for n in range(4)]
    assert labels[:2] == [3, 0.5]
    assert isinstance(labels[0], int)
    assert [label.tolist() for label in labels[2:]] == [[1, 2, 3], [7]]
    assert [source[n].sample_id for n in range(4)] == [0, 1, 2, 3]
    assert source[1].path == f"{tmp_path}/a.rec:{len(RECORDS[0])}"
    assert isinstance(open_source(tmp_path / "a.rec"), RecordIo)


def test_the_index_gives_the_order_and_may_leave_out_records(tmp_path):
    source = RecordIo(write(tmp_path, RECORDS, range(4), order=[3, 1]))
    assert [sample.data for sample in source] == [b"4", b"twotwo"]


@pytest.mark.parametrize(
    "image", [MAGIC, b"...." + MAGIC * 2 + b"..", b"..." + MAGIC, MAGIC + b"." * 7 + MAGIC]
)
def test_records_that_contain_the_magic_number_are_joined(tmp_path, image):
    source = RecordIo(write(tmp_path, [record(image, 1.0), record(b"next", 2.0)]))
    assert [sample.data for sample in source] == [image, b"next"]


def test_records_of_identities_are_left_out(tmp_path):
    records = [
        record(b"", [3, 5]),
        record(b"one", 0.0),
        record(b"two", 1.0),
        record(b"", [1, 2]),
        record(b"", [2, 3]),
    ]
    source = RecordIo(write(tmp_path, records, range(5)))
    assert [(sample.data, sample.targets["label"], sample.sample_id) for sample in source] == [
        (b"one", 0, 0), (b"two", 1, 1)
    ]  # fmt: skip


def test_a_record_may_be_parsed_in_another_way(tmp_path):
    def boxes(record):
        return record.image, {"boxes": record.label.reshape(-1, 4), "number": record.id}

    source = RecordIo(write(tmp_path, [record(b"one", [1, 2, 3, 4], 17)]), parse=boxes)
    assert source[0].targets["boxes"].tolist() == [[1, 2, 3, 4]]
    assert source[0].targets["number"] == 17


def test_damaged_records_are_bad_samples_and_others_are_read(tmp_path):
    file = write(
        tmp_path,
        [record(b"one", 1.0), record(b"", 2.0), record(b"two", 3.0), record(b"three", 4.0)],
        range(4),
    )
    data = bytearray(file.read_bytes())
    source = RecordIo(file)
    data[0] ^= 1
    file.write_bytes(data[:-6])
    for index, reason in (
        (0, "expected the beginning of a record"),
        (1, "the record has no image"),
        (3, "the file ends 6 bytes before"),
    ):
        with pytest.raises(BadSample, match=rf"sample {index} \(.*a.rec:\d+\): .*{reason}"):
            source[index]
    assert source[2].data == b"two"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (part(0, b"short"), "expected a header of 24 bytes, but got 5"),
        (part(0, struct.pack("<IfQQ", 99, 0, 0, 0)), "expected 99 labels, but the record has 24 bytes"),
        (part(1, b"a" * 24) + part(1, b"b" * 24), "parts of a record in order, but got one of kind 1"),
        (part(5, b"a" * 24), "parts of a record in order, but got one of kind 5"),
        (MAGIC + struct.pack("<I", 1 << 20), "the record ends 1048576 bytes after its last byte"),
        (part(1, b"a" * 24), "the record is truncated"),
    ],
)
def test_malformed_records_are_named(tmp_path, content, reason):
    source = RecordIo(write(tmp_path, [record(b"one", 1.0), content], range(2)))
    with pytest.raises(BadSample, match=reason):
        source[1]


def test_malformed_files_and_indices_are_named(tmp_path):
    file = write(tmp_path, RECORDS)
    (tmp_path / "b.rec").write_bytes(RECORDS[0] + b"no record")
    with pytest.raises(
        ValueError, match=rf"RecordIo: expected the beginning .* at byte {len(RECORDS[0])} of .*b.rec"
    ):
        RecordIo(tmp_path / "b.rec")
    for text, reason in (
        ("0\t0\n1 x\n", "a key and an offset in line 2 of .*a.idx, but got '1 x'"),
        ("0\t0\n1\t99999\n", "offsets below .* line 2 has 99999"),
        ("0\t0\n1\t0\n", "distinct offsets"),
    ):
        (tmp_path / "a.idx").write_text(text)
        with pytest.raises(ValueError, match=f"RecordIo: expected {reason}"):
            RecordIo(file)
    (tmp_path / "a.idx").write_text("")
    assert len(RecordIo(file)) == 0


def test_the_feed_makes_the_batches_of_the_python_functions(tmp_path, monkeypatch):
    files = []
    for number in range(8):
        Image.new("RGB", (20 + number, 16), (30 * number, 0, 0)).save(tmp_path / "a.jpg")
        files.append(record((tmp_path / "a.jpg").read_bytes(), float(number)))
    source = RecordIo(write(tmp_path, files))
    results = []
    for feed in ("1", "0"):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        results.append(epoch_of(source, None, Decoding(), "raise", False))
    assert_same(*results)
    assert [label["label"] for _, targets, _ in results[0][0] for label in targets] != []
