"""The gradient of `scale_offset`: new_op.py adds the function to orbbec/augment/step_gradients.py."""

from torch import Tensor

from orbbec.augment.step_gradients import number, where_inside


def _of_scale_offset(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    scale, offset = number(row, 0), number(row, 1)
    return where_inside(gradient * scale, x * scale + offset)
