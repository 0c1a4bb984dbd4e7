"""salt_and_pepper compared with NumPy, and how often pixels change."""

import math

import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ImageBatch
from orbbec.noise import salt_and_pepper
from orbbec.noise.philox import philox_noise
from tests.support import assert_same_bytes, photograph, photographs

DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64)
SIZES = [(1, 1), (1, 40), (35, 1), (7, 13), (9, 64)]
KEY = {"seed": 77, "epoch": 2, "transform_index": 5}
IDS = [3, 2**40, 8]
AMOUNT, RATIO = torch.tensor([0.1, 0.5, 1.0]), torch.tensor([0.4, 0.0, 0.7])


def by_numpy(images, amount, ratio, ids, **key):
    """The expected result for tensors `[N, C, H, W]`, from `philox_noise`."""
    uniform = philox_noise(ids, 1, tuple(images.shape[2:]), **key).numpy()
    amount, ratio = (np.asarray(v, np.float64).reshape(-1, 1, 1, 1) for v in (amount, ratio))
    salt, changed = (amount * ratio).astype(np.float32), amount.astype(np.float32)
    top = 255 if images.dtype == torch.uint8 else 1
    is_salt, is_changed = (torch.from_numpy(uniform < limit) for limit in (salt, changed))
    return torch.where(is_salt, top, torch.where(is_changed, 0, images)).to(images.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_salt_and_pepper_matches_numpy(device, dtype, height, width, channels):
    images = photographs(3, channels, height, width, dtype)
    placed, expected = device.put(images), by_numpy(images, AMOUNT, RATIO, IDS, **KEY)
    assert_same_bytes(salt_and_pepper(placed, AMOUNT, RATIO, sample_ids=IDS, **KEY), expected)
    on_device = device.put(AMOUNT), device.put(RATIO.double())
    ids = device.put(torch.tensor(IDS))
    last = placed.contiguous(memory_format=torch.channels_last)
    assert_same_bytes(salt_and_pepper(last, *on_device, sample_ids=ids, **KEY), expected)
    transposed = placed.transpose(2, 3).contiguous().transpose(2, 3)
    assert_same_bytes(salt_and_pepper(transposed, AMOUNT, RATIO, sample_ids=IDS, **KEY), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_salt_and_pepper_is_the_same_on_every_device(accelerator, dtype):
    for size in ((5, 30), (11, 61), (33, 4)):
        images = photographs(3, 3, *size, dtype)
        for memory_format in (torch.contiguous_format, torch.channels_last):
            laid_out = images.contiguous(memory_format=memory_format)
            expected = salt_and_pepper(laid_out, AMOUNT, RATIO)
            with accelerator.active():
                actual = salt_and_pepper(accelerator.put(laid_out), AMOUNT, RATIO)
            assert_same_bytes(actual, expected)


def test_salt_and_pepper_by_hand(device):
    image = device.put(torch.full((1, 3, 2, 4), 100, dtype=torch.uint8))
    assert salt_and_pepper(image, 0.0, 1.0).unique().tolist() == [100]
    assert salt_and_pepper(image, 1.0, 1.0).unique().tolist() == [255]
    assert salt_and_pepper(image, 1.0, 0.0).unique().tolist() == [0]
    assert salt_and_pepper(image.float() / 255, 1.0, 1.0).unique().tolist() == [1.0]


@pytest.mark.parametrize(("dtype", "salt", "pepper"), [(torch.uint8, 200, 99), (torch.float32, 0.3, 0.5)])
def test_values_of_salt_and_pepper_are_those_wanted(device, dtype, salt, pepper):
    """The gradient is zero there, also where a value equals that of the image."""
    images = device.put(torch.full((1, 3, 9, 20), 99 if dtype == torch.uint8 else 0.5, dtype=dtype))
    usual = salt_and_pepper(images, 0.7, 0.4)
    expected = torch.where(usual == usual.max(), salt, torch.where(usual == 0, pepper, images)).to(dtype)
    assert_same_bytes(salt_and_pepper(images, 0.7, 0.4, salt=salt, pepper=pepper), expected)
    if dtype == torch.float32:
        images.requires_grad_()
        result = salt_and_pepper(images, 0.7, 0.4, salt=salt, pepper=pepper)
        (gradient,) = torch.autograd.grad(result.sum(), images)
        assert torch.equal(gradient == 1, usual == images)


def test_channels_of_a_pixel_change_together_and_as_often_as_wanted():
    result = salt_and_pepper(torch.full((4, 3, 200, 200), 0.5), 0.3, 0.25)
    assert (result == result[:, :1]).all()
    pixels = result[:, 0].flatten(1)
    for value, fraction in ((1.0, 0.075), (0.0, 0.225)):
        deviation = math.sqrt(fraction * (1 - fraction) / pixels.shape[1])
        assert ((pixels == value).double().mean(1) - fraction).abs().max() < 4 * deviation


def test_a_pixel_depends_on_its_sample_alone(device):
    images = device.put(photographs(3, 3, 8, 19))
    together = salt_and_pepper(images, AMOUNT, RATIO, sample_ids=IDS, seed=4)
    for n, sample_id in enumerate(IDS):
        fractions = AMOUNT[n].item(), RATIO[n].item()
        alone = salt_and_pepper(images[n], *fractions, sample_ids=[sample_id], seed=4)
        assert_same_bytes(alone, together[n])
    for changed in ({"seed": 5}, {"seed": 4, "epoch": 1}, {"seed": 4, "transform_index": 1}):
        other = salt_and_pepper(images, AMOUNT, RATIO, sample_ids=IDS, **changed)
        assert not torch.equal(other[1], together[1])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_variable_size_images_change_one_by_one(device, channels):
    images = [photograph(h, w, channels, seed=w) for h, w in [(1, 1), (20, 70), (40, 3)]]
    batch = ImageBatch.from_images(images, plan_bytes=8)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    result = salt_and_pepper(batch, AMOUNT, RATIO, sample_ids=IDS)
    assert isinstance(result, ImageBatch)
    for n, (image, actual) in enumerate(zip(images, result.numpy(), strict=True)):
        alone = salt_and_pepper(image, AMOUNT[n].item(), RATIO[n].item(), sample_ids=[IDS[n]])
        assert_same_bytes(actual, alone)


def test_a_table_of_nonsense_crashes_nothing(device):
    buffer = device.put(torch.full((100,), 9, dtype=torch.uint8))
    layout = device.put(torch.tensor([[-5, 3, 3], [90, 100, 100], [0, 2**40, 1], [0, 4, 8]]))
    arguments = (buffer, layout, 3, 1.0, None, 1.0, None, 0, None, 0, 0, 255.0, 0.0)
    assert (torch.ops.orbbec.salt_and_pepper(*arguments)[:96] == 255).all()


def test_fractions_that_are_no_numbers_change_nothing(device):
    image, nowhere = device.put(photographs(1, 3, 4, 9)), torch.tensor([math.nan], dtype=torch.float64)
    for fractions in ((0.0, nowhere, 0.5, None), (0.5, None, 0.0, nowhere)):
        placed = [device.put(f) if isinstance(f, torch.Tensor) else f for f in fractions]
        result = torch.ops.orbbec.salt_and_pepper(image, None, 0, *placed, 0, None, 0, 0, 255.0, 0.0)
        assert ((result == image) | (result == 0)).all()


def test_salt_and_pepper_of_nothing(device):
    for shape in ((0, 3, 4, 5), (2, 3, 0, 5), (2, 0, 4, 5)):
        assert salt_and_pepper(device.put(torch.zeros(shape))).shape == shape


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9), st.integers(1, 30)),
    dtype=st.sampled_from(DTYPES),
    amount=st.floats(0, 1),
    ratio=st.floats(0, 1),
    last=st.booleans(),
    first=st.integers(0, 2**62),
)
def test_any_salt_and_pepper_matches_numpy(shape, dtype, amount, ratio, last, first):
    images, ids = photographs(*shape, dtype), [first + n for n in range(shape[0])]
    memory_format = torch.channels_last if last else torch.contiguous_format
    laid_out = images.contiguous(memory_format=memory_format)
    actual = salt_and_pepper(laid_out, amount, ratio, sample_ids=ids, seed=first)
    assert_same_bytes(actual, by_numpy(images, amount, ratio, ids, seed=first))


