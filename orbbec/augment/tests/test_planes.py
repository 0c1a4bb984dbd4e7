"""augment of planes, compared with augment of the same images in RGB."""

import importlib
import re

import numpy as np
import pytest
import torch

from orbbec import YCbCrBatch, ycbcr_to_rgb
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.transforms import (
    ColorJitter,
    Compose,
    GaussianBlur,
    Normalize,
    RandomAffine,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomShortestSize,
    ToDtype,
)
from tests.support import assert_same_bytes
from tests.support.augments import CONTRAST, GAMMA, HUE, MATRIX
from tests.support.augments import fused as augment

SIZES = [(1, 1), (1, 6), (6, 1), (5, 5), (7, 13), (33, 18)]
plan_apply = importlib.import_module("orbbec.plan.apply")  # the package exports a function of that name
BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap")


def every_kind():
    """All samplings in all sizes, with alternating orientations."""
    pairs = [(size, sampling) for size in SIZES for sampling in SAMPLINGS]
    orientations = [1 + n % 8 for n in range(len(pairs))]
    batch = YCbCrBatch.of_sizes(*map(list, zip(*pairs, strict=True)), orientations)
    batch.buffer.random_(0, 256, generator=torch.Generator().manual_seed(1))
    return batch


def drawn_matrices(count, seed, perspective=False):
    rng = np.random.default_rng(seed)
    spread = np.array([[0.4, 0.4, 6], [0.4, 0.4, 6], [0.002, 0.002, 0]]) * ([[1], [1], [perspective]])
    return torch.from_numpy(np.eye(3) * [0.6, 0.6, 1] + rng.normal(0, 1, (count, 3, 3)) * spread)


def assert_as_of_rgb(device, planes, matrix, size, **options):
    """The results of both ways on a device."""
    put = {name: device.put(value) if torch.is_tensor(value) else value for name, value in options.items()}
    there = planes.to("cuda") if device.name == "cuda" else planes
    fused = augment(there, device.put(matrix), size, **put)
    apart = augment(ycbcr_to_rgb(there), device.put(matrix), size, **put)
    assert fused.stride() == apart.stride()
    assert_same_bytes(fused, apart)
    return fused


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("perspective", [False, True], ids=["affine", "perspective"])
def test_every_sampling_and_orientation(device, interpolation, border, perspective):
    planes = every_kind()
    matrix = drawn_matrices(len(planes), 3, perspective)
    fills = [90, 180, 20]
    result = assert_as_of_rgb(
        device, planes, matrix, (9, 35), interpolation=interpolation, border=border, fill=fills
    )
    assert len(torch.unique(result)) > 20


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
def test_all_that_follows_the_reading(device, dtype, interpolation):
    planes, rng = every_kind(), np.random.default_rng(5)
    count = len(planes)
    colors = np.zeros((count, 4, 16), np.float32)
    colors[:, :, 0] = MATRIX, HUE, GAMMA, CONTRAST
    colors[:, 0, 1:13] = np.concatenate([np.eye(3).ravel(), [0.1, -0.1, 0]])
    colors[:, 1, 1] = rng.uniform(-0.5, 0.5, count)
    colors[:, 2, 1:3], colors[:, 3, 1] = 1.3, 0.7
    boxes = torch.tensor([2, 1, 9, 5, 0.1, 0.9, 0.4, 0]).expand(count, 1, 8)
    mix = torch.zeros(count, 7)
    mix[:, 0], mix[:, 3:5] = torch.arange(count).flip(0), torch.tensor([20, 6])
    mix[:, 5], mix[:, 6] = 0.25, 0.75
    corners = torch.from_numpy(rng.integers(0, 4, (count, 2)))
    regions = torch.cat((corners, corners + torch.from_numpy(rng.integers(0, 30, (count, 2)))), 1)
    normalized = {} if dtype == torch.uint8 else {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]}
    assert_as_of_rgb(
        *(device, planes, drawn_matrices(count, 6), (11, 37)),
        **{"colors": torch.from_numpy(colors), "erase": boxes, "mix": mix, "regions": regions},
        **{"dtype": dtype, "channels_last": True, "interpolation": interpolation, "border": "reflect101"},
        **normalized,
    )


def test_a_result_is_written_where_it_is_wanted(device):
    planes = every_kind()
    matrix, there = drawn_matrices(len(planes), 7), planes.to("cuda") if device.name == "cuda" else planes
    out = device.put(torch.zeros(len(planes), 3, 8, 8))
    assert augment(there, device.put(matrix), (8, 8), out=out) is out
    assert_same_bytes(out, augment(ycbcr_to_rgb(there), device.put(matrix), (8, 8), dtype=torch.float32))


