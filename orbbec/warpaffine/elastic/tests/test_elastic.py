"""elastic_transform compared with torchvision and NumPy."""

from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec.filters import gaussian_blur
from orbbec.noise.philox import philox_noise
from orbbec.warpaffine.elastic import elastic_displacement, elastic_transform
from orbbec.warpaffine.remap import remap
from tests.support import assert_same_bytes, photograph, photographs
from tests.support import philox as oracle
from tests.support.samples import DTYPES

RECORD = dict(np.load(Path(__file__).with_name("torchvision.npz")))
CASES = sorted({key.split("/")[0] for key in RECORD if "/" in key})
KEY = {"seed": 5, "epoch": 3, "transform_index": 2}


def recorded(case):
    """Images, and orbbec's options for torchvision's alpha."""
    image, (x, y) = torch.from_numpy(RECORD[f"{case}/image"]), RECORD[f"{case}/alpha"]
    height, width = image.shape[1:]
    alpha = (x * width / height / 2, y * height / width / 2)
    return image, {"alpha": alpha, "sigma": float(RECORD[f"{case}/sigma"]), "seed": 11}


def smoothed(field, sigma):
    """Blur in float64 along y, then along x."""
    size = int(8 * sigma + 1) | 1
    taps = np.exp(-0.5 * ((np.arange(size) - size // 2) / max(sigma, 1e-9)) ** 2)
    for axis in (0, 1):
        margin = [(0, 0), (0, 0)]
        margin[axis] = (size // 2, size // 2)
        padded = np.pad(field, margin, "reflect") if field.shape[axis] > 1 else np.repeat(field, size, axis)
        field = np.lib.stride_tricks.sliding_window_view(padded, size, axis) @ (taps / taps.sum())
    return field


@pytest.mark.parametrize("case", CASES)
def test_displacements_are_those_of_torchvision(device, case):
    image, options = recorded(case)
    height, width = image.shape[1:]
    ids = device.put(torch.tensor([int(case)]))
    actual = elastic_displacement(ids, (height, width), **options)[0].cpu().numpy()
    expected = (
        RECORD[f"{case}/displacement"][0].transpose(2, 0, 1) * np.array([width, height])[:, None, None] / 2
    )
    assert np.abs(actual - expected).max() <= 1e-4  # seen: 6.8e-5 of 37 pixels


@pytest.mark.parametrize("case", CASES)
def test_elastic_transform_matches_torchvision(device, case):
    image, options = recorded(case)
    options["sample_ids"] = [int(case)]
    actual = elastic_transform(device.put(image), **options).cpu().numpy()
    assert_same_bytes(actual, RECORD[f"{case}/uint8"])  # of 6 million random values 634 differed, by 1
    actual = elastic_transform(device.put(image / 255), **options).cpu().numpy()
    assert np.abs(actual - RECORD[f"{case}/float32"]).max() <= 5e-5  # seen: 2.2e-5


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (8, 1), (7, 30)])
@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.7, 5.0])
def test_displacements_are_smoothed_noise(device, size, sigma):
    actual = elastic_displacement(device.put(torch.tensor([4, 9])), size, 30.0, sigma, **KEY).cpu().numpy()
    for n, sample in enumerate((4, 9)):
        noise = 2.0 * oracle.uniforms(oracle.noise_words(sample, (2, *size), **KEY)[..., : size[1]]) - 1
        expected = np.stack([30 * smoothed(field.astype(np.float64), sigma) for field in noise])
        assert np.abs(actual[n] - expected).max() <= 1e-5  # seen: 5.2e-6


