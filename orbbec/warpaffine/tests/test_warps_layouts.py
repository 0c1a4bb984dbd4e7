"""Images in every memory layout of tensors, arrays and batches."""

import itertools

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.warps import WARPS, random_warps, raw_arguments, warp

SOURCE, TARGET = (21, 34), (19, 37)


def every_layout(images):
    """Tensors equal to `images` [N, C, H, W] with other memory layouts."""
    count, channels, height, width = images.shape
    yield "contiguous", images
    yield "channels last", images.contiguous(memory_format=torch.channels_last)
    wide = images.new_zeros(2 * count, channels + 2, height + 3, 3 * width)
    window = wide[::2, 1:-1, 2:-1, 1::3]
    window.copy_(images)
    yield "window", window
    yield "transposed", images.transpose(2, 3).contiguous().transpose(2, 3)
    yield "rows first", images.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)
    yield "width first", images.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32])
@pytest.mark.parametrize("channels", [1, 3, 6])
def test_strides_change_nothing(device, op, dtype, channels):
    images, maps = photographs(2, channels, *SOURCE, dtype), random_warps(op, SOURCE, TARGET, 2)
    expected = warp(op, device.put(images), maps, TARGET)
    before = photographs(2, channels, *TARGET, dtype, seed=3)
    transparent = warp(
        op, device.put(images), maps, TARGET, border="transparent", out=device.put(before.clone())
    )
    for (name, given), (out_name, out) in itertools.product(every_layout(images), every_layout(before)):
        given, out = device.put(given), device.put(out.clone(memory_format=torch.preserve_format))
        assert_same_bytes(warp(op, given, maps, TARGET), expected)
        result = warp(op, given, maps, TARGET, border="transparent", out=out)
        assert result is out, (name, out_name)
        assert_same_bytes(result, transparent)


@pytest.mark.parametrize("op", WARPS)
def test_what_lies_between_the_elements_of_out_is_left_alone(device, op):
    images, maps = device.put(photographs(2, 3, *SOURCE)), random_warps(op, SOURCE, TARGET, 2)
    around = torch.full((2, 5, TARGET[0] + 2, 2 * TARGET[1]), 77, dtype=torch.uint8)
    around = device.put(around)
    window = around[:, 1:4, 1:-1, ::2]
    expected = warp(op, images, maps, TARGET)
    assert_same_bytes(warp(op, images, maps, TARGET, out=window), expected)
    assert around.sum() == expected.sum() + 77 * (around.numel() - window.numel())


@pytest.mark.parametrize("op", WARPS)
def test_expanded_images_are_read_where_they_are(device, op):
    maps = random_warps(op, SOURCE, TARGET, 4)
    gray = device.put(photographs(1, 1, *SOURCE)).expand(4, 3, *SOURCE)
    assert_same_bytes(warp(op, gray, maps, TARGET), warp(op, gray.contiguous(), maps, TARGET))


@pytest.mark.parametrize("op", WARPS)
def test_the_output_is_channels_last_where_the_images_are(device, op):
    images, maps = device.put(photographs(2, 3, *SOURCE)), random_warps(op, SOURCE, TARGET, 2)
    assert warp(op, images, maps, TARGET).is_contiguous()
    last = warp(op, images.contiguous(memory_format=torch.channels_last), maps, TARGET)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert not last.is_contiguous()


@pytest.mark.parametrize("op", WARPS)
def test_one_image_without_a_batch_dimension(device, op):
    images, maps = device.put(photographs(1, 3, *SOURCE)), random_warps(op, SOURCE, TARGET)
    expected = warp(op, images, maps, TARGET)
    assert_same_bytes(warp(op, images[0], maps, TARGET), expected[0])
    out = torch.zeros_like(expected[0])
    assert warp(op, images[0], maps, TARGET, out=out) is out
    assert_same_bytes(out, expected[0])


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_arrays_are_images_as_opencv_has_them(op, channels):
    image, maps = photograph(*SOURCE, channels), random_warps(op, SOURCE, TARGET)
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    expected = warp(op, tensor, maps, TARGET).permute(1, 2, 0).numpy()
    assert_same_bytes(warp(op, image, maps.numpy(), TARGET), expected)
    assert_same_bytes(warp(op, image[..., 0], maps, TARGET), expected[..., 0])
    assert_same_bytes(warp(op, np.stack([image, image]), maps, TARGET), np.stack([expected, expected]))
    assert type(warp(op, image, maps, TARGET)) is np.ndarray


