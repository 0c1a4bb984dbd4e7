"""Targets of a batch in one dict: stacked and listed masks, boxes and labels."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.batch import ImageBatch, collate
from orbbec.transforms.base.clips import is_of_batch, split
from tests.support import photographs

SIZES = [(40, 50), (30, 44), (36, 60)]
ONE_SIZE = photographs(3, 3, 40, 50)
SEVERAL = [photographs(1, 3, *size)[0] for size in SIZES]
CROP, FLIP, COLORS = T.RandomResizedCrop((24, 20)), T.RandomHorizontalFlip(), T.ColorJitter(0.5)
PIPELINE = T.Compose([CROP, FLIP, COLORS, T.ToDtype("float32", scale=True)], seed=3)
RAGGED = T.Compose([FLIP, T.Pad(3), COLORS], seed=3)


def mask_of(image):
    """Labels that show where each pixel came from, with the values 0 and 255 among them."""
    height, width = image.shape[-2:]
    return torch.from_numpy(np.random.default_rng(height).integers(0, 256, (height, width), np.uint8))


def batch_of(images):
    return ImageBatch.from_images([image.permute(1, 2, 0) for image in images])


KINDS = {
    "tensor": (ONE_SIZE, lambda images: images, torch.stack),
    "stacked": (list(ONE_SIZE), batch_of, torch.stack),
    "listed": (SEVERAL, batch_of, list),
    "list of images": (SEVERAL, list, list),
    "masks as images": (SEVERAL, batch_of, lambda masks: ImageBatch.from_images(masks)),
}


@pytest.mark.parametrize("form", ["two arguments", "dict", "tuple"])
@pytest.mark.parametrize("pipeline", [PIPELINE, RAGGED], ids=["one size", "variable size"])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_a_batch_follow_its_images(kind, pipeline, form):
    images, as_batch, as_masks = KINDS[kind]
    batch, masks = as_batch(images), [mask_of(image) for image in images]
    _, expected = pipeline(batch, [{"mask": mask} for mask in masks], epoch=0)
    target = {"mask": as_masks(masks), "names": ["a", "b", "c"], "step": 7}
    if form == "two arguments":
        results, outputs = pipeline(batch, target, epoch=0)
    elif form == "tuple":
        results, outputs = pipeline((batch, target), epoch=0)
    else:
        outputs = pipeline({"image": batch, **target}, epoch=0)
        results = outputs.pop("image")
    assert len(results) == 3
    assert (outputs.pop("names"), outputs.pop("step"), list(outputs)) == (["a", "b", "c"], 7, ["mask"])
    assert isinstance(outputs["mask"], torch.Tensor) == (
        pipeline is PIPELINE or len(set(map(len, masks))) == 1
    )
    for actual, one in zip(outputs["mask"], expected, strict=True):
        assert torch.equal(actual, one["mask"])
        assert actual.dtype == torch.uint8


def test_masks_are_read_by_nearest_and_keep_their_values():
    labels = torch.tensor([0, 7, 255], dtype=torch.uint8).repeat_interleave(700)[:2000].reshape(1, 40, 50)
    _, outputs = T.Compose([T.Resize((57, 83)), T.ColorJitter(0.9, 0.9), T.RandomRotation(30)])(
        ONE_SIZE[:1], {"mask": labels}
    )
    assert outputs["mask"].shape == (1, 57, 83)
    assert outputs["mask"].unique().tolist() == [0, 7, 255]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_boxes_of_a_batch_of_any_length_follow(count):
    images = ONE_SIZE[:count]
    boxes = torch.tensor([[2.0, 3.0, 12.0, 9.0], [0.0, 0.0, 0.5, 9.0]]).repeat(count, 1, 1)
    labels = torch.tensor([4, 5]).repeat(count, 1)
    result, outputs = T.RandomHorizontalFlip(1.0)(images, {"boxes": boxes, "labels": labels})
    assert len(result) == len(outputs["boxes"]) == len(outputs["labels"]) == count
    for each in outputs["boxes"]:
        assert each.tolist() == [[38, 3, 48, 9]]
    assert all(each.tolist() == [4] for each in outputs["labels"])


def test_the_dict_of_one_image_is_still_that():
    for images in (ONE_SIZE[:1], batch_of(ONE_SIZE[:1])):
        _, outputs = T.RandomHorizontalFlip(1.0)(images, {"boxes": torch.tensor([[2.0, 3.0, 12.0, 9.0]])})
        assert outputs["boxes"].tolist() == [[38, 3, 48, 9]]


@pytest.mark.parametrize(("key", "rank"), [("mask", 2), ("boxes", 2), ("masks", 3)])
def test_the_number_of_axes_says_whether_targets_are_of_a_batch(key, rank):
    one = torch.zeros([1] * rank)
    for images in (ONE_SIZE[:1], batch_of(ONE_SIZE[:1]), [ONE_SIZE[0]]):
        for value in (one, one.numpy(), [*one]):
            assert not is_of_batch({key: value}, images, 1)
        for value in (one[None], one[None].numpy(), [one], (one,), []):
            assert is_of_batch({key: value}, images, 1)
        assert not is_of_batch({"mask": [one[0]], "boxes": one[None], "masks": one}, images, 1)
    assert not is_of_batch({key: one[None]}, ONE_SIZE[0], 1)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_other_targets_are_of_a_batch_of_several_images(count):
    assert is_of_batch({"label": 3}, ONE_SIZE[:count], count) == (count != 1)


def test_each_kind_of_batch_has_a_row_per_image():
    masks = [mask_of(image) for image in SEVERAL]
    for batch in (ImageBatch.from_images(masks), masks, tuple(masks)):
        rows = split({"mask": batch, "names": ["a", "b", "c"], "step": 7, "size": np.zeros((2, 2))}, 3)
        assert [list(row) for row in rows] == [["mask", "names"]] * 3
        assert all(torch.equal(row["mask"], mask) for row, mask in zip(rows, masks, strict=True))
    colors = ImageBatch.from_images([image.permute(1, 2, 0) for image in SEVERAL])
    assert [row["mask"].shape[2] for row in split({"mask": colors}, 3)] == [3] * 3


def test_a_collated_batch_goes_through_a_pipeline():
    samples = [{"image": image.permute(1, 2, 0).numpy(), "mask": mask_of(image).numpy()} for image in SEVERAL]
    batch = PIPELINE(collate(samples), epoch=0)
    _, expected = PIPELINE(batch_of(SEVERAL), [{"mask": sample["mask"]} for sample in samples], epoch=0)
    assert batch["image"].shape == (3, 3, 24, 20)
    assert np.array_equal(batch["mask"], np.stack([target["mask"] for target in expected]))


def test_another_number_of_masks_is_named():
    with pytest.raises(ValueError, match="expected mask of 3 images in the dict of a batch, but got 2"):
        PIPELINE(ONE_SIZE, {"mask": torch.zeros(2, 40, 50, dtype=torch.uint8)})


def test_entries_of_several_types_are_listed():
    images, points = torch.zeros(2, 3, 4, 5, dtype=torch.uint8), [torch.zeros(1, 2), np.zeros((1, 2))]
    _, outputs = T.RandomHorizontalFlip(1.0)(images, {"keypoints": points})
    assert [type(each) for each in outputs["keypoints"]] == [torch.Tensor, np.ndarray]
