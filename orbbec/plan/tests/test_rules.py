"""Geometry rules compared with OpenCV's matrices, NumPy's cuts and torchvision's formulas."""

import math

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")

from orbbec.plan.tests.program_rows import IDS, KEY, SIZES, Rows, computed, drawn, passes_of
from orbbec.plan.tests.test_draws import area_by_hand
from tests.support.philox import blocks, uniforms

CROPS = {
    "cut": (4, 3, 0, 0, 0, 0, 1),
    "with margins": (6, 5, 1, 2, 3, 4, 1),
    "larger than the image": (50, 9, 0, 0, 0, 0, 1),
    "larger with margins": (50, 45, 3, 0, 1, 2, 1),
}


def numbers_of(image, index, count):
    """The numbers from 0 to 1 of an image in a stream, by the tests' own Philox."""
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
    for n, (matrix, size) in enumerate(expected):
        assert table.outputs[n].tolist() == list(size)
        assert table.matrices[n] == pytest.approx(matrix, abs=1e-5), n


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
    (table,) = drawn(("resize", 6, 11, 0))
    assert_reads(table, [(reading(whole(size), (6, 11)), (6, 11)) for size in SIZES])
    assert (table.boxes == [whole(size) for size in SIZES]).all()
    ramp = np.stack(np.meshgrid(np.arange(40.0), np.arange(31.0)), -1)
    resized = cv2.resize(ramp, (11, 6), interpolation=cv2.INTER_LINEAR)
    grid = np.stack(np.meshgrid(np.arange(11), np.arange(6), [1]), -1).reshape(6, 11, 3)
    positions = (grid @ table.matrices[SIZES.index((31, 40))].T)[..., :2]
    assert np.abs(np.clip(positions, 0, [39, 30]) - resized).max() < 1e-4


@pytest.mark.parametrize(("side", "longest"), [(6, 0), (17, 0), (6, 8), (17, 18), (3, 2)])
def test_a_resize_of_the_shorter_side_has_torchvisions_sizes(side, longest):
    table = computed("resize_shorter", side, operands=(longest, 0))
    outputs = [resized_size(size, side, longest) for size in SIZES]
    pairs = zip(SIZES, outputs, strict=True)
    assert_reads(table, [(reading(whole(size), output), output) for size, output in pairs])


@pytest.mark.parametrize("crop", CROPS.values(), ids=CROPS)
def test_a_random_crop_is_cut_as_by_numpy(crop):
    (table,) = drawn(("crop_random", *crop))
    for n, (height, width) in enumerate(SIZES):
        left, top = cropped_at(n, (height, width), crop)
        margin = 60
        rows, columns = (np.arange(-margin, side + margin) for side in (height, width))
        cut_rows = rows[margin + top : margin + top + crop[0]]
        cut_columns = columns[margin + left : margin + left + crop[1]]
        matrix, output = table.matrices[n], table.outputs[n]
        assert output.tolist() == [crop[0], crop[1]] == [len(cut_rows), len(cut_columns)]
        assert (matrix[0, 0] * np.arange(crop[1]) + matrix[0, 2] == cut_columns).all()
        assert (matrix[1, 1] * np.arange(crop[0]) + matrix[1, 2] == cut_rows).all()
        assert table.boxes[n].tolist() == [left, top, left + crop[1], top + crop[0]]


def test_a_crop_that_does_not_fit_names_the_image():
    with pytest.raises(ValueError, match="expected images of at least 6x7, but image 0 is 5x7"):
        list(drawn(("crop_random", 6, 7, 0, 0, 0, 0, 0)))
    (table,) = drawn(("crop_random", 6, 7, 0, 0, 0, 1, 0), sizes=[(5, 7)])
    assert table.boxes.tolist() == [[0, 0, 7, 6]]


