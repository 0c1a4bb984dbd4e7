"""box_blur, filter2d, sharpen, motion_blur and median_blur."""

from functools import partial

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import ImageBatch
from orbbec.filters import box_blur, filter2d, gaussian_blur, median_blur, motion_blur, sharpen
from orbbec.filters.filter import motion_kernels
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.peers import opencv
from tests.support.samples import DTYPES

# cv2's filters do not support "wrap".
ALL_BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap")
CV2_BORDERS = ALL_BORDERS[:-1]
SIZES = [(1, 1), (1, 70), (41, 1), (7, 13), (33, 150), (12, 2100)]
KERNEL = torch.tensor([[0.5, -1.25, 0.0, 0.3], [0.1, 2.0, -0.7, 0.0], [0.0, 0.2, 0.6, -0.4]])


def filters(border):
    """Each operator as a function of images."""
    return {
        "box_blur": lambda images: box_blur(images, (4, 7), border=border),
        "filter2d": lambda images: filter2d(images, KERNEL, border=border),
        "sharpen": lambda images: sharpen(images, 0.7, border=border),
        "motion_blur": lambda images: motion_blur(images, 9, 30.0, border=border),
        "median_3": lambda images: median_blur(images, 3),
        "median_5": lambda images: median_blur(images, 5),
        "median_9x1": lambda images: median_blur(images, (9, 1)),
    }


NAMES = list(filters("wrap"))


@pytest.mark.parametrize("border", CV2_BORDERS)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_box_blur_matches_opencv(device, dtype, height, width, border):
    for channels in (1, 3, 4):
        image = photograph(height, width, channels, dtype)
        for size in [(1, 1), (1, 2), (3, 3), (4, 7), (16, 17), (31, 2)]:
            expected = cv2.blur(image, size[::-1], borderType=opencv.BORDERS[border]).reshape(image.shape)
            actual = box_blur(image, size, border=border)
            if dtype == "float32":  # OpenCV uses running sums: 8e-6 seen, for values up to 140
                assert np.abs(actual - expected).max() <= 2e-5
            else:
                assert_same_bytes(actual, expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.float32])
def test_a_box_of_one_pixel_changes_nothing(accelerator, dtype):
    images = photographs(2, 3, 19, 150, dtype)
    assert_same_bytes(box_blur(images, 1), images)
    with accelerator.active():
        assert_same_bytes(box_blur(accelerator.put(images), 1).cpu(), images)


@pytest.mark.parametrize("border", CV2_BORDERS)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_filter2d_matches_opencv(device, height, width, border):
    for channels in (1, 3, 4):
        image = photograph(height, width, channels)
        for shape in [(1, 1), (3, 3), (2, 5), (11, 11)]:
            kernel = np.random.default_rng(shape[1]).normal(0, 0.5, shape).astype(np.float32)
            expected = cv2.filter2D(image, -1, kernel, borderType=opencv.BORDERS[border]).reshape(image.shape)
            assert_same_bytes(filter2d(image, kernel, border=border), expected)


def test_a_large_filter2d_is_the_same_sum(device):
    image = photograph(30, 40)
    kernel = np.random.default_rng(0).normal(0, 0.05, (15, 17)).astype(np.float32)
    expected = cv2.filter2D(image, -1, kernel).astype(int)  # by a Fourier transform
    apart = np.abs(filter2d(image, kernel).astype(int) - expected)
    assert apart.max() <= 1
    assert (apart > 0).mean() <= 0.001  # seen: none here, 155 of 8.3 million in random cases


@pytest.mark.parametrize("amount", [0.0, 0.4, 1.0, 2.5])
def test_sharpen_matches_opencv(device, amount):
    image = photograph(50, 70)
    kernel = np.full((3, 3), -amount / 8)
    kernel[1, 1] = 1 + amount
    expected = cv2.filter2D(image, -1, kernel.astype(np.float32), borderType=cv2.BORDER_REPLICATE)
    assert_same_bytes(sharpen(image, amount, border="replicate"), expected)


