"""What belongs to boxes is known by name; everything else is the image's."""

from collections import namedtuple

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.data import collate
from orbbec.transforms.targets.per_box import PER_BOX_KEYS, chosen_rows, joined_rows

BOXES = [[15.0, 2, 30, 20], [55, 2, 59, 20]]  # the crop drops the second
IMAGE = torch.zeros(3, 40, 60, dtype=torch.uint8)
Size = namedtuple("Size", "height width")
PIPELINES = {
    "crop": T.Compose([T.CenterCrop(40)]),
    "sanitize": T.Compose([T.SanitizeBoundingBoxes(min_size=10)]),
    "container": T.Compose([T.RandomApply([T.CenterCrop(40)], 1.0)]),
}
OF_IMAGE = {
    "orig_hw": (40, 60),
    "scale_factor": [1.0, 2.0],
    "pad": np.array([3.0, 4.0]),
    "dataset_id": torch.tensor([3, 4]),
    "captions": ["a cat", "a dog"],
    "original": Size(40, 60),
    "shape": torch.Size([40, 60]),
    "orig_size": torch.tensor([40, 60]),
    "image_id": torch.tensor([7, 8]),
    "label": torch.tensor([0.25, 0.75]),
    "nested": {"pair": (1, 2)},
    "range": range(2),
    "bytes": b"ab",
    7: [1, 2],
}


def target_of(**entries):
    return {"boxes": torch.tensor(BOXES), "labels": torch.tensor([1, 2]), **entries}


@pytest.mark.parametrize("name", PIPELINES)
def test_values_of_the_image_stay_the_same_objects(name):
    target = {**target_of(), **OF_IMAGE}
    _, moved = PIPELINES[name](IMAGE, target)
    assert moved["labels"].tolist() == [1]
    for key, value in OF_IMAGE.items():
        assert moved[key] is value


def test_values_of_the_image_pass_a_sample_and_a_batch_unchanged():
    crop = PIPELINES["crop"]
    sample = crop({"image": IMAGE, **target_of(), **OF_IMAGE})
    for key, value in OF_IMAGE.items():
        assert type(sample[key]) is type(value)
        assert list(sample[key]) == list(value)
    batch = {
        "boxes": [torch.tensor(BOXES)] * 2,
        "orig_hw": ((40, 60), (4, 6)),
        "classes": ("cat", "dog", "cow"),
    }
    _, moved = crop(IMAGE.repeat(2, 1, 1, 1), batch)
    assert moved["orig_hw"] == ((40, 60), (4, 6))
    assert moved["classes"] == ("cat", "dog", "cow")


@pytest.mark.parametrize("make", [torch.tensor, np.array, list, tuple])
@pytest.mark.parametrize("key", sorted(set(PER_BOX_KEYS) - {"masks", "polygons", "area"}))
def test_rows_of_dropped_boxes_are_dropped_by_name(key, make):
    rows = make([5, 6])
    _, moved = PIPELINES["crop"](IMAGE, target_of(**{key: rows}))
    assert type(moved[key]) is type(rows)
    assert list(moved[key]) == [5]


@pytest.mark.parametrize("make", [torch.tensor, np.array, list, tuple])
def test_areas_keep_their_type(make):
    areas = make([270.0, 72.0])
    _, moved = PIPELINES["crop"](IMAGE, target_of(area=areas))
    assert type(moved["area"]) is type(areas)
    assert list(moved["area"]) == [270.0]


@pytest.mark.parametrize("make", [list, tuple])
def test_polygons_keep_their_type(make):
    corners = np.array([[16.0, 3], [28, 3], [28, 18]])
    _, moved = PIPELINES["crop"](IMAGE, target_of(polygons=make([corners, corners])))
    assert type(moved["polygons"]) is make
    assert len(moved["polygons"]) == 1


def test_further_names_are_an_option():
    options = T.TargetOptions(per_box=["captions", "pair", "shape"])
    crop = T.Compose([T.CenterCrop(40)], target_options=options)
    entries = {"captions": ["a cat", "a dog"], "pair": Size("a", "b"), "shape": torch.Size([3, 4])}
    _, moved = crop(IMAGE, target_of(other=["a", "b"], **entries))
    assert (moved["captions"], moved["other"]) == (["a cat"], ["a", "b"])
    assert (moved["pair"], moved["shape"]) == (("a",), torch.Size([3]))
    assert T.Compose.from_json(crop.to_json()) == crop
    whole, expected = T.Compose([T.CenterCrop((40, 60))], target_options=options), Size("a", "b")
    assert whole(IMAGE, target_of(pair=expected))[1]["pair"] == expected