@pytest.mark.parametrize("size", [(4, 3), (7, 8), (1, 1), (50, 5), (45, 44)])
def test_a_center_crop_has_torchvisions_position(size):
    def begin(side, wanted):
        return -((wanted - side) // 2) if wanted > side else round((side - wanted) / 2.0)

    (table,) = drawn(("crop_center", *size))
    for n, image in enumerate(SIZES):
        top, left = (begin(*sides) for sides in zip(image, size, strict=True))
        edges = np.array([left, top, left + size[1], top + size[0]])
        assert table.matrices[n] == pytest.approx(reading((left, top, size[1], size[0]), size))
        assert table.boxes[n].tolist() == np.clip(edges, 0, np.tile(image[::-1], 2)).tolist()


def flipped_by_chance(axis, p):
    rows = Rows()
    rows.add("flip", axis, gate=rows.add("chance", p, stream=0))
    rows.end_pass()
    return rows


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_a_flip_reads_as_numpys_by_chance(axis, p):
    (table,) = passes_of(flipped_by_chance(axis, p))
    chosen = [numbers_of(n, 0, 1)[0] < p for n in range(len(SIZES))]
    assert {0.0: {False}, 0.3: {False, True}, 1.0: {True}}[p] == set(chosen)
    for n, (height, width) in enumerate(SIZES):
        columns, rows = np.arange(width), np.arange(height)
        if chosen[n]:
            columns, rows = (np.flip(columns), rows) if axis == 0 else (columns, np.flip(rows))
        matrix = table.matrices[n]
        assert (matrix[0, 0] * np.arange(width) + matrix[0, 2] == columns).all()
        assert (matrix[1, 1] * np.arange(height) + matrix[1, 2] == rows).all()
    assert table.flips.tolist() == (chosen if axis == 0 else [0] * len(SIZES))
    assert table.outputs.tolist() == [list(size) for size in SIZES]


@pytest.mark.parametrize("scale", [(0.1, 0.6), (1.0, 1.0)])
def test_a_resized_crop_reads_its_area_or_the_middle(scale):
    ratio, size, found = (1.2, 1.9), (6, 11), set()
    (table,) = drawn(("resize_area", *size, *scale, *ratio, *map(math.log, ratio), 0))
    for n, (height, width) in enumerate(SIZES):
        area = area_by_hand((height, width), scale, ratio, numbers_of(n, 0, 40), False)
        found.add(area is None)
        if area is None:  # the largest centered region whose ratio is in range
            wide, high = width / height > ratio[1], width / height < ratio[0]
            columns = round(height * ratio[1]) if wide else width
            rows = round(width / ratio[0]) if high else height
            area = rows, columns, (height - rows) // 2, (width - columns) // 2
        rows, columns, top, left = area
        assert table.matrices[n] == pytest.approx(reading((left, top, columns, rows), size), abs=1e-5)
        assert table.boxes[n].tolist() == [left, top, left + columns, top + rows]
    assert found == ({False, True} if scale == (1.0, 1.0) else {False})


def test_transforms_in_sequence_read_through_each_other():
    crop, size = (8, 6, 1, 2, 3, 4, 1), (5, 9)
    rows = Rows()
    rows.add("resize_shorter", rows.set(10), 0, 0)
    rows.add("flip", 0, gate=rows.add("chance", 0.5, stream=1))
    rows.add("crop_random", *crop, stream=2)
    rows.add("flip", 1, gate=rows.add("chance", 0.5, stream=3))
    rows.add("resize", *size, 0)
    rows.add("crop_center", 3, 4)
    rows.end_pass()
    (table,) = passes_of(rows)
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
        assert table.matrices[n] == pytest.approx(np.linalg.multi_dot(steps), abs=1e-4)
        assert table.boxes[n].tolist() == [0, 0, image[1], image[0]]
        assert table.flips[n] == flips[0]
    assert (table.outputs == [3, 4]).all()


def test_a_pass_begins_with_the_output_of_the_last():
    first, second = drawn(
        ("resize", 6, 11, 0),
        ("flip", 0),
        ("crop_random", 4, 3, 0, 0, 0, 0, 0),
        begins=(2,),
    )
    assert_reads(first, [(reading(whole(size), (6, 11), (True, False)), (6, 11)) for size in SIZES])
    assert first.flips.tolist() == [1] * len(SIZES)
    positions = [cropped_at(n, (6, 11), (4, 3, 0, 0, 0, 0, 0), index=2) for n in range(len(SIZES))]
    assert_reads(second, [(reading((*at, 3, 4), (4, 3)), (4, 3)) for at in positions])
    assert second.flips.tolist() == [0] * len(SIZES)


@pytest.mark.parametrize("nearest", [1, 2])
def test_a_resize_by_nearest_reads_floored_positions(nearest):
    # Targets follow the matrix alone, as those of a linear resize.
    for output in ((6, 11), (1, 1), (31, 40), (15, 80), (62, 13)):
        (table,) = drawn(("resize", *output, nearest))
        assert_reads(table, [(reading(whole(size), output), output) for size in SIZES])
        for n, (height, width) in enumerate(SIZES):
            for axis, (source, side) in enumerate(((width, output[1]), (height, output[0]))):
                at, begin = np.arange(side), table.matrices[n, axis, 2] + table.offsets[n, axis]
                positions = (table.matrices[n, axis, axis] * at + begin).astype(np.float32)
                exact = [(2 * x + nearest - 1) * source // (2 * side) for x in at.tolist()]
                assert np.rint(positions).tolist() == exact


def test_a_resize_of_the_longer_side_has_torchvisions_sizes():
    for side in (1, 6, 17):
        (table,) = drawn(("resize_longer", side, 0))
        outputs = [
            tuple(side if own == max(size) else max(int(side * min(size) / max(size)), 1) for own in size)
            for size in SIZES
        ]
        pairs = zip(SIZES, outputs, strict=True)
        assert_reads(table, [(reading(whole(size), output), output) for size, output in pairs])


def fitted_size(size, target, enlarge):
    """The largest size within `target` of the aspect ratio, rounded half to even."""
    scale = min(target[0] / size[0], target[1] / size[1])
    scale = scale if enlarge else min(scale, 1.0)
    return tuple(max(round(side * scale), 1) for side in size)


@pytest.mark.parametrize("enlarge", [0, 1])
@pytest.mark.parametrize("target", [(20, 30), (7, 3), (1, 1)])
def test_a_resize_that_fits_rounds_half_to_even(target, enlarge):
    (table,) = drawn(("resize_fit", *target, enlarge, 0))
    outputs = [fitted_size(size, target, enlarge) for size in SIZES]
    pairs = zip(SIZES, outputs, strict=True)
    assert_reads(table, [(reading(whole(size), output), output) for size, output in pairs])
    assert ((table.outputs == target).any(1) | ~np.bool_(enlarge)).all()


@pytest.mark.parametrize("factor", [0.1, 0.61, 1.0, 1.7])
@pytest.mark.parametrize("target", [(0, 0), (20, 30)])
def test_a_scaled_resize_has_torchvisions_sizes(factor, target):
    def scaled(size):
        # ScaleJitter's ratios are crossed: target width to height, target height to width.
        fit = min(target[1] / size[0], target[0] / size[1]) * factor if target[0] else factor
        return tuple(max(int(side * fit), 1) for side in size)

    table = computed("resize_scaled", factor, operands=(*target, 0))
    assert_reads(table, [(reading(whole(size), scaled(size)), scaled(size)) for size in SIZES])


@pytest.mark.parametrize(("side", "longest"), [(6, 0), (17, 0), (6, 8), (17, 18), (3, 2)])
def test_a_resize_of_the_shortest_size_has_torchvisions_sizes(side, longest):
    def resized(size):
        factor = side / min(size)
        factor = min(factor, longest / max(size)) if longest else factor
        return tuple(max(int(own * factor), 1) for own in size)

    table = computed("resize_shortest", side, operands=(longest, 0))
    assert_reads(table, [(reading(whole(size), resized(size)), resized(size)) for size in SIZES])


@pytest.mark.parametrize(("top", "left"), [(0, 0), (2, 1), (-3, 4), (30, -50)])
def test_a_fixed_crop_reads_its_rectangle(top, left):
    (table,) = drawn(("crop_fixed", top, left, 4, 3, 1))
    assert_reads(table, [(reading((left, top, 3, 4), (4, 3)), (4, 3))] * len(SIZES))
    edges = [left, top, left + 3, top + 4]
    # numpy's minimum and maximum, since edges beyond the other side are clipped like those within
    expected = [np.minimum(np.maximum(edges, 0), np.tile(size[::-1], 2)).tolist() for size in SIZES]
    assert table.boxes.tolist() == expected


def test_a_fixed_crop_without_padding_must_fit():
    (table,) = drawn(("crop_fixed", 1, 2, 4, 3, 0), sizes=[(5, 5), (9, 9)])
    assert table.boxes.tolist() == [[2, 1, 5, 5]] * 2
    for sizes in ([(9, 9), (4, 9)], [(9, 9), (9, 4)]):
        with pytest.raises(ValueError, match="rule 0: expected images of at least 5x5, but image 1 is"):
            list(drawn(("crop_fixed", 1, 2, 4, 3, 0), sizes=sizes))


def test_a_pad_adds_numpys_margins():
    left, top, right, bottom = 1, 2, 3, 40
    (table,) = drawn(("pad", left, top, right, bottom))
    for n, (height, width) in enumerate(SIZES):
        padded = np.pad(np.zeros((height, width)), ((top, bottom), (left, right)), constant_values=1)
        assert tuple(table.outputs[n]) == padded.shape
        assert table.matrices[n].tolist() == [[1, 0, -left], [0, 1, -top], [0, 0, 1]]
        assert padded[top, left] == 0
        assert table.boxes[n].tolist() == [-left, -top, width + right, height + bottom]


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0)])
def test_a_pad_to_a_size_divides_what_is_lacking(fractions):
    (table,) = drawn(("pad_to", 20, 13, *fractions, 0))
    for n, (height, width) in enumerate(SIZES):
        lacking = max(20 - height, 0), max(13 - width, 0)
        top, left = (int(lack * fraction) for lack, fraction in zip(lacking, fractions, strict=True))
        assert table.matrices[n].tolist() == [[1, 0, -left], [0, 1, -top], [0, 0, 1]]
        assert table.outputs[n].tolist() == [height + lacking[0], width + lacking[1]]


