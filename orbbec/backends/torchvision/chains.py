"""Chains of torchvision as chains of ours, with the steps between that have no counterpart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from orbbec.backends.torchvision.functions import is_pillow, to_pillow
from orbbec.batch import ImageBatch
from orbbec.transforms import Compose
from orbbec.transforms.convert import ConversionError

# Steps after which an image of Pillow's is a tensor.
_MAKE_TENSORS = {"ToTensor", "PILToTensor", "ToImage"}


@dataclass(frozen=True)
class Part:
    """Steps that follow each other and have counterparts.

    Args:
        compose: what does them, in as few passes as can be.
        makes_tensors: whether torchvision's steps make a tensor of an image of Pillow's.
    """

    compose: Compose
    makes_tensors: bool

    def __call__(self, images: Any, sample_ids: Any, epoch: int) -> Any:
        if not is_pillow(images):
            return self.compose(images, sample_ids=sample_ids, epoch=epoch)
        pixels = np.atleast_3d(np.asarray(images))
        if self.makes_tensors:
            tensor = torch.from_numpy(pixels.copy()).permute(2, 0, 1)
            return self.compose(tensor, sample_ids=sample_ids, epoch=epoch)
        return to_pillow(self.compose(pixels, sample_ids=sample_ids, epoch=epoch).squeeze())


@dataclass(frozen=True)
class Chain:
    """A chain of torchvision whose steps run fused where orbbec knows them.

    Args:
        parts: `Part`s, and between them torchvision's steps as they were.
    """

    parts: Sequence[Part | Callable[[Any], Any]]

    def __call__(self, images: Any, sample_ids: Any = None, epoch: int = 0) -> Any:
        """Transform an image or a batch, each image with draws of its own.

        A step that was left as it is treats the images of an `ImageBatch` one by one, and a batch tensor as
        one, as torchvision does.

        Args:
            images: what `Compose` takes, or an image of Pillow's.
            sample_ids: whole numbers `[N]`; None: 0 to N - 1.
            epoch: from 0 to 2^63 - 1.

        Returns:
            What torchvision's chain would: tensors of images of Pillow's after `ToTensor` and the like.
        """
        for part in self.parts:
            images = part(images, sample_ids, epoch) if isinstance(part, Part) else _step(part, images)
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
    run: list[Any] = []

    def finish() -> None:
        if run:
            fused = Compose.from_torchvision(run, seed=seed + len(parts), exact=exact)
            parts.append(Part(fused, any(type(step).__name__ in _MAKE_TENSORS for step in run)))
            run.clear()

    for step in _flat(compose):
        if _is_known(step):
            run.append(step)
        else:
            finish()
            parts.append(step)
    finish()
    return Chain(parts)


def _flat(compose: Any) -> Iterable[Any]:
    """Steps, those of chains within the chain too."""
    for step in getattr(compose, "transforms", compose):
        if type(step).__name__ in ("Compose", "Sequential"):
            yield from _flat(step)
        else:
            yield step


def _is_known(step: Any) -> bool:
    try:
        Compose.from_torchvision([step])
    except ConversionError:
        return False
    return True


def _step(step: Callable[[Any], Any], images: Any) -> Any:
    """One of torchvision's own steps; on each of unlike images, which it does not know together."""
    if isinstance(images, ImageBatch):
        images = [image.permute(2, 0, 1) for image in images]
    if not isinstance(images, list):
        return step(images)
    results = [step(image) for image in images]
    alike = len({result.shape for result in results}) == 1
    return torch.stack(results) if alike else results
