"""XML files of Pascal VOC as targets."""

import os

import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Decoding, Loader, Voc, open_source
from orbbec.data.loader.tests.test_by_feed import assert_same, epoch_of

SIZE = 20, 30


def xml_object(name, box, more=""):
    corners = "".join(
        f"<{each}>{value}</{each}>" for each, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
    )
    return f"<object><name>{name}</name>{more}<bndbox>{corners}</bndbox></object>"


def write(root, *annotations, size=SIZE):
    """A data set of one image per annotation, a text of objects."""
    for folder in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number, objects in enumerate(annotations):
        Image.new("RGB", SIZE[::-1]).save(root / f"JPEGImages/{number}.png")
        stated = (
            ""
            if size is None
            else f"<size><width>{size[1]}</width><height>{size[0]}</height><depth>3</depth></size>"
        )
        (root / f"Annotations/{number}.xml").write_text(f"<annotation>{stated}{objects}</annotation>")
    return root


PART = (
    "<part><name>head</name><bndbox><xmin>9</xmin><ymin>9</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></part>"
)
DOG = xml_object("dog", (1, 2, 10, 20), "<difficult>1</difficult><truncated>0</truncated>")
CAT = xml_object("cat", (3.5, 4, 30, 20), "<pose>Left</pose><truncated>1</truncated>" + PART)


def test_boxes_count_from_the_left_edge_of_the_first_pixel(tmp_path):
    source = Voc(write(tmp_path, DOG + CAT, ""))
    assert source.classes == ["cat", "dog"]
    targets = source[0].targets
    assert targets["boxes"].tolist() == [[0, 1, 10, 20], [2.5, 3, 30, 20]]
    assert targets["labels"].tolist() == [1, 0]
    assert targets["difficult"].tolist() == [True, False]
    assert targets["truncated"].tolist() == [False, True]
    assert [value.dtype for value in targets.values()] == [np.float32, np.int64, bool, bool]
    assert (source[0].size, source[0].sample_id, source[1].sample_id) == (SIZE, 0, 1)
    assert [value.shape for value in source[1].targets.values()] == [(0, 4), (0,), (0,), (0,)]
    assert Voc(tmp_path, one_based=False)[0].targets["boxes"].tolist()[0] == [1, 2, 10, 20]


def test_classes_labels_and_difficult_objects_are_as_asked_for(tmp_path):
    write(tmp_path, DOG + CAT)
    assert Voc(tmp_path, classes=["dog", "bird", "cat"])[0].targets["labels"].tolist() == [0, 2]
    assert Voc(tmp_path, labels="from_one")[0].targets["labels"].tolist() == [2, 1]
    easy = Voc(tmp_path, keep_difficult=False)[0].targets
    assert (easy["labels"].tolist(), easy["difficult"].tolist()) == ([0], [False])


def test_a_list_chooses_and_orders_the_images(tmp_path):
    write(tmp_path, DOG, CAT, CAT)
    (tmp_path / "ImageSets/Main/train.txt").write_text("2\n\n0\n")
    source = Voc(tmp_path, "train")
    assert [path[-5:] for path in source.paths] == ["2.png", "0.png"]
    assert [source[n].targets["labels"].tolist() for n in range(2)] == [[0], [1]]
    assert [len(open_source(tmp_path, split=split)) for split in ("train", "val")] == [2, 3]
    for text, message in (
        ("2 -1\n", "line 1 of .*train.txt has '2 -1'"),
        ("../0", "trust_paths|paths in"),
        ("", "but got none"),
    ):
        (tmp_path / "ImageSets/Main/train.txt").write_text(text)
        with pytest.raises(ValueError, match=f"Voc: expected .*({message})"):
            Voc(tmp_path, "train")


def test_images_and_xml_files_may_be_in_one_folder(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.jpg")
    (tmp_path / "a.xml").write_text(f"<annotation>{DOG}</annotation>")
    source = Voc(tmp_path, images="", annotations="")
    assert (source[0].path, source[0].size) == (str(tmp_path / "a.jpg"), None)
    with pytest.raises(FileNotFoundError, match="Annotations"):
        Voc(tmp_path)
    (tmp_path / "Annotations").mkdir()
    with pytest.raises(ValueError, match=r"Voc: expected XML files in .*Annotations, but got none"):
        Voc(tmp_path)
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"one file of each name, but got .*a.jpg and .*a.png"):
        Voc(tmp_path, images="", annotations="")


BAD = {
    xml_object(
        "dog", (0, 2, 5, 5)
    ): "object 1: expected coordinates from 1, but got 0; one_based=False counts from 0",
    xml_object(
        "dog", (9, 2, 5, 5)
    ): "object 1: expected xmin to xmax and ymin to ymax, but got [8.0, 1.0, 5.0, 5.0]",
    xml_object("dog", (1, 2, "nan", 5)): "object 1: expected a finite number, but got 'nan'",
    xml_object("dog", (1, 2, "", 5)): "object 1: expected an element 'bndbox/xmax', but there is none",
    xml_object("bird", (1, 2, 5, 5)): "object 1: expected one of 2 classes, but got 'bird'",
    xml_object("", (1, 2, 5, 5)): "object 1: expected an element 'name', but there is none",
    "<object><name>dog</name></object>": "object 1: expected an element 'bndbox/xmin', but there is none",
    xml_object(
        "dog", (1, 2, 5, 5), "<difficult>no</difficult>"
    ): "object 1: expected 'difficult' as 0 or 1, but got 'no'",
    "<object>": "mismatched tag: line 1, column",
}


