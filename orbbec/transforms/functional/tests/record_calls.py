"""Writes calls.npz: what each function gives today for each kind of input, and for values of each argument.

python orbbec/transforms/functional/tests/record_calls.py     (with torchvision)
"""

import inspect
from itertools import product
from pathlib import Path

import numpy as np
import torch

from orbbec.transforms import functional
from orbbec.transforms.base.tests.record_arguments import VALUES
from orbbec.transforms.base.tests.record_outputs import means_of
from orbbec.transforms.tests.test_functional import CALLS, PIL, TENSOR, tv_tensors

PATH = Path(__file__).with_name("calls.npz")
HOW = {"canvas_size": (40, 50)}
BOXES = {"XYXY": [[3, 4, 30, 33], [-6, -9, 70, 8]], "XYWH": [[3, 4, 27, 29]], "CXCYWH": [[16, 18, 27, 29]]}
BOXES |= {"CXCYWHR": [[16, 18, 27, 29, 30]], "XYXYXYXY": [[16, 3, 33, 12, 24, 31, 5, 22]]}
INPUTS = {
    **{
        "bytes": TENSOR,
        "floats": TENSOR / 255,
        "gray": TENSOR[:1],
        "two": TENSOR[:2],
        "plane": TENSOR[0],
        "batch": torch.stack([TENSOR, TENSOR.flip(1)]),
        "batch of gray": torch.stack([TENSOR[:1], TENSOR[1:2]]),
    },
    **{"array": np.asarray(PIL), "pillow": PIL, "16 bits": TENSOR.to(torch.uint16) * 257},
    **{"mask": tv_tensors.Mask(TENSOR[0] // 64), "points": tv_tensors.KeyPoints([[3.0, 4], [41, 30]], **HOW)},
    **{f: tv_tensors.BoundingBoxes(rows, format=f, dtype=torch.float32, **HOW) for f, rows in BOXES.items()},
}
EXTRA = [
    *(("normalize", ([0.2, 0.3, 0.6], [0.4, 0.2, 0.3]), {}), ("to_dtype", (torch.float32, True), {})),
    *(("five_crop", ([21, 30],), {}), ("ten_crop", ([21, 30], True), {}), ("to_grayscale", (3,), {})),
    *((name, (), {}) for name in ("grayscale_to_rgb", "get_size", "get_image_size", "get_num_channels")),
    *(("get_dimensions", (), {}), ("pil_to_tensor", (), {}), ("to_image", (), {}), ("to_tensor", (), {})),
    *(("convert_image_dtype", (torch.float32,), {}), ("clamp_bounding_boxes", (), {})),
    *(("convert_bounding_box_format", (None, "XYWH"), {}), ("sanitize_bounding_boxes", (), {})),
    *(("uniform_temporal_subsample", (1,), {}), ("clamp_keypoints", (), {}), ("sanitize_keypoints", (), {})),
]
EVERY = {f"{number} {call[0]}": call[:3] for number, call in enumerate([*CALLS, *EXTRA])}


def numbers_of(key):
    """The numbers of a call: for each kind of input, and for each value of each argument."""
    name, arguments, options = EVERY[key]
    function = getattr(functional, name)
    image = INPUTS["XYXY" if "box" in name else "points" if "keypoints" in name else "bytes"]
    bound = inspect.signature(function).bind(image, *arguments, **options)
    bound.apply_defaults()
    first, *others = bound.arguments
    changes = [(first, value) for value in INPUTS.values()] + list(product(others, VALUES))
    results = [lambda c=change: [function(**{**bound.arguments, c[0]: c[1]})] for change in changes]
    return np.array([number for each in results for number in means_of(each)], np.float32)


def main():
    np.savez_compressed(PATH, **{key: numbers_of(key) for key in EVERY})


if __name__ == "__main__":
    main()
