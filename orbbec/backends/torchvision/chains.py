"""Chains of torchvision as chains of ours, with the steps between that have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch

from orbbec.batch import ImageBatch
from orbbec.transforms import Compose
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.convert_torchvision import from_torchvision


@dataclass(frozen=True)
class Chain:
    """A chain of torchvision whose steps run fused where orbbec knows them.

    Args:
        parts: a `Compose` of steps that follow each other and have counterparts; torchvision's others as they
            were.
    """

    parts: Sequence[Compose | Callable[[Any], Any]]

    def __call__(
        self,
        images: Any,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Transform an image or a batch, each image with draws of its own.

        Without `sample_ids` and `epoch` each call draws anew, by torch's generator; with them, what orbbec
        draws depends on them alone. A step that was left as it is treats the images of an `ImageBatch` one by
        one, and a batch tensor as one, as torchvision does.

        Args:
            images: as that of `Compose`.
            sample_ids: as that of `Compose.plan`.
            epoch: as that of `Compose.plan`.
            generator: as that of `Compose.plan`.

        Returns:
            What torchvision's chain would: tensors of images of Pillow's after `ToTensor` and the like.
        """
        draws = {"sample_ids": sample_ids, "epoch": epoch, "generator": generator}
        for part in self.parts:
            images = part(images, **draws) if isinstance(part, Compose) else _step(part, images)
        return images


def convert(compose: Any, *, seed: int = 0, exact: bool = False) -> Chain:
    """The chain that does what one of torchvision does, fused, and drawn for each image.

    Args:
        compose: `Compose` of `torchvision.transforms` or `torchvision.transforms.v2`, a `torch.nn.Sequential`
            or a list of steps.
        seed: as that of `orbbec.Compose`; each part gets another one.
        exact: as that of `orbbec.Compose`.

    Returns:
        A chain in which what `Compose.from_torchvision` cannot convert stays as it is.

    Example:
        >>> convert([torch.nn.Identity(), torch.nn.ReLU()]).parts
        [ReLU()]
    """
    parts: list[Compose | Callable[[Any], Any]] = []
    for is_known, run in groupby(_flat(compose), _is_known):
        steps = list(run)
        parts += _composed(steps, seed + len(parts), exact) if is_known else steps
    return Chain(parts)


def _flat(compose: Any) -> Iterator[Any]:
    """Steps, those of chains within the chain too."""
    for step in getattr(compose, "transforms", compose):
        if type(step).__name__ in ("Compose", "Sequential"):
            yield from _flat(step)
        else:
            yield step


def _is_known(step: Any) -> bool:
    try:
        from_torchvision([step])
    except ConversionError:
        return False
    return True


def _composed(steps: list[Any], seed: int, exact: bool) -> list[Compose]:
    transforms, options = from_torchvision(steps)
    return [Compose(transforms, seed, exact, options)] if transforms else []


def _step(step: Callable[[Any], Any], images: Any) -> Any:
    """One of torchvision's own steps; on each of unlike images, which it does not know together."""
    if isinstance(images, ImageBatch):
        images = [image.permute(2, 0, 1) for image in images]
    if not isinstance(images, list):
        return step(images)
    results = [step(image) for image in images]
    alike = len({result.shape for result in results}) == 1
    return torch.stack(results) if alike else results
