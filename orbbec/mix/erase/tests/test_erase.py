"""erase compared with NumPy and torchvision."""

from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec.mix.erase import erase
from tests.support import Device, assert_same_bytes, photograph, photographs
from tests.support.erases import by_numpy, random_boxes
from tests.support.samples import DTYPES

RECORD = dict(np.load(Path(__file__).with_name("torchvision.npz")))
SIZES = [(1, 1), (1, 40), (35, 1), (7, 13), (9, 64)]
KEY = {"seed": 77, "epoch": 2, "transform_index": 5}
IDS = [3, 2**40, 8]


@pytest.mark.parametrize("case", sorted({key.rsplit("/", 1)[0] for key in RECORD if "/" in key}))
def test_erase_matches_torchvision(device, case):
    image, box, values, expected = (RECORD[f"{case}/{name}"] for name in ("image", "box", "values", "erased"))
    fill = values if len(values) > 1 else int(values[0])
    actual = erase(device.put(torch.from_numpy(image)), box, fill)
    assert_same_bytes(actual.cpu().numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_erase_matches_numpy(device, dtype, height, width, channels):
    images, rng = photographs(3, channels, height, width, dtype), np.random.default_rng(width)
    boxes = random_boxes(3, 4, height, width)
    fills = torch.from_numpy(rng.uniform(-30, 300, (3, 4, channels)))
    placed = device.put(images)
    expected = by_numpy(images, boxes, fills)
    assert_same_bytes(erase(placed, boxes, fills), expected)
    last = placed.contiguous(memory_format=torch.channels_last)
    assert_same_bytes(erase(last, device.put(boxes), device.put(fills)), expected)
    turned = placed.transpose(2, 3).contiguous().transpose(2, 3)
    assert_same_bytes(erase(turned, boxes, fills), expected)


def test_erase_by_hand(device):
    image = device.put(torch.tensor([[[[1, 2, 3], [4, 5, 6]]]], dtype=torch.uint8))
    assert erase(image, (1, -5, 9, 1), 2.5).flatten().tolist() == [1, 2, 2, 4, 5, 6]
    two = erase(image, [[[0, 0, 2, 2], [1, 1, 3, 2]]], torch.tensor([[[300.0], [-1]]]))
    assert two.flatten().tolist() == [255, 255, 3, 255, 0, 0]
    assert erase(image, (2, 0, 1, 2)).flatten().tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("form", ["C", "NC", "NKC", "number"])
def test_fills_are_given_for_all_or_each(device, form):
    images, boxes = photographs(2, 3, 6, 7), torch.tensor([[[0, 0, 3, 3], [2, 2, 9, 9]]] * 2)
    fills = torch.arange(12).view(2, 2, 3) * 20
    given = {"C": fills[0, 0], "NC": fills[:, 0], "NKC": fills, "number": 33}[form]
    spread = {"C": fills[:1, :1], "NC": fills[:, :1], "NKC": fills, "number": 33}[form]
    actual = erase(device.put(images), device.put(boxes), given)
    assert_same_bytes(actual, by_numpy(images, boxes, spread))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_uniform_noise_is_that_of_numpy(device, dtype, channels):
    images, boxes = photographs(3, channels, 6, 37, dtype), random_boxes(3, 2, 6, 37)
    ids = torch.tensor(IDS)
    for placed in (device.put(images), device.put(images).contiguous(memory_format=torch.channels_last)):
        actual = erase(placed, boxes, noise="uniform", sample_ids=device.put(ids), **KEY)
        assert_same_bytes(actual, by_numpy(images, boxes, noise="uniform", ids=IDS, **KEY))


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_noise_is_that_of_numpy(device, dtype):
    images, boxes = photographs(2, 3, 9, 21, dtype), torch.tensor([[[0, 0, 21, 9]], [[3, 2, 18, 7]]])
    expected = by_numpy(images, boxes, noise="normal", **KEY)
    for placed in (device.put(images), device.put(images).contiguous(memory_format=torch.channels_last)):
        assert_same_bytes(erase(placed, boxes, noise="normal", **KEY), expected)


@pytest.mark.parametrize("noise", ["uniform", "normal"])
def test_noise_is_that_of_the_sample_alone(device, noise):
    images, boxes = device.put(photographs(3, 3, 8, 19)), (2, 1, 17, 7)
    together = erase(images, boxes, noise=noise, sample_ids=IDS, seed=4)
    for n, sample_id in enumerate(IDS):
        alone = erase(images[n], boxes, noise=noise, sample_ids=[sample_id], seed=4)
        assert_same_bytes(together[n], alone)
        array = images[n].cpu().permute(1, 2, 0).numpy()
        of_array = erase(array, boxes, noise=noise, sample_ids=[sample_id], seed=4)
        assert_same_bytes(of_array, together[n].permute(1, 2, 0).cpu().numpy())
    inner = erase(images, (5, 2, 9, 4), noise=noise, sample_ids=IDS, seed=4)  # for any rectangle
    assert_same_bytes(inner[:, :, 2:4, 5:9], together[:, :, 2:4, 5:9])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("noise", [None, "uniform", "normal"])
def test_erase_is_the_same_on_every_device(accelerator, dtype, noise):
    for width in (30, 61):
        images, boxes = photographs(2, 3, 11, width, dtype), random_boxes(2, 3, 11, width, seed=width)
        fills = torch.arange(18.0).view(2, 3, 3) * 15
        for memory_format in (torch.contiguous_format, torch.channels_last):
            given = images.contiguous(memory_format=memory_format)
            expected = erase(given, boxes, fills, noise=noise)
            with accelerator.active():
                actual = erase(accelerator.put(given), boxes, fills, noise=noise)
            assert_same_bytes(actual, expected)


@pytest.mark.parametrize("noise", [None, "uniform"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_erase_reads_and_writes_any_strides(device, noise, dtype):
    whole, boxes = photographs(2, 4, 12, 50, dtype), random_boxes(2, 3, 7, 33)
    last = whole.contiguous(memory_format=torch.channels_last)
    for base in (whole, last):
        part = device.put(base)[:, :3, 2:9, 5:38]  # neither aligned nor contiguous
        expected = by_numpy(part.cpu().contiguous(), boxes, 9, noise, **KEY)
        assert_same_bytes(erase(part, boxes, 9, noise=noise, **KEY), expected)
        for target in (whole, last):
            out = device.put(target.clone() * 0)
            into = out[:, 1:4, 1:8, 3:36]
            assert erase(part, boxes, 9, noise=noise, out=into, **KEY) is into
            assert_same_bytes(into, expected)
            into.zero_()
            assert not out.any()  # and nothing next to it
        held = device.put(base.clone())
        inside = held[:, :3, 2:9, 5:38]
        assert erase(inside, boxes, 9, noise=noise, out=inside, **KEY) is inside
        assert_same_bytes(inside, expected)
        inside.copy_(part)
        assert_same_bytes(held, base)


def test_arrays_give_arrays():
    image, box = photograph(9, 11), (2, 3, 7, 8)
    expected = image.copy()
    expected[3:8, 2:7] = 5
    assert_same_bytes(erase(image, box, 5), expected)
    assert_same_bytes(erase(image[None], np.array([box]), np.full(3, 5)), expected[None])
    assert_same_bytes(erase(image[..., 0], box, 5), expected[..., 0])
    assert_same_bytes(erase(image[:, ::-1], (4, 3, 9, 8), 5)[:, ::-1], expected)
    held = image.copy()
    assert erase(held, box, 5, out=held) is held
    assert_same_bytes(held, expected)
    held.flags.writeable = False
    with pytest.raises(ValueError, match="expected out as a writable array"):
        erase(held, box, 6, out=held)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("noise", [None, "normal"])
def test_variable_size_images_are_erased_one_by_one(device, channels, noise):
    images = [photograph(h, w, channels, seed=w) for h, w in [(1, 1), (20, 70), (40, 3), (17, 16)]]
    boxes = random_boxes(4, 2, 17, 16)
    batch = ImageBatch.from_images(images, plan_bytes=8)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    batch.plan.fill_(7)
    options = {"noise": noise, "seed": 3}
    erased = erase(batch, boxes, 99, **options)
    assert isinstance(erased, ImageBatch)
    assert_same_bytes(erased.layout, batch.layout)
    assert erased.plan.tolist() == [7] * 8
    for n, (image, actual) in enumerate(zip(images, erased.numpy(), strict=True)):
        alone = erase(image, boxes[n][None], 99, sample_ids=[n], **options)
        assert_same_bytes(actual, alone)
        assert_same_bytes(batch[n].cpu().numpy(), image)
    part = erase(batch[1:3], boxes[1:3], 99, sample_ids=[1, 2], **options)
    assert_same_bytes(part[1], erased[2])
    assert erase(batch, boxes, 99, out=batch, **options) is batch
    assert_same_bytes(batch.storage, erased.storage)
    raw = torch.ops.orbbec.erase(
        erased.buffer, erased.layout, channels, boxes[:, :1], None, 1.0, "none", 0, None, 0, 0
    )
    assert_same_bytes(ImageBatch.with_pixels(erased, raw, channels)[3], erase(erased, boxes[:, :1], 1)[3])


def test_a_table_of_nonsense_crashes_nothing(device):
    buffer = device.put(torch.zeros(100, dtype=torch.uint8))
    layout = device.put(torch.tensor([[-5, 3, 3], [90, 100, 100], [0, 2**40, 1], [0, 4, 8]]))
    boxes = torch.tensor([[[-(2**62), -(2**62), 2**62, 2**62]]])
    erased = torch.ops.orbbec.erase(buffer, layout, 3, boxes, None, 5.0, "none", 0, None, 0, 0)
    assert (erased[:96] == 5).all()


def test_erase_of_nothing(device):
    none = device.put(photographs(0, 3, 4, 5))
    assert erase(none, torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 3, 4, 5)
    assert erase(none, (0, 0, 1, 1), noise="normal").shape == (0, 3, 4, 5)
    assert erase(device.put(torch.zeros(2, 3, 0, 5)), (0, 0, 1, 1)).shape == (2, 3, 0, 5)
    images = device.put(photographs(2, 3, 4, 5))
    assert_same_bytes(erase(images, torch.zeros(2, 0, 4, dtype=torch.int64)), images)


BAD = [
    ({"boxes": (0, 0, 1)}, ValueError, r"expected boxes of shape \[4\], \[2, 4\] or \[2, K, 4\]"),
    ({"boxes": torch.zeros(3, 4).int()}, ValueError, r"or \[2, K, 4\], but got \[3, 4\]"),
    ({"boxes": (0, 0, 1.5, 2)}, TypeError, "expected boxes of whole numbers, but got float32"),
    ({"boxes": "box"}, TypeError, "expected boxes as a tensor or an array"),
    ({"fill": [1, 2]}, ValueError, r"expected fill of shape \[3\], \[2, 3\] or \[2, 1, 3\], but got"),
    ({"fill": torch.zeros(3, 3)}, ValueError, r"expected fill of shape \[3\]"),
    ({"fill": torch.zeros(2, 2, 3)}, ValueError, r"or \[2, 1, 3\], but got \[2, 2, 3\]"),
    ({"fill": torch.zeros(())}, ValueError, r"expected fill of shape \[C\], \[N, C\] or \[N, K, C\]"),
    ({"fill": "red"}, TypeError, "expected fill as a number"),
    ({"noise": "pink"}, ValueError, "expected noise to be one of uniform, normal, but got pink"),
    ({"noise": 1}, TypeError, "expected noise as a name"),
    ({"seed": -1}, ValueError, "expected seed from 0"),
    ({"transform_index": 1 << 16}, ValueError, "expected transform_index from 0 to 65535"),
    ({"sample_ids": [1]}, ValueError, r"expected sample_ids of shape \[2\], but got \[1\]"),
    ({"sample_ids": [0.5, 1]}, TypeError, "expected sample_ids of whole numbers"),
    ({"images": torch.zeros(4, 5)}, ValueError, "expected images of shape"),
    ({"images": torch.zeros(2, 3, 4, 5).int()}, TypeError, "expected images of uint8"),
    ({"images": [1]}, TypeError, "expected images as a tensor"),
    ({"out": torch.zeros(2, 3, 4, 6)}, ValueError, r"expected out of shape \[2, 3, 4, 5\]"),
    ({"out": torch.zeros(2, 3, 4, 5).half()}, ValueError, "expected out of the dtype of images"),
    ({"out": torch.zeros(1, 3, 4, 5).expand(2, 3, 4, 5)}, ValueError, "whose elements do not share memory"),
    ({"out": 5}, TypeError, "expected out as a tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_erase_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        erase(**{"images": torch.zeros(2, 3, 4, 5), "boxes": (0, 0, 1, 1), **arguments})


def test_out_shares_all_of_its_memory_with_images_or_none():
    memory = torch.zeros(3, 3, 5, 5)
    for out in (memory[1:], memory[:2].transpose(2, 3), memory[:2].transpose(0, 2)[:2].transpose(0, 2)[:2]):
        with pytest.raises(ValueError, match="expected out"):
            erase(memory[:2], (0, 0, 1, 1), out=out)
    spread = torch.zeros(1, 3, 4, 5).expand(2, 3, 4, 5)
    with pytest.raises(ValueError, match="whose elements do not share memory"):
        erase(spread, (0, 0, 1, 1), out=spread)


def raw_arguments(**changes):
    good = {
        "images": torch.zeros(2, 3, 4, 5),
        "layout": None,
        "channels": 0,
        "boxes": torch.zeros(2, 1, 4).long(),
        "fills": None,
        "fill": 0.0,
        "noise": "none",
        "seed": 0,
        "sample_ids": None,
        "epoch": 0,
        "transform_index": 0,
    }
    return tuple({**good, **changes}.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"boxes": torch.zeros(2, 4).long()}, "expected boxes of shape"),
        ({"boxes": torch.zeros(2, 1, 4)}, "expected boxes of int64"),
        ({"fills": torch.zeros(3).double()}, "expected fill of shape"),
        ({"fills": torch.zeros(1, 1, 3)}, "expected fill of float64"),
        ({"sample_ids": torch.zeros(3).long()}, "expected sample_ids of shape"),
        ({"sample_ids": torch.zeros(2)}, "expected sample_ids of int64"),
        ({"noise": ""}, "expected noise to be one of"),
        ({"transform_index": -1}, "expected transform_index from 0"),
        ({"images": torch.zeros(2, 3, 4)}, "expected images of shape"),
        ({"layout": torch.zeros(1, 3).long()}, "expected a flat contiguous uint8 buffer"),
    ],
)
def test_the_operator_itself_refuses(device, changes, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        torch.ops.orbbec.erase(*raw_arguments(**changes))


def test_erase_passes_opcheck(device):
    boxes = device.put(torch.tensor([[[1, 1, 3, 3]]]))
    for images in (photographs(2, 3, 4, 5), photographs(2, 3, 4, 5, torch.float32)):
        for changes in ({}, {"noise": "normal", "sample_ids": device.put(torch.arange(2))}):
            arguments = raw_arguments(images=device.put(images), boxes=boxes, **changes)
            torch.library.opcheck(torch.ops.orbbec.erase.default, arguments)
            out = torch.empty_like(arguments[0])
            torch.library.opcheck(torch.ops.orbbec.erase_out.default, (*arguments, out))


def test_erase_compiles_as_one_graph(device):
    def run(images, boxes, epoch):
        return erase(images, boxes, noise="uniform", epoch=epoch) + 1

    images, boxes = (
        device.put(photographs(2, 3, 9, 12)),
        device.put(torch.tensor([[1, 2, 8, 5], [0, 0, 3, 3]])),
    )
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    for epoch in (1, 2):
        assert_same_bytes(compiled(images, boxes, epoch), run(images, boxes, epoch))


def test_erase_in_place_compiles(device):
    def run(images):
        erase(images, (1, 1, 5, 5), 8, out=images)
        return images + 1

    images = device.put(photographs(2, 3, 9, 12))
    held = images.clone()
    result = torch.compile(run, fullgraph=True, backend="aot_eager")(held)
    expected = erase(images, (1, 1, 5, 5), 8)
    assert_same_bytes(held, expected)
    assert_same_bytes(result, expected + 1)


@pytest.mark.cuda
@pytest.mark.parametrize("noise", [None, "normal"])
def test_erase_is_captured_in_a_graph(noise):
    images, boxes = photographs(2, 3, 50, 70).cuda(), random_boxes(2, 3, 50, 70).cuda()
    expected = erase(images, boxes, 3, noise=noise)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actual = erase(images, boxes, 3, noise=noise)
    graph.replay()
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize("noise", [None, "normal"])
def test_erase_has_the_gradient_of_finite_differences(noise):
    images, boxes = photographs(2, 2, 4, 5, torch.float64).requires_grad_(), random_boxes(2, 2, 4, 5)
    assert torch.autograd.gradcheck(lambda images: erase(images, boxes, 3, noise=noise), images)
    assert torch.autograd.gradgradcheck(lambda images: erase(images, boxes, 3, noise=noise) ** 2, images)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_gradient_is_zero_in_the_rectangles(device, dtype):
    images, boxes = photographs(2, 3, 8, 9, dtype), random_boxes(2, 2, 8, 9)
    weights = photographs(2, 3, 8, 9, dtype, seed=5)
    leaf = device.put(images).requires_grad_()
    erase(leaf, device.put(boxes), 3).backward(device.put(weights))
    assert_same_bytes(leaf.grad, by_numpy(weights, boxes, 0))
    with pytest.raises(ValueError, match="out= cannot be used where a gradient is needed"):
        erase(leaf, boxes, out=torch.empty_like(leaf))


@pytest.mark.parametrize("threads", [1, 3])
def test_erase_is_the_same_with_any_number_of_threads(threads):
    images, boxes = photographs(2, 3, 90, 200), random_boxes(2, 2, 90, 200)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with Device("cpu").active():
            actual = erase(images, boxes, noise="uniform", **KEY)
    finally:
        torch.set_num_threads(before)
    assert_same_bytes(actual, by_numpy(images, boxes, noise="uniform", **KEY))


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_a_large_result_takes_a_buffer_of_the_pool(memory_format):
    images = photographs(4, 3, 200, 200, torch.float32).contiguous(memory_format=memory_format)
    result = erase(images, (3, 5, 90, 80), 0.5)
    assert result.is_contiguous(memory_format=memory_format)
    address = result.data_ptr()
    del result
    assert erase(images, (3, 5, 90, 80), 0.5).data_ptr() == address
