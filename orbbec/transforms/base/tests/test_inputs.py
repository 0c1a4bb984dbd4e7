"""PIL images, and tuples and dicts that contain images."""

from collections import namedtuple
from contextlib import nullcontext

import numpy as np
import pytest
import torch

Image = pytest.importorskip("PIL.Image")

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import read_images
from tests.support import photograph, photographs

ARRAY = photograph(40, 50)
TENSOR = torch.from_numpy(ARRAY).permute(2, 0, 1).contiguous()
FLOATS = TENSOR * torch.tensor(1 / 255)  # like torchvision's v2; v1 divides, which may change the last bit
PIL = Image.fromarray(ARRAY)
PIPELINE = T.Compose([T.RandomResizedCrop(24, antialias=False), T.RandomHorizontalFlip(), T.GaussianNoise()])
TO_FLOATS = T.Compose([T.Resize((24, 30)), T.ToDtype(torch.float32, scale=True), T.Normalize()])


def pixels(image):
    return np.asarray(image)


def test_a_pil_image_comes_back_as_one_with_the_bytes_of_its_array():
    result = PIPELINE(PIL, epoch=1)
    assert isinstance(result, Image.Image)
    assert result.mode == "RGB"
    assert np.array_equal(pixels(result), PIPELINE(ARRAY, epoch=1))


def test_a_pil_image_that_becomes_floats_comes_back_as_a_tensor():
    result = TO_FLOATS(PIL)
    assert result.shape == (3, 24, 30)
    assert result.is_contiguous()
    assert torch.equal(result, TO_FLOATS(TENSOR))


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"]
)
def test_modes_are_read_as_pillow_converts_them(mode):
    kept = {"1": "L", "PA": "RGBA"}.get(mode, mode if mode in ("L", "LA", "RGBA") else "RGB")
    image = PIL.convert("P").convert("PA") if mode == "PA" else PIL.convert("RGB").convert(mode)
    result = T.RandomHorizontalFlip(1.0)(image)
    assert result.mode == kept
    assert np.array_equal(pixels(result), pixels(image.convert(kept))[:, ::-1])


@pytest.mark.parametrize("mode", ["I", "F"])
def test_a_mode_of_other_pixels_is_named(mode):
    known = "L, LA, RGB, RGBA, P, CMYK, YCbCr, LAB, HSV, RGBX, 1, La, RGBa, PA, I;16"
    message = f"expected a PIL image of mode {known}, but the image has mode {mode};"
    with pytest.raises(TypeError, match=message):
        PIPELINE(PIL.convert("L").convert(mode))


def test_a_list_of_pil_images_is_a_batch():
    smaller = PIL.resize((30, 20))
    results = PIPELINE([PIL, smaller], sample_ids=[4, 5])
    assert [type(image) for image in results] == [Image.Image] * 2
    for image, given, index in zip(results, (ARRAY, pixels(smaller)), (4, 5), strict=True):
        assert np.array_equal(pixels(image), PIPELINE(given, sample_ids=[index]))
    assert TO_FLOATS([PIL, smaller]).shape == (2, 3, 24, 30)
    with pytest.raises(TypeError, match="only PIL images in the list, but image 1 is a ndarray"):
        PIPELINE([PIL, ARRAY])


def test_results_of_one_channel_are_of_mode_l():
    assert T.Grayscale()(PIL).mode == "L"


@pytest.mark.parametrize("last", [T.ToImage(), T.PILToTensor()])
@pytest.mark.parametrize("image", [PIL, ARRAY, TENSOR], ids=["PIL", "array", "tensor"])
def test_tensors_are_made_of_any_image(last, image):
    result = T.Compose([T.RandomHorizontalFlip(1.0), last])(image)
    assert torch.equal(result, TENSOR.flip(2))
    assert result.is_contiguous()


@pytest.mark.parametrize("image", [PIL, ARRAY, TENSOR], ids=["PIL", "array", "tensor"])
def test_to_tensor_scales_bytes(image):
    result = T.ToTensor()(image)
    assert torch.equal(result, FLOATS)
    assert result.is_contiguous()
    assert torch.equal(T.ToTensor()(FLOATS), FLOATS)


