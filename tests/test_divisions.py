"""No code divides tensors by Python numbers, since CUDA multiplies by the reciprocal, with other bits."""

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import orbbec
from orbbec.augment import Values
from tests.support.augments import CONTRAST


class Divisions(TorchDispatchMode):
    """Records divisors that are not tensors, except powers of two, whose reciprocals are exact."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in (torch.ops.aten.div, torch.ops.aten.div_):
            divisor = args[1]
            if not isinstance(divisor, torch.Tensor) and math.frexp(divisor)[0] != 0.5:
                self.found.append(divisor)
        return func(*args, **(kwargs or {}))


def contrast(images: torch.Tensor) -> None:
    program = torch.zeros(1, 16)
    program[0, :2] = torch.tensor([CONTRAST, 0.5])
    given = images.clone().requires_grad_()
    values = Values(colors=program, contrast=True)
    orbbec.augment(given, torch.eye(3), (5, 7), values=values).sum().backward()


CALLS: dict[str, Any] = {
    "adjust_contrast": lambda x: orbbec.adjust_contrast(x, 0.5),
    "adjust_contrast of bytes": lambda x: orbbec.adjust_contrast(x.byte(), 0.5),
    "the gradient of augment": contrast,
    "get_similarity_matrix": lambda x: orbbec.get_similarity_matrix(x[0, 0, :3, :2], x[0, 1, :3, :2]),
    "normalize": lambda x: orbbec.normalize(x, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
    "channel_statistics": orbbec.channel_statistics,
    "sharpen": lambda x: orbbec.sharpen(x, 0.3),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_divided_by_a_number_of_python(name):
    images = torch.rand(2, 3, 5, 7, generator=torch.Generator().manual_seed(0))
    with Divisions() as watch:
        CALLS[name](images)
    assert watch.found == []