def test_a_pad_to_a_size_draws_its_position():
    (table,) = drawn(("pad_to", 20, 13, 0, 0, 1))
    for n, (height, width) in enumerate(SIZES):
        lacking = max(20 - height, 0), max(13 - width, 0)
        top, left = (int(u * (lack + 1)) for u, lack in zip(numbers_of(n, 0, 2), lacking, strict=True))
        assert table.matrices[n].tolist() == [[1, 0, -left], [0, 1, -top], [0, 0, 1]]


def test_a_zoom_out_has_torchvisions_canvas():
    factor, x, y = 2.3, 0.7, 0.2
    table = computed("zoom_out", factor, x, y)
    for n, (height, width) in enumerate(SIZES):
        rows, columns = int(height * factor), int(width * factor)
        left, top = int((columns - width) * x), int((rows - height) * y)
        assert table.outputs[n].tolist() == [rows, columns]
        assert table.matrices[n].tolist() == [[1, 0, -left], [0, 1, -top], [0, 0, 1]]


@pytest.mark.parametrize("enlarge", [0, 1])
def test_a_letterbox_is_a_resize_and_a_pad(enlarge):
    target = (20, 33)
    (table,) = drawn(("letterbox", *target, enlarge, 0))
    for n, size in enumerate(SIZES):
        inner = fitted_size(size, target, enlarge)
        top, left = (target[0] - inner[0]) // 2, (target[1] - inner[1]) // 2
        resized, padded = drawn(("resize", *inner, 0), ("pad", left, top, 0, 0), sizes=[size], begins=(1,))
        assert table.matrices[n] == pytest.approx(resized.matrices[0] @ padded.matrices[0], abs=1e-12)
        assert table.outputs[n].tolist() == list(target)


