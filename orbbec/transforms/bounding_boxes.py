"""torchvision's transforms of boxes alone, which say here what becomes of targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from orbbec.plan.steps import Frame, Step
from orbbec.plan.template import Row
from orbbec.transforms.checks import number
from orbbec.transforms.target_options import TargetOptions
from orbbec.transforms.transform import Transform


@dataclass(frozen=True)
class _OfTargets(Transform):
    """Leaves the pixels as they are."""

    def steps(self, params: Any, frame: Frame) -> list[Step]:
        return []

    def coordinates(self) -> Row:
        return ()


@dataclass(frozen=True)
class SanitizeBoundingBoxes(_OfTargets):
    """Drop small boxes with all that is in their row: sets `min_size` and `min_area` of `target_options`.

    Boxes are dropped wherever it stands in the pipeline, as soon as they are too small.

    Args:
        min_size: of the sides, in pixels.
        min_area: in square pixels.
        labels_getter: "default" or None: what is in the row of a box is found by its length.

    Source:
        `torchvision.transforms.v2.SanitizeBoundingBoxes`.
    """

    min_size: float = 1.0
    min_area: float = 1.0
    labels_getter: str | None = "default"

    def __post_init__(self) -> None:
        self._set(
            min_size=number(self.name, "min_size", self.min_size, 0.0),
            min_area=number(self.name, "min_area", self.min_area, 0.0),
        )
        if self.labels_getter not in ("default", None):
            raise ValueError(
                f'{self.name}: expected labels_getter as "default" or None, but got {self.labels_getter!r}'
            )

    def target_options(self, given: TargetOptions) -> TargetOptions:
        return replace(given, min_size=self.min_size, min_area=self.min_area)


@dataclass(frozen=True)
class ClampBoundingBoxes(_OfTargets):
    """Clip boxes to the image, which every pipeline does.

    Source:
        `torchvision.transforms.v2.ClampBoundingBoxes`.
    """


@dataclass(frozen=True)
class ConvertBoundingBoxFormat(_OfTargets):
    """Say that boxes are in the format "xyxy", which they are unless their target says otherwise.

    Args:
        format: "XYXY", as a name or torchvision's enumeration.

    Source:
        `torchvision.transforms.v2.ConvertBoundingBoxFormat`, which converts to any format.
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
