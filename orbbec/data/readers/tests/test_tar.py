"""Entries of tar archives, and the index of other tools' archives."""

import io
import json
import tarfile
import zlib

import pytest

from orbbec.data.readers.tar import (
    Index,
    end_of_archive,
    from_entries,
    index_path,
    make_index,
    read_index,
    to_entries,
    to_rows,
    write_index,
)
from tests.support.damage.examine import Guard
from tests.support.damage.hostile import ENTRIES, HOSTILE_ENTRIES, with_size

FIELDS = {"jpg": bytes(range(256)) * 5, "cls": b"", "boxes.npy": b"x" * 512}


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


def test_entries_are_an_archive():
    entries = to_entries("000000007", FIELDS)
    assert from_entries(entries) == FIELDS
    whole = entries + end_of_archive(len(entries))
    assert len(whole) % 10240 == 0
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        assert {member.name: archive.extractfile(member).read() for member in archive} == {
            f"000000007.{name}": data for name, data in FIELDS.items()
        }


def test_long_and_foreign_names_come_back():
    fields = {"jpg": b"1", "ä.npy": b"2", "x" * 120 + ".npy": b"3"}
    assert from_entries(to_entries("7", fields)) == fields


@pytest.mark.parametrize("prefix", ["", "v1.0/", "long/" * 30])
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_by_other_hands_are_indexed(tmp_path, format, prefix):
    data = archive_of(format, prefix)
    (tmp_path / "a.tar").write_bytes(data)
    index = make_index(tmp_path / "a.tar", first_id=40)
    ranges = [data[offset : offset + size] for _, offset, size, _ in index.samples.tolist()]
    assert [from_entries(part) for part in ranges] == [
        {"x.jpg": b"a.x.jpg" * 100, "cls": b"a.cls" * 100}, {"jpg": b"b.jpg" * 100}, {"jpg": b"c.jpg" * 100}
    ]  # fmt: skip
    assert index.samples[:, 0].tolist() == [40, 41, 42]
    assert index.samples[:, 3].tolist() == [zlib.crc32(part) for part in ranges]


def test_hidden_files_of_macos_are_no_fields(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in (
            "d/._1.jpg",
            "d/1.jpg",
            "d/._1.cls",
            "d/1.cls",
            "d/._2.jpg",
            "d/2.jpg",
            "._d",
            ".DS_Store",
        ):
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
    data = (tmp_path / "a.tar").read_bytes()
    ranges = make_index(tmp_path / "a.tar", first_id=0).samples[:, 1:3].tolist()
    assert [from_entries(data[offset : offset + size]) for offset, size in ranges] == [
        {"jpg": b"d/1.jpg", "cls": b"d/1.cls"}, {"jpg": b"d/2.jpg"}
    ]  # fmt: skip


def test_a_field_that_comes_twice_is_named():
    with pytest.raises(ValueError, match=r"the sample has 7\.jpg twice"):
        from_entries(to_entries("7", {"jpg": b"1"}) + to_entries("7", {"jpg": b"2"}))


def test_an_archive_that_is_cut_off_has_no_index(tmp_path):
    data = archive_of()
    end = len(data.rstrip(b"\0"))
    for length in range(0, end, 256):
        (tmp_path / "a.tar").write_bytes(data[:length])
        with pytest.raises(
            ValueError, match=r"a\.tar (is truncated|is not a complete, uncompressed archive)"
        ):
            make_index(tmp_path / "a.tar", 0)


def test_a_compressed_archive_has_no_index(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w:gz"):
        pass
    with pytest.raises(ValueError, match="is not a complete, uncompressed archive"):
        make_index(tmp_path / "a.tar", 0)


def as_tuple(index):
    return index.samples.tolist(), index.skipped


def test_an_index_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    archive = tmp_path / "a.b.tar"
    index = Index(to_rows([[3, 0, 1024, 77]]), [(4, "x.jpg", "the file is empty")])
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
    ],
)
def test_malformed_indexes_are_named(tmp_path, text):
    index_path(tmp_path / "a.tar").write_text(text)
    with pytest.raises(ValueError, match=r"a\.index\.json is not an index"):
        read_index(tmp_path / "a.tar")


def reason_of_refusal(data: bytes) -> str:
    try:
        return f"read: {from_entries(data)}"
    except ValueError as error:
        return str(error)


def reason_of_no_index(path) -> str:
    try:
        return f"read: {make_index(path, 0)}"
    except ValueError as error:
        return str(error)


def test_hostile_headers_are_refused_at_once(tmp_path):
    with Guard() as guard:
        assert guard(60, reason_of_refusal, ENTRIES).startswith("read: ")
        for name, entries in HOSTILE_ENTRIES.items():
            reason = guard(5, reason_of_refusal, entries)
            assert "header at byte" in reason or "member at byte" in reason or "extended header" in reason, (
                name
            )
            (tmp_path / "a.tar").write_bytes(entries + end_of_archive(len(entries)))
            if name not in ("cut off",):  # the zeros at the end become the data
                reason = guard(5, reason_of_no_index, tmp_path / "a.tar")
                assert "a.tar is not a complete, uncompressed archive: " in reason, name


def test_sizes_of_256_values_a_byte_are_read():
    entries = with_size(ENTRIES, b"\x80" + (700).to_bytes(11, "big"))
    assert from_entries(entries) == from_entries(ENTRIES) == {"jpg": b"1" * 700, "cls": b"3"}


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
