"""CutMix between images of a batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, Images, Matrix, as_tensor
from orbbec.bridge.pointwise import call_like, count_of, register_fake_like, whole_numbers
from orbbec.bridge.spec import BYTES_AND_FLOATS, MixSpec, register
from orbbec.mix.arguments import every_image, mixed_input, to_device
from orbbec.mix.gradients import register_gradient

OP = "cutmix"
_FAR = 2**62


def cutmix(images: Images, pair_indices: Matrix, boxes: Matrix) -> Any:
    """Replace a rectangle of each image by the same rectangle of another image of the batch.

    Args:
        images: `[N, C, H, W]` or `[C, H, W]` tensor of any strides; `[H, W]`, `[H, W, C]` or `[N, H, W, C]`
            array; or an `ImageBatch`, where both images of a pair have one size. uint8, uint16, float16,
            bfloat16, float32 or float64; on the CPU or a CUDA device.
        pair_indices: whole numbers `[N]`: the other image of each. On the CPU, where they are checked, or on
            the device of `images`: there an image with an index out of range is copied, and pixels that a
            smaller other image does not have are kept.
        boxes: whole numbers `[N, 4]`, or `[4]` for all images: left, top, right, bottom in pixels; right and
            bottom exclusive, clipped to the image. On the CPU or on the device of `images`.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.
        Differentiable for `images`; the gradient is deterministic.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape or an index is invalid.

    Source:
        torchvision 0.25's `v2.CutMix` for the same box, with pair_indices `arange(N).roll(1)`.

    Example:
        >>> images = torch.tensor([[1, 1, 1], [2, 2, 2]]).to(torch.uint8).reshape(2, 1, 1, 3)
        >>> cutmix(images, torch.tensor([1, 0]), torch.tensor([1, 0, 2, 1])).tolist()
        [[[[1, 2, 1]]], [[[2, 1, 2]]]]
    """
    inputs, index = mixed_input(OP, images, pair_indices)
    count = count_of(inputs)
    each = every_image(as_tensor(OP, "boxes", boxes), count, [4])
    rectangles = to_device(whole_numbers(OP, "boxes", each, [count, 4], -_FAR, _FAR), inputs)
    return inputs.restore(call_like(OP, inputs, index, rectangles))


register_fake_like("cutmix")


def _split(gradient: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
    left, top, right, bottom = boxes.reshape(-1, 4, 1, 1, 1).unbind(1)
    y = torch.arange(gradient.size(2), device=gradient.device).reshape(-1, 1)
    x = torch.arange(gradient.size(3), device=gradient.device)
    inside = (y >= top) & (y < bottom) & (x >= left) & (x < right)
    zero = torch.zeros_like(gradient)
    return torch.where(inside, zero, gradient), torch.where(inside, gradient, zero)


register_gradient(OP, 3, _split)


def _fused_rows(table: Mapping[str, Array], sizes: Array) -> Array:
    rows = np.zeros((len(sizes), 7), np.float32)
    rows[:, 0], rows[:, 1:5], rows[:, 6] = table["pair_indices"], table["boxes"], 1.0
    return rows


register(MixSpec(call=cutmix, fused_dtypes=BYTES_AND_FLOATS, fused_rows=_fused_rows))
