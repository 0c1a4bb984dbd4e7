"""Affine, perspective, rotation and similarity matrices, in OpenCV's order of operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy.typing as npt
import torch

from orbbec.matrices.arguments import Array, ArrayT, like, read_batched, read_point_pair, stack_matrix
from orbbec.matrices.linear import solve_lu, sum_last

# OpenCV gives up a perspective solved by LU that misses the right side by this much (L2 norm).
LARGEST_RESIDUAL = 1e-8


def get_affine_matrix(src_points: ArrayT, dst_points: ArrayT) -> ArrayT:
    """Find the 2x3 matrices that map three points each to three others.

    Tensors on a device stay there: nothing is read back, and the bits are those of the CPU.

    Args:
        src_points: real ``[N, 3, 2]`` or ``[3, 2]``, tensor or array: points ``(x, y)``.
        dst_points: as ``src_points``; when one of the two has no N it serves every entry of the other.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` where neither has an N; the kind and device of ``src_points``.
        Points on a line (a pivot below 100 epsilon) give zeros, points that are not finite give NaN.

    Raises:
        TypeError: an argument is no tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device does not fit.

    Source:
        ``cv::getAffineTransform``, to the last bit for points that float32 holds (OpenCV 5.0.0 and 4.12.0).

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
    """Find the 3x3 matrices that map four points each to four others.

    Scaled to ``matrix[2, 2] == 1``, unless LU finds that system singular or misses it by 1e-8 or more, as
    when source ``(0, 0)`` maps to infinity: then to a Frobenius norm of 1, with ``w`` positive at the first
    point. Tensors on a device stay there: nothing is read back, and the bits are those of the CPU.

    Args:
        src_points: real ``[N, 4, 2]`` or ``[4, 2]``, tensor or array: points ``(x, y)``. In an entry whose
            coordinates all fit float32 their products are rounded to float32, as in OpenCV; otherwise all
            is float64.
        dst_points: as ``src_points``; when one of the two has no N it serves every entry of the other.

    Returns:
        float64 ``[N, 3, 3]``, or ``[3, 3]`` where neither has an N; the kind and device of ``src_points``.
        Where LU fails and three source points lie on a line, zeros; points that are not finite give NaN.

    Raises:
        TypeError: an argument is no tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device does not fit.

    Source:
        ``cv::getPerspectiveTransform``, to the last bit where LU succeeds and for points that float32 holds
        (OpenCV 5.0.0 and 4.12.0). Where LU fails OpenCV takes a singular vector: the same map, the sign
        apart, or, where three points lie on a line, one without use.

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
    normalised = stack_matrix(3, *solution.unbind(-1), torch.ones_like(solution[..., 0]))
    matrix = torch.where(solved[..., None, None], normalised, _perspective_of_unit_norm(src, dst))
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

    The sine and cosine are those of the C library, taken on the host one by one, because those of NumPy,
    torch and CUDA may differ in the last bit. So an angle on a device is copied to the host (which waits
    for the device, and cannot be captured in a CUDA graph); a ``center`` or ``scale`` on a device is not.

    Args:
        center: ``(x, y)`` or real ``[N, 2]``, in pixels; rounded to float32 as OpenCV does.
        angle: number or real ``[N]``, in degrees.
        scale: number or real ``[N]``.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` where no argument has an N: a tensor on their device where an
        argument is a tensor, else an array. An angle that is not finite gives NaN.

    Raises:
        TypeError: an argument is not made of real numbers.
        ValueError: a shape or device does not fit.

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
    cosine, sine = _HostCosineSine.apply(degrees * (math.pi / 180))  # type: ignore[no-untyped-call]
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
    """Find the rotations with scale and shift that bring points nearest to others, as in face alignment.

    With both sets taken from their means, ``p`` and ``q``, the matrix is ``[[a, -b, .], [b, a, .]]`` with
    ``a = sum(p . q) / sum(p . p)`` and ``b = sum(p x q) / sum(p . p)``: the least squares, without
    reflection. Tensors on a device stay there: nothing is read back, and the bits are those of the CPU.

    Args:
        src_points: real ``[N, K, 2]`` or ``[K, 2]`` with K >= 2, tensor or array: points ``(x, y)``.
        dst_points: as ``src_points``; when one of the two has no N (a template) it serves every entry of
            the other.

    Returns:
        float64 ``[N, 2, 3]``, or ``[2, 3]`` where neither has an N; the kind and device of ``src_points``.
        Where all source points are one point, the shift of that point to the mean of ``dst_points``.
        Points that are not finite give NaN.

    Raises:
        TypeError: an argument is no tensor or array of real numbers, or only one is a tensor.
        ValueError: a shape or device does not fit.

    Source:
        Umeyama, "Least-squares estimation of transformation parameters between two point patterns", 1991.

    Example:
        >>> eyes = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
        >>> get_similarity_matrix(eyes, torch.tensor([[1.0, 1.0], [1.0, 5.0]])).tolist()
        [[0.0, -2.0, 1.0], [2.0, 0.0, 1.0]]
    """
    src, dst = read_point_pair("get_similarity_matrix", src_points, dst_points)
    src_mean, p = _centred(src)
    dst_mean, q = _centred(dst)
    (px, py), (qx, qy) = p.unbind(-1), q.unbind(-1)
    spread = sum_last(px * px + py * py)
    single = spread == 0
    divisor = torch.where(single, 1.0, spread)
    a = torch.where(single, 1.0, sum_last(px * qx + py * qy) / divisor)
    b = torch.where(single, 0.0, sum_last(px * qy - py * qx) / divisor)
    (x, y), (u, v) = src_mean.unbind(-1), dst_mean.unbind(-1)
    matrix = stack_matrix(2, a, -b, u - (a * x - b * y), b, a, v - (b * x + a * y))
    return like(_nan_unless_finite(matrix, src, dst), src_points)


