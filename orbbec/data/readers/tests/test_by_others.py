"""Files of other programs are read as tarfile, pickle and NumPy read them, and as they were encoded."""

import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from orbbec.data.readers.fields import pack_fields, unpack_fields
from orbbec.data.readers.members import members_of
from orbbec.data.readers.pickles import read_pickle
from orbbec.data.readers.protobuf import datum_sample, example_features, example_sample, fields_of
from orbbec.data.readers.tar import from_entries, to_entries
from orbbec.data.sample import Sample

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
KINDS = (
    tarfile.REGTYPE,
    tarfile.AREGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
)


def archive_of(form, seed):
    """An archive of files, folders and links, with names and sizes at the bounds of blocks and headers."""
    rng, file = np.random.default_rng(seed), io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=FORMATS[form]) as archive:
        for number in range(12):
            longest = 90 if form == "ustar" else 300
            length = int(rng.choice([1, 30, 99, 100, 101, longest])) % (longest + 1)
            folder = "f" * (length if number % 3 == 0 else 1)  # USTAR splits a long name there
            entry = tarfile.TarInfo(f"{number}{folder}/" + "a" * length + ".jpg")
            entry.type = KINDS[number % len(KINDS)]
            entry.linkname = "b" * int(rng.integers(1, longest)) if entry.type in KINDS[3:5] else ""
            entry.mtime = 1.5 if form == "pax" and number % 2 else 7
            data = rng.bytes(int(rng.choice([0, 1, 511, 512, 513, 3000])))
            entry.size = len(data) if entry.isfile() else 0
            archive.addfile(entry, io.BytesIO(data) if entry.isfile() else None)
    return file.getvalue()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMATS)
def test_members_are_those_of_tarfile(form, seed):
    data = archive_of(form, seed)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        known = [(each.name, each.isfile(), each.offset_data, each.size) for each in archive.getmembers()]
    for length in (len(data), None):  # None: as a stream
        members = list(members_of(lambda offset, size: data[offset : offset + size], length))
        found = [(each.name.rstrip("/"), each.is_file, each.begin, each.size) for each in members]
        assert found == known
        assert [each.offset for each in members] == [0, *(each.end for each in members[:-1])]


def test_an_archive_that_ends_anywhere_but_after_a_member_is_refused():
    data = archive_of("pax", 0)
    ends = {0, *(each.end for each in members_of(lambda at, size: data[at : at + size], len(data)))}
    last = max(ends)
    for length in range(0, last + 1, 256):
        part = data[:length]
        if length in ends:
            list(members_of(lambda at, size, part=part: part[at : at + size], length))
            continue
        with pytest.raises(ValueError, match=r"header at byte|member at byte|extended header"):
            list(members_of(lambda at, size, part=part: part[at : at + size], length))


DTYPES = ("u1", "<u2", ">u4", "<u8", "i1", ">i2", "<i4", ">i8")


@pytest.mark.parametrize("protocol", range(6))
def test_pickles_are_read_as_pickle_reads_them(protocol):
    rng = np.random.default_rng(protocol)
    shapes = [(), (1,), (5,), (2, 3), (1, 2, 3, 4)]
    shapes += [(0,), (2, 0, 3)] if protocol > 2 else []  # Python 3 writes no bytes as a call before
    table = {
        f"{dtype}{shape}": rng.integers(0, 100, shape).astype(dtype) for dtype in DTYPES for shape in shapes
    }
    table |= {f"F{dtype}": np.asfortranarray(rng.integers(0, 100, (3, 4)).astype(dtype)) for dtype in DTYPES}
    table |= {"empty": np.zeros((0, 3), np.uint8)}
    table |= {"numbers": [0, 1, 255, 256, 65535, 65536, 2**31, 2**63, -1, -(2**40), 0.5, -1e300]}
    table |= {
        "texts": ["", b"", "a", "ä" * 300, b"\xff", b"\xff" * 300],
        "none": [None, True, False, (), (1,), (1, 2)],
    }
    table |= {"tuples": [(1, 2, 3), (1, 2, 3, 4), [[], [[]]], {"a": {"b": [1]}}]}
    table["shared"] = [table["numbers"]] * 3
    result = read_pickle(pickle.dumps(table, protocol))
    assert result.keys() == table.keys()
    for name, value in table.items():
        if isinstance(value, np.ndarray):
            assert result[name].dtype == value.dtype
            assert result[name].shape == value.shape
            assert np.array_equal(result[name], value)
        else:
            assert result[name] == value
            assert list(map(type, result[name])) == list(map(type, value))


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": {3}}, np.float32(1), np.zeros(2), range(3), int])
def test_pickles_of_other_things_are_refused(value):
    for table in (value, {"a": value}):
        with pytest.raises(ValueError, match=r"^it (is|has|holds|names|calls|sets|appends) "):
            read_pickle(pickle.dumps(table))


def varint(value):
    value &= (1 << 64) - 1
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def example(features, packed=True):
    """A `tf.train.Example`, encoded as its protocol says."""
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            kind, content = 1, b"".join(field(1, value) for value in values)
        elif isinstance(values[0], float):
            kind, content = 2, field(1, struct.pack(f"<{len(values)}f", *values))
        else:
            kind, content = 3, b"".join(field(1, value) for value in values)
            content = field(1, b"".join(map(varint, values))) if packed else content
        entries += field(1, field(1, name.encode()) + field(2, field(kind, content)))
    return field(1, entries)


