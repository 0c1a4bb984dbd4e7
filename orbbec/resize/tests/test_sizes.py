"""resize and resized_crop to the sizes of an ImageBatch: the bits of one call per image, bad arguments."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs

METHODS = [
    *((name, False) for name in ("nearest", "nearest_exact", "linear", "linear_exact", "cubic", "area")),
    *((name, True) for name in ("box", "linear", "lanczos")),
]
SOURCES = [(1, 1), (40, 63), (22, 18), (90, 7), (5, 44)]
SIZES = [(7, 4), (20, 31), (44, 36), (1, 1), (70, 9)]
BOXES = torch.tensor([[0.0, 0, 1, 1], [3, 2, 60.5, 33], [-2, 1, 17, 25], [0, 0, 7, 90], [4, 4, 2, 5]])
FLIPS = torch.tensor([True, False, True, False, True])


def batch_of(channels):
    return ImageBatch.from_images([photograph(*size, channels, seed=n) for n, size in enumerate(SOURCES)])


def one_by_one(batch, operate):
    return [operate(image.permute(2, 0, 1)[None], n, SIZES[n])[0] for n, image in enumerate(batch)]


@pytest.mark.sanitized
@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_one_call_gives_the_bits_of_one_per_image(device, interpolation, antialias, channels):
    options = {"interpolation": interpolation, "antialias": antialias}
    batch, out = batch_of(channels), ImageBatch.of_sizes(SIZES, channels)
    source, target = device.put(batch), device.put(out)

    resized = one_by_one(batch, lambda image, _, size: orbbec.resize(image, size, **options))
    assert orbbec.resize(source, None, out=target, **options) is target
    for actual, expected in zip(target, resized, strict=True):
        assert_same_bytes(actual.permute(2, 0, 1), device.put(expected))

    def crop(image, n, size):
        flips = FLIPS[n : n + 1]
        return orbbec.resized_crop(image, BOXES[n], size, flips=flips, **options)

    cropped = one_by_one(batch, crop)
    orbbec.resized_crop(source, BOXES, None, flips=FLIPS, out=target, **options)
    for actual, expected in zip(target, cropped, strict=True):
        assert_same_bytes(actual.permute(2, 0, 1), device.put(expected))


@pytest.mark.parametrize("layout", ["planes", "channels_last", "a view", "an array"])
def test_images_of_one_size_in_every_layout(layout):
    images = photographs(3, 3, 30, 40)
    laid_out = {
        "planes": images,
        "channels_last": images.contiguous(memory_format=torch.channels_last),
        "a view": photographs(6, 3, 60, 80)[::2, :, ::2, ::2],
        "an array": np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy()),
    }[layout]
    out = ImageBatch.of_sizes(SIZES[:3], 3)
    orbbec.resize(laid_out, None, out=out, antialias=True)
    for image, actual in zip(laid_out, out, strict=True):
        resized = orbbec.resize(image, tuple(actual.shape[:2]), antialias=True)
        expected = torch.from_numpy(resized) if layout == "an array" else resized.permute(1, 2, 0)
        assert_same_bytes(actual.contiguous(), expected.contiguous())


def test_results_of_very_different_sizes(device):
    sizes = [(2 + n % 3, 3) for n in range(8)] + [(2, 900), (700, 3), (3, 2)]
    batch = ImageBatch.from_images([photograph(20, 9 + n, seed=n) for n in range(len(sizes))])
    target = device.put(ImageBatch.of_sizes(sizes, 3))
    orbbec.resize(device.put(batch), None, antialias=True, out=target)
    for image, size, actual in zip(batch, sizes, target, strict=True):
        expected = orbbec.resize(image.permute(2, 0, 1), size, antialias=True)
        assert_same_bytes(actual.permute(2, 0, 1), device.put(expected))


def test_threads_give_the_same_bits():
    batch = ImageBatch.from_images([photograph(300 + 7 * n, 200 + 31 * n, seed=n) for n in range(7)])
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(orbbec.resize(batch, 350, antialias=True))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        for actual, expected in zip(result, results[0], strict=True):
            assert_same_bytes(actual, expected)


def test_no_images():
    empty = ImageBatch.from_images([], channels=3)
    assert orbbec.resize(empty, None, out=ImageBatch.of_sizes([], 3)).sizes.tolist() == []


def test_opcheck(device):
    batch, out = device.put(batch_of(3)), device.put(ImageBatch.of_sizes(SIZES, 3))
    sources = batch.buffer, batch.layout, 3, BOXES.double()
    options = "linear", True, "pillow_13", [90, 63], None
    torch.library.opcheck(
        torch.ops.orbbec.resize_each, (*sources, *options, out.buffer, out.layout, out.host_layout)
    )


def test_arguments_that_do_not_fit():
    batch, out = batch_of(3), ImageBatch.of_sizes(SIZES, 3)

    def refused(message, images=batch, size=None, target=out, error=ValueError):
        with pytest.raises(error, match=f"^resize: {message}"):
            orbbec.resize(images, size, out=target)

    refused("expected size None, since out is an ImageBatch, but got ", size=(3, 4))
    refused("expected size as .height, width.", target=None, error=TypeError)
    refused("expected out of 5 images, but got 4", target=ImageBatch.of_sizes(SIZES[:4], 3))
    refused("expected images of uint8", images=torch.zeros(5, 3, 8, 9), error=TypeError)
    refused("expected out that shares no memory with images", target=batch)
    refused("expected out of 3 channels, but got 1", target=ImageBatch.of_sizes(SIZES, 1))


def test_tables_that_leave_the_buffer_are_refused():
    batch, out = batch_of(3), ImageBatch.of_sizes(SIZES, 3)
    options = "linear", False, "cv2_5", [90, 63], None
    for row in ([0, 1 << 40, 5], [-64, 3, 4], [0, 0, 5], [out.buffer.numel() - 5, 1, 2]):
        layout = out.host_layout.clone()
        layout[2] = torch.tensor(row)
        tables = batch.buffer, batch.layout, 3, None, *options, out.buffer, out.layout, layout
        with pytest.raises(ValueError, match=r"^resize: image 2 of out is not inside its buffer"):
            torch.ops.orbbec.resize_each(*tables)


@pytest.mark.sanitized
@pytest.mark.parametrize("row", [[0, 1 << 40, 5], [-(1 << 40), 3, 4], [0, 0, 5], [0, 64, 31], [0, 20, 40]])
def test_a_wrong_table_on_the_device_harms_no_other_image(accelerator, row):
    batch, out = accelerator.put(batch_of(3)), accelerator.put(ImageBatch.of_sizes(SIZES, 3))
    sources = batch.buffer, batch.layout, 3, None
    options = "linear", True, "pillow_13", [90, 63], None
    begin, layout = int(out.host_layout[2, 0]), out.layout.clone()
    layout[2] = torch.tensor(row)
    layout[2, 0] += begin
    with accelerator.active():
        orbbec.resize(batch, None, out=out, antialias=True)
        before = out.buffer.clone()
        torch.ops.orbbec.resize_each(*sources, *options, out.buffer, layout, out.host_layout)
    assert_same_bytes(out.buffer[:begin], before[:begin])
