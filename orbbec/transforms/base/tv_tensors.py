"""torchvision's tv_tensors in, tv_tensors out. torchvision itself is not imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.batch.collate import is_pil, sequence_like
from orbbec.plan.batches import as_list
from orbbec.transforms.targets.options import TargetOptions

KEYS = {
    "BoundingBoxes": ("boxes",),
    "Mask": ("mask", "masks", "depth"),
    "KeyPoints": ("keypoints", "landmarks"),
}
_PLAIN = {Tensor, np.ndarray, int, float, str, type(None)}  # the other types may be tv_tensors or PIL images
_FORMATS = {
    **{"XYXY": "xyxy", "XYWH": "xywh", "CXCYWH": "cxcywh"},
    **{"XYWHR": "xywha", "CXCYWHR": "cxcywha", "XYXYXYXY": "xyxyxyxy"},
}


def is_tv_tensor(value: Any) -> bool:
    """Whether a value is a tv_tensor."""
    module = sys.modules.get("torchvision.tv_tensors")
    return module is not None and isinstance(value, module.TVTensor)


def is_video(value: Any) -> bool:
    """Whether a value is a `torchvision.tv_tensors.Video`, whose frames share their random parameters."""
    return is_tv_tensor(value) and type(value).__name__ == "Video"


def is_target(value: Any) -> bool:
    """Whether a value is a tv_tensor of boxes, masks or points."""
    return is_tv_tensor(value) and type(value).__name__ in KEYS


def is_mask(value: Any) -> bool:
    """Whether a value is a `tv_tensors.Mask`."""
    return is_target(value) and type(value).__name__ == "Mask"


def name_of(value: Any) -> str:
    """The key of a tv_tensor in a target."""
    kind = type(value).__name__
    return "masks" if kind == "Mask" and value.ndim == 3 else KEYS[kind][0]


def plain(value: Any) -> Any:
    """Convert tv_tensors, also in lists and tuples, to tensors; anything else is unchanged."""
    if isinstance(value, (list, tuple)):
        entries = [plain(entry) for entry in value]
        is_plain = all(new is old for new, old in zip(entries, value, strict=True))
        return value if is_plain else sequence_like(entries, value)
    return value.as_subclass(Tensor) if is_tv_tensor(value) else value


def images_like(images: Any, originals: Any) -> Any:
    """Results as tv_tensors if the images were tv_tensors."""
    like = originals[0] if isinstance(originals, (list, tuple)) and originals else originals
    if not is_tv_tensor(like):
        return images
    if isinstance(images, Tensor):
        return wrapped(images, like)
    return [wrapped(each, like) for each in as_list(images)]


def plain_target(
    index: int, target: Any, options: TargetOptions, size: Sequence[int]
) -> tuple[dict[str, Any], TargetOptions]:
    """The target of image `index` as tensors, and options with the format of its boxes.

    Raises:
        TypeError: the target is not a dict.
        ValueError: a tv_tensor is under a wrong key, or has a canvas of another size than the image, or boxes
            have an unknown format.
    """
    if not isinstance(target, dict):
        raise TypeError(f"transform_targets: expected dicts, but target {index} is a {type(target).__name__}")
    if _PLAIN.issuperset(map(type, target.values())):
        return target, options
    others = {key: value for key, value in target.items() if type(value) not in _PLAIN}
    for key, value in others.items():
        kind = type(value).__name__
        if is_tv_tensor(value) and key not in KEYS.get(kind, ()):
            names = " or ".join(KEYS.get(kind, ())) or "no name"
            raise ValueError(
                f"transform_targets: expected {kind} under {names}, but image {index} has it under {key}"
            )
        canvas = list(getattr(value, "canvas_size", size))
        if canvas != list(size):
            raise ValueError(
                f"transform_targets: expected {kind} with canvas_size {list(size)}, as image {index} is, "
                f"but got {canvas}"
            )
    boxes: Any = others.get("boxes")
    if is_tv_tensor(boxes):
        name = format_of("transform_targets", boxes.format, f"image {index} has")
        options = replace(options, box_format=name)
    others = {key: np.asarray(value) if is_pil(value) else plain(value) for key, value in others.items()}
    return {**target, **others}, options


def format_of(op: str, format: Any, verb: str = "got") -> str:
    """The name of a box format, given as torchvision's enumeration or as a name.

    Raises:
        ValueError: the format is unknown.
    """
    name = str(getattr(format, "name", format)).upper()
    if name not in _FORMATS:
        raise ValueError(f"{op}: expected boxes as one of {', '.join(_FORMATS)}, but {verb} {name}")
    return _FORMATS[name]


def target_like(target: dict[str, Any], original: dict[str, Any], size: tuple[int, int]) -> dict[str, Any]:
    """Restore tv_tensors and PIL images of a target, on a canvas of `size` (height, width)."""
    others = [key for key, value in original.items() if type(value) not in _PLAIN and key in target]
    if not others:
        return target
    return {**target, **{key: _entry_like(target[key], original[key], size) for key in others}}


def _entry_like(value: Any, original: Any, size: tuple[int, int]) -> Any:
    if is_tv_tensor(original):
        return wrapped(value, original, canvas_size=size)
    return _mask_like(value, original) if is_pil(original) else value


def _mask_like(pixels: Any, original: Any) -> Any:
    mask = sys.modules["PIL.Image"].fromarray(pixels)
    if original.mode == "P":
        mask.putpalette(original.getpalette())
    return mask


def wrapped(value: Tensor, like: Any, **metadata: Any) -> Any:
    """A tensor as a tv_tensor of the class of `like`."""
    return sys.modules["torchvision.tv_tensors"].wrap(value, like=like, **metadata)
