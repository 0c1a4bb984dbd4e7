"""The adjustments compared with recorded results of torchvision 0.25, worked by hand, and inside torch."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs

RECORD = dict(np.load(Path(__file__).with_name("torchvision.npz")))
CALLS = json.loads(str(RECORD["calls"]))
# Largest differences from torchvision's float32 in 1,000 cases, 4.4 million values: contrast (order of the
# sum) 1.2e-7, sharpness (order in the convolution) 1.5e-7, gamma (power function) 1.2e-7, others 0.
FLOAT_TOLERANCE = {"adjust_contrast": 2.4e-7, "adjust_sharpness": 2.4e-7, "adjust_gamma": 2.4e-7}

FACTORS = {
    "adjust_brightness": 1.3,
    "adjust_contrast": 0.6,
    "adjust_saturation": 1.4,
    "adjust_hue": 0.21,
    "adjust_gamma": 1.7,
    "adjust_sharpness": 1.8,
    "posterize": 3,
    "solarize": 0.4,
}


@pytest.mark.parametrize("index", range(len(CALLS)))
@pytest.mark.parametrize("channels", [1, 3])
def test_adjustments_match_torchvision(device, index, channels):
    name, on_bytes, on_floats = CALLS[index]
    keys = [key for key in RECORD if key.startswith(f"{index}/{channels}/") and key.endswith("image")]
    assert len(keys) == 4
    for key in keys:
        image, prefix = torch.from_numpy(RECORD[key]), key.removesuffix("image")
        actual = getattr(orbbec, name)(device.put(image), *on_bytes)
        assert_same_bytes(actual, torch.from_numpy(RECORD[f"{prefix}uint8"]))
        if on_floats is None:
            continue
        actual = getattr(orbbec, name)(device.put(image / 255), *on_floats).cpu()
        expected = torch.from_numpy(RECORD[f"{prefix}float32"])
        if name in FLOAT_TOLERANCE:
            assert (actual - expected).abs().max() <= FLOAT_TOLERANCE[name]
        else:
            assert (actual == expected).all()


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32])
def test_every_image_has_its_factor(device, name, dtype):
    images = unit_images(3, 3, 5, 37, dtype)
    factors = torch.tensor([FACTORS[name], 0.0, 0.5 if name == "adjust_hue" else 1.0]).double()
    if name == "solarize" and dtype == torch.uint8:
        factors = factors * 255
    together = getattr(orbbec, name)(device.put(images), device.put(factors))
    for n in range(3):
        alone = getattr(orbbec, name)(device.put(images[n]), factors[n].item())
        assert_same_bytes(together[n], alone)


def unit_images(count, channels, height, width, dtype):
    images = photographs(count, channels, height, width)
    return images if dtype == torch.uint8 else (images / 255).to(dtype)


def test_adjustments_by_hand(device):
    image = device.put(torch.tensor([200, 100, 0], dtype=torch.uint8).reshape(3, 1, 1))
    assert orbbec.adjust_brightness(image, 1.5).flatten().tolist() == [255, 150, 0]
    assert orbbec.adjust_saturation(image, 0.0).flatten().tolist() == [118, 118, 118]
    assert orbbec.adjust_contrast(image, 0.0).flatten().tolist() == [118, 118, 118]
    assert orbbec.adjust_hue(image, 0.5).flatten().tolist() == [0, 100, 200]
    assert orbbec.invert(image).flatten().tolist() == [55, 155, 255]
    assert orbbec.solarize(image, 100).flatten().tolist() == [55, 155, 0]
    assert orbbec.posterize(image, 1).flatten().tolist() == [128, 0, 0]


@pytest.mark.parametrize("name", FACTORS)
def test_adjustments_take_every_layout(device, name):
    images = unit_images(2, 3, 6, 40, torch.uint8)
    factor = FACTORS[name] * (255 if name == "solarize" else 1)
    expected = getattr(orbbec, name)(device.put(images), factor)
    last = getattr(orbbec, name)(device.put(images).contiguous(memory_format=torch.channels_last), factor)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(last, expected)
    strided = device.put(torch.stack((images, images), -1))[..., 0]
    assert_same_bytes(getattr(orbbec, name)(strided, factor), expected)
    array = getattr(orbbec, name)(images.permute(0, 2, 3, 1).numpy(), factor)
    np.testing.assert_array_equal(array, expected.permute(0, 2, 3, 1).cpu().numpy())


# CUDA loads 16, 4 or 1 bytes at a time, by the alignment of all images, and the last ones singly.
ALIGNED = [(16, 1, 8, 14), (16, 3, 5, 48), (4, 3, 2, 6), (4, 4, 3, 7), (2, 2, 3, 5), (1, 5, 1, 33)]


@pytest.mark.parametrize(("alignment", "channels", "height", "width"), ALIGNED)
def test_values_of_any_alignment_and_number(device, alignment, channels, height, width):
    images = photographs(2, channels, height, width)
    assert np.gcd(16, images[0].numel()) == alignment
    values, factors = images.numpy().astype(np.float32), np.float32([1.3, 0.6]).reshape(2, 1, 1, 1)
    brighter = np.minimum(values * factors, 255).astype(np.uint8)
    weights = np.array([0.3, 0.8]).reshape(2, 1, 1, 1)
    theirs = values[::-1] * np.float32(1 - weights)
    fused = values.astype(float) * np.float32(weights) + theirs  # exact; rounded once
    mixed = np.rint(fused.astype(np.float32)).astype(np.uint8)
    for layout in (torch.contiguous_format, torch.channels_last):
        given = device.put(images.contiguous(memory_format=layout))
        actual = orbbec.adjust_brightness(given, torch.tensor([1.3, 0.6]).double())
        assert_same_bytes(actual, torch.from_numpy(brighter))
        actual = orbbec.mixup(given, torch.tensor([1, 0]), torch.tensor([0.3, 0.8]).double())
        assert_same_bytes(actual, torch.from_numpy(mixed))


@pytest.mark.parametrize("name", [*FACTORS, "invert", "autocontrast", "equalize", "equalize_hist", "clahe"])
def test_variable_size_images_stay_a_batch(device, name):
    arrays = [
        photographs(1, 3, h, w, seed=h)[0].permute(1, 2, 0).numpy() for h, w in ((4, 5), (31, 70), (1, 1))
    ]
    batch = orbbec.ImageBatch.from_images(arrays).to("cuda" if device.name == "cuda" else "cpu")
    factor = [] if name not in FACTORS else [FACTORS[name] * (255 if name == "solarize" else 1)]
    result = getattr(orbbec, name)(batch, *factor)
    assert isinstance(result, orbbec.ImageBatch)
    assert result.sizes.tolist() == batch.sizes.tolist()
    for array, actual in zip(arrays, result.to("cpu").numpy(), strict=True):
        image = device.put(torch.from_numpy(array).permute(2, 0, 1))
        expected = getattr(orbbec, name)(image, *factor).permute(1, 2, 0).cpu().numpy()
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", [*FACTORS, "invert"])
@pytest.mark.parametrize("channels", [1, 3])
def test_gradients(name, channels):
    torch.manual_seed(3)
    images = (torch.rand(2, channels, 4, 5, dtype=torch.float64) * 0.8 + 0.1).requires_grad_()
    factor = [FACTORS[name]] if name in FACTORS else []
    assert torch.autograd.gradcheck(lambda x: getattr(orbbec, name)(x, *factor), (images,))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_the_gradient_of_gamma_is_finite_at_black(device, gamma):
    images = device.put(torch.tensor([0.0, 0.25, 1.0]).reshape(1, 3, 1, 1)).requires_grad_()
    (gradient,) = torch.autograd.grad(orbbec.adjust_gamma(images, gamma).sum(), images)
    assert (
        gradient.flatten().tolist()
        == {
            0.0: [0.0, 0.0, 0.0],
            0.5: [0.0, 1.0, 0.5],
            1.0: [1.0, 1.0, 1.0],
            2.0: [0.0, 0.5, 2.0],
        }[gamma]
    )


@pytest.mark.parametrize("hue", [-0.5, -0.31, -0.1, 0.0, 0.17, 0.45])
def test_gradient_of_hue_in_every_sector(hue):
    torch.manual_seed(4)
    images = torch.rand(3, 3, 5, 6, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: orbbec.adjust_hue(x, hue), (images,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: orbbec.adjust_brightness(x, -1),
            "adjust_brightness: expected brightness_factor of at least 0",
        ),
        (
            lambda x: orbbec.adjust_contrast(x[:, :2], 1),
            "adjust_contrast: expected images of 1 or 3 channels, but got 2",
        ),
        (
            lambda x: orbbec.adjust_saturation(x[:, :2], 1),
            "adjust_saturation: expected images of 3 channels, but got 2",
        ),
        (
            lambda x: orbbec.adjust_hue(x, 0.6),
            "adjust_hue: expected hue_factor from -0.5 to 0.5, but got 0.6",
        ),
        (
            lambda x: orbbec.adjust_gamma(x, torch.tensor([1.0, -1.0])),
            "gamma of at least 0, but got -1.0 for image 1",
        ),
        (
            lambda x: orbbec.adjust_sharpness(x, torch.ones(3)),
            r"expected sharpness_factor of shape \[2\], but got \[3\]",
        ),
        (
            lambda x: orbbec.posterize(x, 2.5),
            "posterize: expected bits as a whole number from 0 to 8, but got 2.5",
        ),
        (lambda x: orbbec.solarize(x, 256), "solarize: expected threshold of at most 255, but got 256"),
        (
            lambda x: orbbec.adjust_brightness(x, "1"),
            "expected brightness_factor as a tensor or an array, but got str",
        ),
        (
            lambda x: orbbec.invert(x.to(torch.uint16)),
            "invert: expected images of uint8, float16, bfloat16, float32 or float64",
        ),
        (
            lambda x: orbbec.invert([x]),
            "invert: expected images as a tensor, an array or an ImageBatch, but got list",
        ),
        (lambda x: orbbec.equalize(x.float()), "equalize: expected images of uint8"),
    ],
)
def test_adjustments_name_the_bad_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(photographs(2, 3, 4, 5))


@pytest.mark.parametrize(
    "arguments",
    [
        ("adjust_hue", torch.ones(3).double(), None),
        ("adjust_hue", torch.ones(2), None),
        ("adjust_contrast", None, None),
        ("adjust_contrast", None, torch.ones(3).double()),
        ("adjust_color", None, None),
        ("adjust_gamma", None, None),
    ],
)
def test_the_operator_itself_refuses_what_it_cannot_read(arguments):
    name, factors, mean = arguments
    with pytest.raises((ValueError, RuntimeError)):
        torch.ops.orbbec.adjust_color(photographs(2, 3, 4, 5), None, 0, name, 1.0, factors, 1.0, mean)


def test_every_sum_of_nine_bytes_is_rounded_to_its_mean(device):
    sums = np.arange(13 * 255 + 1)
    middle = np.minimum(sums // 5, 255)
    rest = sums - 5 * middle  # of the eight neighbors
    windows = np.repeat(rest[:, None] // 8, 9, 1) + (np.arange(9) < rest[:, None] % 8)
    windows[:, 8], windows[:, 4] = windows[:, 4], middle
    image = torch.from_numpy(windows.reshape(-1, 1, 3, 3).astype(np.uint8))
    expected = torch.from_numpy(((2 * sums + 13) // 26).astype(np.uint8))
    assert_same_bytes(orbbec.adjust_sharpness(device.put(image), 0.0)[:, 0, 1, 1], expected)
    assert_same_bytes(
        orbbec.adjust_sharpness(device.put(image), 1e300)[:, 0, 1, 1],
        torch.where(
            expected == image[:, 0, 1, 1], expected, torch.where(expected < image[:, 0, 1, 1], 255, 0).byte()
        ),
    )


def test_any_factor_on_a_device_leaves_the_other_images_alone(device):
    wild = torch.tensor([torch.nan, torch.inf, 0.5, -torch.inf, 1e300]).double()
    images, usual = photographs(5, 3, 5, 7), slice(2, 3)

    def adjusted(name, rows):
        factors, mean = (device.put(values[rows]) for values in (wild, torch.full((5,), 90.0).double()))
        if name == "adjust_gamma":
            return torch.ops.orbbec.tables_of_gamma(factors, 1.0)
        return torch.ops.orbbec.adjust_color(device.put(images[rows]), None, 0, name, 0.0, factors, 1.0, mean)

    for name in FACTORS:
        assert_same_bytes(adjusted(name, slice(None))[usual], adjusted(name, usual))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("name", [*FACTORS, "invert"])
def test_adjustments_compile_as_one_graph(device, name, dtype):
    images = device.put(unit_images(2, 3, 4, 5, dtype))
    factor = [] if name == "invert" else [FACTORS[name]]
    torch.compiler.reset()  # one function is compiled for all cases, which exceed the limit of recompilations
    compiled = torch.compile(
        lambda x: getattr(orbbec, name)(x, *factor) + 1, fullgraph=True, backend="aot_eager"
    )
    assert_same_bytes(compiled(images), getattr(orbbec, name)(images, *factor) + 1)


@pytest.mark.parametrize("name", ["adjust_hue", "adjust_contrast", "adjust_sharpness"])
def test_adjust_color_passes_opcheck(device, name):
    images = device.put(unit_images(2, 3, 4, 5, torch.float32)).requires_grad_()
    ones = device.put(torch.ones(2).double() * 0.5)
    arguments = (images, None, 0, name, 0.0, ones, 1.0, ones.clone().requires_grad_())
    torch.library.opcheck(torch.ops.orbbec.adjust_color.default, arguments)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_no_pixels(device, shape):
    images = device.put(torch.zeros(shape, dtype=torch.uint8))
    for name, factor in FACTORS.items():
        assert getattr(orbbec, name)(images, factor).shape == shape
    for name in ("invert", "autocontrast", "equalize", "equalize_hist", "clahe"):
        assert getattr(orbbec, name)(images).shape == shape