def test_arrays_of_a_batch_become_a_tensor():
    assert torch.equal(T.ToTensor()(np.stack([ARRAY] * 2)), torch.stack([FLOATS] * 2))


Sample = namedtuple("Sample", "image label")


@pytest.mark.parametrize(
    ("sample", "image_of", "rest_of"),
    [
        ((TENSOR, 3), lambda s: s[0], lambda s: s[1]),
        ([TENSOR, 3], lambda s: s[0], lambda s: s[1]),
        ((PIL, "cat", None), lambda s: s[0], lambda s: s[1:]),
        (Sample(ARRAY, torch.tensor(3)), lambda s: s.image, lambda s: s.label),
        ({"label": [1.0, 2.0], "image": TENSOR}, lambda s: s["image"], lambda s: s["label"]),
        ({"a": {"path": "b"}, "inputs": [{"x": PIL}]}, lambda s: s["inputs"][0]["x"], lambda s: s["a"]),
    ],
    ids=["tuple", "list", "PIL", "named tuple", "dict", "nested"],
)
def test_a_structure_keeps_its_form_and_all_but_its_image(sample, image_of, rest_of):
    result = PIPELINE(sample, epoch=2)
    assert type(result) is type(sample)
    assert rest_of(result) == rest_of(sample)
    expected = PIPELINE(image_of(sample), epoch=2)
    assert type(image_of(result)) is type(expected)
    assert np.array_equal(pixels(image_of(result)), pixels(expected))


def test_an_image_that_one_operator_makes_is_the_same_within_a_structure():
    pipeline = T.Compose([T.RandomResizedCrop(24, antialias=False), T.RandomHorizontalFlip()], seed=3)
    images, ids = TENSOR.expand(4, -1, -1, -1).contiguous(), [5, 6, 7, 8]
    result, labels = pipeline((images, torch.arange(4)), sample_ids=ids, epoch=2)
    assert torch.equal(result, pipeline(images, sample_ids=ids, epoch=2))
    assert labels.tolist() == [0, 1, 2, 3]


def test_a_label_beside_an_image_stays():
    image, label = PIPELINE(TENSOR, 7, epoch=0)
    assert label == 7
    assert torch.equal(image, PIPELINE(TENSOR, epoch=0))
    assert PIPELINE((TENSOR, 7), epoch=0)[1] == 7


def test_images_of_one_sample_share_the_draws():
    first, second = PIPELINE((PIL, PIL))
    assert np.array_equal(pixels(first), pixels(second))


def test_of_plain_tensors_the_first_is_the_image():
    second = TENSOR.clone()
    image, other = PIPELINE((TENSOR, second), epoch=0)
    assert torch.equal(image, PIPELINE(TENSOR, epoch=0))
    assert other is second


def test_flat_tensors_in_a_list_are_no_images():
    scores = [torch.rand(3, 4), torch.rand(2, 4)]
    image, kept = PIPELINE((TENSOR, scores), epoch=0)
    assert torch.equal(image, PIPELINE(TENSOR, epoch=0))
    assert kept[0] is scores[0]


def test_boxes_of_a_dict_follow_with_their_labels():
    flip = T.Compose([T.RandomHorizontalFlip(1.0), T.Pad(2)])
    target = {"boxes": torch.tensor([[0.0, 1.0, 10.0, 11.0]]), "labels": torch.tensor([4])}
    image, moved = flip((TENSOR, target))
    assert torch.equal(image, flip(TENSOR))
    assert moved["boxes"].tolist() == [[42.0, 3.0, 52.0, 13.0]]
    assert moved["labels"].tolist() == [4]
    sample = flip({"image": TENSOR, **target})
    assert torch.equal(sample["image"], image)
    assert sample["boxes"].tolist() == moved["boxes"].tolist()


