"""Affine and perspective matrices from points and angles, and their inverses, with OpenCV's results.

Begin with matrices.py: `get_affine_matrix` and its relatives. inverses.py inverts matrices, and converts
source-to-output matrices to those with which warps read. linear.py solves small systems in a fixed order of
operations, so that all devices give the same bits; arguments.py converts and checks.
"""

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
