"""Mixing of only some images: by `p`, and in RandomApply, RandomChoice and RandomOrder."""

import pytest
import torch

from orbbec import transforms as T
from tests.support import photographs

COUNT = 64
BYTES = photographs(COUNT, 3, 20, 24)
FLOATS = BYTES.float() / 255
LABELS = torch.arange(COUNT) % 10
MIXING = {"mixup": T.MixUp, "cutmix": T.CutMix}


def unchanged(results, images):
    return torch.tensor([torch.equal(result, image) for result, image in zip(results, images, strict=True)])


@pytest.mark.parametrize("images", [BYTES, FLOATS], ids=["uint8", "float32"])
@pytest.mark.parametrize("name", MIXING)
def test_images_that_are_not_chosen_keep_their_bits_and_labels(name, images):
    one_hot = torch.nn.functional.one_hot(LABELS, 10).float()
    mixed, labels = MIXING[name](num_classes=10, p=0.5)((images, LABELS), epoch=1)
    same = unchanged(mixed, images)
    pure = (labels == one_hot).all(1)
    assert 16 < int(same.sum()) < 52  # 32 of 64 on average, and a few rectangles without pixels
    assert torch.equal(labels[same], one_hot[same])
    assert not pure.all()
    assert torch.allclose(labels.sum(1), torch.ones(COUNT))
    none, labels = MIXING[name](num_classes=10, p=0.0)((images, LABELS), epoch=1)
    assert torch.equal(none, images)
    assert torch.equal(labels, one_hot)


def test_the_recipe_of_torchvision_chooses_between_both():
    choice = T.RandomChoice([T.CutMix(num_classes=10), T.MixUp(num_classes=10)])
    pipeline = T.Compose([choice, T.Normalize()])
    mixed, labels = pipeline((FLOATS, LABELS))
    assert mixed.shape == FLOATS.shape
    assert labels.shape == (COUNT, 10)
    assert torch.allclose(labels.sum(1), torch.ones(COUNT))
    plan = T.Compose([choice]).plan([(20, 24)] * COUNT, epoch=0)
    cut, mix = plan.mixes
    chosen = torch.from_numpy(mix.table["weights"]) != 1
    assert 12 < int(chosen.sum()) < 52
    assert (cut.table["boxes"][chosen.numpy()] == 0).all()


@pytest.mark.parametrize("container", [T.RandomApply, T.RandomOrder])
def test_mixing_stands_in_containers(container):
    pipeline = container([T.RandomHorizontalFlip(), T.MixUp(num_classes=10)])
    mixed, labels = pipeline((FLOATS, LABELS))
    assert mixed.shape == FLOATS.shape
    assert torch.allclose(labels.sum(1), torch.ones(COUNT))


def test_a_mosaic_of_some_images():
    mosaic = T.Mosaic((20, 24), p=0.5)
    targets = [{"boxes": torch.tensor([[2.0, 3.0, 10.0, 12.0]])} for _ in range(COUNT)]
    laid, moved = mosaic(BYTES, targets, epoch=0)
    same = unchanged(laid, BYTES)
    assert 16 < int(same.sum()) < 48
    for index in same.nonzero().flatten().tolist():
        assert moved[index]["boxes"].tolist() == [[2.0, 3.0, 10.0, 12.0]]
    assert T.Mosaic(30, p=0.5)(BYTES, epoch=0).shape[2:] == (30, 30)


@pytest.mark.parametrize("kind", [T.MixUp, T.CutMix, lambda **p: T.Mosaic(8, **p)])
def test_a_wrong_probability_is_named(kind):
    with pytest.raises(ValueError, match="expected p"):
        kind(p=1.5)


@pytest.mark.parametrize("tiles", [3, 6, 10, 4.5, "nine"])
def test_a_wrong_number_of_tiles_is_named(tiles):
    with pytest.raises((TypeError, ValueError), match=r"Mosaic: expected tiles as .* but got"):
        T.Mosaic(8, tiles=tiles)


@pytest.mark.parametrize("name", ["label", "labels"])
def test_labels_of_a_dict_are_known_by_name(name):
    batch = {"image": torch.rand(2, 3, 4, 4), "id": torch.tensor([0, 1]), name: torch.tensor([1, 2])}
    mixed = T.MixUp(num_classes=3)(batch, epoch=0)
    assert mixed["id"] is batch["id"]
    assert mixed[name].shape == (2, 3)
    del batch[name]
    assert T.MixUp(num_classes=3)(batch, epoch=0)["id"].shape == (2, 3)
    with pytest.raises(ValueError, match="labels of 2 images under label or labels, but got 2 entries"):
        T.MixUp(num_classes=3)({**batch, "weight": torch.rand(2)}, epoch=0)
