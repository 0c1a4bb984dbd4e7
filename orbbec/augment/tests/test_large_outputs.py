"""Outputs larger than a core's cache are stored past it, with the same bytes as small ones."""

import pytest
import torch

from tests.support import assert_same_bytes
from tests.support.augments import fused as augment

COUNT, HEIGHT, WIDTH = 24, 131, 127  # 1.2 MB; no row begins at a cache line
FLIP = torch.tensor([[-1.0, 0, WIDTH - 1], [0, 1, 0]])
TURN = torch.tensor([[0.9, -0.2, 7.3], [0.2, 0.9, -11.8]])
BEYOND = torch.tensor([[1.0, 0, 11], [0, 1, -5]])
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]


@pytest.fixture(params=[torch.contiguous_format, torch.channels_last], ids=["planes", "channels_last"])
def images(request):
    drawn = torch.randint(0, 256, (COUNT, 3, HEIGHT, WIDTH), dtype=torch.uint8, generator=generator())
    return drawn.contiguous(memory_format=request.param)


def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("matrix", [FLIP, TURN, BEYOND], ids=["flip", "turn", "beyond"])
def test_large_outputs_have_the_bytes_of_small_ones(images, matrix, dtype, channels_last):
    options = {"size": (HEIGHT, WIDTH), "dtype": dtype, "border": "constant", "fill": 7}
    options |= {} if dtype == torch.uint8 else {"mean": MEAN, "std": STD}
    whole = augment(images, matrix, channels_last=channels_last, **options)
    each = [augment(image[None], matrix, **options) for image in images]
    assert_same_bytes(whole, torch.cat(each).contiguous(memory_format=torch.contiguous_format))


def test_rows_of_several_images_are_mixed(images):
    pair_indices = torch.arange(COUNT).roll(1).to(torch.float32)
    mix = torch.zeros(COUNT, 7)
    mix[:, 0], mix[:, 6] = pair_indices, 1
    mix[:, 1:5] = torch.tensor([13, 17, 90, 101])
    mix[::2, 5], mix[::2, 6] = 0.25, 0.75
    options = {"size": (HEIGHT, WIDTH), "dtype": torch.float32, "mean": MEAN, "std": STD}
    plain = augment(images, FLIP, **options)
    expected = plain.clone()
    box = (slice(None), slice(17, 101), slice(13, 90))
    for n, other in enumerate(pair_indices.long().tolist()):
        own, weight = mix[n, 5], mix[n, 6]
        theirs = plain[other][box]
        expected[n][box] = theirs if own == 0 else theirs * weight + plain[n][box] * own
    assert_same_bytes(augment(images, FLIP, mix=mix, **options), expected)


@pytest.mark.parametrize("begin", [0, 1, 5])
@pytest.mark.parametrize("step", [1, 2])
def test_nothing_beside_out_is_written(images, begin, step):
    buffer = torch.full((COUNT, 3, HEIGHT, step * WIDTH + 9), -5.0)
    out = buffer[..., begin : begin + step * WIDTH : step]
    expected = augment(images, FLIP, (HEIGHT, WIDTH), dtype=torch.float32)
    augment(images, FLIP, (HEIGHT, WIDTH), out=out)
    assert_same_bytes(out.contiguous(), expected.contiguous())
    out.fill_(-5.0)
    assert (buffer == -5.0).all()
