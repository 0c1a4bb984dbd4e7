"""Label files of YOLO as targets."""

import io
import time

import cv2
import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Decoding, Loader, Yolo, open_source
from orbbec.data.loader.tests.test_by_feed import assert_same, epoch_of, files_of
from orbbec.data.readers.masks import mask_of
from orbbec.transforms import RandomHorizontalFlip, RandomResizedCrop

SIZE = 20, 40  # height, width


def write(root, rows, names="[cat, dog, person]", entries=""):
    """A data set of one image per entry of `rows`; None: without a label file."""
    for folder in ("images/train", "labels/train"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(rows):
        Image.new("RGB", SIZE[::-1]).save(root / f"images/train/{number}.png")
        if text is not None:
            (root / f"labels/train/{number}.txt").write_text(text)
    (root / "data.yaml").write_text(f"train: images/train\nnames: {names}\n{entries}")
    return root / "data.yaml"


def test_boxes_are_in_pixels_of_their_image(tmp_path):
    source = Yolo(write(tmp_path, ["2 0.5 0.5 0.25 0.5\n0 0.1 0.2 0.2 0.4\n", None, "\n"]))
    assert source.classes == ["cat", "dog", "person"]
    first, missing, empty = (source[n] for n in range(3))
    assert first.targets["boxes"].tolist() == [[15, 5, 25, 15], [0, 0, 8, 8]]
    assert first.targets["labels"].tolist() == [2, 0]
    assert (first.size, first.sample_id) == (SIZE, 0)
    assert first.path == str(tmp_path / "images/train/0.png")
    for sample in (missing, empty):
        assert sample.targets["boxes"].shape == (0, 4)
        assert sample.targets["labels"].shape == (0,)
    assert [value.dtype for value in first.targets.values()] == [np.float32, np.int64]
    assert Yolo(tmp_path / "data.yaml", labels="from_one")[0].targets["labels"].tolist() == [3, 1]


def test_boxes_of_an_image_with_exif_orientation_are_those_of_the_upright_image(tmp_path):
    file = write(tmp_path, ["0 0.5 0.5 1 1"])
    exif = Image.Exif()
    exif[0x0112] = 6
    stored = io.BytesIO()
    Image.new("RGB", SIZE[::-1]).save(stored, "png", exif=exif)
    (tmp_path / "images/train/0.png").write_bytes(stored.getvalue())
    source = Yolo(file)
    assert source[0].targets["boxes"].tolist() == [[0, 0, SIZE[0], SIZE[1]]]
    with (
        Loader(source, 1, decoding=Decoding(apply_exif_orientation=False)) as loader,
        pytest.raises(BadSample, match=r"expected an image of size \[40, 20\]"),
    ):
        next(iter(loader))


def test_polygons_are_those_of_the_file_and_masks_are_drawn_as_cocos(tmp_path):
    corners = np.array([[0.1, 0.1], [0.9, 0.2], [0.5, 0.85], [0.2, 0.7]])
    row = " ".join(map(str, [1, *corners.ravel()]))
    sample = Yolo(write(tmp_path, [row]), polygons=True, masks=True)[0]
    pixels = (corners * [SIZE[1], SIZE[0]]).astype(np.float32)
    assert np.array_equal(sample.targets["polygons"][0], pixels)
    assert sample.targets["boxes"].tolist() == [[*pixels.min(0).tolist(), *pixels.max(0).tolist()]]
    assert np.array_equal(sample.targets["masks"][0], mask_of([pixels.ravel()], SIZE))
    drawn = cv2.fillPoly(np.zeros(SIZE, np.uint8), [np.round(pixels - 0.5).astype(np.int32)], 1)
    # cv2 also draws the outline: of 412 pixels they differ in 40 along it.
    assert (drawn != sample.targets["masks"][0]).sum() < 0.15 * drawn.sum()
    write(tmp_path, [f"{row}\n0 0.5 0.5 0.1 0.1"])
    assert len(Yolo(tmp_path / "data.yaml")[0].targets["boxes"]) == 2
    with pytest.raises(
        BadSample, match=r"labels/train/0.txt\): expected polygons, but object 1 has a box only"
    ):
        Yolo(tmp_path / "data.yaml", masks=True)[0]


@pytest.mark.parametrize("each", [2, 3])
def test_keypoints_are_in_pixels_and_keep_their_visibility(tmp_path, each):
    points = [[0.5, 0.5, 2], [0, 0, 0], [0.25, 1, 1]]
    numbers = [value for point in points for value in point[:each]]
    row = " ".join(map(str, [0, 0.5, 0.5, 0.5, 0.5, *numbers]))
    file = write(tmp_path, [row, ""], entries=f"kpt_shape: [3, {each}]\nflip_idx: [0, 2, 1]\n")
    source = Yolo(file)
    expected = [[20, 10, 2], [0, 0, 0], [10, 20, 1]]
    assert source[0].targets["keypoints"].tolist() == [[point[:each] for point in expected]]
    assert source[1].targets["keypoints"].shape == (0, 3, each)
    assert source.keypoint_pairs == [(1, 2)]


BAD_ROWS = {
    "0 nan 0.5 0.1 0.1": "expected a finite number, but got 'nan'",
    "0 inf 0.5 0.1 0.1": "expected a finite number, but got 'inf'",
    "0 1e-400 0.5 0.1 9e+999": "expected a finite number, but got '9e+999'",
    "0 0.5 1.01 0.1 0.1": "expected fractions from 0 to 1, but got 1.01",
    "0 0.5 0.5 -0.1 0.1": "expected fractions from 0 to 1, but got -0.1",
    "0 120 33 40 40": "expected fractions from 0 to 1, but got 120.0",
    "3 0.5 0.5 0.1 0.1": "expected a class from 0 to 2, but got 3",
    "-1 0.5 0.5 0.1 0.1": "expected a class from 0 to 2, but got -1",
    "0.5 0.5 0.5 0.1 0.1": "expected a class from 0 to 2, but got 0.5",
    "nan 0.5 0.5 0.1 0.1": "expected a finite number, but got 'nan'",
    "cat 0.5 0.5 0.1 0.1": "expected a finite number, but got 'cat'",
    "0 0.5 0.5 0.1 0_1": "expected a finite number, but got '0_1'",
    "0,0.5,0.5,0.1,0.1": "expected a finite number, but got '0,0.5,0.5,0.1,0.1'",
    "0 0.5 0.5 0.1": "at least 3 x, y pairs, but got 4 numbers",
    "0 0.5 0.5 0.1 0.1 0.9": "at least 3 x, y pairs, but got 6 numbers",
    "0 0.1 0.1 0.5 0.5 0.1 0.5 0.2": "at least 3 x, y pairs, but got 8 numbers",
    "0": "at least 3 x, y pairs, but got 1 numbers",
    "0 0.1 0.1 0.5 nan 0.1 0.5": "expected a finite number, but got 'nan'",
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_bad_row_is_a_bad_sample_with_its_line(tmp_path, row):
    source = Yolo(write(tmp_path, [f"0 0.5 0.5 0.5 0.5\n\n{row}\n", "1 0.5 0.5 0.5 0.5"]))
    with pytest.raises(BadSample) as caught:
        source[0]
    assert caught.value.path == f"{tmp_path}/labels/train/0.txt:3"
    assert BAD_ROWS[row] in caught.value.reason
    with (
        Loader(source, 2, shuffle=False, on_error="skip", collate=list) as loader,
        pytest.warns(UserWarning, match="1 bad sample"),
    ):
        [batch] = loader
    assert batch.sample_ids.tolist() == [1]
    assert batch.targets[0]["labels"].tolist() == [1]
    assert [fault.path for fault in loader.faults] == [caught.value.path]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            "0 0.5 0.5 0.5 0.5 0.1 0.1 2",
            "expected 11 numbers: a class, a box and 2 keypoints of 3, but got 8",
        ),
        ("0 0.5 0.5 0.5 0.5 0.1 0.1 2 0.1 0.1 3", "expected visibilities of 0, 1 or 2, but got [2.0, 3.0]"),
        ("0 0.5 0.5 0.5 0.5 0.1 0.1 2 0.1 1.1 1", "expected fractions from 0 to 1, but got 1.1"),
        ("0 0.5 0.5 0.5 0.5", "expected 11 numbers"),
    ],
)
def test_bad_keypoints_are_named(tmp_path, row, reason):
    with pytest.raises(BadSample) as caught:
        Yolo(write(tmp_path, [row]), keypoints=(2, 3))[0]
    assert reason in caught.value.reason


