"""mixup, cutmix, mosaic and copy_paste, compared with torchvision's records and NumPy on every device."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, copy_paste, cutmix, mixup, mosaic, mosaic_offsets
from orbbec.bridge.gradients.pairs import add_to_pairs
from tests.support import Device, assert_same_bytes, photograph, photographs
from tests.support.samples import DTYPES

RECORDED = dict(np.load(Path(__file__).with_name("torchvision.npz")))
SHAPE = (4, 3, 4, 5)  # of the recorded photographs
FLOATS = [dtype for dtype in DTYPES if dtype.is_floating_point]
PAIR_INDICES = torch.tensor([2, 0, 2])  # one is used twice, one never
WEIGHTS = torch.tensor([0.3, 1.0, 0.55])
BOXES = torch.tensor([[1, 2, 9, 5], [0, 0, 40, 40], [-3, -2, 2, 30]])
CENTERS = torch.tensor([[7, 5], [-4, 12], [30, 20]])
QUARTERS = torch.tensor([[0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 2]])
NINE = torch.tensor([[0, 1, 2, 0, 1, 2, 2, 1, 0], [1, 0, 0, 2, 2, 1, 0, 1, 2], [2] * 9])


def masks(height, width, count=3):
    return torch.from_numpy(photograph(height, width, count)).permute(2, 0, 1) > 128


def soft_masks(height, width, count=3):
    return torch.from_numpy(photograph(height, width, count)).permute(2, 0, 1) / 255


def operators(put=lambda tensor: tensor):
    """Each operator as a function of three images."""
    pair_indices = put(PAIR_INDICES)
    return {
        "mixup": lambda x: mixup(x, pair_indices, put(WEIGHTS)),
        "cutmix": lambda x: cutmix(x, pair_indices, put(BOXES)),
        "copy_paste": lambda x: copy_paste(x, pair_indices, put(masks(*x.shape[-2:]))),
        "soft_copy_paste": lambda x: copy_paste(x, pair_indices, put(soft_masks(*x.shape[-2:]))),
        "mosaic": lambda x: mosaic(x, put(QUARTERS), put(CENTERS), (17, 23), fill=3),
        "mosaic of nine": lambda x: mosaic(x, put(NINE), put(CENTERS), (17, 23), fill=3),
    }


NAMES = list(operators())
FILLED = [name for name in NAMES if "mosaic" not in name]


def recorded(call, dtype):
    bits = torch.from_numpy(RECORDED[call])
    return bits.view(dtype) if bits.dtype != dtype else bits


@pytest.mark.parametrize("call", [key for key in RECORDED if key.startswith("mixup")])
def test_mixup_has_the_bits_of_torchvision(device, call):
    _, name, weight = call.split(" ")
    dtype = getattr(torch, name)
    images = device.put(photographs(*SHAPE, dtype))
    actual = mixup(images, torch.arange(4).roll(1), float(weight))
    assert_same_bytes(actual, recorded(call, dtype))


@pytest.mark.parametrize("call", [key for key in RECORDED if key.startswith("cutmix")])
def test_cutmix_has_the_bytes_of_torchvision(device, call):
    box = torch.tensor(ast.literal_eval(call.removeprefix("cutmix ")))
    actual = cutmix(device.put(photographs(*SHAPE)), torch.arange(4).roll(1), box)
    assert_same_bytes(actual, recorded(call, torch.uint8))


def test_by_hand(device):
    pair = device.put(torch.tensor([[10, 20, 31], [100, 255, 0]], dtype=torch.uint8).reshape(2, 1, 1, 3))
    other = torch.tensor([1, 0])
    assert mixup(pair, other, 0.5).flatten().tolist() == [55, 138, 16, 55, 138, 16]  # 137.5, 15.5 to even
    assert mixup(pair, other, torch.tensor([2.0, -1.0])).flatten().tolist() == [0, 0, 62, 0, 0, 62]
    assert cutmix(pair, other, torch.tensor([1, 0, 2, 1])).flatten().tolist() == [10, 255, 31, 100, 20, 0]
    mask = device.put(torch.tensor([[[0, 1, 255]], [[1, 0, 0]]], dtype=torch.uint8))
    assert copy_paste(pair, other, mask).flatten().tolist() == [10, 255, 0, 10, 255, 0]
    soft = device.put(torch.tensor([[[0.0, 0.5, 1.0]], [[0.25, 0.0, 0.0]]]))
    assert copy_paste(pair, other, soft).flatten().tolist() == [10, 138, 0, 78, 255, 0]  # 77.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_copy_paste_is_where(device, dtype):
    images = photographs(3, 2, 9, 31, dtype)
    expected = torch.where(masks(9, 31)[:, None], images[PAIR_INDICES].double(), images.double()).to(dtype)
    assert_same_bytes(copy_paste(device.put(images), PAIR_INDICES, device.put(masks(9, 31))), expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_mixing_is_the_same_on_every_device(accelerator, name, dtype):
    for height, width in [(1, 1), (9, 37)]:
        images = photographs(3, 2, height, width, dtype)
        expected = operators()[name](images)
        with accelerator.active():
            actual = operators(accelerator.put)[name](accelerator.put(images))
        assert_same_bytes(actual, expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_mixup_is_the_same_on_every_machine(monkeypatch, level, dtype):
    images = photographs(3, 3, 9, 70, dtype)
    expected = mixup(images, PAIR_INDICES, WEIGHTS)
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_bytes(mixup(images, PAIR_INDICES, WEIGHTS), expected)


@pytest.mark.parametrize("name", NAMES)
def test_mixing_reads_any_strides(device, name):
    images = device.put(photographs(3, 3, 8, 11))
    run = operators(device.put)[name]
    expected = run(images)
    last = run(images.contiguous(memory_format=torch.channels_last))
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(last, expected)
    assert_same_bytes(run(images.transpose(2, 3).contiguous().transpose(2, 3)), expected)
    wide = torch.stack([images] * 2, -1).flatten(-2)[..., ::2]
    assert_same_bytes(run(wide), expected)


@pytest.mark.parametrize("name", FILLED)
def test_arrays_give_arrays(name):
    images = photographs(3, 3, 8, 11)
    expected = operators()[name](images).permute(0, 2, 3, 1).numpy()
    array = np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
    run = {
        "mixup": lambda: mixup(array, PAIR_INDICES.numpy(), WEIGHTS.numpy()),
        "cutmix": lambda: cutmix(array, PAIR_INDICES.numpy(), BOXES.numpy()),
        "copy_paste": lambda: copy_paste(array, PAIR_INDICES.numpy(), masks(8, 11).numpy()),
        "soft_copy_paste": lambda: copy_paste(array, PAIR_INDICES.numpy(), soft_masks(8, 11).numpy()),
    }[name]
    np.testing.assert_array_equal(run(), expected)


def test_variable_size_images_are_mixed_with_those_of_their_size(device):
    sizes = [(5, 40), (20, 3), (5, 40), (20, 3)]
    images = [photograph(*size, seed=n) for n, size in enumerate(sizes)]
    batch = ImageBatch.from_images(images)
    hard = [masks(*size, 1)[0] for size in sizes]
    of_masks = ImageBatch.from_images([mask.to(torch.uint8) for mask in hard])
    if device.name == "cuda":
        batch, of_masks = batch.to("cuda"), of_masks.to("cuda")
    pair_indices, box = torch.tensor([2, 3, 0, 1]), torch.tensor([1, 2, 30, 7])
    mixed, cut = mixup(batch, pair_indices, 0.3).numpy(), cutmix(batch, pair_indices, box).numpy()
    pasted = copy_paste(batch, pair_indices, of_masks).numpy()
    for n, other in enumerate(pair_indices.tolist()):
        pair, swap = np.stack([images[n], images[other]]), torch.tensor([1, 0])
        assert_same_bytes(mixed[n], mixup(pair, swap, 0.3)[0])
        assert_same_bytes(cut[n], cutmix(pair, swap, box)[0])
        assert_same_bytes(pasted[n], copy_paste(pair, swap, hard[n][None].expand(2, -1, -1))[0])


def test_the_operators_read_no_image_that_is_not_there(device):
    """Values that Python refuses leave the image unchanged."""
    images = device.put(photographs(3, 2, 6, 9))
    wrong = device.put(torch.tensor([-1, 3, 2**40]))
    ops = torch.ops.orbbec
    weights, all_set = device.put(torch.full((3,), 0.5).double()), device.put(torch.ones(3, 6, 9).byte())
    boxes = device.put(torch.tensor([[0, 0, 2**60, 2**60]] * 3))
    assert_same_bytes(ops.mixup(images, None, 0, wrong, weights), images)
    assert_same_bytes(ops.cutmix(images, None, 0, wrong, boxes), images)
    assert_same_bytes(ops.copy_paste(images, None, 0, wrong, all_set, None), images)
    assert_same_bytes(ops.copy_paste_soft(images, wrong, all_set.float()), images)
    far = device.put(torch.tensor([[2**62, -(2**62)]]))
    for centers in (far, -far, device.put(torch.tensor([[4, 3]]))):
        quarters = wrong[:1].expand(1, 4).contiguous()
        canvas = ops.mosaic(images, None, 0, quarters, centers, [6, 9], [9.0], None)
        assert canvas.unique().tolist() == [9]

    batch = ImageBatch.from_images([photograph(3, 9), photograph(8, 4)])
    batch = batch.to("cuda") if device.name == "cuda" else batch
    swap = device.put(torch.tensor([1, 0]))
    raw = ops.cutmix(batch.buffer, batch.layout, 3, swap, boxes[:2])
    first, second = batch.with_pixels(raw, 3).numpy()
    assert_same_bytes(first[:, :4], batch.numpy()[1][:3])
    assert_same_bytes(first[:, 4:], batch.numpy()[0][:, 4:])
    assert_same_bytes(second[:3], batch.numpy()[0][:, :4])
    assert_same_bytes(second[3:], batch.numpy()[1][3:])
    small = ImageBatch.from_images([np.ones((1, 1), np.uint8), np.ones((9, 9), np.uint8)])
    small = small.to("cuda") if device.name == "cuda" else small
    raw = ops.copy_paste(batch.buffer, batch.layout, 3, swap, small.buffer, small.layout)
    first, _ = batch.with_pixels(raw, 3).numpy()
    assert_same_bytes(first[0, 0], batch.numpy()[1][0, 0])
    assert_same_bytes(first[:, 1:], batch.numpy()[0][:, 1:])
    mixed = ops.mixup(batch.buffer, batch.layout, 3, swap, weights[:2])
    assert_same_bytes(batch.with_pixels(mixed, 3).numpy()[0][:, 4:], batch.numpy()[0][:, 4:])


@pytest.mark.parametrize("name", FILLED)
def test_mixing_of_nothing(device, name):
    nothing = {
        "mixup": lambda x, p: mixup(x, p, 0.5),
        "cutmix": lambda x, p: cutmix(x, p, torch.zeros(len(p), 4).long()),
        "copy_paste": lambda x, p: copy_paste(x, p, device.put(torch.zeros(len(p), *x.shape[2:]).bool())),
        "soft_copy_paste": lambda x, p: copy_paste(x, p, device.put(torch.zeros(len(p), *x.shape[2:]))),
    }[name]
    for shape in [(0, 3, 4, 5), (2, 3, 0, 5)]:
        images = device.put(torch.zeros(shape))
        assert nothing(images, torch.arange(shape[0])).shape == shape


GRADIENTS = [
    lambda x: mixup(x, PAIR_INDICES, WEIGHTS),
    lambda x: cutmix(x, PAIR_INDICES, torch.tensor([[1, 0, 3, 2], [0, 0, 9, 9], [-3, -2, 2, 30]])),
    lambda x: copy_paste(x, PAIR_INDICES, masks(3, 4)),
    lambda x: copy_paste(x, PAIR_INDICES, soft_masks(3, 4)),
    lambda x: mosaic(x, QUARTERS, torch.tensor([[2, 3], [-1, 2], [7, 1]]), (5, 6)),
    lambda x: mosaic(x, QUARTERS.repeat(2, 1), torch.tensor([3, 2]), (4, 9)),  # more than there are images
    lambda x: mosaic(x, QUARTERS[2:], torch.tensor([3, 4]), (5, 5)),
    lambda x: mosaic(x, NINE, torch.tensor([[3, 2], [-1, 4], [9, 3]]), (8, 10)),
    lambda x: mosaic(x, torch.cat([NINE - 1, NINE]), torch.tensor([2, 3]), (7, 5)),  # some without an image
]


@pytest.mark.parametrize("run", GRADIENTS)
def test_the_gradients_are_those_of_finite_differences(run):
    images = photographs(3, 2, 3, 4, torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(run, images)
    assert torch.autograd.gradgradcheck(run, images)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradients_are_the_same_on_every_device(accelerator, name, dtype):
    size = (17, 23) if "mosaic" in name else (7, 9)
    images, weights = photographs(3, 2, 7, 9, dtype), photographs(3, 2, *size, dtype, seed=5)
    gradients = []
    for tested in (Device("cpu"), accelerator):
        with tested.active():
            leaf = tested.put(images.clone()).requires_grad_()
            operators(tested.put)[name](leaf).backward(tested.put(weights))
            gradients.append(leaf.grad.cpu())
    assert_same_bytes(gradients[1], gradients[0])


def test_parts_are_added_in_the_order_of_the_images(device):
    """2^24 + 1 - 2^24 is 0 in float32, but 1 in another order."""
    parts = device.put(torch.tensor([2.0**24, 1.0, -(2.0**24)]).reshape(3, 1, 1, 1))
    pair_indices = device.put(torch.tensor([1, 1, 1]))
    sums = add_to_pairs(torch.zeros_like(parts), parts, pair_indices)
    assert sums.flatten().tolist() == [0, 0, 0]
    assert add_to_pairs(parts, parts, pair_indices - 5).flatten().tolist() == parts.flatten().tolist()


BAD = [
    (lambda x: mixup(x, torch.arange(2), 0.5), ValueError, r"mixup: expected pair_indices of shape \[3\]"),
    (lambda x: mixup(x, torch.ones(3), 0.5), TypeError, "mixup: expected pair_indices of whole numbers"),
    (
        lambda x: mixup(x, torch.tensor([0, 3, 1]), 0.5),
        ValueError,
        "mixup: expected pair_indices from 0 to 2, but got 3 for image 1",
    ),
    (lambda x: mixup(x, ["0", 1, 2], 0.5), TypeError, "mixup: expected pair_indices as a tensor or an array"),
    (lambda x: mixup(x, PAIR_INDICES, "1"), TypeError, "mixup: expected weights as a tensor or an array"),
    (
        lambda x: mixup(x, PAIR_INDICES, [1, 0.5, np.nan]),
        ValueError,
        "as finite numbers, but got nan for image 2",
    ),
    (lambda x: mixup(x, PAIR_INDICES, float("inf")), ValueError, "weights as finite numbers, but got inf"),
    (lambda x: mixup(x, PAIR_INDICES, torch.ones(2)), ValueError, r"mixup: expected weights of shape \[3\]"),
    (lambda x: mixup(x[0, 0], PAIR_INDICES, 0.5), ValueError, "mixup: expected images of shape"),
    (
        lambda x: cutmix(x, PAIR_INDICES, torch.ones(3, 4)),
        TypeError,
        "cutmix: expected boxes of whole numbers",
    ),
    (lambda x: cutmix(x, PAIR_INDICES, BOXES[:2]), ValueError, r"cutmix: expected boxes of shape \[3, 4\]"),
    (lambda x: copy_paste(x, PAIR_INDICES, masks(4, 4)), ValueError, r"expected masks of shape \[3, 4, 5\]"),
    (lambda x: copy_paste(x, PAIR_INDICES, masks(4, 5).int()), TypeError, "expected masks of bool, uint8"),
    (
        lambda x: copy_paste(x, PAIR_INDICES, ImageBatch.from_images([])),
        TypeError,
        "expected masks as a tensor or an array, but got ImageBatch",
    ),
    (
        lambda x: mosaic(x[0], QUARTERS, CENTERS, (4, 4)),
        ValueError,
        r"mosaic: expected a batch of images, but got shape \[3, 4, 5\]",
    ),
    (
        lambda x: mosaic(x, QUARTERS[:, :3], CENTERS, (4, 4)),
        ValueError,
        r"mosaic: expected pair_indices of shape \[3, 4\]",
    ),
    (
        lambda x: mosaic(x, QUARTERS + 1, CENTERS, (4, 4)),
        ValueError,
        "mosaic: expected pair_indices from -1 to 2, but got 3 for image 0",
    ),
    (
        lambda x: mosaic(x, QUARTERS, CENTERS[:2], (4, 4)),
        ValueError,
        r"mosaic: expected centers of shape \[3, 2\]",
    ),
    (
        lambda x: mosaic(x, QUARTERS, CENTERS, (4, 4), regions=CENTERS),
        ValueError,
        r"mosaic: expected regions of shape \[3, 4\]",
    ),
    (lambda x: mosaic(x, QUARTERS, CENTERS, (0, 4)), ValueError, "mosaic: expected size as"),
    (lambda x: mosaic(x, QUARTERS, CENTERS, 4), TypeError, "mosaic: expected size as"),
    (
        lambda x: mosaic(x, QUARTERS, CENTERS, (4, 4), fill=(1, 2)),
        ValueError,
        "mosaic: expected fill of 1 or 3 numbers, but got 2",
    ),
    (
        lambda x: mosaic_offsets(torch.ones(2), QUARTERS, CENTERS),
        TypeError,
        "mosaic_offsets: expected sizes of whole numbers",
    ),
]


@pytest.mark.parametrize(("run", "error", "message"), BAD)
def test_mixing_names_the_bad_argument(run, error, message):
    with pytest.raises(error, match=message):
        run(photographs(3, 3, 4, 5))


def test_pairs_of_different_sizes_are_refused():
    batch = ImageBatch.from_images([photograph(3, 4), photograph(3, 5)])
    message = "cutmix: expected pair_indices of equal size, but image 0 is 3x4 and the other image 3x5"
    with pytest.raises(ValueError, match=message):
        cutmix(batch, torch.tensor([1, 1]), torch.tensor([0, 0, 1, 1]))
    with pytest.raises(TypeError, match="copy_paste: expected masks as an ImageBatch, as images are"):
        copy_paste(batch, torch.tensor([0, 1]), masks(3, 4, 2))
    with pytest.raises(ValueError, match="copy_paste: expected masks of 1 channel, but got 3"):
        copy_paste(batch, torch.tensor([0, 1]), batch)


def test_the_operators_themselves_refuse(device):
    ops, images = torch.ops.orbbec, device.put(photographs(3, 2, 4, 5))
    pair_indices = device.put(PAIR_INDICES)
    calls = [
        (
            lambda: ops.mixup(images, None, 0, pair_indices.int(), device.put(WEIGHTS)),
            "pair_indices as contiguous",
        ),
        (
            lambda: ops.mixup(images, None, 0, pair_indices, device.put(WEIGHTS)),
            "weights as contiguous float64",
        ),
        (lambda: ops.cutmix(images, None, 0, pair_indices, pair_indices), "boxes of shape"),
        (lambda: ops.copy_paste(images, None, 0, pair_indices, images, None), "masks of shape"),
        (
            lambda: ops.copy_paste(images, None, 0, pair_indices, images[:, 0], pair_indices[None]),
            "expected variable-size masks",
        ),
        (lambda: ops.copy_paste_soft(images, pair_indices, images[:, 0]), "soft masks of float32"),
        (
            lambda: ops.mosaic(images, None, 0, pair_indices, pair_indices, [4, 4], [0.0], None),
            "pair_indices of shape",
        ),
        (
            lambda: ops.mosaic(images, None, 0, pair_indices[None, :], pair_indices, [4, 4], [0.0], None),
            "pair_indices of shape",
        ),
        (lambda: ops.add_to_pairs(images, images[:2], pair_indices, pair_indices), "parts of the shape"),
        (lambda: ops.add_to_pairs(images, images, pair_indices, pair_indices), "starts of shape"),
    ]
    for call, message in calls:
        with pytest.raises((ValueError, RuntimeError), match=message):
            call()


def test_mixing_passes_opcheck(device):
    ops, put = torch.ops.orbbec, device.put
    images = put(photographs(3, 2, 4, 5, torch.float32))
    pair_indices = put(PAIR_INDICES)
    checked = [
        (ops.mixup, (images, None, 0, pair_indices, put(WEIGHTS.double()))),
        (ops.cutmix, (images, None, 0, pair_indices, put(BOXES))),
        (ops.copy_paste, (images, None, 0, pair_indices, put(masks(4, 5).to(torch.uint8)), None)),
        (ops.copy_paste_soft, (images, pair_indices, put(soft_masks(4, 5)))),
        (ops.mosaic, (images, None, 0, put(QUARTERS), put(CENTERS), [6, 7], [1.0], None)),
        (ops.add_to_pairs, (images, images, pair_indices, put(torch.tensor([0, 1, 1, 3])))),
    ]
    for op, arguments in checked:
        torch.library.opcheck(op.default, arguments, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_pass_opcheck(name):
    images = photographs(3, 2, 4, 5, torch.float32).requires_grad_()
    arguments = {
        "mixup": (images, None, 0, PAIR_INDICES, WEIGHTS.double()),
        "cutmix": (images, None, 0, PAIR_INDICES, BOXES),
        "copy_paste": (images, None, 0, PAIR_INDICES, masks(4, 5).to(torch.uint8), None),
        "soft_copy_paste": (images, PAIR_INDICES, soft_masks(4, 5)),
        "mosaic": (images, None, 0, QUARTERS, CENTERS, [6, 7], [1.0], None),
        "mosaic of nine": (images, None, 0, NINE, CENTERS, [6, 7], [1.0], None),
    }[name]
    names = {"soft_copy_paste": "copy_paste_soft", "mosaic of nine": "mosaic"}
    op = getattr(torch.ops.orbbec, names.get(name, name))
    torch.library.opcheck(op.default, arguments)


@pytest.mark.parametrize("name", NAMES)
def test_mixing_compiles_as_one_graph(device, name):
    run = operators(device.put)[name]
    if "copy_paste" in name:
        mask = device.put((masks if name == "copy_paste" else soft_masks)(4, 5))
        run = lambda images: copy_paste(images, PAIR_INDICES, mask)  # noqa: E731
    compiled = torch.compile(lambda images: run(images) + 1, fullgraph=True, backend="aot_eager")
    images = device.put(photographs(3, 2, 4, 5))
    assert_same_bytes(compiled(images), run(images) + 1)


@pytest.mark.cuda
def test_mixing_is_captured_in_a_graph():
    images, put = photographs(3, 2, 20, 30).cuda(), lambda tensor: tensor.cuda()
    pair_indices, weights, boxes = put(PAIR_INDICES), put(WEIGHTS.double()), put(BOXES)
    quarters, centers = put(QUARTERS), put(CENTERS)

    def run():
        mixed = mixup(cutmix(images, pair_indices, boxes), pair_indices, weights)
        return mosaic(mixed, quarters, centers, (30, 40))

    expected = run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actual = run()
    graph.replay()
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize("name", ["pair_indices", "boxes"])
def test_tables_share_no_memory_with_the_output(name):
    images, out = torch.zeros(2, 1, 64, 64, dtype=torch.uint8), torch.zeros(2, 1, 64, 64, dtype=torch.uint8)
    numbers = out.flatten()[: 8 * 8].view(torch.int64)
    tables = {"pair_indices": torch.tensor([1, 0]), "boxes": torch.zeros(2, 4, dtype=torch.int64)}
    tables[name] = numbers[: tables[name].numel()].view(tables[name].shape)
    with pytest.raises(ValueError, match=f"cutmix: expected out that shares no memory with {name}"):
        torch.ops.orbbec.cutmix_out(images, None, 0, *tables.values(), out)
