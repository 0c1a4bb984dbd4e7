"""What targets look like, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass

from orbbec.transforms.base.checks import choice, flag, number

BOX_FORMATS = ("xyxy", "xywh", "cxcywh", "cxcywha", "xyxyxyxy", "xyxyn", "cxcywhn")


@dataclass(frozen=True)
class TargetOptions:
    """What becomes of targets.

    The targets of an image are a dict of arrays or tensors:

    - `boxes` `[K, 4]`, `[K, 5]` or `[K, 8]` in `box_format`: upright ones by their four corners, and clipped;
      "xyxyxyxy" stays exact under every affine matrix; a mirror swaps its corners, so that they go round as
      before. "cxcywha" stays exact under shifts, rotations, flips and scales that are the same along x and y;
      a parallelogram becomes the rectangle of its area whose sides are nearest to its own, by least squares.
      Sides below 0 are refused. "xyxyn" and "cxcywhn" are "xyxy" and "cxcywh" relative to the image: x by its
      width, y by its height, from 0 to 1. They come back relative to the size of the output.
    - `masks` `[K, H, W]` and `mask` `[H, W]`: the pixels that a nearest image takes, else the nearest.
    - `keypoints`, `landmarks` `[P, 2]`, `[P, 3]`, `[K, P, 2]` or `[K, P, 3]`: pixel positions (x, y), and a
      visibility that becomes 0 outside of the image.
    - `polygons`: a list of K arrays or tensors `[P, 2]`, clipped.
    - `area` `[K]`: multiplied by what the pixels of its mask become, or, without `masks`, by the scale at the
      middle of its box and the fraction of the box that is left.
    - `size`: the new (height, width).
    - anything else is kept. Values with one row per box lose the rows of dropped boxes, except `image_id`,
      `orig_size` and `size`, which are of the image.

    Numbers keep their dtype: those of whole numbers are rounded, halves to even (torchvision cuts fractions
    off), once, at the end; give boxes as floats to keep what lies between.

    `torchvision.tv_tensors` under these names stay what they are, boxes in their own format.

    Args:
        box_format: "xyxy" (Pascal VOC, torchvision), "xywh" (COCO), "cxcywh", "cxcywha", "xyxyxyxy", "xyxyn"
            (Albumentations' own), or "cxcywhn" (label files of YOLO; ultralytics calls it xywhn).
        min_size: boxes with a side below this, in pixels, are dropped.
        min_visibility: boxes of which a smaller fraction than this is left inside are dropped, from 0 to 1.
        mask_fill: of masks, outside of an image.
        drop_boxes: False keeps all boxes, as torchvision does until `SanitizeBoundingBoxes`; those of which
            nothing is left have no area.
        min_area: boxes of which less than this is left, in square pixels, are dropped.
        drop_keypoints: True drops `keypoints` and `landmarks` `[P, 2]` and `[P, 3]` that leave the image;
            those of boxes stay.
    """

    box_format: str = "xyxy"
    min_size: float = 1.0
    min_visibility: float = 0.0
    mask_fill: float = 0.0
    drop_boxes: bool = True
    min_area: float = 0.0
    drop_keypoints: bool = False

    def __post_init__(self) -> None:
        choice("TargetOptions", "box_format", self.box_format, BOX_FORMATS)
        number("TargetOptions", "min_size", self.min_size, 0.0)
        number("TargetOptions", "min_visibility", self.min_visibility, 0.0, 1.0)
        number("TargetOptions", "mask_fill", self.mask_fill)
        number("TargetOptions", "min_area", self.min_area, 0.0)
        flag("TargetOptions", "drop_boxes", self.drop_boxes)
        flag("TargetOptions", "drop_keypoints", self.drop_keypoints)
