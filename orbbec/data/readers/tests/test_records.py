"""LMDB and TFRecord."""

import gzip
import os
import pickle
import struct
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

lmdb = pytest.importorskip("lmdb")
crc32c = pytest.importorskip("crc32c")

from orbbec.data import BadSample, Lmdb, TfRecords, open_source
from orbbec.data.readers.protobuf import datum_sample, example_features, example_sample, fields_of
from orbbec.data.readers.tests.tfrecords import message_of, record, varint

RECORDED = Path(__file__).with_name("records.tfrecord")  # written by another package: record_tfrecord.py


def write_lmdb(path, values, subdir=True):
    with (
        lmdb.open(str(path), subdir=subdir, map_size=1 << 22) as database,
        database.begin(write=True) as transaction,
    ):
        for key, value in values.items():
            transaction.put(key, value)


def test_a_database_ends_with_its_last_page(tmp_path):
    write_lmdb(tmp_path / "db", {b"%d" % n: b"x" * 3000 for n in range(9)}, subdir=False)
    with lmdb.open(str(tmp_path / "db"), subdir=False, readonly=True, lock=False) as database:
        whole = (database.info()["last_pgno"] + 1) * database.stat()["psize"]
    os.truncate(tmp_path / "db", whole)
    assert len(Lmdb(tmp_path / "db")) == 9
    (tmp_path / "short").write_bytes((tmp_path / "db").read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"truncated: expected {whole} bytes, but got {whole - 1}"):
        Lmdb(tmp_path / "short")


@pytest.mark.parametrize("subdir", [True, False])
def test_lmdb_gives_values_in_the_order_of_keys(tmp_path, subdir):
    write_lmdb(tmp_path / "db", {b"b": b"two", b"a": b"one", b"\xff": b"x" * 9000}, subdir)
    images = Lmdb(tmp_path / "db")
    assert [(images[n].data, images[n].sample_id) for n in range(len(images))] == [
        (b"one", 0), (b"two", 1), (b"x" * 9000, 2)
    ]  # fmt: skip
    images.close()
    assert images[1].data == b"two"


def test_an_lmdb_of_named_databases_is_refused(tmp_path):
    with lmdb.open(str(tmp_path), max_dbs=2) as database:
        for name in (b"train", b"val"):
            with database.begin(write=True, db=database.open_db(name)) as transaction:
                transaction.put(b"1", b"image")
    with pytest.raises(ValueError, match=r"Lmdb: expected values in .*, but got databases named train, val$"):
        Lmdb(tmp_path)
    write_lmdb(tmp_path / "48", {b"1": b"x" * 48})  # bytes, as the header of a database has
    assert Lmdb(tmp_path / "48")[0].data == b"x" * 48


def test_lmdb_parses_as_it_is_told(tmp_path):
    write_lmdb(tmp_path, {b"1": b"7:image", b"2": b"broken"})

    def parse(key, value):
        label, data = value.split(b":")
        return data, {"label": int(label)}

    images = Lmdb(tmp_path, parse)
    assert (images[0].data, images[0].targets) == (b"image", {"label": 7})
    with pytest.raises(BadSample, match=r"sample 1 \(.*/2\): not enough values to unpack"):
        images[1]