@pytest.mark.parametrize("keypoints", [(2, 3.0), (2.0, 3), (2, 4), (0, 3), (2,)])
def test_keypoints_are_a_number_and_2_or_3(tmp_path, keypoints):
    with pytest.raises(ValueError, match=r"Yolo: expected keypoints as \(number, 2 or 3\), but got"):
        Yolo(write(tmp_path, []), keypoints=keypoints)


BAD_FILES = {
    "names: {0: cat, 2: dog}": "names of classes from 0 to 1 in .*, but 1 is missing",
    "names: cat": "expected 'names' as a list or a dict",
    "names: []": "expected 'names' as a list or a dict",
    "names: [cat]\nnc: 2": "expected 1 classes, as names, in .*, but nc is '2'",
    "names: [cat]\nkpt_shape: [2]": r"keypoints as \(number, 2 or 3\), but got \[2\]",
    "names: [cat]\nkpt_shape: [2, 4]": r"keypoints as \(number, 2 or 3\), but got \[2, 4\]",
    "names: [cat]\nkpt_shape: [2, 3]\nflip_idx: [0, 0]": "flip_idx as each keypoint once",
    "names: [cat]\nkpt_shape: [2, 3]\nflip_idx: [1, 0.0]": "flip_idx as each keypoint once",
    "names: [cat]\nkpt_shape: [2, 3]\nflip_idx: [1, false]": "flip_idx as each keypoint once",
    "names: [cat]\nkpt_shape: [3, 3]\nflip_idx: [1, 2, 0]": "flip_idx as pairs",
    "names: [cat": "is not a YAML file",
    "- names": "expected entries such as 'train'",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_data_yaml_is_named(tmp_path, text):
    write(tmp_path, [""])
    (tmp_path / "data.yaml").write_text(f"train: images/train\n{text}" if text[0] == "n" else text)
    with pytest.raises(ValueError, match=f"Yolo: .*{BAD_FILES[text]}"):
        Yolo(tmp_path / "data.yaml")


def test_entries_shared_a_million_times_are_refused_at_once(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 30)]
    (tmp_path / "data.yaml").write_text("\n".join([*lines, "names: *a29", "train: x"]))
    began = time.thread_time()
    with pytest.raises(ValueError, match="expected 'names' as a list"):
        Yolo(tmp_path / "data.yaml")
    assert time.thread_time() - began < 1


