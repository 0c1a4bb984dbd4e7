"""Affine, perspective, rotation and similarity matrices, in OpenCV's order of operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy.typing as npt
import torch

from orbbec._library import operators
from orbbec.matrices.arguments import Array, ArrayT, like, read_batched, read_point_pair, stack_matrix
from orbbec.matrices.linear import solve_lu, sum_last

# OpenCV rejects an LU solution of a perspective with at least this residual (L2 norm).
LARGEST_RESIDUAL = 1e-8


def get_affine_matrix(src_points: ArrayT, dst_points: ArrayT) -> ArrayT:
    """Find the 2x3 matrices that map three points to three others.

    Tensors stay on their device without synchronization, with the same bits as on the CPU.

    Args:
        src_points: real ``[N, 3, 2]`` or ``[3, 2]``, tensor or array: points ``(x, y)``.
        dst_points: like ``src_points``; if one of the two has no N, it is broadcast to the other.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` if neither has an N, with the type and device of ``src_points``.
        Points on a line (a pivot below 100 epsilon) give zeros; non-finite points give NaN.

    Raises:
        TypeError: an argument is not a tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device is invalid.

    Source:
        ``cv::getAffineTransform``: identical for points representable in float32 (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> get_affine_matrix(corners, 2 * corners + 3).tolist()
        [[2.0, 0.0, 3.0], [0.0, 2.0, 3.0]]
    """
    src, dst = read_point_pair("get_affine_matrix", src_points, dst_points, count=3)
    point = _homogeneous(src)
    zero = torch.zeros_like(point)
    rows = torch.stack([torch.cat([point, zero], -1), torch.cat([zero, point], -1)], dim=-2)
    solution, singular = solve_lu(rows.flatten(-3, -2), dst.flatten(-2))
    matrix = torch.where(singular[..., None, None], 0.0, stack_matrix(2, *solution.unbind(-1)))
    return like(_nan_unless_finite(matrix, src, dst), src_points)


def get_perspective_matrix(src_points: ArrayT, dst_points: ArrayT) -> ArrayT:
    """Find the 3x3 matrices that map four points to four others.

    The result is scaled to ``matrix[2, 2] == 1``. If LU finds that system singular or has a residual of at
    least 1e-8, for example when source ``(0, 0)`` maps to infinity, the result is scaled to a Frobenius norm
    of 1, with ``w`` positive at the first point. Tensors stay on their device without synchronization, with
    the same bits as on the CPU.

    Args:
        src_points: real ``[N, 4, 2]`` or ``[4, 2]``, tensor or array: points ``(x, y)``. If all coordinates
            of an entry are representable in float32, their products are rounded to float32, as in OpenCV;
            otherwise all arithmetic is float64.
        dst_points: like ``src_points``; if one of the two has no N, it is broadcast to the other.

    Returns:
        float64 ``[N, 3, 3]``, or ``[3, 3]`` if neither has an N, with the type and device of ``src_points``.
        If LU fails and three source points are collinear, zeros; non-finite points give NaN.

    Raises:
        TypeError: an argument is not a tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device is invalid.

    Source:
        ``cv::getPerspectiveTransform``: identical if LU succeeds and the points are representable in float32
        (OpenCV 5.0.0 and 4.12.0). If LU fails, OpenCV uses a singular vector: equal up to sign, or
        meaningless for collinear points.

    Example:
        >>> corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        >>> get_perspective_matrix(corners, 2 * corners + 3).tolist()
        [[2.0, 0.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]
    """
    src, dst = read_point_pair("get_perspective_matrix", src_points, dst_points, count=4)
    point = _homogeneous(src)
    zero = torch.zeros_like(point)
    products = _products_as_opencv(src, dst)
    upper = torch.cat([point, zero, -products[..., 0]], dim=-1)
    lower = torch.cat([zero, point, -products[..., 1]], dim=-1)
    a, b = torch.cat([upper, lower], dim=-2), dst.transpose(-2, -1).flatten(-2)
    solution, singular = solve_lu(a, b)
    solved = ~singular & (_residual_as_opencv(a, solution, b) < LARGEST_RESIDUAL)
    normalized = stack_matrix(3, *solution.unbind(-1), torch.ones_like(solution[..., 0]))
    matrix = torch.where(solved[..., None, None], normalized, _perspective_of_unit_norm(src, dst))
    return like(_nan_unless_finite(matrix, src, dst), src_points)


@overload
def get_rotation_matrix(  # type: ignore[overload-overlap]
    center: Sequence[float] | npt.NDArray[Any],
    angle: float | npt.NDArray[Any],
    scale: float | npt.NDArray[Any] = 1.0,
) -> npt.NDArray[Any]: ...
@overload
def get_rotation_matrix(
    center: Sequence[float] | Array, angle: float | Array, scale: float | Array = 1.0
) -> torch.Tensor: ...
def get_rotation_matrix(
    center: Sequence[float] | Array, angle: float | Array, scale: float | Array = 1.0
) -> Array:
    """Rotate about ``center``, counter-clockwise on screen, and scale.

    Sine and cosine come from the C library on the host, because those of NumPy, torch and CUDA may differ in
    the last bit. An angle on a device is therefore copied to the host, which synchronizes and cannot be
    captured in a CUDA graph; ``center`` and ``scale`` stay on their device.

    Args:
        center: ``(x, y)`` or real ``[N, 2]``, in pixels; rounded to float32 as OpenCV does.
        angle: number or real ``[N]``, in degrees.
        scale: number or real ``[N]``.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` if no argument has an N: a tensor on the device of the arguments
        if one is a tensor, otherwise an array. A non-finite angle gives NaN.

    Raises:
        TypeError: an argument is not made of real numbers.
        ValueError: a shape or device is invalid.

    Source:
        ``cv::getRotationMatrix2D``, to the last bit (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> get_rotation_matrix((1.0, 1.0), 0.0, scale=2.0).tolist()
        [[2.0, 0.0, -1.0], [-0.0, 2.0, -1.0]]
        >>> get_rotation_matrix((1.0, 1.0), torch.tensor([0.0, 45.0])).shape
        torch.Size([2, 2, 3])
    """
    name = "get_rotation_matrix"
    trailing = {"center": [2], "angle": [], "scale": []}
    device, values = read_batched(name, trailing, center=center, angle=angle, scale=scale)
    origin, degrees, factor = values
    cosine, sine = operators.host_cosine_sine(degrees * (math.pi / 180))
    x, y = origin.to(device, torch.float32).to(torch.float64).unbind(-1)
    factor = factor.to(device)
    alpha, beta = cosine.to(device) * factor, sine.to(device) * factor
    shift_x = (1 - alpha) * x - beta * y
    shift_y = beta * x + (1 - alpha) * y
    alpha, beta = alpha.expand(shift_x.shape), beta.expand(shift_x.shape)
    matrix = stack_matrix(2, alpha, beta, shift_x, -beta, alpha, shift_y)
    is_tensor = any(isinstance(value, torch.Tensor) for value in (center, angle, scale))
    return matrix if is_tensor else matrix.numpy()


def get_similarity_matrix(src_points: ArrayT, dst_points: ArrayT) -> ArrayT:
    """Fit rotation, scale and translation between two sets of points, as in face alignment.

    With the centered sets ``p`` and ``q``, the matrix is ``[[a, -b, .], [b, a, .]]`` with
    ``a = sum(p . q) / sum(p . p)`` and ``b = sum(p x q) / sum(p . p)``: the least squares solution without
    reflection. Tensors stay on their device without synchronization, with the same bits as on the CPU.

    Args:
        src_points: real ``[N, K, 2]`` or ``[K, 2]`` with K >= 2, tensor or array: points ``(x, y)``.
        dst_points: like ``src_points``; if one of the two has no N (a template), it is broadcast to the
            other.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` if neither has an N, with the type and device of ``src_points``.
        If all source points coincide, a translation to the mean of ``dst_points``. Non-finite points give
        NaN.

    Raises:
        TypeError: an argument is not a tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device is invalid.

    Source:
        Umeyama, "Least-squares estimation of transformation parameters between two point patterns", 1991.

    Example:
        >>> eyes = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
        >>> get_similarity_matrix(eyes, torch.tensor([[1.0, 1.0], [1.0, 5.0]])).tolist()
        [[0.0, -2.0, 1.0], [2.0, 0.0, 1.0]]
    """
    src, dst = read_point_pair("get_similarity_matrix", src_points, dst_points)
    src_mean, p = _centered(src)
    dst_mean, q = _centered(dst)
    (px, py), (qx, qy) = p.unbind(-1), q.unbind(-1)
    spread = sum_last(px * px + py * py)
    single = spread == 0
    divisor = torch.where(single, 1.0, spread)
    a = torch.where(single, 1.0, sum_last(px * qx + py * qy) / divisor)
    b = torch.where(single, 0.0, sum_last(px * qy - py * qx) / divisor)
    (x, y), (u, v) = src_mean.unbind(-1), dst_mean.unbind(-1)
    matrix = stack_matrix(2, a, -b, u - (a * x - b * y), b, a, v - (b * x + a * y))
    return like(_nan_unless_finite(matrix, src, dst), src_points)


def _homogeneous(points: torch.Tensor) -> torch.Tensor:
    return torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)


def _centered(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean ``[..., 2]`` and the centered points; equal points give exact zeros."""
    first = points[..., :1, :]
    offset = points - first
    total = sum_last(offset.transpose(-2, -1)).unsqueeze(-2)
    # A tensor, because CUDA divides by a Python number through its reciprocal.
    mean = total / total.new_full((), points.shape[-2])
    return (first + mean).squeeze(-2), offset - mean


def _nan_unless_finite(matrix: torch.Tensor, *points: torch.Tensor) -> torch.Tensor:
    finite = torch.stack([p.isfinite().all(-1).all(-1) for p in points]).all(0)
    return torch.where(finite[..., None, None], matrix, math.nan)


def _products_as_opencv(src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
    """Products of source and destination coordinates of each point: ``[..., 4, 2 (src), 2 (dst)]``."""
    points = torch.cat([src, dst], dim=-1)
    fits = (points == points.to(torch.float32)).all(-1).all(-1)
    src, dst = src.unsqueeze(-1), dst.unsqueeze(-2)
    rounded = (src.to(torch.float32) * dst.to(torch.float32)).to(torch.float64)
    return torch.where(fits[..., None, None, None], rounded, src * dst)


def _residual_as_opencv(a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The L2 norm of ``a @ x - b`` for 8 unknowns, in the order of ``cv::gemm`` and ``cv::norm``."""
    products = a * x.unsqueeze(-2)
    p0, p1, p2, p3 = (products[..., :4] + products[..., 4:]).unbind(-1)
    error = ((p0 + p1) + p2) + p3 - b
    square = torch.zeros_like(error[..., 0])
    for value in (error * error).unbind(-1):
        square = square + value
    return _square_root(square)


def _perspective_of_unit_norm(src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
    """Sum ``weight_i * dst_i (outer) line through the other two sources`` over three points.

    The weights, quotients of triangle areas, make the fourth point fit.
    """
    src_areas, dst_areas = _triangle_areas(src), _triangle_areas(dst)
    impossible = (src_areas == 0).any(-1)
    weights = (dst_areas / torch.where(src_areas == 0, 1.0, src_areas))[..., :3]
    triangle = src[..., :3, :]
    (x1, y1), (x2, y2) = triangle.roll(-1, -2).unbind(-1), triangle.roll(-2, -2).unbind(-1)
    lines = torch.stack([y1 - y2, x2 - x1, x1 * y2 - x2 * y1], dim=-1)  # [..., 3 (point), 3]
    targets = weights.unsqueeze(-1) * _homogeneous(dst)[..., :3, :]
    terms = targets.unsqueeze(-1) * lines.unsqueeze(-2)  # [..., 3 (point), 3, 3]
    matrix = sum_last(terms.movedim(-3, -1))
    square = sum_last((matrix * matrix).flatten(-2))
    impossible = impossible | (square == 0)
    sign = torch.where(weights[..., 0] * src_areas[..., 3] < 0, -1.0, 1.0)
    norm = (sign * _square_root(torch.where(impossible, 1.0, square)))[..., None, None]
    return torch.where(impossible[..., None, None], 0.0, matrix / norm)


def _square_root(square: torch.Tensor) -> torch.Tensor:
    """Rounded correctly, which torch's is not on the CPU."""
    root: torch.Tensor = operators.square_root(square)
    return root


def _triangle_areas(points: torch.Tensor) -> torch.Tensor:  # [..., 4, 2] -> [..., 4]
    """Twice the signed areas of points (0, 1, 2), with each of them replaced by point 3, and unchanged."""
    p0, p1, p2, p3 = points.unbind(-2)
    areas = []
    for a, b, c in ((p3, p1, p2), (p0, p3, p2), (p0, p1, p3), (p0, p1, p2)):
        (ux, uy), (vx, vy) = (b - a).unbind(-1), (c - a).unbind(-1)
        areas.append(ux * vy - uy * vx)
    return torch.stack(areas, dim=-1)


torch.library.define("orbbec::host_cosine_sine", "(Tensor radians) -> Tensor")


@torch.library.impl("orbbec::host_cosine_sine", "default")
def _(radians: torch.Tensor) -> torch.Tensor:
    _check_radians(radians)
    angles = radians.flatten().tolist()
    values = [[f(x) if math.isfinite(x) else math.nan for x in angles] for f in (math.cos, math.sin)]
    return radians.new_tensor(values).view(2, *radians.shape)


@torch.library.register_fake("orbbec::host_cosine_sine")
def _(radians: torch.Tensor) -> torch.Tensor:
    _check_radians(radians)
    return radians.new_empty((2, *radians.shape))


def _check_radians(radians: torch.Tensor) -> None:
    if radians.dtype != torch.float64 or radians.dim() > 1:
        got = f"{radians.dtype} {list(radians.shape)}"
        raise ValueError(f"host_cosine_sine: expected radians of torch.float64 [] or [N], but got {got}")


def _save_result(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(output)


def _gradient_of_cosine_sine(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    (output,) = ctx.saved_tensors
    cosine, sine = output
    of_cosine, of_sine = gradient
    slope: torch.Tensor = of_sine * cosine - of_cosine * sine
    return slope


torch.library.register_autograd(
    "orbbec::host_cosine_sine", _gradient_of_cosine_sine, setup_context=_save_result
)
