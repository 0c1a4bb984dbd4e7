"""`scale_offset` compared with the same work in torch, one operation at a time."""

import torch
from torch import Tensor

from orbbec.scaleoffset import scale_offset
from tests.support import photographs
from tests.support.timing.benchmark import Case, Contender, Work, as_array


def prepare(device: str) -> Work:
    images = photographs(64, 3, 224, 224)
    scale, offset = torch.linspace(0.5, 1.5, 64), torch.linspace(-20, 20, 64)
    expected = as_array(scale_offset(images, scale, offset))
    images, scale, offset = images.to(device), scale.to(device), offset.to(device)

    def by_torch() -> Tensor:
        scaled = images * scale[:, None, None, None] + offset[:, None, None, None]
        return scaled.round_().clamp_(0, 255).to(torch.uint8)

    contenders = [
        Contender("torch", by_torch),
        Contender("orbbec", lambda: scale_offset(images, scale, offset)),
    ]
    return Work(contenders, expected, images=64, moved_bytes=2 * images.numel())


CASES = [Case("uint8 [64, 3, 224, 224]", prepare)]