class _HostCosineSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, radians: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angles = radians.flatten().tolist()
        cosine, sine = (
            radians.new_tensor([f(x) if math.isfinite(x) else math.nan for x in angles]).view(radians.shape)
            for f in (math.cos, math.sin)
        )
        ctx.save_for_backward(cosine, sine)
        return cosine, sine

    @staticmethod
    def backward(ctx: Any, cosine_grad: torch.Tensor, sine_grad: torch.Tensor) -> torch.Tensor:
        cosine, sine = ctx.saved_tensors
        grad: torch.Tensor = sine_grad * cosine - cosine_grad * sine
        return grad


def _homogeneous(points: torch.Tensor) -> torch.Tensor:
    return torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)


def _centred(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean ``[..., 2]`` and the points less their mean; points that are equal give exact zeros."""
    first = points[..., :1, :]
    offset = points - first
    total = sum_last(offset.transpose(-2, -1)).unsqueeze(-2)
    # A tensor: by a number CUDA multiplies by its reciprocal.
    mean = total / total.new_full((), points.shape[-2])
    return (first + mean).squeeze(-2), offset - mean


def _nan_unless_finite(matrix: torch.Tensor, *points: torch.Tensor) -> torch.Tensor:
    finite = torch.stack([p.isfinite().all(-1).all(-1) for p in points]).all(0)
    return torch.where(finite[..., None, None], matrix, math.nan)


def _products_as_opencv(src: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
    """Multiply each source by each destination coordinate of a point: ``[..., 4, 2 (src), 2 (dst)]``."""
    points = torch.cat([src, dst], dim=-1)
    fits = (points == points.to(torch.float32)).all(-1).all(-1)
    src, dst = src.unsqueeze(-1), dst.unsqueeze(-2)
    rounded = (src.to(torch.float32) * dst.to(torch.float32)).to(torch.float64)
    return torch.where(fits[..., None, None, None], rounded, src * dst)


def _residual_as_opencv(a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Take the L2 norm of ``a @ x - b`` for 8 unknowns, in the order of ``cv::gemm`` and ``cv::norm``."""
    products = a * x.unsqueeze(-2)
    p0, p1, p2, p3 = (products[..., :4] + products[..., 4:]).unbind(-1)
    error = ((p0 + p1) + p2) + p3 - b
    square = torch.zeros_like(error[..., 0])
    for value in (error * error).unbind(-1):
        square = square + value
    return square.sqrt()


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
    norm = (sign * torch.where(impossible, 1.0, square).sqrt())[..., None, None]
    return torch.where(impossible[..., None, None], 0.0, matrix / norm)


def _triangle_areas(points: torch.Tensor) -> torch.Tensor:  # [..., 4, 2] -> [..., 4]
    """Double the signed areas of points (0, 1, 2) with each replaced by point 3, and with none."""
    p0, p1, p2, p3 = points.unbind(-2)
    areas = []
    for a, b, c in ((p3, p1, p2), (p0, p3, p2), (p0, p1, p3), (p0, p1, p2)):
        (ux, uy), (vx, vy) = (b - a).unbind(-1), (c - a).unbind(-1)
        areas.append(ux * vy - uy * vx)
    return torch.stack(areas, dim=-1)
