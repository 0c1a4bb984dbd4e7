"""torchvision's box transforms. They set options for targets and leave the pixels unchanged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from orbbec.transforms.base.arguments import at_least, checks
from orbbec.transforms.base.transform import _KeepsPixels
from orbbec.transforms.targets.options import TargetOptions


@dataclass(frozen=True)
class SanitizeBoundingBoxes(_KeepsPixels):
    """Drop small boxes and their rows in other targets: sets `min_size` and `min_area` of `target_options`.

    Boxes are clipped to the image before they are measured. The position in the pipeline does not matter, nor
    does that in a container such as `RandomApply`: boxes are dropped as soon as they are too small.

    Args:
        min_size: smallest side in pixels.
        min_area: smallest area in square pixels.
        labels_getter: "default" or None: what belongs to boxes is known by its name, see `TargetOptions`.

    Source:
        `torchvision.transforms.v2.ClampBoundingBoxes`, then `SanitizeBoundingBoxes`, which alone drops boxes
        that leave the image.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> pipeline = Compose([RandomHorizontalFlip(p=1.0), SanitizeBoundingBoxes(min_size=2)])
        >>> boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 8, 1]])
        >>> _, kept = pipeline(torch.zeros(3, 8, 8), {"boxes": boxes})
        >>> kept["boxes"].tolist()
        [[4.0, 0.0, 8.0, 4.0]]
    """

    min_size: float = 1.0
    min_area: float = 1.0
    labels_getter: str | None = "default"

    _checks = checks(min_size=at_least(0.0), min_area=at_least(0.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels_getter is not None and not (
            isinstance(self.labels_getter, str) and self.labels_getter == "default"
        ):
            raise ValueError(
                f'{self.name}: expected labels_getter as "default" or None, but got {self.labels_getter!r}; '
                "TargetOptions(per_box=...) names further entries with one row per box"
            )

    def target_options(self, options: TargetOptions) -> TargetOptions:
        return replace(options, min_size=self.min_size, min_area=self.min_area, drop_boxes=True)


@dataclass(frozen=True)
class ClampBoundingBoxes(_KeepsPixels):
    """Clip boxes to the image. Every pipeline does this anyway.

    Source:
        `torchvision.transforms.v2.ClampBoundingBoxes`.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> pipeline = Compose([RandomHorizontalFlip(p=1.0), ClampBoundingBoxes()])
        >>> _, clipped = pipeline(torch.zeros(3, 8, 8), {"boxes": torch.tensor([[-2.0, 1, 4, 9]])})
        >>> clipped["boxes"].tolist()
        [[4.0, 1.0, 8.0, 8.0]]
    """


@dataclass(frozen=True)
class ConvertBoundingBoxFormat(_KeepsPixels):
    """State that boxes have the format "xyxy", the default for targets without a format.

    Args:
        format: "XYXY", as a name or torchvision's enumeration.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: the format is not XYXY.

    Source:
        `torchvision.transforms.v2.ConvertBoundingBoxFormat`, which converts to any format.

    Example:
        >>> ConvertBoundingBoxFormat("xyxy").format
        'XYXY'
    """

    format: Any = "XYXY"

    def __post_init__(self) -> None:
        name = str(getattr(self.format, "name", self.format)).upper()
        if name != "XYXY":
            raise ValueError(
                f"{self.name}: expected format XYXY, since boxes keep the format of the target, "
                f"but got {name}; convert them where targets are read"
            )
        self._set(format=name)
