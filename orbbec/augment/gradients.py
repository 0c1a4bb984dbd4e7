"""Gradients of `augment` for its images and matrices.

The backward pass goes through mixing, normalization, rectangles, the color program and the warp in reverse
order. The inputs of the color program are recomputed step by step with the operator itself.
"""

from typing import Any

import torch
from torch import Tensor

from orbbec.augment.codes import STEPS
from orbbec.augment.step_gradients import FORMULAS
from orbbec.bridge.gradients.color import sum_channels
from orbbec.bridge.gradients.pairs import add_to_pairs, has_pair
from orbbec.bridge.gradients.warp import Context, augmented_floats, backward_of
from orbbec.matrices.linear import sum_first

_WITHOUT = [name for name in STEPS if name not in FORMULAS and name != "none"]


def _through_step(gradient: Tensor, x: Tensor, row: Tensor) -> Tensor:
    """The gradient of each image through its own step `[N, 16]`."""
    code, result = row[:, 0].trunc().view(-1, 1, 1, 1), gradient
    for name, formula in FORMULAS.items():
        result = torch.where(code == STEPS[name], formula(gradient, x, row), result)
    return result


def _through_colors(gradient: Tensor, read: Tensor, colors: Tensor, maximum: float) -> Tensor:
    """The gradient through a color program; one channel is treated as three equal channels."""
    for name in _WITHOUT:
        if (colors[..., 0].trunc() == STEPS[name]).any():
            raise NotImplementedError(f"augment: no gradient for the color step {name}")
    channels, program = read.shape[1], colors.expand(read.shape[0], *colors.shape[-2:])
    values = read.expand(-1, 3, -1, -1).contiguous()
    whole = torch.eye(3, dtype=torch.float32, device=read.device)
    before = []
    for step in range(program.shape[1]):
        before.append(values)
        row = program[:, step : step + 1].contiguous()
        sampling = whole, read.shape[2:], "nearest", "replicate", [0.0], None
        values = augmented_floats(values, sampling, row, maximum, True)
    if channels == 1:
        gradient = torch.cat((gradient, gradient.new_zeros(gradient.shape).expand(-1, 2, -1, -1)), dim=1)
    largest = read.new_full((), maximum)  # a tensor, as above
    for step in reversed(range(program.shape[1])):
        gradient = _through_step(gradient, before[step] / largest, program[:, step])
    return gradient if channels == 3 else sum_channels(gradient)


def _covered(boxes: Tensor, height: int, width: int) -> Tensor:
    """A mask of the pixels covered by rectangles: bool `[N or 1, 1, height, width]`."""
    rows = boxes if boxes.dim() == 3 else boxes[None]
    x = torch.arange(width, dtype=torch.float32, device=boxes.device)
    y = torch.arange(height, dtype=torch.float32, device=boxes.device)[:, None]
    covered = torch.zeros((rows.shape[0], 1, height, width), dtype=torch.bool, device=boxes.device)
    for box in rows.unbind(1):
        left, top, right, bottom = box[:, :4, None, None].unbind(1)
        covered = covered | ((x >= left) & (y >= top) & (x < right) & (y < bottom)).unsqueeze(1)
    return covered


def _through_mix(gradient: Tensor, mix: Tensor) -> Tensor:
    """The gradient through mixing."""
    pair_indices = mix[:, 0].clamp(-1, gradient.shape[0]).floor().long()
    mixed = _covered(mix[:, None, 1:5], *gradient.shape[2:]) & has_pair(pair_indices)
    direct, other = (weight.view(-1, 1, 1, 1) * gradient for weight in mix[:, 5:].unbind(1))
    parts = torch.where(mixed, other, torch.zeros_like(other))
    return add_to_pairs(torch.where(mixed, direct, gradient), parts, pair_indices)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    images, layout, _, matrix, size, *reading, regions, colors, boxes, mix, _, std, scale, maximum = inputs[
        :16
    ]
    if layout is not None and matrix.requires_grad:
        raise NotImplementedError("augment: no gradient for matrix with variable-size images")
    ctx.save_for_backward(images, regions, matrix, colors, boxes, mix)
    ctx.size, ctx.std, ctx.scale, ctx.maximum, ctx.reading = size, std, scale, maximum, reading


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    images, regions, matrix, colors, boxes, mix = ctx.saved_tensors
    interpolation, border, fill = ctx.reading
    of_values = gradient.float() if mix is None else _through_mix(gradient.float(), mix)
    of_values = of_values * ctx.scale
    if ctx.std:
        of_values = of_values / of_values.new_tensor(ctx.std).view(-1, 1, 1)
    if boxes is not None:
        of_values = of_values.masked_fill(_covered(boxes, *of_values.shape[2:]), 0.0)
    if colors is not None and colors.shape[-2] > 0:
        sampling = matrix, ctx.size, interpolation, border, fill, regions
        read = augmented_floats(images, sampling, None, ctx.maximum, False)
        of_values = _through_colors(of_values, read, colors, ctx.maximum)
    options = (interpolation, border, fill, True, "cv2_5")
    context = Context(images, (matrix,), options, regions)
    of_images, of_maps = backward_of("warp_perspective", context, of_values.contiguous())
    of_matrix = (sum_first(of_maps) if matrix.dim() == 2 else of_maps).to(matrix.device, matrix.dtype)
    return of_images, None, None, of_matrix, *(None,) * 17


torch.library.register_autograd("orbbec::augment", _backward, setup_context=_setup)
