"""COCO annotations as targets."""

import json

import numpy as np
import pytest

from orbbec.data import BadSample, Coco
from orbbec.transforms import Compose, RandomHorizontalFlip

SQUARE = [[2, 1, 6, 1, 6, 5, 2, 5]]
CROWD = {"size": [8, 10], "counts": [0, 8, 72]}


def table():
    """Three images, out of order: with two objects and a crowd, none, and one."""
    return {
        "images": [
            {"id": 30, "file_name": "c.jpg", "height": 4, "width": 4},
            {"id": 10, "file_name": "a.jpg", "height": 8, "width": 10},
            {"id": 20, "file_name": "b.jpg", "height": 5, "width": 7},
        ],
        "categories": [
            {"id": 9, "name": "person", "keypoints": ["nose", "hand"]},
            {"id": 4, "name": "cat"},
        ],
        "annotations": [
            {"id": 1, "image_id": 30, "category_id": 9, "bbox": [0, 0, 4, 4],
             "segmentation": [[0, 0, 4, 0, 4, 4]]},
            {"id": 2, "image_id": 10, "category_id": 9, "bbox": [2, 1, 4, 4], "area": 16.0,
             "segmentation": SQUARE, "keypoints": [3, 2, 2, 0, 0, 0], "iscrowd": 0},
            {"id": 3, "image_id": 10, "category_id": 4, "bbox": [0, 0, 1, 8], "area": 8,
             "segmentation": CROWD, "iscrowd": 1},
            {"id": 4, "image_id": 10, "category_id": 4, "bbox": [1.5, 0.5, 2.25, 3],
             "segmentation": [*SQUARE, [7, 6, 9, 6, 9, 8, 7, 8]]},
        ],
    }  # fmt: skip


def write(root, entries=None):
    for name in "abc":
        (root / f"{name}.jpg").write_bytes(name.encode())
    (root / "train.json").write_text(json.dumps(table() if entries is None else entries))
    return root, root / "train.json"


def test_objects_come_with_their_image(tmp_path):
    coco = Coco(*write(tmp_path))
    assert coco.classes == ["cat", "person"]
    assert coco.category_ids == [4, 9]
    assert [(coco[n].sample_id, coco[n].data) for n in range(len(coco))] == [
        (10, b"a"),
        (20, b"b"),
        (30, b"c"),
    ]
    first, empty, last = (coco[n].targets for n in range(3))
    assert first.keys() == {"boxes", "labels", "area"}
    assert first["boxes"].tolist() == [[2, 1, 6, 5], [1.5, 0.5, 3.75, 3.5]]
    assert first["labels"].tolist() == [1, 0]
    assert first["area"].tolist() == [16, 20]
    assert empty["boxes"].shape == (0, 4)
    assert last["labels"].tolist() == [1]
    assert first["boxes"].dtype == np.float32
    assert first["labels"].dtype == np.int64


def test_the_least_and_the_largest_ids_are_accepted(tmp_path):
    text = json.dumps(table())
    for old, new in ((10, 0), (30, 2**63 - 1)):
        text = text.replace(f'id": {old},', f'id": {new},')
    coco = Coco(*write(tmp_path, json.loads(text)))
    assert [coco[n].sample_id for n in range(len(coco))] == [0, 20, 2**63 - 1]
    assert [len(coco[n].targets["boxes"]) for n in range(len(coco))] == [2, 0, 1]


@pytest.mark.parametrize(
    ("labels", "expected"), [("from_zero", [1, 0]), ("from_one", [2, 1]), ("category_id", [9, 4])]
)
def test_labels_are_counted_as_asked_for(tmp_path, labels, expected):
    given = Coco(*write(tmp_path), labels=labels)[0].targets["labels"]
    assert (given.tolist(), given.dtype) == (expected, np.int64)


def test_unknown_labels_are_refused_before_the_file_is_read():
    with pytest.raises(ValueError, match="category_id, but got 'one'"):
        Coco("images", "nowhere.json", labels="one")