def test_no_images(device):
    planes = YCbCrBatch.of_sizes([], [])
    assert augment(planes, torch.eye(3), (4, 5)).shape == (0, 3, 4, 5)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        *(("forms", row) for row in ([6, 1], [-1, 1], [5, 0], [5, 9], [5, 6])),
        *(("layout", row) for row in ([0, 90, 90], [-64, 6, 4], [1 << 40, 6, 4], [0, 0, 0])),
    ],
)
def test_tables_that_do_not_fit_give_the_fill(device, table, row):
    """On a device, the host cannot check them."""
    planes = YCbCrBatch.of_sizes([(6, 4), (6, 4)], ["420", "420"])
    planes.buffer.fill_(128)
    getattr(planes, table)[0] = torch.tensor(row)
    there = planes.to("cuda") if device.name == "cuda" else planes
    fused = augment(there, device.put(torch.eye(3)), (3, 3), fill=7).cpu()
    assert fused.view(2, -1).tolist() == [[7] * 27, [128] * 27]


PIPELINES = {
    "fused": [RandomResizedCrop(12, antialias=False), RandomHorizontalFlip()],
    "whole": [
        RandomAffine(20, scale=(0.5, 1.5)),
        ToDtype(torch.float32, scale=True),
        Normalize([0.5], [0.2]),
    ],
    "colors": [RandomResizedCrop(9, antialias=False), ColorJitter(0.3, 0.3, 0.3, 0.1)],
    "antialiased": [RandomResizedCrop(12), RandomHorizontalFlip()],
    "blurred first": [GaussianBlur(3), RandomResizedCrop(12, antialias=False)],
    "ragged": [RandomShortestSize([6, 9], antialias=False), RandomHorizontalFlip()],
}
READS_PLANES = ("fused", "colors")


@pytest.mark.parametrize("name", PIPELINES)
def test_a_plan_of_planes_is_that_of_images(device, name, monkeypatch):
    """Whether the first pass reads planes, as on CUDA, or planes are converted to RGB first."""
    planes = YCbCrBatch.of_sizes([(20, 31), (25, 18), (40, 22)], ["420", "gray", "444"], [1, 6, 3])
    planes.buffer.random_(0, 256, generator=torch.Generator().manual_seed(2))
    compose = Compose(PIPELINES[name], seed=4)
    expected, plan = compose(ycbcr_to_rgb(planes), epoch=0), compose.plan(planes.sizes, epoch=0)
    there = planes.to("cuda") if device.name == "cuda" else planes
    assert_same_images(compose(there, epoch=0), expected)
    assert_same_images(compose.apply(plan, there), expected)
    asked = []

    def as_on_cuda(plan, planes):
        asked.append(type(planes))
        return name in READS_PLANES

    monkeypatch.setattr(plan_apply, "reads_planes", as_on_cuda)
    monkeypatch.setattr(plan_apply, "ycbcr_to_rgb", ycbcr_to_rgb if name not in READS_PLANES else None)
    assert_same_images(compose(planes, epoch=0), expected)
    assert asked == [YCbCrBatch]


def assert_same_images(actual, expected):
    assert type(actual) is type(expected)
    for one, other in zip(actual, expected, strict=True):
        assert_same_bytes(one.cpu(), other)


@pytest.mark.parametrize("name", PIPELINES)
def test_which_plans_read_planes_on_a_device(name, monkeypatch):
    class OnDevice(YCbCrBatch):
        @property
        def buffer(self):
            return type("Tensor", (), {"is_cuda": True})

    planes = YCbCrBatch.of_sizes([(20, 31), (25, 18)], ["420", "gray"])
    plan = Compose(PIPELINES[name], seed=4).plan(planes.sizes, epoch=0)
    assert not plan_apply.reads_planes(plan, planes)
    there = OnDevice(planes.storage, planes.host_table, planes.plane_bytes, planes.pixel_bytes)
    assert plan_apply.reads_planes(plan, there) == (name in READS_PLANES)


# The operator's arguments from `matrix` to `contrast`.
SAMPLING = (torch.eye(3), [4, 4], "linear", "constant", [0.0], None)
OPTIONS = (*SAMPLING, None, None, None, [], [], 1.0, 255.0, False)


def test_errors_name_what_is_missing():
    planes = every_kind()
    call = (planes.buffer, planes.rgb_layout, 3, *OPTIONS)
    ending = (torch.uint8, False)
    with pytest.raises(ValueError, match="augment: expected stored and forms together"):
        torch.ops.orbbec.augment(*call, planes.layout, None, *ending)
    with pytest.raises(ValueError, match=re.escape("expected stored of shape [36, 3], but got [35, 3]")):
        torch.ops.orbbec.augment(*call, planes.layout[1:], planes.forms, *ending)
    with pytest.raises(ValueError, match=re.escape("expected forms of shape [36, 2]")):
        torch.ops.orbbec.augment(*call, planes.layout, planes.forms[1:], *ending)
    dense = torch.zeros(1, 3, 4, 4, dtype=torch.uint8)
    with pytest.raises(ValueError, match="expected variable-size images of 3 channels for stored"):
        torch.ops.orbbec.augment(dense, None, 0, *OPTIONS, planes.layout[:1], planes.forms[:1], *ending)


def test_in_torch(device):
    planes = every_kind()
    arguments = (planes.buffer, planes.rgb_layout, 3, *OPTIONS, planes.layout, planes.forms)
    torch.library.opcheck(torch.ops.orbbec.augment.default, (*arguments, torch.float32, False))
