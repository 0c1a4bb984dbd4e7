"""Samples in torchvision's form: tuples and dicts of images, targets and labels.

A list is a batch; a tuple or a dict is one sample, whose images share their random parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from orbbec.batch import ImageBatch
from orbbec.batch.collate import is_pil, sequence_like
from orbbec.bridge.arguments import holds_planes
from orbbec.transforms.base.clips import TARGET_KEYS, is_list_of_videos
from orbbec.transforms.base.tv_tensors import KEYS, is_target, is_tv_tensor

Visit = Callable[[Any], Any]


def is_structure(value: Any) -> bool:
    """Whether a value is a container of images, not an image."""
    if isinstance(value, (dict, tuple)):
        return True
    return isinstance(value, list) and not (all(map(_is_one_image, value)) or is_list_of_videos(value))


def _is_one_image(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.ndim in (2, 3) and not is_target(value)
    return is_pil(value)


def _is_image_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 3 and not is_target(value)


def images_of(structure: Any, names: Sequence[str] = ()) -> list[Any]:
    """The images of a structure, in order; `names` are those of further targets.

    These are every PIL image, `tv_tensors.Image`, `ImageBatch` and list of images; if there are none, the
    first tensor or array of three or more dimensions, as in torchvision.

    Raises:
        TypeError: there is no image.
        ValueError: it is a list of clips.
    """
    leaves = _leaves(structure, names=names)
    found = [leaf for leaf in leaves if _is_surely_images(leaf)]
    _refuse_lists_of_clips(structure)
    if not found:
        pixels = (leaf for leaf in leaves if isinstance(leaf, (Tensor, np.ndarray)))
        found = [leaf for leaf in pixels if leaf.ndim >= 3 and not is_tv_tensor(leaf)][:1]
    if not found:
        kinds = ", ".join(sorted({type(leaf).__name__ for leaf in leaves})) or "none"
        raise TypeError(
            f"Compose: expected an image in the {type(structure).__name__}: a PIL image, a tensor [C, H, W], "
            f"an array [H, W, C] or a batch, but found {kinds}"
        )
    return found


def _refuse_lists_of_clips(structure: Any) -> None:
    """Refuse a list of tensors `[T, C, H, W]`, of which only the first would be transformed."""
    if isinstance(structure, tuple) and structure:  # with targets
        return _refuse_lists_of_clips(structure[0])
    if not isinstance(structure, list) or not structure or not all(map(_is_plain_batch, structure)):
        return
    first, *others = [(each.dtype, each.shape[1 if isinstance(each, Tensor) else -1]) for each in structure]
    if first in others or len({len(each) for each in structure}) > 1:
        shapes = ", ".join(str(list(each.shape)) for each in structure[:4])
        raise ValueError(
            "Compose: expected a list of images, or of clips as tv_tensors.Video, but got a list of tensors "
            f"or arrays of shapes {shapes}; pass clips of one length as [N, T, C, H, W] or ClipBatch, and "
            "others one by one"
        )


def _is_plain_batch(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray)) and value.ndim >= 4 and not is_tv_tensor(value)


def named_images(structure: Any, names: Sequence[str]) -> list[Any]:
    """The images under some names of the dicts in a structure, in the order of the names.

    Raises:
        TypeError: there is no entry of a name, or there are several.
    """
    found: dict[str, list[Any]] = {name: [] for name in names}

    def visit(node: Any, key: Any = None) -> None:
        if key in found:
            found[key].append(node)
        elif isinstance(node, Mapping):
            for name, entry in node.items():
                visit(entry, name)
        elif isinstance(node, (tuple, list)):
            for entry in node:
                visit(entry)

    visit(structure)
    for name, entries in found.items():
        if len(entries) != 1:
            raise TypeError(f"Compose: expected 1 entry {name} in a sample, but got {len(entries)}")
    return [entries[0] for entries in found.values()]


def _leaves(node: Any, key: Any = None, names: Sequence[str] = ()) -> list[Any]:
    is_target_key = key in TARGET_KEYS or key in names
    if is_target_key or _is_surely_images(node):
        return [] if is_target_key else [node]
    if isinstance(node, Mapping):
        return [leaf for name, entry in node.items() for leaf in _leaves(entry, name, names)]
    if isinstance(node, (tuple, list)):
        return [leaf for entry in node for leaf in _leaves(entry, names=names)]
    return [node]


def _is_surely_images(value: Any) -> bool:
    if isinstance(value, list):
        is_images = len(value) > 0 and all(is_pil(one) or _is_image_tensor(one) for one in value)
        return is_images or is_list_of_videos(value)
    if is_tv_tensor(value):
        return type(value).__name__ in ("Image", "Video")
    return is_pil(value) or isinstance(value, ImageBatch) or holds_planes(value)


def targets_of(structure: Any, images: list[Any], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The dicts of a structure that contain boxes, masks, points or `names`, without the images."""
    found: list[dict[str, Any]] = []

    def visit(target: dict[str, Any]) -> dict[str, Any]:
        found.append(target)
        return target

    rebuilt(structure, {id(each): each for each in images}, visit, lambda value: value, names)
    return found


