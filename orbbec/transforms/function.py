"""A user's function as a transform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.plan.batches import Work, as_list, merged
from orbbec.plan.build import Build
from orbbec.plan.parameters import OperatorStep
from orbbec.transforms.base.transform import Transform


def _call_each(images: Work, function: Callable[[Tensor], Tensor]) -> Work:
    results = []
    for index, image in enumerate(as_list(images)):
        result = function(image)
        if not isinstance(result, Tensor) or (result.shape, result.dtype) != (image.shape, image.dtype):
            expected = f"{str(image.dtype).removeprefix('torch.')} {list(image.shape)}"
            kind = f"{result.dtype} {list(result.shape)}" if isinstance(result, Tensor) else repr(result)
            raise ValueError(f"Lambda: expected {expected} of the function for image {index}, but got {kind}")
        results.append(result)
    return merged(results) if results else images


register(OpSpec(call=_call_each, name="lambda", dtypes=EVERY_DTYPE))


@dataclass(frozen=True)
class Lambda(Transform):
    """Apply a function to each image, in a separate pass.

    Args:
        lambd: takes an image `[C, H, W]`, which it must not modify, and returns an image of equal shape and
            dtype.

    Raises:
        TypeError: `lambd` is not a function.

    Source:
        `torchvision.transforms.v2.Lambda`, whose function may return anything.

    Example:
        >>> Lambda(torch.neg)(torch.ones(1, 1, 2))
        tensor([[[-1., -1.]]])
    """

    lambd: Callable[[Tensor], Tensor]

    def __post_init__(self) -> None:
        if not callable(self.lambd):
            raise TypeError(f"{self.name}: expected a function, but got {self.lambd!r}")

    def rules(self, build: Build) -> None:
        options = {"function": self.lambd}
        build.operator(OperatorStep("lambda", options=options, why="is a function in Python"))

    def to_dict(self) -> dict[str, Any]:
        raise TypeError(f"{self.name}: a function cannot be serialized as text; pickle the pipeline")