def test_masks_of_polygons_and_crowds(tmp_path):
    coco = Coco(*write(tmp_path), masks=True, keep_crowd=True)
    first = coco[0].targets
    assert first["iscrowd"].tolist() == [False, True, False]
    square = np.zeros((8, 10), np.uint8)
    square[1:5, 2:6] = 1
    crowd = np.zeros((8, 10), np.uint8)
    crowd[:, 0] = 1
    both = square.copy()
    both[6:8, 7:9] = 1
    assert np.array_equal(first["masks"], [square, crowd, both])
    assert coco[1].targets["masks"].shape == (0, 5, 7)


def test_crowds_are_left_out_with_their_masks(tmp_path):
    first = Coco(*write(tmp_path), masks=True)[0].targets
    assert first["masks"].shape == (2, 8, 10)
    assert first["masks"].sum((1, 2)).tolist() == [16, 20]


def test_keypoints_of_those_who_have_them(tmp_path):
    coco = Coco(*write(tmp_path), keypoints=True)
    assert coco[0].targets["keypoints"].tolist() == [[[3, 2, 2], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]
    assert coco[1].targets["keypoints"].shape == (0, 2, 3)


def test_targets_go_through_transforms(tmp_path):
    coco = Coco(*write(tmp_path), masks=True, keypoints=True, keep_crowd=True)
    flip = Compose([RandomHorizontalFlip(p=1.0)])
    image = np.zeros((8, 10, 3), np.uint8)
    given = coco[0].targets
    _, [moved] = flip([image], [given], epoch=0)
    assert moved["boxes"].tolist() == [[4, 1, 8, 5], [9, 0, 10, 8], [6.25, 0.5, 8.5, 3.5]]
    assert np.array_equal(moved["masks"], given["masks"][:, :, ::-1])
    assert moved["keypoints"][0, 0].tolist() == [6, 2, 2]
    assert moved["iscrowd"].tolist() == [False, True, False]


def test_targets_are_the_readers_own_no_more(tmp_path):
    coco = Coco(*write(tmp_path), keypoints=True)
    coco[0].targets["boxes"][:] = -1
    coco[0].targets["keypoints"][:] = -1
    assert coco[0].targets["boxes"].min() == 0.5
    assert coco[0].targets["keypoints"].min() == 0


def test_missing_images_and_malformed_masks_are_bad_samples(tmp_path):
    entries = table()
    entries["annotations"][0]["segmentation"] = {"size": [3, 3], "counts": [9]}
    coco = Coco(*write(tmp_path, entries), masks=True)
    (tmp_path / "b.jpg").unlink()
    with pytest.raises(BadSample, match=r"sample 20 \(.*b\.jpg\): No such file"):
        coco[1]
    with pytest.raises(BadSample, match=r"sample 30 \(.*c\.jpg\): expected run lengths of size \[4, 4\]"):
        coco[2]


@pytest.mark.parametrize(
    ("name", "index", "change", "message"),
    [
        ("images", 0, {"id": 10}, "images with distinct ids from 0 .*, but got {'id': 10"),
        ("images", 0, {"id": -1}, "images with distinct ids from 0 .*, but got {'id': -1"),
        ("images", 0, {"id": "x"}, r"images with 'id' \(int\)"),
        ("images", 0, {"height": None}, r"images with 'height' \(int\)"),
        ("categories", 0, {"id": 4}, "categories with distinct ids"),
        ("annotations", 1, {"image_id": 11}, "annotations of known images, but got .*'id': 2"),
        ("annotations", 1, {"category_id": 11}, "a known category, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [1, 2, 3]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [1, 2, 3, "4"]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [1, 2, -3, 4]}, "boxes of width and height from 0, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [1, 2, 3, -0.5]}, "boxes of width and height from 0, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [1, 2, float("nan"), 4]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [float("inf"), 2, 3, 4]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [10**400, 2, 3, 4]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"bbox": [True, 2, 3, 4]}, "a box of 4 numbers, but got .*'id': 2"),
        ("annotations", 1, {"area": "16"}, "a number from 0 as area, but got .*'id': 2"),
        ("annotations", 1, {"area": 10**400}, "a number from 0 as area"),
        ("annotations", 1, {"area": -1}, "a number from 0 as area"),
        ("annotations", 1, {"area": float("nan")}, "a number from 0 as area"),
        ("annotations", 1, {"iscrowd": "0"}, "iscrowd as 0 or 1, but got .*'id': 2"),
        ("annotations", 1, {"iscrowd": 2}, "iscrowd as 0 or 1"),
        ("annotations", 1, {"iscrowd": []}, "iscrowd as 0 or 1"),
        ("annotations", 1, {"id": 3}, "annotations with distinct ids, but got .*'id': 3"),
        ("annotations", 1, {"id": [3]}, "annotations with distinct ids"),
        ("annotations", 1, {"category_id": None}, r"annotations with 'category_id' \(int\)"),
        ("annotations", 1, {"image_id": None}, r"annotations with 'image_id' \(int\)"),
        ("annotations", 1, {"bbox": {}, "segmentation": None}, "objects with 'bbox' or 'segmentation'"),
        ("annotations", 1, {"bbox": None, "segmentation": []}, "objects with 'bbox' or 'segmentation'"),
        ("annotations", 1, {"bbox": "1234"}, "a box of 4 numbers"),
        ("annotations", 1, {"bbox": [1, 2, 3, "4"]}, "a box of 4 numbers"),
        ("annotations", 1, {"keypoints": 5}, "keypoints as x, y, visibility triples, but got .*'id': 2"),
        ("annotations", 1, {"keypoints": [1, 2]}, "keypoints as x, y, visibility triples"),
        ("annotations", 1, {"keypoints": ["1", 2, 3]}, "keypoints as x, y, visibility triples"),
        ("categories", 0, {"keypoints": 7}, "lists of names as keypoints"),
        ("images", 0, {"height": 0}, "images with height and width from 1, but got .*'id': 30"),
        ("images", 0, {"width": 2**40}, "images with height and width from 1"),
        ("images", 0, {"id": 2**63}, "images with distinct ids"),
        ("images", 0, {"id": True}, r"images with 'id' \(int\)"),
        ("images", 0, {"file_name": "../a.jpg"}, "paths in .*, but image 30 of .*train.json has '../a.jpg'"),
        ("images", 0, {"file_name": "/etc/passwd"}, "paths in .* has '/etc/passwd'.*trust_paths=True"),
        ("images", 0, {"file_name": "a\0.jpg"}, "a path, but image 30"),
        ("images", 0, {"file_name": ""}, "a path, but image 30"),
        ("annotations", 1, {"keypoints": [1, 2, 2] * 3}, "at most 2 keypoints, but got .*'id': 2"),
    ],
)
def test_malformed_entries_are_named(tmp_path, name, index, change, message):
    entries = table()
    entries[name][index].update(change)
    with pytest.raises(ValueError, match=f"Coco: expected {message}"):
        Coco(*write(tmp_path, entries), keypoints=True)


def test_other_files_are_refused(tmp_path):
    for text, message in (
        ("{", "is not a JSON file"),
        ("[]", "a list of images"),
        ('{"images": []}', "categories"),
        ("[" * 200_000, "is not a JSON file"),
    ):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ValueError, match=f"Coco: .*{message}"):
            Coco(tmp_path, tmp_path / "x.json")


