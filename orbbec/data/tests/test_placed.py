"""Targets belong to an image of the decoded size, or the sample is bad, on every path from file to batch."""

import json
import struct

import cv2
import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Coco, Decoding, Loader, Sample, Shards, ShardStream, as_source, pack
from orbbec.data.decode.native import has_native
from orbbec.data.placed import check_placed
from orbbec.data.readers.fields import unpack_fields
from orbbec.data.readers.protobuf import example_sample, example_size
from orbbec.transforms import RandomHorizontalFlip, RandomResizedCrop

SIZE = (40, 60)
BOXES = np.float32([[45, 5, 55, 15]])
DECODINGS = {
    "regions": Decoding(),
    "whole": Decoding(roi=False),
    "gray": Decoding(mode="L"),
    "kept damage": Decoding(on_damage="keep"),
    "planes": Decoding(planes=True),
}


def write_coco(folder, size=SIZE, orientation=1, suffix="jpg", **fields):
    """A COCO file that says `size` of a stored image of 40x60."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", SIZE[::-1]).save(folder / f"a.{suffix}", exif=exif)
    annotation = {"id": 1, "image_id": 7, "category_id": 1, "bbox": [45, 5, 10, 10], "area": 100, **fields}
    image = {"id": 7, "file_name": f"a.{suffix}", "height": size[0], "width": size[1]}
    table = {"images": [image], "annotations": [annotation], "categories": [{"id": 1, "name": "x"}]}
    (folder / "t.json").write_text(json.dumps(table))
    return folder, folder / "t.json"


STILL = [RandomHorizontalFlip(0.0)]


def first(source, transforms=STILL, decoding=None):
    with Loader(source, 1, transforms, threads=1, decoding=decoding) as loader:
        return next(iter(loader))


@pytest.mark.parametrize("transforms", [None, [RandomHorizontalFlip(0.0)], [RandomResizedCrop(16)]])
@pytest.mark.parametrize("name", DECODINGS)
def test_an_orientation_that_the_annotations_ignore_makes_a_bad_sample(tmp_path, name, transforms):
    decoding = DECODINGS[name]
    if decoding.planes and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    reason = r"sample 7 \(.*a\.jpg\): expected an image of size \[40, 60\], as annotated, but got \[60, 40\]"
    with pytest.raises(BadSample, match=rf"{reason}: the file has an EXIF orientation"):
        first(Coco(*write_coco(tmp_path, orientation=6)), transforms, decoding)
    upright = first(Coco(*write_coco(tmp_path, (60, 40), orientation=6)), transforms, decoding)
    assert upright.sample_ids.tolist() == [7]


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_the_orientation_of_any_format_is_named_and_can_be_ignored(tmp_path, suffix):
    source = Coco(*write_coco(tmp_path, orientation=6, suffix=suffix))
    with pytest.raises(BadSample, match=r"Decoding\(apply_exif_orientation=False\) ignores it"):
        first(source)
    stored = first(source, decoding=Decoding(apply_exif_orientation=False))
    assert tuple(stored.images.shape[-2:]) == SIZE
    assert np.array_equal(stored.targets["boxes"][0], BOXES)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("size", [(41, 60), (40, 59), (60, 40), (20, 30)])
def test_a_stale_size_makes_a_bad_sample_that_names_both(tmp_path, size, suffix):
    source = Coco(*write_coco(tmp_path, size, suffix=suffix))
    said = rf"size \[{size[0]}, {size[1]}\], as annotated, but got \[40, 60\]$"
    with pytest.raises(BadSample, match=said):
        first(source)
    with pytest.warns(UserWarning, match=said[:-1]):
        assert list(Loader(source, 1, on_error="skip")) == []


def test_masks_and_keypoints_are_refused_like_boxes():
    data = cv2.imencode(".jpg", np.zeros((*SIZE, 3), np.uint8))[1].tobytes()
    for targets in (
        {"masks": np.zeros((1, 41, 60), np.uint8)},
        {"keypoints": np.zeros((1, 2, 3))},
        {"polygons": []},
        {"landmarks": np.zeros((5, 2))},
    ):
        with pytest.raises(BadSample, match=r"size \[41, 60\], as annotated, but got \[40, 60\]"):
            first([Sample(data, targets, size=(41, 60))])
    whole = first([Sample(data, {"label": 3}, size=(41, 60))])  # nothing lies on the image
    assert whole.targets["label"].tolist() == [3]


@pytest.mark.parametrize("transforms", [None, [RandomHorizontalFlip(0.0)]])
@pytest.mark.parametrize("shape", [(40, 61), (60, 40), (1, 40, 61), (2, 60, 40)])
def test_masks_of_another_size_are_a_bad_sample_with_and_without_transforms(shape, transforms):
    name = "mask" if len(shape) == 2 else "masks"
    source = [Sample(np.zeros((*SIZE, 3), np.uint8), {name: np.zeros(shape, np.uint8)})]
    with pytest.raises(BadSample, match=rf"expected {name} of size \[40, 60\], as the image, but got"):
        first(source, transforms)


@pytest.mark.parametrize("shape", [(), (3,), (0, 41, 60)])
def test_what_has_no_rows_and_columns_is_no_mask_of_another_size(shape):
    assert check_placed(Sample(b"", {"mask": np.zeros(shape), "masks": np.zeros(shape)}), SIZE) is None


def test_a_pil_mask_of_another_size_is_no_label():
    pairs = [(Image.new("RGB", (60, 40)), Image.new("L", (61, 40)))]
    with pytest.raises(
        BadSample, match=r"expected mask of size \[40, 60\], as the image, but got \[40, 61\]"
    ):
        first(as_source(pairs))
    pairs = [(Image.new("RGB", (60, 40)), Image.new("L", (60, 40)))]
    assert as_source(pairs)[0].targets["mask"].shape == SIZE


@pytest.mark.parametrize("reader", [Shards, lambda folder: ShardStream(f"{folder}/shard-000000.tar")])
def test_packing_keeps_the_size_that_the_annotations_declare(tmp_path, reader):
    pack(Coco(*write_coco(tmp_path, (40, 59))), tmp_path / "packed")
    source = reader(tmp_path / "packed")
    sample = next(iter(source))
    assert (sample.size, sorted(sample.targets)) == ((40, 59), ["area", "boxes", "labels"])
    with pytest.raises(BadSample, match=r"size \[40, 59\], as annotated, but got \[40, 60\]"):
        first(source)


@pytest.mark.parametrize("text", ["[40]", "[40, 60, 3]", "[40.0, 60]", "[0, 60]", "{}", "x", "[true, 60]"])
def test_a_size_in_a_shard_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"height and width in the field 'image_size\.json'"):
        unpack_fields({"jpg": b"...", "image_size.json": text.encode()}, 0)


def test_relative_boxes_are_refused_if_the_declared_size_is_not_that_of_the_image():
    features = {"image/encoded": b"...", "image/height": 40, "image/width": 60}
    features |= {f"image/object/bbox/{side}": np.float32([0.5]) for side in ("xmin", "ymin", "xmax", "ymax")}
    features["image/object/class/label"] = 3
    data, targets = example_sample(features)
    sample = Sample(data, targets, size=example_size(features))
    check_placed(sample, SIZE)
    with pytest.raises(ValueError, match=r"size \[40, 60\], as annotated, but got \[60, 40\]"):
        check_placed(sample, (60, 40))
    for features in ({}, {"image/height": 40}, {"image/height": 40.5, "image/width": 60}):
        assert example_size(features) is None


def test_an_image_that_proves_to_be_of_another_size_than_its_header_says_is_refused():
    """The header promises 40x60; damage makes the file decode elsewhere, where sizes are checked again."""
    data = bytearray(cv2.imencode(".jpg", np.zeros((*SIZE, 3), np.uint8))[1].tobytes())
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", 39, 60)
    with pytest.raises(BadSample, match=r"size \[40, 60\], as annotated, but got \[39, 60\]"):
        first([Sample(bytes(data), {"boxes": BOXES}, size=SIZE)])
