"""jpeg_compression worked by hand, on every device and SIMD level, and inside torch."""

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, jpeg_compression
from tests.support import assert_same_bytes, photograph, photographs

SIZES = [(1, 1), (1, 5), (9, 2), (8, 8), (17, 16), (23, 37)]
SUBSAMPLINGS = ["420", "444"]


def test_a_flat_block_by_hand(device):
    """A block of 200: its mean of 72 * 8 in steps of 16 * 2 (quality 25) is 18 steps; of 201: 18.25 steps."""
    for value, expected in ((200, 200), (201, 200), (203, 204)):
        image = device.put(torch.full((1, 8, 8), value, dtype=torch.uint8))
        assert jpeg_compression(image, 25).unique().tolist() == [expected]


def test_a_wave_by_hand(device):
    """Columns of 0 and 255 at quality 1, where every step is 255: only the pattern of columns remains."""
    wave = torch.tensor([0, 255], dtype=torch.uint8).repeat(8, 4)[None]
    actual = jpeg_compression(device.put(wave), 1)[0].tolist()
    assert actual == [actual[0]] * 8  # columns do not change
    mirrored = [255 - value for value in reversed(actual[0])]
    assert max(abs(a - b) for a, b in zip(actual[0], mirrored, strict=True)) <= 1
    assert actual[0] != wave[0, 0].tolist()


def test_gray_is_luma(device):
    """The chroma of gray is exactly 128, so only luma is compressed."""
    gray = device.put(photographs(1, 1, 19, 23))
    for subsampling in SUBSAMPLINGS:
        colors = jpeg_compression(gray.expand(1, 3, 19, 23), 40, subsampling=subsampling)
        assert_same_bytes(colors, jpeg_compression(gray, 40).expand(1, 3, 19, 23))


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_compression_is_the_same_on_every_device(accelerator, channels, subsampling):
    for height, width in [*SIZES, (40, 150)]:
        images = photographs(2, channels, height, width)
        qualities = torch.tensor([1 + height, 100 - width % 60])
        expected = jpeg_compression(images, qualities, subsampling=subsampling)
        with accelerator.active():
            actual = jpeg_compression(
                accelerator.put(images), accelerator.put(qualities), subsampling=subsampling
            )
        assert_same_bytes(actual, expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_jpeg_compression_is_the_same_on_every_machine(monkeypatch, level, subsampling):
    images = photographs(2, 3, 40, 300)
    expected = [jpeg_compression(images, quality, subsampling=subsampling) for quality in (1, 50, 100)]
    monkeypatch.setenv("ORBBEC_SIMD", level)
    for quality, values in zip((1, 50, 100), expected, strict=True):
        assert_same_bytes(jpeg_compression(images, quality, subsampling=subsampling), values)


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_jpeg_compression_reads_any_strides(device, subsampling):
    images = device.put(photographs(2, 3, 20, 35))
    expected = jpeg_compression(images, 30, subsampling=subsampling)
    last = jpeg_compression(images.contiguous(memory_format=torch.channels_last), 30, subsampling=subsampling)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(last, expected)
    turned = images.transpose(2, 3).contiguous().transpose(2, 3)
    assert_same_bytes(jpeg_compression(turned, 30, subsampling=subsampling), expected)
    assert_same_bytes(jpeg_compression(images[1], 30, subsampling=subsampling), expected[1])
    reversed_channels = images.flip(1)[:, [2, 1, 0]]
    assert_same_bytes(jpeg_compression(reversed_channels, 30, subsampling=subsampling), expected)
    expanded = images[:, :1].expand(2, 3, 20, 35)
    assert_same_bytes(jpeg_compression(expanded, 30), jpeg_compression(expanded.contiguous(), 30))


def test_arrays_give_arrays():
    array = photograph(13, 18)
    planes = torch.from_numpy(array).permute(2, 0, 1)
    expected = jpeg_compression(planes, 60).permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(jpeg_compression(array, 60), expected)
    np.testing.assert_array_equal(jpeg_compression(array[None], 60), expected[None])
    np.testing.assert_array_equal(
        jpeg_compression(array[..., 0], 60), jpeg_compression(planes[:1], 60)[0].numpy()
    )


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("channels", [1, 3])
def test_variable_size_images_are_compressed_one_by_one(device, channels, subsampling):
    images = [photograph(height, width, channels) for height, width in SIZES]
    qualities = torch.arange(10, 10 + 13 * len(images), 13)
    batch = ImageBatch.from_images(images)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    compressed = jpeg_compression(batch, qualities, subsampling=subsampling)
    assert isinstance(compressed, ImageBatch)
    for image, quality, actual in zip(images, qualities.tolist(), compressed.numpy(), strict=True):
        assert_same_bytes(actual, jpeg_compression(image, quality, subsampling=subsampling))


def test_each_image_has_its_own_quality(device):
    images = device.put(photographs(3, 3, 18, 21))
    qualities = torch.tensor([1, 49, 100], dtype=torch.uint8)
    actual = jpeg_compression(images, qualities)
    for n, quality in enumerate(qualities.tolist()):
        assert_same_bytes(actual[n], jpeg_compression(images[n], quality))
    assert_same_bytes(jpeg_compression(images, qualities.numpy()), actual)


def test_the_operator_itself_limits_the_quality(device):
    images = device.put(photographs(2, 1, 9, 9))
    far = device.put(torch.tensor([-(2**60), 2**60]))
    actual = torch.ops.orbbec.jpeg_compression(images, None, 0, 0, far, "420")
    assert_same_bytes(actual, jpeg_compression(images, torch.tensor([1, 100])))


def test_jpeg_compression_of_nothing(device):
    assert jpeg_compression(device.put(photographs(0, 3, 4, 5)), 50).shape == (0, 3, 4, 5)
    nothing = device.put(torch.zeros(2, 3, 0, 5, dtype=torch.uint8))
    assert jpeg_compression(nothing, torch.tensor([4, 5])).shape == (2, 3, 0, 5)
    assert len(jpeg_compression(ImageBatch.from_images([]), 50)) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"quality": 0}, ValueError, "jpeg_compression: expected quality from 1 to 100, but got 0"),
        ({"quality": 101}, ValueError, "expected quality from 1 to 100, but got 101"),
        ({"quality": 50.0}, TypeError, "expected quality as a tensor or an array, but got float"),
        ({"quality": True}, TypeError, "expected quality as a tensor or an array, but got bool"),
        ({"quality": torch.ones(2)}, TypeError, "expected quality of whole numbers"),
        (
            {"quality": torch.ones(3).long()},
            ValueError,
            r"expected quality of shape \[2\], but got \[3\]",
        ),
        (
            {"quality": torch.tensor([5, 0])},
            ValueError,
            "expected quality from 1 to 100, but got 0 for image 1",
        ),
        ({"subsampling": "422"}, ValueError, "expected subsampling to be one of 420, 444, but got '422'"),
        ({"subsampling": 420}, TypeError, "expected subsampling as a name"),
        ({"images": torch.zeros(2, 3, 4, 4)}, ValueError, "expected images of uint8"),
        (
            {"images": torch.zeros(2, 4, 4, 4).byte()},
            ValueError,
            "expected images of 1 or 3 channels, but got 4",
        ),
        ({"images": torch.zeros(3, 4).byte()}, ValueError, "expected images of shape"),
    ],
)
def test_jpeg_compression_names_the_bad_argument(arguments, error, message):
    good = {"images": photographs(2, 3, 4, 5), "quality": 50}
    with pytest.raises(error, match=message):
        jpeg_compression(**{**good, **arguments})


