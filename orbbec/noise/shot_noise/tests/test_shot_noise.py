"""shot_noise compared with SciPy's Poisson distribution, and its statistics."""

import math

import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ImageBatch
from orbbec.noise import shot_noise
from orbbec.noise.philox import philox_noise
from tests.support import assert_same_bytes, photograph, photographs

DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64)
SIZES = [(1, 1), (1, 40), (35, 1), (7, 13), (9, 64)]
KEY = {"seed": 77, "epoch": 2, "transform_index": 5}
IDS = [3, 2**40, 8]
SCALES = torch.tensor([0.1, 0.004, 1.7])


def images_of(count, channels, height, width, dtype=torch.uint8):
    """Photographs; floats from 0 to 1."""
    images = photographs(count, channels, height, width)
    return (images / 255).to(dtype) if dtype.is_floating_point else images


def counts_of(result, scale):
    """The photons of float32 values below the maximum, as whole numbers."""
    counts = result.double() ** 2.2 / scale
    assert (counts - counts.round()).abs().max() < 1e-3
    return counts.round().numpy()


@pytest.mark.parametrize("scale", [0.9, 0.2, 0.05, 1 / 31, 1 / 40, 0.003, 1e-4])
def test_counts_are_quantiles_of_scipy(device, scale):
    poisson = pytest.importorskip("scipy.stats").poisson
    images = torch.linspace(0, 0.6, 40000).reshape(1, 1, 200, 200)
    result = shot_noise(device.put(images), scale, seed=9).cpu()
    uniform = philox_noise([0], 1, (200, 200), seed=9).double().numpy()
    rate = images.double().numpy() ** 2.2 / scale
    inside = (result < 1).numpy()
    counts, uniform, rate = counts_of(result[result < 1], scale), uniform[inside], rate[inside]
    expanded = rate >= 32
    # Sums of rounded float32 terms: seen 1.1e-6 of the distribution function.
    assert (poisson.cdf(counts, rate) > uniform - 3e-6)[~expanded].all()
    assert (poisson.cdf(counts - 1, rate) <= uniform + 3e-6)[~expanded].all()
    difference = np.abs(counts - poisson.ppf(uniform + 2**-25, rate))[expanded]
    if expanded.any():
        assert difference.max() <= 1
        assert (difference > 0).mean() < 0.01
    assert expanded.any() == (scale < 0.01)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_every_layout_and_dtype_gets_the_same_photons(device, dtype, height, width, channels):
    images = images_of(3, channels, height, width, dtype)
    top = 255 if dtype == torch.uint8 else 1
    exact = shot_noise(images.float() / top, SCALES, sample_ids=IDS, **KEY) * top
    expected = (exact.round() if top == 255 else exact).to(dtype)
    placed, ids = device.put(images), device.put(torch.tensor(IDS))
    assert_same_bytes(shot_noise(placed, SCALES, sample_ids=IDS, **KEY), expected)
    last = placed.contiguous(memory_format=torch.channels_last)
    assert_same_bytes(shot_noise(last, device.put(SCALES.double()), sample_ids=ids, **KEY), expected)
    transposed = placed.transpose(2, 3).contiguous().transpose(2, 3)
    assert_same_bytes(shot_noise(transposed, SCALES, sample_ids=IDS, **KEY), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_shot_noise_is_the_same_on_every_device(accelerator, dtype):
    for size in ((5, 30), (11, 61), (33, 4)):
        images = images_of(3, 3, *size, dtype)
        for memory_format in (torch.contiguous_format, torch.channels_last):
            laid_out = images.contiguous(memory_format=memory_format)
            expected = shot_noise(laid_out, SCALES)
            with accelerator.active():
                actual = shot_noise(accelerator.put(laid_out), SCALES)
            assert_same_bytes(actual, expected)


def test_shot_noise_by_hand(device):
    """With photons of the maximum value, a pixel is black or white; half of the light is white less often."""
    gray = device.put(torch.full((1, 1, 200, 200), 0.5 ** (1 / 2.2)))
    result = shot_noise(gray, 1.0)
    assert set(result.unique().tolist()) == {0.0, 1.0}
    assert abs((result == 0).double().mean().item() - math.exp(-0.5)) < 0.012  # five deviations
    assert shot_noise(device.put(torch.zeros(1, 3, 9, 9)), 0.3).max() == 0


@pytest.mark.parametrize("scale", [0.2, 0.02, 0.002])
def test_mean_and_variance_of_the_light_are_those_of_poisson(scale):
    result = shot_noise(torch.full((1, 3, 300, 300), 0.5), scale, seed=5)
    light, rate = result.double() ** 2.2 / scale, 0.5**2.2 / scale
    assert abs(light.mean().item() - rate) < 5 * math.sqrt(rate / light.numel())
    assert abs(light.var().item() / rate - 1) < 5 * math.sqrt((2 + 1 / rate) / light.numel())
    below = (light <= math.floor(rate)).double().mean().item()
    assert abs((light[0, 0] * light[0, 1]).mean().item() / rate**2 - 1) < 0.02
    assert 0.4 < below < 0.75


def test_a_value_depends_on_its_sample_alone(device):
    images = device.put(photographs(3, 3, 8, 19))
    together = shot_noise(images, SCALES, sample_ids=IDS, seed=4)
    for n, sample_id in enumerate(IDS):
        alone = shot_noise(images[n], SCALES[n].item(), sample_ids=[sample_id], seed=4)
        assert_same_bytes(alone, together[n])
    for changed in ({"seed": 5}, {"seed": 4, "epoch": 1}, {"seed": 4, "transform_index": 1}):
        assert not torch.equal(shot_noise(images, SCALES, sample_ids=IDS, **changed)[1], together[1])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_variable_size_images_change_one_by_one(device, channels):
    images = [photograph(h, w, channels, seed=w) for h, w in [(1, 1), (20, 70), (40, 3)]]
    batch = ImageBatch.from_images(images, plan_bytes=8)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    result = shot_noise(batch, SCALES, sample_ids=IDS)
    assert isinstance(result, ImageBatch)
    for n, (image, actual) in enumerate(zip(images, result.numpy(), strict=True)):
        assert_same_bytes(actual, shot_noise(image, SCALES[n].item(), sample_ids=[IDS[n]]))


def test_values_beyond_the_range_are_clipped(device):
    image = device.put(torch.tensor([math.nan, -0.5, -math.inf, 1e-12, 1.5, math.inf]).reshape(1, 1, 1, 6))
    result = shot_noise(image, 1e-6).flatten().tolist()
    assert result[:4] == [0, 0, 0, 0]
    assert min(result[4:]) > 0.998


def test_scales_that_are_no_photons_have_a_result(device):
    image = device.put(torch.full((1, 1, 2, 4), 0.5))
    for scale in (math.nan, 0.0, -1.0, math.inf):
        result = torch.ops.orbbec.shot_noise(image, None, 0, scale, None, 0, None, 0, 0)
        assert ((result == 0) | (result == 1)).all()


def test_a_table_of_nonsense_crashes_nothing(device):
    buffer = device.put(torch.full((100,), 9, dtype=torch.uint8))
    layout = device.put(torch.tensor([[-5, 3, 3], [90, 100, 100], [0, 2**40, 1], [0, 4, 8]]))
    result = torch.ops.orbbec.shot_noise(buffer, layout, 3, 1.0, None, 0, None, 0, 0)
    assert set(result[:96].unique().tolist()) <= {0, 255}


def test_shot_noise_of_nothing(device):
    for shape in ((0, 3, 4, 5), (2, 3, 0, 5), (2, 0, 4, 5)):
        assert shot_noise(device.put(torch.zeros(shape))).shape == shape


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9), st.integers(1, 30)),
    scale=st.floats(1e-5, 3),
    first=st.integers(0, 2**62),
)
def test_any_photons_are_near_those_expected(shape, scale, first):
    images, ids = images_of(*shape, torch.float32), [first + n for n in range(shape[0])]
    result = shot_noise(images, scale, sample_ids=ids, seed=first)
    rate = images.double() ** 2.2 / scale
    light = result.double() ** 2.2 / scale
    # A Poisson number of this rate is farther once in 10 million times.
    assert ((light - rate).abs() <= 6 * rate.sqrt() + 12)[result < 1].all()


