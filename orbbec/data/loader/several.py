"""Samples of several images in a loader: each is decoded as an image, and planned with those of its name.

The images of a batch are in order of their names: all that are "left", then all that are "right".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orbbec.data.loader.entries import Opened
from orbbec.data.sample import BadSample, Sample


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedImage(Sample):
    """One of several images of the sample `whole`, with its targets."""

    name: str
    whole: Sample


def named_images(sample: Sample, images: dict[str, Any]) -> list[NamedImage]:
    """The images of a sample; the first has the targets of the sample too."""
    if not images:
        raise BadSample(sample.sample_id, sample.path, "the sample has no images")
    first, *others = (
        _named(sample, name, image, name == next(iter(images))) for name, image in images.items()
    )
    for other in others:
        if other.targets and other.name in first.targets:
            reason = f"expected targets of {first.name} of other names than images, but got {other.name}"
            raise BadSample(sample.sample_id, sample.path, reason)
    return [first, *others]


def _named(whole: Sample, name: str, image: Any, is_first: bool) -> NamedImage:
    sample = image if isinstance(image, Sample) else Sample(image)
    if isinstance(sample.data, (tuple, dict)):
        raise TypeError(f"Loader: expected one image as {name} of sample {whole.sample_id}, but got several")
    targets = {**sample.targets, **whole.targets} if is_first else sample.targets
    path = sample.path or (f"{whole.path} ({name})" if whole.path else name)
    return NamedImage(sample.data, targets, whole.sample_id, path, sample.size, name=name, whole=whole)


def names_in(opened: Sequence[Opened]) -> tuple[str, ...]:
    """The names of the images of a sample, from the first of them; none if it is one image or a clip."""
    sample = opened[0].sample if opened else None
    images: Any = sample.whole.data if isinstance(sample, NamedImage) else ()
    return tuple(images)


def in_order(groups: Sequence[list[Opened]]) -> list[Opened]:
    """The images of all samples: one sample after the other or, of several images, one name after the other.

    Raises:
        ValueError: a sample has images of other names than the first.
    """
    names = names_in(groups[0]) if groups else ()
    for group in groups:
        if names_in(group) != names:
            first, sample = groups[0][0].sample, group[0].sample
            raise ValueError(
                f"Loader: expected {_described(names)}, as sample {first.sample_id} has, "
                f"but sample {sample.sample_id} has {_described(names_in(group))}"
            )
    if names:
        groups = list(map(list, zip(*groups, strict=True)))
    return [entry for group in groups for entry in group]


def _described(names: Sequence[str]) -> str:
    return f"images {', '.join(names)}" if names else "one image without a name"


def by_sample(entries: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
    """The images of each sample, from those in order of their names."""
    count = len(entries) // len(names)
    return [[*entries[n::count]] for n in range(count)]


def rows_of_names(names: Sequence[str], count: int) -> dict[str, slice]:
    """The rows of each name in a batch of `count` images."""
    length = count // len(names)
    return {name: slice(n * length, (n + 1) * length) for n, name in enumerate(names)}


def check_names(transforms: Any, names: Sequence[str]) -> None:
    """Refuse a pipeline that names other images, or another first one, whose targets all images follow.

    Raises:
        ValueError: its names are others; the message has both.
    """
    expected = tuple(getattr(transforms, "images", ()))
    if expected and expected != tuple(names):
        text = f"as Compose(images={list(expected)}) has, but got {_described(names)}"
        raise ValueError(f"expected {_described(expected)}, {text}")


def planned_by_name(
    opened: Sequence[Opened],
    names: Sequence[str],
    plan: Callable[..., Any],
) -> tuple[dict[str, Any], Any]:
    """A plan per name, and the transformed targets of each sample, or of each view of it.

    `plan` gives the plan and the targets of images. Transforms read the targets `seen`, which are those of
    the first name, so that all images of a sample are drawn alike.
    """
    rows = {name: opened[where] for name, where in rows_of_names(names, len(opened)).items()}
    seen = [entry.sample.targets for entry in rows[names[0]]]
    planned = {name: plan(entries, seen=seen) for name, entries in rows.items()}
    targets = {name: each.targets for name, each in planned.items()}
    return {name: each.plan for name, each in planned.items()}, _together(targets)


def _together(targets: dict[str, Any]) -> Any:
    """The targets of the first name, with those of each other name as a dict, if it has any."""
    first, *others = targets
    if isinstance(targets[first], tuple):  # of each view
        views = [dict(zip(targets, view, strict=True)) for view in zip(*targets.values(), strict=True)]
        return tuple(map(_together, views))
    return [
        {**target, **{name: targets[name][n] for name in others if targets[name][n]}}
        for n, target in enumerate(targets[first])
    ]
