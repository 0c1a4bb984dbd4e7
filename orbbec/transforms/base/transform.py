"""The base class of transforms: arguments, parameters drawn per image, and the resulting steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch

from orbbec.bridge.arguments import Array, dtype_name
from orbbec.plan.steps import BatchState, Step
from orbbec.plan.stream import Stream
from orbbec.plan.template import Row
from orbbec.transforms.base.checks import STANDARD
from orbbec.transforms.base.module import FrozenModule
from orbbec.transforms.base.pipeline import Pipeline
from orbbec.transforms.parity import Parity
from orbbec.transforms.targets.options import TargetOptions


class Drawn(NamedTuple):
    """A step of a pipeline, with the transform and the index that it comes from."""

    name: str
    transform_index: int
    step: Step


@dataclass(frozen=True)
class Transform(FrozenModule):
    """One augmentation. It draws parameters for each image of a batch and reads no pixels.

    To write a transform, define a frozen dataclass with `sample` and `steps`; its fields are its arguments.
    Its docstring has a section `Raises` only if it raises more than the class it derives from.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range.
    """

    needs_targets: ClassVar[bool] = False
    makes_tensors: ClassVar[bool] = False  # for arrays and PIL images
    makes_pure: ClassVar[bool] = False  # for tv_tensors
    parity: ClassVar[tuple[Parity, ...]] = ()  # its references; those of PARITY are not repeated

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
    ) -> Any:
        """Transform images, like `Compose` with this transform only.

        Example:
            >>> from orbbec.transforms import Resize
            >>> Resize((2, 3))(torch.zeros(3, 8, 8)).shape
            torch.Size([3, 2, 3])
        """
        return self._alone.forward(batch, targets, sample_ids, epoch, generator=generator)

    @cached_property
    def _alone(self) -> Pipeline:
        return Pipeline((self,), target_options=self.target_options(TargetOptions()))

    def sample(self, sizes: Array, stream: Stream) -> Any:
        """Draw the parameters of each image.

        Args:
            sizes: int64 `[N, 2]`: height and width of the images in pixels.
            stream: the random numbers of these images at this position of the pipeline.

        Returns:
            A frozen dataclass of arrays with one row per image.
        """
        return None

    def steps(self, params: Any, state: BatchState) -> list[Step]:
        """The steps that apply `params` to images in the state `state`."""
        raise NotImplementedError

    def coordinates(self) -> Row | None:
        """The row from which `draw_coordinates` draws the same parameters faster; None if it cannot."""
        return None

    def target_options(self, given: TargetOptions) -> TargetOptions:
        """The target options of a pipeline with this transform."""
        return given

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        """The steps for a batch; consumes its streams from `streams`."""
        stream = next(streams)
        params = self.sample(state.sizes, stream)
        return [Drawn(self.name, stream.transform_index, step) for step in self.steps(params, state)]

    def draw_for(
        self,
        state: BatchState,
        streams: Iterator[Stream],
        targets: Sequence[Any] | None,
        matrix: Array | None,
    ) -> list[Drawn]:
        """The steps of a transform that reads targets; `matrix` maps current pixels to the targets'."""
        raise NotImplementedError

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

    def _check(self, *names: str) -> None:
        """Check arguments that mean the same in every transform, and replace them by their checked form."""
        for name in names:
            self._set(**{name: STANDARD[name](self.name, name, getattr(self, name))})


@dataclass(frozen=True)
class _KeepsPixels(Transform):
    """A transform that leaves the pixels unchanged."""

    def steps(self, params: Any, state: BatchState) -> list[Step]:
        return []

    def coordinates(self) -> Row:
        return ()


@dataclass(frozen=True, eq=False)
class Chosen:
    """A mask of the images that are changed: bool `[N]`."""

    chosen: Array


class _Chance(Transform):
    """A transform that changes each image with probability `p`, a field of its subclasses."""

    p: float

    def __post_init__(self) -> None:
        self._check("p")

    def sample(self, sizes: Array, stream: Stream) -> Any:
        return Chosen(stream.chance(self.p))


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


def state_after(state: BatchState, drawn: list[Drawn]) -> BatchState:
    """The batch state after steps."""
    for entry in drawn:
        state = entry.step.after(state)
    return state
