"""Copy-paste between images of a batch."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix, RaggedImages, as_tensor, copied_to, is_ragged
from orbbec.bridge.fakes import register_fake, register_out_fake
from orbbec.bridge.pointwise import call_like, count_of, fake_like, register_fake_like
from orbbec.bridge.spec import MixSpec, register
from orbbec.mix.arguments import every_image, mixed_input, to_device
from orbbec.mix.gradients import register_gradient

OP = "copy_paste"


def copy_paste(images: Images, pair_indices: Matrix, masks: Images) -> Any:
    """Paste the masked pixels of another image of the batch over each image.

    A bool or uint8 mask selects the other image's pixel where it is nonzero. A soft mask of floats from 0 to
    1 gives `(1 - mask) * image + mask * other`, in float32 (float64 for float64); integers are rounded half
    to even and saturated.

    Args:
        images: see `cutmix`.
        pair_indices: see `cutmix`.
        masks: mask of the other image of each pair: bool, uint8 or float `[N, H, W]`, or `[H, W]` for all
            images, on the CPU or on the device of `images`. For an `ImageBatch`, an `ImageBatch` of one
            channel with equal sizes.

    Returns:
        Images of the type, size, dtype and memory format of `images`, on their device.
        Differentiable for `images`; the gradient is deterministic.

    Raises:
        TypeError: an argument is of another type or dtype.
        ValueError: a shape or an index is invalid.

    Source:
        `torch.where`: identical for bool and uint8 masks.

    Example:
        >>> images = torch.tensor([[1, 1, 1], [2, 2, 2]]).to(torch.uint8).reshape(2, 1, 1, 3)
        >>> copy_paste(images, torch.tensor([1, 0]), torch.tensor([[True, False, True]])).tolist()
        [[[[2, 1, 2]]], [[[1, 2, 1]]]]
    """
    inputs, index = mixed_input(OP, images, pair_indices)
    if inputs.layout is not None:
        of_batch = _ragged_masks(masks)
        return inputs.restore(call_like(OP, inputs, index, of_batch.buffer, of_batch.layout))
    table = as_tensor(OP, "masks", masks).detach()
    table = every_image(table, count_of(inputs), list(inputs.images.shape[-2:]))
    table = to_device(table, inputs)
    if table.is_floating_point():
        soft = table.to(torch.float64 if inputs.images.dtype == torch.float64 else torch.float32)
        return inputs.restore(operators.copy_paste_soft(inputs.images, index, soft))
    if table.dtype not in (torch.bool, torch.uint8):
        raise TypeError(f"{OP}: expected masks of bool, uint8 or floats, but got {table.dtype}")
    hard = table.view(torch.uint8)
    return inputs.restore(call_like(OP, inputs, index, hard, None))


def _ragged_masks(masks: Any) -> RaggedImages:
    if not is_ragged(masks):
        raise TypeError(
            f"{OP}: expected masks as an ImageBatch, as images are, but got {type(masks).__name__}"
        )
    if masks.channels != 1:
        raise ValueError(f"{OP}: expected masks of 1 channel, but got {masks.channels}")
    return masks


register_fake_like("copy_paste")


@register_fake("copy_paste_soft", pair_indices=1, masks=3)
def _(images: Tensor, pair_indices: Tensor, masks: Tensor) -> Tensor:
    return fake_like(images, None)


register_out_fake("copy_paste_soft", pair_indices=1, masks=3)


def _split_hard(gradient: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    theirs = (masks != 0).unsqueeze(1)
    zero = torch.zeros_like(gradient)
    return torch.where(theirs, zero, gradient), torch.where(theirs, gradient, zero)


def _split_soft(gradient: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
    other = masks.unsqueeze(1)
    exact = gradient.to(other.dtype)
    return (exact * (1 - other)).to(gradient.dtype), (exact * other).to(gradient.dtype)


register_gradient(OP, 3, _split_hard)
register_gradient("copy_paste_soft", 1, _split_soft)


class _Masks(NamedTuple):
    """Masks of one size as `RaggedImages`."""

    buffer: Tensor
    layout: Tensor
    channels: int


def _in_a_pipeline(images: Any, pair_indices: Tensor, masks: Tensor) -> Any:
    """`copy_paste` by bool masks `[N, H, W]`, also of an `ImageBatch`."""
    if not is_ragged(images):
        return copy_paste(images, pair_indices, masks)
    height, width = masks.shape[1:]
    layouts = [(n * height * width, height, width) for n in range(len(masks))]
    rows = torch.tensor(layouts, device="cpu")
    tables = masks.view(torch.uint8).flatten(), rows
    buffer, layout = (copied_to(images.buffer.device, table) for table in tables)
    return copy_paste(images, pair_indices, _Masks(buffer, layout, 1))


register(MixSpec(call=_in_a_pipeline, name=OP))
