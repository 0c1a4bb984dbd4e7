"""Sizes and numbers at a limit are read; those directly beyond it are refused, and the limit is named."""

import json
import tarfile

import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Coco, DepthFolder, MaskFolder, NpyFile, ShardStream, Voc, Yolo
from orbbec.data.decode.decode import image_size
from orbbec.data.readers.coco import _check_image, _check_masks
from orbbec.data.readers.literals import to_integer
from orbbec.data.readers.masks import mask_of
from orbbec.data.readers.members import members_of
from orbbec.data.readers.tar import to_entries

OBJECT = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}


def coco(tmp_path, **changes):
    table = {
        "images": [{"id": 1, "file_name": "a.jpg", "height": 4, "width": 4}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{**OBJECT, **changes}],
    }
    (tmp_path / "train.json").write_text(json.dumps(table))
    return Coco(tmp_path, tmp_path / "train.json")


@pytest.mark.parametrize("value", [999_999_999, 1e9 - 1])
def test_numbers_of_coco_lie_below_a_billion(tmp_path, value):
    assert coco(tmp_path, bbox=[0, 0, value, 4], area=value).targets(0)["area"] == np.float32(value)
    with pytest.raises(ValueError, match="Coco: expected a box of 4 numbers"):
        coco(tmp_path, bbox=[0, -1e9, 4, 4])
    with pytest.raises(ValueError, match="Coco: expected a number from 0 as area"):
        coco(tmp_path, area=1e9)


@pytest.mark.parametrize("side", [2, 3])
def test_boxes_of_coco_may_be_without_width_or_height_and_not_below(tmp_path, side):
    box = [1, 1, 0.5, 0.5]
    box[side] = 0
    expected = [1, 1, 1 + box[2], 1 + box[3]]
    assert coco(tmp_path, bbox=box).targets(0)["boxes"].tolist() == [expected]
    box[side] = -5e-324
    with pytest.raises(ValueError, match="Coco: expected boxes of width and height from 0"):
        coco(tmp_path, bbox=box)


def test_images_without_categories_have_no_objects_of_no_points(tmp_path):
    table = {"images": [{"id": 1, "file_name": "a.jpg", "height": 4, "width": 5}]}
    (tmp_path / "train.json").write_text(json.dumps({**table, "categories": [], "annotations": []}))
    source = Coco(tmp_path, tmp_path / "train.json", masks=True, keypoints=True)
    shapes = {name: values.shape for name, values in source.targets(0).items()}
    assert shapes == {
        **{"boxes": (0, 4), "labels": (0,), "area": (0,)},
        **{"keypoints": (0, 0, 3), "masks": (0, 4, 5)},
    }


@pytest.mark.parametrize("side", ["height", "width"])
def test_images_of_coco_have_sides_from_one_to_a_mebipixel(side):
    sides = {"height": 5, "width": 5}
    for value in (1, 2**20 - 1):
        _check_image({**sides, side: value})
    for value in (0, 2**20):
        with pytest.raises(ValueError, match="Coco: expected images with height and width from 1"):
            _check_image({**sides, side: value})


def test_masks_of_an_image_have_two_gibibytes_at_most():
    _check_masks(2, (2**15, 2**15))
    with pytest.raises(
        ValueError, match=r"at most 2147483648 bytes together, but got 1 of \[1, 2147483649\]"
    ):
        _check_masks(1, (1, 2**31 + 1))


def test_the_mask_that_an_area_is_computed_from_has_two_gibibytes_at_most(tmp_path):
    image = {"id": 1, "file_name": "a.jpg", "height": 2**16, "width": 2**16}
    entry = {**OBJECT, "segmentation": [[0, 0, 9, 0, 9, 9]]}
    table = {"images": [image], "categories": [{"id": 1, "name": "cat"}], "annotations": [entry]}
    (tmp_path / "train.json").write_text(json.dumps(table))
    with pytest.raises(
        BadSample, match=r"masks of at most 2147483648 bytes together, but got 1 of \[65536, "
    ):
        Coco(tmp_path, tmp_path / "train.json").targets(0)


