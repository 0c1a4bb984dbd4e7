"""Containers of transforms that choose for each image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from orbbec.bridge.plain import is_number, is_sequence, listed, shown
from orbbec.plan.build import Build
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import whole
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.targets.options import TargetOptions

_MAX_ROUNDS = 64  # each has rules of its own
_INSTEAD = {
    "OnDevice": ": use its pipeline",
    "Pipeline": ": use Compose.from_torchvision instead of ot.convert",
}
_CONVERTERS = {"torchvision": "from_torchvision", "albumentations": "from_albumentations"}


def check_transforms(op: str, transforms: Any) -> tuple[Transform, ...]:
    """Check a sequence of at least one transform."""
    if convert := _CONVERTERS.get(_library_of(transforms)):
        kind_name = f"{_library_of(transforms)}'s {type(transforms).__name__}"
        raise TypeError(
            f"{op}: expected orbbec transforms, but got {kind_name}: use Compose.{convert} to convert it"
        )
    if not is_sequence(transforms) or not transforms:
        got = f"{shown(transforms):.80}{_INSTEAD.get(type(transforms).__name__, '')}"
        raise ValueError(f"{op}: expected transforms as a list of at least 1 entry, but got {got}")
    for index, transform in enumerate(transforms):
        if isinstance(transform, Transform):
            if type(transform).forward is not Transform.forward:
                raise TypeError(
                    f"{op}: expected transforms with rules, or with sample and steps, but transform "
                    f"{index}, {transform.name}, has a forward, which no pipeline calls; Lambda takes a "
                    "function"
                )
            continue
        kind_name, convert = type(transform).__name__, _CONVERTERS.get(_library_of(transform))
        kind = (
            f"{_library_of(transform)}'s {kind_name}: use Compose.{convert}" if convert else f"a {kind_name}"
        )
        if hasattr(transform, "target_options") and hasattr(transform, "transforms"):
            kind += ": put its transforms into the list, *compose.transforms"
        raise TypeError(f"{op}: expected orbbec transforms, but transform {index} is {kind}")
    return tuple(transforms)


def _library_of(step: object) -> str:
    return type(step).__module__.partition(".")[0]


def options_of(transforms: Sequence[Transform], options: TargetOptions) -> TargetOptions:
    """The target options of a pipeline with some transforms."""
    for transform in transforms:
        options = transform.target_options(options)
    return options


@dataclass(frozen=True)
class _Container(Transform):
    """A transform of transforms.

    Raises:
        TypeError: an entry is not a transform, or an argument has a wrong type.
        ValueError: there is no transform, or an argument is out of range.
    """

    transforms: Sequence[Transform]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(transforms=check_transforms(self.name, self.transforms))
        for transform in self.transforms:
            if transform.needs_targets:
                raise ValueError(
                    f"{self.name}: {transform.name} reads targets and must be placed directly in a Compose"
                )

    @property
    def transform_count(self) -> int:
        return 1 + sum(transform.transform_count for transform in self.transforms)

    def target_options(self, options: TargetOptions) -> TargetOptions:
        return options_of(self.transforms, options)


def in_turn(build: Build, transforms: Sequence[Transform], chosen: Sequence[int]) -> None:
    """Add transforms in order, each for the images where its register is not 0."""
    for transform, register in zip(transforms, chosen, strict=True):
        with build.only(register):
            build.transform(transform)


def in_rounds(
    build: Build, transforms: Sequence[Transform], which: int, rounds: int, anew: bool = False
) -> None:
    """Add transforms in several rounds.

    Args:
        build: the program.
        transforms: in order.
        which: the first of the registers of the index that an image takes, one per round.
        rounds: their number.
        anew: draw new numbers in each round.
    """
    first = build.streams
    for number in range(rounds):
        build.streams = build.streams if anew else first
        chosen = [build.equal(which + number, index) for index in range(len(transforms))]
        in_turn(build, transforms, chosen)


@dataclass(frozen=True)
class RandomApply(_Container):
    """Apply a list of transforms to each image with probability `p`.

    Args:
        transforms: applied in order, all or none.
        p: probability, from 0 to 1.
        epochs: (first, end): only from the first epoch to before `end`; None: in all. A call without an epoch
            counts as epoch 0.

    Source:
        `torchvision.transforms.v2.RandomApply`, which decides once per batch.

    Example:
        >>> from orbbec.transforms import RandomInvert
        >>> images = torch.zeros(6, 1, 1, 1, dtype=torch.uint8)
        >>> RandomApply([RandomInvert(p=1.0)], p=0.5)(images, epoch=0).flatten().tolist()
        [0, 0, 255, 0, 255, 255]
    """

    p: float = 0.5
    epochs: tuple[int, int] | None = field(default=None, kw_only=True)

    _checks = checks()

    def rules(self, build: Build) -> None:
        within = build.within_epochs(build.chance(self.p), self.epochs)
        assert within is not None
        with build.only(within):
            for transform in self.transforms:
                build.transform(transform)


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
        if self.p is not None:
            self._set(p=_probabilities(self, "p", self.p))

    def rules(self, build: Build) -> None:
        weights = self.p or [1 / len(self.transforms)] * len(self.transforms)
        which = build.choice(list(accumulate(weights)))
        in_turn(build, self.transforms, [build.equal(which, index) for index in range(len(self.transforms))])


@dataclass(frozen=True)
class SomeOf(_Container):
    """Apply some of several transforms to each image.

    Args:
        transforms: K candidates. Candidates that do not fuse cost up to K passes, or `n` times as many with
            `replace` or `shuffle`.
        n: number of transforms per image, from 1 to K; up to 64 with `replace`.
        replace: whether an image may get a transform more than once, with new parameters each time.
        shuffle: apply them in random order; False: in the order of the list.
        weights: weight of each candidate, at least 0: an image gets one after the other with a probability in
            proportion to it, among those left; None: equal weights.

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
    weights: Sequence[float] | None = None

    _checks = checks()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(n=whole(self.name, "n", self.n, 1, _MAX_ROUNDS if self.replace else len(self.transforms)))
        if self.weights is not None:
            self._set(weights=_probabilities(self, "weights", self.weights))
            possible = sum(weight > 0 for weight in self.weights)
            if not self.replace and possible < self.n:
                raise ValueError(f"{self.name}: expected {self.n} weights above 0, but got {possible}")

    @property
    def transform_count(self) -> int:
        count = sum(transform.transform_count for transform in self.transforms)
        return 1 + count * (self.n if self.replace else 1)

    def rules(self, build: Build) -> None:
        count = len(self.transforms)
        if self.replace:
            which = build.consecutive([self._one(build, count) for _ in range(self.n)])
        elif self.weights is None:
            which = build.permutation(count)
        else:
            which = build.order(self.weights)
        if not self.shuffle and not self.replace:
            chosen = [build.compute("any_equal", which, self.n, index) for index in range(count)]
            in_turn(build, self.transforms, chosen)
            return
        if not self.shuffle:
            build.sort(which, self.n)
        in_rounds(build, self.transforms, which, self.n, anew=self.replace)

    def _one(self, build: Build, count: int) -> int:
        return build.whole(0, count) if self.weights is None else build.choice(list(accumulate(self.weights)))