def test_paths_that_leave_the_folder_are_taken_from_who_is_trusted(tmp_path):
    entries = table()
    entries["images"][0]["file_name"] = "../c.jpg"
    (tmp_path / "images").mkdir()
    entries["images"][1]["file_name"] = str(tmp_path / "images" / "a.jpg")
    write(tmp_path, entries)
    (tmp_path / "images" / "a.jpg").write_bytes(b"inside")
    coco = Coco(tmp_path / "images", tmp_path / "train.json", trust_paths=True)
    assert (coco[0].data, coco[2].data) == (b"inside", b"c")
    entries["images"][0]["file_name"] = "sub/../a.jpg"
    write(tmp_path, entries)
    assert (
        Coco(tmp_path / "images", tmp_path / "train.json")[0].data == b"inside"
    )  # absolute, but in the folder


def test_masks_that_no_memory_holds_are_a_bad_sample(tmp_path):
    entries = table()
    entries["images"][0].update(height=2**19, width=2**19)
    coco = Coco(*write(tmp_path, entries), masks=True)
    with pytest.raises(BadSample, match=r"sample 30 .*masks of at most \d+ bytes together, but got 1 of"):
        coco.targets(2)


def changed(root, *changes, **options):
    """The targets of image 10 after changes of its first annotation; ... removes a field."""
    entries = table()
    for name, value in changes:
        if value is ...:
            del entries["annotations"][1][name]
        else:
            entries["annotations"][1][name] = value
    options = {"masks": True, "keypoints": True, "keep_crowd": True, **options}
    return Coco(*write(root, entries), **options)[0].targets