NUMBERS = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)]


@pytest.mark.parametrize("packed", [True, False])
def test_features_are_those_that_were_written(packed):
    features = {f"n{number}": [number] for number in NUMBERS}
    features |= {"numbers": NUMBERS, "floats": [0.5, -2.0, 1e30], "float": [0.25]}
    features |= {"bytes": [b"", b"ab", b"x" * 300], "ä": [b"one"]}
    result = example_features(example(features, packed))
    assert result.keys() == features.keys()
    for name, values in features.items():
        expected = np.float32(values).tolist() if isinstance(values[0], float) else values
        found = [result[name]] if len(values) == 1 else list(result[name])
        assert found == expected


def test_fields_of_every_wire_type_are_read_and_others_refused():
    message = (
        field(1, 5) + varint(2 << 3 | 1) + bytes(range(8)) + field(3, b"ab") + varint(4 << 3 | 5) + b"abcd"
    )
    assert list(fields_of(message)) == [(1, 5), (2, bytes(range(8))), (3, b"ab"), (4, b"abcd")]
    ends = [0, 2, 11, 15, 20]
    for length in range(len(message) + 1):
        if length in ends:
            assert len(list(fields_of(message[:length]))) == ends.index(length)
        else:
            with pytest.raises(ValueError, match="the message is truncated"):
                list(fields_of(message[:length]))
    for kind in (3, 4, 6, 7):
        with pytest.raises(ValueError, match=f"a field of unknown kind {kind}"):
            list(fields_of(varint(1 << 3 | kind) + bytes(9)))
    assert list(fields_of(varint(1 << 3) + b"\xff" * 9 + b"\x01")) == [(1, 2**64 - 1)]
    with pytest.raises(ValueError, match="truncated"):
        list(fields_of(varint(1 << 3) + b"\xff" * 10 + b"\x01"))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_boxes_of_examples_are_in_pixels(count):
    sides = {
        side: [(n + k) / 8 for n in range(count)] for k, side in enumerate(("xmin", "ymin", "xmax", "ymax"))
    }
    features = {f"image/object/bbox/{side}": np.array(values, np.float32) for side, values in sides.items()}
    features |= {"image/encoded": b"jpg", "image/width": 80, "image/height": 40}
    features |= {"image/object/class/label": np.arange(count), "image/object/area": np.arange(count) + 0.5}
    features |= {"image/object/is_crowd": np.arange(count) % 2}
    if count == 1:  # features of one value are numbers
        features = {
            name: value.item() if isinstance(value, np.ndarray) else value for name, value in features.items()
        }
    data, targets = example_sample(features)
    assert data == b"jpg"
    assert targets["boxes"].tolist() == [
        [n * 10, (n + 1) * 5, (n + 2) * 10, (n + 3) * 5] for n in range(count)
    ]
    assert targets["labels"].tolist() == list(range(count))
    assert targets["area"].tolist() == [n + 0.5 for n in range(count)]
    assert targets["iscrowd"].tolist() == [n % 2 == 1 for n in range(count)]
    kinds = [targets[name].dtype for name in ("boxes", "labels", "area", "iscrowd")]
    assert kinds == [np.float32, np.int64, np.float32, bool]


@pytest.mark.parametrize(("channels", "height", "width"), [(1, 2, 3), (3, 4, 2), (3, 1, 1)])
@pytest.mark.parametrize("label", [None, 0, 7, -1])
def test_planes_of_a_datum_are_blue_green_and_red(channels, height, width, label):
    planes = np.random.default_rng(0).integers(0, 256, (channels, height, width), np.uint8)
    message = field(1, channels) + field(2, height) + field(3, width) + field(4, planes.tobytes())
    message += b"" if label is None else field(5, label)
    image, targets = datum_sample(b"", message)
    assert np.array_equal(image, planes[::-1].transpose(1, 2, 0))
    assert targets == ({} if label is None else {"label": label})
    assert datum_sample(b"", message + field(7, 1))[0] == planes.tobytes()
    with pytest.raises(ValueError, match=f"expected {channels} planes of {height}x{width}, but got"):
        datum_sample(b"", message + field(4, planes.tobytes() + b"x"))


@pytest.mark.parametrize("size", [None, (1, 1), (7, 9)])
def test_fields_of_samples_come_back(size):
    rng = np.random.default_rng(0)
    targets = {
        "label": 3,
        "boxes": rng.random((2, 4)),
        "text": "dot",
        "none": None,
        "flag": True,
        "list": [1, 2.5],
    }
    targets |= {"polygons": [rng.random((3, 2)), rng.random((5, 2))], "empty": [], "numbers": {"a": 1}}
    for data in (b"\xff\xd8\xff...", b"\x89PNG..", b"other", rng.integers(0, 9, (2, 3, 3)).astype(np.uint8)):
        sample = Sample(data, targets, 5, size=size)
        result = unpack_fields(from_entries(to_entries("5", pack_fields(sample))), 5)
        assert np.array_equal(result.data, data) if isinstance(data, np.ndarray) else result.data == data
        assert (result.sample_id, result.size) == (5, size)
        assert result.targets.keys() == targets.keys()
        for name, value in targets.items():
            if name == "polygons":
                assert all(np.array_equal(*pair) for pair in zip(result.targets[name], value, strict=True))
            else:
                assert type(result.targets[name]) is type(value)
                assert np.array_equal(result.targets[name], value)
