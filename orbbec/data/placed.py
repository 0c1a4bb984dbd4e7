"""Targets that lie on an image must be those of an image of its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from orbbec.data.decode.decode import image_size
from orbbec.data.files import ColumnTargets
from orbbec.data.sample import Sample
from orbbec.transforms.targets.dense import DENSE_KINDS

_MASKS = ("masks", "mask", *DENSE_KINDS)
PLACED = frozenset(("boxes", "keypoints", "landmarks", "polygons", *_MASKS))


def are_placed(targets: Sequence[dict[str, Any]], names: Sequence[str] = ()) -> bool:
    """Whether any of the targets lies on its image; `names` are further ones that do.

    Example:
        >>> are_placed([{"label": 3}, {"label": 3, "boxes": []}])
        True
    """
    keys: Any = [targets.columns] if isinstance(targets, ColumnTargets) else targets
    return not all(map((PLACED | set(names)).isdisjoint, keys))


def check_placed(sample: Sample, size: tuple[int, int]) -> None:
    """Refuse targets of an image if the decoded size (height, width) is another than that of theirs.

    Example:
        >>> check_placed(Sample(b"...", {"boxes": []}, size=(40, 60)), (60, 40))
        Traceback (most recent call last):
        ValueError: expected an image of size [40, 60], as annotated, but got [60, 40]
    """
    declared = size if sample.size is None else tuple(sample.size)
    if declared != size and not PLACED.isdisjoint(sample.targets):
        cause = _cause(sample, declared)
        raise ValueError(
            f"expected an image of size {list(declared)}, as annotated, but got {list(size)}{cause}"
        )
    for name in _MASKS:
        shape = tuple(getattr(sample.targets.get(name), "shape", ()))
        if len(shape) > 1 and math.prod(shape) and shape[-2:] != size:
            raise ValueError(f"expected {name} of size {list(size)}, as the image, but got {list(shape)}")


def _cause(sample: Sample, declared: tuple[int, ...]) -> str:
    """Why the decoded size is another, if the declared one is that of the stored image."""
    if isinstance(sample.data, bytes):
        with suppress(ValueError):  # no image
            if image_size(sample.data, apply_exif_orientation=False) == declared:
                return ": the file has an EXIF orientation; Decoding(apply_exif_orientation=False) ignores it"
    return ""