@pytest.mark.parametrize("op", WARPS)
def test_arrays_of_any_strides_and_read_only_ones_are_read(op):
    image, maps = photograph(*SOURCE), random_warps(op, SOURCE, TARGET)
    expected = warp(op, image, maps, TARGET)
    mirrored = np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]
    bgr = np.ascontiguousarray(image[..., ::-1])[..., ::-1]
    assert mirrored.strides[0] < 0
    locked = image.copy()
    locked.flags.writeable = False
    for given in (mirrored, bgr, locked, np.asfortranarray(image), np.repeat(image, 2, 1)[:, ::2]):
        assert_same_bytes(warp(op, given, maps, TARGET), expected)
    assert not locked.flags.writeable


@pytest.mark.parametrize("op", WARPS)
def test_out_may_be_an_array(op):
    image, maps = photograph(*SOURCE), random_warps(op, SOURCE, TARGET)
    expected = warp(op, image, maps, TARGET)
    out = np.zeros_like(expected)
    assert warp(op, image, maps, TARGET, out=out) is out
    assert_same_bytes(out, expected)
    wide = np.zeros((TARGET[0], 2 * TARGET[1], 3), np.uint8)
    warp(op, image, maps, TARGET, out=wide[:, ::2])
    assert_same_bytes(wide[:, ::2], expected)
    assert not wide[:, 1::2].any()


@pytest.mark.parametrize("op", WARPS)
def test_the_images_themselves_are_left_alone(device, op):
    images, maps = device.put(photographs(2, 3, *SOURCE)), random_warps(op, SOURCE, TARGET, 2)
    images_before, maps_before = images.clone(), maps.clone()
    warp(op, images, maps, TARGET, fill=5)
    assert_same_bytes(images, images_before)
    assert_same_bytes(maps, maps_before)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("shape", [(0, 3, 8, 9), (2, 0, 8, 9), (0, 0, 0, 0)])
def test_no_images_and_no_channels_give_none(device, op, shape):
    images = device.put(torch.zeros(shape, dtype=torch.uint8))
    warped = warp(op, images, random_warps(op, (8, 9), TARGET, shape[0]), TARGET)
    assert warped.shape == (*shape[:2], *TARGET)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("shape", [(2, 3, 0, 9), (2, 3, 8, 0), (2, 3, 0, 0)])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect", "reflect101", "wrap"])
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
def test_an_image_without_pixels_reads_the_fill(device, op, shape, border, interpolation):
    images = device.put(torch.zeros(shape))
    for arithmetic in ("cv2_5", "cv2_4"):
        options = {"border": border, "interpolation": interpolation, "arithmetic": arithmetic, "fill": 7}
        assert (warp(op, images, random_warps(op, (8, 9), TARGET, 2), TARGET, **options) == 7).all()


def variable_size_images(channels=3):
    sizes = [(1, 1), (21, 34), (7, 3), (40, 2), (64, 65)]
    return [photograph(*size, channels, seed=seed) for seed, size in enumerate(sizes)]


def batch_on(device, images):
    batch = ImageBatch.from_images(images)
    return batch.to("cuda") if device.name == "cuda" else batch


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("channels", [1, 3, 4, 5])
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
def test_variable_size_images_are_warped_as_each_alone(device, op, channels, interpolation, arithmetic):
    images, maps = variable_size_images(channels), random_warps(op, (30, 30), TARGET, 5)
    for border, fill in (("constant", [9.0 * c for c in range(channels)]), ("reflect101", 0)):
        options = {"interpolation": interpolation, "arithmetic": arithmetic, "border": border, "fill": fill}
        warped = warp(op, batch_on(device, images), maps, TARGET, **options)
        assert warped.shape == (5, channels, *TARGET)
        for n, image in enumerate(images):
            alone = device.put(torch.from_numpy(image).permute(2, 0, 1))
            assert_same_bytes(warped[n], warp(op, alone, maps[n], TARGET, **options))