@pytest.mark.parametrize(("length", "angle"), [(1, 10.0), (2, 90.0), (7, 45.0), (8, -130.0), (11, 721.5)])
def test_motion_blur_matches_opencv(device, length, angle):
    image = photograph(50, 70)
    kernel = motion_kernels([length], [angle])[0].numpy().astype(np.float32)
    assert_same_bytes(motion_blur(image, length, angle), cv2.filter2D(image, -1, kernel))


def test_motion_kernels_are_lines():
    lengths, angles = [1, 2, 3, 8, 15], [17.0, 0.0, 90.0, 45.0, -30.0]
    kernels = motion_kernels(lengths, angles)
    assert kernels.shape == (5, 15, 15)
    np.testing.assert_allclose(kernels.sum((1, 2)), 1, atol=1e-15)
    np.testing.assert_allclose(kernels.flip((1, 2)), kernels, atol=1e-15)  # about the middle
    assert kernels[2, 6:9, 7].tolist() == [1 / 3] * 3
    rising = kernels[3] > 0.05  # 45 degrees: up to the right
    assert rising[4, 9] or rising[5, 9]
    assert not rising[5, 5]


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_median_blur_matches_opencv(device, height, width):
    for channels in (1, 3, 4):
        for dtype, sizes in [("uint8", (1, 3, 5, 7, 21)), ("uint16", (3, 5)), ("float32", (3, 5))]:
            image = photograph(height, width, channels, dtype)
            for size in sizes if height * width < 10000 else sizes[:4]:
                expected = cv2.medianBlur(image, size).reshape(image.shape)
                assert_same_bytes(median_blur(image, size), expected)


