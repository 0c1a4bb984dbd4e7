"""Distortions and exchanged cells: against OpenCV and NumPy, their targets, and invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan.stream import Stream
from orbbec.transforms.distortions import (
    grid_displacement,
    lens_displacement,
    shuffled_cells,
    spline_displacement,
)
from tests.support import assert_same_bytes, photograph

cv2 = pytest.importorskip("cv2")
interpolate = pytest.importorskip("scipy.interpolate")
IMAGE = photograph(60, 80)


def lens_by_opencv(size, k):
    height, width = size
    camera = np.array([[width, 0, width / 2], [0, height, height / 2], [0, 0, 1]], np.float64)
    coefficients = np.array([k, k, 0, 0, 0], np.float64)
    return cv2.initUndistortRectifyMap(camera, coefficients, None, camera, (width, height), cv2.CV_32FC1)


def grid_by_numpy(side, steps, count, normalized):
    """The rule of Albumentations for one axis, by `linspace`."""
    cell, steps = side // count, list(steps)
    if normalized:
        steps[-1] *= (min(side, (count + 1) * cell) - count * cell) / cell
        steps = np.array(steps) * (side / cell / np.sum(steps))
    positions, begin = np.zeros(side), 0.0
    for index, step in enumerate(steps):
        end = min((index + 1) * cell, side)
        positions[index * cell : end] = np.linspace(begin, begin + cell * step, max(end - index * cell, 0))
        begin += cell * step
    return positions


@pytest.mark.parametrize("keep_size", [False, True])
def test_a_perspective_with_a_corner_behind_the_viewer_is_that_of_albumentations(keep_size):
    transform, behind = T.Perspective((0.1, 0.2), keep_size, fit_output=True, p=1.0), 439
    _, (points,) = transform.sample(np.array([IMAGE.shape[:2]]), Stream(np.array([behind]), 0))
    corners = np.array([[0, 0], [80, 0], [80, 60], [0, 60]], np.float32)
    forward = cv2.getPerspectiveTransform(points.astype(np.float32), corners)
    assert (np.c_[corners, np.ones(4)] @ forward[2]).min() < 0
    ends = cv2.perspectiveTransform(corners[None], forward)[0]
    ends = np.around(ends - ends.min(0))
    width, height = map(int, ends.max(0))
    matrix = cv2.getPerspectiveTransform(corners, ends)
    if keep_size:
        matrix = np.diag([80 / width, 60 / height, 1.0]) @ matrix
    plan = T.Compose([transform]).plan([IMAGE.shape[:2]], [behind], epoch=0)
    assert plan.output_sizes.tolist() == [[60, 80] if keep_size else [height, width]]
    assert np.allclose(np.linalg.inv(matrix) / plan.matrix[0], 1.0, rtol=1e-6)


@pytest.mark.parametrize("k", [-0.4, 0.0, 0.03, 0.6])
@pytest.mark.parametrize("size", [(1, 1), (60, 80), (81, 33)])
def test_lenses_read_where_those_of_opencv_do(k, size):
    x, y = lens_by_opencv(size, k)
    displacement = lens_displacement(size, torch.tensor([k]))[0].double().numpy()
    assert np.abs(displacement[0] + np.arange(size[1]) - x).max() < 1e-5
    assert np.abs(displacement[1] + np.arange(size[0])[:, None] - y).max() < 1e-5


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    ("size", "count"),
    # The cells of 14 and 9 pixels leave the last ones, which read the first.
    [((60, 80), 5), ((61, 83), 5), ((40, 7), 7), ((9, 9), 1), ((14, 9), 5)],
)
def test_grids_read_where_those_of_albumentations_do(size, count, normalized):
    rng = np.random.default_rng(count)
    steps = rng.uniform(0.6, 1.4, (2, count + 1))
    tables = [torch.from_numpy(each)[None] for each in steps]
    displacement = grid_displacement(size, *tables, torch.tensor([normalized]))[0].double().numpy()
    x, y = (
        grid_by_numpy(side, each, count, normalized) for side, each in zip(size[::-1], steps, strict=True)
    )
    assert np.abs(displacement[0] + np.arange(size[1]) - x).max() < 1e-5
    assert np.abs(displacement[1] + np.arange(size[0])[:, None] - y[:, None]).max() < 1e-5


@pytest.mark.parametrize("size", [(1, 1), (60, 80), (300, 70)])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_thin_plates_bend_as_those_of_scipy(count, size):
    (height, width), along = size, np.linspace(0, 1, count)
    points = [(x, y) for y in along for x in along] + ([(0.5, 0.5)] if count == 2 else [])
    draws, scale = np.random.default_rng(count).random((2, len(points), 2)), np.array([0.03, 0.2])
    angles = 2 * np.pi * draws[..., 1:]
    normal = np.sqrt(-2 * np.log(1 - draws[..., :1])) * np.concatenate([np.cos(angles), np.sin(angles)], 2)
    pixels = np.stack(np.meshgrid(np.arange(width) / width, np.arange(height) / height), 2).reshape(-1, 2)
    displacements = spline_displacement(size, torch.from_numpy(scale), torch.from_numpy(draws))
    for result, each, offsets in zip(displacements, scale, normal, strict=True):
        plate = interpolate.RBFInterpolator(points, each * offsets, kernel="thin_plate_spline")
        expected = (plate(pixels) * (width, height)).T.reshape(2, height, width)
        assert np.abs(result.numpy() - expected).max() < 1e-4


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_images_are_those_of_opencv(mode):
    border = {"constant": cv2.BORDER_CONSTANT, "reflect": cv2.BORDER_REFLECT_101}[mode]
    transform = T.OpticalDistortion((-0.5, -0.5), fill=9, padding_mode=mode, p=1.0)
    x, y = lens_by_opencv(IMAGE.shape[:2], -0.5)
    wanted = cv2.remap(IMAGE, x, y, cv2.INTER_LINEAR, borderMode=border, borderValue=(9, 9, 9))
    assert np.abs(transform(IMAGE).astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(
    "transform",
    [T.OpticalDistortion((0.9, 0.9), p=1.0), T.GridDistortion(p=1.0), T.ThinPlateSpline((0.1, 0.1), p=1.0)],
)
def test_targets_move_as_the_pixels(transform):
    image = np.zeros((60, 80, 3), np.uint8)
    image[12:33, 14:35] = 255
    target = {
        "masks": image[None, ..., 0] > 0,
        "keypoints": np.array([[14.0, 12.0], [34.0, 32.0]]),
        "boxes": np.array([[14.0, 12.0, 35.0, 33.0]]),
    }
    result, (outputs,) = T.Compose([transform], seed=2)(image[None], [target], epoch=0)
    seen = np.argwhere(result[0, ..., 0] > 127)
    corners = np.concatenate([seen.min(0)[::-1], seen.max(0)[::-1]])
    assert (outputs["masks"][0] == (result[0, ..., 0] > 127)).mean() > 0.99
    assert np.abs(outputs["keypoints"].reshape(4) - corners).max() < 1.5
    assert np.abs(outputs["boxes"][0] - (corners + np.array([0, 0, 1, 1]))).max() < 1.5
    assert (corners != [14, 12, 34, 32]).any()


def test_shuffled_cells_are_worked_by_hand():
    orders = [np.array(order) for order in ([1, 0], [0, 1, 2], [5, 1, 2, 3, 4, 0])]
    cells = shuffled_cells((5, 6), *orders)  # rows of 2 and 3, columns of 2
    assert cells[:, :4].tolist() == [[x, y, x + 2, y + h] for y, h in ((0, 2), (2, 3)) for x in (0, 2, 4)]
    assert cells[:, 4:].tolist() == [[2, 0], [4, 0], [0, 0], [4, 2], [0, 2], [2, 2]]


@pytest.mark.parametrize("box_format", ["xyxy", "xyxyxyxy"])
def test_targets_move_with_their_largest_part(box_format):
    image = np.zeros((60, 90, 3), np.uint8)
    image[12:18, 14:36] = 255  # 16 columns in the first cell, 6 in the next
    corners = np.array([[14.0, 12.0], [36.0, 12.0], [36.0, 18.0], [14.0, 18.0]])
    boxes = corners.reshape(1, 8) if box_format == "xyxyxyxy" else np.array([[14.0, 12.0, 36.0, 18.0]])
    target = {"boxes": boxes, "polygons": [corners], "keypoints": np.array([[15.0, 13.0]])}
    target["mask"] = image[..., 0] > 0
    for threshold in (0.0, 0.8):
        options = T.TargetOptions(box_format, min_visibility=threshold)
        pipeline = T.Compose([T.RandomGridShuffle((2, 3), 1.0)], seed=2, target_options=options)
        for sample in range(6):
            (step,) = pipeline.plan([(60, 90)], [sample], epoch=0).passes
            orders = {name: values[0] for name, values in step.table.items()}
            shift = np.array([14.0, 12.0]) + np.diff(shuffled_cells((60, 90), **orders)[0, [0, 4, 1, 5]])[::2]
            result, outputs = pipeline(image, target, sample_ids=[sample], epoch=0)
            assert (outputs["mask"] == (np.asarray(result)[..., 0] > 0)).all()
            assert outputs["keypoints"].tolist() == [(shift + 1).tolist()]
            ends = [*shift, *(shift + np.array([16, 6]))]
            for polygon in outputs["polygons"]:
                assert [*polygon.min(0), *polygon.max(0)] == ends
            expected = [] if threshold > 16 / 22 else [ends]
            if box_format == "xyxy":
                assert outputs["boxes"].tolist() == expected
            else:
                assert len(outputs["boxes"]) == len(expected)


def test_each_image_has_its_distortion_whatever_the_batch():
    images = [photograph(30, 44), photograph(50, 41, seed=1)]
    for transform in (
        T.OpticalDistortion((-0.5, 0.5), p=1.0),
        T.GridDistortion(p=1.0),
        T.ThinPlateSpline(p=1.0),
        T.RandomGridShuffle(p=1.0),
        T.Perspective(p=1.0),
    ):
        pipeline = T.Compose([transform], seed=5)
        together = pipeline(ImageBatch.from_images(images), sample_ids=[4, 5], epoch=0)
        for index, image in enumerate(images):
            (alone,) = pipeline(ImageBatch.from_images([image]), sample_ids=[4 + index], epoch=0)
            assert_same_bytes(together[index].contiguous(), alone.permute(1, 2, 0).contiguous())
            assert (together[index].numpy() != image).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: T.OpticalDistortion((-2, 0)),
            "OpticalDistortion: expected distort_range as .* from -1 to 1",
        ),
        (lambda: T.RandomGridShuffle((0, 3)), "RandomGridShuffle: expected grid as a whole number from 1"),
        (lambda: T.Perspective((0.2, 0.1)), "Perspective: expected scale as .* in order"),
        (lambda: T.GridDistortion(0), "GridDistortion: expected num_steps as a whole number from 1 to 64"),
        (lambda: T.GridDistortion(distort_range=(-1, 0)), "distort_range as .* at least -0.999"),
        (lambda: T.GridDistortion(interpolation="area2"), "interpolation as one of"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
