"""Several images of a sample with one draw: `images=`."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from tests.support import assert_same_bytes, photographs

STEPS = [T.RandomResizedCrop(12, antialias=False), T.ColorJitter(0.4, 0.4), T.RandomHorizontalFlip()]
PAIR = T.Compose(STEPS, seed=3, images=("left", "right"))
ALONE = T.Compose(STEPS, seed=3)
LEFT, RIGHT = photographs(4, 3, 30, 40), photographs(4, 1, 22, 26).float() / 255


def test_named_images_share_the_draw_of_their_sample():
    result = PAIR({"right": RIGHT, "left": LEFT, "name": "a"}, sample_ids=[3, 1, 4, 7], epoch=2)
    for key, images in (("left", LEFT), ("right", RIGHT)):
        assert_same_bytes(result[key], ALONE(images, sample_ids=[3, 1, 4, 7], epoch=2))
    assert result["name"] == "a"


def test_named_images_may_be_of_any_kind():
    batch = ImageBatch.from_images([np.zeros((9, 9 + n, 3), np.uint8) for n in range(4)])
    array = LEFT.permute(0, 2, 3, 1).numpy()
    clips = LEFT[:, None].expand(-1, 2, -1, -1, -1)
    result = T.Compose(STEPS, images=["array", "clips", "batch"])(
        ({"array": array}, {"clips": clips, "batch": batch}), epoch=0
    )
    expected = T.Compose(STEPS)(array, epoch=0)
    assert np.array_equal(result[0]["array"], expected)
    assert np.array_equal(result[1]["clips"][:, 1].permute(0, 2, 3, 1).numpy(), expected)
    assert result[1]["batch"].shape == (4, 3, 12, 12)


def test_without_ids_each_call_draws_once_for_all():
    for _ in range(3):
        result = PAIR({"left": LEFT[0], "right": LEFT[0]})
        assert torch.equal(result["left"], result["right"])


def test_targets_are_those_of_the_first_image():
    sample = {"left": LEFT[0], "right": RIGHT[0], "boxes": torch.tensor([[4.0, 3, 20, 25]])}
    result = PAIR(sample, sample_ids=[5])
    _, moved = ALONE(LEFT[0], {"boxes": sample["boxes"]}, sample_ids=[5])
    assert torch.equal(result["boxes"], moved["boxes"])


def test_names_survive_json():
    assert T.Compose.from_json(PAIR.to_json()) == PAIR
    assert "images" not in ALONE.to_dict()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PAIR({"left": LEFT}), TypeError, "expected 1 entry right in a sample, but got 0"),
        (
            lambda: PAIR([{"left": LEFT, "right": RIGHT}] * 2),
            TypeError,
            "1 entry left in a sample, but got 2",
        ),
        (
            lambda: PAIR({"left": LEFT, "right": RIGHT[:2]}),
            ValueError,
            "expected right of 4 samples, as left, but got 2",
        ),
        (lambda: T.Compose(STEPS, images="left"), ValueError, "images as a list of names"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