@pytest.mark.parametrize(
    ("qualities", "message"),
    [
        (torch.ones(1).long(), r"expected quality of shape \[2\]"),
        (torch.ones(2, 1).long(), r"expected quality of shape \[2\]"),
        (torch.ones(2).int(), "expected quality as contiguous int64"),
        (torch.ones(4).long()[::2], "expected quality as contiguous int64"),
    ],
)
def test_the_operator_itself_refuses(device, qualities, message):
    images = device.put(photographs(2, 3, 4, 5))
    with pytest.raises((ValueError, RuntimeError), match=message):
        torch.ops.orbbec.jpeg_compression(images, None, 0, 50, device.put(qualities), "420")


@pytest.mark.parametrize("qualities", [None, torch.tensor([10, 90])])
def test_jpeg_compression_passes_opcheck(device, qualities):
    images = device.put(photographs(2, 3, 4, 5))
    qualities = None if qualities is None else device.put(qualities)
    for layout in (torch.contiguous_format, torch.channels_last):
        arguments = (images.contiguous(memory_format=layout), None, 0, 50, qualities, "420")
        torch.library.opcheck(torch.ops.orbbec.jpeg_compression.default, arguments)


def test_jpeg_compression_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda images, quality: jpeg_compression(images, quality) + 1, fullgraph=True, backend="aot_eager"
    )
    images, quality = device.put(photographs(2, 3, 9, 12)), device.put(torch.tensor([20, 70]))
    assert_same_bytes(compiled(images, quality), jpeg_compression(images, quality) + 1)


@pytest.mark.cuda
def test_jpeg_compression_is_captured_in_a_graph():
    images, quality = photographs(2, 3, 50, 70).cuda(), torch.tensor([20, 70]).cuda()
    expected = jpeg_compression(images, quality)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actual = jpeg_compression(images, quality)
    graph.replay()
    assert_same_bytes(actual, expected)