def test_splits_are_folders_lists_and_files_of_paths(tmp_path):
    file = write(tmp_path, [""] * 3)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/two.txt").write_text("../images/train/2.png\n\n../images/train/0.png\n")
    file.write_text(file.read_text() + "val: [images/train, lists/two.txt]\ntest: ../images/train\npath: .\n")
    names = {split: [path[-5:] for path in Yolo(file, split).paths] for split in ("train", "val", "test")}
    assert names["train"] == names["test"] == ["0.png", "1.png", "2.png"]
    assert names["val"] == ["0.png", "0.png", "1.png", "2.png", "2.png"]
    assert [path[-5:] for path in Yolo(tmp_path / "images").paths] == names["train"]
    assert open_source(file, split="val").classes == ["cat", "dog", "person"]
    assert isinstance(open_source(tmp_path), Yolo)


def test_paths_beyond_the_folder_are_refused_unless_trusted(tmp_path):
    (tmp_path / "set").mkdir()
    write(tmp_path, [""])
    file = tmp_path / "set/data.yaml"
    file.write_text(f"path: {tmp_path}\ntrain: images/train\nnames: [cat]\n")
    with pytest.raises(
        ValueError, match=r"Yolo: expected paths in .*set, but .*data.yaml has .*trust_paths=True"
    ):
        Yolo(file)
    assert len(Yolo(file, trust_paths=True)) == len(Yolo(file, root=tmp_path)) == 1
    assert len(open_source(tmp_path / "set", trust_paths=True)) == 1
    (tmp_path / "set/list.txt").write_text("\n../images/train/0.png\n")
    file.write_text("train: list.txt\nnames: [cat]\n")
    with pytest.raises(ValueError, match=r"expected paths in .*set, but line 2 of .*set/list.txt has"):
        Yolo(file)
    file.write_text("path: none\ntrain: images/train\nnames: [cat]\n")
    with pytest.raises(FileNotFoundError, match=r"none/images/train, as .*data.yaml says, .*root="):
        Yolo(file)
    with pytest.raises(ValueError, match=r"expected a folder or a list as 'val' in .*, but got None"):
        Yolo(file, "val")