BAD = [
    ({"images": torch.zeros(4, 5)}, ValueError, "expected images of shape"),
    ({"images": torch.zeros(2, 3, 4, 5).int()}, TypeError, "expected images of uint8"),
    ({"scale": math.nan}, ValueError, "expected scale as a number above 0, but got nan"),
    ({"scale": math.inf}, ValueError, "expected scale as a number above 0, but got inf"),
    ({"scale": 0.0}, ValueError, "expected scale as a number above 0, but got 0.0"),
    ({"scale": torch.zeros(3)}, ValueError, r"expected scale of shape \[2\], but got \[3\]"),
    ({"scale": torch.tensor([0.1, -1])}, ValueError, "but got -1.0 for image 1"),
    ({"seed": -1}, ValueError, "expected seed from 0"),
    ({"transform_index": 1 << 16}, ValueError, "expected transform_index from 0 to 65535"),
    ({"sample_ids": [1]}, ValueError, r"expected sample_ids of shape \[2\], but got \[1\]"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_shot_noise_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        shot_noise(**{"images": torch.zeros(2, 3, 4, 5), **arguments})


def raw_arguments(**changes):
    good = {
        **{"images": torch.zeros(2, 3, 4, 5), "layout": None, "channels": 0, "scale": 0.5, "scales": None},
        **{"seed": 0, "sample_ids": None, "epoch": 0, "transform_index": 0},
    }
    return tuple({**good, **changes}.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": torch.zeros(2, 3, 4, 5).short()}, "expected images of uint8"),
        ({"scales": torch.zeros(3).double()}, r"expected scale of shape \[2\]"),
        ({"scales": torch.zeros(2)}, "expected scale as contiguous float64"),
        ({"sample_ids": torch.zeros(3).long()}, "expected sample_ids of shape"),
        ({"transform_index": -1}, "expected transform_index from 0 to 65535"),
    ],
)
def test_the_operator_itself_names_the_bad_argument(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        torch.ops.orbbec.shot_noise(*raw_arguments(**changes))


def test_shot_noise_passes_opcheck(device):
    tables = {"scales": device.put(torch.ones(2).double()), "sample_ids": device.put(torch.tensor([4, 5]))}
    images = device.put(images_of(2, 3, 4, 5, torch.float32))
    for changes in ({}, tables, {**tables, "images": images.requires_grad_()}):
        arguments = raw_arguments(**{"images": images, **changes})
        torch.library.opcheck(torch.ops.orbbec.shot_noise.default, arguments)


def test_shot_noise_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda images, scale: shot_noise(images, scale) * 2, fullgraph=True, backend="aot_eager"
    )
    images, scale = device.put(images_of(3, 3, 5, 6, torch.float32)), device.put(SCALES.double())
    assert_same_bytes(compiled(images, scale), shot_noise(images, scale) * 2)


def test_the_gradient_is_zero(device):
    images = device.put(images_of(3, 2, 3, 4, torch.float32)).requires_grad_()
    (gradient,) = torch.autograd.grad(shot_noise(images, 0.1).sum(), images)
    assert gradient.abs().max() == 0
