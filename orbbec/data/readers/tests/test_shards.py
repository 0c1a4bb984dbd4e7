"""Reading tar shards, by index and as a stream."""

import copy
import gzip
import io
import json
import os
import pickle
import tarfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from torch.utils.data import DataLoader, IterableDataset

from orbbec.data import (
    BadSample,
    Order,
    Sample,
    Shards,
    ShardStream,
    ShuffleBuffer,
    index_archives,
    open_source,
    pack,
)
from orbbec.data.readers.shard_index import Row, read_index, write_index
from orbbec.data.readers.tar import end_of_archive
from tests.support.damage.examine import Guard
from tests.support.damage.hostile import HOSTILE_ENTRIES

webdataset = pytest.importorskip("webdataset")

SAMPLES = [Sample(b"\xff\xd8\xff" + bytes([n]) * 900, {"label": n}, 7 * n) for n in range(30)]


@pytest.fixture
def packed(tmp_path):
    pack(SAMPLES, tmp_path, shard_bytes=8000)
    assert len(list(tmp_path.glob("*.tar"))) == 8
    return tmp_path


def write_foreign(folder, counts):
    """Archives as written by webdataset; keys restart in each."""
    for number, count in enumerate(counts):
        with webdataset.TarWriter(str(folder / f"part-{number}.tar")) as writer:
            for index in range(count):
                writer.write({"__key__": f"v1.0/{index:03d}", "jpg": bytes([number, index]), "cls": index})


def test_webdataset_reads_what_is_packed(packed):
    urls = sorted(str(path) for path in packed.glob("*.tar"))
    samples = list(
        webdataset.WebDataset(urls, shardshuffle=False).decode(webdataset.handle_extension("jpg", bytes))
    )
    assert [(sample["__key__"], sample["jpg"], sample["cls"]) for sample in samples] == [
        (f"{sample.sample_id:09d}", sample.data, sample.targets["label"]) for sample in SAMPLES
    ]


def test_every_sample_comes_once_over_ranks_and_threads(packed):
    shards = Shards(packed)
    for world in (1, 2, 3):
        for threads in (1, 4):
            counts = Counter()
            for rank in range(world):
                indices = Order(len(shards), rank=rank, world_size=world).indices().tolist()
                with ThreadPoolExecutor(threads) as pool:
                    counts.update(sample.sample_id for sample in pool.map(shards.__getitem__, indices))
            assert counts == Counter(sample.sample_id for sample in SAMPLES)


def test_shards_pickle_and_keep_few_files_open(packed, monkeypatch):
    monkeypatch.setattr("orbbec.data.readers.shards._MOST_OPEN", 3)
    before = len(os.listdir("/proc/self/fd"))
    shards = pickle.loads(pickle.dumps(Shards(packed)))
    assert [shards[index].data for index in range(30)] == [sample.data for sample in SAMPLES]
    assert len(os.listdir("/proc/self/fd")) == before + 3
    copies = copy.deepcopy(shards), pickle.loads(pickle.dumps(shards))
    assert [copied[29].data for copied in copies] == [SAMPLES[29].data] * 2
    del shards, copies
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_open_archive_is_shared_with_a_forked_process(packed):
    shards = Shards(packed)
    assert shards[0].data == SAMPLES[0].data
    child = os.fork()
    if child == 0:
        same = all(shards[index].data == SAMPLES[index].data for index in (3, 1, 2, 29))
        os._exit(0 if same else 1)
    assert all(shards[index].data == SAMPLES[index].data for index in (1, 3, 0, 29))
    assert os.waitpid(child, 0)[1] == 0


def test_every_flipped_byte_of_an_image_is_noticed(packed):
    """Headers and padding of an image that has only a label are not read."""
    path = packed / "shard-000000.tar"
    whole = path.read_bytes()
    begin = whole.index(SAMPLES[0].data)
    image = range(begin, begin + len(SAMPLES[0].data))
    shards = Shards(packed)
    for offset in range(0, 2048, 37):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 16]) + whole[offset + 1 :])
        if offset in image:
            with pytest.raises(BadSample, match="do not match the checksum of the index") as caught:
                shards[0]
            assert (caught.value.sample_id, caught.value.path) == (0, str(path))
        else:
            assert (shards[0].data, shards[0].targets) == (SAMPLES[0].data, {"label": 0})
        assert shards[29].data == SAMPLES[29].data


def test_every_flipped_byte_of_a_sample_with_other_targets_is_noticed(tmp_path):
    pack([replace(SAMPLES[0], targets={"label": 0, "text": "dot"})], tmp_path)
    path = tmp_path / "shard-000000.tar"
    whole = path.read_bytes()
    shards = Shards(tmp_path)
    for offset in range(0, 3584, 37):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 16]) + whole[offset + 1 :])
        with pytest.raises(BadSample, match="do not match the checksum of the index"):
            shards[0]


