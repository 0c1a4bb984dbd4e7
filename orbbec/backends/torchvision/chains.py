"""Chains of torchvision as chains of ours, with the steps between that have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch

from orbbec.backends.torchvision.functions import is_pillow, to_pillow
from orbbec.batch import ImageBatch
from orbbec.transforms import Compose
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.convert_torchvision import from_torchvision

# Steps after which an image of Pillow's is a tensor.
_MAKE_TENSORS = {"ToTensor", "PILToTensor", "ToImage"}


@dataclass(frozen=True)
class Part:
    """Steps that follow each other and have counterparts.

    Args:
        compose: what does them, in as few passes as can be; None where nothing is to be done to pixels.
        makes_tensors: whether torchvision's steps make a tensor of an image of Pillow's.
    """

    compose: Compose | None
    makes_tensors: bool

    def __call__(self, images: Any, **draws: Any) -> Any:
        if not is_pillow(images):
            return self._transformed(images, draws)
        if images.mode not in ("L", "RGB"):
            raise ValueError(f"convert: expected images of mode L or RGB, but got {images.mode}")
        pixels = np.atleast_3d(np.array(images))
        if self.makes_tensors:
            return self._transformed(torch.from_numpy(pixels).permute(2, 0, 1), draws)
        result = self._transformed(pixels, draws)
        return to_pillow(result[..., 0] if result.shape[2] == 1 else result)

    def _transformed(self, images: Any, draws: dict[str, Any]) -> Any:
        return images if self.compose is None else self.compose(images, **draws)


@dataclass(frozen=True)
class Chain:
    """A chain of torchvision whose steps run fused where orbbec knows them.

    Args:
        parts: `Part`s, and between them torchvision's steps as they were.
    """

    parts: Sequence[Part | Callable[[Any], Any]]

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
            images: what `Compose` takes, or an image of Pillow's.
            sample_ids: as that of `Compose.plan`.
            epoch: as that of `Compose.plan`.
            generator: as that of `Compose.plan`.

        Returns:
            What torchvision's chain would: tensors of images of Pillow's after `ToTensor` and the like.
        """
        draws = {"sample_ids": sample_ids, "epoch": epoch, "generator": generator}
        for part in self.parts:
            images = part(images, **draws) if isinstance(part, Part) else _step(part, images)
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
        >>> chain = convert([torch.nn.Identity(), torch.nn.ReLU(), torch.nn.Identity()])
        >>> [type(part).__name__ for part in chain.parts]
        ['Part', 'ReLU', 'Part']
    """
    parts: list[Part | Callable[[Any], Any]] = []
    for is_known, run in groupby(_flat(compose), _is_known):
        steps = list(run)
        parts += [_part(steps, seed + len(parts), exact)] if is_known else steps
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


def _part(steps: list[Any], seed: int, exact: bool) -> Part:
    transforms, options = from_torchvision(steps)
    compose = Compose(transforms, seed, exact, options) if transforms else None
    return Part(compose, any(type(step).__name__ in _MAKE_TENSORS for step in steps))


def _step(step: Callable[[Any], Any], images: Any) -> Any:
    """One of torchvision's own steps; on each of unlike images, which it does not know together."""
    if isinstance(images, ImageBatch):
        images = [image.permute(2, 0, 1) for image in images]
    if not isinstance(images, list):
        return step(images)
    results = [step(image) for image in images]
    alike = len({result.shape for result in results}) == 1
    return torch.stack(results) if alike else results
