"""The base class of transforms: arguments, parameters drawn per image, and the resulting steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import torch

from orbbec.bridge.arguments import Array, dtype_name
from orbbec.plan.build import Build
from orbbec.plan.external import trace
from orbbec.plan.parameters import Batch
from orbbec.plan.steps import BatchState, Step
from orbbec.plan.stream import Stream
from orbbec.transforms.base.arguments import Check, checks, checks_of
from orbbec.transforms.base.module import FrozenModule
from orbbec.transforms.base.pipeline import Pipeline
from orbbec.transforms.parity import Parity
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions


@dataclass(frozen=True)
class Transform(FrozenModule):
    """One augmentation. It draws parameters for each image of a batch and reads no pixels.

    To write a transform, define a frozen dataclass whose fields are its arguments, with `rules`, or with
    `sample` and `steps`, which take longer for each batch. Arguments are checked when it is constructed, and
    replaced by their checked form, as `_checks` says.
    Its docstring has a section `Raises` only if it raises more than the class it derives from.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range.
    """

    needs_targets: ClassVar[bool] = False
    crops_by_targets: ClassVar[bool] = False  # each image by its own, so that frames of a clip would differ
    others: ClassVar[int] = 0  # images that a mix reads for each
    makes_tensors: ClassVar[bool] = False  # for arrays and PIL images
    makes_pure: ClassVar[bool] = False  # for tv_tensors
    parity: ClassVar[tuple[Parity, ...]] = ()  # its references, for the list of transforms
    _checks_by_name: ClassVar[Mapping[str, Check]] = {}  # by name of the argument

    def __post_init__(self) -> None:
        op = self.name
        for name, check in self._checks_by_name.items():
            object.__setattr__(self, name, check(op, name, getattr(self, name)))

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def transform_count(self) -> int:
        """The number of random streams that it draws from."""
        return 1

    def forward(
        self,
        batch: Any,
        targets: Any = None,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        generator: torch.Generator | None = None,
        out: Any = None,
    ) -> Any:
        """Transform images, like `Compose` with this transform only.

        Example:
            >>> from orbbec.transforms import Resize
            >>> Resize((2, 3))(torch.zeros(3, 8, 8)).shape
            torch.Size([3, 2, 3])
        """
        return self._alone.forward(batch, targets, sample_ids, epoch, generator=generator, out=out)

    @cached_property
    def _alone(self) -> Pipeline:
        return Pipeline((self,), target_options=self.target_options(DEFAULT_OPTIONS))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._checks_by_name = checks_of(cls)
        if "rules" not in vars(cls) and not {"sample", "steps"}.isdisjoint(vars(cls)):
            cls.rules = Transform.rules  # type: ignore[method-assign]

    def rules(self, build: Build) -> None:
        """Add its rules to a program, once per pipeline. By default `sample` and `steps` draw every batch."""
        index, per_frame = build.stream, build.is_per_frame

        def draw(state: BatchState, batch: Batch, matrix: Array | None) -> Sequence[Step]:
            stream = Stream(batch.ids(per_frame), batch.seed, batch.epoch, index)
            if self.crops_by_targets and batch.frames > 1:
                raise ValueError(
                    f"{self.name}: expected images, since each is cropped by its targets, but got clips"
                )
            if self.needs_targets:
                if matrix is None:
                    raise ValueError(f"{self.name}: expected a position before images are mixed")
                targets = batch.targets or [{}] * len(state)
                return [self.draw_for(state, stream, targets, matrix)]
            return self.steps(self.sample(state.sizes, stream), state)

        trace(build, draw)

    def sample(self, sizes: Array, stream: Stream) -> Any:
        """Draw the parameters of each image.

        Args:
            sizes: int64 `[N, 2]`: height and width of the images in pixels.
            stream: the random numbers of these images at this position of the pipeline.

        Returns:
            A frozen dataclass of arrays with one row per image.
        """
        return None

    def steps(self, params: Any, state: BatchState) -> Sequence[Step]:
        """The steps that apply `params` to images in the state `state`; the same ones for every batch."""
        raise NotImplementedError(
            f"{self.name}: expected a class with rules, or with sample and steps; Lambda takes a function"
        )

    def draw_for(self, state: BatchState, stream: Stream, targets: Sequence[Any], matrix: Array) -> Step:
        """The step of a transform that reads targets; `matrix` maps current pixels to the targets'."""
        raise NotImplementedError

    def target_options(self, options: TargetOptions) -> TargetOptions:
        """The target options of a pipeline with this transform."""
        return options

    def to_dict(self) -> dict[str, Any]:
        """Name and arguments, ready for JSON and YAML."""
        return {
            "name": self.name,
            **{field.name: plain_value(getattr(self, field.name)) for field in fields(self)},
        }

    def _set(self, **values: Any) -> None:
        """Replace arguments by their checked form during construction."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class _KeepsPixels(Transform):
    """A transform that leaves the pixels unchanged."""

    def rules(self, build: Build) -> None:
        pass


class _Chance(Transform):
    """A transform that changes each image with probability `p`, a field of its subclasses."""

    p: float

    _checks = checks()


@dataclass(frozen=True)
class _EvenChance(_Chance):
    """A transform whose only argument is `p`, by default 0.5."""

    p: float = 0.5


def plain_value(value: Any) -> Any:
    """A value converted for JSON and YAML; NumPy's floats become floats."""
    if isinstance(value, Transform):
        return value.to_dict()
    if isinstance(value, (tuple, list)):
        return [plain_value(entry) for entry in value]
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    return float(value) if isinstance(value, float) else value
