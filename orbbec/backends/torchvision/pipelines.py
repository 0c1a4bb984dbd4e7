"""torchvision pipelines as orbbec pipelines, with unconverted steps in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

import torch

from orbbec.batch import ImageBatch
from orbbec.transforms import Compose
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.convert.torchvision import from_torchvision, is_pillow_passing, steps_of


@dataclass(frozen=True)
class Pipeline:
    """A torchvision pipeline whose convertible steps run fused.

    Args:
        steps: a `Compose` for each run of convertible steps; other torchvision steps unchanged.
    """

    steps: Sequence[Compose | Callable[[Any], Any]]

    def __call__(
        self,
        images: Any,
        targets: Any = None,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Transform an image or a batch, with parameters drawn per image; the arguments are `Compose`'s.

        Without `sample_ids` and `epoch`, each call draws from torch's generator; with them, orbbec's draws
        depend only on them. An unconverted step runs on each image of an `ImageBatch`, and on a batch tensor
        as a whole, as in torchvision.

        Returns:
            The result of torchvision's pipeline, such as tensors for PIL images after `ToTensor`; with
            `targets`, images and targets.
        """
        draws = {"sample_ids": sample_ids, "epoch": epoch, "generator": generator}
        inputs = (images,) if targets is None else (images, targets)
        for step in self.steps:
            result = step(*inputs, **draws) if isinstance(step, Compose) else _step(step, inputs)
            inputs = (result,) if targets is None else result
        return inputs[0] if targets is None else inputs


def convert(compose: Any, *, seed: int = 0, exact: bool = False) -> Pipeline:
    """Convert a torchvision pipeline to a fused one with parameters drawn per image.

    Args:
        compose: `Compose` of `torchvision.transforms` or `torchvision.transforms.v2`, a `torch.nn.Sequential`
            or a list of steps, or one step.
        seed: see `orbbec.Compose`; each run of steps gets a different seed.
        exact: see `orbbec.Compose`.

    Returns:
        A pipeline in which steps that `Compose.from_torchvision` cannot convert are unchanged.

    Example:
        >>> convert([torch.nn.Identity(), torch.nn.ReLU()]).steps
        [ReLU()]
    """
    steps: list[Compose | Callable[[Any], Any]] = []
    kind: list[Any] = []
    for is_known, run in groupby(_without_pillow(list(_flat(compose))), _is_known):
        group = list(run)
        steps += _composed(group, seed + len(steps), exact) if is_known else [*kind, *group]
        kind = _kind_step(group)
    return Pipeline(steps)


def _flat(compose: Any) -> Iterator[Any]:
    """All steps, including those of nested pipelines."""
    for step in steps_of(compose):
        if type(step).__name__ in ("Compose", "Sequential"):
            yield from _flat(step)
        else:
            yield step


def _without_pillow(steps: list[Any]) -> list[Any]:
    """The steps but `ToPILImage` where only steps that take tensors too come before tensors are made."""
    remaining = []
    for index, step in enumerate(steps):
        later = list(takewhile(_is_known, steps[index + 1 :]))
        if not is_pillow_passing(step, later):
            remaining.append(step)
    return remaining


def _kind_step(steps: list[Any]) -> list[Any]:
    """The step after which torchvision has `tv_tensors.Image`, for which its next steps may ask."""
    kinds = [step for step in steps if type(step).__name__ in ("ToImage", "ToPureTensor", "ToTensor")]
    return [step for step in kinds[-1:] if type(step).__name__ == "ToImage"]


def _is_known(step: Any) -> bool:
    try:
        from_torchvision([step], functions=False)  # torchvision's Lambda may return anything
    except ConversionError:
        return False
    return True


def _composed(steps: list[Any], seed: int, exact: bool) -> list[Compose]:
    transforms, options = from_torchvision(steps)
    return [Compose(transforms, seed, exact, options)] if transforms else []


def _step(step: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """Run a torchvision step, one image at a time if sizes vary."""
    images = inputs[0]
    if isinstance(images, ImageBatch):
        images = [image.permute(2, 0, 1) for image in images]
    if not isinstance(images, list):
        return step(*inputs)
    results = [step(*each) for each in zip(images, *inputs[1:], strict=True)]
    if len(inputs) == 1:
        return _stacked(results)
    return _stacked([result[0] for result in results]), [result[1] for result in results]


def _stacked(images: list[Any]) -> Any:
    return torch.stack(images) if len({image.shape for image in images}) == 1 else images
