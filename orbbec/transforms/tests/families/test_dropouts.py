"""CoarseDropout and GridDropout: against slices of NumPy, their draws, and invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from tests.support import assert_same_bytes, photograph
from tests.support.registers import Registers

IMAGE = photograph(40, 52)
FILL = (9.0, 99.0, 200.0)


def result_of(transform, image=IMAGE, exact=False):
    return T.Compose([transform], seed=3, exact=exact)(image, epoch=0)


def holes_of(transform, sizes):
    """Edges and fills of the rectangles `[N, K, 8]`, and whether each is filled."""
    drawn = Registers(transform.rules, sizes, seed=3)
    boxes = drawn.of("erase", 3, 8).transpose(1, 0, 2)
    block = drawn.table.block(next(block for block in drawn.table.blocks if block.numbers == 8))
    return boxes, (block[:, :, 2] > block[:, :, 0]) & (block[:, :, 3] > block[:, :, 1])


def filled(image, boxes, are_filled):
    """By slices."""
    result = image.copy()
    for box, is_filled in zip(boxes, are_filled, strict=True):
        if is_filled:
            left, top, right, bottom = box[:4].astype(int)
            result[top:bottom, left:right] = np.rint(box[4:7] * 255)
    return result


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "transform",
    [
        T.CoarseDropout((1, 6), (3, 20), (1, 52), FILL, 1.0),
        T.CoarseDropout((1, 6), (0.1, 0.4), (0.0, 0.9), 77.0, 1.0),
        T.CoarseDropout(5, (3, 20), (1, 30), "random_uniform", 1.0),
        T.XYMasking((1, 3), (0, 2), (1, 9), (0.0, 0.3), FILL, 1.0),
        T.XYMasking(2, 2, (0.0, 0.3), (2, 4), "random_uniform", 1.0),
        T.GridDropout(0.4, (7, 5), True, FILL, 1.0),
        T.GridDropout(0.6, (7, 5), False, 33.0, 1.0),
        T.GridDropout(0.5, (32, 32), True, "random_uniform", 1.0),
    ],
    ids=lambda value: value.name if isinstance(value, T.Transform) else "",
)
def test_rectangles_are_filled_as_by_slices(transform, exact):
    boxes, are_filled = holes_of(transform, [IMAGE.shape[:2]])
    assert are_filled.any()
    assert_same_bytes(result_of(transform, exact=exact), filled(IMAGE, boxes[0], are_filled[0]))


def test_holes_have_the_sizes_of_their_ranges_and_lie_within():
    sizes = np.array([[40, 60]] * 3000)
    for ranges, heights, widths in (
        (((3, 5), (10, 11)), (3, 5), (10, 11)),
        (((0.1, 0.2), (0.5, 0.6)), (4, 7), (30, 35)),
        (((1, 1), (1, 1)), (1, 1), (1, 1)),
        (((30, 90), (50, 70)), (30, 40), (50, 60)),  # larger than the image
    ):
        boxes, are_filled = holes_of(T.CoarseDropout(1, *ranges, p=1.0), sizes)
        assert are_filled.all()
        left, top, right, bottom = boxes[:, 0, :4].T
        assert set(bottom - top) == set(range(heights[0], heights[1] + 1))
        assert set(right - left) == set(range(widths[0], widths[1] + 1))
        assert left.min() == top.min() == 0
        assert (right.max(), bottom.max()) == (60, 40)


def test_bands_reach_from_edge_to_edge():
    boxes, are_filled = holes_of(T.XYMasking(1, 1, (2, 4), (0.1, 0.2), p=1.0), [(40, 60)] * 2000)
    assert are_filled.all()
    (left, top, right, bottom), (x, y, end, below) = boxes[:, 0, :4].T, boxes[:, 1, :4].T
    assert set(right - left) == {2, 3, 4}
    assert (top.max(), bottom.min(), left.min(), right.max()) == (0, 40, 0, 60)
    assert set(below - y) == {4, 5, 6, 7}
    assert (x.max(), end.min(), y.min(), below.max()) == (0, 60, 0, 40)


def test_numbers_of_holes_are_drawn_evenly():
    _, are_filled = holes_of(T.CoarseDropout((2, 5), (2, 3), (2, 3), p=1.0), [(40, 60)] * 4000)
    counts = np.bincount(are_filled.sum(1), minlength=6)
    assert counts[:2].tolist() == [0, 0]
    assert np.abs(counts[2:] - 1000).max() < 140  # five deviations
    _, are_filled = holes_of(T.CoarseDropout(3, (2, 3), (2, 3), p=0.25), [(40, 60)] * 4000)
    assert set(are_filled.sum(1)) == {0, 3}
    assert abs(are_filled[:, 0].mean() - 0.25) < 0.035


def test_random_colors_have_every_level():
    boxes, _ = holes_of(T.CoarseDropout(1, fill="random_uniform", p=1.0), [(40, 60)] * 6000)
    levels = boxes[:, 0, 4:7] * 255
    assert np.abs(levels - np.rint(levels)).max() < 1e-9
    for channel in np.rint(levels).astype(int).T:
        assert len(set(channel)) == 256
    assert np.abs(np.corrcoef(levels.T) - np.eye(3)).max() < 0.06


@pytest.mark.parametrize("grid", [(1, 1), (10, 10), (7, 3), (32, 32)])
def test_each_cell_of_a_grid_has_a_hole(grid):
    height, width = 40, 52
    boxes, are_filled = holes_of(T.GridDropout(0.5, grid, True, p=1.0), [(height, width)] * 20)
    edges = [np.floor(np.arange(n + 1) * side / n) for n, side in zip(grid, (width, height), strict=True)]
    for row in range(grid[1]):
        for column in range(grid[0]):
            index = row * grid[0] + column
            cell = edges[0][column], edges[1][row], edges[0][column + 1], edges[1][row + 1]
            sides = np.array([cell[2] - cell[0], cell[3] - cell[1]])
            hole = boxes[:, index, :4]
            wanted = np.minimum(np.maximum(np.floor(sides * 0.5), 1), sides - 1)
            assert (hole[:, 2:] - hole[:, :2] == wanted).all()
            assert (hole[:, :2] >= cell[:2]).all()
            assert (hole[:, 2:] <= cell[2:]).all()
            assert are_filled[:, index].all() == (wanted > 0).all()


def test_a_grid_without_offsets_is_worked_by_hand():
    image = np.full((4, 6, 1), 50, np.uint8)
    expected = [[0, 0, 50, 0, 0, 50], [50] * 6] * 2
    transform = T.GridDropout(0.7, (2, 2), False, p=1.0)
    assert result_of(transform, image)[..., 0].tolist() == expected


def test_fills_are_in_the_units_of_the_pipeline():
    normalized = [T.ToDtype(torch.float32, scale=True), T.Normalize(0.5, 0.25)]
    for dropout in (T.CoarseDropout(1, fill=-3.0, p=1.0), T.GridDropout(fill=-3.0, p=1.0)):
        pipeline = T.Compose([*normalized, dropout])
        result = pipeline(torch.from_numpy(IMAGE).permute(2, 0, 1), epoch=0)
        assert np.isclose(result.min().item(), -3.0, atol=1e-6)
        assert len(pipeline.plan([(40, 52)], epoch=0).passes) == 1


@pytest.mark.parametrize("kind", [T.RandomErasing, T.CoarseDropout, T.GridDropout])
def test_fills_after_a_mix_are_those_of_the_argument(kind):
    name = "value" if kind is T.RandomErasing else "fill"
    pipeline = T.Compose(
        [T.RandomHorizontalFlip(), T.MixUp(), kind(p=1.0, **{name: (3.0, 5.0, 7.0)})], seed=1
    )
    result = pipeline(torch.zeros(2, 3, 40, 40), epoch=0)
    assert [channel.unique().tolist() for channel in result[0]] == [[0.0, 3.0], [0.0, 5.0], [0.0, 7.0]]


def test_images_of_several_sizes_have_their_own_holes():
    images = [photograph(30, 44), photograph(21, 60, seed=1)]
    transform = T.CoarseDropout(2, (0.2, 0.5), (0.2, 0.5), FILL, 1.0)
    boxes, are_filled = holes_of(transform, [image.shape[:2] for image in images])
    results = T.Compose([transform], seed=3)(ImageBatch.from_images(images), epoch=0)
    for image, result, *holes in zip(images, results, boxes, are_filled, strict=True):
        assert_same_bytes(np.asarray(result), filled(image, *holes))


def patched(image, boxes, factors):
    """By slices, in float32."""
    gains = np.ones(image.shape[:2], np.float32)
    for (left, top, right, bottom), factor in zip(boxes, factors, strict=True):
        gains[top:bottom, left:right] *= np.float32(factor)
    return image * gains[..., None]


@pytest.mark.parametrize("channels", [1, 3, 5])
def test_patches_are_multiplied_as_by_slices(channels):
    image = np.random.default_rng(0).integers(0, 256, (40, 52, channels), np.uint8)
    transform = T.PatchBrightness((1, 4), (0.2, 0.6), (0.2, 0.6), (0.2, 1.9), 1.0)
    pipeline = T.Compose([transform], seed=3)
    counts = set()
    for sample in range(12):
        (step,) = pipeline.plan([(40, 52)], [sample], epoch=0, channels=channels).passes
        boxes, factors = step.table["boxes"][0], step.table["factors"][0]
        counts.add(int((factors != 1).sum()))
        assert ((boxes[:, :2] >= 0) & (boxes[:, 2:] <= [52, 40]) & (boxes[:, 2:] > boxes[:, :2])).all()
        wanted = np.clip(np.rint(patched(image, boxes, factors)), 0, 255).astype(np.uint8)
        assert_same_bytes(pipeline(image, sample_ids=[sample], epoch=0), wanted)
        floats = image.astype(np.float32) / np.float32(255)
        wanted = np.clip(patched(floats, boxes, factors), 0, 1)
        assert_same_bytes(pipeline(floats, sample_ids=[sample], epoch=0), wanted)
    assert counts == {1, 2, 3, 4}


def test_patches_of_images_of_any_size_and_of_halves():
    images = [photograph(30, 44), photograph(9, 12, seed=1)]
    pipeline = T.Compose([T.PatchBrightness(2, p=1.0)], seed=5)
    together = pipeline(ImageBatch.from_images(images), sample_ids=[4, 5], epoch=0)
    for index, image in enumerate(images):
        assert_same_bytes(together[index].numpy(), pipeline(image, sample_ids=[4 + index], epoch=0))
    halves = torch.full((1, 3, 20, 20), 0.5, dtype=torch.float16)
    assert (pipeline(halves, epoch=0) - pipeline(halves.float(), epoch=0)).abs().max() < 5e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.CoarseDropout(0), "CoarseDropout: expected num_holes_range as .* from 1 to 256"),
        (lambda: T.CoarseDropout((3, 2)), "num_holes_range as .* in order"),
        (lambda: T.CoarseDropout(1, (0.5, 3)), "hole_height_range below 1 or in whole pixels"),
        (lambda: T.CoarseDropout(1, (2, 3)), "hole_height_range and hole_width_range both in pixels"),
        (lambda: T.CoarseDropout(fill="random"), "fill as one of random_uniform"),
        (lambda: T.XYMasking(257), "XYMasking: expected num_masks_x_range as .* from 0 to 256"),
        (lambda: T.XYMasking(mask_y_length_range=(0.5, 3)), "mask_y_length_range below 1 or in whole pixels"),
        (lambda: T.GridDropout(0.0), "GridDropout: expected ratio as a number from"),
        (lambda: T.GridDropout(holes_number_xy=(0, 3)), "holes_number_xy as a whole number from 1 to 32"),
        (lambda: T.GridDropout(holes_number_xy=5), "holes_number_xy as 2 numbers"),
        (lambda: T.PatchBrightness(17), "PatchBrightness: expected num_patches_range as .* from 1 to 16"),
        (lambda: T.PatchBrightness(1, (2, 3)), "patch_height_range and patch_width_range both in pixels"),
        (lambda: result_of(T.CoarseDropout(fill=(1, 2))), "expected 1 or 3 numbers in fill, but got 2"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