def test_lmdb_is_read_by_threads_pickled_and_forked(tmp_path):
    write_lmdb(tmp_path, {b"%03d" % n: b"%d" % n for n in range(100)})
    images = Lmdb(tmp_path)
    seen = []

    def read(first):
        seen.extend(images[n].data for n in range(first, 100, 4))

    threads = [threading.Thread(target=read, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(b"%d" % n for n in range(100))
    text = pickle.dumps(images)
    # Next to the first, since LMDB cannot open a database twice in one process.
    assert pickle.loads(text)[7].data == b"7"
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = images[42].data == b"42" and pickle.loads(text)[8].data == b"8"
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert images[9].data == b"9"


def test_a_database_that_shrinks_is_a_bad_sample_and_no_crash(tmp_path):
    write_lmdb(tmp_path, {b"%03d" % n: bytes(5000) for n in range(50)})
    images = Lmdb(tmp_path)
    os.truncate(tmp_path / "data.mdb", 20000)
    with pytest.raises(BadSample, match=r"sample 49 .* is truncated: expected \d+ bytes, but got 20000"):
        images[49]
    images.close()
    with pytest.raises(ValueError, match="is truncated"):
        Lmdb(tmp_path)


def test_what_is_no_database_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a database at .*data\.mdb"):
        Lmdb(tmp_path)
    (tmp_path / "data.mdb").write_bytes(bytes(8192))
    with pytest.raises(OSError, match="cannot be opened"):
        Lmdb(tmp_path)


def test_a_datum_of_caffe():
    planes = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
    head = b"".join(bytes([field << 3]) + varint(value) for field, value in ((1, 3), (2, 2), (3, 4)))
    message = head + b"\x22" + varint(24) + planes.tobytes() + b"\x28" + varint(300)
    image, targets = datum_sample(b"", message)
    assert np.array_equal(image, planes[::-1].transpose(1, 2, 0))
    assert targets == {"label": 300}
    for label in (-1, -(2**63), 2**63 - 1):
        assert datum_sample(b"", b"\x28" + varint(label % 2**64) + b"\x38\x01")[1] == {"label": label}
    encoded = b"\x22\x03jpg\x28\x05\x38\x01"
    assert datum_sample(b"", encoded) == (b"jpg", {"label": 5})
    assert datum_sample(b"", b"\x22\x03jpg\x38\x01") == (b"jpg", {})
    with pytest.raises(ValueError, match="expected 3 planes of 2x4, but got 0 bytes"):
        datum_sample(b"", head)


def test_records_by_another_author():
    records = TfRecords(RECORDED)
    first, second, third = (records[n] for n in range(len(records)))
    assert (first.data, first.targets, first.sample_id) == (b"\xff\xd8first", {"label": 3}, 0)
    assert (second.data, second.targets) == (b"second", {"label": -7})
    assert (third.data, third.sample_id) == (b"third", 2)
    assert third.targets["boxes"].tolist() == [[0, 100, 400, 200], [100, 0, 200, 50]]
    assert third.targets["labels"].tolist() == [4, 9]


def test_features_by_another_author():
    kept = []

    def parse(features):
        kept.append(features)
        return b"image", {}

    TfRecords([RECORDED, RECORDED], parse)[4]
    [features] = kept
    assert features["whole"].tolist() == [1, -(2**63), 2**63 - 1, 300]
    assert features["shares"].tolist() == np.array([0.5, -1.25, 1e-30], np.float32).tolist()
    assert features["texts"] == [b"a", b"", "ä".encode()]
    assert (features["one"], features["label"], features["image"]) == (0.75, -7, b"second")


def test_every_flipped_byte_of_a_record_is_noticed(tmp_path):
    whole = RECORDED.read_bytes()
    file = tmp_path / "a.tfrecord"
    first = struct.unpack_from("<Q", whole)[0] + 16
    for offset in range(first):
        file.write_bytes(whole[:offset] + bytes([whole[offset] ^ 4]) + whole[offset + 1 :])
        records = TfRecords(file)
        with pytest.raises(BadSample) as caught:
            records[0]
        assert caught.value.path == f"{file}:0"
        if offset < 12:
            assert "the rest of the file is lost" in caught.value.reason
            assert len(records) == 1
        else:
            assert caught.value.reason == "the record does not match its checksum"
            assert records[1].data == b"second"


def test_a_file_that_is_cut_off_anywhere_ends_with_a_bad_sample(tmp_path):
    whole = RECORDED.read_bytes()
    ends = [0]
    while ends[-1] < len(whole):
        ends.append(ends[-1] + struct.unpack_from("<Q", whole, ends[-1])[0] + 16)
    file = tmp_path / "a.tfrecord"
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        records = TfRecords(file)
        full = sum(end <= length for end in ends[1:])
        assert len(records) == full + (length not in ends)
        for index in range(full):
            records[index]
        if length not in ends:
            with pytest.raises(BadSample, match=r"ends .* bytes before the end of the record|is lost"):
                records[full]


def test_records_that_are_missing_or_packed_are_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        TfRecords(tmp_path / "none")
    (tmp_path / "a.gz").write_bytes(gzip.compress(RECORDED.read_bytes()))
    with pytest.raises(ValueError, match=r"a\.gz is compressed with gzip or zlib: decompress it"):
        TfRecords(tmp_path / "a.gz")
    (tmp_path / "a.zlib").write_bytes(zlib.compress(RECORDED.read_bytes()))
    with pytest.raises(ValueError, match=r"a\.zlib is compressed"):
        TfRecords(tmp_path / "a.zlib")
    records = TfRecords(RECORDED, lambda features: (features["no"], {}))
    with pytest.raises(BadSample, match=r"sample 0 .*: no"):
        records[0]


@pytest.mark.parametrize("length", [0x8B1F, 0x018B1F, 0x9C78, 0x0178, 0xDA78])
def test_a_length_with_the_bytes_of_gzip_or_zlib_is_a_length(tmp_path, length):
    (tmp_path / "a.tfrecord").write_bytes(record(bytes(length)) * 2)
    assert len(TfRecords(tmp_path / "a.tfrecord")) == 2


@pytest.mark.parametrize("length", [0x8B1F, 0x9C78])
def test_a_damaged_length_with_the_bytes_of_gzip_or_zlib_is_not_taken_for_compression(tmp_path, length):
    data = bytearray(record(bytes(length)))
    data[8] ^= 1
    (tmp_path / "a.tfrecord").write_bytes(data)
    with pytest.raises(BadSample, match="the length of the record is damaged"):
        TfRecords(tmp_path / "a.tfrecord")[0]


@pytest.mark.parametrize(
    "name",
    ["a.tfrecord", "a.tfrecords", "a.TFRecord", "a-00000-of-00002.tfrecord", "a.tfrecord-00000-of-00002"],
)
def test_index_files_and_hidden_files_are_no_records(tmp_path, name):
    (tmp_path / name).write_bytes(RECORDED.read_bytes())
    for index in (f"{name}.idx", f"{name}.index", f"{name}.json", f"._{name}", f"{name}.md5"):
        (tmp_path / index).write_text("0 30016\n")
    assert len(open_source(tmp_path)) == 3
    assert len(open_source(tmp_path / name)) == 3
    with pytest.raises(ValueError, match=r"expected one of .*, but got .*idx"):
        open_source(tmp_path / f"{name}.idx")


def test_an_example_without_a_label_or_with_labels_of_another_kind_is_named():
    data = {"image/encoded": b"x"}
    for label in ([], b"", np.zeros(0, np.int64)):
        with pytest.raises(ValueError, match="expected a value as feature 'label', but it is empty"):
            example_sample({**data, "image/class/label": label})
    assert example_sample({**data, "label": 0})[1] == {"label": 0}
    sides = {f"image/object/bbox/{side}": np.ones(2) for side in ("xmin", "ymin", "xmax", "ymax")}
    boxes = {**data, **sides, "image/width": 4, "image/height": 4}
    for labels in (np.array([1.5, 2]), np.array([np.nan, 1]), 7, np.arange(3)):
        with pytest.raises(
            ValueError, match="expected an integer per box as feature 'image/object/class/label'"
        ):
            example_sample({**boxes, "image/object/class/label": labels})


def test_numbers_of_more_than_64_bits_lose_the_highest():
    for number in (2**64 - 1, 2**64, 2**65 + 7, 2**70 - 1):
        assert list(fields_of(b"\x08" + varint(number))) == [(1, number % 2**64)]


def test_a_feature_without_a_name_or_a_value_is_one_of_an_empty_name_or_value():
    """As the format has it: what equals the default may be left out."""
    seven = (2, message_of((3, message_of((1, varint(7))))))
    for entry, features in (
        (message_of((1, b"label"), seven), {"label": 7}),
        (message_of((1, b"label")), {"label": []}),
        (message_of(seven), {"": 7}),
    ):
        assert example_features(message_of((1, message_of((1, entry))))) == features


@pytest.mark.parametrize("numbers", [[-1], [0, -(2**63), 2**63 - 1, -7]])
def test_negative_numbers_are_read(numbers):
    stored = [varint(number % 2**64) for number in numbers]
    packed = message_of((1, b"".join(stored)))
    for values in (packed, b"".join(b"\x08" + each for each in stored)):
        features = message_of((1, message_of((1, message_of((1, b"x"), (2, message_of((3, values))))))))
        assert np.atleast_1d(example_features(features)["x"]).tolist() == numbers


def test_malformed_messages_are_named():
    whole = RECORDED.read_bytes()
    message = whole[12 : 12 + struct.unpack_from("<Q", whole)[0]]
    for length in range(1, len(message)):
        with pytest.raises(ValueError, match="truncated"):
            example_features(message[:length])
    for message, text in (
        (b"\x0b", "unknown kind 3"),
        (b"\x80" * 11, "truncated"),
        (b"\x08\x01", "a number where"),
    ):
        with pytest.raises(ValueError, match=text):
            example_features(message)
    assert list(fields_of(b"\x09" + bytes(8) + b"\x15" + bytes(4))) == [(1, bytes(8)), (2, bytes(4))]


def objects(**others):
    """Features of an image with two objects."""
    features = {"image/encoded": b"...", "image/height": 40, "image/width": 60}
    for side in ("xmin", "ymin", "xmax", "ymax"):
        features[f"image/object/bbox/{side}"] = np.float32([0.5, 0.25])
    features["image/object/class/label"] = np.int64([3, 1])
    return features | {f"image/object/{name}": value for name, value in others.items()}


def test_objects_have_the_values_that_their_records_have():
    targets = example_sample(objects(area=np.float32([600, 20.5]), is_crowd=np.int64([0, 1])))[1]
    assert (targets["area"].tolist(), targets["area"].dtype) == ([600, 20.5], np.float32)
    assert (targets["iscrowd"].tolist(), targets["iscrowd"].dtype) == ([False, True], np.bool_)
    for others in ({}, {"area": [], "is_crowd": []}):  # nothing is invented
        assert example_sample(objects(**others))[1].keys() == {"boxes", "labels"}


def test_values_that_are_not_one_per_object_are_named():
    for name in ("area", "is_crowd"):
        with pytest.raises(
            ValueError, match=f"expected 2 values of feature 'image/object/{name}', but got 3"
        ):
            example_sample(objects(**{name: np.int64([1, 0, 1])}))
