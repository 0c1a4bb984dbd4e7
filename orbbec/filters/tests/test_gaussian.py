import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ImageBatch
from orbbec.filters import gaussian_blur
from tests.support import Device, assert_same_bytes, photograph, photographs
from tests.support.peers import opencv
from tests.support.samples import DTYPES

# cv2's filters do not support "wrap".
ALL_BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap")
CV2_BORDERS = ALL_BORDERS[:-1]
SIZES = [(1, 1), (1, 70), (41, 1), (7, 13), (33, 150), (90, 300)]


def by_opencv(image, size, sigma, border):
    blurred = cv2.GaussianBlur(
        image, size[::-1], sigmaX=sigma[1], sigmaY=sigma[0], borderType=opencv.BORDERS[border]
    )
    return blurred.reshape(image.shape)


def by_numpy(image, size, sigma, border):
    """Both passes in float64, with sums in any order."""
    modes = {"constant": "constant", "replicate": "edge", "reflect": "symmetric", "reflect101": "reflect"}
    result = image.astype(np.float64)
    for axis in (0, 1):
        if image.shape[axis] == 1 and border != "constant":
            continue
        taps = cv2.getGaussianKernel(size[axis], sigma[axis], cv2.CV_64F)[:, 0]
        margin = [(0, 0)] * result.ndim
        margin[axis] = (size[axis] // 2,) * 2
        padded = np.pad(result, margin, modes.get(border, border))
        result = np.lib.stride_tricks.sliding_window_view(padded, size[axis], axis) @ taps
    return result


@pytest.mark.parametrize("border", CV2_BORDERS)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_gaussian_blur_matches_opencv(device, dtype, height, width, border):
    for channels in (1, 3, 4):
        image = photograph(height, width, channels, dtype)
        for size, sigma in [((3, 3), (0, 0)), ((5, 9), (1.3, 4)), ((23, 23), (3.1, 3.1)), ((1, 99), (2, 9))]:
            actual = gaussian_blur(image, size, sigma, border=border)
            assert_same_bytes(actual, by_opencv(image, size, (sigma[0] or sigma[1], sigma[1]), border))


@pytest.mark.parametrize("border", ALL_BORDERS)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_float_gaussian_blur_matches_numpy(device, height, width, border):
    images = photographs(2, 3, height, width, torch.float32)
    actual = gaussian_blur(device.put(images), (5, 23), (1.5, 4.0), border=border).cpu().numpy()
    for image, blurred in zip(images.permute(0, 2, 3, 1).numpy(), actual, strict=True):
        expected = by_numpy(image, (5, 23), (1.5, 4.0), border)
        # largest seen: 1.6e-5, for values up to 140
        assert np.abs(blurred.transpose(1, 2, 0) - expected).max() <= 3e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_gaussian_blur_is_the_float_one_rounded(device, dtype):
    images = device.put(photographs(2, 3, 40, 70, dtype))
    assert_same_bytes(gaussian_blur(images, 7, 2.0), gaussian_blur(images.float(), 7, 2.0).to(dtype))


def test_gaussian_blur_by_hand(device):
    image = device.put(torch.tensor([[[[0, 0, 255, 0]]]], dtype=torch.uint8))
    assert gaussian_blur(image, (1, 3)).flatten().tolist() == [0, 64, 128, 128]  # 63.75, 127.5
    assert gaussian_blur(image, (1, 7)).flatten().tolist() == [56, 72, 100, 112]


@pytest.mark.parametrize("size", [1, 3, 9, 33, 127])
def test_each_image_has_its_own_kernel(device, size):
    images = photographs(4, 3, 30, 70)
    sizes = torch.tensor([[size, 5], [1, 1], [3, size], [23, 23]])
    sigmas = torch.tensor([[0.0, 2.0], [1.0, 1.0], [5.5, 0.2], [4.0, 4.0]])
    actual = gaussian_blur(device.put(images), sizes, device.put(sigmas))
    one_by_one = [
        gaussian_blur(device.put(image), tuple(size), tuple(sigma))
        for image, size, sigma in zip(images, sizes.tolist(), sigmas.tolist(), strict=True)
    ]
    assert_same_bytes(actual, torch.stack(one_by_one))


@pytest.mark.parametrize("channels", [1, 3, 20])
def test_gaussian_blur_of_variable_size_images(device, channels):
    images = [photograph(h, w, channels) for h, w in [(1, 1), (40, 170), (100, 3), (70, 70)]]
    sigmas = torch.tensor([1.0, 2.0, 3.0, 4.0])
    batch = ImageBatch.from_images(images)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    blurred = gaussian_blur(batch, 9, sigmas)
    assert isinstance(blurred, ImageBatch)
    assert_same_bytes(blurred.layout, batch.layout)
    for image, sigma, actual in zip(images, sigmas.tolist(), blurred.numpy(), strict=True):
        assert_same_bytes(actual, gaussian_blur(image, 9, sigma))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("border", ALL_BORDERS)
def test_gaussian_blur_is_the_same_on_every_device(accelerator, dtype, border):
    if accelerator.name == "cuda" or dtype != torch.float64:
        # 141 is too large for a tile: all rows are summed before the columns.
        for size, images in (
            *((size, photographs(2, 2, 37, 75, dtype)) for size in (3, 23)),
            (141, photographs(1, 2, 17, 35, dtype)),
        ):
            expected = gaussian_blur(images, size, (2.5, 0.0), border=border)
            with accelerator.active():
                actual = gaussian_blur(accelerator.put(images), size, (2.5, 0.0), border=border)
            assert_same_bytes(actual, expected)


def test_planes_that_a_block_prepares_together_are_the_same_on_every_device(accelerator):
    images = photographs(1, 5, 12, 20, torch.uint8).repeat(1024, 1, 1, 1)
    images[::3] = images[::3].flip(-1)
    with accelerator.active():
        actual = gaussian_blur(accelerator.put(images[..., :16].contiguous()), 5, 1.5).cpu()
    assert_same_bytes(actual, gaussian_blur(images[..., :16].contiguous(), 5, 1.5))


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gaussian_blur_is_the_same_on_every_machine(monkeypatch, level, dtype):
    images = photographs(2, 3, 33, 200, dtype)
    expected = [gaussian_blur(images, size, 2.2) for size in (1, 3, 23, 61)]
    monkeypatch.setenv("ORBBEC_SIMD", level)
    for size, values in zip((1, 3, 23, 61), expected, strict=True):
        assert_same_bytes(gaussian_blur(images, size, 2.2), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_those_blurred_with_it(dtype):
    images = photographs(1, 2, 40, 37, dtype)
    whole = gaussian_blur(images, (7, 5), (2.0, 1.0))
    for top in range(1, 6):
        for bottom in range(12, 17):
            part = gaussian_blur(images[:, :, top:bottom], (7, 5), (2.0, 1.0))
            assert torch.equal(part[:, :, 3:-3], whole[:, :, top + 3 : bottom - 3])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_gaussian_blur_reads_any_strides(device, dtype):
    images = device.put(photographs(2, 3, 20, 300, dtype))
    expected = gaussian_blur(images, (5, 7), 1.5)
    channels_last = images.contiguous(memory_format=torch.channels_last)
    actual = gaussian_blur(channels_last, (5, 7), 1.5)
    assert actual.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(actual, expected)
    turned = images.transpose(2, 3).contiguous().transpose(2, 3)
    assert_same_bytes(gaussian_blur(turned, (5, 7), 1.5), expected)
    assert_same_bytes(gaussian_blur(images[1], (5, 7), 1.5), expected[1])


def test_gaussian_blur_of_nothing(device):
    none = device.put(photographs(0, 3, 4, 5))
    assert gaussian_blur(none, 3).shape == (0, 3, 4, 5)
    assert gaussian_blur(none, torch.zeros(0, dtype=torch.int64), torch.zeros(0)).shape == (0, 3, 4, 5)
    assert gaussian_blur(device.put(torch.zeros(2, 3, 0, 5)), 3).shape == (2, 3, 0, 5)


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 40),
    width=st.integers(1, 300),
    channels=st.sampled_from([1, 3, 4]),
    size=st.tuples(st.integers(0, 49), st.integers(0, 49)),
    sigma=st.floats(0.05, 50),
    border=st.sampled_from(CV2_BORDERS),
)
def test_any_gaussian_blur_matches_opencv(height, width, channels, size, sigma, border):
    image = np.random.default_rng(height * width).integers(0, 256, (height, width, channels), np.uint8)
    size = (2 * size[0] + 1, 2 * size[1] + 1)
    actual = gaussian_blur(image, size, sigma, border=border)
    assert_same_bytes(actual, by_opencv(image, size, (sigma, sigma), border))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kernel_size": 4}, ValueError, "expected kernel_size of odd numbers from 1 to 32767, but got 4"),
        ({"kernel_size": (3, 0)}, ValueError, "expected kernel_size of odd numbers"),
        ({"kernel_size": 3.5}, TypeError, "expected kernel_size as a whole number"),
        ({"kernel_size": torch.ones(2)}, TypeError, "expected kernel_size of whole numbers"),
        (
            {"kernel_size": torch.ones(3).long()},
            ValueError,
            r"expected kernel_size of shape \[2\] or \[2, 2\]",
        ),
        (
            {"images": torch.zeros(3, 1, 4, 5), "kernel_size": torch.tensor([3, 5])},
            ValueError,
            r"of shape \[3\] or \[3, 2\], but got \[2\]; \(height, width\) of all images is a tuple",
        ),
        ({"sigma": torch.ones(3)}, ValueError, r"expected sigma of shape \[2\] or \[2, 2\], but got \[3\]"),
        ({"sigma": float("nan")}, ValueError, "expected sigma as numbers, but got .nan, nan."),
        ({"sigma": torch.tensor([1, float("nan")])}, ValueError, "as numbers, but got nan for image 1"),
        ({"sigma": "1"}, TypeError, "expected sigma as a number"),
        ({"border": "transparent"}, ValueError, "border 'transparent' is for warps only"),
        ({"border": "outside"}, ValueError, "expected border to be one of constant"),
        ({"images": torch.zeros(3, 4)}, ValueError, "expected images of shape"),
        ({"images": torch.zeros(1, 3, 4, 4).int()}, TypeError, "expected images of uint8"),
        ({"images": [1]}, TypeError, "expected images as a tensor"),
    ],
)
def test_gaussian_blur_names_the_bad_argument(arguments, error, message):
    good = {"images": torch.zeros(2, 3, 4, 5), "kernel_size": 3, "sigma": 1.0}
    with pytest.raises(error, match=message):
        gaussian_blur(**{**good, **arguments})