def test_archives_that_shrink_or_go_are_bad_samples(packed):
    shards, other = Shards(packed), Shards(packed)
    path = packed / "shard-000001.tar"
    path.write_bytes(path.read_bytes()[:3000])
    assert shards[4].sample_id == 28
    with pytest.raises(BadSample, match=r"sample 35 \(.*shard-000001\.tar\): the file ends \d+ bytes before"):
        shards[5]
    path.unlink()
    assert shards[4].data == SAMPLES[4].data  # still open
    with pytest.raises(BadSample, match=r"sample 28 .*No such file"):
        other[4]
    with pytest.raises(ValueError, match=r"1 archives are missing, such as .*shard-000001.tar"):
        Shards(packed)


def test_folders_that_are_not_ready_say_what_to_do(tmp_path, packed):
    with pytest.raises(ValueError, match=r"expected \.tar files"):
        Shards(tmp_path / "none")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    write_foreign(foreign, [2])
    with pytest.raises(ValueError, match=r"part-0\.tar has no index; write it with `python -m orbbec index"):
        Shards(foreign)
    (packed / "pack.json").write_text('{"version": 2}')
    with pytest.raises(ValueError, match=r"pack\.json is not a manifest.*expected version 1, but got 2"):
        Shards(packed)


def test_the_index_of_what_is_packed_is_left_alone(packed):
    with pytest.raises(ValueError, match="already have the index written by `pack`"):
        index_archives(packed)
    assert Shards(packed).sample_ids == [sample.sample_id for sample in SAMPLES]


def test_archives_by_other_hands(tmp_path):
    write_foreign(tmp_path, [3, 0, 2])
    assert index_archives(tmp_path) == 5
    shards = Shards(tmp_path)
    expected = [
        (n << 32 | index, bytes([n, index]), {"label": index})
        for n, p in ((0, 3), (2, 2))
        for index in range(p)
    ]
    assert [(s.sample_id, s.data, s.targets) for s in map(shards.__getitem__, range(5))] == expected
    stream = ShardStream(f"{tmp_path}/part-{{0..2}}.tar")
    assert [(s.sample_id, s.data, s.targets) for s in stream] == expected


def test_a_stream_of_what_is_packed(packed):
    stream = ShardStream(
        [packed / "shard-000000.tar", f"{packed}/shard-{{000001..000007}}.tar"], ids_from_keys=True
    )
    assert [(s.sample_id, s.data, s.targets) for s in stream] == [
        (s.sample_id, s.data, s.targets) for s in SAMPLES
    ]


@pytest.mark.parametrize("workers", [0, 1, 4])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_a_stream_gives_every_sample_once(packed, world, workers):
    urls = sorted(packed.glob("*.tar"))
    orders = []
    for epoch in (0, 1):
        seen = []
        for rank in range(world):
            stream = ShardStream(urls, shuffle=True, seed=1, rank=rank, world_size=world, ids_from_keys=True)
            parts = [stream.part(worker, workers) for worker in range(workers)] if workers else [stream]
            for part in parts:
                shuffled = ShuffleBuffer(part, 4, seed=2)
                shuffled.set_epoch(epoch)
                seen += [sample.sample_id for sample in shuffled]
        assert Counter(seen) == Counter(sample.sample_id for sample in SAMPLES)
        orders.append(seen)
    assert orders[0] != orders[1]


def test_the_workers_of_a_data_loader_share_a_stream(packed):
    class Ids(IterableDataset):
        def __iter__(self):
            stream = ShardStream(sorted(packed.glob("*.tar")), ids_from_keys=True)
            return (sample.sample_id for sample in stream)

    ids = [int(number) for number in DataLoader(Ids(), batch_size=None, num_workers=2)]
    assert Counter(ids) == Counter(sample.sample_id for sample in SAMPLES)


def test_the_first_epoch_of_a_stream_is_epoch_0(packed):
    streams = [ShardStream(f"{packed}/shard-{{000000..000007}}.tar", shuffle=True) for _ in range(3)]
    for epoch, stream in enumerate(streams[1:]):
        stream.set_epoch(epoch)
    first, zeroth, other = ([sample.path for sample in stream] for stream in streams)
    assert first == zeroth != other