def noise_and_blur(ids, size, alpha, sigma, **key):
    """The displacements by the operators of which they consist; alpha and sigma are (x, y)."""
    noise = philox_noise(ids, 2, size, **key) * 2 - 1
    smooth = gaussian_blur(noise, [int(8 * s + 1) | 1 for s in reversed(sigma)], sigma[::-1])
    return smooth * torch.tensor(alpha, device=noise.device)[:, None, None]


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (8, 1), (3, 2500), (70, 130), (9, 1000)])
@pytest.mark.parametrize("sigma", [(0.0, 0.0), (1.7, 0.4), (5.0, 5.0), (60.0, 3.0), (400.0, 90.0)])
def test_displacements_are_those_of_their_operators(monkeypatch, device, level, size, sigma):
    ids = device.put(torch.tensor([4, 9]))
    expected = noise_and_blur(ids, size, (30.0, -7.5), sigma, **KEY)
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_bytes(elastic_displacement(ids, size, (30.0, -7.5), sigma, **KEY), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_elastic_transform_is_remap_by_the_displacements(device, dtype):
    images = device.put(photographs(2, 3, 150, 200, dtype))
    dx, dy = elastic_displacement(device.put(torch.arange(2)), (150, 200), (30.0, 7.0), 4.0).unbind(1)
    rows, columns = (torch.arange(n, dtype=torch.float32, device=dx.device) for n in (150, 200))
    expected = remap(images, columns + dx, rows[:, None] + dy)
    assert_same_bytes(elastic_transform(images, (30.0, 7.0), 4.0), expected)


def test_the_memory_of_displacements_is_used_again():
    ids = torch.arange(3)
    address = elastic_displacement(ids, (200, 200)).data_ptr()
    assert elastic_displacement(ids, (200, 200)).data_ptr() == address


def test_elastic_displacement_passes_opcheck(device):
    ids, tables = device.put(torch.arange(2)), [device.put(torch.ones(2, 2).double())]
    tables.append(device.put(torch.ones(1, 2)))
    arguments = (ids, [4, 5], [3, 9], *tables, True, 1, 2, 3)
    torch.library.opcheck(torch.ops.orbbec.elastic_displacement.default, arguments)
    out = device.put(torch.zeros(2, 2, 4, 5))
    torch.library.opcheck(torch.ops.orbbec.elastic_displacement_out.default, (*arguments, out))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sample_ids": torch.zeros(1, 2).long()}, r"expected sample_ids of shape \[N\], but got \[1, 2\]"),
        ({"sample_ids": torch.zeros(2)}, "expected sample_ids of int64"),
        ({"size": [4]}, r"expected size as \(height, width\), each at least 1, but got \[4\]"),
        ({"size": [4, 0]}, "each at least 1"),
        ({"kernel_size": [3, 4]}, "expected kernel_size of odd numbers"),
        ({"sigma": torch.ones(3, 2).double()}, r"expected sigma of shape \[2, 2\] or \[1, 2\]"),
        ({"alpha": torch.ones(3, 2)}, r"expected alpha as float32 of shape \[2, 2\] or \[1, 2\]"),
        ({"alpha": torch.ones(2, 2).double()}, "expected alpha as float32"),
        ({"transform_index": 1 << 16}, "expected transform_index from 0 to 65535"),
        ({"out": torch.zeros(2, 2, 5, 4)}, r"expected out of shape \[2, 2, 4, 5\], but got \[2, 2, 5, 4\]"),
        ({"out": torch.zeros(2, 2, 5, 4).mT}, "expected contiguous out"),
    ],
)
def test_the_operator_refuses(changes, message):
    arguments = {
        **{"sample_ids": torch.arange(2), "size": [4, 5], "kernel_size": [3, 3]},
        **{"sigma": torch.ones(1, 2).double(), "alpha": torch.ones(1, 2), "adds_pixels": False},
        **{"seed": 0, "epoch": 0, "transform_index": 0, **changes},
    }
    name = "elastic_displacement_out" if "out" in changes else "elastic_displacement"
    with pytest.raises((ValueError, RuntimeError), match=message):
        getattr(torch.ops.orbbec, name)(**arguments)


def test_elastic_transform_by_hand(device):
    image = device.put(torch.tensor([[[[10.0, 20.0, 40.0, 80.0]]]]))
    dx, dy = elastic_displacement(device.put(torch.tensor([0])), (1, 4), (2.0, 0.0), 0.0)[0].cpu().numpy()
    assert not dy.any()
    padded = np.array([0, 0, 0, 10, 20, 40, 80, 0, 0, 0])  # two pixels and a tap beyond each edge
    at = np.arange(4) + dx.astype(np.float64)[0] + 3
    low = np.floor(at).astype(int)
    expected = padded[low] + (at - low) * (padded[low + 1] - padded[low])
    actual = elastic_transform(image, (2.0, 0.0), 0.0).cpu().numpy()[0, 0, 0]
    assert np.abs(actual - expected).max() <= 1e-5  # seen: 1.9e-6


def test_no_strength_is_no_change(device):
    for dtype in (torch.uint8, torch.float32):
        images = device.put(photographs(2, 3, 9, 20, dtype))
        assert_same_bytes(elastic_transform(images, 0.0), images)


@pytest.mark.parametrize("form", ["N", "N2"])
def test_each_image_has_its_own_numbers(device, form):
    images = device.put(photographs(3, 3, 9, 14))
    alpha, sigma = (
        torch.tensor([[10.0, 20.0], [0.0, 5.0], [40.0, 1.0]]),
        torch.tensor([[1.0, 2], [3, 0], [0.5, 0.5]]),
    )
    if form == "N":
        alpha, sigma = alpha[:, 0], sigma[:, 1]
    actual = elastic_transform(images, device.put(alpha), sigma.numpy(), sample_ids=[5, 6, 7])
    for n in range(3):
        own = [value[n].tolist() for value in (alpha, sigma)]
        own = own if form == "N" else [tuple(value) for value in own]
        assert_same_bytes(elastic_transform(images[n], *own, sample_ids=[5 + n]), actual[n])


