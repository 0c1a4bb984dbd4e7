"""Affine warps compared with torchvision's formulas."""

import math

import numpy as np
import pytest

from orbbec.plan.tests.program_rows import SIZES, computed


def translation(x, y):
    return np.array([[1.0, 0, x], [0, 1, y], [0, 0, 1]])


def affine_by_torchvision(numbers, size, center=None, expand=False):
    """The matrix from output pixels to those of an image, and the size of the output: (height, width).

    torchvision's `_get_inverse_affine_matrix` in terms of the matrix that it inverts, its grid, and its
    `_compute_affine_output_size`.
    """
    angle, shear_x, shear_y = np.radians([numbers[0], *numbers[5:7]])
    linear = np.eye(3)
    linear[:2, :2] = [
        [
            math.cos(angle - shear_y) / math.cos(shear_y),
            -math.cos(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(angle),
        ],
        [
            math.sin(angle - shear_y) / math.cos(shear_y),
            -math.sin(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(angle),
        ],
    ]
    height, width = size
    x, y = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
    forward = translation(x + numbers[1], y + numbers[2]) @ linear @ np.diag([*numbers[3:5], 1.0])
    inverse = np.linalg.inv(forward @ translation(-x, -y))  # between offsets from the centers
    output = size
    if expand:
        corners = [(a * width, b * height, 1.0) for a in (-0.5, 0.5) for b in (-0.5, 0.5)]
        moved = (np.array(corners) @ inverse[:2].T) + np.array([width, height]) * 0.5
        low, high = (np.trunc(ends * 1e4) * 1e-4 for ends in (moved.min(0), moved.max(0)))
        output = tuple((np.ceil(high) - np.floor(low)).astype(int)[::-1].tolist())
    to_center = translation((1 - output[1]) / 2, (1 - output[0]) / 2)
    return translation((width - 1) / 2, (height - 1) / 2) @ inverse @ to_center, output


AFFINES = {
    "rotation": (33.0, 0, 0, 1, 1, 0, 0),
    "shift": (0.0, 3, -5, 1, 1, 0, 0),
    "shears": (0.0, 0, 0, 1, 1, 12.0, -31.0),
    "all": (-71.0, 4, 2, 0.7, 0.7, 8.0, 5.0),
    "unequal scales": (160.0, -2, 1, 0.5, 1.9, -20.0, 14.0),
}


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("name", AFFINES)
def test_an_affine_warp_is_torchvisions(name, expand):
    table = computed("affine", *AFFINES[name], operands=(0, 0, 0, int(expand)))
    for n, size in enumerate(SIZES):
        matrix, output = affine_by_torchvision(AFFINES[name], size, expand=expand)
        assert table.matrices[n] == pytest.approx(matrix, abs=1e-9)
        assert table.outputs[n].tolist() == list(output)


@pytest.mark.parametrize("name", AFFINES)
def test_an_affine_warp_about_a_center_is_torchvisions(name):
    table = computed("affine", *AFFINES[name], operands=(1, 2.5, -4.0, 0))
    expected = [affine_by_torchvision(AFFINES[name], size, (2.5, -4.0)) for size in SIZES]
    for matrix, (wanted, _) in zip(table.matrices, expected, strict=True):
        assert matrix == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("degrees", [90, 180, 270, -90, 360])
def test_rotations_by_right_angles_are_exact(degrees):
    sizes = [(5, 7), (1, 1), (12, 12), (9, 3), (40, 38), (5, 8), (12, 1)]
    table = computed("affine", degrees, 0, 0, 1, 1, 0, 0, operands=(0, 0, 0, 1), sizes=sizes)
    for n, (height, width) in enumerate(sizes):
        y, x = np.mgrid[:height, :width]
        source = np.rot90(np.stack([x, y], -1), -degrees // 90)  # clockwise
        assert table.outputs[n].tolist() == list(source.shape[:2])
        rows, columns = np.mgrid[: source.shape[0], : source.shape[1]]
        at = np.stack([columns, rows, np.ones_like(rows)], -1)
        assert np.array_equal((at @ table.matrices[n].T)[..., :2], source)
