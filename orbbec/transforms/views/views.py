"""Several views of each image, for self-supervised training and for cameras that share parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from orbbec.plan.build import Build
from orbbec.transforms.base.checks import Range, Size, flag, size_pair, whole
from orbbec.transforms.base.inputs import read
from orbbec.transforms.base.module import FrozenModule
from orbbec.transforms.base.seeds import new_seed
from orbbec.transforms.base.structures import images_of, is_structure
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.compose import Compose
from orbbec.transforms.convert.torchvision import split_at_crops
from orbbec.transforms.fits import Crop
from orbbec.transforms.geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions


@dataclass(frozen=True)
class _Streams(Transform):
    """Leaves out random streams, so that the transforms of a view do not draw what those of another do."""

    count: int

    @property
    def transform_count(self) -> int:
        return self.count

    def rules(self, build: Build) -> None:
        build.streams += self.count - 1


@dataclass(frozen=True)
class MultiView(FrozenModule):
    """Several views of each image: each has random parameters of its own, and some may be shared.

    A view is what a `Compose` of the shared transforms and of its own gives. The first view is exactly that
    of `Compose([*shared, *views[0]], seed)`, and a view does not depend on those after it.

    Args:
        views: the transforms of each view.
        shared: transforms before them, whose parameters all views of an image share, such as a crop.
        seed: see `Compose`.
        exact: see `Compose`.
        target_options: see `Compose`.

    Raises:
        TypeError: an entry is not a transform, or an argument has a wrong type.
        ValueError: there is no view, a view has no transforms, or an argument is out of range.

    Example:
        >>> from orbbec.transforms import ColorJitter, RandomHorizontalFlip, RandomResizedCrop
        >>> crop = [RandomResizedCrop(8), RandomHorizontalFlip()]
        >>> views = MultiView([[ColorJitter(0.4)], [ColorJitter(0.4)]], shared=crop)
        >>> one, other = views(torch.rand(4, 3, 16, 16))
        >>> one.shape, bool(torch.equal(one, other))
        (torch.Size([4, 3, 8, 8]), False)
    """

    views: Sequence[Sequence[Transform]]
    shared: Sequence[Transform] = ()
    seed: int = 0
    exact: bool = False
    target_options: TargetOptions = DEFAULT_OPTIONS
    _pipelines: tuple[Compose, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.views, (str, torch.nn.Module)) or not len(self.views):
            raise ValueError("MultiView: expected views as a list of at least 1 list of transforms")
        pipelines: list[Compose] = []
        streams = 0
        for view in self.views:
            gap = [_Streams(streams)] if streams else []
            transforms = [*self.shared, *gap, *view]
            pipelines.append(Compose(transforms, self.seed, self.exact, self.target_options))
            streams += sum(transform.transform_count for transform in view)
        # Tuples, for a hash: torch asks for one where it visits modules.
        object.__setattr__(self, "views", tuple(map(tuple, self.views)))
        object.__setattr__(self, "shared", tuple(self.shared))
        object.__setattr__(self, "_pipelines", tuple(pipelines))

    @staticmethod
    def from_torchvision(compose: Any, *, seed: int = 0) -> MultiView:
        """Convert a torchvision pipeline with one `FiveCrop` or `TenCrop`, not within a container.

        Transforms before the crops are shared. Those after them draw parameters for each view, where
        torchvision's v2 draws once for all.

        Args:
            compose: see `Compose.from_torchvision`. Functions of tuples, such as `Lambda(torch.stack)`, have
                no counterpart: views are a list.
            seed: see `Compose`.

        Raises:
            ValueError: there is no such step, or several; or a step has no counterpart.

        Source:
            torchvision 0.25 to 0.28.

        Example:
            >>> MultiView.from_torchvision([])
            Traceback (most recent call last):
            ValueError: MultiView: expected a pipeline with one FiveCrop or TenCrop, but got 0
        """
        crop, shared, then, options = split_at_crops(compose)
        is_five = type(crop).__name__ == "FiveCrop"
        crops = _corners(crop.size) if is_five else _mirrored(crop.size, crop.vertical_flip)
        return MultiView([[*each, *then] for each in crops], shared, seed, target_options=options)

    @property
    def pipelines(self) -> tuple[Compose, ...]:
        """The pipeline of each view."""
        return self._pipelines

    def forward(
        self,
        batch: Any,
        targets: Any = None,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> list[Any]:
        """The views, in order, each as `Compose` returns it; the arguments are those of `Compose`."""
        if sample_ids is None and (epoch is None or generator is not None):
            images = images_of(batch, self.target_options.dense)[0] if is_structure(batch) else batch
            count = len(read(images).sizes)
            sample_ids = new_seed(generator) % 2**62 + np.arange(count)
        elif generator is not None:
            raise ValueError("MultiView: expected a generator only without sample_ids")
        return [pipeline(batch, targets, sample_ids, epoch) for pipeline in self._pipelines]


class MultiCrop(MultiView):
    """Large and small crops of each image: the views of DINO.

    Args:
        global_: number of large crops.
        local: number of small crops.
        global_size: of the large crops in pixels: (height, width), or one side.
        local_size: of the small crops.
        global_scale: range of the fraction of the area that a large crop covers.
        local_scale: the same for small crops.
        interpolation: of the crops.
        then: transforms of each view after its crop.
        seed: see `Compose`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range.

    Source:
        DINOv2 (Oquab et al., 2023): 2 crops of 224 and 8 of 98 pixels, cut at 0.32 of the area.

    Example:
        >>> views = MultiCrop(global_=2, local=3, global_size=16, local_size=8)(torch.rand(4, 3, 32, 32))
        >>> [tuple(view.shape[2:]) for view in views]
        [(16, 16), (16, 16), (8, 8), (8, 8), (8, 8)]
    """

    def __init__(
        self,
        *,
        global_: int = 2,
        local: int = 8,
        global_size: Size = 224,
        local_size: Size = 98,
        global_scale: Range = (0.32, 1.0),
        local_scale: Range = (0.05, 0.32),
        interpolation: str = "cubic",
        then: Sequence[Transform] = (),
        seed: int = 0,
    ) -> None:
        large = RandomResizedCrop(global_size, global_scale, interpolation=interpolation)
        small = RandomResizedCrop(local_size, local_scale, interpolation=interpolation)
        counts = (whole("MultiCrop", name, n, 0) for name, n in (("global_", global_), ("local", local)))
        crops = [crop for crop, count in zip((large, small), counts, strict=True) for _ in range(count)]
        super().__init__([[crop, *then] for crop in crops], seed=seed)


def _corners(size: Size) -> list[list[Transform]]:
    """Crops of the top left, top right, bottom left and bottom right corners, and of the center."""
    height, width = size_pair("FiveCrop", "size", size)
    across, down = RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)
    flips: list[list[Transform]] = [[], [across], [down], [across, down]]
    corners: list[list[Transform]] = [[*each, Crop(0, 0, height, width), *each] for each in flips]
    return [*corners, [CenterCrop((height, width))]]


def _mirrored(size: Size, vertical_flip: bool) -> list[list[Transform]]:
    """Those crops, and those of the flipped image."""
    crops, is_vertical = _corners(size), flag("TenCrop", "vertical_flip", vertical_flip)
    flip = RandomVerticalFlip(1.0) if is_vertical else RandomHorizontalFlip(1.0)
    return [*crops, *([flip, *crop] for crop in crops)]


class FiveCrop(MultiView):
    """The crops of the four corners and of the center of each image.

    In this order: top left, top right, bottom left, bottom right, center. Images must not be smaller.

    Args:
        size: of the crops in pixels: (height, width), or one side.
        shared: transforms before the crops.
        then: transforms of each view after its crop.
        seed: see `Compose`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; in a call, an image is smaller than `size`.

    Source:
        `torchvision.transforms.v2.FiveCrop`, which does not take boxes, masks and points.

    Example:
        >>> image = torch.arange(9, dtype=torch.uint8).reshape(1, 3, 3)
        >>> [view.flatten().tolist() for view in FiveCrop(1)(image)]
        [[0], [2], [6], [8], [4]]
    """

    def __init__(
        self,
        size: Size,
        *,
        shared: Sequence[Transform] = (),
        then: Sequence[Transform] = (),
        seed: int = 0,
    ) -> None:
        super().__init__([[*crop, *then] for crop in _corners(size)], shared, seed)


class TenCrop(MultiView):
    """The crops of `FiveCrop`, and those of the flipped image.

    Args:
        size: see `FiveCrop`.
        vertical_flip: flip vertically, not horizontally.
        shared: see `FiveCrop`.
        then: see `FiveCrop`.
        seed: see `Compose`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; in a call, an image is smaller than `size`.

    Source:
        `torchvision.transforms.v2.TenCrop`, which does not take boxes, masks and points.

    Example:
        >>> image = torch.arange(9, dtype=torch.uint8).reshape(1, 3, 3)
        >>> [view.flatten().tolist() for view in TenCrop(1)(image)]
        [[0], [2], [6], [8], [4], [2], [0], [8], [6], [4]]
    """

    def __init__(
        self,
        size: Size,
        vertical_flip: bool = False,
        *,
        shared: Sequence[Transform] = (),
        then: Sequence[Transform] = (),
        seed: int = 0,
    ) -> None:
        super().__init__([[*crop, *then] for crop in _mirrored(size, vertical_flip)], shared, seed)