@pytest.mark.parametrize("channels", [1, 3])
def test_variable_size_images_are_displaced_one_by_one(device, channels):
    images = [photograph(h, w, channels, seed=w) for h, w in [(9, 14), (1, 1), (20, 3), (9, 14)]]
    batch = ImageBatch.from_images(images, plan_bytes=8)
    batch = batch.to("cuda") if device.name == "cuda" else batch
    alpha, sigma = torch.tensor([10.0, 20.0, 30.0, 40.0]), torch.tensor([1.0, 2.0, 0.0, 3.0])
    options = {"interpolation": "nearest", "fill": 9, "seed": 2}
    displaced = elastic_transform(batch, alpha, sigma, **options)
    assert isinstance(displaced, ImageBatch)
    assert_same_bytes(displaced.layout, batch.layout)
    for n, (image, actual) in enumerate(zip(images, displaced.numpy(), strict=True)):
        own = {"alpha": float(alpha[n]), "sigma": float(sigma[n]), "sample_ids": [n]}
        assert_same_bytes(actual, elastic_transform(image, **own, **options))
        assert_same_bytes(batch[n].cpu().numpy(), image)
    part = elastic_transform(batch[1:3], alpha[1:3], sigma[1:3], sample_ids=[1, 2], **options)
    assert_same_bytes(part[1], displaced[2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_elastic_transform_is_the_same_on_every_device(accelerator, dtype):
    images = photographs(2, 3, 11, 34, dtype)
    expected = elastic_transform(images, 30.0, 1.5, border="reflect")
    with accelerator.active():
        actual = elastic_transform(accelerator.put(images), 30.0, 1.5, border="reflect")
    assert_same_bytes(actual, expected)


def test_elastic_transform_is_of_the_sample_alone(device):
    images = device.put(photographs(3, 3, 8, 19))
    together = elastic_transform(images, 20.0, 1.0, sample_ids=[9, 2, 5], **KEY)
    turned = elastic_transform(images.flip(0), 20.0, 1.0, sample_ids=[5, 2, 9], **KEY)
    assert_same_bytes(turned.flip(0), together)
    last = images.contiguous(memory_format=torch.channels_last)
    of_last = elastic_transform(last, 20.0, 1.0, sample_ids=[9, 2, 5], **KEY)
    assert of_last.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(of_last, together)
    array = images.cpu().permute(0, 2, 3, 1).numpy()
    of_array = elastic_transform(array, 20.0, 1.0, sample_ids=[9, 2, 5], **KEY)
    assert_same_bytes(of_array, together.cpu().permute(0, 2, 3, 1).numpy())


def test_elastic_transform_of_nothing(device):
    assert elastic_transform(device.put(photographs(0, 3, 4, 5))).shape == (0, 3, 4, 5)
    assert elastic_displacement(device.put(torch.zeros(0).long()), (4, 5)).shape == (0, 2, 4, 5)
    none = elastic_transform(ImageBatch.from_images([]))
    assert len(none) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": "1"}, TypeError, "expected alpha as a tensor or an array"),
        ({"alpha": (1, 2, 3)}, TypeError, r"expected alpha as a number or \(x, y\), but got"),
        ({"alpha": torch.ones(3)}, ValueError, r"expected alpha of shape \[2\] or \[2, 2\], but got \[3\]"),
        ({"sigma": -1.0}, ValueError, "expected sigma from 0 to 4095, but got -1.0"),
        ({"sigma": float("nan")}, ValueError, "expected sigma from 0 to 4095, but got nan"),
        ({"sigma": torch.tensor([1.0, 5000.0])}, ValueError, "expected sigma from 0 to 4095, but got 5000.0"),
        ({"sample_ids": [1]}, ValueError, r"expected sample_ids of shape \[2\], but got \[1\]"),
        ({"seed": -1}, ValueError, "elastic_transform: expected seed from 0"),
        ({"transform_index": 1 << 16}, ValueError, "expected transform_index from 0 to 65535"),
        ({"border": "transparent"}, ValueError, "border 'transparent' is for warps only"),
        ({"border": "outside"}, ValueError, "expected border to be one of constant"),
        ({"interpolation": "quintic"}, ValueError, "expected interpolation to be one of nearest"),
        ({"images": torch.zeros(4, 5)}, ValueError, "expected images of shape"),
        ({"images": [1]}, TypeError, "expected images as a tensor"),
    ],
)
def test_elastic_transform_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        elastic_transform(**{"images": torch.zeros(2, 3, 4, 5), **arguments})


def test_elastic_displacement_names_the_bad_argument():
    with pytest.raises(ValueError, match=r"expected sample_ids of shape \[N\], but got \[1, 1\]"):
        elastic_displacement([[1]], (2, 2))
    with pytest.raises(TypeError, match="expected sample_ids of whole numbers"):
        elastic_displacement([0.5], (2, 2))


def test_elastic_transform_compiles_as_one_graph(device):
    def run(images, epoch):
        return elastic_transform(images, (20.0, 10.0), 1.5, epoch=epoch) + 1

    images = device.put(photographs(2, 3, 9, 12))
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    for epoch in (1, 2):
        assert_same_bytes(compiled(images, epoch), run(images, epoch))


@pytest.mark.cuda
def test_elastic_transform_is_captured_in_a_graph():
    images = photographs(2, 3, 50, 70).cuda()
    expected = elastic_transform(images, 20.0, 2.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actual = elastic_transform(images, 20.0, 2.0)
    graph.replay()
    assert_same_bytes(actual, expected)


def test_elastic_transform_has_the_gradient_of_finite_differences():
    images = photographs(2, 1, 4, 5, torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda images: elastic_transform(images, 3.0, 0.5), images)