@pytest.mark.parametrize("op", WARPS)
def test_a_slice_of_a_batch_and_a_batch_of_none(device, op):
    batch, maps = batch_on(device, variable_size_images()), random_warps(op, (30, 30), TARGET, 5)
    warped = warp(op, batch, maps, TARGET)
    assert_same_bytes(warp(op, batch[1:4], maps[1:4], TARGET), warped[1:4])
    assert warp(op, batch[:0], maps[:0], TARGET).shape == (0, 3, *TARGET)


NONSENSE = [
    (-1, 5, 5),
    (-(2**63), 5, 5),
    (0, -3, 5),
    (0, 5, -3),
    (0, 0, 5),
    (0, 5, 0),
    (0, 5, 2**62),
    (0, 2**62, 5),
    (0, 2**31, 1),
    (0, 2**32, 2**32),
    (0, 2**31 - 1, 2**31 - 1),
    (2**62, 5, 5),
    (2**63 - 1, 1, 1),
    (300 * 3 - 5 * 5 * 3 + 1, 5, 5),
    (0, 301, 1),
    (300 * 3, 1, 1),
]


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
@pytest.mark.parametrize("arithmetic", ["cv2_5", "cv2_4"])
def test_a_table_of_nonsense_reads_the_fill_and_nothing_else(device, op, interpolation, arithmetic):
    buffer = device.put(torch.full((300 * 3,), 200, dtype=torch.uint8))
    layout = device.put(torch.tensor([*NONSENSE, (0, 20, 15)], dtype=torch.int64))
    maps = random_warps(op, (5, 5), TARGET, len(layout))
    for border in ("constant", "replicate", "reflect", "reflect101", "wrap"):
        options = {"interpolation": interpolation, "arithmetic": arithmetic, "border": border, "fill": (7.0,)}
        arguments = raw_arguments(op, buffer, maps, TARGET, layout=layout, channels=3, **options)
        warped = getattr(torch.ops.orbbec, op)(*arguments)
        assert (warped[:-1] == 7).all()
        assert (warped[-1] == 200).any()


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
def test_offsets_beyond_31_bits(device, op, interpolation):
    """Rows, channels and images 2^30 bytes apart; the memory between them is never touched."""
    size, apart = (3, 4), 2**30
    memory = device.put(torch.empty(2 * apart + 100, dtype=torch.uint8))
    maps = random_warps(op, size, size, 3)
    options = {"interpolation": interpolation, "border": "replicate"}
    for shape, strides in (
        ((1, 1, *size), (0, 0, apart, 1)),
        ((1, 3, *size), (0, apart, 4, 1)),
        ((3, 1, *size), (apart, 0, 4, 1)),
    ):
        count, channels = shape[:2]
        images, far = device.put(photographs(count, channels, *size)), memory.as_strided(shape, strides)
        expected = warp(op, images, maps[:count], size, **options)
        far.copy_(images)
        assert_same_bytes(warp(op, far, maps[:count], size, **options), expected)
        far.zero_()
        assert_same_bytes(warp(op, images, maps[:count], size, out=far, **options), expected)


def test_rows_too_far_apart_are_named(device):
    memory = device.put(torch.empty(2**31 + 100, dtype=torch.uint8))
    far = memory.as_strided((1, 1, 2, 4), (0, 0, 2**31, 1))
    identity = torch.eye(3)[None, :2]
    with pytest.raises(ValueError, match="from a row or column to the next, but got 2147483648"):
        warp("warp_affine", far, identity, (2, 4))
    one_row = memory.as_strided((1, 1, 1, 4), (0, 0, 2**31, 1))
    one_row.copy_(torch.tensor([1, 2, 3, 4], dtype=torch.uint8))
    assert warp("warp_affine", one_row, identity, (1, 4)).flatten().tolist() == [1, 2, 3, 4]