BAD = [
    ({"images": torch.zeros(4, 5)}, ValueError, "expected images of shape"),
    ({"images": torch.zeros(2, 3, 4, 5).int()}, TypeError, "expected images of uint8"),
    ({"amount": math.nan}, ValueError, "expected amount as a number from 0 to 1, but got nan"),
    ({"amount": torch.zeros(3)}, ValueError, r"expected amount of shape \[2\], but got \[3\]"),
    ({"salt_ratio": 1.5}, ValueError, "expected salt_ratio as a number from 0 to 1, but got 1.5"),
    ({"salt_ratio": torch.tensor([0.1, -1])}, ValueError, "but got -1.0 for image 1"),
    ({"salt": 1.5}, ValueError, "expected salt as a number from 0 to 1, but got 1.5"),
    ({"pepper": -1}, ValueError, "expected pepper as a number from 0 to 1, but got -1"),
    ({"pepper": math.nan}, ValueError, "expected pepper as a number from 0 to 1, but got nan"),
    ({"seed": -1}, ValueError, "expected seed from 0"),
    ({"transform_index": 1 << 16}, ValueError, "expected transform_index from 0 to 65535"),
    ({"sample_ids": [1]}, ValueError, r"expected sample_ids of shape \[2\], but got \[1\]"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_salt_and_pepper_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        salt_and_pepper(**{"images": torch.zeros(2, 3, 4, 5), **arguments})


def raw_arguments(**changes):
    good = {
        **{"images": torch.zeros(2, 3, 4, 5), "layout": None, "channels": 0, "amount": 0.5, "amounts": None},
        **{"salt_ratio": 0.5, "salt_ratios": None, "seed": 0, "sample_ids": None, "epoch": 0},
        **{"transform_index": 0, "salt": 1.0, "pepper": 0.0},
    }
    return tuple({**good, **changes}.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": torch.zeros(2, 3, 4, 5).short()}, "expected images of uint8"),
        ({"amounts": torch.zeros(3).double()}, r"expected amount of shape \[2\]"),
        ({"salt_ratios": torch.zeros(2)}, "expected salt_ratio as contiguous float64"),
        ({"sample_ids": torch.zeros(3).long()}, "expected sample_ids of shape"),
        ({"transform_index": -1}, "expected transform_index from 0 to 65535"),
    ],
)
def test_the_operator_itself_names_the_bad_argument(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        torch.ops.orbbec.salt_and_pepper(*raw_arguments(**changes))


def test_salt_and_pepper_passes_opcheck(device):
    tables = {
        **{"amounts": device.put(torch.ones(2).double()), "salt_ratios": device.put(torch.ones(2).double())},
        **{"sample_ids": device.put(torch.tensor([4, 5]))},
    }
    images = device.put(photographs(2, 3, 4, 5, torch.float32))
    for changes in ({}, tables, {**tables, "images": images.requires_grad_()}):
        arguments = raw_arguments(**{"images": images, **changes})
        torch.library.opcheck(torch.ops.orbbec.salt_and_pepper.default, arguments)


def test_salt_and_pepper_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda images, amount: salt_and_pepper(images, amount) * 2, fullgraph=True, backend="aot_eager"
    )
    images, amount = device.put(photographs(3, 3, 5, 6, torch.float32)), device.put(AMOUNT.double())
    assert_same_bytes(compiled(images, amount), salt_and_pepper(images, amount) * 2)


def test_gradients(device):
    images = device.put(photographs(3, 2, 3, 4, torch.float64)).requires_grad_()
    ids = torch.tensor(IDS)
    assert torch.autograd.gradcheck(lambda x: salt_and_pepper(x, AMOUNT, RATIO, sample_ids=ids), images)
    result = salt_and_pepper(images, 0.5)
    (gradient,) = torch.autograd.grad(result.sum(), images)
    assert torch.equal(gradient == 1, result == images)
