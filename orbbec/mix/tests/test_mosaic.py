"""Mosaics of four and of nine images, compared with slices of NumPy on every device."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, mosaic, mosaic_offsets
from tests.support import assert_same_bytes, photograph, photographs


def mosaic_by_numpy(images, quarters, centers, size, fill):
    """Copies slices of the images to the canvas, quarter by quarter."""
    height, width = size
    canvases = []
    for own, (x, y) in zip(quarters, centers, strict=True):
        canvas = np.full((height, width, images[0].shape[2]), fill, images[0].dtype)
        for quarter, index in enumerate(own):
            image = images[index]
            left = x if quarter % 2 else x - image.shape[1]
            top = y if quarter // 2 else y - image.shape[0]
            limits_x = (max(x, 0), width) if quarter % 2 else (0, min(x, width))
            limits_y = (max(y, 0), height) if quarter // 2 else (0, min(y, height))
            x1, x2 = max(left, limits_x[0]), min(left + image.shape[1], limits_x[1])
            y1, y2 = max(top, limits_y[0]), min(top + image.shape[0], limits_y[1])
            if x1 < x2 and y1 < y2:
                canvas[y1:y2, x1:x2] = image[y1 - top : y2 - top, x1 - left : x2 - left]
        canvases.append(canvas)
    return np.stack(canvases)


def nine_by_numpy(images, indices, corners, size, fill):
    """Lays image after image clockwise around the first, each at the end of the one before it."""
    canvases = []
    for row, (x, y) in zip(indices, corners, strict=True):
        space = np.full((200, 200, images[0].shape[2]), fill, images[0].dtype)
        (height, width), left, top = images[row[0]].shape[:2], x + 80, y + 80
        space[top : top + height, left : left + width] = images[row[0]]
        right, bottom = 200 - left - width, 200 - top - height
        corners_of_sides = (top, left), (right, top), (bottom, right), (left, bottom)
        for side in range(4):  # of the first image: top, right, bottom, left
            along = 0
            for image in (images[row[2 * side + 1]], images[row[2 * side + 2]]):
                seen, part = np.rot90(space, side), np.rot90(image, side)  # with this side on top
                end, start = corners_of_sides[side]
                columns = slice(start + along, start + along + part.shape[1])
                seen[end - part.shape[0] : end, columns] = part
                along += part.shape[1]
        canvases.append(space[80 : 80 + size[0], 80 : 80 + size[1]])
    return np.stack(canvases)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("tiles", "by_numpy"), [(4, mosaic_by_numpy), (9, nine_by_numpy)])
def test_mosaic_matches_numpy(device, tiles, by_numpy, seed):
    rng = np.random.default_rng(seed)
    images = [photograph(*rng.integers(1, 20, 2), seed=n) for n in range(tiles + 2)]
    indices, centers = rng.integers(0, tiles + 2, (3, tiles)), rng.integers(-15, 35, (3, 2))
    size = tuple(int(side) for side in rng.integers(1, 60, 2))
    batch = ImageBatch.from_images(images)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    expected = by_numpy(images, indices, centers, size, 114)
    actual = mosaic(batch, torch.from_numpy(indices), torch.from_numpy(centers), size)
    assert_same_bytes(actual.permute(0, 2, 3, 1), torch.from_numpy(expected))
    same_size = [photograph(7, 9, seed=n) for n in range(tiles + 2)]
    expected = by_numpy(same_size, indices, centers, size, 7)
    assert_same_bytes(mosaic(np.stack(same_size), indices, centers, size, fill=7), expected)


def test_a_missing_image_has_no_pixels_among_nine(device):
    images = torch.arange(1, 10, dtype=torch.uint8).reshape(9, 1, 1, 1)
    indices = torch.tensor([[0, -1, 2, 3, 4, 5, 6, 7, -1], [-1, 1, 2, 3, 4, 5, 6, 7, 8]])
    corners = torch.tensor([[2, 1], [2, 1]])
    canvas = mosaic(device.put(images), device.put(indices), device.put(corners), (3, 4), fill=0)
    assert canvas[:, 0].tolist() == [
        [[0, 0, 3, 0], [0, 8, 1, 4], [0, 7, 6, 5]],
        [[0, 8, 2, 3], [7, 6, 4, 0], [0, 0, 5, 0]],
    ]
    expected = [[2, 1], [2, 1], [2, 0], [3, 1], [3, 2], [2, 2], [1, 2], [1, 1], [2, 1]]
    assert mosaic_offsets(torch.tensor([1, 1]), indices, corners)[0].tolist() == expected


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("channels_last", [True, False])
def test_a_mosaic_makes_what_is_needed(device, channels_last, dtype):
    images = photographs(5, 3, 20, 30, dtype).to(
        memory_format=torch.channels_last if channels_last else torch.contiguous_format
    )
    indices, centers = torch.tensor([[0, 1, 2, 3], [4, 4, 0, -1], [1, 2, 3, 4]]), torch.tensor([25, 15])
    regions = torch.tensor([[3, 2, 40, 30], [30, -5, 99, 16], [50, 20, 10, 30]])
    arguments = device.put(images), device.put(indices), device.put(centers), (33, 50)
    whole, parts = mosaic(*arguments), mosaic(*arguments, regions=regions)
    assert_same_bytes(parts[0, :, 2:30, 3:40], whole[0, :, 2:30, 3:40])
    assert_same_bytes(parts[1, :, :16, 30:], whole[1, :, :16, 30:])
    if device.name == "cpu":
        out = torch.full_like(whole, 9)
        each = centers.expand(3, 2).contiguous()
        torch.ops.orbbec.mosaic_out(images, None, 0, indices, each, [33, 50], [114.0], regions, out)
        assert_same_bytes(out[0, :, 2:30, 3:40], whole[0, :, 2:30, 3:40])
        out[0, :, 2:30, 3:40], out[1, :, :16, 30:] = 9, 9
        assert (out == 9).all()


def test_boxes_follow_their_images():
    """A bright pixel of each image is found at the position given by the offsets."""
    images = torch.zeros(4, 1, 10, 12, dtype=torch.uint8)
    points = torch.tensor([[11, 9], [1, 8], [10, 1], [2, 3]])  # x, y: near the center of the canvas
    for n, (x, y) in enumerate(points.tolist()):
        images[n, 0, y, x] = 200 + n
    quarters, center = torch.arange(4)[None], torch.tensor([[14, 9]])
    canvas = mosaic(images, quarters, center, (20, 30))[0, 0]
    offsets = mosaic_offsets(torch.tensor([10, 12]), quarters, center)[0]
    for n, (x, y) in enumerate((points + offsets).tolist()):
        assert canvas[y, x] == 200 + n
    each = mosaic_offsets(torch.tensor([[10, 12]] * 4), quarters, center[0])
    assert_same_bytes(each[0], offsets)


def test_a_mosaic_of_nothing(device):
    images = device.put(photographs(2, 3, 4, 5))
    none, nowhere = torch.zeros(0, 4).long(), torch.zeros(0, 2).long()
    assert mosaic(images, none, nowhere, (6, 7)).shape == (0, 3, 6, 7)


def test_a_fill_has_a_value_a_channel(device):
    images = device.put(photographs(1, 3, 2, 2, torch.float32))
    quarters, center = torch.zeros(1, 4).long(), torch.tensor([[-9, -9]])
    canvas = mosaic(images, quarters, center, (2, 3), fill=(0.5, -1, 7))
    assert canvas[0, :, 1, 1].tolist() == [0.5, -1, 7]
    canvas = mosaic(images.to(torch.uint8), quarters, center, (2, 3), fill=(0.5, -1, 300))
    assert canvas[0, :, 1, 1].tolist() == [0, 0, 255]


def test_a_mosaic_gives_gradients_by_hand():
    images = torch.zeros(3, 1, 1, 2, dtype=torch.float32).requires_grad_()
    canvas = mosaic(images, torch.tensor([[0, 1, 1, 1]]), torch.tensor([1, 1]), (2, 3))
    canvas.backward(torch.tensor([[[[1.0, 2, 4], [8, 16, 32]]]]))
    assert images.grad.flatten().tolist() == [0, 1, 18, 44, 0, 0]