NOTHING = [..., None, []]
RUNS = {"size": [8, 10], "counts": [0, 16, 64]}  # the first two columns


@pytest.mark.parametrize("value", NOTHING)
def test_an_object_without_segmentation_has_an_empty_mask(tmp_path, value):
    targets = changed(tmp_path, ("segmentation", value))
    assert targets["masks"].shape == (3, 8, 10)
    assert targets["masks"].sum((1, 2)).tolist() == [0, 8, 20]
    assert targets["boxes"][0].tolist() == [2, 1, 6, 5]
    assert targets["area"].tolist() == [16, 8, 20]


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("value", [..., None])
@pytest.mark.parametrize(
    ("segmentation", "area"),
    [
        ([[2, 1, 6, 1, 6, 3, 2, 3]], 8),
        (RUNS, 16),
        ([[2, 1, 6, 1, 6, 3, 2, 3], [7, 6, 9, 6, 9, 8, 7, 8]], 12),
        ([], 16),  # of the box
        (None, 16),
        ([[2, 1, 2, 1]], 16),  # without pixels
        ({"size": [8, 10], "counts": [80]}, 16),
    ],
)
def test_a_missing_area_is_that_of_the_mask_or_of_the_box(tmp_path, value, segmentation, area, masks):
    targets = changed(tmp_path, ("area", value), ("segmentation", segmentation), masks=masks)
    assert targets["area"].tolist()[:2] == [area, 8]


def test_an_area_of_zero_that_the_file_states_stays(tmp_path):
    assert changed(tmp_path, ("area", 0))["area"].tolist() == [0, 8, 20]


@pytest.mark.parametrize("value", NOTHING)
@pytest.mark.parametrize(
    ("segmentation", "box"),
    [
        ([[2, 1, 6, 1, 6, 3, 2, 3]], [2, 1, 6, 3]),
        (RUNS, [0, 0, 2, 8]),
        ([[-5, 3, 40, 3, 40, 9, -5, 9]], [0, 3, 10, 8]),
    ],
)
def test_a_missing_box_is_that_of_the_mask(tmp_path, value, segmentation, box):
    targets = changed(tmp_path, ("bbox", value), ("segmentation", segmentation), masks=False)
    assert targets["boxes"].tolist() == [box, [0, 0, 1, 8], [1.5, 0.5, 3.75, 3.5]]


def test_a_box_that_nothing_tells_makes_a_bad_sample(tmp_path):
    for segmentation in ([[2, 1, 2, 1]], {"size": [8, 10], "counts": [80]}, [[50, 50, 60, 50, 60, 60]]):
        with pytest.raises(
            BadSample, match=r"sample 10 \(.*a\.jpg\): expected a bbox, or a segmentation that has"
        ):
            changed(tmp_path, ("bbox", None), ("segmentation", segmentation))


@pytest.mark.parametrize("value", [..., None, 0, False, 0.0])
def test_an_object_that_is_not_said_to_be_a_crowd_is_none(tmp_path, value):
    assert changed(tmp_path, ("iscrowd", value))["iscrowd"].tolist() == [False, True, False]


@pytest.mark.parametrize("value", NOTHING)
def test_an_object_without_keypoints_has_unlabeled_ones(tmp_path, value):
    assert not changed(tmp_path, ("keypoints", value))["keypoints"].any()
    assert changed(tmp_path, ("num_keypoints", 0))["keypoints"][0].tolist() == [[3, 2, 2], [0, 0, 0]]


@pytest.mark.parametrize("value", NOTHING)
def test_a_category_without_keypoints_has_none(tmp_path, value):
    entries = table()
    entries["categories"][1]["keypoints"] = value
    if value is ...:
        del entries["categories"][1]["keypoints"]
    coco = Coco(*write(tmp_path, entries), keypoints=True)
    assert coco[0].targets["keypoints"].shape == (2, 2, 3)


def test_annotations_without_ids_are_no_duplicates(tmp_path):
    entries = table()
    for entry, value in zip(entries["annotations"], (None, None, 7, ...), strict=True):
        entry["id"] = value
        if value is ...:
            del entry["id"]
    assert len(Coco(*write(tmp_path, entries))[0].targets["boxes"]) == 2


