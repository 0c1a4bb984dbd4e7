"""augment_crop equals resized_crop followed by augment, bit for bit, on every device."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from orbbec.augment import Output, Sampling, Values, augment
from orbbec.augment.crop import augment_crop
from orbbec.transforms import ColorJitter, Compose, RandomHorizontalFlip, RandomResizedCrop
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.augments import CONTRAST, GAMMA, HUE, MATRIX, POSTERIZE, SOLARIZE

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Parts that shrink, that grow, that keep their size, and none at all.
BOXES = torch.tensor(
    [[1.25, 2, 52.5, 40], [10, 10, 18, 19], [0, 0, 37, 33], [5, 5, 5, 9]], dtype=torch.float64
)
FLIPS = torch.tensor([True, False, True, False])
FLOAT = Output(torch.float32)
NORMALIZED = {"mean": MEAN, "std": STD}
ERASE = torch.tensor([[3, 4, 12.5, 20, 0.1, 0.2, 0.3, 0], [30, 0, 60, 9, 1, 0, 0.5, 0]])


def program(*codes):
    """Color steps of each of 4 images; the last image has one less."""
    rng = np.random.default_rng(len(codes))
    rows = np.zeros((4, len(codes), 16), np.float32)
    for n, s in np.ndindex(*rows.shape[:2]):
        row, code = rows[n, s], codes[s]
        row[0] = 0 if (n, s) == (3, len(codes) - 1) else code
        row[1:4] = rng.uniform(0.4, 1.4, 3)
        if code == MATRIX:
            row[1:13] = np.concatenate([np.eye(3).ravel() + rng.normal(0, 0.2, 9), rng.normal(0, 0.1, 3)])
        if code == HUE:
            row[1] = rng.uniform(-0.5, 0.5)
    return torch.from_numpy(rows)


VALUES = {
    "nothing": {},
    "normalized": NORMALIZED,
    "colors": {"colors": program(MATRIX, HUE), **NORMALIZED},
    "many colors": {"colors": program(*[POSTERIZE, MATRIX, SOLARIZE] * 3)},
    "gamma": {"colors": program(GAMMA), "erase": ERASE},
    "contrast": {"colors": program(MATRIX, CONTRAST, HUE), "erase": ERASE, **NORMALIZED},
    "contrast first": {"colors": program(CONTRAST)},
    "erased": {"erase": ERASE, **NORMALIZED},
}


def in_two_passes(images, boxes, size, *, interpolation="linear", antialias=True, flips=None, values, output):
    crops = orbbec.resized_crop(
        images, boxes, size, interpolation=interpolation, antialias=antialias, flips=flips
    )
    return augment(crops, torch.eye(3), size, Sampling("nearest", "replicate"), Values(**values), output)


def check(images, size, device, values, output=FLOAT, count=4, **options):
    """Compares one pass on a device with two on the CPU."""
    values = {**values, "colors": values["colors"][:count]} if "colors" in values else values
    options = {"flips": FLIPS[:count], **options}
    expected = in_two_passes(images, BOXES[:count], size, values=values, output=output, **options)
    put = {name: device.put(v) if isinstance(v, torch.Tensor) else v for name, v in values.items()}
    actual = augment_crop(
        device.put(images), BOXES[:count], size, values=Values(**put), output=output, **options
    )
    assert_same_bytes(actual.cpu(), expected)
    assert actual.stride() == expected.stride()


@pytest.mark.parametrize("size", [(37, 33), (70, 260), (9, 128)])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("values", VALUES)
def test_values_are_those_of_two_passes(values, channels_last, size, device):
    images = photographs(4, 3, 45, 60)
    if channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    check(images, size, device, VALUES[values])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("values", ["normalized", "contrast"])
def test_results_have_any_dtype_and_layout(values, channels_last, dtype, device):
    images = photographs(4, 3, 45, 60).contiguous(memory_format=torch.channels_last)
    check(images, (40, 36), device, VALUES[values], Output(dtype, channels_last))


@pytest.mark.parametrize(("interpolation", "antialias"), [("cubic", True), ("box", True), ("area", False)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_any_filter_and_number_of_channels(channels, interpolation, antialias, device):
    images = photographs(4, channels, 45, 60).contiguous(memory_format=torch.channels_last)
    values = VALUES["contrast"] if channels == 3 else {"mean": 0.5, "std": 0.25}
    check(images, (20, 31), device, values, interpolation=interpolation, antialias=antialias)


@pytest.mark.parametrize("values", ["colors", "contrast"])
def test_images_are_mixed(values, device):
    images = photographs(4, 3, 45, 60).contiguous(memory_format=torch.channels_last)
    mix = torch.tensor(
        [[1, 5, 5, 20, 20, 0, 1], [0, 0, 0, 40, 40, 0.25, 0.75], [-1, *[0] * 6], [9, *[0] * 6]]
    )
    check(images, (37, 33), device, {**VALUES[values], "mix": mix.float()})


@pytest.mark.parametrize("side", [700, 60])
def test_large_images_and_one_row_or_column(side, device):
    images = photographs(1, 3, side, side).contiguous(memory_format=torch.channels_last)
    for size in [(1, 1), (33, 1), (1, 50)]:
        check(images, size, device, VALUES["contrast"], count=1)
        check(images, size, device, VALUES["normalized"], count=1)


@pytest.mark.parametrize("values", ["normalized", "contrast"])
def test_variable_size_images(values, device):
    batch = ImageBatch.from_images([photograph(45 + n, 60 - n, seed=n) for n in range(4)])
    output, options = Output(torch.float32), VALUES[values]
    expected = in_two_passes(batch, BOXES, (21, 40), values=options, output=output)
    actual = augment_crop(
        batch.to(device.name) if device.name == "cuda" else batch,
        BOXES,
        (21, 40),
        values=Values(**options),
        output=output,
    )
    assert_same_bytes(actual.cpu(), expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [1, 3, 8, 17])
@pytest.mark.parametrize("values", ["normalized", "contrast"])
def test_results_do_not_depend_on_the_number_of_images(values, count, threads):
    """Few images are made together by all threads, many one by one."""
    images = photographs(17, 3, 45, 60).contiguous(memory_format=torch.channels_last)
    boxes, flips = BOXES[[0, 1, 2] * 6][:17], torch.arange(17) % 3 == 1
    tables = {k: v[[0, 1, 2, 3, 2] * 4][:17] if k == "colors" else v for k, v in VALUES[values].items()}
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        output = Output(torch.float32)
        expected = in_two_passes(images, boxes, (64, 70), flips=flips, values=tables, output=output)
        some = {k: v[:count] if k == "colors" else v for k, v in tables.items()}
        actual = augment_crop(
            images[:count], boxes[:count], (64, 70), flips=flips[:count], values=Values(**some), output=output
        )
    finally:
        torch.set_num_threads(before)
    assert_same_bytes(actual, expected[:count])


def test_a_pixel_worked_by_hand(device):
    image = torch.tensor([[[0, 100, 200, 50]]], dtype=torch.uint8)
    values = Values(mean=0.5, std=0.5)
    # Each output is the mean of a pair, 50 and 125, as bytes; then flipped.
    result = augment_crop(
        device.put(image),
        torch.tensor([0, 0, 4, 1]),
        (1, 2),
        interpolation="box",
        flips=torch.tensor([True]),
        values=values,
        output=Output(torch.float32),
    )
    expected = (torch.tensor([[[125.0, 50.0]]]) / 255 - 0.5) / 0.5
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=1e-6)


def test_an_empty_batch_and_an_output_buffer(device):
    images = device.put(photographs(2, 3, 20, 30))
    none = augment_crop(images[:0], BOXES[:0], (4, 5), output=Output(torch.float16))
    assert none.shape == (0, 3, 4, 5)
    assert none.dtype == torch.float16
    with pytest.raises(ValueError, match=r"expected boxes of shape \[0, 4\]"):
        augment_crop(images[:0], BOXES[:1], (4, 5))
    out = device.put(torch.empty(2, 3, 4, 5))
    assert augment_crop(images, BOXES[:2], (4, 5), output=Output(out=out)) is out
    assert_same_bytes(out, augment_crop(images, BOXES[:2], (4, 5), output=Output(torch.float32)))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"images": torch.zeros(2, 3, 8, 9)},
            TypeError,
            "augment_crop: expected images of uint8, but got float32",
        ),
        ({"boxes": BOXES[:3]}, ValueError, r"resized_crop: expected boxes of shape \[2, 4\]"),
        ({"size": (0, 3)}, ValueError, "augment_crop: expected size"),
        ({"flips": torch.ones(3, dtype=torch.bool)}, ValueError, "expected flips of shape"),
        ({"values": Values(mean=0.5)}, ValueError, "augment_crop: expected mean and std together"),
        ({"values": Values(erase=torch.zeros(2, 1, 7))}, ValueError, "augment: expected erase of shape"),
        ({"output": Output(torch.int32)}, TypeError, "augment_crop: expected dtype to be one of"),
        ({"interpolation": "lanczos3"}, ValueError, "interpolation"),
    ],
)
def test_bad_arguments_are_named(changes, error, message, device):
    arguments = {"images": photographs(2, 3, 8, 9), "boxes": BOXES[:2], "size": (3, 4), **changes}
    arguments["images"] = device.put(arguments["images"])
    with pytest.raises(error, match=message):
        augment_crop(**arguments)


def test_opcheck(device):
    images = device.put(photographs(4, 3, 40, 33))
    crop = images, None, 0, BOXES, [8, 9], "linear", True, "pillow_13", [0, 0], device.put(FLIPS)
    values = device.put(program(MATRIX, CONTRAST)), None, None, [0.5], [0.5], 1 / 255, 255.0, True
    torch.library.opcheck(torch.ops.orbbec.augment_crop, (*crop, *values, torch.float32, False))


def test_a_pipeline_is_one_pass_in_both_ways_of_running_it(device):
    """`run` draws and runs; a plan runs its passes."""
    pipeline = Compose(
        [RandomResizedCrop((33, 40)), RandomHorizontalFlip(), ColorJitter(0.4, 0.4, 0.4, 0.1)], seed=3
    )
    images = device.put(photographs(5, 3, 45, 60).contiguous(memory_format=torch.channels_last))
    plan = pipeline.plan([(45, 60)] * 5, epoch=2)
    assert [step.name for step in plan.passes] == ["augment_crop"]
    assert_same_bytes(pipeline(images, epoch=2), pipeline.apply(plan, images))
