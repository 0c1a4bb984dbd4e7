"""Ordinary files take the fast path: no file is read or decoded twice, and none by a slower decoder."""

import pytest

from orbbec.data import Loader
from orbbec.data.decode.native import has_native
from orbbec.data.loader.assemble import Assembler
from orbbec.data.loader.by_feed import FeedAssembler
from orbbec.data.loader.tests.test_by_feed import DECODINGS, HAS_CODECS, PIPELINES, files_of, folder

NEEDS_NATIVE = "shrink", "planes"


def not_called(*arguments, **options):
    raise AssertionError("a slower function was called")


@pytest.fixture(scope="module", params=["good", "formats"])
def source(request, tmp_path_factory):
    if request.param == "formats" and not HAS_CODECS:
        pytest.skip("PNG and WebP are decoded by Pillow")
    return folder(tmp_path_factory.mktemp("images"), files_of(request.param))


@pytest.mark.parametrize("feed", ["0", "1"])
@pytest.mark.parametrize("name", ["regions", "luma", "whole", "shrink", "planes", "as stored", "keep"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_ordinary_files_are_never_left_to_a_slower_function(monkeypatch, source, feed, name, pipeline):
    if name in NEEDS_NATIVE and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    monkeypatch.setenv("ORBBEC_FEED", feed)
    monkeypatch.setattr(Assembler, "_on_host", not_called)
    monkeypatch.setattr("orbbec.data.decode.decode.decode_by_pillow", not_called)
    if feed == "1":
        monkeypatch.setattr(Assembler, "_assemble", not_called)
        monkeypatch.setattr(FeedAssembler, "_open", not_called)
    with Loader(source, 5, PIPELINES[pipeline], threads=2, decoding=DECODINGS[name]) as loader:
        assert sum(len(batch.sample_ids) for batch in loader) == len(source)
    assert loader.faults == []
