"""Images and labels are read from folders and data sets, and each preset draws them."""

import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("PIL")
pytest.importorskip("yaml")
from PIL import Image

from orbbec import ImageBatch
from orbbec.cli.preview import PRESETS, Shown, preset, select, sheet_as_html
from orbbec.cli.preview.drawing import ROW_KEY
from orbbec.cli.preview.sources import shown_by_class
from orbbec.cli.preview.yolo import read_labels
from orbbec.data import Sample, pack
from orbbec.recipes import imagenet_train, yolo_train
from tests.support import photograph
from tests.support.command import run_command


def save(path, height=40, width=60):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(photograph(height, width)).save(path)


@pytest.fixture
def yolo(tmp_path):
    """A data set in YOLO's format: two images, one with a box and a polygon."""
    save(tmp_path / "images/train/a.png")
    save(tmp_path / "images/train/b.png", 64, 50)
    (tmp_path / "labels/train").mkdir(parents=True)
    (tmp_path / "labels/train/a.txt").write_text("1 0.5 0.5 0.5 0.25\n\n0 0.1 0.1 0.9 0.1 0.5 0.5\n")
    (tmp_path / "data.yaml").write_text("path: .\ntrain: images/train\nnames: {0: cat, 1: dog}\n")
    return tmp_path


@pytest.fixture
def coco(tmp_path):
    """COCO annotations of one image: a box with a mask."""
    save(tmp_path / "photos/a.png")
    outline = [10, 10, 30, 10, 30, 20, 10, 20]
    table = {
        "images": [{"id": 7, "file_name": "a.png", "height": 40, "width": 60}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 10], "segmentation": [outline]}
        ],
        "categories": [{"id": 3, "name": "cat"}],
    }
    (tmp_path / "train.json").write_text(json.dumps(table))
    return tmp_path


def test_a_folder_is_read_evenly(tmp_path):
    for name in "abcdef":
        save(tmp_path / name / "1.png")
    (tmp_path / "a/notes.txt").write_text("no image")
    assert list(select([tmp_path], 3).images) == ["a/1.png", "c/1.png", "e/1.png"]
    assert len(select([tmp_path], 100).images) == 6


def test_labels_of_yolo_worked_by_hand(yolo):
    selection = select([yolo / "data.yaml"], 8)
    first, second = selection.targets
    assert list(selection.images) == ["images/train/a.png", "images/train/b.png"]
    assert first["boxes"].tolist() == [[15, 15, 45, 25], [6, 4, 54, 20]]
    assert first["labels"].tolist() == [1, 0]
    assert np.allclose(first["polygons"][1], [[6, 4], [54, 4], [30, 20]])
    assert second == {}
    assert list(selection.classes) == ["cat", "dog"]


def test_images_with_boxes_alone_are_mixed_with_those_with_polygons(yolo):
    (yolo / "labels/train/b.txt").write_text("0 0.5 0.5 0.2 0.25\n")
    selection = select([yolo / "data.yaml"], 8)
    assert np.allclose(selection.targets[1]["polygons"], [[[20, 24], [30, 24], [30, 40], [20, 40]]])
    images = ImageBatch.from_images(list(selection.images.values()))
    _, targets = yolo_train(64, seed=1)(images, selection.targets, epoch=0)
    assert all(len(target["polygons"]) == len(target["boxes"]) for target in targets)


@pytest.mark.parametrize(
    "lines", ["./images/train/a.png\n\n./images/train/b.png\n", "images/train/a.png\r\nimages/train/b.png"]
)
def test_a_text_file_lists_images_of_yolo(yolo, lines):
    (yolo / "train.txt").write_text(lines)
    (yolo / "data.yaml").write_text("train: train.txt\nnames: [cat, dog]\n")
    selection = select([yolo / "data.yaml"], 8)
    assert list(selection.images) == ["images/train/a.png", "images/train/b.png"]
    assert selection.targets[0]["labels"].tolist() == [1, 0]


