"""Conversion of samples to the files of a shard and back."""

import io
import zipfile

import numpy as np
import pytest
import torch

from orbbec.data import Sample
from orbbec.data.readers.fields import pack_fields, unpack_fields


def there_and_back(sample):
    return unpack_fields(pack_fields(sample), sample.sample_id)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"\x89PNG\r", "png"),
        (b"RIFF1234WEBP", "webp"),
        (b"BM", "bmp"),
        (b"II*\0", "tif"),
        (b"MM\0*1", "tif"),
        *((b"P%d 1 1" % number, kind) for number, kind in ((6, "ppm"), (5, "pgm"), (4, "pbm"))),
        (b"P3 1 1", "img"),
        (b"", "img"),
    ],
)
def test_an_encoded_image_comes_back(data, field):
    assert list(pack_fields(Sample(data))) == [field]
    assert there_and_back(Sample(data, {}, 9)).data == data
    assert there_and_back(Sample(data, {}, 9)).sample_id == 9


@pytest.mark.parametrize("data", [np.arange(24, dtype=np.uint8).reshape(2, 4, 3), torch.ones(3, 2)])
def test_an_array_comes_back(data):
    back = there_and_back(Sample(data)).data
    assert back.dtype == np.asarray(data).dtype
    assert np.array_equal(back, np.asarray(data))


def test_targets_come_back():
    targets = {
        "label": np.int64(7),
        "boxes": np.array([[1, 2, 3, 4.5]], np.float32),
        "labels": torch.tensor([3]),
        "polygons": [np.zeros((3, 2)), np.ones((5, 2), np.float32)],
        "caption": "Zwölf",
        "pair": (1, [2.5, None]),
        "share": np.float32(0.5),
        "Upper": np.zeros(0),
        "none": [],
        "sure": True,
    }
    back = there_and_back(Sample(b"x", targets)).targets
    assert back.keys() == targets.keys()
    for name in ("boxes", "labels", "Upper"):
        expected = np.asarray(targets[name])
        assert back[name].dtype == expected.dtype
        assert np.array_equal(back[name], expected)
    assert [array.tolist() for array in back["polygons"]] == [array.tolist() for array in targets["polygons"]]
    assert [array.dtype for array in back["polygons"]] == [np.float64, np.float32]
    assert [back[name] for name in ("label", "caption", "pair", "share", "none", "sure")] == [
        7, "Zwölf", [1, [2.5, None]], 0.5, [], True
    ]  # fmt: skip


@pytest.mark.parametrize("label", [np.array([0.5, 0.5]), "cat", 1.5, True])
def test_labels_that_are_no_whole_numbers_come_back(label):
    back = there_and_back(Sample(b"x", {"label": label})).targets["label"]
    assert np.array_equal(back, label)
    assert type(back) is type(label)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"a.b": 1}, "without dots and slashes, but got 'a.b'"),
        ({"": 1}, "but got ''"),
        ({3: 1}, "but got 3"),
        ({"x": {1, 2}}, "target 'x' cannot be stored: a set is not JSON"),
        ({"x": b"bytes"}, "target 'x' cannot be stored: a bytes is not JSON"),
        ({"x": [np.ones(2), 3]}, "target 'x' cannot be stored: a ndarray is not JSON"),
        ({"x": torch.zeros(2, dtype=torch.bfloat16)}, "'x' cannot be stored: .*BFloat16"),
        ({"x": np.array([{}], object)}, "'x' cannot be stored: an array of Python's objects"),
        ({"x": [np.ones(2), np.array(["a", None])]}, "'x' cannot be stored: an array of Python's objects"),
    ],
)
def test_what_cannot_be_stored_is_named(targets, message):
    with pytest.raises(TypeError, match=f"pack: .*{message}"):
        pack_fields(Sample(b"x", targets))


@pytest.mark.parametrize(
    ("label", "field"),
    [(2**63 - 1, "cls"), (-(2**63), "cls"), (2**63, "json"), (-(2**63) - 1, "json"), (-(2**70), "json")],
)
def test_integers_of_any_size_are_labels(label, field):
    fields = pack_fields(Sample(b"\xff\xd8\xff", {"label": label}))
    assert list(fields) == ["jpg", field]
    assert unpack_fields(fields, 0).targets == {"label": label}


def test_an_image_of_objects_cannot_be_stored():
    with pytest.raises(TypeError, match="pack: 'data' cannot be stored: an array of Python's objects"):
        pack_fields(Sample(np.array([[None, 1]])))


