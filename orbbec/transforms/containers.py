"""Containers of transforms that choose for each image."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.plain import is_number, is_sequence, listed, shown
from orbbec.plan.steps import BatchState
from orbbec.plan.stream import Stream
from orbbec.transforms.base.checks import flag, whole
from orbbec.transforms.base.transform import Drawn, Transform, state_after
from orbbec.transforms.targets.options import TargetOptions

_CONVERTERS = {"torchvision": "from_torchvision", "albumentations": "from_albumentations"}


def check_transforms(op: str, transforms: Any) -> tuple[Transform, ...]:
    """Check a sequence of at least one transform."""
    if convert := _CONVERTERS.get(_library_of(transforms)):
        given = f"{_library_of(transforms)}'s {type(transforms).__name__}"
        raise TypeError(
            f"{op}: expected orbbec transforms, but got {given}: use Compose.{convert} to convert it"
        )
    if not is_sequence(transforms) or not transforms:
        raise ValueError(
            f"{op}: expected transforms as a list of at least 1 entry, but got {shown(transforms)}"
        )
    for index, transform in enumerate(transforms):
        if isinstance(transform, Transform):
            continue
        given, convert = type(transform).__name__, _CONVERTERS.get(_library_of(transform))
        kind = f"{_library_of(transform)}'s {given}: use Compose.{convert}" if convert else f"a {given}"
        raise TypeError(f"{op}: expected orbbec transforms, but transform {index} is {kind}")
    return tuple(transforms)


def _library_of(step: object) -> str:
    return type(step).__module__.partition(".")[0]


def options_of(transforms: Sequence[Transform], given: TargetOptions) -> TargetOptions:
    """The target options of a pipeline with some transforms."""
    for transform in transforms:
        given = transform.target_options(given)
    return given


@dataclass(frozen=True)
class _Container(Transform):
    """A transform of transforms.

    Raises:
        TypeError: an entry is not a transform, or an argument has a wrong type.
        ValueError: there is no transform, or an argument is out of range.
    """

    transforms: Sequence[Transform]

    def __post_init__(self) -> None:
        self._set(transforms=check_transforms(self.name, self.transforms))
        for transform in self.transforms:
            if transform.needs_targets:
                raise ValueError(
                    f"{self.name}: {transform.name} reads targets and must be placed directly in a Compose"
                )

    @property
    def transform_count(self) -> int:
        return 1 + sum(transform.transform_count for transform in self.transforms)

    def target_options(self, given: TargetOptions) -> TargetOptions:
        return options_of(self.transforms, given)


def only(transform: Transform, chosen: Array, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
    """The steps of a transform for the chosen images."""
    kept = []
    for name, index, step in transform.draw(state.only(chosen), streams):
        kept.append(Drawn(name, index, step.only(chosen, state)))
        state = kept[-1].step.after(state)
    return kept


def _in_turn(
    transforms: Sequence[Transform], masks: Iterable[Array], state: BatchState, streams: Iterator[Stream]
) -> list[Drawn]:
    """The steps of transforms in order, each for the images of its mask."""
    drawn: list[Drawn] = []
    for transform, chosen in zip(transforms, masks, strict=True):
        steps = only(transform, chosen, state, streams)
        state = state_after(state, steps)
        drawn += steps
    return drawn


def _rounds(which: Array, count: int) -> list[Array]:
    """For each position of `which` `[N, P]`, the transforms of each image as bool `[N, count]`."""
    return [which[:, position, None] == np.arange(count) for position in range(which.shape[1])]


def _in_rounds(
    transforms: Sequence[Transform],
    rounds: Sequence[Array],
    state: BatchState,
    streams: Iterator[Stream],
    anew: bool = False,
) -> list[Drawn]:
    """The steps of each round, for the images chosen in it.

    Args:
        transforms: K transforms.
        rounds: bool `[N, K]` per round; without `anew`, an image gets a transform in at most one round.
        state: the batch state.
        streams: streams of the transforms; with `anew`, new ones for each round.
        anew: draw new numbers in each round.
    """
    drawn: list[Drawn] = []
    count, own = sum(transform.transform_count for transform in transforms), list[Stream]()
    for chosen in rounds:
        if anew or not own:
            own = list(islice(streams, count))
        steps = _in_turn(transforms, chosen.T, state, iter([stream.again() for stream in own]))
        state = state_after(state, steps)
        drawn += steps
    return drawn


@dataclass(frozen=True)
class RandomApply(_Container):
    """Apply a list of transforms to each image with probability `p`.

    Args:
        transforms: applied in order, all or none.
        p: probability, from 0 to 1.

    Source:
        `torchvision.transforms.v2.RandomApply`, which decides once per batch.

    Example:
        >>> from orbbec.transforms import RandomInvert
        >>> images = torch.zeros(6, 1, 1, 1, dtype=torch.uint8)
        >>> RandomApply([RandomInvert(p=1.0)], p=0.5)(images, epoch=0).flatten().tolist()
        [0, 0, 255, 0, 255, 255]
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("p")

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        chosen = next(streams).chance(self.p)
        return _in_turn(self.transforms, [chosen] * len(self.transforms), state, streams)