def test_folders_and_lists_of_yolo_may_be_mixed_and_elsewhere(yolo):
    save(yolo / "images/more/c.png")
    (yolo / "lists").mkdir()
    (yolo / "lists/first.TXT").write_text(f"../images/train/b.png\n{yolo}/images/train/a.png\n")
    (yolo / "configs").mkdir()
    file = yolo / "configs/data.yaml"
    for root in ("..", str(yolo)):
        file.write_text(f"path: {root}\ntrain: [lists/first.TXT, images/more]\nnames: [cat, dog]\n")
        names = [name.rpartition("/")[2] for name in select([file], 8).images]
        assert names == ["b.png", "a.png", "c.png"]


def test_a_list_of_yolo_that_names_no_image_is_named(yolo):
    (yolo / "data.yaml").write_text("train: train.txt\n")
    (yolo / "train.txt").write_text("images/train/a.png\nimages/train/gone.png\n")
    with pytest.raises(ValueError, match=r"as line 2 of .*train\.txt, but there is no .*gone\.png"):
        select([yolo / "data.yaml"], 8)
    for text in ("train: train.txt", "train: [images/train, train.txt]", "train: [images/train, nowhere]"):
        (yolo / "train.txt").write_text("\n")
        (yolo / "data.yaml").write_text(text)
        with pytest.raises(
            ValueError, match=r"expected images in .*(train.txt|nowhere), as .*data.yaml says"
        ):
            select([yolo / "data.yaml"], 8)
    for text in ("train: {a: b}", "train: [[a]]", "val: []", "- a"):
        (yolo / "data.yaml").write_text(text)
        with pytest.raises(ValueError, match=r"data\.yaml to name a folder of images as `train` or `val`"):
            select([yolo / "data.yaml"], 8)


def test_names_of_classes_are_texts_in_the_order_of_their_numbers(yolo):
    def names(text):
        (yolo / "data.yaml").write_text(f"train: images/train\nnames: {text}\n")
        return list(select([yolo / "data.yaml"], 8).classes)

    assert names("[no, 007, 1_11, 1e5]") == ["no", "007", "1_11", "1e5"]
    many = {str(index): f"class {index}" for index in range(11)}
    assert names(json.dumps(many)) == list(many.values())
    assert names("{1: dog, 0: cat}") == ["cat", "dog"]
    for text in ("{1: dog, 3: cat}", "{0: dog, 1_0: cat}", "cat", "[[cat]]"):
        with pytest.raises(ValueError, match="expected a name for each class from 0"):
            names(text)


@pytest.mark.parametrize(
    "line",
    [
        "1_0 0.5 0.5 0.2 0.2",
        "1.5 0.5 0.5 0.2 0.2",
        "-1 0.5 0.5 0.2 0.2",
        "0 nan 0.5 0.2 0.2",
        "007 0.5 0.5 0.2 0.2",
    ],
)
def test_a_line_that_is_no_box_is_named(tmp_path, line):
    (tmp_path / "a.txt").write_text(f"0 .5 .5 .2 .2\n\n{line}\n")
    with pytest.raises(ValueError, match=r"preview: .*a\.txt:3: expected "):
        read_labels(tmp_path / "a.txt", (4, 5))


def test_a_mark_of_utf_8_at_the_beginning_is_skipped(tmp_path):
    (tmp_path / "a.txt").write_text("3 0.5 0.5 1e-05 0.2\r\n", "utf-8-sig")
    assert read_labels(tmp_path / "a.txt", (4, 5))["labels"].tolist() == [3]


@pytest.mark.parametrize("ending", ["html", "png"])
def test_names_that_are_not_utf_8_are_shown(tmp_path, ending):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    save(folder / "a.png")
    (folder / "a.png").rename(folder / os.fsdecode(b"\xff.png"))
    out = folder / f"sheet.{ending}"
    done = run_command("preview", folder, "--preset", "imagenet", "--out", out, "--draws", 1)
    assert done.exit_code == 0, done.output
    if ending == "html":
        assert r"\udcff.png" in out.read_text("utf-8")


def test_hidden_files_are_not_shown_and_links_are_followed(tmp_path):
    save(tmp_path / "a/1.png")
    save(tmp_path / "store/2.png")
    save(tmp_path / "a/.ipynb_checkpoints/1-checkpoint.png")
    (tmp_path / "a/._1.png").write_bytes(b"of macOS")
    (tmp_path / "a/more").symlink_to(tmp_path / "store")
    assert list(select([tmp_path / "a"], 8).images) == ["1.png", "more/2.png"]