@pytest.mark.parametrize(
    ("kernel_size", "sigma", "message"),
    [
        ([3], torch.ones(1, 2).double(), "expected kernel_size as"),
        ([3, 3, 3, 3], torch.ones(1, 2).double(), "expected kernel_size as"),
        ([], torch.ones(1, 2).double(), "expected kernel_size as"),
        ([3, -1], torch.ones(1, 2).double(), "expected kernel_size of odd"),
        ([3, 3], torch.ones(2, 2).double(), "expected sigma of shape"),
        ([3, 3], torch.ones(2).double(), "expected sigma of shape"),
        ([3, 3], torch.ones(1, 2), "expected sigma of float64"),
    ],
)
def test_the_operator_itself_refuses(device, kernel_size, sigma, message):
    images = device.put(torch.zeros(1, 3, 4, 5))
    with pytest.raises((ValueError, RuntimeError), match=message):
        torch.ops.orbbec.gaussian_blur(images, None, 0, kernel_size, sigma, "wrap")


def test_gaussian_blur_passes_opcheck(device):
    for images in (photographs(2, 3, 4, 5), photographs(2, 3, 4, 5, torch.float32)):
        arguments = (device.put(images), None, 0, [3, 5], torch.ones(2, 2).double(), "reflect101")
        torch.library.opcheck(torch.ops.orbbec.gaussian_blur.default, arguments)
        out = torch.empty_like(arguments[0])
        torch.library.opcheck(torch.ops.orbbec.gaussian_blur_out.default, (*arguments, out))
    gradient = device.put(photographs(2, 3, 4, 5, torch.float32)).requires_grad_()
    for border in ("reflect101", "constant"):
        backward = (gradient, [3, 5], torch.ones(2, 2).double(), border)
        torch.library.opcheck(torch.ops.orbbec.gaussian_blur_backward.default, backward)