def test_one_point_per_box_is_an_option():
    points = torch.tensor([[20.0, 5.0], [57.0, 5.0]])
    for drop_keypoints in (False, True):
        options = T.TargetOptions(per_box=("keypoints",), drop_keypoints=drop_keypoints)
        crop = T.Compose([T.CenterCrop(40)], target_options=options)
        assert crop(IMAGE, target_of(keypoints=points))[1]["keypoints"].tolist() == [[10.0, 5.0]]


@pytest.mark.parametrize(
    ("per_box", "error"),
    [("names", ValueError), (["names", 3], ValueError), (None, TypeError), (["size"], ValueError)],
)
def test_wrong_names_are_refused(per_box, error):
    with pytest.raises(error, match="TargetOptions: expected per_box"):
        T.TargetOptions(per_box=per_box)


@pytest.mark.parametrize("key", [*PER_BOX_KEYS, "mine"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_rows_is_an_error(key, count):
    value = torch.zeros(count, 40, 60) if key == "masks" else [np.zeros((3, 2))] * count
    crop = T.Compose([T.CenterCrop(40)], target_options=T.TargetOptions(per_box=("mine",)))
    with pytest.raises(ValueError, match=f"expected 2 {key}, one per box, but image 1 has {count}"):
        crop([IMAGE] * 2, [target_of(), target_of(**{key: value})])


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("scores", 0.5, "float"),
        ("labels", torch.tensor(3), "Tensor"),
        ("labels", np.array(3), "ndarray"),
        ("labels", "ab", "str"),
        ("labels", {"a": 1, "b": 2}, "dict"),
        ("labels", {1, 2}, "set"),
        ("iscrowd", np.int64(1), "int64"),
    ],
)
def test_values_without_rows_are_an_error(key, value, kind):
    with pytest.raises(TypeError, match=f"expected 2 {key}, one per box, but image 0 has a {kind}"):
        PIPELINES["crop"](IMAGE, target_of(**{key: value}))


def test_masks_of_another_type_are_named():
    with pytest.raises(TypeError, match="expected masks as a tensor or an array, but image 0 has a list"):
        PIPELINES["crop"](IMAGE, target_of(masks=[[0], [1]]))


def test_points_in_lists_belong_to_boxes_as_those_in_arrays():
    points = [[[20.0, 5.0]], [[57.0, 5.0]]]
    _, moved = PIPELINES["crop"](IMAGE, target_of(keypoints=points))
    assert moved["keypoints"].tolist() == [[[10.0, 5.0]]]
    with pytest.raises(ValueError, match="expected 2 keypoints, one per box, but image 0 has 1"):
        PIPELINES["crop"](IMAGE, target_of(keypoints=points[:1]))


def test_names_without_boxes_belong_to_the_image():
    target = {"labels": [1, 2, 3], "scores": 0.5, "mask": torch.zeros(40, 60)}
    _, moved = PIPELINES["crop"](IMAGE, target)
    assert (moved["labels"], moved["scores"]) == ([1, 2, 3], 0.5)


def mosaic(targets, transforms=(), **options):
    compose = T.Compose(
        [*transforms, T.Mosaic((40, 60), (0.5, 0.5))], seed=1, target_options=T.TargetOptions(**options)
    )
    return compose([IMAGE] * len(targets), targets, epoch=0)[1]


def test_a_mosaic_joins_what_belongs_to_boxes_and_leaves_the_rest():
    box = torch.tensor([[20.0, 10, 40, 30]])  # in the middle, so that each quarter shows a part of it
    targets = [
        {"boxes": box, "scores": (n,), "ids": [n], "captions": ["a cat"], "dataset_id": torch.tensor([3])}
        for n in range(4)
    ]
    for n, target in enumerate(mosaic(targets, per_box=["ids"])):
        expected = [(n - shift) % 4 for shift in range(4)]
        assert target["scores"] == tuple(expected)
        assert target["ids"] == expected
        assert target.keys() == {"boxes", "scores", "ids"}


def test_a_mosaic_refuses_rows_that_some_boxes_lack():
    box = torch.tensor([[20.0, 10, 40, 30]])
    targets = [{"boxes": box, "scores": [0.5]}] * 3 + [{"boxes": box}]
    with pytest.raises(ValueError, match=r"mosaic: expected scores, .* but image 3 has none"):
        mosaic(targets)