def test_a_folder_of_images_finds_its_labels(yolo):
    assert select([yolo / "images"], 8).targets[0]["labels"].tolist() == [1, 0]


def test_an_empty_label_file_has_no_box(tmp_path):
    (tmp_path / "a.txt").write_text("\n")
    assert read_labels(tmp_path / "a.txt", (4, 5))["boxes"].shape == (0, 4)


def test_coco_has_boxes_masks_and_names(coco):
    selection = select([coco / "train.json"], 8, coco / "photos")
    (target,) = selection.targets
    assert target["boxes"].tolist() == [[10, 10, 30, 20]]
    assert target["masks"].sum() == 200
    assert list(selection.classes) == ["cat"]


def test_coco_objects_without_segmentation_have_empty_masks(coco):
    table = json.loads((coco / "train.json").read_text())
    del table["annotations"][0]["segmentation"]
    (coco / "train.json").write_text(json.dumps(table))
    (target,) = select([coco / "train.json"], 8, coco / "photos").targets
    assert target["masks"].shape[0] == len(target["boxes"]) == 1
    assert not target["masks"].any()


def test_coco_images_of_another_size_than_annotated_are_refused(coco):
    table = json.loads((coco / "train.json").read_text())
    table["images"][0]["width"] += 1
    (coco / "train.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match=r": expected an image of size .*, as annotated, but got"):
        select([coco / "train.json"], 8, coco / "photos")


def test_other_data_sets_are_read_with_the_names_of_classes(tmp_path):
    for name in ("cat/1.png", "dog/1.png"):
        save(tmp_path / "folder" / name)
    data = (tmp_path / "folder/cat/1.png").read_bytes()
    pack([Sample(data, {"label": 0}, 5)], tmp_path / "shards")
    assert len(select([tmp_path / "shards"], 8).images) == 1
    np.savez(tmp_path / "gray.npz", images=np.arange(24, dtype=np.uint8).reshape(2, 3, 4))
    images = select([tmp_path / "gray.npz"], 8).images
    assert list(images) == ["sample 0", "sample 1"]
    assert (images["sample 1"] == np.arange(12, 24).reshape(3, 4, 1)).all()


def test_one_class_has_one_color_and_its_name():
    image = np.zeros((4, 4, 3), np.uint8)
    shown = shown_by_class(Shown("", image, {"labels": np.array([1, 9, 1])}), ("cat", "dog"))
    assert shown.targets["labels"] == ["dog", "9", "dog"]
    assert shown.targets[ROW_KEY].tolist() == [1, 9, 1]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_draws_images_and_labels(yolo, name):
    out = yolo / f"{name}.html"
    done = run_command("preview", yolo / "data.yaml", "--preset", name, "--out", out, "--draws", 3)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{out}: 2 images, 3 epochs\n"
    assert len(re.findall("<img ", out.read_text())) == 2 * (1 + 3)


def test_presets_are_recipes():
    assert preset("yolo").transforms == yolo_train().transforms
    assert preset("imagenet").transforms == imagenet_train(224).transforms


class Page(HTMLParser):
    """The tags of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def rows_of(count, draws):
    return [
        [Shown(f"{number}.png, 60 x 40", photograph(40, 60)) for _ in range(1 + draws)]
        for number in range(count)
    ]


def test_the_page_has_a_slider_and_loads_nothing():
    text = sheet_as_html(rows_of(2, 3), "<plan>", title="a & b", epoch=5)
    tags = Page(text).tags
    (slider,) = [attributes for tag, attributes in tags if tag == "input"]
    assert (slider["min"], slider["max"], slider["data-first"]) == ("0", "2", "5")
    shown = [attributes for tag, attributes in tags if tag == "img" and "data-draw" in attributes]
    assert [one["data-draw"] for one in shown] == ["0", "1", "2"] * 2
    assert ["hidden" in one for one in shown] == [False, True, True] * 2
    loaded = [value for _, attributes in tags for key, value in attributes.items() if key in ("src", "href")]
    assert loaded
    assert all(value.startswith("data:image/webp;base64,") for value in loaded)
    assert "url(" not in text
    assert "&lt;plan&gt;" in text
    assert "a &amp; b" in text
