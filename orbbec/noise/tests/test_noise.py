"""gaussian_noise compared with NumPy, and its numbers with the normal distribution."""

import math

import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ImageBatch
from orbbec.noise import gaussian_noise
from orbbec.noise.philox import philox_noise
from tests.support import assert_same_bytes, photograph, photographs

DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64)
SIZES = [(1, 1), (1, 40), (35, 1), (7, 13), (9, 64)]
KEY = {"seed": 77, "epoch": 2, "transform_index": 5}
IDS = [3, 2**40, 8]
MEAN, SIGMA = torch.tensor([-0.1, 0.0, 0.2]), torch.tensor([0.0, 0.05, 3.0])


def pictures(count, channels, height, width, dtype):
    images = photographs(count, channels, height, width, dtype)
    return images if dtype == torch.uint8 else (images.double() / 200 + 0.5).to(dtype)


def by_numpy(images, mean, sigma, clip, ids, **key):
    """The expected result of `gaussian_noise` for tensors `[N, C, H, W]`, from `philox_noise`."""
    _, channels, *size = images.shape
    noise = philox_noise(ids, channels, tuple(size), kind="normal", **key).numpy()
    top = 255 if images.dtype == torch.uint8 else 1
    kind = np.float64 if images.dtype == torch.float64 else np.float32
    mean, sigma = ((np.asarray(v, np.float64).reshape(-1, 1, 1, 1) * top).astype(kind) for v in (mean, sigma))
    pixels = images.numpy() if kind == np.float64 else images.float().numpy()
    sums = pixels + (mean + sigma * noise)
    if top == 255:
        return torch.from_numpy(sums.clip(0, 255).round().astype(np.uint8))
    return torch.from_numpy(sums.clip(0, 1) if clip else sums).to(images.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_gaussian_noise_matches_numpy(device, dtype, height, width, channels):
    images = pictures(3, channels, height, width, dtype)
    placed = device.put(images)
    for clip in (True, False):
        expected = by_numpy(images, MEAN, SIGMA, clip, IDS, **KEY)
        assert_same_bytes(gaussian_noise(placed, MEAN, SIGMA, clip, sample_ids=IDS, **KEY), expected)
        last = placed.contiguous(memory_format=torch.channels_last)
        on_device = device.put(MEAN), device.put(SIGMA.double())
        assert_same_bytes(
            gaussian_noise(last, *on_device, clip, sample_ids=device.put(torch.tensor(IDS)), **KEY), expected
        )
        turned = placed.transpose(2, 3).contiguous().transpose(2, 3)
        assert_same_bytes(gaussian_noise(turned, MEAN, SIGMA, clip, sample_ids=IDS, **KEY), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gaussian_noise_is_the_same_on_every_device(accelerator, dtype):
    for size in ((5, 30), (11, 61), (33, 4)):
        images = pictures(3, 3, *size, dtype)
        for memory_format in (torch.contiguous_format, torch.channels_last):
            given = images.contiguous(memory_format=memory_format)
            expected = gaussian_noise(given, MEAN, SIGMA)
            with accelerator.active():
                actual = gaussian_noise(accelerator.put(given), MEAN, SIGMA)
            assert_same_bytes(actual, expected)


def test_gaussian_noise_by_hand(device):
    image = device.put(torch.tensor([[[[0, 100, 101, 255]]]], dtype=torch.uint8))
    assert gaussian_noise(image, 0.1, 0.0).flatten().tolist() == [26, 126, 126, 255]  # 25.5 is added
    floats = device.put(torch.tensor([[[[0.0, 0.5, 1.0]]]]))
    assert gaussian_noise(floats, 0.25, 0.0).flatten().tolist() == [0.25, 0.75, 1.0]
    assert gaussian_noise(floats, -0.25, 0.0, clip=False).flatten().tolist() == [-0.25, 0.25, 0.75]
    assert gaussian_noise(image, 1e9, 0.0).flatten().tolist() == [255] * 4
    assert gaussian_noise(image, -1e9, 0.0).flatten().tolist() == [0] * 4


def test_noise_is_normal():
    noise = gaussian_noise(torch.zeros(4, 3, 100, 100), 0.5, 2.0, clip=False).double().flatten()
    # For 120,000 numbers, three standard deviations are 0.0173 for their mean and 0.0122 for their deviation.
    assert abs(noise.mean() - 0.5) < 0.0173
    assert abs(noise.std() - 2.0) < 0.0122
    levels = torch.linspace(-3, 3, 25, dtype=torch.float64)
    fractions = (noise[:, None] <= 0.5 + 2 * levels).double().mean(0)
    expected = torch.special.ndtr(levels)
    assert (fractions - expected).abs().max() < 0.0056  # Kolmogorov's limit for 1 in 1,000


def test_noise_is_that_of_the_sample_alone(device):
    images = device.put(photographs(3, 3, 8, 19))
    together = gaussian_noise(images, MEAN, SIGMA, sample_ids=IDS, seed=4)
    for n, sample_id in enumerate(IDS):
        alone = gaussian_noise(images[n], MEAN[n].item(), SIGMA[n].item(), sample_ids=[sample_id], seed=4)
        assert_same_bytes(alone, together[n])
    for changed in ({"seed": 5}, {"seed": 4, "epoch": 1}, {"seed": 4, "transform_index": 1}):
        assert not torch.equal(gaussian_noise(images, MEAN, SIGMA, sample_ids=IDS, **changed)[1], together[1])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_variable_size_images_get_noise_one_by_one(device, channels):
    images = [photograph(h, w, channels, seed=w) for h, w in [(1, 1), (20, 70), (40, 3)]]
    batch = ImageBatch.from_images(images, plan_bytes=8)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    result = gaussian_noise(batch, MEAN, SIGMA, sample_ids=IDS)
    assert isinstance(result, ImageBatch)
    for n, (image, actual) in enumerate(zip(images, result.numpy(), strict=True)):
        alone = gaussian_noise(image, MEAN[n].item(), SIGMA[n].item(), sample_ids=[IDS[n]])
        assert_same_bytes(actual, alone)
        assert_same_bytes(batch[n].cpu().numpy(), image)


def test_a_table_of_nonsense_crashes_nothing(device):
    buffer = device.put(torch.zeros(100, dtype=torch.uint8))
    layout = device.put(torch.tensor([[-5, 3, 3], [90, 100, 100], [0, 2**40, 1], [0, 4, 8]]))
    arguments = (buffer, layout, 3, 1.0, None, 0.0, None, True, 0, None, 0, 0)
    assert (torch.ops.orbbec.gaussian_noise(*arguments)[:96] == 255).all()


def test_gaussian_noise_of_nothing(device):
    for shape in ((0, 3, 4, 5), (2, 3, 0, 5), (2, 0, 4, 5)):
        assert gaussian_noise(device.put(torch.zeros(shape))).shape == shape


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9), st.integers(1, 30)),
    dtype=st.sampled_from(DTYPES),
    mean=st.floats(-2, 2),
    sigma=st.floats(0, 100),
    clip=st.booleans(),
    last=st.booleans(),
    first=st.integers(0, 2**62),
)
def test_any_gaussian_noise_matches_numpy(shape, dtype, mean, sigma, clip, last, first):
    images, ids = pictures(*shape, dtype), [first + n for n in range(shape[0])]
    given = images.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
    actual = gaussian_noise(given, mean, sigma, clip, sample_ids=ids, seed=first)
    assert_same_bytes(actual, by_numpy(images, mean, sigma, clip, ids, seed=first))