@pytest.mark.parametrize("bad", BAD, ids=BAD.values())
def test_a_malformed_xml_file_is_a_bad_sample(tmp_path, bad):
    source = Voc(write(tmp_path, DOG + bad, CAT), classes=["cat", "dog"])
    with pytest.raises(BadSample) as caught:
        source[0]
    assert caught.value.path == str(tmp_path / "Annotations/0.xml")
    assert BAD[bad] in caught.value.reason
    with (
        Loader(source, 2, shuffle=False, on_error="skip", collate=list) as loader,
        pytest.warns(UserWarning, match="1 bad sample"),
    ):
        [batch] = loader
    assert (batch.sample_ids.tolist(), batch.targets[0]["labels"].tolist()) == ([1], [0])


@pytest.mark.parametrize("bad", ["<object></object>", "<object>"])
def test_class_names_are_not_sorted_without_the_names_of_a_malformed_file(tmp_path, bad):
    write(tmp_path, DOG, bad)
    with pytest.raises(
        ValueError, match=r"Voc: expected an annotation in .*1.xml, but got .*; with classes="
    ):
        Voc(tmp_path)
    assert Voc(tmp_path, classes=["dog"])[0].targets["labels"].tolist() == [0]


def test_a_missing_image_or_xml_file_and_a_bad_size_are_bad_samples(tmp_path):
    write(tmp_path, DOG, DOG)
    (tmp_path / "ImageSets/Main/train.txt").write_text("0\n1\n5\n")
    source = Voc(tmp_path, "train", classes=["dog"])
    (tmp_path / "Annotations/1.xml").unlink()
    for index, name in ((1, "Annotations/1.xml"), (2, "JPEGImages/5.jpg")):
        with pytest.raises(BadSample, match=rf"{name}\): No such file or directory"):
            source[index]
    for size, message in (
        ((0, 3), "expected a size from 1, but got 0x3"),
        ((2.5, 3), "from 1, but got 2.5x3"),
    ):
        with pytest.raises(BadSample, match=message):
            Voc(write(tmp_path, DOG, size=size))[0]
    assert Voc(write(tmp_path, DOG, size=(0, 0)))[0].size is None
    assert Voc(write(tmp_path, DOG, size=(1, 2)))[0].size == (1, 2)


@pytest.mark.parametrize("feed", ["0", "1"])
def test_an_image_of_another_size_than_annotated_is_refused(tmp_path, monkeypatch, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    source = Voc(write(tmp_path, DOG, size=SIZE[::-1]))
    with (
        Loader(source, 1) as loader,
        pytest.raises(BadSample, match=r"an image of size \[30, 20\], as annotated"),
    ):
        next(iter(loader))


def test_the_feed_makes_the_batches_of_the_python_functions(tmp_path, monkeypatch):
    source = Voc(write(tmp_path, *(DOG + CAT, CAT, "") * 4))
    results = []
    for feed in ("1", "0"):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        results.append(epoch_of(source, None, Decoding(), "raise", False))
    assert_same(*results)
    assert len(results[0][0]) == 2


def test_xml_files_are_found_in_folders_and_by_any_case_of_their_ending(tmp_path):
    write(tmp_path, DOG, CAT)
    for folder in ("JPEGImages", "Annotations"):
        (tmp_path / folder / "b").mkdir()
    (tmp_path / "JPEGImages/1.png").rename(tmp_path / "JPEGImages/b/1.PNG")
    (tmp_path / "Annotations/1.xml").rename(tmp_path / "Annotations/b/1.XML")
    (tmp_path / "ImageSets/Main/train.txt").write_text("b/1\n")
    for source in (Voc(tmp_path), Voc(tmp_path, "train")):
        assert source[len(source) - 1].path == str(tmp_path / "JPEGImages/b/1.PNG")
        assert source[len(source) - 1].targets["boxes"].tolist() == [[2.5, 3, 30, 20]]
    assert len(Voc(tmp_path)) == 2


@pytest.mark.parametrize(
    ("before", "after", "tag"),
    [
        ("<annotation", "<annotation xmlns='urn:x'", "{urn:x}annotation"),
        ("<annotation>", "<annotations><annotation>", "annotations"),
    ],
)
def test_xml_files_of_another_format_are_not_images_without_objects(tmp_path, before, after, tag):
    file = write(tmp_path, DOG) / "Annotations/0.xml"
    text = file.read_text().replace(before, after)
    file.write_text(text + "</annotations>" if tag == "annotations" else text)
    message = f"expected the root element 'annotation', but got '{tag}'"
    with pytest.raises(ValueError, match=f"Voc: .*0.xml, but got {message}"):
        Voc(tmp_path)
    with pytest.raises(BadSample, match=rf"0.xml\): {message}"):
        Voc(tmp_path, classes=["dog"])[0]


def test_a_list_may_have_a_byte_order_mark_and_names_in_any_encoding(tmp_path):
    write(tmp_path, DOG)
    for folder, ending in (("JPEGImages", "png"), ("Annotations", "xml")):
        file = tmp_path / folder / f"0.{ending}"
        file.rename(file.with_name(os.fsdecode(b"caf\xe9.") + ending))
    (tmp_path / "ImageSets/Main/train.txt").write_bytes(b"\xef\xbb\xbfcaf\xe9\r\n")
    assert Voc(tmp_path, "train")[0].targets["labels"].tolist() == [0]