def test_median_blur_of_oblong_windows_matches_numpy(device):
    image = photograph(20, 33, 1)[..., 0]
    padded = np.pad(image, ((1, 1), (4, 4)), "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 9))
    assert_same_bytes(median_blur(image, (3, 9)), np.median(windows, (2, 3)).astype(np.uint8))


def test_median_blur_orders_every_float(device):
    row = [float("nan"), -0.0, float("-inf"), 0.0, float("inf"), 5.0, float("nan"), float("nan")]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        image = device.put(torch.tensor(row, dtype=dtype).reshape(1, 1, 1, -1))
        expected = torch.tensor([row[0], -0.0, -0.0, 0.0, 5.0, float("inf"), row[0], row[0]], dtype=dtype)
        assert_same_bytes(median_blur(image, (1, 3)).flatten(), expected)


def test_filters_by_hand(device):
    image = device.put(torch.tensor([[[[10, 20, 40, 250]]]], dtype=torch.uint8))
    assert box_blur(image, (1, 3), border="replicate").flatten().tolist() == [13, 23, 103, 180]
    assert median_blur(image, (1, 3)).flatten().tolist() == [10, 20, 40, 250]
    kernel = torch.tensor([[1.0, 0.0, -0.25]])
    assert filter2d(image, kernel, border="constant").flatten().tolist() == [0, 0, 0, 40]
    assert sharpen(image[..., :1], 3.0).flatten().tolist() == [10]


@pytest.mark.parametrize("name", NAMES)
def test_variable_size_images_are_filtered_one_by_one(device, name):
    images = [photograph(h, w, 3) for h, w in [(1, 1), (40, 170), (100, 3), (70, 70)]]
    batch = ImageBatch.from_images(images)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    run = filters("reflect")[name]
    for image, actual in zip(images, run(batch).numpy(), strict=True):
        assert_same_bytes(actual, run(image))


def test_each_image_has_its_own_parameters(device):
    images = device.put(photographs(3, 2, 20, 30))
    sizes = torch.tensor([3, 5, 9])
    kernels = torch.randn(3, 3, 5, generator=torch.Generator().manual_seed(0))
    angles, amounts = torch.tensor([0.0, 33.0, 90.0]), torch.tensor([0.1, 1.0, 2.0])
    for n in range(3):
        size = int(sizes[n])
        assert_same_bytes(box_blur(images, sizes)[n], box_blur(images[n], size))
        assert_same_bytes(median_blur(images, sizes)[n], median_blur(images[n], size))
        assert_same_bytes(filter2d(images, kernels)[n], filter2d(images[n], kernels[n]))
        assert_same_bytes(
            motion_blur(images, sizes, angles)[n], motion_blur(images[n], size, float(angles[n]))
        )
        assert_same_bytes(sharpen(images, device.put(amounts))[n], sharpen(images[n], amounts[n : n + 1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_filters_are_the_same_on_every_device(accelerator, name, dtype):
    for border in ALL_BORDERS:
        images = photographs(2, 2, 18, 37, dtype)
        run = filters(border)[name]
        expected = run(images)
        with accelerator.active():
            actual = run(accelerator.put(images))
        assert_same_bytes(actual, expected)


# Whole rows of aligned 16 bytes, rows of any alignment, values that lie apart; several tiles.
LAYOUTS = {
    "aligned": lambda images: images,
    "interleaved": lambda images: images.contiguous(memory_format=torch.channels_last),
    "cropped": lambda images: images[:, :, 2:, 5:],
    "interleaved, cropped": lambda images: LAYOUTS["interleaved"](images)[:, :, 1:, 3:],
    "apart": lambda images: images[..., ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [3, 5, 7, 9, 11, (1, 5), (6, 1), (24, 23)])
def test_tiles_of_bytes_are_the_same_on_every_device(accelerator, size, layout):
    images = photographs(1, 3, 139, 160)
    runs = [lambda images: box_blur(images, size)]
    if isinstance(size, int) or size == (1, 5):
        runs.append(lambda images: gaussian_blur(images, size, 2.0))
    if isinstance(size, int):
        runs.append(lambda images: median_blur(images, size))
    for run in runs:
        expected = run(LAYOUTS[layout](images))
        with accelerator.active():
            actual = run(LAYOUTS[layout](accelerator.put(images)))
        assert_same_bytes(actual, expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_filters_are_the_same_on_every_machine(monkeypatch, level, name, dtype):
    images = photographs(2, 3, 33, 100, dtype)
    run = filters("reflect101")[name]
    expected = run(images)
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_bytes(run(images), expected)


@pytest.mark.parametrize("name", NAMES)
def test_filters_read_any_strides(device, name):
    images = device.put(photographs(2, 3, 20, 300))
    run = filters("wrap")[name]
    expected = run(images)
    actual = run(images.contiguous(memory_format=torch.channels_last))
    assert actual.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(actual, expected)
    assert_same_bytes(run(images.transpose(2, 3).contiguous().transpose(2, 3)), expected)
    many = device.put(photographs(1, 20, 9, 30)).contiguous(memory_format=torch.channels_last)
    assert_same_bytes(run(many), run(many.contiguous()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_the_memory_of_a_large_result_is_used_again(name, memory_format):
    images = photographs(4, 3, 200, 200, torch.float32).contiguous(memory_format=memory_format)
    run = filters("reflect101")[name]
    result = run(images)
    assert result.is_contiguous(memory_format=memory_format)
    address = result.data_ptr()
    del result
    assert run(images).data_ptr() == address


@pytest.mark.parametrize("name", NAMES)
def test_filters_of_nothing(device, name):
    run = filters("wrap")[name]
    assert run(device.put(photographs(0, 3, 4, 5))).shape == (0, 3, 4, 5)
    assert run(device.put(torch.zeros(2, 3, 0, 5))).shape == (2, 3, 0, 5)
    assert len(run(ImageBatch.from_images([], channels=3))) == 0


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 40),
    width=st.integers(1, 80),
    channels=st.sampled_from([1, 3, 4]),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    border=st.sampled_from(CV2_BORDERS),
)
def test_any_box_and_median_match_opencv(height, width, channels, size, border):
    image = np.random.default_rng(height * width).integers(0, 256, (height, width, channels), np.uint8)
    expected = cv2.blur(image, size[::-1], borderType=opencv.BORDERS[border]).reshape(image.shape)
    assert_same_bytes(box_blur(image, size, border=border), expected)
    odd = size[0] // 2 * 2 + 1
    assert_same_bytes(median_blur(image, odd), cv2.medianBlur(image, odd).reshape(image.shape))


@pytest.mark.parametrize("border", ALL_BORDERS)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 5), (4, 6), (9, 3)])
def test_filters_have_the_gradients_of_finite_differences(height, width, border):
    images = photographs(2, 1, height, width, torch.float64).requires_grad_()
    for size in [(3, 5), (4, 2), (1, 7)]:
        run = lambda images, size=size: box_blur(images, size, border=border)  # noqa: E731
        assert torch.autograd.gradcheck(run, images)
    kernels = torch.stack([KERNEL, KERNEL.flip(0)]).double()
    assert torch.autograd.gradcheck(lambda images: filter2d(images, kernels, border=border), images)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda x: box_blur(x, 0), "box_blur: expected kernel_size of numbers from 1 to 32767, but got 0"),
        (lambda x: box_blur(x, (32767, 1000)), "box_blur: expected kernel_size of at most 16777216 pixels"),
        (lambda x: box_blur(x, 3, border="no"), "box_blur: expected border to be one of"),
        (lambda x: median_blur(x, 2), "median_blur: expected kernel_size of odd numbers"),
        (lambda x: filter2d(x, torch.ones(3)), r"filter2d: expected kernel of shape \[h, w\] or \[2, h, w\]"),
        (lambda x: filter2d(x, torch.ones(3, 3, 3)), "filter2d: expected kernel of shape"),
        (lambda x: filter2d(x, torch.ones(3, 0)), "filter2d: expected kernel of shape"),
        (lambda x: filter2d(x, torch.ones(3, 3).int()), "filter2d: expected kernel of float32 or float64"),
        (lambda x: filter2d(x, [[1.0]]), "filter2d: expected kernel as a tensor or an array"),
        (lambda x: sharpen(x, torch.ones(3)), r"sharpen: expected amount of shape \[2\], but got \[3\]"),
        (lambda x: sharpen(x, "a"), "sharpen: expected amount as a number"),
        (lambda x: motion_blur(x, 0, 0.0), "motion_blur: expected length from 1 to 32766"),
        (lambda x: motion_blur(x, 2.5, 0.0), "motion_blur: expected length as a whole number, but got 2.5"),
        (
            lambda x: motion_blur(x, (3, 5, 7), 0.0),
            r"motion_blur: expected length of shape \[2\], but got \[3\]",
        ),
        (lambda x: motion_blur(x, [3, 0], 0.0), "expected length from 1 to 32766, but got 0 for image 1"),
        (lambda x: motion_blur(x, 3, float("nan")), "motion_blur: expected angle_degrees as finite numbers"),
        (lambda x: sharpen(x, float("nan")), "sharpen: expected amount as finite numbers, but got nan"),
        (lambda x: sharpen(x, [1.0, float("inf")]), "amount as finite numbers, but got inf for image 1"),
        (lambda x: motion_blur(x, 3, torch.ones(5)), r"motion_blur: expected angle_degrees of shape \[2\]"),
    ],
)
def test_filters_name_the_bad_argument(run, message):
    with pytest.raises((TypeError, ValueError), match=message):
        run(torch.zeros(2, 3, 4, 5))