def test_a_polygon_has_coordinates_below_a_billion_and_a_short_outline():
    outline = "expected an outline of 2000000 pixels at most, but got"
    with pytest.raises(ValueError, match=f"{outline} 1999999998"):
        mask_of([[0, 0, 999_999_999, 0, 0, 0]], (4, 4))
    with pytest.raises(ValueError, match=f"{outline} 2000002"):
        mask_of([[0, 0, 1_000_001, 0, 0, 0]], (4, 4))
    with pytest.raises(ValueError, match="expected polygons as finite x, y pairs"):
        mask_of([[0, 0, 10**9, 0, 0, 0]], (4, 4))


def test_a_compressed_run_length_has_60_bits_at_most():
    def counts(characters):
        return {"size": [2, 2], "counts": "P" * (characters - 1) + "0"}

    with pytest.raises(ValueError, match=r"expected compressed run lengths, but .* has one of 65 bits"):
        mask_of(counts(13), (2, 2))
    with pytest.raises(ValueError, match="expected run lengths that add up to 4 pixels"):
        mask_of(counts(12), (2, 2))


@pytest.mark.parametrize("limit", [-(2**63), 2**63 - 1])
def test_an_integer_has_64_bits(limit):
    assert to_integer(str(limit)) == limit
    with pytest.raises(ValueError, match="expected an integer of 64 bits"):
        to_integer(str(limit + (1 if limit > 0 else -1)))


def header(kind, size):
    entry = tarfile.TarInfo("a.jpg")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.USTAR_FORMAT)


def names(data):
    return [member.name for member in members_of(lambda begin, size: data[begin : begin + size], len(data))]


def test_a_long_name_has_a_mebibyte_at_most():
    entries = to_entries("7", {"jpg": b"1"})
    assert names(header(b"L", 2**20) + b"x" * 2**20 + entries) == ["x" * 2**20]
    with pytest.raises(ValueError, match="the header at byte 0 has 1048577 bytes"):
        names(header(b"L", 2**20 + 1) + b"x" * (2**20 + 512) + entries)


def stream_of(path, data):
    pytest.importorskip("webdataset")
    path.write_bytes(data)
    return list(ShardStream(path))


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (2**31, "the archive is truncated"),
        (2**31 + 1, "expected files of at most 2147483648 bytes, but a.jpg"),
    ],
)
def test_a_file_of_a_stream_has_two_gibibytes_at_most(tmp_path, size, reason):
    (bad,) = stream_of(tmp_path / "a.tar", header(tarfile.REGTYPE, size) + b"x" * 512)
    assert isinstance(bad, BadSample)
    assert bad.reason.startswith(reason)


def test_an_archive_ends_with_two_blocks_of_zeros(tmp_path):
    entries = to_entries("7", {"jpg": b"x" * 512})
    (sample,) = stream_of(tmp_path / "a.tar", entries + bytes(1024))
    assert sample.data == b"x" * 512
    *_, bad = stream_of(tmp_path / "a.tar", entries + bytes(1023))
    assert bad.reason.startswith("the archive is truncated")


@pytest.mark.parametrize("name", ["jpg", "cls"])
def test_a_sample_of_a_stream_has_each_field_once(tmp_path, name):
    entries = to_entries("7", {"jpg": b"x", "cls": b"3"}) + to_entries("7", {name: b"2"})
    *_, bad = stream_of(tmp_path / "a.tar", entries + bytes(1024))
    assert isinstance(bad, BadSample)
    assert bad.reason.startswith(f"the archive has 7.{name} twice")


def test_an_array_file_has_an_exbipixel_at_most(tmp_path):
    def array(count):
        with open(tmp_path / "a.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "|u1", "fortran_order": False, "shape": (count, 1, 1)}
            )
        return NpyFile(tmp_path / "a.npy")

    assert len(array(2**60)) == 2**60
    with pytest.raises(ValueError, match="NpyFile: expected images"):
        array(2**60 + 1)


def test_an_image_whose_size_is_asked_for_has_268_million_pixels_at_most():
    assert image_size(b"P5 16384 16384 255 ") == (2**14, 2**14)
    with pytest.raises(ValueError, match=r"image_size: expected at most 268435456 pixels"):
        image_size(b"P5 16384 16385 255 ")


