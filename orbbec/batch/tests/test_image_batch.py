"""ImageBatch in one process: values, positions, memory, devices, errors."""

import os
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import orbbec
from orbbec.batch import ImageBatch, YCbCrBatch, image_batch

HAS_CUDA = torch.cuda.is_available() or os.environ.get("ORBBEC_REQUIRE_CUDA") == "1"
DEVICES = ["cpu", "cuda"] if HAS_CUDA else ["cpu"]

SIZES = [(1, 1), (7, 13), (64, 1), (1, 64), (33, 20)]


def random_images(sizes, channels=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (height, width, channels), np.uint8) for height, width in sizes]


def assert_holds(batch, images):
    assert len(batch) == len(images)
    assert batch.sizes.tolist() == [list(image.shape[:2]) for image in images]
    for actual, expected in zip(batch.numpy(), images, strict=True):
        np.testing.assert_array_equal(actual, expected.reshape(*expected.shape[:2], -1))


class CountCopies(TorchDispatchMode):
    """Counts torch's copies."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += "copy" in str(function)
        return function(*args, **kwargs or {})


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
def test_from_images_holds_the_values_of_every_image(channels):
    images = random_images(SIZES, channels)
    batch = ImageBatch.from_images(images)
    assert batch.channels == channels
    assert_holds(batch, images)


def test_from_images_puts_images_and_table_where_worked_out_by_hand():
    batch = ImageBatch.from_images(random_images([(1, 1), (5, 13), (8, 8)]), plan_bytes=10)
    # 3, 195 and 192 bytes take 64, 256 and 192; the table takes 72, so that the plan begins at 640.
    table = [[0, 1, 1], [64, 5, 13], [320, 8, 8]]
    assert batch.layout.tolist() == batch.host_layout.tolist() == table
    assert batch.offsets.tolist() == [0, 64, 320]
    assert batch.buffer.shape == (512,)
    assert batch.nbytes == 650
    assert batch.plan.shape == (10,)
    assert batch.plan.data_ptr() - batch.buffer.data_ptr() == 640
    assert batch.storage[512:584].view(torch.int64).tolist() == [0, 1, 1, 64, 5, 13, 320, 8, 8]


@pytest.mark.parametrize("count", [1, 5, 300])
def test_every_part_lies_aligned_in_one_storage(count):
    sizes = np.random.default_rng(1).integers(1, 40, (count, 2)).tolist()
    images = random_images(sizes)
    batch = ImageBatch.from_images(images, plan_bytes=100)
    assert_holds(batch, images)
    begin, end = batch.storage.data_ptr(), batch.storage.data_ptr() + batch.nbytes
    reached = begin
    for part in [*batch.images(), batch.layout, batch.plan]:
        assert part.data_ptr() % 64 == 0
        assert reached <= part.data_ptr()
        reached = part.data_ptr() + part.numel() * part.element_size()
    assert reached == end
    assert batch.storage.untyped_storage().nbytes() == batch.nbytes


def test_operators_find_what_they_expect():
    batch = ImageBatch.from_images(random_images(SIZES))
    assert batch.buffer.dtype == torch.uint8
    assert batch.buffer.dim() == 1
    assert batch.buffer.is_contiguous()
    assert batch.layout.dtype == torch.int64
    assert batch.layout.shape == (len(SIZES), 3)
    assert batch.layout.is_contiguous()


def test_from_images_takes_images_of_any_strides():
    image = random_images([(20, 30)])[0]
    read_only = image.copy()
    read_only.flags.writeable = False
    ragged = [
        image[::2, 1::3],
        image[::-1, ::-1, ::-1],
        np.asfortranarray(image),
        image[:, :1],
        read_only,
        np.broadcast_to(image[:1], image.shape),
        torch.from_numpy(image).permute(1, 0, 2),
        torch.from_numpy(image)[::4],
    ]
    assert_holds(ImageBatch.from_images(ragged), [np.asarray(image) for image in ragged])


def test_from_images_takes_gray_images_with_and_without_channels():
    images = [
        *random_images([(3, 5)], 1),
        random_images([(4, 2)], 1)[0][..., 0],
        torch.full((2, 2), 9).byte(),
    ]
    batch = ImageBatch.from_images(images)
    assert batch.channels == 1
    assert batch[1].shape == (4, 2, 1)
    assert_holds(batch, [np.asarray(image) for image in images])


def test_from_images_copies():
    image = np.zeros((2, 2, 3), np.uint8)
    batch = ImageBatch.from_images([image])
    image[:] = 1
    assert batch[0].sum() == 0


@pytest.mark.parametrize("device_type", DEVICES)
@pytest.mark.parametrize("shape", [(0, 3, 2, 2), (1, 1, 1, 1), (3, 3, 7, 13), (2, 5, 8, 8)])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_from_tensor_holds_the_values_of_every_image(device_type, shape, memory_format):
    values = np.random.default_rng(2).integers(0, 256, shape, np.uint8)
    images = torch.from_numpy(values).to(device_type).contiguous(memory_format=memory_format)
    batch = ImageBatch.from_tensor(images, plan_bytes=3)
    assert batch.channels == shape[1]
    assert batch.device == images.device
    assert_holds(batch, list(values.transpose(0, 2, 3, 1)))
    assert batch.layout.tolist() == batch.host_layout.tolist()
    assert all(image.data_ptr() % 64 == 0 for image in batch)


@pytest.mark.parametrize("channels", [None, 4])
def test_a_batch_without_images_is_ordinary(channels):
    batch = ImageBatch.from_images([], channels=channels, plan_bytes=8)
    for empty in (batch, batch[:0], pickle.loads(pickle.dumps(batch))):
        assert len(empty) == 0
        assert empty.channels == (channels or 3)
        assert empty.sizes.shape == (0, 2)
        assert empty.offsets.shape == (0,)
        assert empty.layout.shape == (0, 3)
        assert empty.buffer.shape == (0,)
        assert empty.plan.shape == (8,)
        assert empty.images() == list(empty) == empty.numpy() == []
    assert repr(batch) == f"ImageBatch(0 images, channels={channels or 3}, sizes=none, device=cpu)"


def test_an_index_gives_a_view():
    batch = ImageBatch.from_images(random_images(SIZES))
    for index in range(-len(SIZES), len(SIZES)):
        assert batch[index].shape == (*SIZES[index], 3)
        assert batch[index].data_ptr() == batch.buffer.data_ptr() + batch.offsets[index]
    batch[np.int64(1)][6, 12, 2] = 77
    assert batch.buffer[64 + 7 * 13 * 3 - 1] == 77
    assert [image.data_ptr() for image in batch] == [image.data_ptr() for image in batch.images()]
    batch.numpy()[-1][0, 0, 0] = 78
    assert batch[-1][0, 0, 0] == 78


@pytest.mark.parametrize("index", [2, -3])
def test_an_index_out_of_range_is_named(index):
    batch = ImageBatch.from_images(random_images([(1, 1), (2, 2)]))
    with pytest.raises(IndexError, match=f"index {index} is out of range for 2 images"):
        batch[index]


@pytest.mark.parametrize("index", [[0, 1], 1.0, None, "0"])
def test_an_index_of_another_type_is_named(index):
    batch = ImageBatch.from_images(random_images([(1, 1), (2, 2)]))
    with pytest.raises(TypeError, match=r"^ImageBatch: expected an index or a slice, but got "):
        batch[index]


def test_images_that_are_no_sequence_are_named():
    with pytest.raises(
        TypeError, match=r"^ImageBatch.from_images: expected images as a sequence, but got None$"
    ):
        ImageBatch.from_images(None)


@pytest.mark.parametrize("part", [slice(None), slice(1, 3), slice(-2, None), slice(3, 1), slice(0, 99)])
def test_a_slice_shares_the_storage(part):
    images = random_images(SIZES)
    batch = ImageBatch.from_images(images, plan_bytes=5)
    for same in (batch[part], pickle.loads(pickle.dumps(batch[part]))):
        assert_holds(same, images[part])
        assert same.layout.tolist() == same.host_layout.tolist() == batch.layout[part].tolist()
        assert same.layout.is_contiguous()
        assert same.plan.shape == (5,)
    assert batch[part].storage is batch.storage


def test_a_slice_of_a_slice_counts_from_the_slice():
    images = random_images(SIZES)
    batch = ImageBatch.from_images(images)[1:][1:3]
    assert_holds(batch, images[2:4])
    assert batch.layout.tolist() == batch.host_layout.tolist()


def test_a_slice_with_another_step_is_refused():
    with pytest.raises(ValueError, match="expected a slice of step 1, but got step 2"):
        ImageBatch.from_images(random_images(SIZES))[::2]


def test_views_are_made_once():
    batch = ImageBatch.from_tensor(torch.zeros(2, 3, 4, 5, dtype=torch.uint8))
    assert batch.buffer is batch.buffer
    assert batch.layout is batch.layout


def test_views_made_in_inference_mode_can_be_written_later():
    batch = ImageBatch.from_tensor(torch.zeros(2, 3, 4, 5, dtype=torch.uint8))
    fresh = ImageBatch(batch.storage, batch.host_layout, batch.channels, batch.pixel_bytes)
    with torch.inference_mode():
        orbbec.adjust_brightness(fresh, 0.5)
    assert not fresh.layout.is_inference()
    fresh.layout.copy_(batch.layout)
    assert fresh.layout.tolist() == batch.host_layout.tolist()


def test_dlpack_shares_the_memory():
    batch = ImageBatch.from_images(random_images(SIZES))
    image, buffer = np.from_dlpack(batch[1]), np.from_dlpack(batch.buffer)
    batch[1][2, 3] = 55
    assert image[2, 3].tolist() == [55, 55, 55]
    assert image.shape == (7, 13, 3)
    assert buffer.ctypes.data == batch.buffer.data_ptr()


def test_to_another_device_is_one_copy():
    batch = ImageBatch.from_images(random_images(SIZES), plan_bytes=9)
    with CountCopies() as copies:
        moved = batch.to("meta", non_blocking=True)
    assert copies.count == 1
    assert moved.device.type == moved.layout.device.type == moved[0].device.type == "meta"
    assert moved.sizes.tolist() == [list(size) for size in SIZES]
    assert moved.layout.shape == (len(SIZES), 3)
    assert [image.shape[:2] for image in moved.images()] == SIZES


def test_to_the_same_device_is_no_copy():
    batch = ImageBatch.from_images(random_images(SIZES))
    assert batch.to("cpu") is batch


@pytest.mark.parametrize("device_type", DEVICES)
@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_batch_comes_back_from_a_device(device_type, non_blocking):
    images = random_images(SIZES)
    batch = ImageBatch.from_images(images, plan_bytes=4, pin_memory=device_type == "cuda")
    batch.plan.fill_(3)
    moved = batch.to(device_type, non_blocking=non_blocking)
    moved.record_stream(torch.Stream(device_type) if device_type == "cuda" else None)
    assert moved.device.type == device_type
    assert moved.layout.cpu().tolist() == moved.host_layout.tolist() == batch.host_layout.tolist()
    assert moved.plan.tolist() == [3, 3, 3, 3]
    assert batch.is_pinned() == (device_type == "cuda")
    assert_holds(moved, images)


@pytest.mark.parametrize("name", ["cpu", "meta"])
def test_memory_of_a_device_is_recorded_on_a_stream(monkeypatch, name):
    batch, recorded = ImageBatch.from_images(random_images(SIZES)).to(name), []
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda tensor, stream: recorded.append((tensor, stream))
    )
    batch.record_stream("stream")
    assert [(tensor is batch.storage, stream) for tensor, stream in recorded] == (
        [] if name == "cpu" else [(True, "stream")]
    )


def test_pin_memory_pins_the_one_storage(monkeypatch):
    images = random_images(SIZES)
    batch = ImageBatch.from_images(images, plan_bytes=2)
    pinned = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor.clone())
    assert_holds(batch.pin_memory(), images)
    assert len(pinned) == 1
    assert pinned[0] is batch.storage


def test_from_images_asks_for_pinned_memory_once(monkeypatch):
    asked, empty = [], torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda *a, pin_memory=False, **k: asked.append(pin_memory) or empty(*a, **k)
    )
    images = random_images(SIZES)
    assert_holds(ImageBatch.from_images(images, pin_memory=True), images)
    assert asked == [True]


def test_a_forked_process_pins_nothing(monkeypatch):
    def refused(name):
        raise RuntimeError(name)

    monkeypatch.setattr(image_batch, "check_not_forked", refused)
    assert_holds(ImageBatch.from_images(random_images(SIZES)), random_images(SIZES))
    with pytest.raises(RuntimeError, match=r"^ImageBatch.from_images$"):
        ImageBatch.from_images(random_images(SIZES), pin_memory=True)


def test_a_batch_without_images_has_three_channels():
    assert ImageBatch.from_images([]).channels == 3


def test_repr_names_the_ranges_of_heights_and_widths():
    batch = ImageBatch.from_images(random_images([(5, 4), (2, 3), (3, 9)]))
    assert repr(batch) == "ImageBatch(3 images, channels=3, sizes=2..5 x 3..9, device=cpu)"


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (
            [np.zeros((2, 2, 3), np.uint8), [[1]]],
            TypeError,
            "expected arrays or tensors, but image 1 is a list",
        ),
        ([np.zeros((2, 2, 3), np.float32)], TypeError, "expected images of uint8, but image 0 is float32"),
        ([torch.zeros(2, 2, 3)], TypeError, "expected images of uint8, but image 0 is float32"),
        ([np.zeros((2, 2), bool)], TypeError, "expected images of uint8, but image 0 is bool"),
        ([torch.zeros(2, 2).byte().to("meta")], ValueError, "on the CPU, but image 0 is on meta"),
        ([np.zeros(3, np.uint8)], ValueError, r"but image 0 has \[3\]"),
        ([np.zeros((1, 2, 2, 3), np.uint8)], ValueError, r"but image 0 has \[1, 2, 2, 3\]"),
        (
            [np.zeros((2, 2, 3), np.uint8), np.zeros((0, 2, 3), np.uint8)],
            ValueError,
            r"image 1 has \[0, 2, 3\]",
        ),
        ([np.zeros((2, 0), np.uint8)], ValueError, r"but image 0 has \[2, 0\]"),
        (
            [torch.zeros(3, 40, 50).byte()],
            ValueError,
            r"image 0 has \[3, 40, 50\], which looks like \[C, H, W\]; permute it",
        ),
        ([np.zeros((2, 2, 0), np.uint8)], ValueError, r"but image 0 has \[2, 2, 0\]"),
        (
            [np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2), np.uint8)],
            ValueError,
            r"expected images of shape \[H, W, 3\], but image 1 has \[2, 2\]",
        ),
    ],
)
def test_from_images_names_the_image_it_refuses(images, error, message):
    with pytest.raises(error, match=rf"^ImageBatch.from_images: .*{message}$"):
        ImageBatch.from_images(images)


def test_from_images_takes_few_rows_of_as_many_channels_as_are_stated():
    assert ImageBatch.from_images([np.zeros((3, 40, 50), np.uint8)], channels=50).sizes.tolist() == [[3, 40]]


def test_from_images_names_the_argument_it_refuses():
    with pytest.raises(ValueError, match=r"shape \[H, W, 4\], but image 0 has \[2, 3, 3\]"):
        ImageBatch.from_images(random_images([(2, 3)]), channels=4)
    with pytest.raises(ValueError, match="at least 1 channel, but got 0"):
        ImageBatch.from_images([], channels=0)
    with pytest.raises(ValueError, match="plan_bytes of at least 0, but got -1"):
        ImageBatch.from_images([], plan_bytes=-1)


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (np.zeros((1, 3, 2, 2), np.uint8), TypeError, "expected a torch.Tensor, but got ndarray"),
        (torch.zeros(1, 3, 2, 2), TypeError, "expected images of uint8, but got float32"),
        (torch.zeros(3, 2, 2).byte(), ValueError, r"\[N, C, H, W\] with pixels, but got \[3, 2, 2\]"),
        *(
            (
                torch.zeros(shape).byte(),
                ValueError,
                rf"\[N, C, H, W\] with pixels, but got {re.escape(str(shape))}",
            )
            for shape in ([2, 0, 3, 2], [2, 3, 0, 2], [2, 3, 2, 0], [0, 3, 2, 0])
        ),
    ],
)
def test_from_tensor_names_what_it_refuses(images, error, message):
    with pytest.raises(error, match=rf"^ImageBatch.from_tensor: .*{message}$"):
        ImageBatch.from_tensor(images)


def test_with_pixels_keeps_sizes_and_checks_the_pixels():
    batch = ImageBatch.from_images([np.zeros((2, 3, 3), np.uint8), np.ones((5, 4, 3), np.uint8)])
    other = batch.with_pixels(torch.full_like(batch.buffer, 7), channels=1)
    assert other.sizes.tolist() == batch.sizes.tolist()
    assert [image.shape for image in other] == [(2, 3, 1), (5, 4, 1)]
    assert all((image == 7).all() for image in other)
    with pytest.raises(ValueError, match="expected uint8 pixels of shape"):
        batch.with_pixels(torch.zeros(1, dtype=torch.uint8), 3)
    for channels in (0, 4):
        with pytest.raises(ValueError, match=f"expected from 1 to 3 channels, but got {channels}"):
            batch.with_pixels(batch.buffer, channels)


@pytest.mark.parametrize(
    ("sizes", "channels", "text"),
    [
        ([(4, 2), (-1, 2)], 3, "-1..4 x 2"),
        ([(2, 2)], 0, "2x2 and 0 channels"),
        ([(2**63, 2)], 3, "9223372036854775808x2"),
        ([(2**31, 2**31)], 4, "2147483648x2147483648"),  # 2^64 bytes, which wrap to none
        (np.array([[2**63, 2]], np.uint64), 3, "9223372036854775808x2"),
    ],
)
def test_a_batch_of_impossible_sizes_is_refused(sizes, channels, text):
    with pytest.raises(ValueError, match=rf"ImageBatch\.of_sizes: expected sides .*but got sizes {text}"):
        ImageBatch.of_sizes(sizes, channels)
    if channels == 3:
        with pytest.raises(ValueError, match=rf"YCbCrBatch\.of_sizes: expected sides .*but got sizes {text}"):
            YCbCrBatch.of_sizes(sizes, ["444"] * len(sizes))


class _Calls(TorchDispatchMode):
    """Records the operators that torch runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_a_pointwise_operator_does_not_copy_the_pixels_of_a_batch():
    batch = ImageBatch.from_images(
        [np.zeros((2, 3, 3), np.uint8), np.ones((5, 4, 3), np.uint8)], plan_bytes=64
    )
    batch.plan.fill_(9)
    with _Calls() as calls:
        inverted = orbbec.invert(batch)
    assert "adjust_color" in calls.names
    assert "cat" not in calls.names
    assert torch.equal(inverted.layout, batch.layout)
    assert torch.equal(inverted.plan, batch.plan)
    assert [image.unique().tolist() for image in inverted] == [[255], [254]]
    sent = pickle.loads(pickle.dumps(inverted))
    assert torch.equal(sent.storage, inverted.storage)