def test_median_blur_refuses_a_gradient():
    median = median_blur(torch.rand(1, 3, 4, 5).requires_grad_(), 3)
    with pytest.raises(NotImplementedError, match="median_blur: there is no gradient; detach the images"):
        median.sum().backward()


def test_filters_pass_opcheck(device):
    ops = torch.ops.orbbec
    for dtype in (torch.uint8, torch.float32):
        images = device.put(photographs(2, 3, 4, 5, dtype))
        torch.library.opcheck(ops.box_blur.default, (images, None, 0, [3, 2], "wrap"))
        torch.library.opcheck(ops.filter2d.default, (images, None, 0, KERNEL[None], "wrap"))
        torch.library.opcheck(ops.median_blur.default, (images, None, 0, [3, 3]))
        out = torch.empty_like(images)
        torch.library.opcheck(ops.box_blur_out.default, (images, None, 0, [3, 2], "wrap", out))
        torch.library.opcheck(ops.filter2d_out.default, (images, None, 0, KERNEL[None], "wrap", out))
        torch.library.opcheck(ops.median_blur_out.default, (images, None, 0, [3, 3], out))
    gradient = device.put(photographs(2, 3, 4, 5, torch.float32)).requires_grad_()
    torch.library.opcheck(ops.box_blur_backward.default, (gradient, [3, 2, 1, 4], "wrap"))
    torch.library.opcheck(ops.filter2d_backward.default, (gradient, KERNEL[None], "wrap"))
    torch.library.opcheck(ops.motion_kernels.default, (torch.tensor([3, 5]), torch.tensor([30.0]).double()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_filters_compile_as_one_graph(device, name, dynamic):
    torch.compiler.reset()
    run = filters("reflect")[name]
    compiled = torch.compile(
        lambda images: run(images) + 1, fullgraph=True, backend="aot_eager", dynamic=dynamic
    )
    images = device.put(photographs(2, 3, 9, 12))
    assert_same_bytes(compiled(images), run(images) + 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_motion_blur_per_image_compiles_as_one_graph(device, dynamic):
    compiled = torch.compile(motion_blur, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    images, angles = device.put(photographs(2, 3, 9, 12)), torch.tensor([30.0, 45.0])
    for lengths in (torch.tensor([3, 5]), torch.tensor([9, 2])):
        assert_same_bytes(compiled(images, lengths, angles), motion_blur(images, lengths, angles))


def test_lengths_of_a_motion_blur_are_one_per_image_in_any_sequence():
    images = photographs(2, 3, 9, 12)
    expected = motion_blur(images, torch.tensor([3, 5]), 0.0)
    for lengths in ((3, 5), [3, 5], np.array([3, 5])):
        assert_same_bytes(motion_blur(images, lengths, 0.0), expected)
    assert motion_blur(images[:0], 3, torch.zeros(0)).shape == (0, 3, 9, 12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32], ids=str)
@pytest.mark.parametrize("last", [False, True], ids=["planes", "interleaved"])
def test_rows_as_long_as_strips_are_the_same_in_a_batch(device, name, dtype, last):
    operator = filters("reflect101")[name]
    images = device.put(photographs(4, 3, 6, 2100, dtype))
    images = images.contiguous(memory_format=torch.channels_last) if last else images
    expected = torch.cat([operator(image[None]) for image in images])
    assert_same_bytes(operator(images), expected)


# A few planes are cut into strips of 64 rows, or of eight windows.
@pytest.mark.parametrize("border", ALL_BORDERS)
@pytest.mark.parametrize("height", [65, 66, 67, 130])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strips_of_few_rows_are_those_of_a_batch(dtype, height, border):
    images = photographs(4, 1, height, 40, dtype)
    for run in (partial(box_blur, kernel_size=(3, 5)), partial(gaussian_blur, kernel_size=(7, 3), sigma=1.0)):
        expected = run(images, border=border)
        assert_same_bytes(torch.cat([run(image[None], border=border) for image in images]), expected)
