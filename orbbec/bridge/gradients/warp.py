"""Gradients of warp_affine, warp_perspective and remap for images, matrices and maps."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.fakes import register_fake
from orbbec.matrices import matrix_to_source
from orbbec.matrices.linear import sum_first


class Context(NamedTuple):
    """The values that a warp saves for its gradient."""

    images: Tensor
    transform: tuple[Tensor, ...]  # the matrix, or both maps
    options: tuple[Any, ...]  # interpolation, border, fill, ..., arithmetic, as in the schema
    regions: Tensor | None = None  # visible regions of images, for warp_perspective only


def backward_of(op: str, context: Context, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of a warp for its images, and in float64 for its output-to-source matrix or its maps.

    Sums use fixed point with a power-of-two scale, chosen so that the largest possible sum fits 62 bits; they
    are therefore identical on every device and in every run. An image with a non-finite gradient gets NaN.
    """
    images = context.images
    if context.options[0] not in ("nearest", "linear", "area"):
        raise NotImplementedError(
            f"{op}: no gradient for interpolation '{context.options[0]}', only nearest and linear"
        )
    working = torch.float64 if images.dtype == torch.float64 else torch.float32
    gradient = gradient.to(working)
    largest = gradient.new_zeros(0, dtype=torch.float64)
    if gradient.numel():
        largest = torch.linalg.vector_norm(gradient.detach(), float("inf"), dim=(1, 2, 3)).double()
    seen = {} if context.regions is None else {"regions": context.regions}
    of_images, of_map = getattr(operators, f"{op}_backward")(
        gradient, images.to(working), *context.transform, largest, *context.options, **seen
    )
    return of_images.to(images.dtype), of_map