def test_a_stream_through_pipes_and_gzip(packed):
    path = packed / "shard-000000.tar"
    expected = [sample.data for sample in SAMPLES[:4]]
    assert [sample.data for sample in ShardStream(f"pipe:cat {path}")] == expected
    (packed / "a.tar.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert [sample.data for sample in ShardStream(packed / "a.tar.gz")] == expected


def test_an_archive_that_is_cut_off_anywhere_is_noticed(packed):
    """No truncated archive is taken for a complete one; the stream continues with the next archive."""
    path, following = packed / "shard-000000.tar", packed / "shard-000001.tar"
    whole = path.read_bytes()
    for length in range(0, len(whole.rstrip(b"\0")), 256):
        path.write_bytes(whole[:length])
        items = list(ShardStream([path, following], ids_from_keys=True))
        bad = [item for item in items if isinstance(item, BadSample)]
        good = [item for item in items if isinstance(item, Sample)]
        assert len(bad) == 1
        assert bad[0].path == str(path)
        assert bad[0].reason.endswith("the rest of the archive is lost")
        whole_samples = [SAMPLES[n] for n in (*range(len(good) - 4), 4, 5, 6, 7)]
        assert all(sample.path.startswith((f"{path}/", f"{following}/")) for sample in good)
        found = [vars(replace(sample, path="")) for sample in good]
        assert found == [vars(sample) for sample in whole_samples]


def test_a_compressed_archive_that_is_cut_off_is_noticed(packed):
    whole = gzip.compress((packed / "shard-000000.tar").read_bytes())
    for length in range(len(whole)):
        (packed / "a.tar.gz").write_bytes(whole[:length])
        assert any(isinstance(item, BadSample) for item in ShardStream(packed / "a.tar.gz"))


def test_a_bad_sample_comes_at_its_index(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, data in (("1.jpg", b"one"), ("2.cls", b"5"), ("x.jpg", b"two"), ("4.jpg", b"three")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    one, two, three, four = ShardStream(tmp_path / "a.tar", ids_from_keys=True)
    assert (one.data, four.data) == (b"one", b"three")
    assert str(two) == f"sample 1 ({tmp_path}/a.tar/2): expected a field with an image, but got cls"
    assert three.reason == "expected digits as a key, but got 'x'"


@pytest.mark.parametrize("key", ["1_11", "-1", "+1", "٣", "9223372036854775808"])
def test_a_key_that_is_no_sample_id_is_a_bad_sample(tmp_path, key):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(f"{key}.jpg"), io.BytesIO())
    [bad] = ShardStream(tmp_path / "a.tar", ids_from_keys=True)
    assert isinstance(bad, BadSample)
    assert "expected digits as a key" in bad.reason or "expected an integer of 64 bits" in bad.reason


def test_hidden_archives_and_those_in_capitals(tmp_path):
    write_foreign(tmp_path, [2])
    (tmp_path / "part-0.tar").rename(tmp_path / "part-0.TAR")
    (tmp_path / "._part-0.tar").write_bytes(b"of macOS")
    (tmp_path / "part-0.idx").write_text("v1.2 2\n")
    assert [sample.targets["label"] for sample in open_source(tmp_path)] == [0, 1]
    assert index_archives(tmp_path) == 2
    assert isinstance(open_source(tmp_path), Shards)


def test_a_missing_archive_is_a_bad_sample(packed):
    bad, *good = ShardStream([packed / "none.tar", packed / "shard-000000.tar"])
    assert isinstance(bad, BadSample)
    assert "No such file" in bad.reason
    assert len(good) == 4


def test_targets_of_arrays_stream(tmp_path):
    boxes = np.arange(8, dtype=np.float32).reshape(2, 4)
    pack([Sample(np.zeros((2, 2, 3), np.uint8), {"Boxes": boxes, "text": "dot"}, 3)], tmp_path)
    [sample] = ShardStream(tmp_path / "shard-000000.tar")
    assert sample.data.shape == (2, 2, 3)
    assert np.array_equal(sample.targets["Boxes"], boxes)
    assert sample.targets["text"] == "dot"


@pytest.mark.parametrize("name", ["../outside.tar", "/etc/passwd", "a/b.tar", "..", ""])
def test_archives_outside_of_the_folder_are_refused(packed, name):
    (packed.parent / "outside.tar").write_bytes(b"")
    table = json.loads((packed / "pack.json").read_text())
    table["archives"] = {name: 3, **table["archives"]}
    (packed / "pack.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match=r"pack\.json is not a manifest: .*archives of this folder"):
        Shards(packed)


@pytest.mark.parametrize("name", ["image_size", "size"])
def test_a_row_of_a_size_that_no_memory_holds_is_a_bad_sample(packed, name):
    archive = packed / "shard-000000.tar"
    index = read_index(archive)
    index.samples[0, Row._fields.index(name)] = 2**62
    write_index(archive, index)
    with pytest.raises(BadSample, match=r"the file ends \d+ bytes before the end of the sample"):
        Shards(packed)[0]


def streamed(path) -> list[str]:
    return [str(sample) for sample in ShardStream(path)]


def test_a_stream_of_hostile_headers_ends(tmp_path):
    with Guard() as guard:
        guard(60, streamed, [])
        for name, entries in HOSTILE_ENTRIES.items():
            (tmp_path / "a.tar").write_bytes(entries + end_of_archive(len(entries)))
            assert len(guard(5, streamed, tmp_path / "a.tar")) <= 2, name


@pytest.mark.parametrize(
    ("labels", "columns"), [((3, 7), {"label": [3, 7]}), ((3, None), None), ((None, None), {})]
)
def test_labels_are_a_column_if_all_samples_have_one(tmp_path, labels, columns):
    targets = [{} if label is None else {"label": label} for label in labels]
    pack([Sample(b"P5 1 1 255 a", each, n) for n, each in enumerate(targets)], tmp_path)
    found = Shards(tmp_path).table().columns
    assert (found and {name: values.tolist() for name, values in found.items()}) == columns
