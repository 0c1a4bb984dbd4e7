"""Compose: a pipeline of transforms, planned for a batch and applied in as few passes as possible."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from orbbec.transforms.base.checks import flag, names, whole
from orbbec.transforms.base.optional import optional
from orbbec.transforms.base.pipeline import Pipeline
from orbbec.transforms.base.registry import check_arguments, transform_of
from orbbec.transforms.base.seeds import LARGEST_SEED
from orbbec.transforms.base.transform import Transform, plain_value
from orbbec.transforms.bounding_boxes import ClampBoundingBoxes
from orbbec.transforms.containers import check_transforms, options_of
from orbbec.transforms.convert.albumentations import from_albumentations
from orbbec.transforms.convert.torchvision import from_torchvision
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions

_MAX_TRANSFORMS = 65536
_NOTHING = (ClampBoundingBoxes(),)  # of steps that do nothing, such as torch.nn.Identity and NoOp


@dataclass(frozen=True)
class Compose(Pipeline):
    """Apply transforms in order, with new random parameters for each image.

    Without sample ids and epoch, each call draws new parameters from torch's generator:
    `torch.manual_seed` makes them repeatable, and workers of a `DataLoader` differ. With sample ids or an
    epoch, the result of an image depends only on seed, epoch, sample id and pipeline, and not on batch
    size, order, workers or device. `MixUp`, `CutMix`, `CopyPaste` and `Mosaic`
    also read other images of the batch.

    Args:
        transforms: transforms of `orbbec.transforms`, in order.
        seed: from 0 to 2^63 - 1; used for draws by sample id and epoch.
        exact: round after every transform, so that each gives the bytes that it gives alone. False: fuse
            transforms and round once per pass.
        target_options: how boxes, masks and points are treated.
        images: names of the entries of a sample that are images, such as those of two cameras. They share
            their random parameters, and may differ in size, dtype and kind; targets are those of the first.
            Empty: every image that is known to be one, see `forward`.

    Raises:
        TypeError: an entry is not a transform, or an argument has a wrong type.
        ValueError: there is no transform, or an argument is out of range.

    Example:
        >>> from orbbec.transforms import RandomHorizontalFlip
        >>> flip = Compose([RandomHorizontalFlip(p=1.0)], seed=1)
        >>> print(flip.plan([(4, 6)], epoch=0))
        Plan of 1 image of 4x6, uint8, 3 channels; seed 1, epoch 0
         1. augment -> 4x6 uint8 (nearest, border replicate)
            holds RandomHorizontalFlip
    """

    transforms: Sequence[Transform]
    seed: int = 0
    exact: bool = False
    target_options: TargetOptions = DEFAULT_OPTIONS
    images: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "transforms", check_transforms("Compose", self.transforms))
        object.__setattr__(self, "seed", whole("Compose", "seed", self.seed, 0, LARGEST_SEED))
        object.__setattr__(self, "exact", flag("Compose", "exact", self.exact))
        object.__setattr__(self, "images", names("Compose", "images", self.images))
        if not isinstance(self.target_options, TargetOptions):
            raise TypeError(
                f"Compose: expected target_options as TargetOptions, but got {self.target_options!r}"
            )
        object.__setattr__(self, "target_options", options_of(self.transforms, self.target_options))
        if sum(transform.transform_count for transform in self.transforms) > _MAX_TRANSFORMS:
            raise ValueError(f"Compose: expected at most {_MAX_TRANSFORMS} transforms")
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """The pipeline as names and arguments."""
        content: dict[str, Any] = {"transforms": [transform.to_dict() for transform in self.transforms]}
        options = {
            option.name: plain_value(getattr(self.target_options, option.name))
            for option in fields(TargetOptions)
            if option.init and getattr(self.target_options, option.name) != option.default
        }
        return (
            content
            | {"seed": self.seed, "exact": self.exact}
            | ({"target_options": options} if options else {})
            | ({"images": list(self.images)} if self.images else {})
        )

    @classmethod
    def from_dict(cls, content: Any) -> Compose:
        """Build a pipeline from the result of `to_dict`.

        Raises:
            TypeError: an argument has a wrong type.
            ValueError: a transform or argument is unknown, missing or invalid.
        """
        if not isinstance(content, dict) or not isinstance(content.get("transforms"), list):
            raise ValueError("Compose: expected a dict with a list of transforms")
        check_arguments(cls, content)
        options = content.get("target_options", {})
        if not isinstance(options, dict):
            raise ValueError(f"Compose: expected target_options as a dict, but got {options!r}")
        check_arguments(TargetOptions, options)
        transforms = [transform_of(entry) for entry in content["transforms"]]
        return cls(**content | {"transforms": transforms, "target_options": TargetOptions(**options)})

    def to_json(self) -> str:
        """The pipeline as JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Compose:
        """Build a pipeline from the result of `to_json`."""
        return cls.from_dict(json.loads(text))

    def to_yaml(self) -> str:
        """The pipeline as YAML; needs the package pyyaml."""
        return str(optional("Compose.to_yaml", "yaml", "pyyaml").safe_dump(self.to_dict(), sort_keys=False))

    @classmethod
    def from_yaml(cls, text: str) -> Compose:
        """Build a pipeline from the result of `to_yaml`; needs the package pyyaml."""
        return cls.from_dict(optional("Compose.from_yaml", "yaml", "pyyaml").safe_load(text))

    @classmethod
    def from_torchvision(cls, compose: Any, *, seed: int = 0, exact: bool = False) -> Compose:
        """Convert a torchvision pipeline. Parameters are drawn per image.

        `SanitizeBoundingBoxes` sets `min_size` of `target_options`. A resize by `NEAREST` or `NEAREST_EXACT`
        reads the same pixels as torchvision, except where torch's float32 positions round a whole number
        down (2 of 10,000 positions, none when a side is halved). Masks read the same pixels as an image
        resized with nearest. `fill` of masks becomes `mask_fill` of `target_options`.
        `ConvertBoundingBoxFormat` to XYXY is dropped: boxes keep the format of their target.

        Args:
            compose: `Compose` of `torchvision.transforms` or `torchvision.transforms.v2`, or a
                `torch.nn.Sequential` or list of their transforms, or one transform. Classes and attributes
                are looked up by name; torchvision is not imported.
            seed: see `Compose`.
            exact: see `Compose`.

        Raises:
            ValueError: a step has no counterpart; the message names the step and its position.

        Source:
            torchvision 0.25 to 0.28.

        Example:
            >>> Compose.from_torchvision(torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU()))
            Traceback (most recent call last):
            orbbec.transforms.convert.ConversionError: from_torchvision: step 1, ReLU, has no counterpart
        """
        transforms, options = from_torchvision(compose)
        return cls(transforms or _NOTHING, seed, exact, options)

    @classmethod
    def from_albumentations(cls, compose: Any, *, seed: int = 0, exact: bool = False) -> Compose:
        """Convert an Albumentations pipeline.

        A step is converted if a transform here has the same distribution of parameters, and refused
        otherwise; the message names the nearest transform. Shifts and center crops may be one pixel off
        because of rounding. Values differ by up to 4 levels, and by up to 14 levels near the border for
        AlbumentationsX's `GaussianBlur`. `bbox_params` and `keypoint_params` become `target_options`.

        Args:
            compose: `albumentations.Compose`, or one transform. Classes and attributes are looked up by name.
            seed: see `Compose`.
            exact: see `Compose`.

        Raises:
            ValueError: a step or one of its arguments has no counterpart; the message names the step and its
                position.

        Source:
            Albumentations 2.0.8, AlbumentationsX 2.5.1.

        Example:
            >>> Compose.from_albumentations([torch.nn.ReLU()])
            Traceback (most recent call last):
            orbbec.transforms.convert.ConversionError: from_albumentations: step 0, ReLU, has no counterpart
        """
        transforms, options = from_albumentations(compose)
        return cls(transforms or _NOTHING, seed, exact, options)
