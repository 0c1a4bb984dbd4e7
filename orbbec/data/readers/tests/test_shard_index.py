"""Index files of tar archives: of `pack`, and of archives of other tools."""

import io
import json
import tarfile
import zlib

import numpy as np
import pytest

from orbbec.data import BadSample, Sample, Shards, index_archives, pack
from orbbec.data.readers.fields import pack_fields
from orbbec.data.readers.shard_index import (
    NO_LABEL,
    Index,
    Row,
    index_path,
    make_index,
    read_index,
    to_rows,
    write_index,
)
from orbbec.data.readers.tar import end_of_archive, from_entries, to_entries
from tests.support.damage.examine import Guard
from tests.support.damage.hostile import HOSTILE_ENTRIES


def archive_of(format=tarfile.PAX_FORMAT, prefix=""):
    """An archive written by Python: a folder, two samples, a note, and one more sample."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name in ("a.x.jpg", "a.cls", "b.jpg", "README", "c.jpg"):
            info = tarfile.TarInfo(prefix + name)
            info.size = len(name) * 100
            archive.addfile(info, io.BytesIO(name.encode() * 100))
    return file.getvalue()


@pytest.mark.parametrize("prefix", ["", "v1.0/", "long/" * 30])
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_by_other_hands_are_indexed(tmp_path, format, prefix):
    data = archive_of(format, prefix)
    (tmp_path / "a.tar").write_bytes(data)
    index = make_index(tmp_path / "a.tar", first_id=40)
    rows = [Row(*row) for row in index.samples.tolist()]
    assert [row.sample_id for row in rows] == [40, 41, 42]
    broken, *plain = rows
    entries = data[broken.offset : broken.offset + broken.size]  # its label is none
    assert broken.crc == zlib.crc32(entries)
    assert from_entries(entries) == {"x.jpg": b"a.x.jpg" * 100, "cls": b"a.cls" * 100}
    images = [data[row.image_offset : row.image_offset + row.image_size] for row in plain]
    assert images == [b"b.jpg" * 100, b"c.jpg" * 100]
    assert [row.image_crc for row in plain] == list(map(zlib.crc32, images))
    assert [(row.label, row.size) for row in plain] == [(NO_LABEL, 0)] * 2


def test_folders_whose_names_differ_in_the_last_byte_of_a_header_have_different_samples(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for last in "ab":
            info = tarfile.TarInfo(154 * "f" + last + "/1.jpg")
            info.size = 1
            archive.addfile(info, io.BytesIO(last.encode()))
    index_archives(tmp_path)
    assert [sample.data for sample in Shards(tmp_path)] == [b"a", b"b"]


def test_hidden_files_of_macos_are_no_fields(tmp_path):
    names = ["d/._1.jpg", "d/1.jpg", "d/._1.cls", "d/1.cls", "d/._2.jpg", "d/2.jpg", "._d", ".DS_Store"]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"123"))
    index_archives(tmp_path)
    assert [(sample.data, sample.targets) for sample in Shards(tmp_path)] == [
        (b"123", {"label": 123}), (b"123", {})
    ]  # fmt: skip


def test_an_archive_that_is_cut_off_has_no_index(tmp_path):
    data = archive_of()
    end = len(data.rstrip(b"\0"))
    for length in range(0, end, 256):
        (tmp_path / "a.tar").write_bytes(data[:length])
        with pytest.raises(
            ValueError, match=r"a\.tar (is truncated|is not a complete, uncompressed archive)"
        ):
            make_index(tmp_path / "a.tar", 0)


def test_the_shortest_archive_has_two_blocks(tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(1024))
    assert len(make_index(tmp_path / "a.tar", 0).samples) == 0
    (tmp_path / "a.tar").write_bytes(bytes(1023))
    with pytest.raises(ValueError, match="it is truncated at byte 0"):
        make_index(tmp_path / "a.tar", 0)


def test_a_compressed_archive_has_no_index(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w:gz"):
        pass
    with pytest.raises(ValueError, match="is not a complete, uncompressed archive"):
        make_index(tmp_path / "a.tar", 0)


def as_tuple(index):
    return index.samples.tolist(), index.skipped


@pytest.mark.parametrize("name", ["jpg", "cls"])
def test_a_field_that_comes_twice_makes_a_bad_sample(tmp_path, name):
    entries = to_entries("7", {"jpg": b"1", "cls": b"3"}) + to_entries("7", {name: b"2"})
    (tmp_path / "a.tar").write_bytes(entries + end_of_archive(len(entries)))
    index_archives(tmp_path)
    with pytest.raises(BadSample, match=rf"has 7\.{name} twice"):
        Shards(tmp_path)[0]


def test_an_index_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    archive = tmp_path / "a.b.tar"
    index = Index(to_rows([Row(3, 512, 9, 77)]), [(4, "x.jpg", "the file is empty")])
    write_index(archive, index)
    assert index_path(archive).name == "a.b.index.json"
    assert as_tuple(read_index(archive)) == as_tuple(index)
    assert index.taken == 2

    def refuse(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_index(archive, Index(to_rows([])))
    assert as_tuple(read_index(archive)) == as_tuple(index)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"samples": [[1, 2]], "skipped": []}',
        '{"samples": 3, "skipped": []}',
        '{"samples": [], "skipped": [["1_1", "a", "b"]]}',
        '{"samples": [], "skipped": [[1.5, "a", "b"]]}',
        '{"samples": [], "skipped": [[1, "a", "b"], [1.5, "a", "b"]]}',
    ],
)
def test_malformed_indexes_are_named(tmp_path, text):
    index_path(tmp_path / "a.tar").write_text(text)
    with pytest.raises(ValueError, match=r"a\.index\.json is not an index"):
        read_index(tmp_path / "a.tar")


BOXES = np.arange(8, dtype=np.float32).reshape(2, 4)
SAMPLES = [
    Sample(b"\xff\xd8\xff" + b"1" * 700, {"label": 3}, 7),
    Sample(b"any bytes", {}, 2**40),
    Sample(b"", {"label": -(2**63)}, 8),
    Sample(b"P5 1 1 255 a", {"label": 2**63 - 1}, 9),
    Sample(b"P5 1 1 255 b", {"label": True}, 10),
    Sample(b"P5 1 1 255 c", {"label": 3, "boxes": BOXES}, 11),
    Sample(b"P5 1 1 255 d", {"label": 3}, 12, size=(1, 1)),
    Sample(np.zeros((2, 2, 3), np.uint8), {"label": 3}, 13),
    Sample(b"P5 1 1 255 e", {"label": "dot"}, 14),
]
PLAIN = [0, 1, 3]  # those whose image and label are all


def seen(sample):
    """What can be compared of a sample."""
    targets = {name: (type(value), np.asarray(value).tolist()) for name, value in sample.targets.items()}
    return np.asarray(sample.data).tolist(), targets, sample.sample_id, sample.size


def write_version_1(folder, samples):
    """Write the index of a single archive as its first version: id, offset, size, checksum of the entries."""
    rows, begin = [], 0
    for sample in samples:
        entries = to_entries(f"{sample.sample_id:09d}", pack_fields(sample))
        rows.append([sample.sample_id, begin, len(entries), zlib.crc32(entries)])
        begin += len(entries)
    index_path(folder / "shard-000000.tar").write_text(json.dumps({"samples": rows, "skipped": []}))


def test_an_image_with_its_label_is_read_alone_with_the_same_result(tmp_path):
    pack(SAMPLES, tmp_path)
    rows = read_index(tmp_path / "shard-000000.tar").samples
    assert np.flatnonzero(rows[:, Row._fields.index("size")] == 0).tolist() == PLAIN
    assert [seen(sample) for sample in Shards(tmp_path)] == [seen(sample) for sample in SAMPLES]
    write_version_1(tmp_path, SAMPLES)
    assert [seen(sample) for sample in Shards(tmp_path)] == [seen(sample) for sample in SAMPLES]


def test_every_image_has_its_range_and_checksum(tmp_path):
    pack(SAMPLES, tmp_path)
    data = (tmp_path / "shard-000000.tar").read_bytes()
    rows = [Row(*row) for row in read_index(tmp_path / "shard-000000.tar").samples.tolist()]
    for row, sample in zip(rows, SAMPLES, strict=True):
        image = data[row.image_offset : row.image_offset + row.image_size]
        assert image == (sample.data if isinstance(sample.data, bytes) else b"")
        assert row.image_crc == zlib.crc32(image)


def test_what_is_packed_and_what_is_indexed_have_the_same_rows(tmp_path):
    pack(SAMPLES, tmp_path)
    archive = tmp_path / "shard-000000.tar"
    packed, indexed = read_index(archive).samples, make_index(archive, 0).samples
    assert packed[:, 1:].tolist() == indexed[:, 1:].tolist()


def test_packing_goes_on_after_an_index_of_version_1(tmp_path):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    pack(iter(SAMPLES), whole, shard_bytes=1)
    with pytest.raises(BadSample):
        pack(iter([SAMPLES[0], BadSample(0, "", "")]), resumed, shard_bytes=1)
    write_version_1(resumed, SAMPLES[:1])
    assert pack(iter(SAMPLES), resumed, shard_bytes=1).resumed == 1
    assert [seen(sample) for sample in Shards(resumed)] == [seen(sample) for sample in Shards(whole)]


def test_every_changed_number_of_an_index_is_noticed(tmp_path):
    pack(SAMPLES[:1], tmp_path)
    path = index_path(tmp_path / "shard-000000.tar")
    table = json.loads(path.read_text())
    for column in range(len(Row._fields)):
        changed = json.loads(json.dumps(table))
        changed["samples"][0][column] ^= 1
        path.write_text(json.dumps(changed))
        with pytest.raises(ValueError, match="the samples do not match the checksum of the index"):
            Shards(tmp_path)
    path.write_text(json.dumps({**table, "version": 3}))
    with pytest.raises(ValueError, match="expected version 1 or 2, but got 3"):
        Shards(tmp_path)


@pytest.mark.parametrize("column", [name for name in Row._fields if name != "label"])
def test_negative_numbers_are_refused_except_as_labels(tmp_path, column):
    archive = tmp_path / "a.tar"
    write_index(archive, Index(to_rows([Row(0)._replace(label=-1)])))
    assert read_index(archive).samples.tolist() == [list(Row(0, label=-1))]
    write_index(archive, Index(to_rows([Row(0)._replace(**{column: -1})])))
    with pytest.raises(ValueError, match=r"a\.index\.json is not an index.*checksums from 0"):
        read_index(archive)


def reason_of_no_index(path) -> str:
    try:
        return f"read: {make_index(path, 0)}"
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "row",
    [
        [0, 0, -1, 0],
        [0, -512, 512, 0],
        [-1, 0, 512, 0],
        [0, 0, 2**63, 0],
        [0, 0, "512", 0],
        [0, 0, 1.5, 0],
        [0],
    ],
)
def test_rows_of_an_index_that_cannot_be_are_named(tmp_path, row):
    index_path(tmp_path / "a.tar").write_text(json.dumps({"samples": [row], "skipped": []}))
    with pytest.raises(ValueError, match=r"a\.index\.json is not an index"):
        read_index(tmp_path / "a.tar")


def test_an_index_of_nothing_but_brackets_is_named(tmp_path):
    index_path(tmp_path / "a.tar").write_text("[" * 200_000)
    with pytest.raises(ValueError, match=r"a\.index\.json is not an index: RecursionError"):
        read_index(tmp_path / "a.tar")


def test_hostile_archives_have_no_index(tmp_path):
    with Guard() as guard:
        for name, entries in HOSTILE_ENTRIES.items():
            (tmp_path / "a.tar").write_bytes(entries + end_of_archive(len(entries)))
            if name not in ("cut off",):  # the zeros at the end become the data
                reason = guard(5, reason_of_no_index, tmp_path / "a.tar")
                assert "a.tar is not a complete, uncompressed archive: " in reason, name
