"""Writes outputs.npz: what every transform gives today, for images and for each kind of target.

    python orbbec/transforms/base/tests/record_outputs.py

Of each result, the mean with weights, so that every number counts and the last bits of functions such as exp
do not. Of a refusal, a checksum of the message.
"""

import re
import zlib
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan
from orbbec.transforms.base.tests.record_programs import transforms_of
from orbbec.transforms.tests.examples import always, our_transforms
from tests.support import photograph

PATH = Path(__file__).with_name("outputs.npz")
SIZES = ((30, 44), (47, 28))
IDS = (71, 93)
POINTS = np.array([[0.3, 0.3], [0.7, 0.35], [0.5, 0.5], [0.35, 0.7], [0.65, 0.75]])
FLIP, CROP = T.RandomHorizontalFlip(0.7), T.RandomResizedCrop((33, 38), (0.5, 0.9), antialias=False)
OPTIONS = {
    "arrays": {"keypoint_pairs": "coco"},
    "tensors": {
        **{"box_format": "cxcywha", "drop_boxes": False, "keypoint_pairs": [(0, 1), (3, 4)]},
        **{"mask_fill": 3.0, "depth_fill": 2.5, "depth_scale": True},
    },
    "lists": {
        **{"box_format": "xywh", "min_size": 4.0, "min_visibility": 0.3, "min_area": 40.0},
        **{"drop_keypoints": True, "per_box": ("row",)},
    },
}
CANNOT = {  # targets that a transform refuses
    **{"CopyPaste": ("polygons",), "CutMix": ("polygons",), "RandomHalfBody": ("keypoints",)},
    "MixUp": ("mask", "depth", "flow", "normals"),
}
FORMS = ("clips", "gray", "16 bits", "two", "four", "five", "tiny")
KEYS = (
    *("boxes", "labels", "label", "masks", "mask", "depth", "flow", "normals", "keypoints", "landmarks"),
    *("points", "polygons", "area", "size", "row"),
)


def boxes_of(form, corners):
    """Boxes in a format, from their corners."""
    sides = corners[:, 2:] - corners[:, :2]
    if form == "cxcywha":
        return np.concatenate([corners[:, :2] + sides / 2, sides, [[20.0], [-70.0], [0.0], [45.0]]], 1)
    return np.concatenate([corners[:, :2], sides], 1) if form == "xywh" else corners


def runs_of(mask):
    """The run lengths of a mask, as COCO has them."""
    pixels = np.concatenate([[False], mask.T.ravel(), [not mask[-1, -1]]])
    return {"size": list(mask.shape), "counts": np.diff(np.flatnonzero(np.diff(pixels)), prepend=0).tolist()}