def test_gaussian_blur_compiles_as_one_graph(device):
    compiled = torch.compile(
        lambda images, sigma: gaussian_blur(images, 5, sigma) + 1, fullgraph=True, backend="aot_eager"
    )
    images, sigma = device.put(photographs(2, 3, 9, 12)), device.put(torch.tensor([1.0, 2.0]))
    assert_same_bytes(compiled(images, sigma), gaussian_blur(images, 5, sigma) + 1)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("kernel_size", [(3, 5), torch.tensor([[3, 5], [7, 1]])], ids=["one", "own"])
def test_the_gradient_of_gaussian_blur_compiles_as_one_graph(kernel_size, dynamic):
    def loss(images, sigma):
        return gaussian_blur(images, kernel_size, sigma).square().sum()

    sigma = torch.tensor([1.0, 2.0])
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    gradients = []
    for run in (loss, compiled):
        images = photographs(2, 3, 9, 12, torch.float32).requires_grad_()
        gradients += torch.autograd.grad(run(images, sigma), images)
    assert_same_bytes(gradients[1], gradients[0])


@pytest.mark.parametrize("border", ALL_BORDERS)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 9), (6, 1), (5, 7), (12, 9)])
def test_gaussian_blur_has_the_gradient_of_finite_differences(height, width, border):
    images = photographs(2, 1, height, width, torch.float64).requires_grad_()
    sizes, sigmas = torch.tensor([[3, 5], [1, 13]]), torch.tensor([1.0, 2.5])
    assert torch.autograd.gradcheck(
        lambda images: gaussian_blur(images, sizes, sigmas, border=border), images
    )
    if height * width < 10:
        assert torch.autograd.gradgradcheck(
            lambda images: gaussian_blur(images, sizes, sigmas, border=border), images
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_gradient_is_the_same_on_every_device(accelerator, dtype):
    images, weights = photographs(2, 3, 21, 34, dtype), photographs(2, 3, 21, 34, dtype, seed=5)
    gradients = []
    for device in (Device("cpu"), accelerator, accelerator):
        with device.active():
            leaf = device.put(images.clone()).requires_grad_()
            gaussian_blur(leaf, 23, torch.tensor([2.0, 4.0])).backward(device.put(weights))
            gradients.append(leaf.grad.cpu())
    assert_same_bytes(gradients[1], gradients[0])
    assert_same_bytes(gradients[2], gradients[0])


def test_gaussian_blur_has_second_gradients():
    images = photographs(1, 1, 5, 6, torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda images: gaussian_blur(images, 3, 1.0) ** 2, images)


def test_the_first_call_may_be_a_compiled_one(monkeypatch):
    monkeypatch.setattr("orbbec.bridge.arguments._has_names", {})  # as before any call
    image = photographs(1, 3, 9, 11, torch.float32)
    compiled = torch.compile(lambda x: gaussian_blur(x, 3, 1.0), fullgraph=True, backend="eager")
    assert_same_bytes(compiled(image), gaussian_blur(image, 3, 1.0))
