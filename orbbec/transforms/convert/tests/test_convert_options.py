"""Steps that are options of a pipeline here, or that do nothing."""

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.convert.tests.test_convert_torchvision import stand_in
from tests.support.peers import albumentations


@pytest.mark.parametrize(
    "steps", [[], [stand_in("Identity")], [stand_in("RandomApply", transforms=[], p=0.5)]]
)
def test_a_pipeline_that_does_nothing_gives_the_images(steps):
    image = torch.arange(48, dtype=torch.uint8).reshape(3, 4, 4)
    assert torch.equal(T.Compose.from_torchvision(stand_in("Compose", transforms=steps))(image), image)
    nothing = T.Compose.from_albumentations([albumentations.stand_in("NoOp") for _ in steps])
    assert torch.equal(nothing(image), image)


@pytest.mark.parametrize("nested", [False, True])
def test_a_pipeline_of_box_transforms_only_clips_and_drops(nested):
    steps = [stand_in("ClampBoundingBoxes"), stand_in("SanitizeBoundingBoxes", min_size=3, min_area=10.0)]
    converted = T.Compose.from_torchvision([stand_in("Compose", transforms=steps)] if nested else steps)
    boxes = torch.tensor([[-4.0, 1, 5, 9], [-4, 1, 2, 9]])
    _, moved = converted(torch.zeros(3, 8, 8), {"boxes": boxes, "labels": torch.arange(2)})
    assert (moved["boxes"].tolist(), moved["labels"].tolist()) == ([[0, 1, 5, 8]], [0])


def test_a_function_that_finds_labels_is_refused_since_labels_are_known_by_name():
    sizes = {"min_size": 3, "min_area": 10.0}
    for getter in ("default", None):
        T.Compose.from_torchvision([stand_in("SanitizeBoundingBoxes", **sizes, labels_getter=getter)])
    with pytest.raises(
        ConversionError, match=r"step 0, .* expected labels_getter .* TargetOptions\(per_box="
    ):
        T.Compose.from_torchvision([stand_in("SanitizeBoundingBoxes", **sizes, labels_getter=len)])
    with pytest.raises(ConversionError, match='step 0, MixUp: expected labels_getter="default"'):
        T.Compose.from_torchvision([stand_in("MixUp", alpha=1.0, num_classes=3, labels_getter=len)])
