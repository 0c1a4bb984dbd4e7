"""Inverses of affine and perspective matrices, in OpenCV's order of operations."""

from __future__ import annotations

import torch

from orbbec.matrices.arguments import ArrayT, like, read_matrix, stack_matrix


def invert_affine(matrix: ArrayT) -> ArrayT:
    """Invert 2x3 affine matrices.

    A tensor stays on its device without synchronization, with the same bits as on the CPU.

    Args:
        matrix: real ``[N, 2, 3]`` or ``[2, 3]``, tensor or array; converted to float64 first, as
            ``cv2.warpAffine`` does.

    Returns:
        float64, with the type, shape and device of ``matrix``. A singular matrix gives zeros; NaN gives NaN.

    Raises:
        TypeError: ``matrix`` is not a tensor or array of real numbers.
        ValueError: its shape is invalid.

    Source:
        ``cv::invertAffineTransform`` of a float64 matrix, to the last bit (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> right_by_one_doubled = torch.tensor([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
        >>> (invert_affine(right_by_one_doubled) + 0.0).tolist()
        [[0.5, 0.0, -0.5], [0.0, 0.5, 0.0]]
    """
    return like(_invert_2x3(read_matrix("invert_affine", matrix, (2, 3))), matrix)


def invert_perspective(matrix: ArrayT) -> ArrayT:
    """Invert 3x3 matrices as adjugate over determinant.

    A tensor stays on its device without synchronization, with the same bits as on the CPU.

    Args:
        matrix: real ``[N, 3, 3]`` or ``[3, 3]``, tensor or array; converted to float64 first, as
            ``cv2.warpPerspective`` does.

    Returns:
        float64, with the type, shape and device of ``matrix``. A singular matrix gives zeros; NaN gives NaN.

    Raises:
        TypeError: ``matrix`` is not a tensor or array of real numbers.
        ValueError: its shape is invalid.

    Source:
        ``cv::invert`` of a float64 3x3 matrix, to the last bit (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> invert_perspective(torch.tensor([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])).tolist()
        [[0.5, 0.0, -0.5], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    return like(_invert_3x3(read_matrix("invert_perspective", matrix, (3, 3))), matrix)


def matrix_to_source(matrix: ArrayT) -> ArrayT:
    """Invert source-to-output matrices to the output-to-source matrices that a warp samples with.

    ``cv2.warpAffine`` and ``cv2.warpPerspective`` do this unless ``WARP_INVERSE_MAP`` is set. Their order of
    products differs from ``cv2.invertAffineTransform`` but rounds to the same bits, so the result equals that
    of `invert_affine` or `invert_perspective`, depending on the shape.

    Args:
        matrix: real ``[N, 2, 3]``, ``[2, 3]``, ``[N, 3, 3]`` or ``[3, 3]``, tensor or array: source to
            output pixels.

    Returns:
        float64, with the type, shape and device of ``matrix``: output to source pixels. A singular matrix
        gives zeros.

    Raises:
        TypeError: ``matrix`` is not a tensor or array of real numbers.
        ValueError: its shape is invalid.

    Source:
        ``cv::warpAffine``, ``cv::warpPerspective`` (OpenCV 5.0.0 and 4.12.0).

    Example:
        >>> right_by_one = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
        >>> matrix_to_source(right_by_one)[0].tolist()
        [1.0, -0.0, -1.0]
    """
    values = read_matrix("matrix_to_source", matrix, (2, 3), (3, 3))
    return like(_invert_2x3(values) if values.shape[-2] == 2 else _invert_3x3(values), matrix)


def _invert_2x3(matrix: torch.Tensor) -> torch.Tensor:
    a, b, c, d, e, f = matrix.flatten(-2).unbind(-1)
    inverse_determinant, _ = _reciprocal_or_zero(a * e - b * d)
    a11, a12 = e * inverse_determinant, -b * inverse_determinant
    a21, a22 = -d * inverse_determinant, a * inverse_determinant
    b1 = -a11 * c - a12 * f
    b2 = -a21 * c - a22 * f
    return stack_matrix(2, a11, a12, b1, a21, a22, b2)


def _invert_3x3(matrix: torch.Tensor) -> torch.Tensor:
    a, b, c, d, e, f, g, h, i = matrix.flatten(-2).unbind(-1)
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    inverse_determinant, singular = _reciprocal_or_zero(determinant)
    adjugate = [
        *(e * i - f * h, c * h - b * i, b * f - c * e),
        *(f * g - d * i, a * i - c * g, c * d - a * f),
        *(d * h - e * g, b * g - a * h, a * e - b * d),
    ]
    inverse = stack_matrix(3, *adjugate) * inverse_determinant[..., None, None]
    return torch.where(singular[..., None, None], 0.0, inverse)


def _reciprocal_or_zero(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    # The inner torch.where keeps the gradient of a singular entry finite.
    zero = values == 0
    return torch.where(zero, 0.0, 1 / torch.where(zero, 1.0, values)), zero
