"""Masks as run lengths of COCO, compared with pycocotools."""

import numpy as np
import pytest
import torch

coco = pytest.importorskip("pycocotools.mask")

from orbbec import transforms as T
from orbbec.data import Loader, Sample

HEIGHT, WIDTH = 33, 47
GEOMETRY = [T.RandomHorizontalFlip(), T.RandomAffine(30, scale=(0.7, 1.3)), T.RandomCrop((20, 30))]


def objects(seed=0, count=3):
    rng = np.random.default_rng(seed)
    masks = np.zeros((count, HEIGHT, WIDTH), np.uint8)
    for mask in masks:
        top, left = rng.integers(0, (HEIGHT - 12, WIDTH - 12))
        mask[top : top + 12, left : left + 12] = rng.random((12, 12)) < 0.7
    return masks


def compressed(mask):
    return coco.encode(np.asfortranarray(mask))


def as_text(mask):
    runs = compressed(mask)
    return {"size": runs["size"], "counts": runs["counts"].decode()}


def as_numbers(mask):
    pixels = mask.T.reshape(-1)
    ends = np.flatnonzero(np.diff(pixels, prepend=0, append=2))
    return {"size": list(mask.shape), "counts": np.diff(ends, prepend=0).tolist()}


def boxes():
    return torch.tensor([[0.0, 0.0, WIDTH, HEIGHT]] * 3)


@pytest.mark.parametrize("encode", [compressed, as_text, as_numbers])
@pytest.mark.parametrize("seed", range(3))
def test_run_lengths_move_as_their_masks_do(encode, seed):
    masks, image = objects(seed), torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8)
    compose = T.Compose(GEOMETRY, seed=seed)
    _, expected = compose(image, {"boxes": boxes(), "masks": torch.from_numpy(masks)}, epoch=0)
    _, actual = compose(image, {"boxes": boxes(), "masks": list(map(encode, masks))}, epoch=0)
    assert actual["masks"].dtype == torch.uint8
    assert actual["masks"].any()
    assert torch.equal(actual["masks"], expected["masks"])


@pytest.mark.parametrize("encode", [compressed, as_text, as_numbers])
@pytest.mark.parametrize("value", [0, 1])
def test_a_mask_may_be_one_run(encode, value):
    masks, image = (
        np.full((1, HEIGHT, WIDTH), value, np.uint8),
        torch.zeros(3, HEIGHT, WIDTH, dtype=torch.uint8),
    )
    _, target = T.Compose([T.RandomHorizontalFlip(1.0)])(image, {"masks": list(map(encode, masks))}, epoch=0)
    assert target["masks"].tolist() == masks.tolist()


def test_an_array_follows_from_run_lengths_without_boxes():
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    masks = objects()
    _, target = T.Compose([T.RandomVerticalFlip(1.0)])(image, {"masks": tuple(map(compressed, masks))})
    assert isinstance(target["masks"], np.ndarray)
    assert np.array_equal(target["masks"], masks[:, ::-1])


def test_no_run_lengths_are_no_masks():
    image = torch.zeros(3, HEIGHT, WIDTH)
    _, target = T.Compose([T.CenterCrop(8)])(image, {"boxes": torch.zeros(0, 4), "masks": []})
    assert list(target["masks"].shape) == [0, 8, 8]


def test_run_lengths_of_a_batch_in_one_dict():
    images = torch.zeros(2, 3, HEIGHT, WIDTH)
    masks = objects()
    target = {"masks": [[as_text(masks[0])], [as_text(masks[1])]]}
    _, result = T.Compose([T.RandomHorizontalFlip(1.0)])(images, target)
    assert np.array_equal(np.array(result["masks"])[:, 0], masks[:2, :, ::-1])


def test_run_lengths_through_a_loader():
    masks = objects()
    target = {"boxes": boxes().numpy(), "masks": list(map(as_text, masks))}
    sample = Sample(np.zeros((HEIGHT, WIDTH, 3), np.uint8), target)
    batch = next(iter(Loader([sample], 1, transforms=T.Compose([T.RandomHorizontalFlip(1.0)]))))
    assert np.array_equal(batch.targets["masks"][0], masks[..., ::-1])


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({"size": [9, 9], "counts": [81]}, r"masks of image 0: expected run lengths of size \[33, 47\]"),
        ({"size": [HEIGHT, WIDTH], "counts": [5]}, "masks of image 0: expected run lengths that add up"),
        (
            {"size": [HEIGHT, WIDTH], "counts": "P" * 11 + "0"},
            "masks of image 0: expected run lengths that add",
        ),
        ({"size": [HEIGHT, WIDTH], "counts": "P" * 12 + "0"}, "has one of 65 bits"),
        ({"size": [HEIGHT, WIDTH], "counts": "Z"}, "masks of image 0: expected compressed run lengths"),
    ],
)
def test_malformed_run_lengths_are_named(runs, message):
    with pytest.raises(ValueError, match=message):
        T.Compose([T.CenterCrop(8)])(torch.zeros(3, HEIGHT, WIDTH), {"masks": [runs]})
