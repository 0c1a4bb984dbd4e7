import numpy as np
import pytest
import torch

from orbbec.scaleoffset import scale_offset
from tests.support import assert_same_bytes, photographs

SIZES = [(1, 1), (7, 13), (33, 65)]  # one pixel, less than a block, no multiple of one


def factors(count):
    rng = np.random.default_rng(1)
    return torch.tensor(rng.uniform(-1, 2, count)).float(), torch.tensor(rng.uniform(-50, 50, count)).float()


def by_numpy(images, scale, offset):
    result = images.numpy().astype(np.float32) * scale.numpy()[:, None, None, None]
    result = result + offset.numpy()[:, None, None, None]
    return torch.from_numpy(result if images.is_floating_point() else result.round().clip(0, 255)).to(
        images.dtype
    )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_scale_offset_matches_numpy(device, dtype, height, width, channels):
    images, (scale, offset) = photographs(3, channels, height, width, dtype), factors(3)
    actual = scale_offset(device.put(images), device.put(scale), device.put(offset))
    assert_same_bytes(actual, by_numpy(images, scale, offset))


def test_scale_offset_by_hand(device):
    image = device.put(torch.tensor([[[[0, 1, 3, 255]]]], dtype=torch.uint8))
    actual = scale_offset(image, device.put(torch.tensor([-0.5])), device.put(torch.tensor([2.0])))
    assert actual.flatten().tolist() == [2, 2, 0, 0]  # 2, 1.5, 0.5, -125.5: half to even, saturated


def test_scale_offset_keeps_channels_last(device):
    images = device.put(photographs(2, 3, 9, 20)).contiguous(memory_format=torch.channels_last)
    scale, offset = map(device.put, factors(2))
    actual = scale_offset(images, scale, offset)
    assert actual.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(actual, scale_offset(images.contiguous(), scale, offset))


def test_scale_offset_takes_arrays():
    array = photographs(1, 3, 5, 6)[0].permute(1, 2, 0).numpy()
    actual = scale_offset(array, np.array([2], np.float32), np.array([1], np.float32))
    np.testing.assert_array_equal(actual, np.minimum(array.astype(int) * 2 + 1, 255))


def test_scale_offset_of_no_images(device):
    none = device.put(torch.zeros(0))
    assert scale_offset(device.put(photographs(0, 3, 4, 5)), none, none).shape == (0, 3, 4, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"images": torch.zeros(2, 3, 4, 5).double()}, "expected images of uint8 or float32"),
        (
            {"images": torch.zeros(4, 5)},
            r"expected images of shape \[N, C, H, W\] or \[C, H, W\], but got \[4, 5\]",
        ),
        ({"scale": torch.zeros(3)}, r"expected scale of shape \[2\], but got \[3\]"),
        ({"offset": torch.zeros(2, 1)}, r"expected offset of shape \[2\], but got \[2, 1\]"),
        ({"offset": torch.zeros(2).double()}, "expected offset of float32"),
    ],
)
def test_scale_offset_names_the_bad_argument(arguments, message):
    good = {"images": torch.zeros(2, 3, 4, 5), "scale": torch.zeros(2), "offset": torch.zeros(2)}
    with pytest.raises((TypeError, ValueError), match=message):
        scale_offset(**{**good, **arguments})


def test_scale_offset_passes_opcheck(device):
    arguments = (photographs(2, 3, 4, 5), *factors(2))
    torch.library.opcheck(torch.ops.orbbec.scale_offset.default, tuple(map(device.put, arguments)))


def test_scale_offset_compiles_as_one_graph(device):
    compiled = torch.compile(lambda *a: scale_offset(*a) + 1, fullgraph=True, backend="aot_eager")
    arguments = tuple(map(device.put, (photographs(2, 3, 4, 5), *factors(2))))
    assert_same_bytes(compiled(*arguments), scale_offset(*arguments) + 1)