def test_several_images_come_back():
    left = Sample(b"\xff\xd8\xff", {"boxes": np.ones((1, 4)), "labels": np.array([2])}, 4, size=(6, 8))
    images = {"left": left, "right": b"\x89PNG\r", "Depth": np.ones((2, 3, 1), np.uint16)}
    sample = Sample(images, {"action": np.zeros(7), "label": 3}, 4, size=(6, 8))
    assert {*pack_fields(sample)} == {
        *("image_names.json", "left.jpg", "left.boxes.npy", "left.labels.npy", "left.image_size.json"),
        *("right.png", "Depth.npy", "action.npy", "cls", "image_size.json"),
    }
    back = there_and_back(sample)
    assert list(back.data) == ["left", "right", "Depth"]
    assert (back.data["left"].data, back.data["left"].size) == (left.data, left.size)
    assert str(back.data["left"].targets) == str(left.targets)
    assert back.data["right"] == images["right"]
    assert np.array_equal(back.data["Depth"], images["Depth"])
    assert back.data["Depth"].dtype == np.uint16
    assert (str(back.targets), back.size, back.sample_id) == (str(sample.targets), (6, 8), 4)


def test_clips_come_back():
    frames = tuple(b"\xff\xd8\xff%d\0" % number for number in range(12))
    sample = Sample(frames, {"label": 3, "boxes": np.zeros((12, 1, 4))}, 4)
    back = there_and_back(sample)
    assert back.data == frames
    assert (back.targets["label"], back.targets["boxes"].shape) == (3, (12, 1, 4))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ({"a.b": b"x"}, "image names without dots and slashes, but got 'a.b'"),
        ({0: b"x"}, "image names without dots and slashes, but got 0"),
        ({"left": (b"x", b"y")}, "expected one image as left of sample 4, but got several"),
        ({"left": Sample({"a": b"x"})}, "expected one image as left of sample 4, but got several"),
        ({"depth": b"x"}, "expected targets of other names than images, but got 'depth'"),
    ],
)
def test_several_images_that_cannot_be_stored_are_named(images, message):
    with pytest.raises(TypeError, match=f"pack: .*{message}"):
        pack_fields(Sample(images, {"depth": 3}, 4))


@pytest.mark.parametrize(
    "names", [b"-1", b"2.0", b"true", b'["a", "a"]', b'["a", "a.b"]', b'["a.b"]', b'{"a": 1}', b"[", b"9" * 9]
)
def test_malformed_names_of_images_are_named(names):
    with pytest.raises(ValueError, match=r"expected the names of images in the field 'image_names\.json'"):
        unpack_fields({"image_names.json": names, "a.jpg": b"x", "0.jpg": b"x", "1.jpg": b"x"}, 1)


def test_a_missing_image_is_named():
    with pytest.raises(ValueError, match="image right: expected a field with an image, but got cls"):
        unpack_fields({"image_names.json": b'["left", "right"]', "left.jpg": b"x", "right.cls": b"3"}, 1)


def test_fields_of_others():
    fields = {
        "Image.JPG": b"picture",
        "seg.PNG": b"mask",
        "TXT": b"caption",
        "json": b"[1, 2]",
        "weight": b"3",
    }
    sample = unpack_fields(fields, 1)
    assert sample.data == b"picture"
    assert sample.targets == {"seg": b"mask", "txt": "caption", "json": [1, 2], "weight": b"3"}
    assert unpack_fields({"seg.png": b"mask", "png": b"picture"}, 1).data == b"picture"


def test_kinds_may_be_in_any_case():
    fields = {
        "JPG": b"picture",
        "Cls": b"7",
        "Json": b'{"text": "dot"}',
        "Boxes.NPY": npy(np.ones(2)),
        "Id": b"3",
    }
    sample = unpack_fields(fields, 1)
    assert sample.data == b"picture"
    assert sample.targets.pop("Boxes").tolist() == [1, 1]
    assert sample.targets == {"label": 7, "text": "dot", "Id": b"3"}
    assert unpack_fields({"NPY": npy(np.ones((2, 3)))}, 1).data.shape == (2, 3)
    with pytest.raises(ValueError, match="expected fields of distinct names, but got 'jpg' twice"):
        unpack_fields({"jpg": b"one", "JPG": b"two"}, 0)


@pytest.mark.parametrize(("data", "label"), [(b"0", 0), (b"-3", -3), (b"12\n", 12), (b"12\r\n", 12)])
def test_a_class_is_an_integer(data, label):
    assert unpack_fields({"jpg": b"x", "cls": data}, 0).targets == {"label": label}


@pytest.mark.parametrize(
    "data",
    [
        b"1_11",
        b"007",
        b" 7",
        b"+7",
        b"7.0",
        b"1e5",
        b"",
        b"\n",
        "٣".encode(),
        b"9" * 19,
        b"9" * 5000,
        b"7\n8",
    ],
)
def test_a_class_that_is_no_integer_is_named(data):
    with pytest.raises(ValueError, match="the field 'cls' is not valid cls: expected an integer"):
        unpack_fields({"jpg": b"x", "cls": data}, 0)