@pytest.mark.parametrize(
    ("row", "is_right"),
    [
        ("2147483648 0.5 0.5 0.5 0.5", True),
        ("2147483649 0.5 0.5 0.5 0.5", False),
        ("0 0 1 1 0", True),
        ("0 0 0 0 1 1 1", True),
        ("0 0 0 0 1 1 1.0000000000000002", False),
        ("0 -5e-324 0 0 1 1 1", False),
    ],
)
def test_classes_of_yolo_have_31_bits_and_numbers_are_fractions(tmp_path, row, is_right):
    Image.new("L", (4, 4)).save(tmp_path / "1.png")
    (tmp_path / "1.txt").write_text(row)
    source = Yolo(tmp_path)
    if is_right:
        assert source[0].targets["labels"].tolist() == [int(row.split()[0])]
    else:
        with pytest.raises(
            BadSample, match=r"expected (a class from 0, but got 2|fractions from 0 to 1, but)"
        ):
            source[0]


@pytest.mark.parametrize(
    ("corners", "is_right"),
    [
        ((1, 1, 1, 1), True),
        ((5, 5, 4, 4), True),  # without width and height
        ((5, 5, 3.5, 4), False),
        ((5, 5, 4, 3.5), False),
        ((0.5, 1, 9, 9), False),
        ((1, 0.5, 9, 9), False),
        ((1, 1, 999999999, 999999999), True),
        ((1, 1, 1e9, 9), False),
        ((1, 1, 9, 1e9), False),
    ],
)
def test_boxes_of_voc_are_within_a_billion_pixels_and_in_order(tmp_path, corners, is_right):
    names = "xmin", "ymin", "xmax", "ymax"
    box = "".join(f"<{name}>{value:f}</{name}>" for name, value in zip(names, corners, strict=True))
    Image.new("L", (4, 4)).save(tmp_path / "1.png")
    xml = f"<annotation><object><name>cat</name><bndbox>{box}</bndbox></object></annotation>"
    (tmp_path / "1.xml").write_text(xml)
    source = Voc(tmp_path, images="", annotations="")
    if is_right:
        expected = np.float32([[corners[0] - 1, corners[1] - 1, *corners[2:]]])
        assert np.array_equal(source[0].targets["boxes"], expected)
    else:
        with pytest.raises(BadSample, match=r"object 0: expected (coordinates from 1|xmin to xmax)"):
            source[0]


def test_a_depth_map_has_268_million_pixels_at_most(tmp_path):
    for folder in ("rgb", "depth"):
        (tmp_path / folder).mkdir()
    Image.new("L", (2, 1)).save(tmp_path / "rgb/1.png")
    for side, reason in (
        (16384, "truncated"),
        (16385, r"at most 268435456 pixels \(max_pixels\), but got 16384x16385"),
    ):
        (tmp_path / "depth/1.pgm").write_bytes(b"P5 %d 16384 255 " % side)
        with pytest.raises(BadSample, match=reason):
            DepthFolder(tmp_path)[0]


def test_classes_of_masks_have_16_bits(tmp_path):
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    Image.new("L", (2, 1)).save(tmp_path / "images/1.png")
    for values, dtype, reason in (
        ([0, 65535], np.uint16, None),
        ([0, 65535], np.int32, None),
        ([0, 65536], np.int32, "expected classes below 65536, but got 65536"),
        ([-1, 3], np.int32, "expected classes below 65536, but got"),
        ([0, 1], np.float32, "expected a mask with a palette or of gray, but got mode F"),
    ):
        Image.fromarray(np.array([values], dtype)).save(tmp_path / "masks/1.tif")
        source = MaskFolder(tmp_path)
        if reason is None:
            assert source[0].targets["mask"].tolist() == [values]
        else:
            with pytest.raises(BadSample, match=reason):
                source[0]
    (tmp_path / "masks/1.tif").unlink()
    for side, reason in ((16384, "truncated"), (16385, "at most 268435456 pixels, but got 16384x16385")):
        (tmp_path / "masks/1.pgm").write_bytes(b"P5 %d 16384 255 " % side)
        with pytest.raises(BadSample, match=reason):
            MaskFolder(tmp_path)[0]
    MaskFolder(tmp_path, ignore_index=0)
    MaskFolder(tmp_path, ignore_index=65535)
    for index in (-1, 65536):
        with pytest.raises(ValueError, match="MaskFolder: expected ignore_index as a whole number from 0"):
            MaskFolder(tmp_path, ignore_index=index)