@dataclass(frozen=True)
class RandomChoice(_Container):
    """Apply one of several transforms to each image.

    Args:
        transforms: the candidates.
        p: weight of each candidate, normalized to probabilities; None: equal weights.

    Source:
        `torchvision.transforms.v2.RandomChoice`.

    Example:
        >>> from orbbec.transforms import RandomInvert, RandomSolarize
        >>> images = torch.full((6, 1, 1, 1), 100, dtype=torch.uint8)
        >>> choice = RandomChoice([RandomInvert(p=1.0), RandomSolarize(200, p=1.0)])
        >>> choice(images, epoch=0).flatten().tolist()
        [100, 100, 155, 100, 155, 155]
    """

    p: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p is None:
            return
        weights = listed(self.p) or []
        good = all(is_number(weight) and weight >= 0 for weight in weights) and sum(weights) > 0
        if not good or len(weights) != len(self.transforms):
            raise ValueError(
                f"{self.name}: expected p as {len(self.transforms)} numbers of at least 0, but got "
                f"{shown(self.p)}"
            )
        self._set(p=tuple(weight / sum(weights) for weight in map(float, weights)))

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        number = next(streams).uniforms(1)[:, 0]
        weights = self.p or [1 / len(self.transforms)] * len(self.transforms)
        which = np.searchsorted(np.cumsum(weights)[:-1], number, side="right")
        masks = [which == index for index in range(len(self.transforms))]
        return _in_turn(self.transforms, masks, state, streams)


@dataclass(frozen=True)
class SomeOf(_Container):
    """Apply some of several transforms to each image.

    Args:
        transforms: K candidates. Candidates that do not fuse cost up to K passes, or `n` times as many with
            `replace` or `shuffle`.
        n: number of transforms per image, from 1 to K; at least 1 with `replace`.
        replace: whether an image may get a transform more than once, with new parameters each time.
        shuffle: apply them in random order; False: in the order of the list.

    Source:
        `SomeOf` and `RandomOrder` of Albumentations.

    Example:
        >>> from orbbec.transforms import RandomInvert, RandomSolarize
        >>> images = torch.full((6, 1, 1, 1), 100, dtype=torch.uint8)
        >>> some = SomeOf([RandomInvert(p=1.0), RandomSolarize(200, p=1.0)], n=1)
        >>> some(images, epoch=0).flatten().tolist()
        [155, 100, 155, 100, 155, 155]
    """

    n: int = 1
    replace: bool = False
    shuffle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(replace=flag(self.name, "replace", self.replace))
        self._set(shuffle=flag(self.name, "shuffle", self.shuffle))
        self._set(n=whole(self.name, "n", self.n, 1, math.inf if self.replace else len(self.transforms)))

    @property
    def transform_count(self) -> int:
        own = sum(transform.transform_count for transform in self.transforms)
        return 1 + own * (self.n if self.replace else 1)

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        stream, count = next(streams), len(self.transforms)
        if self.replace:
            which = (stream.uniforms(self.n) * count).astype(np.int64)
        else:
            which = stream.permutation(count)[:, : self.n]
        if not self.shuffle:
            which = np.sort(which, axis=1)
        if not self.shuffle and not self.replace:
            chosen = (which[:, :, None] == np.arange(count)).any(1)
            return _in_rounds(self.transforms, [chosen], state, streams)
        return _in_rounds(self.transforms, _rounds(which, count), state, streams, anew=self.replace)


@dataclass(frozen=True)
class RandomOrder(_Container):
    """Apply all of several transforms, each image in its own order.

    Args:
        transforms: K transforms, each drawn once per image. Transforms that do not fuse cost K times the
            passes.

    Source:
        `torchvision.transforms.v2.RandomOrder`.

    Example:
        >>> from orbbec.transforms import RandomInvert, RandomSolarize
        >>> images = torch.full((6, 1, 1, 1), 200, dtype=torch.uint8)
        >>> order = RandomOrder([RandomInvert(p=1.0), RandomSolarize(128, p=1.0)])
        >>> order(images, epoch=0).flatten().tolist()
        [55, 200, 55, 200, 55, 55]
    """

    def draw(self, state: BatchState, streams: Iterator[Stream]) -> list[Drawn]:
        count = len(self.transforms)
        order = next(streams).permutation(count)
        return _in_rounds(self.transforms, _rounds(order, count), state, streams)