@pytest.mark.parametrize("masks", [False, True])
def test_run_lengths_of_another_size_than_the_image_are_a_bad_sample(tmp_path, masks):
    for size in ([10, 8], [8, 11], [], None):
        runs = {"size": size, "counts": [0, 16, 64]}
        with pytest.raises(BadSample, match=r"expected run lengths of size \[8, 10\]"):
            changed(tmp_path, ("segmentation", runs), ("area", None), masks=masks)


def test_what_a_file_lacks_is_what_pycocotools_computes(tmp_path):
    mask = pytest.importorskip("pycocotools.mask")
    polygons = [[2.2, 1.1, 6.7, 1.4, 5.9, 5.2, 2.5, 4.8]]
    targets = changed(tmp_path, ("area", ...), ("bbox", ...), ("segmentation", polygons))
    runs = mask.merge(mask.frPyObjects(polygons, 8, 10))
    x, y, width, height = mask.toBbox(runs).tolist()
    assert targets["area"][0] == mask.area(runs)
    assert targets["boxes"][0].tolist() == [x, y, x + width, y + height]
    assert np.array_equal(targets["masks"][0], mask.decode(runs))


def test_a_segmentation_that_nobody_needs_is_not_read(tmp_path):
    entries = table()
    del entries["annotations"][1]["area"], entries["annotations"][1]["bbox"]
    entries["annotations"][2]["segmentation"] = "malformed"
    assert Coco(*write(tmp_path, entries)).targets(0)["boxes"].shape == (2, 4)
    assert Coco(*write(tmp_path, entries), keep_crowd=True).targets(0)["area"].tolist() == [16.0, 8.0, 20.0]
    del entries["annotations"][2]["area"]
    with pytest.raises(BadSample, match="malformed"):
        Coco(*write(tmp_path, entries), keep_crowd=True).targets(0)


def test_polygons_are_the_rings_of_each_object(tmp_path):
    entries = table()
    entries["annotations"][0]["segmentation"] = None
    coco = Coco(*write(tmp_path, entries), polygons=True)
    polygons = [coco[n].targets["polygons"] for n in range(3)]
    square = np.float32(SQUARE).reshape(4, 2).tolist()
    other = [[7, 6], [9, 6], [9, 8], [7, 8]]
    assert [[ring.tolist() for ring in rings] for rings in polygons[0]] == [[square], [square, other]]
    assert polygons[1] == []
    assert [[ring.shape for ring in rings] for rings in polygons[2]] == [[(0, 2)]]
    assert all(ring.dtype == np.float32 for rings in polygons[0] for ring in rings)
    flipped = Compose([RandomHorizontalFlip(1.0)])(np.zeros((8, 10, 3), np.uint8), coco[0].targets)[1]
    assert flipped["polygons"][1][1].tolist() == [[3, 6], [1, 6], [1, 8], [3, 8]]


def test_run_lengths_are_no_polygons(tmp_path):
    write(tmp_path)
    with pytest.raises(BadSample, match="expected polygons, but got run lengths, which masks=True reads"):
        Coco(tmp_path, tmp_path / "train.json", polygons=True, keep_crowd=True)[0]
    entries = table()
    entries["annotations"][1]["segmentation"] = [[1, 2, 3]]
    with pytest.raises(BadSample, match="expected polygons as finite x, y pairs"):
        Coco(*write(tmp_path, entries), polygons=True)[0]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_points_that_an_object_lacks_are_zero(tmp_path, count):
    entries, points = table(), [[3.0, 2.0, 2.0], [5.0, 4.0, 1.0]][:count]
    entries["annotations"][1]["keypoints"] = [number for point in points for number in point]
    first, *_ = Coco(*write(tmp_path, entries), keypoints=True)
    assert first.targets["keypoints"][0].tolist() == points + [[0.0] * 3] * (2 - count)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_encodings_of_json_are_read_as_pythons_json_reads_them(tmp_path, encoding):
    root, file = write(tmp_path)
    names = Coco(root, file).paths
    file.write_text(file.read_text(), encoding)
    assert Coco(root, file).paths == names == ["a.jpg", "b.jpg", "c.jpg"]