def _second_gradients(
    op: str, context: Context, gradient: Tensor, of_images: Tensor | None, of_map: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a backward pass for its `gradient`, and in float64 for its transform.

    A warp is linear in its images, apart from `fill`, so that its backward pass is linear in `gradient`.

    Args:
        op: the warp.
        context: what its backward pass read; its images are not used.
        gradient: the input of the backward pass.
        of_images: the gradient for the first result of the backward pass.
        of_map: that for its second result.

    Raises:
        NotImplementedError: `of_map` is needed.
    """
    if of_map is not None:
        raise NotImplementedError(f"{op}: no second derivative of a matrix or of maps, only of images")
    if of_images is None:
        return None, None
    interpolation, border, _, *rest = context.options
    options = (interpolation, border, [0.0], *rest)
    size = gradient.shape[2:]
    if context.regions is None:
        warped = getattr(operators, op)(of_images, None, 0, *context.transform, size, *options)
    else:  # only `augment` has them
        sampling = (*context.transform, size, *options[:3], context.regions)
        warped = augmented_floats(of_images, sampling).to(of_images.dtype)
    if not any(tensor.requires_grad for tensor in context.transform):
        return warped, None
    return warped, backward_of(op, context._replace(images=of_images, options=options), gradient)[1]


def augmented_floats(
    images: Tensor,
    sampling: tuple[Any, ...],
    colors: Tensor | None = None,
    maximum: float = 1.0,
    contrast: bool = False,
) -> Tensor:
    """The values of `augment` before normalization, in float32 and the units of the images."""
    values: tuple[Any, ...] = (colors, None, None, [], [], 1.0, maximum, contrast)
    result: Tensor = operators.augment(images, None, 0, *sampling, *values, None, None, torch.float32, False)
    return result


def matrix_gradient(matrix: Tensor, to_source_gradient: Tensor, inverse: bool) -> Tensor:
    """The gradient for `matrix` from that for its output-to-source matrix, `[N, rows, 3]` in float64."""
    rows = matrix.shape[-2]
    result = to_source_gradient
    if not inverse:
        inverted = _homogeneous(matrix_to_source(matrix.detach().to(to_source_gradient.device)))
        transposed = inverted.mT
        of_inverted = _homogeneous(to_source_gradient, corner=0.0)
        result = -_product(_product(transposed, of_inverted), transposed)[..., :rows, :]
    if matrix.dim() == 2:
        result = sum_first(result)
    return result.to(device=matrix.device, dtype=matrix.dtype)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product; each product is rounded before the addition, which BLAS does not guarantee."""
    terms = a.unsqueeze(-1) * b.unsqueeze(-3)  # [..., i, k, j]
    result: Tensor = sum(terms.unbind(-2))  # type: ignore[assignment]
    return result


def _homogeneous(matrix: Tensor, corner: float = 1.0) -> Tensor:
    if matrix.shape[-2] == 3:
        return matrix
    last = matrix.new_tensor([0.0, 0.0, corner]).expand(*matrix.shape[:-2], 1, 3)
    return torch.cat((matrix, last), dim=-2)


def register_matrix_gradient(op: str, rows: int) -> None:
    """Register the gradient of a warp with matrices `[rows, 3]`, and the fake kernel of its backward pass."""

    @register_fake(f"{op}_backward", gradient=4)
    def _(gradient: Tensor, images: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        return _fake_gradients(images, (rows, 3))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        images, _, _, matrix, _, interpolation, border, fill, inverse, arithmetic = inputs
        ctx.save_for_backward(images, matrix)
        ctx.options = (interpolation, border, fill, inverse, arithmetic)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        images, matrix = ctx.saved_tensors
        of_images, of_map = backward_of(op, Context(images, (matrix,), ctx.options), gradient)
        of_matrix = matrix_gradient(matrix, of_map, ctx.options[3]) if ctx.needs_input_grad[3] else None
        return of_images, None, None, of_matrix, None, None, None, None, None, None

    def setup_second(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        gradient, _, matrix, _, *ctx.options, regions = (*inputs, None)[:10]
        ctx.save_for_backward(gradient, matrix, regions)
        ctx.set_materialize_grads(False)
        ctx.inputs = len(inputs)

    def second(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        gradient, matrix, regions = ctx.saved_tensors
        context = Context(gradient, (matrix,), tuple(ctx.options), regions)
        of_gradient, of_map = _second_gradients(op, context, gradient, *gradients)
        of_matrix = None if of_map is None else matrix_gradient(matrix, of_map, ctx.options[3])
        return of_gradient, None, of_matrix, *(None,) * (ctx.inputs - 3)

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
    torch.library.register_autograd(f"orbbec::{op}_backward", second, setup_context=setup_second)


def register_map_gradient(op: str) -> None:
    """Register the gradient of a warp by maps, and the fake kernel of its backward pass."""

    @register_fake(f"{op}_backward", gradient=4)
    def _(gradient: Tensor, images: Tensor, *_: object) -> tuple[Tensor, Tensor]:
        return _fake_gradients(images, (2, *gradient.shape[2:]))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        images, _, _, map_x, map_y, _, interpolation, border, fill, arithmetic = inputs
        ctx.save_for_backward(images, map_x, map_y)
        ctx.options = (interpolation, border, fill, arithmetic)

    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        images, *maps = ctx.saved_tensors
        of_images, of_maps = backward_of(op, Context(images, tuple(maps), ctx.options), gradient)
        return of_images, None, None, *_map_gradients(maps, of_maps), None, None, None, None, None

    def setup_second(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        gradient, _, map_x, map_y, _, *ctx.options = inputs
        ctx.save_for_backward(gradient, map_x, map_y)
        ctx.set_materialize_grads(False)

    def second(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        gradient, *maps = ctx.saved_tensors
        context = Context(gradient, tuple(maps), tuple(ctx.options))
        of_gradient, of_maps = _second_gradients(op, context, gradient, *gradients)
        x, y = (None, None) if of_maps is None else _map_gradients(maps, of_maps)
        return of_gradient, None, x, y, None, None, None, None, None

    torch.library.register_autograd(f"orbbec::{op}", backward, setup_context=setup)
    torch.library.register_autograd(f"orbbec::{op}_backward", second, setup_context=setup_second)


def _map_gradients(maps: list[Tensor], of_maps: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients for `map_x` and `map_y` from `[N, 2, height, width]` in float64."""
    if maps[0].dim() == 2:
        of_maps = sum_first(of_maps)
    x, y = (of_maps.select(-3, i).to(device=maps[i].device, dtype=maps[i].dtype) for i in (0, 1))
    return x, y


def _fake_gradients(images: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    of_transforms = images.new_empty((images.size(0), *shape), dtype=torch.float64)
    return images.new_empty(images.shape), of_transforms
