"""cvt_color compared with OpenCV, worked by hand, and inside torch."""

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs

cv2 = pytest.importorskip("cv2", reason="the bytes are OpenCV's")

SPACES = ["GRAY", "HSV", "HLS", "YCrCb", "YUV", "LAB"]
PAIRS = [pair for space in SPACES for rgb in ("RGB", "BGR") for pair in ((rgb, space), (space, rgb))] + [
    ("RGB", "BGR")
]
# Of 2^24 colors in rows of 4,096, 3 values of RGB to HLS are 1 off, in rows of 37 pixels 20 of 2.2 million:
# OpenCV does not fuse in the ends of rows. Every other conversion is identical.
HLS_FRACTION = 1e-3


def some_colors(width, source, count=4096):
    """Rows of random colors: below, at and beyond OpenCV's vectors."""
    rng = np.random.default_rng(width)
    image = rng.integers(0, 256, (count // width + 1, width, 1 if source == "GRAY" else 3), np.uint8)
    image[0] = image[0, :1]
    image[-1, :, 1:] = image[-1, :, :1]
    return image


def by_opencv(image, source, target):
    result = cv2.cvtColor(image, getattr(cv2, f"COLOR_{source}2{target}"))
    return result if result.ndim == 3 else result[..., None]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_cvt_color_matches_opencv(device, source, target):
    for width in (1, 31, 32, 33, 129, 200):
        image = some_colors(width, source)
        tensor = device.put(torch.from_numpy(image).permute(2, 0, 1))
        actual = orbbec.cvt_color(tensor, source, target).permute(1, 2, 0).cpu().numpy()
        apart = np.abs(actual.astype(int) - by_opencv(image, source, target))
        if target == "HLS":
            assert apart.max() <= 1
            assert (apart > 0).mean() <= HLS_FRACTION
        else:
            assert apart.max() == 0


def test_hue_and_saturation_of_every_value_and_range(device):
    """All quotients in OpenCV's tables, with each channel as the highest."""
    value, saturation = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    lowest = value * saturation // 255
    middle = np.random.default_rng(3).integers(lowest, value + 1)
    highest_first = np.stack([value, middle, lowest], axis=-1).astype(np.uint8)
    image = np.concatenate([highest_first[..., order] for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])])
    tensor = device.put(torch.from_numpy(image).permute(2, 0, 1))
    actual = orbbec.cvt_color(tensor, "RGB", "HSV").permute(1, 2, 0).cpu().numpy()
    np.testing.assert_array_equal(actual, by_opencv(image, "RGB", "HSV"))


# Largest differences from OpenCV 5.0.0 and 4.12.0 seen in 100 images: hue 3.1e-5 degrees, saturation and
# lightness of HLS 4.7e-6, all else 2.4e-7.
HUE_TOLERANCE, HLS_TOLERANCE, FLOAT_TOLERANCE = 6.2e-5, 1e-5, 5e-7


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if "LAB" not in pair])
def test_cvt_color_of_floats_is_near_opencv(device, source, target):
    rng = np.random.default_rng(5)
    image = rng.random((40, 50, 1 if source == "GRAY" else 3)).astype(np.float32)
    if source in ("HSV", "HLS"):
        image[..., 0] *= 360
    actual = orbbec.cvt_color(device.put(torch.from_numpy(image).permute(2, 0, 1)), source, target)
    apart = np.abs(actual.permute(1, 2, 0).cpu().numpy() - by_opencv(image, source, target))
    if target in ("HSV", "HLS"):
        assert np.minimum(apart[..., 0], 360 - apart[..., 0]).max() <= HUE_TOLERANCE
        apart = apart[..., 1:]
    assert apart.max() <= (HLS_TOLERANCE if target == "HLS" else FLOAT_TOLERANCE)


def test_cvt_color_by_hand(device):
    image = device.put(torch.tensor([255, 128, 0], dtype=torch.uint8).reshape(3, 1, 1))
    assert orbbec.cvt_color(image, "RGB", "HSV").flatten().tolist() == [15, 255, 255]
    assert orbbec.cvt_color(image, "RGB", "GRAY").flatten().tolist() == [151]  # 76.2 + 75.1
    assert orbbec.cvt_color(image, "BGR", "RGB").flatten().tolist() == [0, 128, 255]
    half = image.float() / 255
    assert orbbec.cvt_color(half, "RGB", "HSV")[1:].flatten().tolist() == pytest.approx([1, 1])


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_cvt_color_takes_every_layout(device, source, target):
    images = photographs(2, 1 if source == "GRAY" else 3, 5, 70)
    expected = orbbec.cvt_color(device.put(images), source, target)
    last = orbbec.cvt_color(device.put(images).contiguous(memory_format=torch.channels_last), source, target)
    assert_same_bytes(last, expected)
    turned = device.put(images.transpose(2, 3).contiguous()).transpose(2, 3)
    assert_same_bytes(orbbec.cvt_color(turned, source, target), expected)
    array = orbbec.cvt_color(images.permute(0, 2, 3, 1).numpy(), source, target)
    np.testing.assert_array_equal(array, expected.permute(0, 2, 3, 1).cpu().numpy())