def test_a_transform_that_reads_boxes_finds_them_in_a_structure():
    zoom = T.Compose([T.RandomIoUCrop(), T.Resize((8, 8))])
    target = {"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]])}
    image, moved = zoom((TENSOR, target), epoch=3)
    expected, listed = zoom(TENSOR, target, epoch=3)
    assert torch.equal(image, expected)
    assert torch.equal(moved["boxes"], listed["boxes"])


def test_a_transform_that_reads_targets_finds_them_in_any_dict_of_one_image():
    """The first dict that has a target counts."""
    align = T.Compose([T.AlignPoints(8, [(1, 1), (5, 5)])])
    points, others = torch.tensor([[4.0, 4.0], [20.0, 9.0]]), torch.tensor([[9.0, 9.0], [4.0, 4.0]])
    boxes = torch.tensor([[4.0, 4.0, 30.0, 30.0]])
    expected, moved = align(TENSOR, {"keypoints": points, "boxes": boxes}, epoch=3)
    for dicts in (
        ({"boxes": boxes}, {"keypoints": points}),
        ({"keypoints": points}, {"keypoints": others, "boxes": boxes}),
    ):
        image, *found = align((TENSOR, *dicts), epoch=3)
        assert torch.equal(image, expected)
        for key, values in moved.items():
            assert torch.equal(next(each[key] for each in found if key in each), values)


def test_a_batch_with_its_labels_is_mixed_with_them():
    images = torch.stack([TENSOR, TENSOR.flip(1), TENSOR.flip(2)]).float() / 255
    mix = T.MixUp(num_classes=5)
    mixed, labels = mix((images, torch.tensor([0, 3, 4])), epoch=1)
    expected, targets = mix(images, [{"label": label} for label in (0, 3, 4)], epoch=1)
    assert torch.equal(mixed, expected)
    assert torch.equal(labels, torch.stack([target["label"] for target in targets]))
    assert labels.shape == (3, 5)


def test_a_batch_with_a_list_of_targets():
    flip = T.RandomHorizontalFlip(1.0)
    targets = [{"boxes": torch.tensor([[float(n), 0.0, 20.0, 20.0]])} for n in range(2)]
    images = torch.stack([TENSOR] * 2)
    flipped, moved = flip((images, targets))
    assert torch.equal(flipped, images.flip(3))
    assert [target["boxes"].tolist() for target in moved] == [
        [[30.0, 0.0, 50.0, 20.0]],
        [[30.0, 0.0, 49.0, 20.0]],
    ]
    with pytest.raises(ValueError, match="expected 2 targets, one per image, but got 1"):
        flip({"images": images, "targets": targets[:1]})


@pytest.mark.parametrize("empty", [{}, {"label": 3}, (), ("a", 1), {"boxes": torch.zeros(1, 4)}])
def test_a_structure_without_images_is_named(empty):
    with pytest.raises(TypeError, match=r"expected an image in the (dict|tuple)"):
        PIPELINE(empty)
    with pytest.raises(TypeError, match=r"but found bytes, int$"):
        PIPELINE({"pixel_values": b"a JPEG", "label": 3})


def test_a_tensor_of_rows_is_named_with_the_mend():
    rows = torch.from_numpy(ARRAY)
    for given in (rows, [TENSOR, rows], rows[None], rows / 255, (rows / 255)[None]):
        with pytest.raises(ValueError, match=r"expected a tensor \[C, H, W\].* looks like .*permute it"):
            PIPELINE(given)
    crop = T.Compose(
        [T.RandomResizedCrop(8), T.ToDtype(torch.float32, scale=True)]
    )  # which one operator runs
    for targets in (None, {"boxes": torch.zeros(1, 4)}):
        with pytest.raises(ValueError, match=r"expected a tensor \[C, H, W\].* looks like .*permute it"):
            crop(rows, targets)
    assert T.RandomHorizontalFlip(1.0)(TENSOR[:, :, :3]).shape == (3, 40, 3)
    assert T.Resize((8, 8))(torch.rand(64, 4, 4)).shape == (64, 8, 8)


@pytest.mark.parametrize(
    ("shape", "dtype", "is_refused"),
    [
        ((5, 9, 3), torch.float32, True),
        ((5, 8, 3), torch.float32, False),
        ((4, 9, 3), torch.float32, False),
        ((5, 9, 2), torch.float32, False),
        ((5, 9, 5), torch.float32, False),
        ((5, 1, 4), torch.uint8, True),
        ((4, 1, 4), torch.uint8, False),
        ((5, 1, 2), torch.uint8, False),
        ((5, 1, 5), torch.uint8, False),
    ],
)
def test_rows_are_known_by_the_least_shapes_that_no_image_has(shape, dtype, is_refused):
    with pytest.raises(ValueError, match="looks like") if is_refused else nullcontext():
        read_images(torch.zeros(shape, dtype=dtype))


@pytest.mark.parametrize(
    ("shape", "is_refused"),
    [
        ((3, 9, 17), True),
        ((2, 4, 9, 17), True),
        ((3, 8, 17), False),
        ((3, 9, 16), False),
        ((5, 9, 17), False),
        ((2, 9, 17), False),
    ],
)
def test_an_array_of_planes_is_named_with_the_mend(shape, is_refused):
    planes = np.zeros(shape, np.uint8)
    message = r"expected an array \[H, W, C\].* looks like \[C, H, W\]; transpose it"
    for images in (planes, [planes] if len(shape) == 3 else planes):
        for pipeline in (T.RandomHorizontalFlip(1.0), T.Compose([T.RandomResizedCrop(8)])):
            with pytest.raises(ValueError, match=message) if is_refused else nullcontext():
                pipeline(images)


@pytest.mark.parametrize("mode", ["L", "P"])
def test_a_mask_of_pillows_follows_as_one(mode):
    labels = (ARRAY[..., 0] > 128).astype(np.uint8)
    mask = Image.fromarray(labels)
    if mode == "P":
        mask.putpalette([0, 0, 0, 255, 0, 0])
    crop = T.RandomResizedCrop(16)
    sample = crop({"image": PIL, "mask": mask}, epoch=0)
    expected = crop(ARRAY, {"mask": labels}, epoch=0)[1]["mask"]
    assert (type(sample["mask"]), sample["mask"].mode) == (Image.Image, mode)
    assert np.array_equal(pixels(sample["mask"]), expected)
    assert mode == "L" or sample["mask"].getpalette()[:6] == [0, 0, 0, 255, 0, 0]


def test_a_fill_of_none_is_black():
    assert T.RandomRotation((90, 90), fill=None) == T.RandomRotation((90, 90), fill=0)


CROP = T.Compose([T.RandomResizedCrop(9, antialias=False), T.RandomHorizontalFlip(), T.ColorJitter(0.4)], 5)
BYTES = photographs(2, 3, 20, 30)
ARRAYS = BYTES.permute(0, 2, 3, 1).contiguous().numpy()
DIRECT = {
    **{"bytes": BYTES, "halves": BYTES.half() / 255, "floats": BYTES / 255, "one": BYTES[0]},
    **{"array": ARRAYS[0], "flipped array": ARRAYS[0, ::-1], "arrays": ARRAYS},
    "ragged": ImageBatch.from_images([ARRAYS[0], ARRAYS[1, :9]]),
}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"epoch": 3},
        {"sample_ids": [4, 9], "epoch": 3},
        {"sample_ids": [4, 9], "epoch": torch.tensor(3)},
        {"generator": torch.Generator().manual_seed(3)},
    ],
    ids=lambda how: ", ".join(how) or "no arguments",
)
@pytest.mark.parametrize("name", DIRECT)
def test_one_operator_draws_and_runs_a_fused_pipeline(monkeypatch, name, how):
    images = DIRECT[name]
    count = 1 if name in ("one", "array", "flipped array") else 2
    how = {**how, "sample_ids": how["sample_ids"][:count]} if "sample_ids" in how else how
    monkeypatch.setattr(T.Compose, "_plan_for", None)  # what follows if it cannot
    result = CROP(images, **how)
    assert type(result) is (torch.Tensor if name == "ragged" else type(images))
    assert len(result) == (9 if name.endswith("array") else len(images))