BAD = [
    ({"images": torch.zeros(4, 5)}, ValueError, "expected images of shape"),
    ({"images": torch.zeros(2, 3, 4, 5).int()}, TypeError, "expected images of uint8"),
    ({"images": [1]}, TypeError, "expected images as a tensor"),
    ({"mean": math.nan}, ValueError, "expected mean as a finite number, but got nan"),
    ({"mean": torch.zeros(3)}, ValueError, r"expected mean of shape \[2\], but got \[3\]"),
    ({"sigma": -0.1}, ValueError, "expected sigma as a finite number of at least 0, but got -0.1"),
    ({"sigma": torch.tensor([0.1, -1])}, ValueError, "but got -1.0 for image 1"),
    ({"sigma": "much"}, TypeError, "expected sigma as a tensor"),
    ({"clip": 1}, TypeError, "expected clip as True or False"),
    ({"seed": -1}, ValueError, "expected seed from 0"),
    ({"transform_index": 1 << 16}, ValueError, "expected transform_index from 0 to 65535"),
    ({"sample_ids": [1]}, ValueError, r"expected sample_ids of shape \[2\], but got \[1\]"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_gaussian_noise_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        gaussian_noise(**{"images": torch.zeros(2, 3, 4, 5), **arguments})


def raw_arguments(**changes):
    good = {
        **{"images": torch.zeros(2, 3, 4, 5), "layout": None, "channels": 0, "mean": 0.0, "means": None},
        **{"sigma": 0.5, "sigmas": None, "clip": True, "seed": 0, "sample_ids": None, "epoch": 0},
        "transform_index": 0,
    }
    return tuple({**good, **changes}.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": torch.zeros(2, 3, 4, 5).short()}, "expected images of uint8"),
        ({"means": torch.zeros(3).double()}, r"expected mean of shape \[2\]"),
        ({"sigmas": torch.zeros(2)}, "expected sigma as contiguous float64"),
        ({"sample_ids": torch.zeros(3).long()}, "expected sample_ids of shape"),
        ({"sample_ids": torch.zeros(2)}, "expected sample_ids of int64"),
        ({"transform_index": -1}, "expected transform_index from 0 to 65535"),
    ],
)
def test_the_operator_itself_names_the_bad_argument(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        torch.ops.orbbec.gaussian_noise(*raw_arguments(**changes))


def test_gaussian_noise_passes_opcheck(device):
    tables = {
        **{"means": device.put(torch.zeros(2).double()), "sigmas": device.put(torch.ones(2).double())},
        **{"sample_ids": device.put(torch.tensor([4, 5]))},
    }
    images = device.put(pictures(2, 3, 4, 5, torch.float32))
    for changes in ({}, tables, {**tables, "images": images.requires_grad_()}):
        arguments = raw_arguments(**{"images": images, **changes})
        torch.library.opcheck(torch.ops.orbbec.gaussian_noise.default, arguments)


def test_gaussian_noise_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda images, sigma: gaussian_noise(images, 0.0, sigma) * 2, fullgraph=True, backend="aot_eager"
    )
    images, sigma = device.put(pictures(3, 3, 5, 6, torch.float32)), device.put(SIGMA.double())
    assert_same_bytes(compiled(images, sigma), gaussian_noise(images, 0.0, sigma) * 2)


@pytest.mark.parametrize("clip", [False, True])
def test_gradients(device, clip):
    images = device.put(pictures(3, 2, 3, 4, torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: gaussian_noise(x, MEAN, SIGMA, clip), images)
