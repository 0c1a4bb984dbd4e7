"""Samples, and the error for a sample that cannot be read."""

import os
import pickle
from pathlib import Path

import pytest

from orbbec.data import BadSample, Sample, Source
from orbbec.data.sample import faults_named, read_bytes, read_range


def test_a_bad_sample_pickles_with_all_it_knows():
    error = pickle.loads(pickle.dumps(BadSample(3, "a/b.jpg", "is a folder")))
    assert (error.sample_id, error.path, error.reason) == (3, "a/b.jpg", "is a folder")
    assert str(error) == "sample 3 (a/b.jpg): is a folder"


def test_files_are_read_or_named(tmp_path):
    (tmp_path / "whole").write_bytes(b"abc")
    (tmp_path / "empty").touch()
    assert read_bytes(tmp_path / "whole", 0) == b"abc"
    for name, reason in (("empty", "the file is empty"), ("none", "No such file"), ("", "Is a directory")):
        with pytest.raises(BadSample, match=reason) as caught:
            read_bytes(tmp_path / name, 5)
        assert caught.value.sample_id == 5
        assert caught.value.path == str(tmp_path / name)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_a_file_is_closed_after_its_range_is_read_or_refused(tmp_path):
    (tmp_path / "whole").write_bytes(b"abcdef")
    before = os.listdir("/proc/self/fd")
    assert read_range(tmp_path / "whole", 2, 3, "the image") == b"cde"
    with pytest.raises(ValueError, match="the file ends 1 bytes before the end of the image"):
        read_range(tmp_path / "whole", 2, 5, "the image")
    assert os.listdir("/proc/self/fd") == before


def test_a_range_is_read_in_as_many_pieces_as_the_system_gives(tmp_path, monkeypatch):
    (tmp_path / "whole").write_bytes(b"abcdefghij")
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda handle, size, offset: pread(handle, min(size, 3), offset))
    assert read_range(tmp_path / "whole", 1, 8, "the image") == b"bcdefghi"
    with pytest.raises(ValueError, match="the file ends 2 bytes before the end of the image"):
        read_range(tmp_path / "whole", 1, 11, "the image")


def test_only_the_named_errors_are_turned():
    with (
        pytest.raises(BadSample, match=r"sample 1 \(x\): KeyError") as caught,
        faults_named(1, "x", KeyError),
    ):
        raise KeyError
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(IndexError), faults_named(1, "x", KeyError):
        raise IndexError


def test_a_source_is_known_by_its_methods():
    class Two:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return Sample(b"x", {}, index)

    assert isinstance(Two(), Source)
    assert not isinstance(iter([]), Source)
