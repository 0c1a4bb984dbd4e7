"""Entries of tar archives, and the index of archives by other hands."""

import io
import tarfile
import zlib

import pytest

from orbbec.data.tar import (
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

FIELDS = {"jpg": bytes(range(256)) * 5, "cls": b"", "boxes.npy": b"x" * 512}


def archive_of(format=tarfile.PAX_FORMAT, prefix=""):
    """As Python writes it: a folder, two samples, a note, and one more sample."""
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


def test_an_archive_that_is_cut_off_has_no_index(tmp_path):
    data = archive_of()
    end = len(data.rstrip(b"\0"))
    for length in range(0, end, 256):
        (tmp_path / "a.tar").write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"a\.tar (breaks off|is no whole, uncompressed archive)"):
            make_index(tmp_path / "a.tar", 0)


def test_a_compressed_archive_has_no_index(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w:gz"):
        pass
    with pytest.raises(ValueError, match="is no whole, uncompressed archive"):
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
    "text", ["", "[]", "{}", '{"samples": [[1, 2]], "skipped": []}', '{"samples": 3, "skipped": []}']
)
def test_malformed_indexes_are_named(tmp_path, text):
    index_path(tmp_path / "a.tar").write_text(text)
    with pytest.raises(ValueError, match=r"a\.index\.json is no index"):
        read_index(tmp_path / "a.tar")