def test_gray_arrays_are_as_opencv_has_them():
    image = photographs(1, 3, 4, 5)[0].permute(1, 2, 0).numpy()
    gray = orbbec.cvt_color(image, "BGR", "GRAY")
    np.testing.assert_array_equal(gray, cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
    np.testing.assert_array_equal(orbbec.cvt_color(gray, "GRAY", "RGB"), np.repeat(gray[..., None], 3, 2))


@pytest.mark.parametrize("target", ["HSV", "GRAY"])
def test_cvt_color_of_different_sizes(device, target):
    arrays = [photographs(1, 3, h, w)[0].permute(1, 2, 0).numpy() for h, w in ((3, 4), (20, 41))]
    batch = orbbec.ImageBatch.from_images(arrays).to("cuda" if device.name == "cuda" else "cpu")
    result = orbbec.cvt_color(batch, "RGB", target).to("cpu")
    assert result.channels == (1 if target == "GRAY" else 3)
    for array, actual in zip(arrays, result.numpy(), strict=True):
        np.testing.assert_array_equal(actual, by_opencv(array, "RGB", target))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("RGB", "CMYK"),
            "expected target to be one of RGB, BGR, GRAY, HSV, HLS, YCrCb, YUV, LAB, but got 'CMYK'",
        ),
        (("HSV", "LAB"), "expected RGB or BGR as source or as target, but got 'HSV' and 'LAB'"),
        (("GRAY", "RGB"), "expected images of 1 channels for GRAY, but got 3"),
        ((1, "RGB"), "expected source as a name, but got 1"),
    ],
)
def test_cvt_color_names_the_bad_argument(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        orbbec.cvt_color(photographs(2, 3, 4, 5), *arguments)


def test_cvt_color_refuses_dtypes():
    with pytest.raises(ValueError, match="expected images of uint8, float16, bfloat16 or float32"):
        orbbec.cvt_color(photographs(1, 3, 4, 5, torch.float64), "RGB", "HSV")
    with pytest.raises(ValueError, match="expected images of uint8 for LAB"):
        orbbec.cvt_color(photographs(1, 3, 4, 5, torch.float32), "RGB", "LAB")
    with pytest.raises(ValueError, match="expected LAB lookup tables"):
        torch.ops.orbbec.cvt_color(photographs(1, 3, 4, 5), None, 0, "RGB", "LAB", torch.zeros(9))


@pytest.mark.parametrize("target", ["HSV", "GRAY", "LAB"])
def test_cvt_color_compiles_and_passes_opcheck(device, target):
    images = device.put(photographs(2, 3, 4, 5))
    compiled = torch.compile(
        lambda x: orbbec.cvt_color(x, "RGB", target) + 1, fullgraph=True, backend="aot_eager"
    )
    expected = orbbec.cvt_color(images, "RGB", target) + 1
    assert_same_bytes(compiled(images), expected)
    if target != "LAB":
        torch.library.opcheck(torch.ops.orbbec.cvt_color.default, (images, None, 0, "RGB", target, None))


def test_the_gradient_of_cvt_color_compiles_and_passes_opcheck():
    images = torch.rand(2, 3, 4, 5).requires_grad_()
    torch.library.opcheck(torch.ops.orbbec.cvt_color.default, (images, None, 0, "RGB", "YUV", None))
    compiled = torch.compile(
        lambda x: orbbec.cvt_color(x, "RGB", "YUV") + 1, fullgraph=True, backend="aot_eager"
    )
    compiled(images).sum().backward()
    (expected,) = torch.autograd.grad(orbbec.cvt_color(images, "RGB", "YUV").sum(), images)
    assert_same_bytes(images.grad, expected)


# For gradients up to 8; 4.8e-7 and 0.014 were seen with torch 2.13.0.
GRADIENT_TOLERANCES = {torch.float32: 1e-6, torch.bfloat16: 0.03}


def differences(convert, shape):
    """The gradient of a linear sum, by a step of 1 in each value: exact except for rounding."""
    black = torch.zeros(shape)
    steps = torch.eye(black.numel()).view(-1, *shape)
    return torch.stack([(convert(step) - convert(black)).sum() for step in steps])


@pytest.mark.parametrize(
    ("source", "target"), [pair for pair in PAIRS if not {*pair} & {"HSV", "HLS", "LAB"}]
)
@pytest.mark.parametrize("dtype", GRADIENT_TOLERANCES)
def test_cvt_color_has_the_gradients_of_differences(device, source, target, dtype):
    shape = (2, 1 if source == "GRAY" else 3, 2, 3)
    weights = torch.linspace(0.25, 1, 12).view(2, 1, 2, 3)

    def convert(x):
        planes = orbbec.cvt_color(x, source, target).float().cpu()
        return planes * torch.tensor([1.0, 2, 4])[: planes.shape[1], None, None] * weights

    leaf = device.put(photographs(*shape, dtype)).requires_grad_()
    convert(leaf).sum().backward()
    apart = (leaf.grad.cpu().flatten() - differences(convert, shape)).abs().max()
    assert apart <= GRADIENT_TOLERANCES[dtype]


@pytest.mark.parametrize(("source", "target"), [("RGB", "HSV"), ("HLS", "BGR")])
def test_cvt_color_refuses_the_gradient_of_hue(source, target):
    images = torch.rand(1, 3, 4, 5).requires_grad_()
    converted = orbbec.cvt_color(images, source, target)
    with pytest.raises(NotImplementedError, match=f"no gradient from {source} to {target}"):
        converted.sum().backward()


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5), (2, 3, 1, 1)])
def test_cvt_color_of_few_pixels(device, shape):
    images = device.put(torch.zeros(shape, dtype=torch.uint8))
    assert orbbec.cvt_color(images, "RGB", "HSV").shape == shape


@pytest.mark.parametrize("target", ["HSV", "YCrCb"])
def test_cvt_color_of_a_large_batch_equals_the_cpu(accelerator, target):
    """A thread makes 16 pixels where there are enough, and the image begins at 16 aligned bytes."""
    pixels = np.random.default_rng(8).integers(0, 256, (512, 33, 63, 3), np.uint8)
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2)
    expected = orbbec.cvt_color(images, "RGB", target)
    with accelerator.active():
        actual = orbbec.cvt_color(accelerator.put(images), "RGB", target)
    assert_same_bytes(actual.cpu(), expected)
