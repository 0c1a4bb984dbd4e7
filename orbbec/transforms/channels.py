"""Transforms that add channels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.plan.batches import signed, unsigned
from orbbec.plan.build import Build
from orbbec.plan.parameters import OperatorStep
from orbbec.transforms.base.transform import Transform


def _repeated(images: Tensor) -> Tensor:
    return unsigned(signed(images).repeat(1, 3, 1, 1), images.dtype)


register(OpSpec(call=_repeated, name="gray_to_rgb", dtypes=EVERY_DTYPE, channels=(1,), takes_ragged=False))


@dataclass(frozen=True)
class RGB(Transform):
    """Repeat the channel of gray images three times; images of three or more channels are unchanged.

    Raises:
        ValueError: when the plan is made, images have two channels.

    Source:
        `torchvision.transforms.v2.RGB`, which removes the alpha channel of PIL images.

    Example:
        >>> RGB()(torch.tensor([[[7, 9]]], dtype=torch.uint8)).tolist()
        [[[7, 9]], [[7, 9]], [[7, 9]]]
    """

    def rules(self, build: Build) -> None:
        if build.channels < 3:
            step = OperatorStep("gray_to_rgb", why="changes the number of channels")
            build.operator(step, channels=3)
