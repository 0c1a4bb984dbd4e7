"""The format of targets, and how they are treated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from orbbec.transforms.base.arguments import at_least, checks, checks_of
from orbbec.transforms.base.checks import choice, names, number
from orbbec.transforms.targets.dense import DENSE_KINDS
from orbbec.transforms.targets.pairs import pairs_of
from orbbec.transforms.targets.per_box import PER_BOX_KEYS

ROTATED = {"cxcywha": 5, "xywha": 5, "xyxyxyxy": 8}  # numbers of a box; else 4
BOX_FORMATS = ("xyxy", "xywh", "cxcywh", *ROTATED, "xyxyn", "cxcywhn")
_OF_IMAGE = {"boxes", "mask", "size", *DENSE_KINDS}
_KNOWN = (*_OF_IMAGE, *PER_BOX_KEYS, "keypoints", "landmarks")


@dataclass(frozen=True)
class TargetOptions:
    """The format of targets, and which of them are dropped.

    The targets of an image are a dict of arrays or tensors:

    - `boxes` `[K, 4]`, `[K, 5]` or `[K, 8]` in `box_format`. Upright boxes become the bounding boxes of their
      four corners, clipped to the image. "xyxyxyxy" is exact under every affine matrix; a flip swaps its
      corners, so that their order around the box is preserved. "cxcywha" and "xywha", which has the corner
      that is top left before rotation, are exact under translations, rotations, flips and uniform scaling;
      otherwise the box becomes the rectangle of equal area whose sides are nearest, by least squares, to
      those of the parallelogram. Negative sides are an error. "xyxyn" and "cxcywhn" are "xyxy" and "cxcywh"
      divided by the width and height of the image, and are returned relative to the size of the output.
    - `masks` `[K, H, W]` and `mask` `[H, W]`: they read the same pixels as an image with nearest
      interpolation. `masks` may be a list of K run lengths of COCO, `{"size": [H, W], "counts": ...}`,
      compressed or not, which become uint8 of 0 and 1.
    - `depth` `[H, W]` or `[..., H, W]`, `flow` `[2, H, W]`, `normals` `[3, H, W]`, and names in the options
      called so: read at the pixels of masks, so that NaN and infinity stay what they are. Depth keeps its
      values, unless `depth_scale`. Vectors are (x, y) or (x, y, z) in the axes of the image: x to the right,
      y down. `flow`, in pixels, becomes the vector from where the pixel goes to where its other end goes: the
      linear part of an affine transform times the vector; exact under perspectives and displacements too, if
      both images of the flow get the same transform. `normals` rotate in the plane of the image, are mirrored
      with it, and keep their length; a shear or unequal zoom tilts them as it tilts the surface. Under a
      perspective or a displacement, normals and `depth_scale` take the linear part at each pixel. Where there
      is no image, vectors are 0.
    - `keypoints`, `landmarks` `[P, 2]`, `[P, 3]`, `[K, P, 2]` or `[K, P, 3]`: pixel centers (x, y), and a
      visibility that becomes 0 outside the image.
    - `polygons`: a list of K arrays or tensors `[P, 2]`, whose coordinates are those of edges, like those of
      boxes; clipped to the image. Or a list of K lists of these, the rings of an object, such as its parts
      and holes. A ring may also be COCO's list [x0, y0, x1, ...], which becomes an array `[P, 2]`. All rings
      are kept, in order: one outside the image, or behind the viewer of a perspective, is empty; one that
      crosses itself or has no area is clipped like any other.
    - `area` `[K]`: scaled by the change in the number of mask pixels or, without `masks`, by the scale at the
      center of the box and its visible fraction.
    - `size`: becomes the new (height, width).
    - `labels`, `label_ids`, `class_labels`, `class_ids`, `category_ids`, `scores`, `confidence`, `iscrowd`,
      `is_crowd`, `difficult`, `truncated`, `occluded`, `visibility`, `track_ids`, `instance_ids` and names in
      `per_box`: arrays, lists or tuples of K entries. Like `masks`, `polygons`, `area` and points of boxes,
      they lose the rows of dropped boxes; another length than that of `boxes` is an error.
    - Anything else belongs to the image and is unchanged.

    Numbers keep their dtype: integers are rounded once, at the end, half to even (torchvision truncates).
    Pass boxes as floats to keep fractions.

    `torchvision.tv_tensors` under these names keep their class, and boxes their own format.

    Args:
        box_format: "xyxy" (Pascal VOC, torchvision), "xywh" (COCO), "cxcywh", "cxcywha", "xywha", "xyxyxyxy",
            "xyxyn" (Albumentations), or "cxcywhn" (label files of YOLO; ultralytics calls it xywhn).
        min_size: boxes with a side below this, in pixels, are dropped.
        min_visibility: boxes whose visible fraction is below this are dropped, from 0 to 1.
        mask_fill: value of masks outside the image.
        drop_boxes: False keeps all boxes, as torchvision does until `SanitizeBoundingBoxes`; boxes outside
            the image have no area.
        min_area: boxes whose visible area is below this, in square pixels, are dropped.
        drop_keypoints: True drops `keypoints` and `landmarks` `[P, 2]` and `[P, 3]` outside the image; those
            of boxes are kept.
        per_box: names of further entries with one row per box.
        keypoint_pairs: pairs of indices of `keypoints` and `landmarks`, such as left and right eye, that
            are exchanged whenever an image is mirrored: by a flip, a transpose, or a matrix of negative
            determinant, not by rotations. Or "coco" for its 17 keypoints. Not with `drop_keypoints`, which
            changes indices.
        depth: names of further entries like `depth`, such as the depth of a second sensor.
        flow: names of further entries like `flow`.
        normals: names of further entries like `normals`.
        depth_fill: value of depth outside the image.
        depth_scale: True divides depth by the zoom of the transform, the root of the change of areas: what a
            camera of the same focal length in pixels would measure. Any zoom counts, that of `Resize` too.
            Depth must be floats then.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: a format is unknown, or a number is out of range.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose
        >>> crop = Compose([CenterCrop(4)], target_options=TargetOptions("xywh", min_visibility=0.5))
        >>> _, moved = crop(torch.zeros(3, 8, 8), {"boxes": torch.tensor([[1.0, 2, 5, 4], [0, 0, 3, 3]])})
        >>> moved["boxes"].tolist()
        [[0.0, 0.0, 4.0, 4.0]]
    """

    box_format: str = "xyxy"
    min_size: float = 1.0
    min_visibility: float = 0.0
    mask_fill: float = 0.0
    drop_boxes: bool = True
    min_area: float = 0.0
    drop_keypoints: bool = False
    per_box: Sequence[str] = ()
    keypoint_pairs: Sequence[Sequence[int]] | str = ()
    depth: Sequence[str] = ()
    flow: Sequence[str] = ()
    normals: Sequence[str] = ()
    depth_fill: float = 0.0
    depth_scale: bool = False
    kinds: dict[str, str] = field(init=False, repr=False, compare=False)  # of `DENSE_KINDS`, by name
    limits: list[float] = field(init=False, repr=False, compare=False)  # of `move_boxes`
    rows: frozenset[str] = field(init=False, repr=False, compare=False)  # entries with one row per box

    _checks = checks(
        box_format=partial(choice, known=BOX_FORMATS),
        min_size=at_least(0.0),
        min_visibility=(0.0, 1.0),
        min_area=at_least(0.0),
        keypoint_pairs=pairs_of,
        **dict.fromkeys(("mask_fill", "depth_fill"), number),
        **dict.fromkeys(("per_box", *DENSE_KINDS), names),
    )

    def __post_init__(self) -> None:
        op = "TargetOptions"
        for name, check in _CHECKS.items():
            object.__setattr__(self, name, check(op, name, getattr(self, name)))
        if not _OF_IMAGE.isdisjoint(self.per_box):
            raise ValueError(
                f"{op}: expected per_box without {', '.join(sorted(_OF_IMAGE))}, but got {self.per_box}"
            )
        dense = {kind: getattr(self, kind) for kind in DENSE_KINDS}
        _check_names(op, self.per_box, dense)
        if self.keypoint_pairs and self.drop_keypoints:
            raise ValueError(f"{op}: expected keypoint_pairs or drop_keypoints, but got both")
        kinds = {name: kind for kind in DENSE_KINDS for name in (kind, *dense[kind])}
        limits = [self.min_visibility, self.min_size, self.min_area] if self.drop_boxes else []
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "limits", limits)
        object.__setattr__(self, "rows", frozenset((*PER_BOX_KEYS, *self.per_box)))

    def kind_of(self, key: str) -> str:
        """Which of `DENSE_KINDS` an entry is; "": none."""
        return self.kinds.get(key, "")

    @property
    def dense(self) -> tuple[str, ...]:
        """The names of further depth, flow and normals."""
        return (*self.depth, *self.flow, *self.normals)


def _check_names(op: str, per_box: Sequence[str], dense: Mapping[str, Sequence[str]]) -> None:
    """Refuse names that stand for two things."""
    every = [*per_box, *_KNOWN, *(name for several in dense.values() for name in several)]
    for kind, several in dense.items():
        for name in several:
            if every.count(name) > 1:
                raise ValueError(f"{op}: expected {kind} without {name}, which is another target")


_CHECKS = checks_of(TargetOptions)
DEFAULT_OPTIONS = TargetOptions()
