"""RoIPool with torchvision's results and deterministic gradients."""

from typing import Any

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import is_channels_last, new_images, number_value
from orbbec.bridge.dispatch import call_operator
from orbbec.bridge.fakes import register_fake
from orbbec.roi_align.rois import OutputSize, Rois, as_rois, check_input, output_size_values


def roi_pool(input: Tensor, rois: Rois, output_size: OutputSize, spatial_scale: float = 1.0) -> Tensor:
    """Pool regions of feature maps by the maximum of each bin.

    The corners of a region are rounded half away from zero to whole pixels and are inclusive; a reversed side
    becomes one pixel. A bin contains every pixel that it touches; a bin outside the feature map gives 0. NaN
    is ignored; a bin with only NaN or minus infinity gives -3.4e38. A region that is non-finite or extends
    beyond 2^30 pixels gives zeros.

    The gradient of a bin goes to its first maximum. Gradients are summed in a fixed order: they are identical
    in every run, for any number of threads and on every device. `rois` have no gradient.

    Args:
        input: see `roi_align`; less than 2^31 pixels per image.
        rois: `[K, 5]`: index of the image, x1, y1, x2, y2; or `[L, 4]` tensors, one per image. Any of the
            float types, on the device of `input`; converted to float32, or float64 if `input` is float64.
        output_size: see `roi_align`.
        spatial_scale: see `roi_align`.

    Returns:
        See `roi_align`, which also lists the errors.

    Source:
        torchvision 0.25 on the CPU: identical values and gradients for float32 and float64.

    Example:
        >>> features = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_pool(features, torch.tensor([[0.0, 0, 0, 3, 3]]), 2).flatten().tolist()
        [5.0, 7.0, 13.0, 15.0]
    """
    check_input("roi_pool", input)
    result: Tensor = call_operator(
        operators.roi_pool,
        input,
        as_rois("roi_pool", rois, 5),
        output_size_values("roi_pool", output_size),
        number_value("roi_pool", "spatial_scale", spatial_scale),
    )[0]
    return result


class RoIPool(torch.nn.Module):
    """`roi_pool` as a module.

    Args:
        output_size: bins as `(height, width)`, or one number for both.
        spatial_scale: factor from coordinates of regions to pixels of the features.

    Example:
        >>> RoIPool(7, 1 / 16)(torch.zeros(2, 3, 20, 20), torch.zeros(4, 5)).shape
        torch.Size([4, 3, 7, 7])
    """

    def __init__(self, output_size: OutputSize, spatial_scale: float = 1.0) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = number_value("RoIPool", "spatial_scale", spatial_scale)

    def forward(self, features: Tensor, rois: Rois) -> Tensor:
        """Pool `rois` of `features` with `roi_pool`."""
        return roi_pool(features, rois, self.output_size, self.spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, spatial_scale={self.spatial_scale}"


@register_fake("roi_pool", input=4, rois=2, output_size=2)
def _(input: Tensor, rois: Tensor, output_size: list[int], spatial_scale: float) -> tuple[Tensor, Tensor]:
    shape = (rois.shape[0], input.shape[1], *output_size)
    output = new_images(input, shape, is_channels_last(input, None))
    return output, torch.empty_like(output, dtype=torch.int32)


@register_fake("roi_pool_backward", gradient=4, input_size=4)
def _(
    gradient: Tensor,
    argmax: Tensor,
    rois: Tensor,
    input_size: list[int],
    channels_last: bool,
    spatial_scale: float,
) -> Tensor:
    return new_images(gradient, input_size, channels_last)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    input, rois, _, spatial_scale = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(rois, output[1])
    ctx.input_size, ctx.channels_last = input.shape, is_channels_last(input, None)
    ctx.spatial_scale = spatial_scale


def _gradient_of_input(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    rois, argmax = ctx.saved_tensors
    operator = operators.roi_pool_backward
    size, last, scale = ctx.input_size, ctx.channels_last, ctx.spatial_scale
    result = call_operator(operator, gradient, argmax, rois, size, last, scale)
    return result, None, None, None


torch.library.register_autograd("orbbec::roi_pool", _gradient_of_input, setup_context=_keep)


def _keep_for_second_gradient(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(inputs[1], inputs[2])


def _second_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """Each bin reads at the position of its maximum."""
    argmax, rois = ctx.saved_tensors
    if gradient.numel() == 0:
        return gradient.new_zeros(argmax.shape), *(None,) * 5
    image = rois[:, 0].long().clamp(0, len(gradient) - 1)[:, None, None]
    channel = torch.arange(gradient.shape[1], device=gradient.device)[:, None]
    pixels = gradient.flatten(2)
    last = pixels.shape[2] - 1
    read = pixels[image, channel, argmax.flatten(2).clamp(0, last).long()]
    outside = (argmax < 0) | (argmax > last)
    return read.view(argmax.shape).masked_fill(outside, 0), *(None,) * 5


torch.library.register_autograd(
    "orbbec::roi_pool_backward", _second_gradient, setup_context=_keep_for_second_gradient
)
