"""MixUp between images of a batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, Images, Matrix
from orbbec.bridge.per_image import is_finite, per_image
from orbbec.bridge.pointwise import call_like, register_fake_like
from orbbec.bridge.spec import FLOATS, MixSpec, register
from orbbec.mix.arguments import mixed_input
from orbbec.mix.gradients import register_gradient

OP = "mixup"


def mixup(images: Images, pair_indices: Matrix, weights: float | Tensor) -> Any:
    """Mix each image with another of the batch.

    `out[n] = weights[n] * images[n] + (1 - weights[n]) * images[pair_indices[n]]`. Integers are rounded
    half to even and saturated.

    Args:
        images: see `cutmix`.
        pair_indices: see `cutmix`.
        weights: weight of the image itself: one finite number, or `[N]` on the CPU or on the device of
            `images`. May be outside 0..1.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.
        Differentiable for `images`; the gradient is deterministic.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape or an index is invalid.

    Source:
        Floats: identical to torchvision 0.25's `v2.MixUp` with pair_indices `arange(N).roll(1)`. uint8 and
        uint16: identical to `cv2.addWeighted` (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> images = torch.tensor([0.0, 8.0]).reshape(2, 1, 1, 1)
        >>> mixup(images, torch.tensor([1, 0]), 0.75).flatten().tolist()
        [2.0, 6.0]
    """
    inputs, index = mixed_input(OP, images, pair_indices)
    numbers, number = per_image(OP, "weights", weights, inputs, is_finite, "as finite numbers")
    if numbers is None:
        numbers = torch.full((len(index),), number, dtype=torch.float64, device=inputs.images.device)
    return inputs.restore(call_like(OP, inputs, index, numbers.contiguous()))


register_fake_like("mixup")


def _split(gradient: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    # In the dtype of the forward computation: float32 for half types.
    exact = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
    weight = weights.reshape(-1, 1, 1, 1)
    parts = exact * weight.to(exact.dtype), exact * (1 - weight).to(exact.dtype)
    return parts[0].to(gradient.dtype), parts[1].to(gradient.dtype)


register_gradient(OP, 3, _split)


def _fused_rows(table: Mapping[str, Array], sizes: Array) -> Array:
    rows = np.zeros((len(sizes), 7), np.float32)
    rows[:, 0], rows[:, 3:5] = table["pair_indices"], sizes[:, ::-1]
    rows[:, 5], rows[:, 6] = table["weights"], 1.0 - table["weights"]
    return rows


# The pass before computes each image twice, which costs bytes more than another pass.
register(MixSpec(call=mixup, reads=2, fused_dtypes=FLOATS, fused_rows=_fused_rows))