def target_of(kind, size, index):
    """Targets of all kinds; some boxes and points end where the image does, or beyond."""
    height, width = size
    scale, shift = np.array([width, height]), 0.02 * index
    planes = np.stack([photograph(height, width, 3, seed=9 + index)[..., n] for n in range(3)])
    masks = np.stack([*planes, planes[2]]) > 99
    parts = np.array([[0.1, 0.1, 0.5, 0.6], [0.3, 0.35, 0.95, 0.9], [0.7, -0.2, 1.1, 0.4], [0, 0, 1, 1]])
    corners, points = (parts + shift) * np.tile(scale, 2), (POINTS - shift) * scale
    if kind == "arrays":  # whole pixels, and COCO's number of points
        corners, points = corners.round(), np.resize(points.round(), (17, 2))
        points[5:7] = [-0.5, -0.5], [width - 0.5, height - 0.5]
    people = np.stack([np.insert(points + n * 9, 2, 2.0, axis=1) for n in range(4)])
    polygons = [points[[0, 1, 4, 3]] + n * 6 for n in range(4)]
    if kind == "lists":  # of rings, of which one is COCO's
        polygons = [[(ring[:3] + 1).ravel().tolist(), ring] for ring in polygons]
    target = {
        **{"boxes": boxes_of(OPTIONS[kind].get("box_format"), corners), "labels": np.array([3, 5, 1, index])},
        **{"label": np.eye(4)[index], "masks": [*map(runs_of, masks)] if kind == "lists" else masks},
        **{"mask": planes[0] // 64, "depth": planes[1] / 16 + 1.0, "flow": planes[:2] / 32 - 3.0},
        **{"normals": planes / np.linalg.norm(planes + 1.0, axis=0), "keypoints": people},
        **{"landmarks": people[1, ::-1, :2] * 0.8, "points": (POINTS + shift) * scale},
        "polygons": polygons,
        **{"area": np.array([80.0, 300.0, 55.0, 9.0]), "size": [height, width], "row": np.arange(4) * 5},
    }
    if kind != "tensors":
        return target
    as_tensor = {name: value for name, value in target.items() if isinstance(value, np.ndarray)}
    return {**target, **{name: torch.from_numpy(value.copy()) for name, value in as_tensor.items()}}


def batch_of(kind):
    """Images and the transforms around the one that is recorded, and whether it is exact."""
    images = [photograph(*size, seed=index) for index, size in enumerate(SIZES)]
    if kind == "tensors":
        same = np.stack([photograph(*SIZES[0], seed=index) for index in range(len(SIZES))])
        return torch.from_numpy(same).permute(0, 3, 1, 2) / 255, SIZES[:1] * 2, lambda one: [CROP, one]
    if kind == "lists":
        return images, SIZES, lambda one: [one, FLIP, T.Pad((1, 4, 2, 3))]
    return ImageBatch.from_images(images), SIZES, lambda one: [one]


def mean_of(value):
    """The mean of all numbers of a result with weights; also of its shape."""
    if isinstance(value, ImageBatch):
        value = list(value)
    if isinstance(value, (list, tuple)):
        return sum((1 + index % 7) * mean_of(each) for index, each in enumerate(value)) + len(value)
    array = np.asarray(value.numpy(force=True) if isinstance(value, torch.Tensor) else value, np.float64)
    weights = 1 + np.arange(array.size) * 31 % 97
    total = (np.nan_to_num(array.ravel(), nan=-7.0) * weights).sum() / max(weights.sum(), 1)
    return total + sum((index + 2) * side for index, side in enumerate(array.shape))


def checksum_of(described):
    """A checksum of a text as a number, wherever the images are that it names."""
    text = re.sub(r"[^'\" ]*/(\w+\.png)", r"\1", str(described))
    return float(zlib.crc32(text.encode()) % 2**24)


def means_of(results):
    """The means of what a function gives, or a checksum of its refusal."""
    try:
        return list(map(mean_of, results()))
    except (TypeError, ValueError) as error:
        return [-checksum_of(error)]


def results_of(transform, kind):
    """The images, and the targets by `KEYS`."""
    images, sizes, around = batch_of(kind)
    targets = [target_of(kind, size, index) for index, size in enumerate(sizes)]
    for name in CANNOT.get(transform.name, ()):
        for target in targets:
            del target[name]
    first = [T.Resize((31, 37))] if transform.name in CANNOT else []  # mixes need images of one size
    transform = always(transform) if kind == "arrays" else transform
    options = T.TargetOptions(**OPTIONS[kind])
    pipeline = T.Compose(first + around(transform), 5, kind == "lists", target_options=options)
    if kind == "lists":  # by a stored plan
        plan = Plan.from_json(pipeline.plan(sizes, IDS, 1, targets=targets).to_json())
        targets = T.transform_targets(plan, targets, options)
        images = [*pipeline.apply(plan, images), checksum_of(plan)]
    else:
        images, targets = pipeline(images, targets, sample_ids=IDS, epoch=1)
    return [images, *([target.get(key, -1) for target in targets] for key in KEYS)]


def images_of(form):
    """Images of other dtypes and channels, and the clips of two samples, of three frames each."""
    frames = np.stack([photograph(*SIZES[1], seed=index) for index in range(6)])
    planes = torch.from_numpy(frames).permute(0, 3, 1, 2)
    return {
        "clips": planes.unflatten(0, (2, 3)),
        "gray": planes[:2, 1:2],
        "16 bits": [frames[0].astype(np.uint16) * 257, frames[1, 9:] * np.uint16(99)],
        "two": [frames[0, ..., :2], frames[1, :30, :, 1:]],
        "four": (torch.cat([planes[:2], planes[2:4, :1]], 1) / 255).half(),
        "five": torch.cat([planes[:2], planes[2:4, 1:]], 1),
        "tiny": [frames[0, :1, :1], frames[1, :2, :3]],
    }[form]


def images_after(transform, form, exact):
    """The images alone."""
    pipeline = T.Compose([FLIP, always(transform)], 6, exact=exact)
    return [pipeline(images_of(form), sample_ids=IDS, epoch=2)]


def numbers_of(name):
    """The numbers of a transform: of its default and its examples, for each kind of images and targets."""
    transforms = transforms_of(name)
    results = [partial(results_of, *case) for case in product(transforms, OPTIONS)]
    results += [partial(images_after, *case) for case in product(transforms, FORMS, (False, True))]
    return np.array([number for each in results for number in means_of(each)], np.float32)


def main():
    np.savez_compressed(PATH, **{name: numbers_of(name) for name in sorted(our_transforms())})


if __name__ == "__main__":
    main()