def test_a_mosaic_needs_no_rows_of_images_without_boxes():
    box, none = torch.tensor([[20.0, 10, 40, 30]]), torch.zeros(0, 4)
    points = torch.tensor([[30.0, 20.0]])
    targets = [
        {"boxes": box, "labels": torch.tensor([5])},
        {"boxes": none},
        {"boxes": none, "labels": torch.zeros(0)},
        {"keypoints": points},
    ]
    for target in mosaic(targets):
        assert target["labels"].dtype == torch.int64
        assert target["labels"].tolist() == [5]
        assert len(target["boxes"]) == len(target["keypoints"]) == 1


def test_a_mosaic_joins_numbers_without_rounding():
    box = torch.tensor([[20, 10, 40, 30]])
    targets = [{"boxes": box, "scores": torch.tensor([1])}, {"boxes": box, "scores": torch.tensor([0.5])}] * 2
    for target in mosaic(targets):
        assert sorted(target["scores"].tolist()) == [0.5, 0.5, 1.0, 1.0]


def test_collated_tuples_stay_tuples():
    images = [np.zeros((4, 6, 3), np.uint8)] * 2
    samples = [{"image": image, "shape": torch.Size([4, 6]), "size": Size(4, 6)} for image in images]
    batch = collate(samples)
    assert type(batch["size"]) is Size
    assert [side.tolist() for side in batch["shape"]] == [[4, 4], [6, 6]]


def test_the_size_keeps_its_type():
    for given in ((40, 60), [40, 60], Size(40, 60), torch.Size([40, 60])):
        _, moved = PIPELINES["crop"](IMAGE, target_of(size=given))
        assert type(moved["size"]) is type(given)
        assert tuple(moved["size"]) == (40, 40)


@pytest.mark.parametrize("make", [list, tuple])
@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("name", PIPELINES)
def test_rings_of_a_polygon_move_as_polygons_do_and_keep_their_types(name, kind, make):
    outer = kind([[16.0, 3], [28, 3], [28, 18]])
    rings = [outer, kind([[20.0, 5], [24, 5], [24, 9], [20, 9]]), kind([[0.0, 0], [1, 0], [1, 1]])]
    count = len(target_of()["boxes"])
    together = PIPELINES[name](IMAGE, target_of(polygons=[make(rings)] * count))[1]["polygons"]
    alone = [PIPELINES[name](IMAGE, target_of(polygons=[ring] * count))[1]["polygons"] for ring in rings]
    assert together
    for row, polygon in enumerate(together):
        assert type(polygon) is make
        assert [type(ring) for ring in polygon] == [type(ring) for ring in rings]
        for ring, expected in zip(polygon, alone, strict=True):
            assert np.array_equal(np.asarray(ring), np.asarray(expected[row]))


@pytest.mark.parametrize("where", ["cpu", "meta"])
def test_rows_are_joined_on_the_device_of_the_first(where):
    joined = joined_rows([torch.zeros(1, 4, device=where), np.ones((2, 4), np.float32)])
    assert (joined.shape, joined.device.type) == ((3, 4), where)


@pytest.mark.parametrize("none", [np.zeros(0), torch.zeros(0), (), []])
def test_rows_have_the_type_of_the_first_that_has_any(none):
    assert joined_rows([none, ["cat"], ["dog"]]) == ["cat", "dog"]
    assert joined_rows([none, torch.tensor([3])]).equal(torch.tensor([3]))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
def test_rows_of_unsigned_numbers_are_dropped(dtype):
    row = torch.tensor([3, 40_000, 5]).to(dtype)
    rows = chosen_rows(row, np.array([False, True, True]))
    assert rows.dtype == dtype
    assert rows.tolist() == [40_000, 5]


@pytest.mark.parametrize(
    ("one", "other"),
    [(torch.zeros(1, 17, 3), torch.zeros(1, 5, 3)), (torch.zeros(1), ["cat"]), (np.zeros((1, 2)), [3])],
)
def test_rows_that_cannot_be_joined_are_named(one, other):
    box = torch.tensor([[20.0, 10, 40, 30]])
    targets = [{"boxes": box, "scores": one}, {"boxes": box, "scores": other}] * 2
    with pytest.raises(ValueError, match=r"expected scores that can be joined in a mix, .* image [0-3] and"):
        mosaic(targets)