def test_a_matrix_warp_multiplies_by_its_matrix():
    matrix = (0.5, 0.1, 3.0, -0.2, 2.0, 4.0, 0.001, 0.002, 1.0)
    (table,) = drawn(("resize", 6, 11, 0), ("matrix_warp", matrix))
    for n, size in enumerate(SIZES):
        expected = reading(whole(size), (6, 11)) @ np.reshape(matrix, (3, 3))
        assert table.matrices[n] == pytest.approx(expected, abs=1e-5)
    assert (table.outputs == [6, 11]).all()


@pytest.mark.parametrize("has_box", [0, 1])
def test_a_step_reads_what_its_registers_say(has_box):
    matrix, box = [1.5, 0, 3, 0, 0.5, 4, 0, 0, 1], [3, 4, 9, 8]
    rows = Rows()
    rows.add("step_warp", rows.set(*matrix, 5, 9, *box, 1, 0.25, -0.5), has_box)
    rows.add("flip", 0)
    rows.end_pass()
    (table,) = passes_of(rows)
    flip = np.array([[-1, 0, 8], [0, 1, 0], [0, 0, 1]])
    for n, size in enumerate(SIZES):
        assert table.matrices[n] == pytest.approx(np.reshape(matrix, (3, 3)) @ flip)
        assert table.boxes[n].tolist() == (box if has_box else [0, 0, *size[::-1]])
    assert (table.outputs == [5, 9]).all()
    assert (table.offsets == [0.25, -0.5]).all()
    assert not table.flips.any()  # flipped twice


def test_offsets_are_those_of_the_image():
    """The offset of a later resize by nearest is in pixels of what the pass reads."""
    first, second = drawn(("resize", 6, 11, 0), ("resize", 4, 4, 1), begins=(1,))
    (table,) = drawn(("resize", 6, 11, 0), ("resize", 4, 4, 1))
    scales = first.matrices[:, [0, 1], [0, 1]]
    assert np.abs(table.offsets - scales * second.offsets).max() < 1e-12
    assert table.offsets.any()


def test_a_rule_that_does_not_run_leaves_the_image():
    rows = Rows()
    zero = rows.set(0.0)
    rows.add("flip", 0, gate=zero)
    rows.add("crop_random", 500, 500, 0, 0, 0, 0, 0, gate=zero)  # no image is large enough
    rows.add("resize", 3, 4, 2, gate=zero)
    rows.end_pass()
    (table,) = passes_of(rows)
    assert_reads(table, [(np.eye(3), size) for size in SIZES])
    assert not table.offsets.any()
    assert not table.flips.any()
    assert table.boxes.tolist() == [list(map(float, whole(size))) for size in SIZES]


def test_a_crop_after_a_rule_that_does_not_run_is_no_region():
    """Whether an image is cropped first must not depend on what is drawn."""
    rows = Rows()
    rows.add("flip", 0, gate=rows.set(0.0))
    rows.add("crop_fixed", 0, 0, 1, 1, 0)
    rows.end_pass()
    (table,) = passes_of(rows)
    assert table.boxes.tolist() == [list(map(float, whole(size))) for size in SIZES]