def test_fields_that_differ_in_one_target_are_named():
    fields = {"jpg": b"x", "cls": b"3", "json": b'{"label": 3}'}
    assert unpack_fields(fields, 0).targets == {"label": 3}
    with pytest.raises(ValueError, match="the field 'json' has another 'label' than a field before it"):
        unpack_fields({**fields, "json": b'{"label": 4}'}, 0)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ORDINARY = [np.arange(6).reshape(2, 3).astype(kind) for kind in ("u1", "<i4", ">f8", "?", "<c8")]
ORDINARY += [np.zeros((), np.float32), np.zeros((0, 4)), np.arange(3).astype("<U2")]


@pytest.mark.parametrize("array", [*ORDINARY, np.asfortranarray(np.arange(6.0).reshape(2, 3))], ids=str)
def test_ordinary_arrays_are_read_without_numpys_reader(monkeypatch, array):
    called, read = [], np.lib.format.read_array
    monkeypatch.setattr(
        np.lib.format, "read_array", lambda *args, **how: (called.append(1), read(*args, **how))[1]
    )
    target = unpack_fields({"jpg": b"x", "array.npy": npy(array)}, 0).targets["array"]
    assert (target.dtype, target.shape) == (array.dtype, array.shape)
    assert np.array_equal(target, array)
    assert target.flags.writeable
    assert bool(called) == (array.flags.f_contiguous and not array.flags.c_contiguous)


def test_an_array_with_a_long_header_is_read():
    array = np.ones((1,) * 64, np.uint8)  # 310 bytes: two bytes say so
    target = unpack_fields({"jpg": b"x", "array.npy": npy(array)}, 0).targets["array"]
    assert target.shape == array.shape


@pytest.mark.parametrize("extra", [b"", b"x"])
def test_bytes_after_an_array_are_no_array(extra):
    data = npy(np.arange(6, dtype=np.int16))
    assert unpack_fields({"jpg": b"x", "array.npy": data + extra}, 0).targets["array"].tolist() == [*range(6)]
    with pytest.raises(ValueError, match=r"the field 'array\.npy' is not valid npy"):
        unpack_fields({"jpg": b"x", "array.npy": data[:-1]}, 0)


def of_declared_size(size):
    """A zip file whose directory says that its one file has so many bytes."""
    data = bytearray(pack_fields(Sample(b"x", {"polygons": [np.ones((3, 2))]}))["polygons.npz"])
    at = data.index(b"PK\1\2") + 24
    data[at : at + 4] = size.to_bytes(4, "little")
    return bytes(data)


def test_arrays_of_a_field_have_a_gibibyte_at_most():
    sample = unpack_fields({"jpg": b"x", "polygons.npz": of_declared_size(2**30)}, 0)
    assert sample.targets["polygons"][0].tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(ValueError, match="expected at most 1073741824 bytes of arrays, but got 1073741825"):
        unpack_fields({"jpg": b"x", "polygons.npz": of_declared_size(2**30 + 1)}, 0)


def malicious_npy():
    file = io.BytesIO()
    np.save(file, np.array([print], object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected a field with an image, but got none"),
        ({"cls": b"1"}, "expected a field with an image, but got cls"),
        ({"jpg": b"x", "cls": b"one"}, "the field 'cls' is not valid cls"),
        ({"jpg": b"x", "json": b"{"}, "the field 'json' is not valid json"),
        ({"jpg": b"x", "txt": b"\xff"}, "the field 'txt' is not valid txt"),
        ({"jpg": b"x", "boxes.npy": b"x"}, "the field 'boxes.npy' is not valid npy"),
        ({"jpg": b"x", "boxes.npy": b""}, "the field 'boxes.npy' is not valid npy"),
        ({"jpg": b"x", "boxes.npy": malicious_npy()}, "the field 'boxes.npy' is not valid npy"),
        ({"npy": b"\x93NUMPY"}, "the field 'npy' is not valid npy"),
        ({"npy": b"PK\3\4"}, "the field 'npy' is not valid npy"),
        ({"jpg": b"x", "polygons.npz": b"PK"}, "the field 'polygons.npz' is not valid npz"),
        ({"jpg": b"x", "polygons.npz": b"PK\3\4"}, "the field 'polygons.npz' is not valid npz"),
    ],
)
def test_malformed_fields_are_named(fields, message):
    with pytest.raises(ValueError, match=message):
        unpack_fields(fields, 0)


def test_the_same_sample_gives_the_same_bytes():
    sample = Sample(b"x", {"boxes": np.zeros((2, 4)), "polygons": [np.ones((3, 2))], "a": 1})
    assert pack_fields(sample) == pack_fields(sample)
    with zipfile.ZipFile(io.BytesIO(pack_fields(sample)["polygons.npz"])) as file:
        assert file.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)
