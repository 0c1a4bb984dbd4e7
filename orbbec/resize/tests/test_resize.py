"""resize and resized_crop: worked by hand, in every layout, on every device, gradients, invalid arguments."""

import re

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.samples import DTYPES

CV2 = ("nearest", "nearest_exact", "linear", "linear_exact", "cubic", "area", "lanczos4")
PILLOW = ("box", "linear", "hamming", "cubic", "lanczos")
METHODS = [(name, False) for name in CV2] + [(name, True) for name in PILLOW]
SIZES = [
    ((1, 1), (1, 1)),
    ((1, 9), (7, 4)),
    ((9, 1), (4, 7)),
    ((20, 32), (10, 16)),
    ((28, 36), (7, 9)),
    ((27, 35), (9, 7)),
    ((41, 23), (9, 37)),
    ((70, 61), (13, 40)),
]


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def boxes_of(count, size, seed=0):
    """Boxes inside and beyond images of `size`, with fractions: float64 `[count, 4]`."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(-0.1, 1.1, (count, 2, 2)) * np.array([size[1], size[0]])[:, None], -1)
    return torch.from_numpy(np.concatenate([ends[..., 0], ends[..., 1] + 1], -1))


def test_linear_worked_by_hand(device):
    # Output 0 reads at (0 + 0.5) * 4 / 3 - 0.5 = 1/6, output 1 at 1.5, output 2 at 2 + 5/6.
    images = device.put(torch.tensor([[[[0.0, 6.0, 12.0, 30.0]]]]))
    resized = orbbec.resize(images, (1, 3)).flatten().tolist()
    assert resized == pytest.approx([1.0, 9.0, 27.0], abs=1e-5)


def test_area_worked_by_hand(device):
    # Each output pixel covers 1.5 source pixels.
    images = device.put(torch.tensor([[[[30.0, 60.0, 90.0]]]]))
    resized = orbbec.resize(images, (1, 2), interpolation="area").flatten().tolist()
    assert resized == pytest.approx([40.0, 80.0], abs=1e-4)


def test_antialias_worked_by_hand(device):
    # A triangle of radius 2 about 1, the middle of the first two pixels: weights 3, 3, 1 of 7.
    images = device.put(torch.tensor([[[[7.0, 70.0, 0.0, 0.0]]]]))
    resized = orbbec.resize(images, (1, 2), antialias=True).flatten().tolist()
    assert resized == pytest.approx([33.0, 10.0], abs=1e-5)


def test_a_box_between_pixels(device):
    images = device.put(torch.tensor([[[[0.0, 10.0, 20.0, 30.0]]]]))
    box = torch.tensor([0.5, 0.0, 2.5, 1.0])
    resized = orbbec.resized_crop(images, box, (1, 1), interpolation="box", antialias=True)
    assert resized.item() == pytest.approx(10.0, abs=5.1)
    whole = orbbec.resized_crop(images, box, (1, 2), interpolation="nearest")  # 0.5 -> 0, 2.5 -> 2
    assert whole.flatten().tolist() == [0.0, 10.0]


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
def test_every_device_gives_the_bits_of_the_cpu(accelerator, interpolation, antialias, dtype):
    options = {"interpolation": interpolation, "antialias": antialias}
    for channels in (1, 2, 3, 4, 5):
        for source, target in SIZES:
            images, boxes = photographs(2, channels, *source, dtype), boxes_of(2, source)
            expected = orbbec.resize(images, target, **options)
            cropped = orbbec.resized_crop(images, boxes, target, **options)
            put = accelerator.put
            with accelerator.active():
                assert_same_bytes(orbbec.resize(put(images), target, **options), expected)
                for where in (boxes, put(boxes)):
                    assert_same_bytes(orbbec.resized_crop(put(images), where, target, **options), cropped)


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("arithmetic", [0, 1])
def test_every_device_gives_the_bits_of_the_cpu_for_variable_size_images(
    accelerator, interpolation, antialias, arithmetic
):
    names = ("pillow_13", "pillow_12") if antialias else ("cv2_5", "cv2_4")
    options = {"interpolation": interpolation, "antialias": antialias, "arithmetic": names[arithmetic]}
    for channels in (1, 3):
        sizes = [(1, 1), (90, 7), (22, 18), (11, 9), (5, 44), (33, 27)]
        batch = ImageBatch.from_images([photograph(*size, channels, seed=k) for k, size in enumerate(sizes)])
        expected = orbbec.resize(batch, (11, 9), **options)
        moved = batch.to("cuda") if accelerator.name == "cuda" else batch
        with accelerator.active():
            assert_same_bytes(orbbec.resize(moved, (11, 9), **options), expected)


# A CUDA block does 64 output rows: all at once, some at a time, or more taps than fit its memory.
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize(
    ("source", "target"), [((211, 90), (130, 40)), ((900, 30), (70, 7)), ((3000, 12), (7, 5))]
)
def test_every_device_gives_the_bits_of_the_cpu_for_tall_images(
    accelerator, source, target, interpolation, antialias, dtype
):
    options = {"interpolation": interpolation, "antialias": antialias, "arithmetic": "pillow_12"}
    options = options if antialias else options | {"arithmetic": "cv2_5"}
    for images in (
        photographs(1, 3, *source, dtype),
        photographs(1, 3, *source, dtype).contiguous(memory_format=torch.channels_last),
    ):
        expected = orbbec.resize(images, target, **options)
        with accelerator.active():
            assert_same_bytes(orbbec.resize(accelerator.put(images), target, **options), expected)


# A thread of CUDA owns a pixel: 4, 5, 6, 8 or more taps, in words that begin anywhere; negative weights.
@pytest.mark.parametrize(
    ("interpolation", "antialias"), [("area", False), *((name, True) for name in PILLOW)]
)
def test_every_device_gives_the_bits_of_the_cpu_for_packed_pixels(accelerator, interpolation, antialias):
    options = {"interpolation": interpolation, "antialias": antialias}
    for source, target in (
        ((150, 101), (67, 67)),
        ((51, 130), (23, 60)),
        ((33, 133), (14, 45)),
        ((40, 151), (21, 33)),
        ((21, 300), (2, 40)),
        ((19, 400), (9, 39)),
        ((4, 9), (2, 4)),
    ):
        last = photographs(2, 3, *source).contiguous(memory_format=torch.channels_last)
        for images in (last, last[..., 1:, 1:-1]):
            expected = orbbec.resize(images, target, **options)
            with accelerator.active():
                assert_same_bytes(orbbec.resize(accelerator.put(images), target, **options), expected)


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("channels", [1, 3, 4, 5])
def test_every_layout_and_kind_gives_the_same_bits(device, interpolation, antialias, channels):
    options = {"interpolation": interpolation, "antialias": antialias}
    for source, target in SIZES:
        images = photographs(2, channels, *source)
        expected = orbbec.resize(device.put(images), target, **options)
        last = device.put(images.contiguous(memory_format=torch.channels_last))
        assert_same_bytes(orbbec.resize(last, target, **options), expected)
        wide = device.put(torch.zeros(2, channels, source[0], 2 * source[1], dtype=torch.uint8))[..., ::2]
        wide.copy_(images)
        assert_same_bytes(orbbec.resize(wide, target, **options), expected)
        batch = ImageBatch.from_tensor(device.put(images))
        assert_same_bytes(orbbec.resize(batch, target, **options), expected)
        out = device.put(torch.zeros(2, channels, *target, dtype=torch.uint8))
        assert orbbec.resize(last, target, out=out, **options) is out
        assert_same_bytes(out, expected)
        if device.name != "cuda":
            arrays = images.permute(0, 2, 3, 1).numpy()
            resized = orbbec.resize(arrays, target, **options)
            assert_same_bytes(torch.from_numpy(resized).permute(0, 3, 1, 2), expected)
            one = orbbec.resize(arrays[0], target, **options)
            assert_same_bytes(torch.from_numpy(one).permute(2, 0, 1), expected[0])


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("dtype", [torch.uint16, torch.float32, torch.float64], ids=name_of)
def test_planes_give_the_bits_of_packed_pixels(device, interpolation, antialias, dtype):
    options = {"interpolation": interpolation, "antialias": antialias}
    for channels in (2, 3, 4):
        for source, target in SIZES:
            images = photographs(1, channels, *source, dtype)
            last = images.contiguous(memory_format=torch.channels_last)
            expected = orbbec.resize(device.put(images), target, **options)
            assert_same_bytes(orbbec.resize(device.put(last), target, **options), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
def test_vectors_give_the_bits_of_plain_code(monkeypatch, interpolation, antialias, level):
    options = {"interpolation": interpolation, "antialias": antialias}
    large = [((375, 500), (224, 224)), ((7, 300), (5, 67)), ((9, 999), (5, 67)), ((500, 250), (99, 171))]
    for channels in (1, 2, 3, 4, 17):
        for source, target in [*SIZES, *large]:
            planes = photographs(1, channels, *source)
            if source[1] > 500:
                planes = planes[..., 1:, 1:]  # rows with any offsets
            monkeypatch.setenv("ORBBEC_SIMD", "scalar")
            expected = orbbec.resize(planes, target, **options)
            monkeypatch.setenv("ORBBEC_SIMD", level)
            assert_same_bytes(orbbec.resize(planes, target, **options), expected)
            last = planes.contiguous(memory_format=torch.channels_last)
            assert_same_bytes(orbbec.resize(last, target, **options), expected)
            ragged = ImageBatch.from_tensor(planes)
            assert_same_bytes(orbbec.resize(ragged, target, **options), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != torch.uint8], ids=name_of)
def test_vectors_of_every_dtype_give_the_bits_of_plain_code(monkeypatch, interpolation, antialias, dtype):
    options = {"interpolation": interpolation, "antialias": antialias}
    for channels in (1, 2, 3, 4, 5):
        for source, target in SIZES:
            planes = photographs(1, channels, *source).to(dtype)
            if dtype.is_floating_point:
                planes = planes / 7 - 20
                planes.view(-1)[len(planes.view(-1)) // 2] = torch.inf
            for images in (planes, planes.contiguous(memory_format=torch.channels_last)):
                monkeypatch.setenv("ORBBEC_SIMD", "scalar")
                expected = orbbec.resize(images, target, **options)
                monkeypatch.setenv("ORBBEC_SIMD", "avx2")
                assert_same_bytes(orbbec.resize(images, target, **options), expected)


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_a_box_of_whole_pixels_is_a_crop(device, interpolation, antialias):
    images = device.put(photographs(1, 3, 40, 50))
    options = {"interpolation": interpolation}
    if antialias:
        whole = torch.tensor([0, 0, 50, 40])
        options["antialias"] = True
        expected = orbbec.resize(images, (17, 23), **options)
        assert_same_bytes(orbbec.resized_crop(images, whole, (17, 23), **options), expected)
        return
    expected = orbbec.resize(images[..., 5:33, 7:41], (17, 23), **options)
    assert_same_bytes(
        orbbec.resized_crop(images, torch.tensor([7, 5, 41, 33]), (17, 23), **options), expected
    )


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
@pytest.mark.parametrize(
    "box",
    [
        (3, 3, 3, 8),
        (8, 3, 3, 8),
        (np.nan, 0, 5, 5),
        (0, 0, np.nan, 5),
        (50, 0, 60, 5),
        (-9, -9, -1, -1),
        (-np.inf, 0, -1e300, 5),
    ],
)
def test_a_box_without_pixels_gives_zeros(device, interpolation, antialias, box):
    images = device.put(photographs(1, 3, 9, 9)) | 1
    boxes = torch.tensor([box], dtype=torch.float64)
    options = {"interpolation": interpolation, "antialias": antialias}
    assert not orbbec.resized_crop(images, boxes, (4, 5), **options).any()
    everything = torch.tensor([-np.inf, -1e300, np.inf, 1e300], dtype=torch.float64)
    expected = orbbec.resize(images, (4, 5), **options)
    assert_same_bytes(orbbec.resized_crop(images, everything, (4, 5), **options), expected)


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_empty_batches_and_images(device, interpolation, antialias):
    options = {"interpolation": interpolation, "antialias": antialias}
    for shape in ((0, 3, 8, 8), (2, 0, 8, 8)):
        images = device.put(torch.zeros(shape, dtype=torch.uint8))
        assert orbbec.resize(images, (3, 4), **options).shape == (*shape[:2], 3, 4)
    for shape in ((2, 3, 0, 8), (2, 3, 8, 0)):
        images = device.put(torch.zeros(shape, dtype=torch.uint8))
        assert not orbbec.resize(images, (3, 4), **options).any()


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_an_image_of_20000_columns(device, interpolation, antialias):
    images = device.put(torch.full((1, 1, 2, 20000), 200, dtype=torch.uint8))
    options = {"interpolation": interpolation, "antialias": antialias}
    for target in ((1, 1), (3, 7), (2, 20000)):
        assert (orbbec.resize(images, target, **options) == 200).all()


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_gradients_are_those_of_differences(interpolation, antialias):
    torch.manual_seed(0)
    images = torch.randn(2, 1, 5, 6, dtype=torch.float64, requires_grad=True)
    boxes = torch.tensor([[1.3, 1, 5, 4], [0, 1, 5.6, 5]], dtype=torch.float64)
    options = {"interpolation": interpolation, "antialias": antialias}
    for size in ((3, 4), (5, 6), (8, 9), (2, 13)):
        torch.autograd.gradcheck(lambda t, s=size: orbbec.resize(t, s, **options), images)
        torch.autograd.gradcheck(lambda t, s=size: orbbec.resized_crop(t, boxes, s, **options), images)
        torch.autograd.gradgradcheck(lambda t, s=size: orbbec.resized_crop(t, boxes, s, **options), images)


@pytest.mark.parametrize(("interpolation", "antialias"), METHODS)
def test_every_device_gives_the_gradient_of_the_cpu(accelerator, interpolation, antialias):
    arithmetic = "pillow_13" if antialias else "cv2_5"
    gradient, boxes = photographs(2, 3, 11, 7, torch.float32), boxes_of(2, (23, 19))
    for given_boxes in (None, boxes):
        arguments = (given_boxes, [23, 19], interpolation, antialias, arithmetic)
        expected = torch.ops.orbbec.resize_backward(gradient, *arguments)
        with accelerator.active():
            actual = torch.ops.orbbec.resize_backward(accelerator.put(gradient), *arguments)
        assert_same_bytes(actual, expected)


@pytest.mark.parametrize("antialias", [False, True])
def test_opcheck(device, antialias):
    arithmetic = "pillow_13" if antialias else "cv2_5"
    for images in (photographs(2, 3, 9, 8), photographs(2, 3, 9, 8, torch.float32).requires_grad_()):
        arguments = (device.put(images), None, 0, None, [4, 5], "linear", antialias, arithmetic, [0, 0])
        torch.library.opcheck(torch.ops.orbbec.resize, arguments)
    images, out = device.put(photographs(2, 3, 9, 8)), device.put(torch.zeros(2, 3, 4, 5, dtype=torch.uint8))
    options = ([4, 5], "linear", antialias, arithmetic, [0, 0], None)
    torch.library.opcheck(torch.ops.orbbec.resize_out, (images, None, 0, boxes_of(2, (9, 8)), *options, out))


def test_compiles_whole(device):
    def crop(images, boxes):
        resized = orbbec.resize(images, (9, 8), interpolation="area")
        return orbbec.resized_crop(resized, boxes, (4, 5), antialias=True)

    images, boxes = device.put(photographs(2, 3, 20, 30)), boxes_of(2, (9, 8))
    compiled = torch.compile(crop, fullgraph=True, backend="aot_eager")
    assert_same_bytes(compiled(images, boxes), crop(images, boxes))


def refused(message, error=ValueError, boxes=None, **changes):
    call = {"images": photographs(2, 3, 8, 9), "size": (5, 6), **changes}
    if boxes is not None:
        call["boxes"] = boxes
    op = orbbec.resize if boxes is None else orbbec.resized_crop
    with pytest.raises(error, match=f"^{op.__name__}: {re.escape(message)}"):
        op(**call)


def test_arguments_that_do_not_fit():
    refused("expected images of uint8", TypeError, images=torch.zeros(2, 3, 8, 9, dtype=torch.int8))
    refused("expected images as a tensor, an array or an ImageBatch", TypeError, images=[1])
    refused("expected images of shape [N, C, H, W] or [C, H, W]", images=torch.zeros(3))
    refused("expected size as (height, width), but got 5.0", TypeError, size=5.0)
    refused("expected size of at least 1 pixel, but got 0", size=0)
    refused("expected size as (height, width), but got (5.0, 6)", TypeError, size=(5.0, 6))
    for size in ((0, 5), (5, -1), (2**31, 5)):
        refused("expected size as (height, width), each from 1 to 2147483647", size=size)
    names = "nearest, nearest_exact, linear, linear_exact, cubic, area, lanczos4"
    refused(f"expected interpolation to be one of {names}, but got 'x'", interpolation="x")
    names = "box, linear, bilinear, hamming, cubic, bicubic, lanczos"
    refused(
        f"expected interpolation of antialias to be one of {names}, but got 'area'",
        interpolation="area",
        antialias=True,
    )
    refused("expected arithmetic to be one of cv2_5, cv2_4, but got 'pillow_13'", arithmetic="pillow_13")
    refused(
        "expected arithmetic of antialias to be one of pillow_13, pillow_12, but got 'cv2_5'",
        arithmetic="cv2_5",
        antialias=True,
    )
    refused("expected interpolation as a name, but got None", TypeError, interpolation=None)
    refused("expected boxes of shape [2, 4], but got [3, 4]", boxes=torch.zeros(3, 4))
    refused("expected boxes of shape [2, 4], but got [5]", boxes=torch.zeros(5))
    refused("expected boxes as a tensor or an array", TypeError, boxes=[0, 0, 1, 1])
    refused("expected out of shape [2, 3, 5, 6]", out=torch.zeros(2, 3, 5, 7, dtype=torch.uint8))
    refused("expected out of the dtype of images", out=torch.zeros(2, 3, 5, 6))
    needed = torch.zeros(2, 3, 8, 9, requires_grad=True)
    refused("out= cannot be used where a gradient is needed", images=needed, out=torch.zeros(2, 3, 5, 6))


def test_sides_that_are_told_too_small_write_nothing_beyond_the_tables(device):
    batch = ImageBatch.from_images([photograph(50, 60)])
    for interpolation, antialias in METHODS:
        arithmetic = "pillow_13" if antialias else "cv2_5"
        options = ([3, 4], interpolation, antialias, arithmetic)
        for longest in ([0, 0], [1, 1], [7, 9]):
            resized = torch.ops.orbbec.resize(
                device.put(batch.buffer), device.put(batch.layout), 3, None, *options, longest
            )
            assert resized.shape == (1, 3, 3, 4)
        with pytest.raises(ValueError, match="expected longest"):
            torch.ops.orbbec.resize(batch.buffer, batch.layout, 3, None, *options, [-1, 5])


def test_a_number_is_the_shorter_side(device):
    images = photographs(2, 3, 40, 63)
    for given, shape in ((images, (20, 31)), (images.mT, (31, 20)), (images[0], (20, 31))):
        resized = orbbec.resize(device.put(given), 20, antialias=True)
        assert_same_bytes(resized, orbbec.resize(device.put(given), shape, antialias=True))
    assert orbbec.resize(photograph(30, 40), 60).shape == (60, 80, 3)
    assert orbbec.resize(torch.zeros(0, 3, 40, 63), 20).shape == (0, 3, 20, 31)


def test_variable_size_images_keep_their_ratio(device):
    photos = [photograph(40, 63), photograph(63, 40), photograph(1, 1), photograph(333, 20)]
    batch = ImageBatch.from_images(photos)
    resized = orbbec.resize(device.put(batch), 20, interpolation="cubic")
    assert resized.sizes.tolist() == [[20, 31], [31, 20], [20, 20], [333, 20]]
    for photo, image in zip(photos, resized, strict=True):
        size = tuple(image.shape[:2])
        assert_same_bytes(
            image, device.put(torch.from_numpy(orbbec.resize(photo, size, interpolation="cubic")))
        )
    assert len(orbbec.resize(ImageBatch.from_images([], channels=3), 20)) == 0
    with pytest.raises(
        ValueError, match=r"^resize: expected size as \(height, width\) for an ImageBatch with out="
    ):
        orbbec.resize(batch, 20, out=torch.zeros(4, 3, 20, 20, dtype=torch.uint8))


@pytest.mark.parametrize(("height", "width"), [(3, 7), (7, 3), (500, 333), (65537, 2), (9, 9)])
@pytest.mark.parametrize("side", [1, 2, 13, 224])
def test_the_longer_side_is_torchvisions(height, width, side):
    short, long = sorted((height, width))
    expected = (int(side * long / short), side) if height > width else (side, int(side * long / short))
    assert (
        tuple(orbbec.resize(torch.zeros(1, height, width), side, interpolation="nearest").shape[1:])
        == expected
    )


@pytest.mark.parametrize("scale", [0.3, 0.6, 1.9, 3.9, 4.6])  # 64 columns span up to 128, 256 or more bytes
def test_nearest_gathers_the_same_columns_at_every_level(monkeypatch, scale):
    for width in (1, 63, 64, 65, 200):
        images = photographs(2, 3, 5, max(int(width * scale), 1))
        monkeypatch.setenv("ORBBEC_SIMD", "scalar")
        expected = orbbec.resize(images, (7, width), interpolation="nearest")
        for level in ("avx2", "avx512"):
            monkeypatch.setenv("ORBBEC_SIMD", level)
            assert_same_bytes(orbbec.resize(images, (7, width), interpolation="nearest"), expected)
