import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import RoIAlign, roi_align
from tests.support import assert_same_bytes
from tests.support.roi_oracle import oracle_align
from tests.support.rois import roi_case, run_case

RECORDED = np.load(Path(__file__).with_name("torchvision.npz"))
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def digest(tensor):
    return hashlib.sha256(tensor.contiguous().cpu().numpy().tobytes()).digest()


@pytest.mark.parametrize("seed", range(12))
def test_roi_align_matches_torchvision(device, seed):
    case = roi_case(seed).on(device)
    output, gradient = run_case("roi_align", case)
    assert_same_bytes(output.cpu(), torch.from_numpy(RECORDED[f"roi_align_output_{seed}"]))
    assert_same_bytes(gradient.cpu(), torch.from_numpy(RECORDED[f"roi_align_gradient_{seed}"]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_roi_align_matches_the_digests_of_240_results_of_torchvision(device, dtype):
    recorded = RECORDED[f"roi_align_{dtype}"]
    for seed, (of_output, of_gradient) in enumerate(recorded):
        if seed % 4 and device.name not in ("cpu", "cuda"):  # one in four on the emulated device
            continue
        output, gradient = run_case("roi_align", roi_case(seed, DTYPES[dtype]).on(device))
        assert digest(output) == of_output.tobytes(), f"output of case {seed}"
        assert digest(gradient) == of_gradient.tobytes(), f"gradient of case {seed}"


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("last", [False, True])
def test_roi_align_gives_the_same_bits_with_any_vectors(monkeypatch, level, last):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    for seed in (3, 7, 11):
        case = roi_case(seed).channels_last() if last else roi_case(seed)
        output, gradient = run_case("roi_align", case)
        assert digest(output) == RECORDED["roi_align_float32"][seed, 0].tobytes()
        assert digest(gradient) == RECORDED["roi_align_float32"][seed, 1].tobytes()


def test_roi_align_matches_the_oracle(device):
    worst = 0.0
    for seed in range(40):
        case = roi_case(seed, torch.float64, channels=3)
        expected = oracle_align(case.input.numpy(), case.rois.numpy(), **{**case.align_options()})
        actual = (
            roi_align(device.put(case.input), device.put(case.rois), **case.align_options()).cpu().numpy()
        )
        worst = max(worst, float(np.abs(actual - expected).max()))
    assert worst < 1e-12  # seen: 9e-15, for values up to 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_roi_align_of_half_types_is_float32_rounded_once(device, dtype):
    for seed in range(12):
        case = roi_case(seed, dtype)
        wide = case.to(torch.float32)
        for actual, expected in zip(
            run_case("roi_align", case.on(device)), run_case("roi_align", wide.on(device)), strict=True
        ):
            assert_same_bytes(actual, expected.to(dtype))


def test_roi_align_by_hand(device):
    image = device.put(torch.tensor([[[[0.0, 1], [2, 3]]]]))
    roi = device.put(torch.tensor([[0.0, 0.5, 0.5, 1.5, 1.5]]))
    assert roi_align(image, roi, 1, sampling_ratio=1).item() == 1.5  # the middle of the four
    # Not aligned, the only sample is at (1, 1), the last pixel.
    assert roi_align(image, roi, 1, sampling_ratio=1, aligned=False).item() == 3.0
    edge = device.put(torch.tensor([[0.0, 1.5, 0.5, 3.5, 1.5]]))  # samples at x = 1.5 and 2.5, y = 0.5
    assert roi_align(image, edge, (1, 2), sampling_ratio=1).flatten().tolist() == [2.0, 0.0]


def test_roi_align_gradient_by_hand(device):
    image = device.put(torch.zeros(1, 1, 2, 2)).requires_grad_()
    roi = device.put(torch.tensor([[0.0, 0.5, 0.75, 1.5, 1.75]]))  # a sample at y = 0.75, x = 0.5
    roi_align(image, roi, 1, sampling_ratio=1).backward()
    assert image.grad.flatten().tolist() == [0.125, 0.125, 0.375, 0.375]


def test_roi_align_takes_a_list_of_boxes_an_image(device):
    case = roi_case(1, channels=2).on(device)
    rois = case.rois[case.rois[:, 0].argsort(stable=True)]
    boxes = [rois[rois[:, 0] == n, 1:] for n in range(case.input.shape[0])]
    assert_same_bytes(roi_align(case.input, boxes, 3), roi_align(case.input, rois, 3))
    assert_same_bytes(roi_align(case.input, tuple(boxes), (3, 3)), roi_align(case.input, rois, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_roi_align_takes_rois_of_another_dtype(device, dtype):
    case = roi_case(5).on(device)
    rois = case.rois.to(dtype)
    assert_same_bytes(roi_align(case.input, rois, 3), roi_align(case.input, rois.float(), 3))


def test_roi_align_of_no_rois_no_channels_and_no_pixels(device):
    images, none = device.put(torch.ones(2, 3, 5, 6)), device.put(torch.zeros(0, 5))
    assert roi_align(images, none, 7).shape == (0, 3, 7, 7)
    assert roi_align(images, [none[:, 1:], none[:, 1:]], (2, 3)).shape == (0, 3, 2, 3)
    rois = device.put(torch.tensor([[0.0, 0, 0, 3, 3]]))
    assert roi_align(images[:, :0], rois, 7).shape == (1, 0, 7, 7)
    assert roi_align(images[:, :, :0], rois, 2, sampling_ratio=2).tolist() == torch.zeros(1, 3, 2, 2).tolist()
    features = images.clone().requires_grad_()
    roi_align(features, none, 7).sum().backward()
    assert features.grad.abs().sum() == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2e9, -2e9, 3e38])
@pytest.mark.parametrize("column", [1, 2, 3, 4])
@pytest.mark.parametrize("sampling_ratio", [0, 2])
def test_roi_align_of_rois_that_are_not_finite_or_too_far_is_zero(device, value, column, sampling_ratio):
    rois = torch.tensor([[0.0, 1, 1, 3, 3], [0, 1, 1, 3, 3]])
    rois[0, column] = value
    for channels in (2, 70):
        features = device.put(torch.ones(1, channels, 5, 6)).requires_grad_()
        output = roi_align(features, device.put(rois), 2, sampling_ratio=sampling_ratio)
        assert output[0].abs().max() == 0
        assert output[1].min() == 1
        output[0].sum().backward()
        assert features.grad.abs().sum() == 0


def test_roi_align_of_a_huge_roi_is_bounded_work(device):
    """A hundred million pixels wide: 4096 samples per bin and axis, few of them inside."""
    features = device.put(torch.ones(1, 20, 5, 6)).requires_grad_()
    output = roi_align(features, device.put(torch.tensor([[0.0, -1e8, -1e8, 1e8, 1e8]])), 3)
    output.sum().backward()
    assert output.isfinite().all()
    assert features.grad.isfinite().all()


def test_roi_align_refuses_images_outside_of_the_batch_on_the_cpu():
    features = torch.ones(2, 3, 4, 5)
    for index in (2.0, -1.0, float("nan"), 1e30):
        with pytest.raises(
            ValueError, match="roi_align: expected rois with batch indices below 2, but roi 1 has"
        ):
            roi_align(features, torch.tensor([[0.0, 0, 0, 1, 1], [index, 0, 0, 1, 1]]), 2)


def test_roi_align_of_images_outside_of_the_batch_is_nan_on_an_accelerator(accelerator):
    rois = torch.tensor([[0.0, 0, 0, 2, 2], [2, 0, 0, 2, 2], [-1, 0, 0, 2, 2], [float("nan"), 0, 0, 2, 2]])
    with accelerator.active():
        features = accelerator.put(torch.ones(2, 3, 4, 5)).requires_grad_()
        output = roi_align(features, accelerator.put(rois), 2)
        assert output[1:].isnan().all()
        assert (output[0] == 1).all()
        output.sum().backward()
        assert features.grad.sum().item() == 12.0  # gradient of the first region: 4 bins in 3 channels


@pytest.mark.parametrize(
    ("dtype", "channels", "sampling_ratio"), [(torch.float32, 171, 2), (torch.float64, 115, 0)]
)
def test_roi_align_of_many_regions_gives_the_bits_of_the_cpu(accelerator, dtype, channels, sampling_ratio):
    # Shared memory holds a band of the map: regions lie in one, reach beyond it, or lie outside of the map.
    generator = torch.Generator().manual_seed(7)
    maps = torch.rand(2, channels, 28, 60, generator=generator).to(dtype)
    corners = torch.rand(32, 2, generator=generator) * 70 - 10
    sides = torch.rand(32, 2, generator=generator) ** 3 * 90 - 2
    rois = torch.cat([torch.arange(32)[:, None] % 2, corners, corners + sides], 1)
    rois[5, 2] = math.nan
    expected = roi_align(maps, rois, (9, 6), 1.0, sampling_ratio)
    expected[6] = math.nan
    rois[6, 0] = 2
    with accelerator.active():
        output = roi_align(accelerator.put(maps), accelerator.put(rois), (9, 6), 1.0, sampling_ratio).cpu()
    assert_same_bytes(output, expected)


def test_roi_align_module_is_the_function(device):
    case = roi_case(2).on(device)
    module = RoIAlign(7, 1 / 16, 2)
    expected = roi_align(case.input, case.rois, (7, 7), 1 / 16, 2, True)
    assert_same_bytes(module(case.input, case.rois), expected)
    assert_same_bytes(RoIAlign((7, 7), 0.0625, 2, True, True)(case.input, case.rois), expected)
    assert "sample_num=2" in repr(module)