def are_targets(value: Any) -> bool:
    """Whether an argument is None or the targets of images, not the second part of a sample."""
    if value is None or isinstance(value, dict):
        return True
    first = value[0] if isinstance(value, (list, tuple)) and value else {}
    is_clip = isinstance(first, list) and len(first) > 0
    return isinstance(value, (list, tuple)) and isinstance(first[0] if is_clip else first, dict)


def targets_of_images(dicts: Sequence[dict[str, Any]], count: int) -> Sequence[dict[str, Any]] | None:
    """The targets for transforms that read them: one dict for each of `count` images, or None."""
    if not dicts:
        return None
    if count == 1:
        return [{key: value for target in reversed(dicts) for key, value in target.items()}]
    if len(dicts) != count:
        raise ValueError(f"Compose: expected {count} targets, one per image, but got {len(dicts)}")
    return dicts


def labels_of(structure: Any, count: int) -> Any:
    """The labels of a batch in a structure, or None.

    These are the entry "label" or "labels" of a dict, or else the first other tensor or array with a row per
    image, which must be the only one in a dict.

    Raises:
        ValueError: a dict has several, none of which is named so.
    """
    is_dict = isinstance(structure, Mapping)
    named = [structure[name] for name in ("label", "labels") if name in structure] if is_dict else []
    found = [leaf for leaf in named or _leaves(structure) if _has_rows(leaf, count)]
    if is_dict and len(found) > 1:
        raise ValueError(
            f"Compose: expected the labels of {count} images under label or labels, but got {len(found)} "
            "entries with a row per image"
        )
    return found[0] if found else None


def _has_rows(leaf: Any, count: int) -> bool:
    return isinstance(leaf, (Tensor, np.ndarray)) and leaf.ndim in (1, 2) and len(leaf) == count


def rebuilt(
    structure: Any, replaced: Mapping[int, Any], target: Visit, loose: Visit, names: Sequence[str] = ()
) -> Any:
    """The structure with replaced entries.

    Args:
        structure: tuples, named tuples, lists and dicts of anything.
        replaced: replacements of entries, by their `id`.
        target: gives the replacement of a dict with boxes, masks or points.
        loose: gives the replacement of a tv_tensor outside such a dict.
        names: those of further targets.
    """
    if id(structure) in replaced:
        return replaced[id(structure)]
    if is_target(structure):
        return loose(structure)
    if isinstance(structure, dict):
        return _rebuilt_dict(structure, replaced, target, loose, names)
    if isinstance(structure, (tuple, list)):
        return sequence_like(
            [rebuilt(entry, replaced, target, loose, names) for entry in structure], structure
        )
    return structure


def _rebuilt_dict(
    entries: dict[Any, Any], replaced: Mapping[int, Any], target: Visit, loose: Visit, names: Sequence[str]
) -> Any:
    result = copy.copy(entries)
    target_entries = {key: value for key, value in entries.items() if _goes_with_target(key, value, replaced)}
    if any(key in target_entries for key in (*TARGET_KEYS, *names)):
        result.update(target(target_entries))
    else:
        target_entries = {}
    for key, value in entries.items():
        if key not in target_entries:
            result[key] = rebuilt(value, replaced, target, loose, names)
    return result


def _goes_with_target(key: Any, value: Any, replaced: Mapping[int, Any]) -> bool:
    if is_target(value):
        return key in KEYS[type(value).__name__]
    return not isinstance(value, dict) and not any(id(leaf) in replaced for leaf in _leaves(value))
