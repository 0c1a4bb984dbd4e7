"""Sheets contain the pipeline's bytes, and targets at the right positions."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("PIL")
pytest.importorskip("typer")
pytest.importorskip("yaml")
from PIL import Image

from orbbec import transforms as T
from orbbec.cli.preview import Shown, draw_rows, draw_sheet, draw_shown, read_images, read_targets
from orbbec.cli.preview.drawing import COLORS
from orbbec.nms.boxes import box_convert
from tests.support import photograph
from tests.support.command import run_command

RED = tuple(bytes.fromhex(COLORS[0][1:]))
BLUE = tuple(bytes.fromhex(COLORS[1][1:]))
PIPELINE = T.Compose([T.RandomResizedCrop((32, 48)), T.RandomHorizontalFlip()], seed=4)
NORMALIZED = T.Compose([*PIPELINE.transforms, T.ToDtype("float16", scale=True), T.Normalize()], seed=4)


def run(*arguments):
    return run_command("preview", *arguments)


@pytest.fixture
def files(tmp_path):
    """Two images, a pipeline and targets in a folder."""
    for name, size in (("a.png", (40, 60)), ("b.png", (64, 50))):
        Image.fromarray(photograph(*size)).save(tmp_path / name)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.to_yaml())
    (tmp_path / "pipeline.json").write_text(PIPELINE.to_json())
    mask = np.zeros((40, 60), np.uint8)
    mask[10:20, 5:30] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    target = {
        "boxes": [[5, 10, 30, 20]],
        "labels": ["thing"],
        "masks": ["mask.png"],
        "keypoints": [[7, 12, 2]],
    }
    (tmp_path / "targets.json").write_text(json.dumps({"a.png": target}))
    return tmp_path


def test_draws_are_the_bytes_that_training_sees():
    images = {"a": photograph(40, 60), "b": photograph(64, 50)}
    rows, text = draw_rows(PIPELINE, images, draws=3, epoch=5)
    assert [len(row) for row in rows] == [4, 4]
    assert text.startswith("Plan of 2 images of 40..64 x 50..60")
    for draw in range(3):
        seen = PIPELINE(list(images.values()), epoch=5 + draw).permute(0, 2, 3, 1).numpy()
        assert all(np.array_equal(row[1 + draw].image, image) for row, image in zip(rows, seen, strict=True))


def test_normalized_floats_are_shown_as_they_were():
    images = {"a": photograph(40, 60)}
    expected, actual = (draw_rows(pipeline, images)[0][0] for pipeline in (PIPELINE, NORMALIZED))
    # Largest difference seen: 1 level, from rounding to float16.
    assert (
        max(np.abs(a.image.astype(int) - e.image).max() for a, e in zip(actual, expected, strict=True)) <= 1
    )


def test_floats_of_255_levels_are_shown_as_they_were():
    images = {"a": photograph(40, 60)}
    pipeline = T.Compose([*PIPELINE.transforms, T.ToDtype("float32")], seed=4)
    for plain, cast in zip(draw_rows(PIPELINE, images)[0][0], draw_rows(pipeline, images)[0][0], strict=True):
        assert np.array_equal(plain.image, cast.image)


def test_boxes_masks_and_points_lie_where_they_are():
    mask = np.zeros((1, 40, 60), bool)
    mask[0, 10:20, 5:30] = True
    targets = {"boxes": np.array([[5.0, 10, 30, 20]]), "masks": mask, "keypoints": np.array([[40.0, 30]])}
    drawn = np.asarray(draw_shown(Shown("", np.zeros((40, 60, 3), np.uint8), targets), side=60))
    assert tuple(drawn[10, 15]) == RED  # the upper edge
    assert tuple(drawn[15, 17]) == tuple(np.rint(0.45 * np.array(RED)).astype(int))  # under the mask
    assert tuple(drawn[30, 40]) == RED or tuple(drawn[28, 40]) == (255, 255, 255)
    assert not drawn[:8].any()


def test_a_box_keeps_its_color_when_others_are_dropped():
    pipeline = T.Compose([T.CenterCrop(20)])
    targets = [{"boxes": np.array([[0.0, 0, 5, 5], [22, 12, 38, 28]])}]
    rows, _ = draw_rows(pipeline, {"a": np.zeros((40, 60, 3), np.uint8)}, targets, draws=1)
    drawn = np.asarray(draw_shown(rows[0][1], side=20)).reshape(-1, 3).tolist()
    assert list(BLUE) in drawn
    assert list(RED) not in drawn


@pytest.mark.parametrize("box_format", ["xyxyn", "cxcywhn"])
def test_relative_boxes_are_drawn_where_those_in_pixels_are(box_format):
    image, boxes = photograph(40, 60), np.array([[6.0, 10.0, 30.0, 30.0]])
    relative = box_convert(boxes / [60, 40, 60, 40], "xyxy", box_format[:-1])
    drawn = [
        np.asarray(draw_shown(Shown("", image, {"boxes": each, "labels": np.array([3])}), 60, form))
        for each, form in ((boxes, "xyxy"), (relative, box_format))
    ]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != image).any()


def test_small_images_grow_by_whole_factors_and_large_ones_shrink():
    assert draw_shown(Shown("", photograph(8, 16)), side=50).size == (48, 24)
    assert draw_shown(Shown("", photograph(80, 160)), side=50).size == (50, 25)


def test_a_sheet_holds_its_pictures():
    image = photograph(40, 40)
    sheet = np.asarray(draw_sheet([[Shown("one", image), Shown("two", image[::-1])]], "text", side=40))
    found = [
        np.array_equal(sheet[y : y + 40, x : x + 40], wanted)
        for y in range(sheet.shape[0] - 39)
        for x in range(sheet.shape[1] - 39)
        for wanted in (image, image[::-1])
    ]
    assert sum(found) == 2


@pytest.mark.parametrize("name", ["sheet.png", "sheet.jpg", "sheet.html"])
@pytest.mark.parametrize("pipeline", ["pipeline.yaml", "pipeline.json"])
def test_the_command_writes_a_sheet(files, name, pipeline):
    out = files / "new" / name
    images = files / "a.png", files / "b.png"
    options = "--pipeline", files / pipeline, "--out", out, "--targets", files / "targets.json"
    done = run(*images, *options, "--draws", 2, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert done.output.endswith("sheet" + out.suffix + ": 2 images, 2 epochs\n")
    if out.suffix == ".html":
        assert len(re.findall('<img src="data:image/webp', out.read_text())) == 6
        assert "seed 3, epoch 0" in out.read_text()
    else:
        assert np.asarray(Image.open(out)).std() > 20


def test_targets_are_read(files):
    images = read_images([files / "b.png", files / "a.png"])
    none, given = read_targets(files / "targets.json", images)
    assert none == {}
    assert given["masks"].sum() == 250
    assert given["boxes"].tolist() == [[5, 10, 30, 20]]
    assert given["labels"] == ["thing"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--pipeline": "a.png"}, "expected a pipeline in .yaml, .yml or .json, but got a.png"),
        ({"--out": "sheet.bmp"}, "expected a file in .png, .jpg, .jpeg, .webp or .html, but got sheet.bmp"),
        ({"--targets": "list.json"}, "expected list.json to contain an object of objects"),
        ({"--targets": "nobody.json"}, "expected targets of an image, such as b.png, in nobody.json"),
        ({"--targets": "other.json"}, "expected mask.png of size 64x50, like its image, but got 40x60"),
        ({"--pipeline": "unknown.yaml"}, "there is no transform 'Nothing'"),
    ],
)
def test_what_is_wrong_is_said(files, change, words):
    (files / "list.json").write_text("[1]")
    (files / "nobody.json").write_text('{"c.png": {"boxes": [[1, 2, 3, 4]]}}')
    (files / "other.json").write_text('{"b.png": {"mask": "mask.png"}}')
    (files / "unknown.yaml").write_text("transforms: [{name: Nothing}]")
    options = {"--pipeline": "pipeline.yaml", "--out": "sheet.png", "--targets": "targets.json"} | change
    done = run(files / "b.png", *(part for name, value in options.items() for part in (name, files / value)))
    assert done.exit_code == 1
    assert words in done.output


def test_two_files_of_one_name_are_refused(files):
    done = run(
        files / "a.png", files / "a.png", "--pipeline", files / "pipeline.yaml", "--out", files / "s.png"
    )
    assert done.exit_code == 1
    assert "but got a.png twice" in done.output


def test_a_missing_package_is_named(files, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    with pytest.raises(ModuleNotFoundError, match="needs pillow, which is not installed: pip install pillow"):
        read_images([files / "a.png"])
