"""Every transform with a probability changes that fraction of the images."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.tests.examples import EXAMPLES, our_transforms

COUNT = 2000
IMAGES = torch.from_numpy(np.random.default_rng(0).integers(40, 200, (COUNT, 3, 18, 18), np.uint8))
NAMES = [name for name, kind in our_transforms().items() if "p" in {field.name for field in fields(kind)}]
NAMES.remove("CopyPaste")  # needs targets; see test_pasted_targets
NAMES.remove("RandomHalfBody")  # too; see test_half_body
NAMES.remove("BBoxSafeRandomCrop")  # too; see test_box_crops
NAMES.remove("AtLeastOneBBoxRandomCrop")  # too; see test_box_crops
NAMES.remove("CropNonEmptyMaskIfExists")  # too; see test_box_crops
NAMES.remove("MaskDropout")  # too; see test_object_dropouts
NAMES.remove("ConstrainedCoarseDropout")  # too; see test_object_dropouts
NAMES.remove("RandAugment")  # the chance of each operation
# Here a draw of these that changes nothing is too rare to be seen.
STRONG = {
    "CropAndPad": T.CropAndPad(px_range=(2, 4)),
    "CutMix": T.CutMix(50.0),
    "Mosaic": T.Mosaic(18, (0.4, 0.6)),
    "FancyPCA": T.FancyPCA(1e5),
    "MixUp": T.MixUp(50.0),
    "RandomCropFromBorders": T.RandomCropFromBorders(0.5, 0.5, 0.5, 0.5),
    "RandomGridShuffle": T.RandomGridShuffle((6, 6)),
    "RandomShadow": T.RandomShadow((0.0, 0.0, 1.0, 1.0), 16, 7),
    "RandomPerspective": T.RandomPerspective(0.5),
    "RandomChoice": T.RandomChoice([T.RandomInvert(1.0), T.ToImage()]),
}


def with_chance(name, p):
    if name == "RandomChoice":
        return replace(STRONG[name], p=(p, 1 - p))
    return replace(STRONG.get(name, EXAMPLES[name][0]), p=p)


def expected_fraction(name, p):
    """The fraction of images that change."""
    if name == "RandomPhotometricDistort":  # four changes and a permutation, one in six the identity
        return 1 - (1 - p) ** 4 * (1 - p * 5 / 6)
    return p


@pytest.mark.parametrize("p", [0.0, 0.2, 0.75, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_fraction_of_changed_images_is_the_probability(name, p):
    results = T.Compose([with_chance(name, p)], seed=6)(IMAGES, epoch=2)
    results = results if isinstance(results, torch.Tensor) else [each.permute(2, 0, 1) for each in results]
    changed = np.mean([not torch.equal(one, other) for one, other in zip(results, IMAGES, strict=True)])
    expected = expected_fraction(name, p)
    # A normal number is farther than 4.5 deviations 7 times in a million.
    assert abs(changed - expected) <= 4.5 * (expected * (1 - expected) / COUNT) ** 0.5
