"""Drawn coordinate transforms compared with OpenCV's matrices, NumPy's cuts and torchvision's formulas."""

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

from orbbec.plan.draws import draw_coordinates
from orbbec.plan.template import Coordinate
from orbbec.plan.tests.test_draws import area_by_hand
from tests.support.philox import blocks, uniforms

SIZES = [(5, 7), (9, 4), (1, 1), (31, 40), (40, 31), (12, 12), (8, 13)]
IDS = np.array([3, -4, 70, 8, 0, 5, 2**40])
KEY = {"seed": 8, "epoch": 2}
CROPS = {
    "cut": (4, 3, 0, 0, 0, 0, 1),
    "with margins": (6, 5, 1, 2, 3, 4, 1),
    "larger than the image": (50, 9, 0, 0, 0, 0, 1),
    "larger with margins": (50, 45, 3, 0, 1, 2, 1),
}


def drawn(*rows, sizes=SIZES, begins=()):
    """Per pass, the matrix, box, size and flip of each image; transform indices are those of the rows."""
    program = torch.zeros(len(rows), 10, dtype=torch.float64)
    for index, (kind, *numbers) in enumerate(rows):
        program[index, :3] = torch.tensor([kind, index, index in begins])
        program[index, 3 : 3 + len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
    count = len(sizes)
    tables = draw_coordinates(np.array(sizes), IDS[:count], program, 1 + len(begins), *KEY.values())
    for table in tables:
        matrices, boxes, outputs, flips = np.split(table, np.cumsum([9 * count, 4 * count, 2 * count]))
        yield matrices.reshape(-1, 3, 3), boxes.reshape(-1, 4), outputs.reshape(-1, 2), flips


def numbers_of(image, index, count):
    """The numbers from 0 to 1 of an image at a transform index, by the tests' own Philox."""
    words = blocks(int(IDS[image]), np.arange(-(-count // 4)), transform_index=index, **KEY)
    return uniforms(words).ravel()[:count].astype(float)


def reading(rect, size, mirror=(False, False)):
    """OpenCV's matrix from output pixels to those of `rect`, whose outer edges are those of the output."""
    (left, top, width, height), (rows, columns) = rect, size
    x, y = ([left + width, left] if mirror[0] else [left, left + width]), [top, top + height]
    y = y[::-1] if mirror[1] else y
    source = np.array([[x[0], y[0]], [x[1], y[0]], [x[0], y[1]]], np.float32) - np.float32(0.5)
    output = np.array([[0, 0], [columns, 0], [0, rows]], np.float32) - np.float32(0.5)
    return np.concatenate([cv2.getAffineTransform(output, source), [[0, 0, 1]]])


def whole(size):
    return 0, 0, size[1], size[0]


def assert_reads(table, expected):
    """Compare a pass with the matrix, and the size, that are expected of each image."""
    matrices, _, outputs, _ = table
    for n, (matrix, size) in enumerate(expected):
        assert outputs[n].tolist() == list(size)
        assert matrices[n] == pytest.approx(matrix, abs=1e-5), n


def resized_size(size, side, longest=None):
    """The size by torchvision's `_compute_resized_output_size` for one side."""
    short, long = min(size), max(size)
    new_short, new_long = side, int(side * long / short)
    if longest and new_long > longest:
        new_short, new_long = int(longest * new_short / new_long), longest
    new_short, new_long = max(new_short, 1), max(new_long, 1)
    return (new_long, new_short) if size[1] <= size[0] else (new_short, new_long)


def cropped_at(n, size, crop, index=0):
    """Left and top of torchvision's random crop, which pads both sides by what is lacking."""
    height, width, left, top, right, bottom, if_needed = crop
    rows, columns = size[0] + top + bottom, size[1] + left + right
    if if_needed:
        lacking = max(height - rows, 0), max(width - columns, 0)
        top, left = top + lacking[0], left + lacking[1]
        rows, columns = rows + 2 * lacking[0], columns + 2 * lacking[1]
    y, x = numbers_of(n, index, 2)
    return int(x * (columns - width + 1)) - left, int(y * (rows - height + 1)) - top


def test_a_resize_reads_as_opencvs():
    (table,) = drawn((Coordinate.RESIZE, 6, 11))
    assert_reads(table, [(reading(whole(size), (6, 11)), (6, 11)) for size in SIZES])
    assert (table[1] == [whole(size) for size in SIZES]).all()
    ramp = np.stack(np.meshgrid(np.arange(40.0), np.arange(31.0)), -1)
    resized = cv2.resize(ramp, (11, 6), interpolation=cv2.INTER_LINEAR)
    grid = np.stack(np.meshgrid(np.arange(11), np.arange(6), [1]), -1).reshape(6, 11, 3)
    positions = (grid @ table[0][SIZES.index((31, 40))].T)[..., :2]
    assert np.abs(np.clip(positions, 0, [39, 30]) - resized).max() < 1e-4


@pytest.mark.parametrize(("side", "longest"), [(6, 0), (17, 0), (6, 8), (17, 18), (3, 2)])
def test_a_resize_of_the_shorter_side_has_torchvisions_sizes(side, longest):
    (table,) = drawn((Coordinate.RESIZE_SHORTER, side, longest))
    outputs = [resized_size(size, side, longest) for size in SIZES]
    pairs = zip(SIZES, outputs, strict=True)
    assert_reads(table, [(reading(whole(size), output), output) for size, output in pairs])


@pytest.mark.parametrize("crop", CROPS.values(), ids=CROPS)
def test_a_random_crop_is_cut_as_by_numpy(crop):
    (table,) = drawn((Coordinate.CROP, *crop))
    for n, (height, width) in enumerate(SIZES):
        left, top = cropped_at(n, (height, width), crop)
        margin = 60
        rows, columns = (np.arange(-margin, side + margin) for side in (height, width))
        cut_rows = rows[margin + top : margin + top + crop[0]]
        cut_columns = columns[margin + left : margin + left + crop[1]]
        matrix, output = table[0][n], table[2][n]
        assert output.tolist() == [crop[0], crop[1]] == [len(cut_rows), len(cut_columns)]
        assert (matrix[0, 0] * np.arange(crop[1]) + matrix[0, 2] == cut_columns).all()
        assert (matrix[1, 1] * np.arange(crop[0]) + matrix[1, 2] == cut_rows).all()
        assert table[1][n].tolist() == [left, top, left + crop[1], top + crop[0]]


def test_a_crop_that_does_not_fit_names_the_image():
    with pytest.raises(ValueError, match="expected images of at least 6x7, but image 0 is 5x7"):
        list(drawn((Coordinate.CROP, 6, 7, 0, 0, 0, 0, 0)))
    (table,) = drawn((Coordinate.CROP, 6, 7, 0, 0, 0, 1, 0), sizes=[(5, 7)])
    assert table[1].tolist() == [[0, 0, 7, 6]]


@pytest.mark.parametrize("size", [(4, 3), (7, 8), (1, 1), (50, 5), (45, 44)])
def test_a_center_crop_has_torchvisions_position(size):
    def begin(side, wanted):
        return -((wanted - side) // 2) if wanted > side else round((side - wanted) / 2.0)

    (table,) = drawn((Coordinate.CENTER_CROP, *size))
    for n, image in enumerate(SIZES):
        top, left = (begin(*sides) for sides in zip(image, size, strict=True))
        edges = np.array([left, top, left + size[1], top + size[0]])
        assert table[0][n] == pytest.approx(reading((left, top, size[1], size[0]), size))
        assert table[1][n].tolist() == np.clip(edges, 0, np.tile(image[::-1], 2)).tolist()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_flip_reads_as_numpys_by_chance(axis, p):
    (table,) = drawn((Coordinate.FLIP_COLUMNS if axis == 0 else Coordinate.FLIP_ROWS, p))
    chosen = [numbers_of(n, 0, 1)[0] < p for n in range(len(SIZES))]
    assert {0.0: {False}, 0.3: {False, True}, 1.0: {True}}[p] == set(chosen)
    for n, (height, width) in enumerate(SIZES):
        columns, rows = np.arange(width), np.arange(height)
        if chosen[n]:
            columns, rows = (np.flip(columns), rows) if axis == 0 else (columns, np.flip(rows))
        matrix = table[0][n]
        assert (matrix[0, 0] * np.arange(width) + matrix[0, 2] == columns).all()
        assert (matrix[1, 1] * np.arange(height) + matrix[1, 2] == rows).all()
    assert table[3].tolist() == (chosen if axis == 0 else [0] * len(SIZES))
    assert table[2].tolist() == [list(size) for size in SIZES]


@pytest.mark.parametrize("scale", [(0.1, 0.6), (1.0, 1.0)])
def test_a_resized_crop_reads_its_area_or_the_middle(scale):
    ratio, size, found = (1.2, 1.9), (6, 11), set()
    (table,) = drawn((Coordinate.RESIZE_AREA, *size, *scale, *ratio))
    for n, (height, width) in enumerate(SIZES):
        area = area_by_hand((height, width), scale, ratio, numbers_of(n, 0, 40), False)
        found.add(area is None)
        if area is None:  # the largest centered region whose ratio is in range
            wide, high = width / height > ratio[1], width / height < ratio[0]
            columns = round(height * ratio[1]) if wide else width
            rows = round(width / ratio[0]) if high else height
            area = rows, columns, (height - rows) // 2, (width - columns) // 2
        rows, columns, top, left = area
        assert table[0][n] == pytest.approx(reading((left, top, columns, rows), size), abs=1e-5)
        assert table[1][n].tolist() == [left, top, left + columns, top + rows]
    assert found == ({False, True} if scale == (1.0, 1.0) else {False})


def test_transforms_in_sequence_read_through_each_other():
    crop, size = (8, 6, 1, 2, 3, 4, 1), (5, 9)
    rows = [
        (Coordinate.RESIZE_SHORTER, 10, 0),
        (Coordinate.FLIP_COLUMNS, 0.5),
        (Coordinate.CROP, *crop),
        (Coordinate.FLIP_ROWS, 0.5),
        (Coordinate.RESIZE, *size),
        (Coordinate.CENTER_CROP, 3, 4),
    ]
    (table,) = drawn(*rows)
    for n, image in enumerate(SIZES):
        resized = resized_size(image, 10)
        flips = [numbers_of(n, index, 1)[0] < 0.5 for index in (1, 3)]
        steps = [
            reading(whole(image), resized),
            reading(whole(resized), resized, (flips[0], False)),
            reading((*cropped_at(n, resized, crop, index=2), 6, 8), (8, 6)),
            reading(whole((8, 6)), (8, 6), (False, flips[1])),
            reading(whole((8, 6)), size),
            reading((round(5 / 2), 1, 4, 3), (3, 4)),
        ]
        assert table[0][n] == pytest.approx(np.linalg.multi_dot(steps), abs=1e-4)
        assert table[1][n].tolist() == [0, 0, image[1], image[0]]
        assert table[3][n] == flips[0]
    assert (table[2] == [3, 4]).all()


def test_a_pass_begins_with_the_output_of_the_last():
    first, second = drawn(
        (Coordinate.RESIZE, 6, 11),
        (Coordinate.FLIP_COLUMNS, 1.0),
        (Coordinate.CROP, 4, 3, 0, 0, 0, 0, 0),
        begins=(2,),
    )
    assert_reads(first, [(reading(whole(size), (6, 11), (True, False)), (6, 11)) for size in SIZES])
    assert first[3].tolist() == [1] * len(SIZES)
    positions = [cropped_at(n, (6, 11), (4, 3, 0, 0, 0, 0, 0), index=2) for n in range(len(SIZES))]
    assert_reads(second, [(reading((*at, 3, 4), (4, 3)), (4, 3)) for at in positions])
    assert second[3].tolist() == [0] * len(SIZES)