def _probabilities(transform: _Container, name: str, value: Any) -> tuple[float, ...]:
    """Weights of the candidates of a container, whose sum becomes 1."""
    weights = listed(value) or []
    good = all(is_number(weight) and weight >= 0 for weight in weights) and sum(weights) > 0
    if not good or len(weights) != len(transform.transforms):
        expected = f"{name} as {len(transform.transforms)} numbers of at least 0"
        raise ValueError(f"{transform.name}: expected {expected}, but got {shown(value)}")
    return tuple(weight / sum(weights) for weight in map(float, weights))


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

    def rules(self, build: Build) -> None:
        count = len(self.transforms)
        in_rounds(build, self.transforms, build.permutation(count), count)


@dataclass(frozen=True)
class PerFrame(_Container):
    """Draw the parameters of transforms for each frame of a clip; elsewhere frames share them.

    Args:
        transforms: applied in order. Crops and resizes must give all frames of a clip one size.

    Source:
        `consistent_transform=False` of SAM 2's color jitter.

    Example:
        >>> from orbbec.transforms import RandomInvert
        >>> clip = torch.zeros(1, 6, 1, 1, 1, dtype=torch.uint8)  # [N, T, C, H, W]
        >>> PerFrame([RandomInvert()])(clip, epoch=0).flatten().tolist()
        [0, 255, 255, 0, 255, 255]
        >>> RandomInvert()(clip, epoch=0).flatten().tolist()
        [0, 0, 0, 0, 0, 0]
    """

    def rules(self, build: Build) -> None:
        with build.per_frame():
            for transform in self.transforms:
                build.transform(transform)
