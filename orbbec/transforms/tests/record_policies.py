"""Writes policies.json: what torchvision's policies choose from, and the matrices of their warps.

    python orbbec/transforms/tests/record_policies.py     (with torchvision 0.28, torch 2.13, CPU)

`magnitudes`: per policy, number of bins and image size, the operations with whether they are signed and their
magnitudes. `pairs`: AutoAugment's learned pairs. `matrices`: centered output positions to centered source
positions, `[2, 3]`, of each warp, magnitude and image size.
"""

import json
from pathlib import Path
from unittest.mock import patch

import torch

try:
    from torchvision.transforms import v2
    from torchvision.transforms.v2.functional import _geometry as geometry
except ImportError:  # read by the tests for its constants
    v2 = geometry = None

PATH = Path(__file__).with_name("policies.json")
SIZES = ((375, 500), (64, 48))
BINS = (2, 7, 10, 11, 31)
WARPS = {
    **dict.fromkeys(("ShearX", "ShearY"), (0.2, -0.3, 0.99)),
    **dict.fromkeys(("TranslateX", "TranslateY"), (7.0, -3.9, 20.2)),
    "Rotate": (27.0, -135.0, 3.3),
}


def spaces():
    """The operations of each policy; those of AugMix also without all operations."""
    yield "RandAugment", v2.RandAugment._AUGMENTATION_SPACE, BINS
    yield "TrivialAugmentWide", v2.TrivialAugmentWide._AUGMENTATION_SPACE, BINS
    yield "AutoAugment", v2.AutoAugment._AUGMENTATION_SPACE, (10,)
    yield "AugMix", v2.AugMix._AUGMENTATION_SPACE, (10,)
    yield "AugMix, not all_ops", v2.AugMix._PARTIAL_AUGMENTATION_SPACE, (10,)


def rounded(values):
    """Float32 numbers in few digits."""
    return None if values is None else [round(value, 5) for value in values.tolist()]


def magnitudes():
    for name, space, all_bins in spaces():
        for bins in all_bins:
            for height, width in SIZES:
                operations = {
                    operation: [signed, rounded(values_of(bins, height, width))]
                    for operation, (values_of, signed) in space.items()
                }
                yield {"policy": name, "bins": bins, "size": [height, width], "operations": operations}


def matrices():
    policy, inverse = v2.RandAugment(), geometry._get_inverse_affine_matrix
    for height, width in SIZES:
        image = torch.zeros(3, height, width, dtype=torch.uint8)
        for operation, values in WARPS.items():
            for magnitude in values:
                found = []

                def recorded(*arguments, found=found, **options):
                    found.append(inverse(*arguments, **options))
                    return found[-1]

                with patch.object(geometry, "_get_inverse_affine_matrix", recorded):
                    policy._apply_image_or_video_transform(
                        image, operation, magnitude, policy.interpolation, policy._fill
                    )
                (matrix,) = found
                yield {
                    **{"operation": operation, "magnitude": magnitude, "size": [height, width]},
                    "matrix": [matrix[:3], matrix[3:]],
                }


def main():
    pairs = {policy.value: v2.AutoAugment(policy)._policies for policy in v2.AutoAugmentPolicy}
    content = {"magnitudes": list(magnitudes()), "pairs": pairs, "matrices": list(matrices())}
    lists = [
        f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, rows))
        for name, rows in content.items()
        if name != "pairs"
    ]
    learned = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in pairs.items())
    PATH.write_text("{\n" + "\n ],\n".join(lists) + '\n ],\n "pairs": {\n  ' + learned + "\n }\n}\n")


if __name__ == "__main__":
    main()