def test_images_that_share_or_lack_all_label_files_are_refused(tmp_path):
    file = write(tmp_path, [None, None])
    with pytest.raises(ValueError, match=r"but got none: .*labels/train/0.txt does not exist"):
        Yolo(file)
    write(tmp_path, ["", ""])
    Image.new("RGB", (4, 4)).save(tmp_path / "images/train/1.jpg")
    with pytest.raises(
        ValueError, match=r"a label file per image, but .*1.jpg and .*1.png both have .*1.txt"
    ):
        Yolo(file)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"expected images in .*empty, but got none"):
        Yolo(tmp_path / "empty")


@pytest.mark.parametrize("files", ["good", "damaged", "gone"])
@pytest.mark.parametrize("on_error", ["raise", "skip", "substitute"])
def test_the_feed_makes_the_batches_of_the_python_functions(files, on_error, tmp_path, monkeypatch):
    data = files_of(files)
    (tmp_path / "images").mkdir()
    (tmp_path / "labels").mkdir()
    for number, (name, content) in enumerate(sorted(data.items())):
        (tmp_path / "images" / name).write_bytes(content or b"")
        (tmp_path / "labels" / f"{name[:-4]}.txt").write_text(
            f"{number % 3} 0.5 0.5 0.5 {0.5 + number % 3 / 4}"
        )
    source = Yolo(tmp_path, classes=["a", "b", "c"])
    for name, content in data.items():
        if content is None:
            (tmp_path / "images" / name).unlink()
    pipeline = [RandomResizedCrop(16), RandomHorizontalFlip()]
    results = []
    for feed in ("1", "0"):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        results.append(epoch_of(source, pipeline, Decoding(), on_error, False))
    assert_same(*results)
    assert files != "good" or len(results[0][0]) == -(-len(data) // 6)


def test_names_are_texts_as_they_are_written(tmp_path):
    source = Yolo(write(tmp_path, ["0 0.5 0.5 0.5 0.5"], names="[no, 007, 1_11, 2024-01-01, 'null', ~]"))
    assert source.classes == ["no", "007", "1_11", "2024-01-01", "null", "~"]
    assert Yolo(write(tmp_path, [""], names="{0: on, 1: 1.10}")).classes == ["on", "1.10"]


def test_the_ending_of_a_label_file_may_be_in_any_case(tmp_path):
    file = write(tmp_path, ["0 0.5 0.5 0.5 0.5", "1 0.5 0.5 0.5 0.5"])
    (tmp_path / "labels/train/1.txt").rename(tmp_path / "labels/train/1.TXT")
    assert [sample.targets["labels"].tolist() for sample in Yolo(file)] == [[0], [1]]
    (tmp_path / "labels/train/1.txt").write_text("2 0.5 0.5 0.5 0.5")
    assert Yolo(file)[1].targets["labels"].tolist() == [2]


def test_a_label_file_in_another_encoding_is_named_with_its_byte(tmp_path):
    source = Yolo(write(tmp_path, [""]))
    (tmp_path / "labels/train/0.txt").write_bytes("0 0.5 0.5 0.5 0.5".encode("utf-16"))
    with pytest.raises(BadSample, match=r"labels/train/0.txt\): 'utf-8' codec can't decode byte 0xff"):
        source[0]


def test_an_image_that_is_none_is_a_bad_sample(tmp_path):
    source = Yolo(write(tmp_path, ["", ""]))
    (tmp_path / "images/train/1.png").write_bytes(b"no image")
    with pytest.raises(BadSample, match=r"sample 1 \(.*images/train/1\.png\): image_size: not an image"):
        source[1]
