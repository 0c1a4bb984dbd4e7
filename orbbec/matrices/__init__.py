"""Affine and perspective matrices from points and angles, and inverses, with OpenCV's results."""

from orbbec.matrices.inverses import invert_affine, invert_perspective, matrix_to_source
from orbbec.matrices.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    get_similarity_matrix,
)

__all__ = [
    "get_affine_matrix",
    "get_perspective_matrix",
    "get_rotation_matrix",
    "get_similarity_matrix",
    "invert_affine",
    "invert_perspective",
    "matrix_to_source",
]
